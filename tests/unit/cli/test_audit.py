"""The command that recomputes published numbers."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.benchmark import registry
from known_unknowns.comparison.audit import audit

KEYS = ["benchmark", "table", "row", "column", "printed", "finding", "arithmetic", "strength"]


def test_the_json_is_a_list_of_findings_of_all_benchmarks():
    result = CliRunner().invoke(cli.app, ["audit", "--json"])
    findings = json.loads(result.stdout)
    assert result.exit_code == 0
    assert {finding["benchmark"] for finding in findings} == {name for name in registry.names() if audit(name)}
    assert len({finding["benchmark"] for finding in findings}) > 1
    assert all(
        list(finding) == KEYS and all(isinstance(text, str) and text for text in list(finding.values())[:-1])
        for finding in findings
    )
    strengths = {finding["strength"].partition(" ")[0] for finding in findings}
    assert strengths == {"", "impossible", "possible"}
    assert len({tuple(finding.values()) for finding in findings}) == len(findings)


def test_the_text_has_every_finding_with_its_arithmetic():
    result = CliRunner().invoke(cli.app, ["audit", "--benchmark", "mmsap"])
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0].startswith("MM-SAP: ") and "HumbleBench" not in result.stdout
    place = lines.index("Qwen-VL-Plus, Total score_ku: 24.18")
    assert lines[place + 1] == "Does not follow from its row: the subsets' cells give 22.96."
    assert lines[place + 2].startswith("(350 x 2.86 + 400 x 63.50) / 1,150 = 22.96")
    assert max(map(len, result.stdout.splitlines())) <= 120
