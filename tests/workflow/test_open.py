"""`known-unknowns open` on a finished run: real requests, the real MLflow server, and its end by a real signal."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def addresses(process: subprocess.Popen, names: list[str]) -> dict[str, str]:
    """Read lines of the output until each name has its address. What follows is left to `Popen.stdout`."""
    found: dict[str, str] = {}
    while not set(names) <= found.keys():
        line = process.stdout.readline()
        assert line, f"it ended with {process.wait()}"
        if match := re.match(r"(\w+) +(http://\S+)$", line):
            found[match[1]] = match[2]
    return found


BROWSER = build_opener(HTTPCookieProcessor())


def leave_early(address: str) -> None:
    """Request a page and close the connection before it is read, as a browser does that goes to another page."""
    host, _, port = address.partition("/?")[0].removeprefix("http://").rpartition(":")
    for _ in range(3):
        with socket.create_connection((host, int(port))) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
            connection.sendall(b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n")


def body(address: str, data: dict | None = None) -> bytes:
    content = None if data is None else json.dumps(data).encode()
    with BROWSER.open(Request(address, content, {"Content-Type": "application/json"}), timeout=30) as answer:
        return answer.read()


def test_the_report_and_mlflow_are_served_until_sigterm(finished):
    project, printed = finished
    assert re.search(r"^Open +\S*known-unknowns open --edition pocket$", printed, re.MULTILINE)
    process = project.start("known-unknowns", "open", "--no-browser")
    try:
        found = addresses(process, ["Report", "MLflow"])
        leave_early(found["Report"])
        assert body(found["Report"]) == (project.root / "results/pocket/report/index.html").read_bytes()
        for missing in ("figures/", "%2e%2e/params.yaml"):  # folders are not listed, and nothing above is served
            with pytest.raises(HTTPError, match="404"):
                body(found["Report"].partition("?")[0] + missing)
        for address in found.values():  # without the token, as another user of the machine
            with pytest.raises(HTTPError, match="401"):
                build_opener().open(address.partition("?")[0], timeout=30)
        server, _, page = found["MLflow"].partition("#")
        body(server)
        server = server.partition("?")[0]
        listing = json.loads((project.root / "results/pocket/tracking.json").read_text(encoding="utf-8"))
        assert f"#{page}" == listing["page"]
        experiment = re.search(r"experiments/(\d+)/runs", page)[1]
        key = re.search(r"viewStateShareKey=([\w-]+)", page)[1]
        answer = json.loads(body(f"{server}ajax-api/2.0/mlflow/experiments/get?experiment_id={experiment}"))
        assert f"mlflow.sharedViewState.{key}" in {tag["key"] for tag in answer["experiment"]["tags"]}
        os.kill(process.pid, signal.SIGTERM)
        rest = process.stdout.read()
        process.wait(timeout=60)
    finally:
        project.kill(process)
    assert process.returncode == 0
    assert "Traceback" not in rest
    for address in found.values():
        with pytest.raises(URLError, match="refused"):
            body(address)


def test_ctrl_c_ends_it_without_a_traceback(finished, tmp_path):
    """Without MLflow's runs, only the report is served."""
    project = _report_only(finished[0], tmp_path)
    process = project.start("known-unknowns", "open", "--no-browser")
    try:
        found = addresses(process, ["Report"])
        assert b"<html" in body(found["Report"])
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        process.wait(timeout=60)
    finally:
        project.kill(process)
    assert process.returncode == 0
    assert "no runs of this edition" in rest and "Traceback" not in rest


def test_a_taken_port_and_a_missing_run_say_what_to_do(finished, tmp_path):
    project = _report_only(finished[0], tmp_path)
    process = project.start("known-unknowns", "open", "--no-browser")
    try:
        port = re.search(r":(\d+)/", addresses(process, ["Report"])["Report"])[1]
        printed = project.run("known-unknowns", "open", "--port", port, code=4).stdout
        assert f"port {port} cannot be used" in printed and "choose another --port" in printed
    finally:
        project.kill(process)
    printed = project.run("known-unknowns", "open", "--edition", "full", code=3).stdout
    assert "make run EDITION=full" in printed and "Traceback" not in printed


def _report_only(project: Project, root: Path) -> Project:
    """A project whose only result is its report."""
    report = root / "results/pocket/report/index.html"
    report.parent.mkdir(parents=True)
    report.write_bytes((project.root / "results/pocket/report/index.html").read_bytes())
    for name in ("params.yaml", "params.lock.yaml"):
        (root / name).write_bytes((project.root / name).read_bytes())
    (root / "src").symlink_to(project.root / "src")
    return Project(root)
