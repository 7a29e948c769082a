"""Images decoded and written in several processes: the same files, order and first mistake as with one."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from known_unknowns.benchmark import images as _images
from known_unknowns.benchmark.checks import ImageChecks
from known_unknowns.benchmark.images import IN_FLIGHT, WORTH_PROCESSES, ImageStore
from known_unknowns.data.questions import normalise
from known_unknowns.errors import DataError, MachineError
from known_unknowns.exchange.released_reader import with_published_images
from known_unknowns.images import open_image
from known_unknowns.records import Turn
from known_unknowns.tables import write_questions
from known_unknowns_benchmarks.humblebench import loader as humblebench
from tests.encoded_images import transparent, with_orientation
from tests.factories import data_entry, png, published_row, question, write_published
from tests.paths import ROOT

MANY = WORTH_PROCESSES + 5 * IN_FLIGHT


def colour(number: int) -> tuple[int, int, int]:
    return (number % 256, number // 256, 77)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(count: int = MANY, **broken: bytes) -> list[dict]:
    """One image a row, but for every tenth, which has the one of the row before."""
    return [
        published_row(n, image={"bytes": broken.get(f"row{n}", png(colour(n - (n % 10 == 9)))), "path": f"{n}.png"})
        for n in range(count)
    ]


def test_the_number_of_processes_changes_nothing(tmp_path):
    raw = write_published(tmp_path / "raw", rows()).parent
    loaded = {}
    for workers in (1, 2, 3):
        normalise("humblebench", raw, tmp_path / f"out{workers}", workers=workers)
        loaded[workers] = files(tmp_path / f"out{workers}")
    assert loaded[1] == loaded[2] == loaded[3]
    images = {name: data for name, data in loaded[1].items() if name.startswith("images/")}
    assert set(images.values()) == {png(colour(n - (n % 10 == 9))) for n in range(MANY)}
    assert all(name == f"images/{sha256(data).hexdigest()}.png" for name, data in images.items())


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_of_several_mistakes_is_reported(tmp_path, workers):
    """An image that is found to be broken later, by another process, still comes before what came after it."""
    torn, place = png()[:60], WORTH_PROCESSES + 20
    published = rows(row3=png(), **{f"row{place}": torn, f"row{place + 1}": torn})
    published[place + 2]["question"] = "no options"
    raw = write_published(tmp_path / "raw", published).parent
    with pytest.raises(DataError, match=rf"parquet, row {place}: the image does not decode"):
        list(humblebench.load(raw, tmp_path / "out", workers=workers))
    with pytest.raises(DataError, match=r"parquet, row 5: no options"):
        published[5]["question"] = "no options"
        list(humblebench.load(write_published(tmp_path / "other", published).parent, tmp_path / "out", workers=workers))


def test_a_truncated_file_of_an_earlier_run_is_replaced(tmp_path):
    data = png()
    target = tmp_path / f"images/{sha256(data).hexdigest()}.png"
    target.parent.mkdir()
    target.write_bytes(data[:40])
    (target.parent / f".{'0' * 64}.png.part").write_bytes(b"half")
    with ImageStore(tmp_path) as store:
        store.add(data, file=Path("p"), row=0)
    assert files(tmp_path) == {target.relative_to(tmp_path).as_posix(): data}


def test_a_full_disk_is_a_machine_error(tmp_path, monkeypatch):
    def full(data, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_images, "_decode_and_write", full)
    with pytest.raises(MachineError, match="the disk is full"), ImageStore(tmp_path) as store:
        store.add(png(), file=Path("p"), row=0)


def children(pid: int) -> set[int]:
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return {int(child) for child in tasks.read_text().split()} if tasks.is_file() else set()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc")
def test_a_killed_run_leaves_no_partial_file_and_no_process(tmp_path):
    raw, out = write_published(tmp_path / "raw", rows(2000)).parent, tmp_path / "out"
    program = (
        "import sys, pathlib; from known_unknowns.data.questions import normalise; "
        "normalise('humblebench', pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), workers=2)"
    )
    command = [sys.executable, "-c", program, str(raw), str(out)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        while process.poll() is None and len(list(out.glob("images/*.png"))) < WORTH_PROCESSES + 20:
            time.sleep(0.002)
        helpers = children(process.pid)
        assert process.poll() is None and helpers
        process.send_signal(signal.SIGKILL)
    assert not (out / "questions.parquet").exists()
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").is_dir() and not _is_dead(pid) for pid in helpers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in helpers if Path(f"/proc/{pid}").is_dir() and not _is_dead(pid)]
    for name, data in files(out).items():
        assert name.endswith((".part", "LICENCE.md")) or name == f"images/{sha256(data).hexdigest()}.png"

    normalise("humblebench", raw, out)
    normalise("humblebench", raw, tmp_path / "unbroken")
    assert files(out) == files(tmp_path / "unbroken")


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


ODD = {
    "turned": with_orientation("JPEG", 6),
    "transparent": transparent()["RGBA"],
    "deep": transparent()["16 bits with tRNS"],
}


def key(image):
    return Turn("q", "answer", (image, "What?"), None).key("{}")


@pytest.mark.parametrize("name", ODD)
def test_other_pixels_have_another_key(name, tmp_path):
    """The reference to what a viewer shows is not that to the stored pixels, whose replies it must not get."""
    with ImageStore(tmp_path) as store:
        seen = store.add(ODD[name], file=Path("p"), row=0)
    with ImageStore(tmp_path, plain=True) as store:
        plain = store.add(ODD[name], file=Path("p"), row=0)
    assert key(seen) != key(plain) and plain.sha256 == sha256(ODD[name]).hexdigest()
    shown, stored = open_image(seen, tmp_path), open_image(plain, tmp_path)
    assert shown.size == (seen.width, seen.height) and stored.size == (plain.width, plain.height)
    assert shown.tobytes() != stored.tobytes()
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize(("plain", "use"), [(False, "turned as it says"), (True, "models get the pixels as stored")])
def test_the_check_counts_images_that_need_a_choice(plain, use, tmp_path):
    checks = ImageChecks(plain=plain)
    for number, data in enumerate([*ODD.values(), with_orientation("PNG", 3), png()]):
        checks.add({"bytes": data, "path": f"{number}"}, tmp_path, file=Path("p"), row=number, where=f"row {number}")
    found = {finding.code: finding.text for finding in checks.closing()}
    assert (
        found["rotated-image"].startswith("2 of 5 images have an EXIF orientation: ") and use in found["rotated-image"]
    )
    assert found["transparent-image"].startswith("2 of 5 images are transparent: ")
    assert found["deep-image"].startswith("1 of 5 images have 16 bits per channel: ")
    assert {finding.severity for finding in checks.closing()} == {"note"}


def test_the_images_of_released_replies_are_linked_with_their_choices(tmp_path):
    published = tmp_path / "published"
    with ImageStore(published) as store:
        image = store.add(ODD["turned"], file=Path("p"), row=0)
    own = question(images=(image,), group=image.sha256)
    write_questions(published / "questions.parquet", [own])
    settings = data_entry(
        "released", repository="https://a.b", revision="0" * 40, files=["*"], questions=str(published)
    )
    (found,) = with_published_images([question()], settings, tmp_path / "out")
    assert open_image(found.images[0], tmp_path / "out").size == (48, 32)
