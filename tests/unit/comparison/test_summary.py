"""The summary at the end of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns import config
from known_unknowns.benchmark import registry
from known_unknowns.comparison import Conditions, compare_cells, load, summarise, write_comparison
from known_unknowns.comparison.conditions import Asked, conditions_of
from known_unknowns.comparison.summary import judgeable, leading_rows
from known_unknowns.config import Params
from known_unknowns.records import OVERALL, Metric
from known_unknowns.workflow.run import closing_message
from tests.paths import ROOT

OURS = Metric(
    "ours", "humblebench", "original", 0, 0, "official", OVERALL, "accuracy", 0.722, 0.716, 0.728, 22_831, "m"
)
PARSERS = ["official", "robust"]


def params(edition: str) -> Params:
    return config.load(ROOT / "params.yaml", edition=edition)


def test_judged_numbers_and_what_to_run_next():
    cells = load("humblebench")
    rows = compare_cells(cells, [OURS], published_rows={"ours": "Qwen2.5-VL"}, parsers=PARSERS)
    found = summarise(rows, params("full"))
    assert (found.numbers, found.judged) == (len(cells), 1)
    assert found.verdicts == {"identical": 1, "not run": len(cells) - 1}
    texts = {step.text: step.numbers for step in found.steps}
    of_gemma = [cell for cell in cells if cell.model == "Gemma-3"]
    (step,) = [text for text in texts if "no model stands for Gemma-3" in text]
    assert texts[step] == len(of_gemma) and step.endswith(" to the models of the edition")
    assert texts["HumbleBench: run the variant nota_only for ours"] == 2
    absent = [cell for cell in cells if cell.model in ("Cambrian", "VILA1.5")]
    (unavailable,) = [text for text in texts if "--absent" in text]
    assert texts[unavailable] == len(absent)
    assert [step.numbers for step in found.steps] == sorted(texts.values(), reverse=True)
    assert sum(texts.values()) == len(cells) - 1
    assert found.text().startswith(f"Verdicts   1 of {len(cells)} published numbers could be judged")


def test_models_are_not_added_to_released_replies():
    """No model is asked in the edition released, so a model must be added to another one."""
    rows = compare_cells(load("humblebench"), [OURS], published_rows={"ours": "Qwen2.5-VL"}, parsers=PARSERS)
    (text,) = [step.text for step in summarise(rows, params("released")).steps if "for Gemma-3:" in step.text]
    assert text.endswith(" to an edition with the published data (full or papers)")


@pytest.mark.parametrize("benchmark", ["humblebench", "actiview"])
def test_rendered_questions_need_another_edition_and_the_command_judges_as_many(benchmark):
    """The edition of each printed command, with a metric for every number, judges exactly the number of its line."""
    cells = load(benchmark)
    rows = compare_cells(cells, [], published_rows={}, parsers=PARSERS, conditions=Conditions(other_questions="r"))
    steps = [step for step in summarise(rows, params("pocket")).steps if "rendered" in step.text]
    assert steps
    for step in steps:
        (edition,) = re.findall(r"make run EDITION=(\S+)$", step.text)
        chosen = params(edition)
        published = {m: row for m in chosen.models if (row := chosen.published(m, benchmark))}
        variants = set(chosen.variants(benchmark))
        combined = [c.name for c in registry.get(benchmark).metrics().across_variants if variants >= set(c.variants)]
        metrics = {}
        for cell in cells:
            n = cell.n or cell.questions or 1
            key = (cell.variant, cell.category, cell.metric)
            for model in published if cell.variant in {*variants, *combined} else ():
                parser = cell.parser or "official"
                where = (model, benchmark, cell.variant, 0, 0, parser, cell.category, cell.metric)
                metrics[model, parser, *key] = Metric(*where, 0.5, 0.4, 0.6, n, "m")
        asked = conditions_of(chosen, benchmark, {})
        judged = compare_cells(
            cells, metrics.values(), published_rows=published, parsers=["official"], conditions=asked
        )
        keys = {(row.table, row.row, row.column) for row in judged if row.obstacle in (None, "n", "revision")}
        assert step.numbers == len(keys), edition


def test_the_numbers_of_editions_by_hand():
    """Of the models of the edition full, only Qwen2.5-VL-7B has a published row, and HumbleBench alone has it."""
    found = {name: len(judgeable(name, params("full"))) for name in ("humblebench", "mmsap", "actiview")}
    row = [cell for cell in load("humblebench") if cell.model == "Qwen2.5-VL"]
    asked = {"original", "nota_only", "noise"}
    assert found == {"humblebench": sum(cell.variant in asked for cell in row), "mmsap": 0, "actiview": 0}


@pytest.mark.parametrize("benchmark", ["humblebench", "mmsap", "actiview"])
def test_the_edition_of_a_benchmarks_papers_judges_as_many_as_all_papers_and_is_the_one_to_run(benchmark):
    whole, own = params("papers"), params(f"papers_{benchmark}")
    assert judgeable(benchmark, own) == judgeable(benchmark, whole) != []
    published = {cell.variant for cell in load(benchmark)}
    assert set(own.variants(benchmark)) <= published and all(own.published(name, benchmark) for name in own.models)
    rows = compare_cells(load(benchmark), [], published_rows={}, parsers=PARSERS, conditions=Conditions("rendered"))
    texts = [step.text for step in summarise(rows, params("pocket")).steps]
    assert any(text.endswith(f"make run EDITION=papers_{benchmark}") for text in texts)
    assert not any(text.endswith("EDITION=papers") for text in texts)


def test_a_model_that_was_asked_otherwise_is_to_be_asked_as_published():
    conditions = Conditions(asked=lambda model, variant: Asked(["order text_first instead of in_place"]))
    cells = [cell for cell in load("humblebench") if (cell.table, cell.model) == ("Table 3", "Qwen2.5-VL")][-1:]
    rows = compare_cells(cells, [OURS], published_rows={"ours": "Qwen2.5-VL"}, parsers=PARSERS, conditions=conditions)
    assert rows[0].reason == "asked otherwise: order text_first instead of in_place (our ours)"
    (step,) = summarise(rows, params("full")).steps
    assert step.text == "HumbleBench: ask ours as published (known-unknowns models list --as-published humblebench)"


def test_one_row_leads_for_each_number_and_model():
    rows = compare_cells(load("humblebench"), [], published_rows={"a": "Phi-4", "b": "Phi-4"}, parsers=PARSERS)
    leading = leading_rows(rows)
    assert len(leading) == len(load("humblebench")) + sum(cell.model == "Phi-4" for cell in load("humblebench"))
    assert {row.parser for row in leading} == {"official"}


def test_the_closing_message_has_the_summary(tmp_path: Path):
    assert "Verdicts" not in closing_message(params("full"), str(tmp_path), 5.0)
    rows = compare_cells(load("humblebench"), [OURS], published_rows={"ours": "Qwen2.5-VL"}, parsers=PARSERS)
    write_comparison(tmp_path / "comparison.parquet", rows)
    text = closing_message(params("full"), str(tmp_path), 5.0)
    assert f"1 of {len(load('humblebench'))} published numbers could be judged" in text
    pq.write_table(pa.table({"verdict": ["reproduced"]}), tmp_path / "comparison.parquet")  # of another version
    assert "comparison.parquet: not a table of comparisons" in closing_message(params("full"), str(tmp_path), 5.0)


def test_the_closing_message_has_two_lines_of_advice(tmp_path: Path):
    rows = compare_cells(load("humblebench"), [OURS], published_rows={"ours": "Qwen2.5-VL"}, parsers=PARSERS)
    write_comparison(tmp_path / "comparison.parquet", rows)
    text = closing_message(params("full"), str(tmp_path), 5.0)
    first, second, third, *_ = summarise(rows, params("full")).steps
    assert f"\nNext       {first.text} ({first.numbers:,} published numbers)\n           {second.text} (" in text
    assert third.text not in text


def test_an_edition_of_rendered_questions_has_no_count_of_verdicts_and_the_next_step(tmp_path: Path):
    conditions = Conditions(other_questions="rendered")
    rows = compare_cells(load("humblebench"), [], published_rows={}, parsers=PARSERS, conditions=conditions)
    write_comparison(tmp_path / "comparison.parquet", rows)
    text = closing_message(params("pocket"), str(tmp_path), 5.0)
    assert "Verdicts" not in text and "could be judged" not in text
    number = r"\((\d+) published numbers\)"
    steps = re.search(rf"\nNext       .* EDITION=full {number}\n .* EDITION=\w+ {number}\n\n", text)
    assert steps is not None
    fewest, most = map(int, steps.groups())
    assert fewest < most


def test_a_run_without_published_numbers_has_no_count_of_zero(tmp_path: Path):
    assert summarise([], params("mine")).text() == "Verdicts   there are no published numbers of these benchmarks"
    write_comparison(tmp_path / "comparison.parquet", [])
    text = closing_message(params("mine"), str(tmp_path), 5.0)
    assert "Verdicts" not in text and "Next" not in text
