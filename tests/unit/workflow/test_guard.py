"""What every server of the project refuses: the review, the report and MLflow."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, build_opener

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns.workflow.guard import HOST, Guard, address_of, chosen_token, cookie_of, is_loopback, listen
from known_unknowns.workflow.serve import _browser_page, _report_server, report_files

TOKEN = "a-token_of_the_tests"
COOKIE = cookie_of(TOKEN)


def ask(address: str, **headers: str) -> tuple[int, bytes]:
    """Return the status and the body of a response."""
    method = headers.pop("method", "GET")
    data = None if method == "GET" else b"{}"
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with build_opener().open(Request(address, data=data, headers=given, method=method), timeout=30) as response:
            return response.status, response.read()
    except HTTPError as error:
        return error.code, error.read()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a report, and return its address."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "index.html").write_text("<html>the report</html>")
    (folder / "figures").mkdir()
    (folder / "secret").symlink_to(Path(__file__).parent, target_is_directory=True)
    with _report_server(folder, 0, TOKEN) as address:
        yield address.partition("?")[0]


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Serve a store with two runs, of which the second's folder of artifacts is a link; the address and both runs."""
    from mlflow import MlflowClient

    root = tmp_path_factory.mktemp("mlflow")
    uri, artifacts, private = f"sqlite:///{root}/mlflow.db", root / "artifacts", root / "private"
    private.mkdir()
    (private / "diary.txt").write_text("secret")
    client = MlflowClient(uri)
    experiment = client.create_experiment("e", artifact_location=artifacts.as_uri())
    sound, linked = (client.create_run(experiment).info.run_id for _ in range(2))
    client.log_text(sound, "logged", "own.txt")
    (artifacts / sound / "artifacts" / "diary.txt").symlink_to(private / "diary.txt")
    (artifacts / linked).mkdir()
    (artifacts / linked / "artifacts").symlink_to(private, target_is_directory=True)
    outside = client.create_experiment("outside", artifact_location=private.as_uri())
    named = client.create_run(outside).info.run_id
    (private / named).mkdir()
    (private / named / "artifacts").mkdir()
    (private / named / "artifacts" / "diary.txt").write_text("secret")
    with listen(HOST, 0) as listening, (root / "log").open("wb") as log:
        settings = {"uri": uri, "artifacts": str(artifacts), "token": TOKEN, "socket": listening.fileno()}
        process = subprocess.Popen(
            [sys.executable, "-m", "known_unknowns.workflow.mlflow_server"],
            cwd=root, stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=[listening.fileno()], env=os.environ,
        )  # fmt: skip
        process.stdin.write(json.dumps(settings).encode())
        process.stdin.close()
        try:
            address = address_of(listening)
            until = time.monotonic() + 120
            while time.monotonic() < until and process.poll() is None:
                try:
                    if ask(f"{address}health", Cookie=COOKIE)[0] == 200:
                        break
                except (URLError, OSError):
                    time.sleep(0.5)
            assert process.poll() is None, (root / "log").read_text()
            yield address, " ".join((sound, linked, named))
        finally:
            process.terminate()
            process.wait(timeout=60)
    assert "Traceback" not in (root / "log").read_text()


def refusals(address: str, path: str) -> dict[str, int]:
    """Return the status for requests that no browser of the owner sends."""
    port = address.rstrip("/").rpartition(":")[2]
    return {
        "without the token": ask(address + path)[0],
        "wrong token": ask(address + "?token=wrong-token-of-tests")[0],
        "token of another server": ask(address + path, Cookie=cookie_of("another-token-of-a-server"))[0],
        "a name that resolves to 127.0.0.1": ask(address + path, Cookie=COOKIE, Host=f"evil.example:{port}")[0],
        "another site": ask(address + path, Cookie=COOKIE, Origin="http://evil.example")[0],
        "another server of this machine": ask(address + path, Cookie=COOKIE, Origin="http://127.0.0.1:1")[0],
        "a file": ask(address + path, Cookie=COOKIE, Origin="null")[0],
        "%00": ask(address + "%00", Cookie=COOKIE)[0],
        "%0a": ask(address + "a%0ab", Cookie=COOKIE)[0],
    }


REFUSED = {
    "without the token": 401, "wrong token": 401, "token of another server": 401,
    "a name that resolves to 127.0.0.1": 403, "another site": 403, "another server of this machine": 403, "a file": 403,
    "%00": 400, "%0a": 400,
}  # fmt: skip


def test_the_report_is_for_its_owner(report, capfd):
    assert refusals(report, "index.html") == REFUSED
    assert ask(report, Cookie=COOKIE) == (200, b"<html>the report</html>")
    for path in ("figures/", "figures", "secret/test_guard.py", "%2e%2e/params.yaml", "a" * 3000):
        assert ask(report + path, Cookie=COOKIE)[0] in (404, 400)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_mlflow_is_for_its_owner_and_follows_no_link(mlflow):
    address, runs = mlflow
    sound, linked, named = runs.split()
    assert refusals(address, "ajax-api/2.0/mlflow/experiments/get?experiment_id=1") == REFUSED
    assert ask(f"{address}ajax-api/2.0/mlflow/runs/delete", method="POST")[0] == 401
    assert ask(address, Cookie=COOKIE)[0] == 200
    artifact = f"{address}get-artifact?path={{}}&run_uuid={{}}"
    assert ask(artifact.format("own.txt", sound), Cookie=COOKIE) == (200, b"logged")
    for path, run in (("diary.txt", sound), ("diary.txt", linked), ("diary.txt", named)):
        status, body = ask(artifact.format(path, run), Cookie=COOKIE)
        assert status >= 400 and b"secret" not in body
    for run in (linked, named):
        assert b"diary" not in ask(f"{address}ajax-api/2.0/mlflow/artifacts/list?run_id={run}", Cookie=COOKIE)[1]


def test_a_server_without_a_token_cannot_be_made():
    with pytest.raises(ValueError, match="needs a token"):
        Guard(report_files(Path()), token="")
    assert len(chosen_token()) >= 32 and chosen_token() != chosen_token()
    for weak in ("short", "sixteen and a blank"):
        with pytest.raises(ConfigError, match="--token"):
            chosen_token(weak)


def test_a_server_on_the_network_answers_to_any_name_with_the_token():
    sent: list[dict] = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    for host, cookie in (("me.example", COOKIE), ("me.example", "")):
        headers = [(b"host", host.encode()), (b"cookie", cookie.encode())]
        scope = {"type": "http", "path": "/", "query_string": b"", "headers": headers, "method": "GET"}
        asyncio.run(Guard(app, token=TOKEN, host="0.0.0.0")(scope, None, send))
    assert [message["status"] for message in sent if "status" in message] == [200, 401]


def test_the_token_is_in_no_argument_of_a_browser(tmp_path):
    with _browser_page(tmp_path / "open.html", f"http://127.0.0.1:1/?token={TOKEN}") as page:
        assert page.stat().st_mode & 0o077 == 0 and TOKEN in page.read_text()
    assert not page.exists()


def test_loopback():
    hosts = ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "192.168.1.2", "a")
    assert [is_loopback(host) for host in hosts] == [True, True, True, False, False, False]
