"""The captions of Snakemake's own report are valid Jinja and valid reStructuredText."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from jinja2 import Environment, StrictUndefined

from known_unknowns.benchmark import registry
from known_unknowns.report.section import caption, section
from tests.paths import ROOT

RULES = ROOT / "rules" / "captions"
FIGURES = {
    (benchmark, figure): caption(benchmark, figure)
    for benchmark in registry.names()
    for figure in section(benchmark).figure_names
}
CAPTIONS = {path.stem: path for path in RULES.glob("*.rst")} | {
    f"{benchmark}-{figure}": path for (benchmark, figure), path in FIGURES.items()
}
WITH_PUBLISHED_NUMBERS = {
    *("humblebench-humblebench_vs_e", "humblebench-humblebench_vs_gn"),
    *("mmsap-mmsap_scores", "actiview-actiview_pipelines"),
}


@pytest.mark.parametrize(("source", "own_data"), [("scenes", True), ("hub", False)])
@pytest.mark.parametrize("name", CAPTIONS)
def test_a_caption_renders(name: str, source: str, own_data: bool) -> None:
    """An edition's data have its name, or the one that it gives under ``data``."""
    core = pytest.importorskip("docutils.core")
    edition = "mine"
    data = {name: {"data": {edition if own_data else "theirs": {"source": source}}} for name in registry.names()}
    editions = {edition: {} if own_data else {"data": "theirs"}}
    job_config = {"edition": edition, "editions": editions, "statistics": {"confidence": 0.95}, "benchmarks": data}
    job = SimpleNamespace(config=job_config, wildcards={})
    text = CAPTIONS[name].read_text(encoding="utf-8")
    rendered = Environment(undefined=StrictUndefined, autoescape=True).from_string(text).render(snakemake=job)
    strict = {"halt_level": 2, "report_level": 2}
    body = core.publish_parts(rendered, writer="html", settings_overrides=strict)["body"]
    assert "<p>" in body and "{" not in body
    assert ("questions of this edition are rendered" in body) == (source == "scenes" and name in WITH_PUBLISHED_NUMBERS)


def test_the_captions_with_published_numbers_exist() -> None:
    assert set(CAPTIONS) >= WITH_PUBLISHED_NUMBERS
