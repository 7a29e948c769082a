"""ActiView's metrics, from replies to scripted dialogues, by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.records import OVERALL, AnsweredTurn, Metric, Question, Reply, Turn
from known_unknowns.scoring.table import parse
from known_unknowns_benchmarks.actiview.metrics import (
    AVERAGED,
    DialogueViews,
    ViewNecessity,
    cost,
    view_necessity,
)
from tests import paths
from tests.asked_and_measured import measure
from tests.cells import write_questions, write_replies
from tests.factories import params_from
from tests.unit.benchmarks.actiview.perceiving import converse, question, recorded
from tests.unit.metrics.answered import pick

PARSERS = ("official", "robust")
SHARED = paths.SHARED / "data/actiview"
CUT_OFF = Reply("2,3", error="out of memory")


def ask(identifier: str, annotated: list[int], *, category: str = "Obj-Rel", kind: str = "Type II", start: int = 0):
    extra = dict(question().extra) | {"groundtruth_views": annotated, "type": kind, "random_start": start}
    return question(identifier, category=category, group=identifier, extra=extra)


def dialogue(name: str, asked: Question, said: list[str | Reply], **settings: str | int) -> list[AnsweredTurn]:
    replies = iter(said)
    return recorded(converse(name, lambda _: next(replies), asked, **settings))


def measured(folder: Path, cells: dict[str, list[tuple[Question, list[AnsweredTurn]]]]) -> list[Metric]:
    for variant, pairs in cells.items():
        write_questions(folder / "variants", variant, 0, [asked for asked, _ in pairs])
        write_replies(folder / "replies.parquet", variant, 0, [turn for _, turns in pairs for turn in turns])
    params = params_from(
        {
            "edition": "pocket",
            "editions": {"pocket": {"benchmarks": ["actiview"], "models": ["m"], "seeds": [0]}},
            "benchmarks": {"actiview": {"variants": list(cells), "protocol": "full_image"}},
            "variants": {name: {"function": "original"} for name in cells},
            "protocols": {"full_image": {}},
            "models": {"m": {"engine": "respondent", "behaviour": "oracle"}},
            "parsers": list(PARSERS),
            "statistics": {"confidence": 0.95},
        }
    )
    variants = folder / "variants"
    answers, replies = (folder / f"{name}.parquet" for name in ("answers", "replies"))
    parse(variants, replies, answers, cells=params.cells("actiview"), parsers=PARSERS)
    measure(params, "m", "actiview", answers=answers, out=folder / "metrics.parquet")
    return tables.read_metrics(folder / "metrics.parquet")


ZOOMING = [  # annotated, said; B is right
    (ask("z1", [1, 3]), ["1,3", "B"]),  # both found
    (ask("z2", [2]), ["1,2,4", "B"]),  # found, with two more
    (ask("z3", [1, 2, 3, 4], category="Event-S", kind="Type III"), ["1, 2", "A"]),  # 1 of 4, by the blank
    (ask("z4", [4]), ["1 and 4", "B"]),  # none: the toolkit stops
    (ask("z5", [2, 3]), [CUT_OFF, CUT_OFF]),  # none, and a wrong answer
]


def test_zooming_is_measured_by_the_shown_views(tmp_path):
    metrics = measured(tmp_path, {"zooming": [(q, dialogue("zooming", q, said)) for q, said in ZOOMING]})
    of = {
        parser: lambda name, s=parser, **w: pick(metrics, name, variant="zooming", parser=s, **w) for parser in PARSERS
    }
    assert of["official"]("accuracy").value == 3 / 5
    assert of["official"]("share_failed").value == 1 / 5
    for parser in PARSERS:  # what was shown does not depend on who reads it afterwards
        recall = of[parser]("view_recall")
        assert recall.value == (2 + 1 + 1 + 0 + 0) / (2 + 1 + 4 + 1 + 2)
        assert (recall.n, recall.denominator) == (5, 10)  # questions, annotated views
        assert of[parser]("view_recall_as_published").value == recall.value
        mean = of[parser]("views")
        assert (mean.value, mean.n, mean.denominator) == ((2 + 3 + 1 + 0 + 0) / 5, 5, 5)
        assert 0 <= mean.low <= mean.value <= mean.high <= 4
        assert mean.method.endswith("times 4 views")
    invalid = of["official"]("invalid_selections")
    assert (invalid.value, invalid.n, invalid.denominator) == (
        2 / 5,
        5,
        5,
    )  # z4 and z5; of z3, the toolkit reads a 1 and nothing amiss
    assert of["robust"]("invalid_selections").value == 1 / 5  # z5
    assert of["robust"]("view_recall", category="Type III").value == 1 / 4
    assert of["robust"]("views", category="Event-S").value == 1
    assert of["official"]("chance").value == pytest.approx(1 / 3)
    names = {metric.name for metric in metrics}
    assert not names & {"zooms", "shifts", "fraction_zoomed", "fraction_shifted"}


def test_with_one_image_a_question_is_right_if_any_view_is(tmp_path):
    pairs = [
        (ask("o1", [1]), ["1,2", "B", "A"]),  # the first view gives it
        (ask("o2", [3]), ["1,2", "A", "B"]),
        (ask("o3", [1]), ["1,2", "A", "C"]),
        (ask("o4", [1]), ["?", "A"]),
    ]
    metrics = measured(
        tmp_path, {"zooming": [(q, dialogue("zooming", q, said, images="concatenated")) for q, said in pairs]}
    )
    for parser in PARSERS:
        accuracy = pick(metrics, "accuracy", variant="zooming", parser=parser)
        assert (accuracy.value, accuracy.n) == (2 / 4, 4)
    assert pick(metrics, "share_B", variant="zooming").value == 2 / 4
    assert pick(metrics, "views", variant="zooming").value == (2 + 2 + 2 + 0) / 4
    assert pick(metrics, "view_recall", variant="zooming").value == 2 / 4


def test_shifting_counts_the_first_view_as_no_shift(tmp_path):
    pairs = [
        (ask("s1", [1, 4], start=0), ["no", "B"]),  # saw 1
        (ask("s2", [1, 4], start=2), ["yes", "no", "A"]),  # saw 3 and 4
        (ask("s3", [1, 4], start=3), ["yes"] * 4 + ["B"]),  # saw all
    ]
    metrics = measured(tmp_path, {"shifting_r": [(q, dialogue("shifting", q, said)) for q, said in pairs]})

    def of(name):
        return pick(metrics, name, variant="shifting_r")

    assert of("views").value == pytest.approx((1 + 2 + 4) / 3)
    assert of("shifts").value == pytest.approx((0 + 1 + 3) / 3)
    assert of("view_recall").value == (1 + 1 + 2) / 6
    assert of("view_recall_as_published").value == (0 + 0 + 1) / 6  # seen 0; 2 and 3; 0 to 3: view 4 is never found
    assert "invalid_selections" not in {metric.name for metric in metrics}


def test_mixed_counts_zooms_and_shifts(tmp_path):
    operate = '{"keep": "%s", "shift": "%s"}'
    pairs = [
        (ask("m1", [1, 3]), ['{"part": "1,2"}', operate % ("1", "3,4"), "B"]),  # 2 dropped, 3 and 4 shifted to
        (ask("m2", [2]), ['{"part": "none"}', "B"]),
        (ask("m3", [4]), ["I zoom into 4", "A"]),  # the toolkit reads none; robustly, a choice
        (ask("m4", [4]), ['{"part": "4"}', "keep it", "A"]),  # the view stays
    ]
    metrics = measured(tmp_path, {"mixed": [(q, dialogue("mixed", q, said)) for q, said in pairs]})
    expected = {
        "views": (3 + 0 + 0 + 1) / 4,
        "zooms": (2 + 0 + 0 + 1) / 4,
        "shifts": (2 + 0 + 0 + 0) / 4,
        "view_recall": 3 / 5,
        "view_recall_as_published": 3 / 5,
    }
    for name, value in expected.items():
        assert pick(metrics, name, variant="mixed").value == value, name
    assert pick(metrics, "invalid_selections", variant="mixed", parser="official").value == 2 / 4
    assert pick(metrics, "invalid_selections", variant="mixed", parser="robust").value == 1 / 4


def test_pipelines_without_views_lack_these_metrics(tmp_path):
    asked = ask("f", [1])
    cells = {
        "full_image": [(asked, dialogue("full_image", asked, ["B"]))],
        "text_only": [(asked, dialogue("text_only_template", asked, ["B"]))],
        "single_view": [(asked, dialogue("single_view", asked, ["B"]))],
        "groundtruth_views": [(asked, dialogue("groundtruth_views", asked, ["B"]))],
        "nothing_chosen": [(asked, dialogue("zooming", asked, ["?", "B"]))],
    }
    metrics = measured(tmp_path, cells)
    own = {"views", "zooms", "shifts", "view_recall", "invalid_selections"}
    found = {variant: {m.name for m in metrics if m.variant == variant} & own for variant in cells}
    assert found == {
        "full_image": set(),
        "text_only": set(),
        "single_view": {"views"},
        "groundtruth_views": {"views"},
        "nothing_chosen": {"views", "view_recall", "invalid_selections"},
    }
    assert pick(metrics, "views", variant="nothing_chosen").value == 0


def test_every_view_of_a_larger_split_counts(tmp_path):
    pairs = [(ask(str(k), [1]), ["yes"] * 9 + ["B"]) for k in range(3)] + [(ask("x", [1]), ["no", "B"])]
    metrics = measured(tmp_path, {"nine": [(q, dialogue("shifting", q, said, split=9)) for q, said in pairs]})
    assert pick(metrics, "views", variant="nine").value == pytest.approx((9 * 3 + 1) / 4)
    assert "view_recall" not in {metric.name for metric in metrics}  # only views of four are annotated


@pytest.mark.parametrize("images", ["many", "concatenated", "captioned"])
@pytest.mark.parametrize("name", ["zooming", "shifting", "mixed"])
def test_the_views_that_the_text_names_are_those_that_were_shown(name, images):
    draw = random.Random(f"{name}{images}")
    asked = question(text="Is this, the lowerleft view, or is your selected upperright view. it?")
    for _ in range(60):

        def say(turn):
            if turn.step == "caption":
                return f"see {turn.images[0].source}"
            keep, shift = (",".join(map(str, draw.sample(range(1, 5), draw.randrange(3)))) or "none" for _ in range(2))
            return draw.choice(["yes", "no", keep, json.dumps({"part": keep, "keep": keep, "shift": shift})])

        pairs = converse(name, say, asked, images=images)
        looked = DialogueViews.of(asked, recorded(pairs), "official")
        assert looked.used == used(pairs)


def used(pairs: list[tuple[Turn, Reply]]) -> set[int]:
    """The views in the images of the answering turns, and whose descriptions stand in them."""
    found = set()
    for turn, _ in pairs:
        if turn.step in ("answer", "view"):
            shown = " ".join(image.source for image in turn.images) + turn.text
            found |= {view for view, name in enumerate(("ul", "ll", "ur", "lr"), start=1) if f"/{name}.png" in shown}
    return found


def test_the_average_is_of_zooming_and_four_kinds_of_shifting(tmp_path):
    """Right answers of three questions by pipeline: 3 + 2 + 1 + 0 + 1 of 15."""
    right = {"zooming": "BBB", "shifting_r": "BBA", "shifting_e": "ABA", "shifting_m": "AAA", "shifting_h": "BAA"}
    assert tuple(right) == AVERAGED
    cells = {
        variant: [(q := ask(f"q{k}", [1]), dialogue("full_image", q, [said])) for k, said in enumerate(letters)]
        for variant, letters in (right | {"mixed": "BBB"}).items()
    }
    metrics = measured(tmp_path / "all", cells)
    average = pick(metrics, "accuracy", variant="average")
    assert (average.value, average.n, average.denominator) == (pytest.approx(7 / 15), 3, 15)
    chance = pick(metrics, "chance", variant="average")
    options = len(question().options)
    assert (chance.value, chance.low) == (pytest.approx(1 / options), None)
    of_two = pick(metrics, "accuracy", variant="average_of_two")
    assert (of_two.value, of_two.denominator) == (pytest.approx(5 / 6), 6)
    assert {m.variant for m in metrics} == {*cells, "average", "average_of_two"}
    less = measured(tmp_path / "less", {v: found for v, found in cells.items() if v != "shifting_e"})
    assert {m.variant for m in less} == {*cells, "average_of_two"} - {"shifting_e"}


def test_needed_is_right_with_the_views_and_wrong_without():
    with_views = {"a": True, "b": True, "c": True, "d": False, "e": False}
    without = {"a": False, "b": False, "c": True, "d": True, "e": False}
    assert view_necessity(with_views, without) == ViewNecessity(right=3, needed=2, spoiled=1, n=5)
    assert view_necessity(with_views, without).share == 2 / 3
    assert view_necessity({"a": False}, {"a": True}).share is None
    with pytest.raises(ValueError, match=r"2 questions are not in both, among them \['f', 'g'\]"):
        view_necessity(with_views | {"f": True}, without | {"g": True})


def test_the_cost_includes_all_turns_and_images():
    first = dialogue(
        "zooming",
        ask("a", [1]),
        [Reply("1,2", input_tokens=100, visual_tokens=80), Reply("B", input_tokens=300, visual_tokens=240)],
    )
    second = dialogue(
        "zooming",
        ask("b", [1]),
        [Reply("?", input_tokens=100, visual_tokens=80), Reply("B", input_tokens=101, visual_tokens=81)],
    )
    found = cost([first, second])
    assert (found.turns, found.images, found.n) == (2, ((1 + 3) + (1 + 1)) / 2, 2)
    assert found.input_tokens == (100 + 300 + 100 + 101) / 2
    assert found.visual_tokens == (80 + 240 + 80 + 81) / 2
    silent = dialogue("full_image", ask("c", [1]), [Reply("B")])
    assert cost([silent]).input_tokens is None
    half = dialogue("zooming", ask("d", [1]), [Reply("1", visual_tokens=80), Reply("B")])
    assert cost([half]).visual_tokens is None
    with pytest.raises(ValueError, match="no dialogues"):
        cost([])


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published annotations are not here")
def test_the_published_recall_of_all_four_views_counts_them_from_zero():
    annotated = json.loads((SHARED / "groundtruth_views.json").read_text())
    found = whole = 0
    for views in annotated:
        turns = dialogue("shifting", ask("q", views), ["yes"] * 4 + ["B"])
        looked = DialogueViews.of(ask("q", views), turns, "official")
        assert looked.used == {1, 2, 3, 4}
        found += len({view - 1 for view in looked.used} & set(views))
        whole += len(views)
    assert (found, whole) == (641, 859)
    assert f"{100 * found / whole:.2f}" == "74.62"  # Table 13, wherever #view is 4.00


def test_types_and_distraction_are_categories(tmp_path):
    asked = ask("q", [1])
    assert asked.extra["distraction"] == 1
    metrics = measured(tmp_path, {"zooming": [(asked, dialogue("zooming", asked, ["1", "B"]))]})
    assert {metric.category for metric in metrics} == {OVERALL, "Type II", "Obj-Rel", "Distraction"}
