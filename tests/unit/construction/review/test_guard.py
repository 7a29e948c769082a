"""What the server of a review refuses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, build_opener

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns_construction.review.guard import (
    HOST,
    Guard,
    address_of,
    chosen_token,
    cookie_of,
    guarded,
    is_loopback,
    listen,
)

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


async def page(scope, receive, send) -> None:
    """Respond to every request with a text."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the review"})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve a guarded page, and return its address."""
    with listen(HOST, 0) as listening:
        running = guarded(Guard(page, token=TOKEN))
        thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
        thread.start()
        yield address_of(listening)
        running.should_exit = True
        thread.join(10)


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


def test_the_review_is_for_its_owner(server, capfd):
    assert refusals(server, "api/session") == REFUSED
    assert ask(f"{server}api/decisions", method="POST")[0] == 401
    assert ask(server, Cookie=COOKIE) == (200, b"the review")
    assert "Traceback" not in capfd.readouterr().err


def test_a_server_without_a_token_cannot_be_made():
    with pytest.raises(ValueError, match="needs a token"):
        Guard(page, token="")
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


def test_loopback():
    hosts = ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "192.168.1.2", "a")
    assert [is_loopback(host) for host in hosts] == [True, True, True, False, False, False]
