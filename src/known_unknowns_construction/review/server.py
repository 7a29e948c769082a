"""Serve a review until a signal ends it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode

from known_unknowns.errors import ConfigError, MachineError
from known_unknowns_construction.review.guard import Guard, is_loopback
from known_unknowns_construction.review.session import Review

HOST = "127.0.0.1"
SHORTEST_TOKEN = 16
FIRST_PORT, PORTS = 20_000, 10_000
"""Ports that `usual_port` returns, below those that operating systems give to outgoing connections."""


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


def usual_port(decisions: Path) -> int:
    """Return the port of a decision file, so that a server that is started again has the same address.

    An open page then sends the decision that it could not save. Browsers keep such data for each port.
    """
    return FIRST_PORT + int(sha256(str(decisions.absolute()).encode()).hexdigest(), 16) % PORTS


def serve(
    review: Review, *, host: str = HOST, port: int | None = None, token: str = "", say: Callable[[str], None]
) -> None:
    """Serve a review, and return after SIGINT or SIGTERM.

    Parameters
    ----------
    review : Review
    host : str
        The address to bind to.
    port : int, optional
        0 for any free one; by default `usual_port`, or any free one if that is taken.
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

    from known_unknowns_construction.review.app import make_app

    token = chosen_token(host, token)
    with _listening(review.log.path, host, port) as listening:
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


def _listening(decisions: Path, host: str, port: int | None) -> socket.socket:
    if port is not None:
        return _bound(host, port)
    try:
        return _bound(host, usual_port(decisions))
    except MachineError:
        return _bound(host, 0)


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
