"""Where numbers come from: the code's commit, the versions of the packages, the machine, the pinned data.

Everything is read, nothing is guessed: what cannot be found out is None or absent.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import yaml

from known_unknowns.errors import DataError

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
"""The distributions whose versions can change a number or a picture, and those that drive the workflow."""

_GIB = 2**30
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Provenance:
    """``commit`` and ``dirty`` are of the code (see `git_state`); ``packages`` maps each installed one of
    `PACKAGES` to its version; ``cores`` are those that this process may use; ``memory_gib`` is the machine's;
    ``gpus`` are their names; ``data`` maps each path that was asked for to its DVC hash, or to None."""

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


def collect(folder: str | Path = ".", *, data: Iterable[str | Path] = ()) -> Provenance:
    """All of it. ``folder`` is the project's, ``data`` are paths pinned with DVC.

    Raises DataError for a pin that cannot be read (not for one that is absent).
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
    """The commit that is checked out, and whether the files differ from it.

    Untracked files count as a difference unless they are ignored: a new module changes a result as much as a
    changed one. (None, None) outside a repository, (None, True) in one without commits.
    """
    # "status" alone would refresh the index, and so write into a repository that somebody may be working in.
    status = _output("git", "--no-optional-locks", "-C", str(folder), "status", "--porcelain")
    if status is None:
        return None, None
    commit = _output("git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD")
    return (commit.strip() if commit else None), bool(status.strip()) or not commit


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """The versions of those distributions that are installed."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def dvc_hash(path: str | Path) -> str | None:
    """The hash under which ``path`` is pinned, read from ``path``.dvc ("<md5>.dir" for a folder).

    None without a pin. Raises DataError when the pin is not a DVC file that names ``path``.
    """
    path = Path(path)
    pin = path.with_name(path.name + ".dvc")
    try:
        content = yaml.safe_load(pin.read_text(encoding="utf-8"))
        outputs = {Path(out["path"]).name: out["md5"] for out in content["outs"]}
        return str(outputs[path.name])
    except FileNotFoundError:
        return None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"not a DVC pin of {path.name!r}; restore it from git, or pin the data again with dvc add",
            file=pin,
        ) from error


def cpu_name() -> str | None:
    """The processor's model, as the system names it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or None


def memory_gib() -> float | None:
    """The machine's memory in GiB, to one decimal."""
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIB, 1)
    except (AttributeError, ValueError, OSError):
        return None


def gpu_names() -> tuple[str, ...]:
    """The names of NVIDIA's GPUs, by the driver's own tool: asking torch would cost its import."""
    listed = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    return tuple(line.strip() for line in (listed or "").splitlines() if line.strip())


def _usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _output(*command: str) -> str | None:
    """What a program prints; None when it is not installed, fails, or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout
