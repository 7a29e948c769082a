"""What the report shows of a benchmark: its own section, or the defaults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.comparison import compare
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.figures import answer_colours, answer_shares
from known_unknowns.report.page import figures_of, run_of
from known_unknowns.report.section import section
from tests.factories import params_from

from .conftest import write
from .fake_run import FakeRun, params


class Plain(Benchmark):
    """A benchmark that has the required parts only."""

    name = "plain"
    title = "Plain"

    def load(self, raw, folder, **options):
        raise NotImplementedError

    def prompt(self, question):
        raise NotImplementedError

    def official(self, text, question):
        raise NotImplementedError


PLAIN = Plain()


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRun:
    """A run of a yes/no benchmark without a section, without refusals and without published numbers."""
    registered = registry.get
    monkeypatch.setattr(registry, "get", lambda name: PLAIN if name == "plain" else registered(name))
    monkeypatch.setattr(Benchmark, "published", ())
    raw = params().file.plain()
    raw["benchmarks"]["plain"] = raw["benchmarks"]["humblebench"] | {"variants": ["original", "blank"]}
    raw["editions"]["pocket"] |= {"benchmarks": ["plain"], "models": ["oracle"]}
    run = FakeRun(tmp_path, params_from(raw))
    rows = [
        Metric("oracle", "plain", variant, 0, 0, parser, OVERALL, name, value, None, None, n, "none")
        for variant in ("original", "blank")
        for parser in run.params.parsers
        for name, value, n in (
            ("accuracy", 0.5, 20),
            ("refusal_recall", None, 0),
            ("refusal_precision", None, 0),
            ("share_yes", 0.5, 20),
            ("share_no", 0.25, 20),
            ("share_J", 0.15, 20),
            ("share_no_letter", 0.1, 20),
            ("share_failed", 0.0, 20),
        )
    ]
    run.metrics.append(run.results / "metrics.parquet")
    tables.write_metrics(run.metrics[0], rows)
    compare(run.params, run.metrics, run.comparison)
    return run


def test_a_benchmark_without_a_section_has_the_generic_figure(plain: FakeRun) -> None:
    assert section("plain").figure_names == ("plain_answers", "plain_overview")
    pages = write(plain)
    page = pages["benchmark-plain.html"]
    drawn = {path.name for path in (plain.page.parent / "figures").glob("*.svg")}
    assert drawn == {"plain_answers.svg", "plain_overview.svg"}
    svg = (plain.page.parent / "figures" / "plain_answers.svg").read_text(encoding="utf-8")
    places = [svg.index(f">{answer}<") for answer in ("J", "no", "yes", "no label", "failed")]
    assert places == sorted(places)
    for width in ("50", "25", "15", "10"):  # in percent of the questions
        assert f", {width}.0</title>" in svg
    assert "None of the above" not in pages["index.html"]["about"].text and "efus" not in page["content"].text
    assert "Original" in page["plain-headline"].text and "blank" not in page["plain-headline"].text


def bars(benchmark: str, shares: dict[str, float]) -> dict[str, float]:
    variant = params(benchmark).variants(benchmark)[0]
    rows = [
        Metric("oracle", benchmark, variant, 0, 0, "robust", OVERALL, name, value, None, None, 20, "none")
        for name, value in shares.items()
    ]
    return {
        bar["answer"]: bar["share"] for bar in answer_shares(run_of(params(benchmark), MetricIndex(rows), benchmark))
    }


def test_abstained_and_cut_replies_are_parts_of_the_bars_of_answers_and_fractions_of_a_benchmark_are_not() -> None:
    """Of 20 replies, 10 are A, 1 is F (not offered), 5 abstain, 1 was cut, 2 have no label, and 1 failed."""
    shares = {"A": 0.5, "F": 0.05, "no_letter": 0.4, "abstained": 0.25, "unparsed": 0.15, "cut": 0.05, "failed": 0.05}
    expected = {"A": 50, "F": 5, "no label": 10, "abstained": 25, "cut": 5, "failed": 5}
    found = bars("humblebench", {f"share_{name}": value for name, value in shares.items()})
    assert found == pytest.approx(expected)
    own = {"share_A": 0.75, "share_no_letter": 0.25, "share_unparsed": 0.25, "fraction_of_views": 0.5}
    assert bars("actiview", own) == {"A": 75, "no label": 25}


@pytest.mark.parametrize(
    ("answers", "order"),
    [
        (["failed", "no label", "E", "A", "C"], ["A", "C", "E", "no label", "failed"]),
        (["10", "2", "1", "failed"], ["1", "2", "10", "failed"]),
        (["the second image", "Z", "J", "B"], ["B", "J", "Z", "the second image"]),
    ],
)
def test_answers_have_one_order(answers: list[str], order: list[str]) -> None:
    assert list(answer_colours(answers, "")) == list(answer_colours(reversed(answers), "")) == order


@pytest.mark.parametrize("benchmark", registry.names())
def test_the_declared_figures_are_drawn(benchmark: str, tmp_path: Path) -> None:
    run = run_of(params(benchmark), MetricIndex([]), benchmark)
    own = registry.get(benchmark).section_data(run, results=tmp_path, data=tmp_path)
    assert tuple(figure.name for figure in figures_of(run, own.figures)) == section(benchmark).figure_names


def test_a_list_of_figures_needs_no_plotting_library() -> None:
    """The workflow reads it at every start."""
    code = (
        "import sys; from known_unknowns.benchmark import registry;"
        "from known_unknowns.report.section import caption, section;"
        "print([caption(b, f).is_file() for b in registry.names() for f in section(b).figure_names]);"
        "print(sorted({'altair', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    captions, heavy = done.stdout.splitlines()
    assert "False" not in captions and heavy == "[]"
