"""Inputs and parameters of the rules of the construction, and the message at its end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.workflow.code_digest import code_of


def code(params: Params, name: str, script: Path) -> str:
    """Return the digest of the code of construction: with a rule's script and the benchmark's part."""
    return code_of("infer", [params.construction(name).benchmark], __package__, script=script)


def annotation(params: Params, name: str) -> list[str]:
    """Return the annotation file of an entry; nothing for rendered scenes."""
    source = params.construction(name).psg
    return [] if source is None else [(Path(source.path) / "psg.json").as_posix()]


def graphs(params: Params, name: str) -> str:
    """Return the file of scene graphs that questions are made from."""
    described = params.construction(name).attributes is not None
    return f"construction/{name}/{'described' if described else 'graphs'}.jsonl"


def names_of(arguments: Iterable[str]) -> list[str]:
    """Return the names of the constructions among the targets of a command line."""
    found = (Path(argument).parts for argument in arguments if not argument.startswith("-"))
    return sorted({parts[1] for parts in found if len(parts) > 2 and parts[0] == "construction"})


def closing_message(names: Iterable[str], root: Path = Path()) -> str:
    """Return where release candidates are, their numbers of questions, and the commands of the review and release."""
    lines = [""]
    for name in names:
        folder = Path("construction", name)
        if (counts := root / folder / "filters.json").is_file():
            found = json_files.read(counts)
            reasons = (
                f"the filters dropped {found['dropped']} and flagged {found['flagged']}, see {folder}/filters.json"
            )
            lines += [f"Questions  {found['kept']} of {found['candidates']} candidates; {reasons}"]
        released = (root / folder / "release_candidate").is_dir()
        lines += [f"Candidate  {folder}/release_candidate/README.md"] if released else []
        lines += [f"Review     known-unknowns review start {folder}/filtered.jsonl"]
        decisions = f"{folder}/filtered.decisions.jsonl"
        lines += [f"Release    known-unknowns construct release {name} --decisions {decisions}"] if released else []
    return "\n".join(lines)
