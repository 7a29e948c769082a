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


@pytest.mark.parametrize("rendered", [True, False])
def test_captions_render(rendered: bool) -> None:
    core = pytest.importorskip("docutils.core")
    assert {path.stem for path in CAPTIONS} >= WITH_PUBLISHED_NUMBERS
    params = {"edition_name": "mine", "confidence": 0.95, "rendered": registry.names() if rendered else []}
    job = SimpleNamespace(params=SimpleNamespace(**params), wildcards={})
    for path in CAPTIONS:
        text = path.read_text(encoding="utf-8")
        filled = Environment(undefined=StrictUndefined, autoescape=True).from_string(text).render(snakemake=job)
        strict = {"halt_level": 2, "report_level": 2}
        body = core.publish_parts(filled, writer="html", settings_overrides=strict)["body"]
        assert "<p>" in body and "{" not in body, path
        says = "questions of this edition are rendered" in body
        assert says == (rendered and path.stem in WITH_PUBLISHED_NUMBERS), path
