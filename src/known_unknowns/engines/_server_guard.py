"""Run a command, and end it and its children when standard input ends: python _server_guard.py GRACE_SECONDS COMMAND...

Standard input is a pipe from the process that needs the command. It ends when that process closes it or ends in any
way, SIGKILL included. If the guard itself is killed, a second process ends the command and its children, in the same
way. A child of the command in a session of its own is not ended. The guard and the command have sessions of their own,
so that no Ctrl-C reaches them.
The exit status is the command's. This file imports nothing of the package, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

_STEP = 0.1


def main() -> None:
    """Run the command of the arguments."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the command would inherit
    grace = float(sys.argv[1])
    command = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, start_new_session=True)
    watched = _start_watching(command.pid, grace)

    def end_with_input() -> None:
        while os.read(0, 1):
            pass
        _signal(command.pid, signal.SIGTERM)
        try:
            command.wait(grace)
        except subprocess.TimeoutExpired:
            _signal(command.pid, signal.SIGKILL)

    threading.Thread(target=end_with_input, daemon=True).start()
    status = command.wait()
    _signal(command.pid, signal.SIGKILL)  # its children
    os.write(watched, b".")
    os._exit(status if status >= 0 else 128 - status)


def _start_watching(group: int, grace: float) -> int:
    """Start a process that ends a group when this one is killed. Return the pipe to which a byte releases it."""
    reading, writing = os.pipe()
    if os.fork() != 0:
        os.close(reading)
        return writing
    os.setsid()
    os.close(writing)
    if not os.read(reading, 1):
        _signal(group, signal.SIGTERM)
        end = time.monotonic() + grace
        while _exists(group) and time.monotonic() < end:
            time.sleep(_STEP)
        _signal(group, signal.SIGKILL)
    os._exit(0)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    main()
