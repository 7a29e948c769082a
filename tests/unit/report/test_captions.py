"""The captions of Snakemake's own report are valid Jinja and valid reStructuredText."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from jinja2 import Environment, StrictUndefined

from known_unknowns.benchmark import registry
from known_unknowns.report.section import caption, section
from tests.paths import ROOT

OWN = {caption(name, figure) for name in registry.names() for figure in section(name).figure_names}
CAPTIONS = [*(ROOT / "rules" / "captions").glob("*.rst"), *sorted(OWN)]
WITH_PUBLISHED_NUMBERS = {"humblebench_vs_e", "humblebench_vs_gn", "mmsap_scores", "actiview_pipelines"}


@pytest.mark.parametrize(("source", "own_data"), [("scenes", True), ("hub", False)])
def test_captions_render(source: str, own_data: bool) -> None:
    """An edition's data have its name, or the one that it gives under ``data``."""
    core = pytest.importorskip("docutils.core")
    assert {path.stem for path in CAPTIONS} >= WITH_PUBLISHED_NUMBERS
    edition = "mine"
    data = {name: {"data": {edition if own_data else "theirs": {"source": source}}} for name in registry.names()}
    editions = {edition: {} if own_data else {"data": "theirs"}}
    job_config = {"edition": edition, "editions": editions, "statistics": {"confidence": 0.95}, "benchmarks": data}
    job = SimpleNamespace(config=job_config, wildcards={})
    for path in CAPTIONS:
        text = path.read_text(encoding="utf-8")
        rendered = Environment(undefined=StrictUndefined, autoescape=True).from_string(text).render(snakemake=job)
        strict = {"halt_level": 2, "report_level": 2}
        body = core.publish_parts(rendered, writer="html", settings_overrides=strict)["body"]
        assert "<p>" in body and "{" not in body, path
        says = "questions of this edition are rendered" in body
        assert says == (source == "scenes" and path.stem in WITH_PUBLISHED_NUMBERS), path
