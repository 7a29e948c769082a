"""`known-unknowns open` on a finished run: its page, and the two commands as they are printed, with real requests."""

from __future__ import annotations

import json
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.workflow.printed_commands import commands, planned
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def body(address: str) -> bytes:
    """Request a page until a server answers."""
    until = time.monotonic() + 300
    while True:
        try:
            with urlopen(address, timeout=30) as answer:
                return answer.read()
        except (URLError, TimeoutError):
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def test_the_page_and_the_commands_that_serve_it_and_mlflow(finished):
    project, printed = finished
    assert re.search(r"^Open +\S*known-unknowns open --edition pocket$", printed, re.MULTILINE)
    lines = project.run("known-unknowns", "open", "--no-browser").stdout.splitlines()
    page, report, mlflow, table = (line[11:] for line in lines)
    content = Path(page).read_bytes()
    assert page == str(project.root / "results/pocket/report/index.html") and b"<html" in content
    listing = json.loads((project.root / "results/pocket/tracking.json").read_text(encoding="utf-8"))
    assert table == f"http://127.0.0.1:5000/{listing['page']}"
    experiment = re.search(r"experiments/(\d+)/runs", table)[1]
    key = re.search(r"viewStateShareKey=([\w-]+)", table)[1]

    assert "--bind 127.0.0.1" in report
    server = project.start(*shlex.split(report), "18631")
    try:
        assert body("http://127.0.0.1:18631/index.html") == content
    finally:
        project.kill(server)
    quick = replace(project, environment={**project.environment, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"})
    server = quick.start(*shlex.split(mlflow), "--port", "18632", "--workers", "1")
    try:
        found = body(f"http://127.0.0.1:18632/ajax-api/2.0/mlflow/experiments/get?experiment_id={experiment}")
        tags = {tag["key"] for tag in json.loads(found)["experiment"]["tags"]}
        assert f"mlflow.sharedViewState.{key}" in tags
    finally:
        project.kill(server)


def test_each_printed_command_works_in_a_checkout(finished, rerun):
    """Those of a run, of a table that is truncated, and of an import. What runs long is planned (`--dry-run`)."""
    (rerun.root / ".venv").mkdir()
    (rerun.root / ".venv/.installed").touch()  # the programs are those of the tests' environment
    run = finished[1]
    for command in commands(run.partition("\nNext ")[2].partition("\n\n")[0]):
        assert command[:2] == ["make", "run"]
        rerun.run(*planned(command))
    opens = next(command for command in commands(run) if command[1:2] == ["open"])
    rerun.run(*opens, "--no-browser")

    table = rerun.root / "results/pocket/replies/oracle/humblebench/replies.parquet"
    content = table.read_bytes()
    table.write_bytes(content[:1000])
    printed = rerun.run(*opens, "--no-browser", code=3).stdout
    (again,) = commands(printed)
    rerun.run(*again)
    assert table.read_bytes() == content
    rerun.run(*opens, "--no-browser")

    rerun.run("known-unknowns", "export", "oracle", "humblebench", "--format", "jsonl", "--out", "theirs.jsonl")
    imported = ["rescore", "theirs.jsonl", "--benchmark", "humblebench", "--import", "m"]
    (command,) = commands(rerun.run("known-unknowns", *imported).stdout)
    assert command == ["make", "run"]
    rerun.run(*planned(command))


def test_a_missing_run_says_what_to_do(finished):
    project: Project = finished[0]
    printed = project.run("known-unknowns", "open", "--edition", "full", code=3).stdout
    assert commands(printed) == [["make", "run", "EDITION=full"]] and "Traceback" not in printed
