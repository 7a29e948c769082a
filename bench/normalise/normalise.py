"""Images a second and peak memory of normalising HumbleBench's published form, and whether memory grows with the data.

    python bench/normalise/normalise.py [--images 1000 10000] [--workers 1 2] [--repeats 3]

The images are of the benchmark's mean size (594 x 473 pixels), JPEG of about 70 kB, all different, one question
each, in Parquet as the hub has it (row groups of 100). Each run is `known_unknowns.data.questions.normalise` in a
process of its own, the ways taking turns; what they write is compared byte for byte. "Bare" decodes the same
images in one process, writes them, and does nothing else. CPU time is that of all processes, from their start,
and is not stretched by what else the machine does. Memory is the peak resident set of the main process, and of the
largest of those that decode.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT, ROW_GROUP = 594, 473, 100
QUESTION = "What color is the thing in the middle?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above"
SCHEMA = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("question_id", pa.int64()),
        ("question", pa.string()),
        ("label", pa.string()),
        ("type", pa.string()),
    ]
)
ONE_RUN = """
import json, resource, sys, time
from pathlib import Path
from known_unknowns.data.questions import normalise
raw, out, workers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
start = time.perf_counter()
if workers:
    normalise("humblebench", raw, out, workers=workers)
else:
    import pyarrow.parquet as pq
    from io import BytesIO
    from PIL import Image
    (out / "images").mkdir(parents=True)
    number = 0
    for file in sorted(raw.glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=64, columns=["image"]):
            for row in batch.to_pylist():
                Image.open(BytesIO(row["image"]["bytes"])).convert("RGB")
                (out / "images" / f"{number}.jpg").write_bytes(row["image"]["bytes"])
                number += 1
seconds = time.perf_counter() - start
used = {who: resource.getrusage(getattr(resource, f"RUSAGE_{who}")) for who in ("SELF", "CHILDREN")}
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))  # not its parent's
peak = {"SELF": own / 1024, "CHILDREN": used["CHILDREN"].ru_maxrss / 1024}
print(json.dumps({"seconds": seconds, "cpu": sum(one.ru_utime + one.ru_stime for one in used.values()), **peak}))
"""


def image(number: int) -> bytes:
    """Soft noise: as large and as hard to decode as a photograph, and never twice the same."""
    small = np.random.default_rng(number).integers(0, 256, (HEIGHT // 12, WIDTH // 12, 3), dtype=np.uint8)
    buffer = BytesIO()
    Image.fromarray(small).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def publish(folder: Path, images: int) -> int:
    """Write so many images, with a question each; tell how many bytes they take."""
    folder.mkdir()
    size = 0
    with pq.ParquetWriter(folder / "train-00000-of-00001.parquet", SCHEMA) as file:
        for first in range(0, images, ROW_GROUP):
            rows = [
                {
                    "image": {"bytes": image(number), "path": f"{number}.jpg"},
                    "question_id": number,
                    "question": QUESTION,
                    "label": "ABCDE"[number % 5],
                    "type": ("Object", "Relation", "Attribute")[number % 3],
                }
                for number in range(first, min(first + ROW_GROUP, images))
            ]
            size += sum(len(row["image"]["bytes"]) for row in rows)
            file.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    return size


def digest(folder: Path) -> str:
    """Of every file's name and content."""
    whole = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(f"{path.relative_to(folder)}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def one_run(raw: Path, workers: int) -> dict[str, float | str]:
    """One run in a process of its own; with no workers, the bare loop."""
    with tempfile.TemporaryDirectory(dir=raw.parent) as out:
        command = [sys.executable, "-c", ONE_RUN, str(raw), out, str(workers)]
        printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return json.loads(printed) | {"wrote": digest(Path(out))}


def measure(raw: Path, images: int, workers: list[int], repeats: int) -> None:
    runs: dict[int, list[dict]] = {way: [] for way in (0, *workers)}
    for _ in range(repeats):
        for way, found in runs.items():
            found.append(one_run(raw, way))
    assert len({run["wrote"] for way in workers for run in runs[way]}) == 1, (
        "the number of processes changed the output"
    )
    for way, found in runs.items():
        rates = [images / run["seconds"] for run in found]
        name = f"{way} process{'es' if way > 1 else ''}" if way else "bare loop"
        print(
            f"| {images:,} | {name} | {statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f}) "
            f"| {1000 * statistics.median(run['cpu'] for run in found) / images:.1f} "
            f"| {max(run['SELF'] for run in found):.0f} | {max(run['CHILDREN'] for run in found):.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| images | by | images/s | ms of CPU an image | peak MiB, main | peak MiB, largest other |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for images in options.images:
            raw = Path(folder) / f"raw-{images}"
            publish(raw, images)
            measure(raw, images, options.workers, options.repeats)


if __name__ == "__main__":
    main()
