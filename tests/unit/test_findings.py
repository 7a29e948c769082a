"""The numbers of README and of docs/findings.md are those that their commands print."""

from __future__ import annotations

import re

from known_unknowns.benchmark import registry
from known_unknowns.comparison.audit import audit_published, published
from scripts import findings
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_readme_has_the_numbers_of_the_audit():
    numbers = {name: published(name) for name in registry.names()}
    found = [finding for read in numbers.values() for finding in audit_published(read)]
    total, count = sum(len(read.cells) for read in numbers.values()), len(found)
    assert f"**{total:,} published numbers, {count} findings.**" in README
    assert f"{count} findings in {total:,} numbers" in CHANGELOG
    texts = {(finding.table, finding.row): f"{finding.printed} {finding.finding}" for finding in found}
    assert "row is that of InfMLLM-7b in every digit" in texts["Table 1", "instructblip-vicuna-7b"]
    assert re.search(r"1\.43 .* leaves 0\.29", texts["Table 1", "Qwen-VL-Chat-7b"])
    assert any("74.62 " in text and "641 of 859" in text and "99.81" in text for text in texts.values())


def test_the_table_and_the_figure_are_current():
    rows = findings.models()
    assert len(rows) == 19 and findings.updated(PAGE, rows) == PAGE
    by_name = {model.name: model for model in rows}
    glm = by_name["GLM-4.1V-Thinking"]
    assert (glm.exact, glm.parsed, glm.rank_exact, glm.rank_parsed) == ("0.06", "55.02", 15, 2)
    for name, shown in (("LLaVA-CoT", "0.00% or 35.95%"), ("Idefics3", "0.00% or 25.47%")):
        assert shown == f"{by_name[name].exact}% or {by_name[name].parsed}%"
    text = " ".join(README.split())
    assert (
        "GLM-4.1V-Thinking 0.06% or 55.02%, rank 15 or 2 of 19; LLaVA-CoT 0.00% or 35.95%; Idefics3 0.00% or 25.47%"
        in text
    )
    figure = findings.FIGURE.read_text(encoding="utf-8")
    assert all(f">{model.name}<" in figure for model in rows)
