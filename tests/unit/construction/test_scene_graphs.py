"""Scene graphs: the parser of psg.json in bounded memory, masks and their outlines, import from archives."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from known_unknowns.errors import ConfigError, DataError
from known_unknowns_construction import importing, masks, psg
from known_unknowns_construction.jsonl import write_records
from known_unknowns_construction.scene_graph import Relation, read_graphs

CLASSES = {
    "thing_classes": ["person", "cup"],
    "stuff_classes": ["sky-other-merged"],
    "predicate_classes": ["over", "in front of", "holding"],
}
SEGMENTS = (1, 300, 70_000)


def entry(number: int, **changes) -> dict:
    """An image of 40 x 30 pixels: a person, a cup and the sky; the person holds the cup (annotated twice)."""
    boxes = [[2, 5, 12, 25], [20, 10, 30, 20], [0, 0, 40, 30]]
    return {
        "file_name": f"train2017/{number:012d}.png",
        "pan_seg_file_name": f"panoptic_train2017/{number:012d}.png",
        "image_id": str(number),
        "width": 40,
        "height": 30,
        "segments_info": [
            {"id": segment, "category_id": k, "isthing": int(k < 2), "iscrowd": 0, "area": 10}
            for k, segment in enumerate(SEGMENTS)
        ],
        "annotations": [{"bbox": box, "bbox_mode": 0, "category_id": k} for k, box in enumerate(boxes)],
        "relations": [[0, 1, 2], [0, 1, 2], [2, 0, 0]],
        **changes,
    }


def write(path: Path, entries, *, classes_last: bool = False) -> Path:
    data = {"data": list(entries)}
    path.write_text(json.dumps({**data, **CLASSES} if classes_last else {**CLASSES, **data}))
    return path


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def panoptic() -> Image.Image:
    image = Image.new("RGB", (40, 30), masks.colour_of(SEGMENTS[2]))
    draw = ImageDraw.Draw(image)
    draw.rectangle((2, 5, 11, 24), fill=masks.colour_of(SEGMENTS[0]))
    draw.rectangle((20, 10, 29, 19), fill=masks.colour_of(SEGMENTS[1]))
    return image


@pytest.mark.parametrize("classes_last", [False, True])
def test_an_annotation_is_parsed_wherever_its_classes_are(tmp_path, classes_last):
    path = write(tmp_path / "psg.json", [entry(9, captions=["A cup."])], classes_last=classes_last)
    (found,) = psg.read_annotations(path)
    assert [node.name for node in found.objects] == ["person", "cup", "sky-other-merged"]
    assert [node.thing for node in found.objects] == [True, True, False]
    assert found.objects[0].box == (2, 5, 10, 20)
    assert found.relations == (Relation("0", "holding", "1"), Relation("2", "over", "0"))
    assert (found.id, found.width, found.height, found.captions) == ("9", 40, 30, ("A cup.",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relations": [[0, 3, 0]]}, "row 1: not a PSG image: the relation"),
        ({"relations": None}, "row 1: not a PSG image"),
        ({"segments_info": [{"id": 1}]}, "row 1: not a PSG image: 3 annotations and 1 segments"),
        ({"annotations": [{"bbox": [0, 0, 1, 1], "category_id": 7}], "segments_info": [{}]}, "the class 7 is not"),
    ],
)
def test_a_wrong_image_is_named_by_its_position(tmp_path, changes, message):
    path = write(tmp_path / "psg.json", [entry(1), entry(2, **changes)])
    with pytest.raises(DataError, match=message):
        list(psg.read_annotations(path))


def test_a_missing_key_a_torn_file_and_another_file_are_named(tmp_path):
    without = entry(1)
    del without["width"]
    with pytest.raises(DataError, match="row 0: the image has no 'width'"):
        list(psg.read_annotations(write(tmp_path / "psg.json", [without])))
    torn = tmp_path / "torn.json"
    torn.write_text(write(tmp_path / "psg.json", [entry(1), entry(2)]).read_text()[:-300])
    with pytest.raises(DataError, match="not readable as JSON after 1 images"):
        list(psg.read_annotations(torn))
    torn.write_text('{"images": []}')
    with pytest.raises(DataError, match="it has no thing_classes, stuff_classes, predicate_classes"):
        list(psg.read_annotations(torn))


def test_images_are_parsed_one_at_a_time(tmp_path):
    """The file has 5 MB. The peak of Python's memory stays below 1 MB."""
    path = write(tmp_path / "psg.json", (entry(k, captions=["A person holds a cup. " * 9] * 40) for k in range(600)))
    assert path.stat().st_size > 5_000_000
    tracemalloc.start()
    try:
        assert sum(len(each.objects) for each in psg.read_annotations(path)) == 1800
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_a_sample_is_drawn_from_images_with_relations(tmp_path):
    path = write(tmp_path / "psg.json", [entry(k, **({"relations": []} if k % 2 else {})) for k in range(20)])
    chosen = psg.sample(path, 4, seed=3)
    assert len(chosen) == 4 and all(int(name) % 2 == 0 for name in chosen)
    assert psg.sample(path, 4, seed=3) == chosen != psg.sample(path, 4, seed=4)
    assert psg.sample(path, None, seed=0) is None
    with pytest.raises(ConfigError, match="has 10 images with relations, fewer than 11"):
        psg.sample(path, 11, seed=0)


def test_outlines_enclose_their_masks():
    square = np.zeros((30, 40), dtype=bool)
    square[5:25, 2:12] = True
    (outline,) = masks.outlines(square, tolerance=0)
    xs, ys = zip(*outline, strict=True)
    assert (min(xs), max(xs), min(ys), max(ys)) == (2, 12, 5, 25)
    ring = square.copy()
    ring[10:20, 4:9] = False
    assert len(masks.outlines(ring)) == 2
    assert masks.outlines(np.zeros((3, 3), dtype=bool)) == ()
    y, x = np.mgrid[:100, :100]
    disc = (x - 50) ** 2 + (y - 50) ** 2 < 40**2
    (outline,) = masks.outlines(disc)
    redrawn = Image.new("1", (100, 100))
    ImageDraw.Draw(redrawn).polygon([(a - 0.5, b - 0.5) for a, b in outline], fill=1)
    assert len(outline) < 60
    assert (np.asarray(redrawn) != disc).mean() < 0.02


@pytest.mark.parametrize("packed", [False, True])
def test_images_and_masks_are_imported_from_folders_and_nested_archives(tmp_path, packed):
    source, out = tmp_path / "source", tmp_path / "out"
    path = tmp_path / "psg.json"
    write(path, [entry(1), entry(2), entry(3)])
    image, mask = png(Image.new("RGB", (40, 30), "red")), png(panoptic())
    if packed:
        source.mkdir()
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("panoptic_train2017/000000000002.png", mask)
        with zipfile.ZipFile(source / "panoptic_annotations.zip", "w") as archive:
            archive.writestr("annotations/panoptic_train2017.zip", inner.getvalue())
        with zipfile.ZipFile(source / "train2017.zip", "w") as archive:
            archive.writestr("train2017/000000000002.png", image)
    else:
        for name, data in (("train2017", image), ("panoptic_train2017", mask)):
            (source / name).mkdir(parents=True)
            (source / name / "000000000002.png").write_bytes(data)
    found = importing.import_graphs(psg.read_annotations(path), source, out, only={"2"}, licence="CC-BY-4.0")
    assert write_records(out / "graphs.jsonl", found) == 1
    (graph,) = read_graphs(out / "graphs.jsonl")
    assert (out / graph.image.path).read_bytes() == image and (out / graph.mask).read_bytes() == mask
    assert graph.relations == (Relation("0", "holding", "1"), Relation("2", "over", "0"))
    assert graph.image.licence == "CC-BY-4.0"
    person, cup, sky = graph.objects
    assert person.countable and not sky.countable and sky.spoken == "sky"
    assert cup.as_scene_object().box == (20, 10, 10, 10)
    assert len(person.outline) == 1 and len(person.outline[0]) < 10
    assert graph.indexed_names() == {"0": "person_0", "1": "cup_1", "2": "sky-other-merged_2"}


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a\\b.png"])
def test_files_outside_the_source_are_not_read(tmp_path, name):
    with importing.SourceFiles(tmp_path) as files, pytest.raises(DataError, match="leads out of the folder"):
        files.read(name)


def test_an_absent_image_and_another_size_are_named(tmp_path):
    annotation = next(psg.read_annotations(write(tmp_path / "psg.json", [entry(1)])))
    with pytest.raises(DataError, match=r"there is no 'panoptic_train2017/000000000001\.png'"):
        list(importing.import_graphs([annotation], tmp_path, tmp_path / "out"))
    with pytest.raises(DataError, match="has 10 x 30 pixels, the annotation says 40 x 30"):
        importing.scene_graph(annotation, png(Image.new("RGB", (10, 30))), None, tmp_path, None)
