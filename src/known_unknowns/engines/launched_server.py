"""A server that the job starts and ends: ``launch`` of an entry of the engine `openai` (docs/models.md).

A process has one such server at a time. It ends with the process, however that ends (`_server_guard`).
"""

from __future__ import annotations

import atexit
import http.client
import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns import stopping
from known_unknowns.config import OpenAIModel
from known_unknowns.config.models import Launch
from known_unknowns.engines import _server_guard, gpus
from known_unknowns.engines.endpoint.settings import ApiKey, print_message
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.progress import duration

GRACE_SECONDS = 15.0
"""Time between SIGTERM and SIGKILL for the server."""
LOGS = Path("results", "server_logs")
"""The folder of the logs by model, outside the journals, which are shared: a log may name paths and quote prompts."""
HOST = "127.0.0.1"
KEY_VARIABLES = ("VLLM_API_KEY", "LLAMA_API_KEY")
"""Environment variables from which servers (vLLM, llama.cpp) read the key that requests need."""
_CONFIG_OPTION = "--config"
_LISTENING = "0A"  # the state in /proc/net/tcp
_ATTEMPTS = 3
_STEP = 0.2
_ANSWER_SECONDS = 5.0
_VERSION_SECONDS = 60.0
_FIRST_REPORT, _LONGEST_PAUSE = 10.0, 60.0
_SHOWN_LINES = 15
_READ_BYTES = 2**16
_ERROR = re.compile(r"error|exception|fatal|killed", re.IGNORECASE)
_PORT_TAKEN = re.compile(r"address (is )?already in use|port \d+ is (already )?in use", re.IGNORECASE)


@dataclass
class LaunchedServer:
    """A running server.

    Attributes
    ----------
    name : str
        The model's name.
    command : sequence of str
        The command, without the port.
    process : subprocess.Popen
        The guard, whose exit status is the server's.
    port : int
    key : ApiKey
        The key that the server requires, if it reads one of `KEY_VARIABLES`.
    log : Path
        The file of the server's output, from the byte ``log_start``. The server answers from the byte ``errors_start``
        on: an error before, such as that of a list of models which it does not have, did not end it.
    version : str or None
        The version that the server or its program reports.
    """

    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes]
    port: int
    key: ApiKey
    log: Path
    log_start: int
    version: str | None = None
    errors_start: int = 0

    @property
    def base_url(self) -> str:
        """The address for the client."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def facts(self) -> dict[str, Any]:
        """What can change a reply: the version and the command, without the folder of its program."""
        program, *arguments = self.command
        files = config_files(self.command)
        return {"command": [Path(program).name, *arguments], "version": self.version} | (
            {"files": files} if files else {}
        )

    def raise_if_ended(self) -> None:
        """Raise MachineError with the end of the log if the server has ended."""
        if (status := self.process.poll()) is not None:
            stopping.raise_if_requested()  # a scheduler's signal reaches the server as well
            raise MachineError(
                f"models.{self.name}: the server that `launch` started has ended (exit status {status}). The replies "
                f"so far are kept; the same command starts it again and asks only what is missing. {self.log_end()}"
            )

    def log_end(self) -> str:
        """Return the path of the log, its lines with errors and its last lines, for a message."""
        end = self._lines(self.log_start)[-_SHOWN_LINES:]
        if not end:
            return f"Its log is {self.log}, which is empty"
        before = self._lines(max(self.log_start, self.errors_start))[:-_SHOWN_LINES]
        errors = [line for line in before if _ERROR.search(line)][-_SHOWN_LINES:]
        text = f"Its log is {self.log}"
        if errors:
            text += ", with these errors:\n" + "\n".join(errors) + "\nIt ends with:\n"
        else:
            text += ", which ends with:\n"
        return text + "\n".join(end)

    def wait(self, minutes: float) -> bool:
        """Wait until the server answers. Return False if it has ended because another process uses its port.

        Raises MachineError if it has ended for another reason, or does not answer in time.
        """
        start, report = time.monotonic(), _FIRST_REPORT
        while not self._is_ready():
            stopping.raise_if_requested()
            if self.process.poll() is not None and any(map(_PORT_TAKEN.search, self._lines(self.log_start))):
                return False
            self.raise_if_ended()
            elapsed = time.monotonic() - start
            if elapsed > 60 * minutes:
                self.stop()
                raise MachineError(
                    f"models.{self.name}: the server that `launch` started has not answered within {minutes:g} minutes "
                    f"(launch.wait_minutes). {self.log_end()}"
                )
            if elapsed > report:
                report = elapsed + min(max(_FIRST_REPORT, elapsed / 4), _LONGEST_PAUSE)
                line = next(iter(self._lines(self.log_start)[-1:]), "nothing yet")
                print_message(self.name, f"waiting for the server for {duration(elapsed)}; its log: {line}")
            time.sleep(_STEP)
        self.version = self._served_version() or _version_of(self.command[0])
        print_message(self.name, f"the server answers after {duration(time.monotonic() - start)}")
        return True

    def stop(self) -> None:
        """End the server and its children."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(GRACE_SECONDS + _ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            print_message(self.name, f"warning: the server does not end; its process is a child of {self.process.pid}")

    def _is_ready(self) -> bool:
        """Whether the server answers, and it is this one: another server at this port rejects the key.

        Raises MachineError, and sends no key, if another user's process listens at the port.
        """
        if self.process.poll() is not None:
            return False
        if _listening_user(self.port) not in (None, os.getuid()):
            self.stop()
            raise MachineError(
                f"models.{self.name}: a process of another user listens at the port {self.port} of the server; nothing "
                "was sent to it. Run the same command again, which takes another port"
            )
        health, _ = self._get("/health")
        return health in (200, 404) and self._get("/v1/models")[0] not in (None, 401, 403)

    def _served_version(self) -> str | None:
        status, body = self._get("/version")
        try:
            version = json.loads(body)["version"] if status == http.client.OK else None
        except (ValueError, LookupError, TypeError):
            return None
        return version if isinstance(version, str) else None

    def _get(self, path: str) -> tuple[int | None, bytes]:
        """Return the status and the body of a page; None without an answer. Unlike urllib, this uses no proxy."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_ANSWER_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.key.reveal()}"})
            response = connection.getresponse()
            return response.status, response.read(_READ_BYTES)
        except (OSError, http.client.HTTPException):
            return None, b""
        finally:
            connection.close()

    def forget_errors(self) -> None:
        """Leave out the errors so far when the end of the server is reported: it answers in spite of them."""
        self.errors_start = self.log.stat().st_size

    def _lines(self, start: int) -> list[str]:
        with self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(start, size - _READ_BYTES))
            text = file.read().decode("utf-8", "replace")
        return [line for line in str(self.key.redact(text)).splitlines() if line.strip()]


_current: LaunchedServer | None = None


def start(name: str, entry: OpenAIModel, launch: Launch, log: str) -> LaunchedServer:
    """Return the server of an entry. It is started unless it runs; another one of this process is ended before.

    ``log`` is the name of its log in the model's folder of `LOGS`.

    Raises
    ------
    ConfigError
        The program does not exist.
    MachineError
        The server ends, or does not answer in time.
    """
    global _current
    command = command_of(entry, launch)
    if _current is not None:
        if _current.command == command and _current.process.poll() is None:
            return _current
        _current.stop()
    require_program(name, launch)
    for _ in range(_ATTEMPTS):
        _current = server = _spawn(name, command, LOGS / name / f"{log}.log", entry.gpus)
        print_message(name, f"starting {shlex.join(command)} (log: {_current.log})")
        if _current.wait(launch.wait_minutes):
            return _current
    raise MachineError(f"models.{name}: other processes took the ports of the server. {server.log_end()}")


@atexit.register
def stop() -> None:
    """End the server of this process, if there is one."""
    global _current
    if _current is not None:
        _current.stop()
        _current = None


def require_program(name: str, launch: Launch) -> str:
    """Return the path of the program. Raises ConfigError if it does not exist."""
    program = shlex.split(launch.command)[0]
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            f"the program {program!r} is not there. Install it, if need be in an environment of its own, and give its "
            "path (command: .venv-vllm/bin/vllm serve)",
            path=f"models.{name}.launch.command",
        )
    return found


def command_of(entry: OpenAIModel, launch: Launch) -> tuple[str, ...]:
    """Return the command of a server, without its host and port."""
    words = shlex.split(launch.command)
    placed = [word.replace("{source}", entry.source) for word in words]
    options = {
        "--revision": entry.revision,
        "--served-model-name": f"{entry.source}@{entry.revision}" if entry.revision else None,
        "--tensor-parallel-size": launch.tensor_parallel_size if launch.tensor_parallel_size > 1 else None,
        "--quantization": launch.quantization,
        "--max-model-len": launch.max_model_len,
    }
    given = [str(part) for pair in options.items() if pair[1] is not None for part in pair]
    return (*placed, *([entry.source] if placed == words else []), *given, *launch.arguments)


def config_files(command: Sequence[str]) -> dict[str, str]:
    """Return the sha256 of the files that a command names with --config, by their path.

    Raises ConfigError if one cannot be read.
    """
    found = {}
    for word, following in zip(command, [*command[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option != _CONFIG_OPTION:
            continue
        path = value if equals else following
        try:
            found[path] = sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            raise ConfigError(f"{_CONFIG_OPTION} {path}: {error.strerror}", path="launch.arguments") from None
    return found


def _listening_user(port: int) -> int | None:
    """Return the user whose process listens at a port of this machine; None if none does, or that is not known."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                return int(fields[7])
    return None


def _spawn(name: str, command: Sequence[str], log: Path, gpus: int) -> LaunchedServer:
    key, port = secrets.token_hex(24), _free_port()
    environment = os.environ | dict.fromkeys(KEY_VARIABLES, key) | {"PYTHONUNBUFFERED": "1"} | _visible_gpus(gpus)
    guard = [sys.executable, "-I", str(_server_guard.__file__), str(GRACE_SECONDS)]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        log_start = output.tell()
        process = subprocess.Popen(
            [*guard, *command, "--host", HOST, "--port", str(port)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return LaunchedServer(name, command, process, port, ApiKey(key), log, log_start)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


@cache
def _visible_gpus(count: int) -> dict[str, str]:
    """Return the environment that shows a server ``count`` GPUs which no process has taken.

    It is empty if there are no others, as in a job whose GPUs a scheduler has chosen, or none.
    """
    present = gpus.visible()
    if 0 < len(present) < count:
        raise MachineError(f"{count} GPUs are needed, and this machine has {len(present)}")
    if len(present) <= count:
        return {}
    taken = [present[index] for _ in range(count) if (index := gpus.take(len(present))) is not None]
    if len(taken) < count:
        raise MachineError(f"{count} GPUs are needed, and other jobs have taken all but {len(taken)} of {len(present)}")
    return {"CUDA_VISIBLE_DEVICES": ",".join(taken)}


def _version_of(program: str) -> str | None:
    """Return the first line that a program prints for --version, or else for version; None if it knows neither."""
    for word in ("--version", "version"):
        try:
            done = subprocess.run([program, word], capture_output=True, timeout=_VERSION_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        if line := done.stdout.decode("utf-8", "replace").split("\n")[0].strip():
            return line
    return None
