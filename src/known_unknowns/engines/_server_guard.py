"""Run a command, and end it and its children when standard input ends: python _server_guard.py GRACE_SECONDS COMMAND...

Standard input is a pipe from the process that needs the command. It ends when that process closes it or ends in any
way, SIGKILL included. If the guard itself is killed, Linux sends the command SIGTERM. A child of the command in a
session of its own is not ended. The guard and the command have sessions of their own, so that no Ctrl-C reaches them.
The exit status is the command's. This file imports nothing of the package, so that it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def main() -> None:
    """Run the command of the arguments."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the command would inherit
    command = subprocess.Popen(
        sys.argv[2:], stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_end_with_parent
    )

    def end_with_input() -> None:
        while os.read(0, 1):
            pass
        _signal(command.pid, signal.SIGTERM)
        try:
            command.wait(float(sys.argv[1]))
        except subprocess.TimeoutExpired:
            _signal(command.pid, signal.SIGKILL)

    threading.Thread(target=end_with_input, daemon=True).start()
    status = command.wait()
    _signal(command.pid, signal.SIGKILL)  # its children
    os._exit(status if status >= 0 else 128 - status)


def _end_with_parent() -> None:
    """Ask Linux for SIGTERM to this process when its parent ends. Other systems have no such call."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    main()
