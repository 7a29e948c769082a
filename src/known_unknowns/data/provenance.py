"""Provenance of results: the commit of the code, package versions, the machine, and the hashes of the data.

Values that cannot be determined are None or absent.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.errors import DataError
from known_unknowns.yaml_reader import parse_yaml

PACKAGES = (
    "known-unknowns",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "pillow",
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "snakemake",
    "dvc",
    "mlflow",
)
"""Distributions whose version can change a number or an image, and those that run the workflow."""

_GIB = 2**30
_SECONDS = 20.0
_NOT_RESULTS = (":(top)", ":(top,exclude,glob)**/dvc.lock")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The code, the packages, the machine and the data of a run.

    ``packages`` are the versions of `PACKAGES`, ``cores`` those that this process may use, ``data`` the DVC hash of
    each path; None without a pin.
    """

    commit: str | None
    dirty: bool | None
    python: str
    packages: Mapping[str, str]
    system: str
    cpu: str | None
    cores: int
    memory_gib: float | None
    gpus: tuple[str, ...]
    data: Mapping[str, str | None]

    def hardware(self) -> dict[str, Any]:
        """Return the description of the machine."""
        described = {name: getattr(self, name) for name in ("system", "cpu", "cores", "memory_gib")}
        return described | {"gpus": ", ".join(self.gpus) or "none"}


def collect(folder: str | Path = ".", *, data: Iterable[str | Path] = ()) -> Provenance:
    """Collect the provenance of a run in the project's folder, with the pins of the paths ``data``.

    Raises DataError if a pin is unreadable. A missing pin is no error.
    """
    commit, dirty = git_state(folder)
    return Provenance(
        commit=commit,
        dirty=dirty,
        python=platform.python_version(),
        packages=package_versions(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=cpu_name(),
        cores=_usable_cores(),
        memory_gib=memory_gib(),
        gpus=gpu_names(),
        data={str(path): dvc_hash(path) for path in data},
    )


def git_state(folder: str | Path = ".") -> tuple[str | None, bool | None]:
    """Return the current commit, and whether the files differ from it.

    Untracked files count as a difference unless they are ignored, because a new module can change a result. dvc.lock
    does not count: it describes results, and each run records its own. The result is (None, None) outside a repository
    and (None, True) in a repository without commits.
    """
    # Without this option, "status" writes the index of a repository that another process may be using.
    status = _output("git", "--no-optional-locks", "-C", str(folder), "status", "--porcelain", "--", *_NOT_RESULTS)
    if status is None:
        return None, None
    commit = _output("git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD")
    return (commit.strip() if commit else None), bool(status.strip()) or not commit


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of the installed distributions."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def dvc_hash(path: str | Path) -> str | None:
    """Return the DVC hash of ``path`` from ``path``.dvc ("<md5>.dir" for a folder), or None without a pin.

    Raises DataError if the pin is not a DVC file that names ``path``.
    """
    path = Path(path)
    pin = path.with_name(path.name + ".dvc")
    try:
        content = parse_yaml(pin.read_text(encoding="utf-8"))
        outputs = {Path(out["path"]).name: out["md5"] for out in content["outs"]}
        return str(outputs[path.name])
    except FileNotFoundError:
        return None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"not a DVC pin of {path.name!r}; restore it from git, or pin the data again with dvc add",
            file=pin,
        ) from error


def data_digest(data: Path, benchmark: str) -> tuple[str, bool]:
    """Return a digest of a benchmark's data and whether it is a pin's: the DVC hash, else that of the question table.

    ``data`` is the edition's folder of data.
    """
    pin = dvc_hash(data / "raw" / benchmark)
    questions = data / "questions" / benchmark / "questions.parquet"
    return pin or sha256(questions.read_bytes()).hexdigest(), pin is not None


def cpu_name() -> str | None:
    """Return the model name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or None


def memory_gib() -> float | None:
    """Return the main memory in GiB, to one decimal."""
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIB, 1)
    except (AttributeError, ValueError, OSError):
        return None


def gpu_names() -> tuple[str, ...]:
    """Return the names of NVIDIA GPUs from the driver's tool, which is faster than importing torch."""
    listed = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    return tuple(line.strip() for line in (listed or "").splitlines() if line.strip())


def _usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _output(*command: str) -> str | None:
    """Return the output of a program; None if it is not installed, fails, or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout
