"""`try` with a real Snakemake and an endpoint of this machine. Its checks are in tests/unit/cli/test_try.py."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from known_unknowns import tables
from tests.paths import ROOT
from tests.servers.endpoint import Endpoint, Response, completion
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SECTION = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Your own model")[2].partition("\n## ")[0]


@pytest.fixture
def command() -> Callable[[str], list[str]]:
    """A function that returns the arguments of the command in README that contains a text."""

    def arguments(text: str, **replaced: str) -> list[str]:
        blocks = re.findall(r"^```sh\n(.*?)^```$", SECTION, flags=re.MULTILINE | re.DOTALL)
        (line,) = [line for block in blocks for line in block.splitlines() if text in line]
        for old, new in replaced.items():
            assert old in line
            line = line.replace(old, new)
        program, *rest = line.split()
        assert program == "known-unknowns"
        return [program, *rest]

    return arguments


def replies(project: Project, edition: str, model: str) -> dict[str, int]:
    """The number of replies, and of those that the last run asked."""
    folder = project.root / f"results/{edition}/replies/{model}/humblebench"
    record = json.loads((folder / "engine.json").read_text(encoding="utf-8"))
    return {"turns": record["turns"], "newly_asked": record["newly_asked"]}


def test_an_endpoint_and_then_all_questions(rerun, command, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    before = (rerun.root / "params.yaml").read_bytes()

    asked = []

    def reply(request):
        asked.append(request)
        if len(asked) == 8:  # after those of the check
            return Response(500, {"error": {"message": "for a moment"}})
        return Response(200, completion("q", content="I <b>cannot</b>"))

    with Endpoint(served=["parrot-1"], reply=reply) as endpoint:
        replaced = {"NAME": "parrot-1", "http://localhost:8000/v1": endpoint.url}
        printed = rerun.run(*command("openai:NAME", **replaced), "--limit", "10").stdout
        assert "the endpoint serves it" in printed
        # All settings once, and a red, a blue and no image: the rule `probe` does not ask again.
        assert len([request for request in endpoint.log if b"main colour" in request.raw]) == 4
        assert re.search(r"parrot-1 on HumbleBench \(rendered\), 10 of 30 questions", printed)
        assert "Requests that were repeated: 1 (1 status 500)." in printed
        assert re.search(r"^accuracy +0\.0% +\d+\.\d to \d+\.\d +10  original$", printed, re.MULTILINE)
        assert re.search(
            r"^dual accuracy of answerable questions .* 10(, denominator \d+)?  original\+nota_only$",
            printed,
            re.MULTILINE,
        )
        assert "a sample of 10 of 30 questions; rendered questions, not the published ones" in printed
        edition = "try-parrot-1-humblebench-pocket"
        assert replies(rerun, edition, "parrot-1")["turns"] == 20
        again = re.search(r"^All +\S*known-unknowns (.*)$", printed, re.MULTILINE)[1].split()
        printed = rerun.run("known-unknowns", *again).stdout
        assert "30 of 30 questions" in printed and "All  " not in printed
        counted = replies(rerun, edition, "parrot-1")
        assert counted["turns"] == 60 and counted["newly_asked"] <= 40  # the first 20 are in the journal
        stopped = rerun.run(
            *command("openai:NAME", **{"NAME": "parrot-2", "http://localhost:8000/v1": endpoint.url}), code=2
        )
    assert "known-unknowns: error: models.parrot-2" in stopped.stdout and "parrot-1" in stopped.stdout
    assert (rerun.root / "params.yaml").read_bytes() == before
    metrics = rerun.root / f"results/{edition}/metrics/parrot-1/humblebench/metrics.parquet"
    assert any(metric.name == "share_abstained" for metric in tables.read_metrics(metrics))
    report = re.search(r"^Report +make run ARGS='(.*)'$", printed, re.MULTILINE)[1].split()
    planned = rerun.snakemake("--dry-run", *report)
    assert "report" in planned and not re.search(r"^ *infer +\d", planned, re.MULTILINE)
    page = rerun.root / re.search(r"^Page +(\S+)$", printed, re.MULTILINE)[1]
    assert "parrot-1 on HumbleBench (rendered), 30 of 30 questions" in page.read_text(encoding="utf-8")


def test_a_job_that_fails_gives_its_exit_code(rerun):
    """Bad data end with 3, as they do without the workflow."""

    def pin_other_content(raw: dict[str, Any]) -> None:
        raw["benchmarks"]["humblebench"]["data"]["pocket"]["revision"] = "0" * 64

    rerun.change_params(pin_other_content)
    stopped = rerun.run("known-unknowns", "try", "always_a", "--limit", "5", code=3)
    assert "but its entry pins 0000" in stopped.stdout and "the workflow did not finish" in stopped.stdout
