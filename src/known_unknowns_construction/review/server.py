"""Serve a review until a signal ends it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode

from known_unknowns.errors import ConfigError, MachineError
from known_unknowns_construction.review.guard import HOST, Guard, address_of, chosen_token, guarded, listen
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


def usual_token(decisions: Path) -> str:
    """Return the token of a decision file, so that an open page goes on with a server that is started again.

    It is kept in a file that only its owner reads. If there can be none, the token is new at each start.
    """
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "known-unknowns")
    file = state / f"review-{sha256(str(decisions.absolute()).encode()).hexdigest()[:16]}.token"
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            file.touch(0o600, exist_ok=False)
            file.write_text(chosen_token(), encoding="utf-8")
        status = file.stat()
        if status.st_uid == os.getuid() and not status.st_mode & 0o077:
            return chosen_token(file.read_text(encoding="utf-8"))
    except (OSError, RuntimeError, ValueError, ConfigError):
        pass
    return chosen_token()


def serve(
    review: Review, *, host: str = HOST, port: int | None = None, token: str = "", say: Callable[[str], None]
) -> None:
    """Serve a review, and return after SIGINT or SIGTERM.

    ``port`` is 0 for any free one, by default `usual_port`, or any free one if that is taken; ``token`` is by default
    `usual_token`. ``say`` receives the addresses. Raises MachineError if the port cannot be used.
    """
    from known_unknowns_construction.review.app import make_app

    token = chosen_token(token) if token else usual_token(review.log.path)
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
