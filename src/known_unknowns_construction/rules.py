"""Inputs and parameters of the rules of the construction, and the message at its end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.config.locked_commits import commits
from known_unknowns.workflow.code_digest import code_of


def code(params: Params, name: str, script: Path) -> str:
    """Return the digest of the code of construction: with a rule's script and the benchmark's part."""
    return code_of("infer", [params.construction(name).benchmark], __package__, script=script)


def settings(params: Params, name: str, *keys: str) -> dict[str, Any]:
    """Return these keys of an entry, and those that all steps read."""
    entry = params.construction(name).plain()
    return {key: entry[key] for key in ("benchmark", "scripted_endpoint", *keys) if key in entry}


def asked_models(params: Params, name: str, step: str) -> dict[str, Any]:
    """Return the settings of the models that a step asks: what decides a reply, and the commits."""
    entry = params.construction(name)
    if step == "attributes":
        names = [entry.attributes]
    elif step == "generators":
        names = [generator.model for generator in entry.generators.values()]
    else:
        names = list(entry.filters.models)
    models = {each: params.model(each).asked_in("") for each in names if each}
    return {each: {"model": model.reply_keys(), "commits": commits(model)} for each, model in models.items()}


def annotation(params: Params, name: str) -> list[str]:
    """Return the annotation file of an entry; nothing for rendered scenes."""
    source = params.construction(name).psg
    return [] if source is None else [(Path(source.path) / "psg.json").as_posix()]


def graphs(params: Params, name: str) -> str:
    """Return the file of scene graphs that questions are made from."""
    described = params.construction(name).attributes is not None
    return f"construction/{name}/{'described' if described else 'graphs'}.jsonl"


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
