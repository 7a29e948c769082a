"""The pocket edition: rendered scenes in the published format, with as many objects present as absent."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from known_unknowns.benchmark.pocket import Pocket
from known_unknowns.files import atomic_path, write_text
from known_unknowns.progress import Advance
from known_unknowns_pocket.benchmarks.building import ContentDigest, check_numbers, pixel_facts
from known_unknowns_pocket.benchmarks.object_names import pair_name
from known_unknowns_pocket.editions import FOLDER
from known_unknowns_pocket.scenes import ALL_PAIRS, Scene, render, sample_scene

FILE = "adversarial.json"
_SIDE = 256


def build(out: Path, *, seed: int, images: int, questions_per_image: int = 2, advance: Advance | None = None) -> Path:
    """Write the questions and images. The arguments are those of `known_unknowns.benchmark.pocket.Render`."""
    check_numbers(images=images, questions_per_image=questions_per_image, most=4)
    rows = []
    for number in range(images):
        drawn = (sample_scene(f"pope/{seed}/{number}/{attempt}", n_objects=(3, 6)) for attempt in count())
        scene = next(scene for scene in drawn if len({thing.pair for thing in scene.objects}) > 1)
        with atomic_path(out / f"{number}.png") as partial:
            render(scene, _SIDE, _SIDE).save(partial, format="PNG")
        asked = list(_asked(scene, random.Random(f"pope/{seed}/questions/{number}")))
        for thing, label in asked[:questions_per_image]:
            text = f"Is there a {thing} in the image?"
            rows.append({"question_id": len(rows), "image": f"{number}.png", "text": text, "label": label})
        if advance is not None:
            advance()
    write_text(out / FILE, "".join(json.dumps(row) + "\n" for row in rows))
    return out


def _asked(scene: Scene, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield things and their answers: "no" and "yes" by turns."""
    pairs = {thing.pair for thing in scene.objects}
    absent = [pair for pair in ALL_PAIRS if pair not in pairs]
    for pair in rng.sample(sorted(pairs), len(pairs)):
        yield pair_name(rng.choice(absent)), "no"
        yield pair_name(pair), "yes"


def content_digest(folder: Path) -> str:
    """Return the SHA-256 of every row and of the pixels of its image."""
    digest = ContentDigest()
    for line in (folder / FILE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        digest.add(row | pixel_facts((folder / row["image"]).read_bytes()))
    return digest.hexdigest()


POCKET = Pocket(build, content_digest, FOLDER)
