"""A program in place of Python: it hands a script to `forked_scripts`, and ends with the script's status.

    python forked_script.py SOCKET SCRIPT

It imports little, because it starts for every job.
"""

import json
import os
import socket
import sys

STREAMS = 3
"""The standard input and outputs, which the script gets."""


def main(address: str, script: str) -> None:
    asked = {"script": script, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"."], range(STREAMS))
        connection.sendall(json.dumps(asked).encode())
        connection.shutdown(socket.SHUT_WR)
        sys.exit(int(connection.makefile().read()))


if __name__ == "__main__":
    main(*sys.argv[1:])
