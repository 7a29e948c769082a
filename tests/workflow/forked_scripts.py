"""The scripts of Snakemake's jobs in forks of a process that has imported their libraries, which is most of their time.

The package of the project is among them: Snakemake imports it as well. The rest of a job is as ever: Snakemake's shell
starts a program. It is `forked_script` in place of Python, which hands the script to the process that forks, and ends
with its status.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import select
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp

from tests.workflow import forked_script

PROGRAM = forked_script.__file__
PACKAGE = "known_unknowns.workflow.run"
"""What a Snakefile of the project imports, and with it most of what its scripts do."""


@contextmanager
def forked_scripts() -> Iterator[None]:
    """Let the Snakemake of this process run scripts in forks of this process as it is now."""
    from snakemake.script import PythonScript

    with suppress(Exception):  # a project whose package is broken: Snakemake says so
        import_module(PACKAGE)
    folder = mkdtemp()  # a TemporaryDirectory would be removed at the end of the first script
    with socket.socket(socket.AF_UNIX) as listener:
        address = str(Path(folder, "socket"))
        listener.bind(address)
        listener.listen()
        until_end, at_end = os.pipe()
        server = os.fork()
        if server == 0:
            os.close(at_end)
            _serve(listener, until_end)
        program = shlex.join([sys.executable, "-I", "-S", PROGRAM, address])
        whole = PythonScript.execute_script

        def execute_script(self: PythonScript, fname: str, edit: bool = False) -> None:
            if self.conda_env or self.container_img or self.env_modules:
                whole(self, fname, edit)
            else:
                self._execute_cmd("{program} {fname:q}", program=program, fname=fname, is_python_script=True)

        PythonScript.execute_script = execute_script
        try:
            yield
        finally:
            os.close(at_end)
            os.waitpid(server, 0)
            shutil.rmtree(folder)


def _serve(listener: socket.socket, until_end: int) -> None:
    """Run the scripts that are asked for, until the process that forked this one has ended."""
    while until_end not in select.select([listener, until_end], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            _answer(connection)
            os._exit(0)
        connection.close()
    with suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)


def _answer(connection: socket.socket) -> None:
    """Run the script that a program asks for, and send its exit status."""
    _, streams, _, _ = socket.recv_fds(connection, 1, forked_script.STREAMS)
    asked = json.loads(connection.makefile().read())
    process = get_context("fork").Process(target=_run, args=(streams,), kwargs=asked)
    process.start()
    process.join()
    status = process.exitcode if process.exitcode >= 0 else 128 - process.exitcode  # as a shell gives a signal
    connection.sendall(str(status).encode())


def _run(streams: list[int], *, script: str, folder: str, environment: dict[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = [script]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves them out
        sys.stdout.flush()
        sys.stderr.flush()
