"""What every request to the review server passes: token, host, origin, size, and the headers of every response."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode

MAX_BODY = 256 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach a server that is bound to this host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """An ASGI application around another one.

    Parameters
    ----------
    app : callable
        The application.
    token : str
        What a browser must present: in the address once (``/?token=...``), then as a cookie. Empty for none.

    Notes
    -----
    Without a token, the Host header must name this machine, so that a page of another site cannot reach the server by a
    name of its own that resolves to 127.0.0.1. A POST must be JSON and must not come from another origin.
    """

    def __init__(self, app: App, *, token: str = "") -> None:
        self._app, self._token = app, token
        # A browser sends a cookie to every port of a host, so that each server needs a name of its own.
        self._cookie = f"known_unknowns_review_{sha256(token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._refusal(scope, headers)
        if answer is not None:
            await _respond(send, *answer)
            return
        await self._app(scope, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Status, text and headers of the response to a request that is not passed on."""
        host = headers.get("host", "")
        if not self._token and not is_loopback(host.rsplit(":", 1)[0] if not host.endswith("]") else host):
            return 403, f"This server does not answer to the name {host!r}. Open the address that it printed.", {}
        if self._token and not self._has_cookie(headers):
            given = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            if scope["path"] != "/" or not self._is_token(given.pop("token", "")):
                return 401, "Open the address that the server printed. It has a token.", {}
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            return 303, "", {"location": "/" + (f"?{urlencode(given)}" if given else ""), "set-cookie": cookie}
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin", "")
            if origin and origin.partition("://")[2] != host:
                return 403, "The request comes from another site.", {}
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "Send JSON.", {}
            length = headers.get("content-length", "")
            if not length.isdecimal() or int(length) > MAX_BODY:
                return 413, f"Send at most {MAX_BODY} bytes, and their number.", {}
        return None

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return self._cookie in cookies and self._is_token(cookies[self._cookie].value)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token.encode())


def _limited(receive: Receive) -> Receive:
    """Pass at most `MAX_BODY` bytes of a request's body, whatever its header says."""
    received = 0

    async def read() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        return {"type": "http.disconnect"} if received > MAX_BODY else message

    return read


def _with_headers(send: Send) -> Send:
    async def write(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.decode("latin-1").lower() for name, _ in message["headers"]}
            extra = _HEADERS | ({} if "cache-control" in own else {"cache-control": "no-store"})
            message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in extra.items())]
        await send(message)

    return write


async def _respond(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    every = _HEADERS | {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"} | headers
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in every.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": text.encode()})
