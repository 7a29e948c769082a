"""The command that recomputes published numbers."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import CHANGES
from known_unknowns.comparison.published import published
from known_unknowns_audit.audit import findings_on

KEYS = [
    *("benchmark", "version", "table", "row", "column", "printed", "finding", "arithmetic", "strength"),
    *("issue", "changes", "cause"),
]
MAY_BE_EMPTY = {"strength", "cause"}


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, ["audit", *arguments])
    assert result.exit_code == 0
    return result.stdout


def test_the_json_is_a_list_of_findings_of_all_benchmarks():
    findings = json.loads(run("--json"))
    assert {finding["benchmark"] for finding in findings} == {
        name for name in registry.names() if findings_on(published(name))
    }
    assert len({finding["benchmark"] for finding in findings}) > 1
    for finding in findings:
        assert list(finding) == KEYS
        assert all(isinstance(text, str) for text in finding.values())
        assert all(finding[key] for key in KEYS if key not in MAY_BE_EMPTY)
    strengths = {finding["strength"].partition(" ")[0] for finding in findings}
    assert strengths == {"", "not", "possible"}
    assert len({tuple(finding.values()) for finding in findings}) == len(findings)
    assert {f["version"] for f in findings if f["benchmark"] == "actiview"} == {"anonymous ACL submission, 27 models"}


def test_the_text_begins_with_the_number_of_issues_and_the_most_important_ones():
    lines = run().splitlines()
    issues = [line for line in lines if line[:1].isdigit() and ". " in line[:4]]
    assert lines[0].startswith(f"{len(issues)} issues (") and lines[0].endswith(" published numbers")
    headings = [lines.index(line) for line in lines if line.partition(":")[0].lower() in CHANGES.values()]
    assert len(headings) == len(CHANGES) and headings == sorted(headings)
    first = " ".join(" ".join(lines[headings[0] : headings[1]]).split())
    for text in (
        "73.85",
        "83.69 by the six people",
        "they raise it by 2.73",
        "one table off",
        "0.06, rank 2 instead of 15",
        "+0.48 for zooming and -0.36 for shifting",
        "MMICL-XXL-11B rises by 2.78",
    ):
        assert text in first
    assert "Multiple choice" not in " ".join(lines)


def test_a_benchmark_without_published_numbers_has_none():
    assert run("--benchmark", "multiple_choice") == "There are no published numbers.\n"


def test_the_text_has_every_finding_with_its_arithmetic_if_asked():
    short, text = run("--benchmark", "mmsap"), run("--benchmark", "mmsap", "--findings")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "HumbleBench" not in text and "(350 x 2.86" not in short
    place = lines.index("Table 1, Qwen-VL-Plus, Total score_ku: 24.18")
    assert lines[place + 1] == "Does not follow from its row: the subsets' cells give 22.96."
    assert lines[place + 2].startswith("(350 x 2.86 + 400 x 63.50) / 1,150 = 22.96")
    assert max(map(len, text.splitlines())) <= 120
