"""A server behind the guard: its token, its socket, and its settings."""

from __future__ import annotations

import secrets
import socket
from typing import TYPE_CHECKING

from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.workflow.guard import Guard

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"
SHORTEST_TOKEN = 16


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
