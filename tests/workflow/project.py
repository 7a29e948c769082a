"""A copy of the working tree in a temporary folder with a small params.yaml, in which real tools run."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tests.paths import ROOT
from tests.workflow import forked

RESPONDENTS = ["oracle", "always_a", "uniform"]
_LEFT_OUT = ("tests/", "bench/", "docs/", "data/", "journal/", "dvc.lock")


@dataclass(frozen=True)
class Project:
    """A working folder. ``environment`` is added to the environment of all programs that run in it."""

    root: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def copy_of_tree(cls, root: Path, environment: Mapping[str, str] | None = None) -> Project:
        """Copy the files that Git tracks or does not ignore, and commit them to a new repository.

        The compiled package is copied as well: else the first program in each copy compiles it again.
        """
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name in listed.split("\0"):
            if name and not name.startswith(_LEFT_OUT) and (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
        for compiled in (ROOT / "src").rglob("*.pyc"):
            copied = root / compiled.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(compiled, copied)
        project = cls(root, environment or {})
        project.run("git", "init", "--quiet")
        project.run("git", "config", "user.name", "Tester")
        project.run("git", "config", "user.email", "tester@example.org")
        project.commit("the working tree")
        return project

    def twin(self, root: Path) -> Project:
        """Copy this project with its results, their times and Snakemake's records.

        MLflow's store knows the absolute path of its artifacts, so a copy starts one of its own.
        """
        shutil.copytree(self.root, root, symlinks=True, ignore=shutil.ignore_patterns("mlflow.db*", "mlartifacts"))
        return replace(self, root=root)

    def run(self, *command: str | Path, code: int | None = 0, timeout: float = 900) -> subprocess.CompletedProcess:
        """Run a program of this environment here; fail unless it exits with ``code`` (None: with any but 0)."""
        words, streams = list(map(str, command)), self._streams()
        if words[0] in forked.MODULES:
            with tempfile.NamedTemporaryFile() as file:
                printed = Path(file.name)
                status = forked.run(words, self.root, streams["env"], printed=printed, timeout=timeout)
                done = subprocess.CompletedProcess(words, status, printed.read_text(encoding="utf-8"))
        else:
            done = subprocess.run(words, timeout=timeout, **streams)
        as_expected = done.returncode != 0 if code is None else done.returncode == code
        assert as_expected, f"{shlex.join(words)} exited with {done.returncode}:\n{done.stdout}"
        return done

    def start(self, *command: str | Path) -> subprocess.Popen:
        """Start a program as the leader of a new process group."""
        return subprocess.Popen(list(map(str, command)), start_new_session=True, **self._streams())

    def _streams(self) -> dict[str, Any]:
        """Arguments of a subprocess: this folder, its environment, no input, and both outputs together as text."""
        return {
            "cwd": self.root,
            "env": _environment(self.root, self.environment),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }

    @staticmethod
    def kill(process: subprocess.Popen) -> None:
        """Send SIGKILL to a program that was started here and to its children; do nothing if it has ended."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def snakemake(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("snakemake", "--cores", "2", *arguments, code=code).stdout

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def change_params(self, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.root / "params.yaml"
        params = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(params)
        path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")

    def made(self, *folders: str) -> dict[str, int]:
        """Every file under ``folders`` (by default results) to the time it was last written."""
        return {
            path.relative_to(self.root).as_posix(): path.stat().st_mtime_ns
            for folder in folders or ("results",)
            for path in sorted((self.root / folder).rglob("*"))
            if path.is_file()
        }


def _environment(root: Path, added: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without variables of pytest, Snakemake and make.

    Programs of this Python come first, and so does the package of the copy in ``root``. They may write compiled
    modules.
    """
    of_the_tests = ("PYTEST", "SNAKEMAKE", "MAKE", "MFLAGS", "ARGS")  # the last ones are of `make test ARGS=...`
    of_the_tests += ("PYTHONDONTWRITEBYTECODE",)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(of_the_tests)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{added.get('PATH', os.environ['PATH'])}"
    packages = os.pathsep.join(filter(None, [str(root / "src"), added.get("PYTHONPATH")]))
    return environment | {"COLUMNS": "500"} | dict(added) | {"PATH": path, "PYTHONPATH": packages}


def reduce(params: dict[str, Any], *, models: list[str], variants: list[str], images: int, tracking: bool) -> None:
    """Make a configuration small: few images, only these models and variants."""
    params["edition"] = "pocket"
    params["editions"]["pocket"] = {"benchmarks": ["humblebench"], "models": models, "seeds": [0]}
    benchmark = params["benchmarks"]["humblebench"]
    benchmark["variants"] = variants
    benchmark["seeds"] = {}
    benchmark["data"] = {"pocket": {"images": images, "revision": "unpinned"}}
    params["tracking"]["enabled"] = tracking
