"""Serve a review until a signal ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode

from known_unknowns.errors import MachineError
from known_unknowns.workflow.guard import Guard
from known_unknowns.workflow.local_server import HOST, address_of, chosen_token, guarded, listen
from known_unknowns_construction.review.session import Review

FIRST_PORT, PORTS = 20_000, 10_000
"""Ports that `usual_port` returns, below those that operating systems give to outgoing connections."""
MAX_BODY = 256 * 1024
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


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
        Receives the addresses.

    Raises
    ------
    MachineError
        If the port cannot be used.
    """
    from known_unknowns_construction.review.app import make_app

    token = chosen_token(token)
    with _listening(review.log.path, host, port) as listening:
        for reviewer in review.reviewers:
            query = {"token": token} | ({"reviewer": reviewer} if len(review.reviewers) > 1 else {})
            say(f"{reviewer:<12} {address_of(listening, host)}?{urlencode(query)}")
        guard = Guard(make_app(review), token=token, host=host, policy=_POLICY, json_bytes=MAX_BODY)
        with suppress(KeyboardInterrupt):
            guarded(guard).run(sockets=[listening])


def _listening(decisions: Path, host: str, port: int | None) -> socket.socket:
    if port is not None:
        return listen(host, port)
    try:
        return listen(host, usual_port(decisions))
    except MachineError:
        return listen(host, 0)
