"""The code and the commands of the pages of the documentation, and how tests run them."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import yaml

from known_unknowns import tables
from known_unknowns.records import OVERALL
from tests.paths import ROOT
from tests.workflow.project import Project


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def lines(page: str) -> list[str]:
    """Return the commands of a page, without comments."""
    return [line.partition(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines() if line]


def run(project: Project, line: str, *targets: str) -> str:
    """Run a command of a page. For ``make run``, the command is run that the Makefile has for it.

    It gets one core: on a machine with other work, two threads of a tiny model wait for each other most of the time.
    """
    program, *arguments = shlex.split(line)
    if program == "make":
        assert arguments.pop(0) == "run"
        edition = [part.replace("EDITION", "edition") for part in arguments]
        return project.snakemake(*targets, "--cores", "1", *(["--config", *edition] if edition else []))
    return project.run(program, *arguments).stdout


def shell(project: Project, line: str) -> str:
    """Run a line exactly as a page or a program prints it."""
    return project.run("bash", "-c", line).stdout


def paste(project: Project, printed: str, edition: str) -> None:
    """Paste the entry that ``try --dry-run`` printed into params.yaml, and its name into an edition, as a page says."""
    added = yaml.safe_load("\n".join(line for line in printed.splitlines() if line.startswith("  ")))

    def change(params: dict) -> None:
        params["models"] |= added
        params["editions"][edition]["models"] += list(added)

    project.change_params(change)


def with_environment(project: Project) -> None:
    """Give a copy the environment of the tests as that of ``make setup``."""
    environment = project.root / ".venv"
    environment.mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (environment / part).symlink_to(Path(sys.prefix, part))
    (environment / ".installed").touch()


def accuracy(root: Path, edition: str, model: str, benchmark: str) -> dict[tuple[str, str], tuple[float | None, int]]:
    """Return the accuracy and n of each variant and parser."""
    metrics = tables.read_metrics(root / f"results/{edition}/metrics/{model}/{benchmark}/metrics.parquet")
    return {
        (m.variant, m.parser): (m.value, m.n)
        for m in metrics
        if (m.name, m.category) == ("accuracy", OVERALL) and m.seed == 0
    }
