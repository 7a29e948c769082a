"""Properties of all pipelines of ActiView: any reply, scripted respondents, and the number of waves."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import engines
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.records import Cell
from known_unknowns.scoring.dialogues import score_turn
from known_unknowns_benchmarks.actiview import views
from known_unknowns_benchmarks.actiview.protocols import PROTOCOLS
from tests.factories import PARSER_NAMES, asked_by, model_entry
from tests.unit.benchmarks.actiview.perceiving import OUT_OF_MEMORY, converse, question

NAMES = ["zooming", "shifting", "mixed", "groundtruth_views", "single_view", "full_image"]
JSON = st.builds(
    lambda **fields: json.dumps(fields),
    part=st.lists(st.integers(-1, 20).map(str), max_size=6).map(",".join),
    keep=st.lists(st.integers(-1, 20).map(str), max_size=6).map(",".join),
    shift=st.lists(st.integers(-1, 20).map(str), max_size=6).map(",".join),
)
SAID = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["yes", "no", "1, 3", "upper", "none", "all", "0", "99"]),
    st.lists(st.integers(-1, 20), max_size=9).map(lambda numbers: ",".join(map(str, numbers))),
    JSON,
    st.just(OUT_OF_MEMORY),
)


def parts(image):
    """The sources of the images that stand side by side in one."""
    recipe, _, values = image.source.partition(":")
    return json.loads(values)["of"] if recipe == "side-by-side" else [image.source]


@given(
    name=st.sampled_from(NAMES),
    split=st.sampled_from([4, 6, 9, 16]),
    parser=st.sampled_from(["official", "robust"]),
    images=st.sampled_from(["many", "concatenated", "captioned"]),
    said=st.lists(SAID, min_size=1, max_size=8),
)
def test_any_reply_shows_existing_views_once_and_ends(name, split, parser, images, said):
    settings = {"parser": parser, "split": split, "images": images}
    takes = PROTOCOLS[name].settings
    settings = {key: value for key, value in settings.items() if key in takes}
    replies = (said[k % len(said)] for k in range(10_000))
    pairs = converse(name, lambda _: next(replies), **settings)
    split = settings.get("split", 4)
    assert len(pairs) <= 2 * split + 3
    asked = question()
    known = set(asked.images)
    if split != 4:
        known = {views.add_grid(asked.images[0], split), views.reduce(asked.images[0], split)}
        known |= {views.view(asked.images[0], k, split, released=parser == "official") for k in range(1, split + 1)}
    for turn, _ in pairs:
        sources = [source for image in turn.images for source in parts(image)]
        assert set(sources) <= {image.source for image in known}
        assert len(set(sources)) == len(sources)
        assert images == "many" or len(turn.images) == 1 or "images" not in takes
        assert asked.images[0].source not in sources  # never the image as taken, which would need no view
    captions = [turn.images for turn, _ in pairs if turn.step == "caption"]
    assert len(set(captions)) == len(captions)
    assert [turn.step for turn, _ in pairs].count("answer") == 1 and pairs[-1][0].step == "answer"


PIPELINES = [
    ("single_view", {}),
    ("zooming", {"parser": "official", "split": 4}),
    ("zooming", {"parser": "robust", "split": 9}),
    ("shifting", {"parser": "official", "level": "M"}),
    ("shifting", {"parser": "robust", "level": "R"}),
    *[("mixed", {"parser": parser}) for parser in ("official", "robust")],
    ("groundtruth_views", {}),
]


def several():
    """Questions with every set of annotated views and every start."""
    draw = random.Random(7)
    made = []
    for number in range(16):
        annotated = [view for view in (1, 2, 3, 4) if number % 16 & (1 << view - 1)]
        extra = dict(question().extra) | {"groundtruth_views": annotated, "random_start": draw.randrange(4)}
        made.append(question(str(number), answer=number % 3, extra=extra))
    return made


@pytest.mark.parametrize(("name", "settings"), PIPELINES)
@pytest.mark.parametrize("images", ["many", "captioned"])
def test_the_oracle_is_right_in_every_pipeline_and_finds_the_views(tmp_path, name, settings, images):
    if "images" in PROTOCOLS[name].settings:
        settings = settings | {"images": images}
    engine = engines.create("oracle", model_entry("respondent", behaviour="oracle"))
    asked = several()
    with Journal(tmp_path / "journal") as journal:
        outcome = run({Cell("v", 0): (lambda q: asked_by(name, q, **settings), asked)}, engine, journal, folder=Path())
    by_id = {q.id: q for q in asked}
    final = {}
    seen = {}
    for row in outcome.replies[Cell("v", 0)]:
        seen.setdefault(row.question_id, set()).update(row.images)
        if row.step == "answer":
            final[row.question_id] = row
    for q in asked:
        for parser in PARSER_NAMES:
            assert score_turn(final[q.id], by_id[q.id], parser).correct, (q.id, parser)
        if name in ("zooming", "shifting", "mixed", "groundtruth_views") and settings.get("split", 4) == 4:
            needed = {q.images[2 + view].sha256 for view in q.extra["groundtruth_views"]}
            if images == "many":
                assert needed <= set(final[q.id].images)
            elif images == "captioned":
                assert needed <= seen[q.id]
