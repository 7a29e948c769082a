"""Write requirements.lock and envs/*.yaml: every package of every extra, pinned once, for all platforms.

    python scripts/lock.py             # keep the pins that still fit pyproject.toml
    python scripts/lock.py --upgrade   # the newest versions that fit

The lock is a constraints file (``pip install -c requirements.lock -e ".[models]"``): it says which version is
taken, never what is installed. The packages of CUDA are left out, since torch itself pins those of its build, and
a CPU build has none. An environment file of a kind of job holds the same pins, for that kind's packages only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
PYTHON = "3.11"
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "core": (),
    "models": ("models", "adapters", "api"),
    "report": ("report",),
    "workflow": ("workflow",),
    "construction": ("construction", "models", "adapters", "api"),
}
"""Environment file to the extras of pyproject.toml that its jobs need besides the core."""

_HEAD = "# Written by `make lock` (scripts/lock.py) from pyproject.toml; do not edit.\n"
_PIN = re.compile(r"[A-Za-z0-9]")
_CUDA = re.compile(r"(nvidia|cuda)-|triton\b")


def compile_pins(*options: str, preferred: Path | None) -> list[str]:
    """The lines "name==version ; marker" that uv resolves pyproject.toml to, without torch's CUDA packages.

    Pins in the file ``preferred`` are kept where they fit. Raises subprocess.CalledProcessError when nothing
    satisfies pyproject.toml; uv has then said why.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "pins.txt"
        if preferred is not None and preferred.is_file():
            shutil.copyfile(preferred, out)  # uv prefers the versions that its output file already names
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--universal", "--quiet"),
            *("--python-version", PYTHON, "--fork-strategy", "fewest", "--no-annotate", "--no-header"),
            *("--output-file", str(out), *options),
        ]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        lines = out.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if _PIN.match(line) and not _CUDA.match(line)]


def lock(upgrade: bool) -> None:
    """Write all files. Without ``upgrade``, the present pins are kept where they still fit."""
    pins = compile_pins("--all-extras", preferred=None if upgrade else LOCK)
    LOCK.write_text(_HEAD + "\n".join(pins) + "\n", encoding="utf-8")
    for name, extras in ENVIRONMENTS.items():
        options = [option for extra in extras for option in ("--extra", extra)]
        write_environment(name, compile_pins("--constraint", str(LOCK), *options, preferred=LOCK))


def write_environment(name: str, pins: list[str]) -> None:
    """Write envs/<name>.yaml, a conda environment with Python and these pins."""
    lines = [
        "channels:",
        "  - conda-forge",
        "  - nodefaults",
        "dependencies:",
        f"  - python ={PYTHON}",
        "  - pip",
        "  - pip:",
        *(f'      - "{pin}"' for pin in pins),
    ]
    path = ROOT / "envs" / f"{name}.yaml"
    path.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    lock(upgrade="--upgrade" in sys.argv[1:])
