"""The first screen: its table and its sentences, from metrics and pairs entered by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.comparison.paired_rows import PairedRow
from known_unknowns.engines.respondents import BEHAVIOURS
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report import side_by_side
from known_unknowns.report.overview import Overview, baselines_in_words, draw_primary, matrix, table
from known_unknowns.report.page import run_of
from known_unknowns.report.sentences import Facts, module, sentences
from tests.factories import params_from

from .fake_run import params

PAIR = "original+nota_only"
NUMBERS = {  # model: dual accuracy, accuracy, refused without a right option, recognised on blank images
    "pocket": (0.6, 0.8, 0.7, 0.9),
    "pocket-never-refuses": (0.1, 0.9, 0.1, 0.25),
    "oracle": (1.0, 1.0, 1.0, 1.0),
}


def metric(model: str, variant: str, name: str, value: float | None) -> Metric:
    bounds = (None, None) if value is None else (max(0.0, value - 0.05), min(1.0, value + 0.05))
    return Metric(model, "humblebench", variant, 0, 0, "robust", OVERALL, name, value, *bounds, 200, "wilson")


def pair(a: str, b: str, difference: float, p: float) -> PairedRow:
    return PairedRow(
        "humblebench", a, PAIR, "robust", b, PAIR, "robust", n=200, groups=40, seeds=1, only_a=0, only_b=0,
        accuracy_a=0.6, accuracy_b=0.6 - difference, difference=difference, low=difference - 0.1, high=difference + 0.1,
        confidence=0.95, method="t", p=p, p_holm=p, test="sign-flip", pairs=1, correlation=None, standard_error=0.05,
        detectable=0.14, rank_a_low=0, rank_a_high=0, rank_b_low=0, rank_b_high=0,
    )  # fmt: skip


def overview(*pairs: PairedRow, models: tuple[str, ...] = tuple(NUMBERS), dual: bool = True) -> Overview:
    raw = params().file.plain()
    raw["editions"]["pocket"]["models"] = list(models)
    rows = []
    for model in models:
        both, right, refused, blank = NUMBERS[model]
        rows += [metric(model, PAIR, "dual_accuracy_answerable", both)] if dual else []
        rows.append(metric(model, "original", "accuracy", right))
        if dual:
            rows += [metric(model, "nota_only", name, refused) for name in ("accuracy", "refusal_recall")]
            parts = {"recognised": blank, "recognised_refused": blank - 0.1, "recognised_abstained": 0.1}
            rows += [metric(model, "blank", name, value) for name, value in parts.items()]
            rows.append(metric(model, "blank", "accuracy", 0.99))  # not shown
    return Overview(run_of(params_from(raw), MetricIndex(rows), "humblebench"), [], list(pairs))


def cells(found: Overview) -> dict[str, dict[str, str]]:
    made, _ = table(found)
    return {
        row.heads[0].text: dict(zip((c.text for c in made.columns), (c.text for c in row.cells), strict=True))
        for row in made.rows
    }


def test_models_are_sorted_by_dual_accuracy_with_baselines_last() -> None:
    """The oracle has the highest number, and is no model."""
    found = cells(overview(pair("pocket", "pocket-never-refuses", 0.5, 0.001)))
    assert list(found) == ["pocket", "pocket-never-refuses", "oracle"]
    assert found["pocket"] == {
        "rank": "1",
        "dual accuracy of answerable questions": "60.0",
        "unusable": "–",
        "accuracy": "80.0",
        "refused, no right option": "70.0",
        "recognised, no content": "90.0",
        "of it refused": "80.0",
        "of it abstained": "10.0",
    }
    assert found["pocket-never-refuses"]["rank"] == "2" and found["oracle"]["rank"] == "–"
    assert found["pocket-never-refuses"]["recognised, no content"] == "25.0"


def test_a_significant_difference_is_said() -> None:
    best, distance, guesses = sentences(overview(pair("pocket-never-refuses", "pocket", -0.5, 0.001)))
    assert "pocket knows best" in best and "60.0% [55.0, 65.0] of 200 HumbleBench" in best
    assert "distinguish" in distance and "pocket-never-refuses: +50.0 [+40.0, +60.0] points, p = 0.0010." in distance
    assert "10.0 to 70.0%" in guesses and "25.0 to 90.0%" in guesses


def test_a_pair_with_a_variant_without_content_ranks_no_models() -> None:
    found = overview()
    rows = [replace(m, variant="original+blank") if m.variant == PAIR else m for m in found.run.numbers]
    found = Overview(replace(found.run, numbers=MetricIndex(rows)), [], [])
    assert found.pair is None and found.main == "original"
    assert found.models == ("pocket-never-refuses", "pocket")  # by the accuracy on the published questions


def test_undefined_columns_have_a_reason_and_no_zero() -> None:
    _, undefined = table(overview(dual=False))
    assert undefined["Dual accuracy of answerable questions"] == "undefined for these questions"
    found = cells(overview(dual=False))
    assert next(iter(found)) == "pocket-never-refuses"  # by accuracy
    assert list(found["pocket"]) == ["accuracy", "unusable"]
    assert "rendered" in undefined["Verdicts"]


def test_models_that_cannot_be_distinguished_share_their_ranks() -> None:
    found = overview(pair("pocket", "pocket-never-refuses", 0.02, 0.6))
    assert sentences(found)[0].startswith(
        "pocket has the highest dual accuracy of answerable questions, but cannot be distinguished from "
        "pocket-never-refuses: it answers 60.0% [55.0, 65.0] of 200"
    )
    assert sentences(found)[1] == ("The difference to pocket-never-refuses is +2.0 [-8.0, +12.0] points, p = 0.6000.")
    assert cells(found)["pocket"]["rank"] == cells(found)["pocket-never-refuses"]["rank"] == "1–2"


def test_the_first_sentence_says_what_the_test_does_not_distinguish() -> None:
    facts = Facts(
        "ActiView", ["a", "b", "c"], ["a", "b", "c"], 0, "zooming accuracy", "46.2% [35.6, 57.0]", "91",
        equal=["a"], is_tested=True, tests=2, same=["b", "c"], closest="b", difference="+4.4 points",
    )  # fmt: skip
    macros = module()
    assert macros.first(facts) == (
        "a has the highest zooming accuracy on ActiView, but cannot be distinguished from 2 other models: "
        "46.2% [35.6, 57.0], n = 91."
    )
    assert macros.distance(facts) == "It cannot be distinguished from 2 other models (b, c); b: +4.4 points."
    one = replace(facts, same=["b"])
    assert "but cannot be distinguished from b: 46.2%" in macros.first(one)
    assert "cannot be distinguished" not in macros.first(replace(facts, same=[]))


def test_pairs_with_baselines_do_not_count() -> None:
    found = overview(pair("pocket", "oracle", -0.4, 0.001), pair("pocket", "pocket-never-refuses", 0.5, 0.04))
    assert [row.pairs for row in found.tests] == [1]
    assert "p = 0.0400." in sentences(found)[1]
    other = replace(pair("pocket", "pocket-never-refuses", 0.5, 0.04), variant_a="noise", variant_b="noise")
    assert overview(other).tests == ()


def test_the_page_has_the_corrected_p_value_of_the_table() -> None:
    """The table corrected it for three models, of which one has too many unusable replies to be shown."""
    row = replace(pair("pocket", "pocket-never-refuses", 0.5, 0.02), p_holm=0.06, pairs=3)
    found = overview(row)
    assert [(each.p_holm, each.pairs) for each in found.tests] == [(0.06, 3)]
    data = side_by_side.page_data([found])
    (shown,) = [dict(zip(data["fields"], values[3:], strict=True)) for values in data["rows"]]
    assert (shown["p_holm"], shown["pairs"]) == (0.06, 3)
    assert cells(found)["pocket"]["rank"] == cells(found)["pocket-never-refuses"]["rank"] == "1–2"


def test_the_declared_numbers_are_the_columns_and_the_primary_one_is_that_of_the_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = HeadlineNumber("both", "share of both", "both_right")
    monkeypatch.setattr(type(registry.get("humblebench")), "headline", (both, HeadlineNumber("accuracy", "accuracy")))
    found = overview(dual=False)
    rows = [*found.run.numbers]
    rows += [metric(name, "original", "both_right", value) for name, value in (("pocket", 0.2), ("oracle", 1.0))]
    found = Overview(replace(found.run, numbers=MetricIndex(rows)), [], [])
    assert sentences(found)[:2] == (
        "pocket has the highest share of both on HumbleBench: 20.0% [15.0, 25.0], n = 200.",
        "There is no paired test of this number.",
    )
    assert list(cells(found)["pocket"].items()) == [("share of both", "20.0"), ("unusable", "–"), ("accuracy", "80.0")]


def with_unusable(found: Overview, **shares: float) -> Overview:
    """The overview with unparsed replies of models."""
    rows = [metric(name.replace("_", "-"), "original", "share_unparsed", share) for name, share in shares.items()]
    return Overview(replace(found.run, numbers=MetricIndex([*found.run.numbers, *rows])), [], found.pairs)


def test_a_model_with_many_unusable_replies_has_no_rank_no_test_and_no_sentence() -> None:
    found = with_unusable(overview(pair("pocket", "pocket-never-refuses", 0.5, 0.001)), pocket=0.21)
    assert found.models == ("pocket-never-refuses", "pocket") and found.tests == ()
    first = cells(found)["pocket"]
    assert (first["dual accuracy of answerable questions"], first["unusable"]) == (
        "60.0",
        "21.0",
    ) and "rank" not in first
    best, only, *_ = sentences(found)
    assert best.startswith("pocket-never-refuses answers") and "only model of this run with usable replies" in only
    column = [head.text for head in table(found)[0].columns].index("unusable")
    link = table(found)[0].rows[1].cells[column].link
    assert link == "questions.html#benchmark=humblebench&model=pocket&variant=original&outcome=unusable"
    assert with_unusable(overview(), pocket=0.2).ranked[0] == "pocket"


def test_a_benchmark_that_is_missing_for_a_model_has_a_reason() -> None:
    """The oracle was measured, and has no pair. The first benchmark has no pair with an unusable model."""
    compared = overview(pair("pocket", "pocket-never-refuses", 0.5, 0.001))
    assert side_by_side.missing([compared]) == [("HumbleBench", "oracle", "no other model answered the same questions")]
    reasons = {each.model: each.reason for each in side_by_side.missing([with_unusable(compared, pocket=0.3)])}
    assert reasons["pocket"] == "30.0% of 200 replies are unusable (60 unparsed), more than 20%"
    alone = overview(models=("pocket", "oracle"))
    reasons = {each.model: each.reason for each in side_by_side.missing([compared, alone])}
    assert reasons["pocket-never-refuses"] == "nothing was measured"


def test_the_pairs_say_what_their_number_counts() -> None:
    several = replace(pair("pocket", "pocket-never-refuses", 0.5, 0.001), seeds=5)
    (row,) = side_by_side.best_pairs([overview(several)]).rows
    assert row.cells[-1].text == "200 answerable questions × 5 seeds"


def test_no_model_is_ranked_if_all_have_many_unusable_replies() -> None:
    (none,) = sentences(with_unusable(overview(), pocket=1.0, pocket_never_refuses=0.5))
    assert "No model is ranked" in none


@pytest.mark.parametrize("value", [0.0, 0.4])
def test_equal_models_are_none_of_them_the_highest(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    for name in ("pocket", "pocket-never-refuses"):
        monkeypatch.setitem(NUMBERS, name, (value, *NUMBERS[name][1:]))
    text = " ".join(sentences(overview(pair("pocket", "pocket-never-refuses", 0.0, 1.0))))
    assert "have the same dual accuracy of answerable questions" in text and not re.search("highest|best", text)


def test_the_matrix_has_the_primary_number_of_every_benchmark_with_its_questions() -> None:
    found = overview()
    assert matrix([found]) is None  # one benchmark, and no model of the catalogue
    made = matrix([found, found])
    assert made is not None and [head.text for head in made.columns] == ["HumbleBench"] * 2
    assert [(row.heads[0].text, row.kind, row.cells[0].text) for row in made.rows] == [
        ("pocket", "", "60.0"),
        ("pocket-never-refuses", "", "10.0"),
        ("oracle", "baseline", "100.0"),
    ]
    link = "questions.html#benchmark=humblebench&model=pocket&variant=nota_only&relation=original%2Bnota_only"
    assert made.rows[0].cells[0].link == link


def hovers(found: Overview) -> list[str]:
    """What the marks of the figure of primary numbers say at the pointer."""
    return re.findall("<title>([^<]+)</title>", draw_primary([found]).svg)


def test_the_figure_has_the_primary_numbers_of_the_matrix_with_their_intervals() -> None:
    found = overview()
    assert hovers(found) == [
        "pocket, dual accuracy of answerable questions: 60.0 [55.0, 65.0]",
        "pocket-never-refuses, dual accuracy of answerable questions: 10.0 [5.0, 15.0]",
        "oracle, dual accuracy of answerable questions: 100.0 [95.0, 100.0]",
    ]
    drawn = draw_primary([found])
    assert drawn.title == "Dual accuracy of answerable questions"
    assert drawn.note.replace("\N{NO-BREAK SPACE}", " ") == (
        "Percent with 95% intervals, wilson. n = 200 (HumbleBench). Grey: scripted baselines."
    )
    assert drawn.caveat == "Rendered questions, not the published ones."


def test_the_figure_counts_the_questions_that_a_number_is_a_share_of() -> None:
    """Of the 200 questions, 150 and 160 are answerable: two models, asked other questions."""
    found = overview(models=("pocket", "pocket-never-refuses"))
    answerable = {"pocket": 150.0, "pocket-never-refuses": 160.0}
    rows = [replace(row, denominator=answerable[row.model]) for row in found.run.numbers]
    other = replace(found, run=replace(found.run, numbers=MetricIndex(rows)))
    assert "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}150 to 160 (HumbleBench)" in draw_primary([other]).note


def published_questions(found: Overview, *, limit: int = 0) -> Overview:
    """The overview of the accuracy, as if the published questions had been asked."""
    raw = found.run.params.file.plain()
    raw["editions"]["pocket"] |= {"data": "full", "limit": limit}
    return replace(found, run=replace(found.run, params=params_from(raw)))


def test_published_numbers_are_in_the_figure_only_beside_the_published_questions() -> None:
    """HumbleBench's Table 3 has the accuracy of 19 models, such as 73.46 of GLM-4.1V-Thinking."""
    rendered = overview(dual=False)
    assert len(hovers(rendered)) == 3
    assert "published" not in draw_primary([rendered]).note
    theirs = [hover for hover in hovers(published_questions(rendered)) if "[" not in hover]
    assert len(theirs) == 19
    assert (
        "Grey: published models, which are named at the pointer" in draw_primary([published_questions(rendered)]).note
    )
    assert len(hovers(published_questions(rendered, limit=20))) == 3  # a sample of them


def test_a_figure_without_a_number_says_why() -> None:
    found = overview()
    empty = replace(found, run=replace(found.run, numbers=MetricIndex([])))
    assert draw_primary([empty]).absent == "not drawn: nothing was measured"


def test_a_number_links_to_the_replies_that_it_counts() -> None:
    made, _ = table(overview())
    links = {column.text: cell.link for column, cell in zip(made.columns, made.rows[0].cells, strict=True)}
    start = "questions.html#benchmark=humblebench&model=pocket&variant="
    assert links["accuracy"] == f"{start}original&outcome=right"
    assert links["refused, no right option"] == f"{start}nota_only&outcome=right"
    assert links["recognised, no content"] == f"{start}blank&outcome=recognised"
    assert links["of it refused"] == f"{start}blank&outcome=refused"
    assert links["of it abstained"] == f"{start}blank&outcome=abstained"


def test_the_matrix_has_size_family_and_licence_from_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GLM-4.1V", "qwen2.5-vl-7b"):
        monkeypatch.setitem(NUMBERS, name, NUMBERS["pocket"])
    made = matrix([overview(models=("GLM-4.1V", "qwen2.5-vl-7b", "pocket"))])
    assert made is not None and [head.text for head in made.columns][-3:] == ["parameters", "family", "licence"]
    facts = {row.heads[0].text: [cell.text for cell in row.cells[-3:]] for row in made.rows}
    assert facts["qwen2.5-vl-7b"] == ["8.29", "Qwen2.5-VL", "Apache-2.0"]
    assert facts["GLM-4.1V"][1] and facts["GLM-4.1V"][2]  # released replies, by their published row
    assert facts["pocket"] == ["–"] * 3


def test_the_baselines_of_the_edition_are_described() -> None:
    for behaviour in BEHAVIOURS:
        ((names, what),) = baselines_in_words(params(models=(behaviour,)))
        assert names == [behaviour] and what
    assert baselines_in_words(params(models=("pocket", "GLM-4.1V"))) == []


def test_one_model_and_none() -> None:
    best, only, guesses = sentences(overview(models=("pocket", "oracle")))
    assert (
        best.startswith("pocket answers 60.0% [55.0, 65.0] of 200 HumbleBench")
        and "(dual accuracy of answerable questions)" in best
    )
    assert only == "It is the only model of this run, beside 1 scripted baseline."
    assert "70.0%" in guesses and "90.0%" in guesses
    (none,) = sentences(overview(models=("oracle",)))
    assert "scripted baselines" in none


def test_a_long_list_of_models_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["Cambrian", "Gemma-3", "Idefics3", "Ovis-2", "Phi-4", "Pixtral"]
    for name in names:
        monkeypatch.setitem(NUMBERS, name, NUMBERS["pocket"])
    pairs = [pair(a, b, 0.0, 1.0) for place, a in enumerate(names) for b in names[place + 1 :]]
    first, distance, *_ = sentences(overview(*pairs, models=tuple(names)))
    assert "cannot be distinguished" not in first  # all have the same number
    assert "from 5 other models (Gemma-3, Idefics3, Ovis-2 and 2 more); Gemma-3: +0.0" in distance
