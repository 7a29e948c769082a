"""The captions of Snakemake's own report are valid Jinja and valid reStructuredText."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Environment, StrictUndefined

CAPTIONS = Path(__file__).resolve().parents[3] / "rules" / "captions"
WITH_PUBLISHED = (
    *("report", "humblebench_vs_e", "humblebench_vs_gn", "mmsap_scores", "comparison"),
    "actiview_pipelines",
)
NAMES = (
    *WITH_PUBLISHED,
    *("letters", "metrics", "mmsap_letters", "mmsap_subtasks", "mmsap_quadrant", "mmsap_risk_coverage"),
    *("actiview_letters", "actiview_needed", "actiview_cost_pictures", "actiview_cost_tokens"),
)


@pytest.mark.parametrize("edition", ["pocket", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_a_caption_renders(name: str, edition: str) -> None:
    core = pytest.importorskip("docutils.core")
    job = SimpleNamespace(config={"edition": edition, "statistics": {"confidence": 0.95}}, wildcards={})
    text = (CAPTIONS / f"{name}.rst").read_text(encoding="utf-8")
    rendered = Environment(undefined=StrictUndefined, autoescape=True).from_string(text).render(snakemake=job)
    strict = {"halt_level": 2, "report_level": 2}
    body = core.publish_parts(rendered, writer="html", settings_overrides=strict)["body"]
    assert "<p>" in body and "{" not in body
    speaks_of_pocket = "rendered" in body
    assert speaks_of_pocket == (edition == "pocket" and name in WITH_PUBLISHED)
