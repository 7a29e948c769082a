"""Serve a review until a signal ends it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlencode

from known_unknowns.construction.review.guard import Guard, is_loopback
from known_unknowns.construction.review.session import Review
from known_unknowns.errors import ConfigError, MachineError

HOST = "127.0.0.1"
SHORTEST_TOKEN = 16


def chosen_token(host: str, token: str) -> str:
    """Return the token of a server: the given one, or a random one if the server can be reached over the network.

    Raises
    ------
    ConfigError
        If the given token is short or has characters that an address cannot hold.
    """
    if not token:
        return "" if is_loopback(host) else secrets.token_urlsafe(24)
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(
            f"give at least {SHORTEST_TOKEN} letters, digits, - and _; without --token one is made up", path="--token"
        )
    return token


def serve(review: Review, *, host: str = HOST, port: int = 0, token: str = "", say: Callable[[str], None]) -> None:
    """Serve a review, and return after SIGINT or SIGTERM.

    Parameters
    ----------
    review : Review
    host : str
        The address to bind to.
    port : int
        0 for any free one.
    token : str
        See `chosen_token`.
    say : callable
        Receives the address.

    Raises
    ------
    MachineError
        If the port cannot be used.
    """
    import uvicorn

    from known_unknowns.construction.review.app import make_app

    token = chosen_token(host, token)
    with _bound(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listening.getsockname()[1]}/"
        for reviewer in review.reviewers:
            query = ({"token": token} if token else {}) | ({"reviewer": reviewer} if len(review.reviewers) > 1 else {})
            say(f"{reviewer:<12} {address}{'?' + urlencode(query) if query else ''}")
        config = uvicorn.Config(
            Guard(make_app(review), token=token),
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=5,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """Return a listening socket. Connections wait in it until the server runs."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        raise MachineError(f"{host}, port {port}: cannot be used ({error.strerror}); choose another --port") from error
    return listening
