"""The server of a review: its token, its socket, and what every request to it passes: path, host, origin, token."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from known_unknowns.errors import ConfigError, MachineError

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"
SHORTEST_TOKEN = 16

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
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


def cookie_of(token: str) -> str:
    """Return the cookie of a browser that has presented the token.

    A browser sends a cookie to every port of a host, so that each server needs a name of its own.
    """
    return f"known_unknowns_{sha256(token.encode()).hexdigest()[:12]}={token}"


class Guard:
    """An ASGI application around another one, which only the holder of a token reaches.

    Parameters
    ----------
    app : callable
        The application.
    token : str
        What a browser must present: in the address once (``/?token=...``), then as a cookie.
    host : str
        The address that the server is bound to.
    policy : str
        The content security policy of responses that have none.
    json_bytes : int, optional
        If given, a request that is no GET must be JSON of at most this size.

    Notes
    -----
    Every user of a machine reaches the servers on its loopback address, and so does every page in the user's browser.
    So the token is needed there too. The Host header must then name this machine, so that a page of another site cannot
    reach the server by a name of its own that resolves to 127.0.0.1; and no request may come from another origin.
    """

    def __init__(
        self, app: App, *, token: str, host: str = "127.0.0.1", policy: str = "", json_bytes: int | None = None
    ) -> None:
        if not token:
            raise ValueError("a server needs a token")
        self._app, self._token, self._local, self._json_bytes = app, token, is_loopback(host), json_bytes
        self._headers = _HEADERS | ({"content-security-policy": policy} if policy else {})
        self._cookie = cookie_of(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        send = with_headers(send, self._headers)
        answer = self._refusal(scope, headers)
        if answer is not None:
            await _respond(send, *answer)
            return
        await self._app(scope, receive if self._json_bytes is None else _limited(receive, self._json_bytes), send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Status, text and headers of the response to a request that is not passed on."""
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if any(ord(character) < 32 or ord(character) == 127 for character in scope["path"]):
            return 400, "The path has a control character.", {}
        if self._local and not is_loopback(host.rsplit(":", 1)[0] if not host.endswith("]") else host):
            return 403, f"This server does not answer to the name {host!r}. Open the address that it printed.", {}
        if origin and origin.partition("://")[2] != host:
            return 403, "The request comes from another site.", {}
        if not self._has_cookie(headers):
            given = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            if scope["path"] != "/" or not self._is_token(given.pop("token", "")):
                return 401, "Open the address that the server printed. It has a token.", {}
            cookie = f"{self._cookie}; Path=/; HttpOnly; SameSite=Lax"
            return 303, "", {"location": "/" + (f"?{urlencode(given)}" if given else ""), "set-cookie": cookie}
        if self._json_bytes is not None and scope["method"] not in ("GET", "HEAD"):
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "Send JSON.", {}
            length = headers.get("content-length", "")
            if not length.isdecimal() or int(length) > self._json_bytes:
                return 413, f"Send at most {self._json_bytes} bytes, and their number.", {}
        return None

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        name = self._cookie.partition("=")[0]
        return name in cookies and self._is_token(cookies[name].value)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token.encode())


def _limited(receive: Receive, most: int) -> Receive:
    """Pass at most ``most`` bytes of a request's body, whatever its header says."""
    received = 0

    async def read() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        return {"type": "http.disconnect"} if received > most else message

    return read


def with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """Add headers to a response that does not set them itself."""

    async def write(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.decode("latin-1").lower() for name, _ in message["headers"]}
            added = ((name.encode(), value.encode()) for name, value in headers.items() if name not in own)
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return write


async def _respond(send: Send, status: int, text: str, headers: dict[str, str]) -> None:
    every = {"content-type": "text/plain; charset=utf-8"} | headers
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in every.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": text.encode()})


def chosen_token(token: str = "") -> str:
    """Return the token of a server: the given one, or a random one.

    Raises
    ------
    ConfigError
        If the given token is short or has characters that an address cannot hold.
    """
    if not token:
        return secrets.token_urlsafe(24)
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(
            f"give at least {SHORTEST_TOKEN} letters, digits, - and _; without --token one is made up", path="--token"
        )
    return token


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is any free one. Connections wait in it until the server runs.

    Raises
    ------
    MachineError
        If the port cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        raise MachineError(f"{host}: port {port} cannot be used ({error.strerror}); choose another --port") from error
    return listening


def address_of(listening: socket.socket, host: str = HOST) -> str:
    """Return the address of a server without its token."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}/"


def guarded(guard: Guard) -> uvicorn.Server:
    """Return the server of a guarded application. Start it with ``run(sockets=[...])``."""
    import uvicorn

    config = uvicorn.Config(
        guard,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
