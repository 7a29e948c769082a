"""The commands of ``known-unknowns construct``: benchmarks from scene graphs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer

from known_unknowns.cli.options import PARAMS, ParamsFile, Reviewers
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration
from known_unknowns_construction import scripted_endpoint, steps
from known_unknowns_construction.filters import FILTERS
from known_unknowns_construction.release import pin as pin_release
from known_unknowns_construction.release import release as run
from known_unknowns_construction.steps import Workspace

Name = Annotated[str, typer.Argument(metavar="NAME", help="An entry of the section construction in params.yaml.")]


def graphs(name: Name, params: ParamsFile = PARAMS) -> None:
    """Import scene graphs with their images and masks, or render scenes.

    A psg.json is read as a stream. Its images and masks are looked up below its folder and in the zip archives there.

    \b
    Example:
      known-unknowns construct graphs pocket
    """
    work = _workspace(name, params)
    count = steps.import_graphs(work)
    print(f"{work.folder}: {count:,} scene graphs")


def attributes(name: Name, params: ParamsFile = PARAMS) -> None:
    """Crop every object by its mask and let a model describe it.

    \b
    Example:
      known-unknowns construct attributes pocket
    """
    _print(steps.describe(_workspace(name, params)))


def generate(
    name: Name,
    generator: Annotated[str, typer.Argument(metavar="GENERATOR", help="A generator of the entry.")],
    params: ParamsFile = PARAMS,
) -> None:
    """Generate candidates with one generator. Replies that are not questions are counted with their reasons.

    \b
    Example:
      known-unknowns construct generate pocket scenes
    """
    _print(steps.generate(_workspace(name, params), generator))


def generators(name: Name, params: ParamsFile = PARAMS) -> None:
    """List the generators and filters that an entry can use.

    \b
    Example:
      known-unknowns construct generators pocket
    """
    for key, each in _workspace(name, params).generators().items():
        print(f"generator {key}: {each.description}{' (needs a model)' if each.needs_model else ''}")
    for key, rule in FILTERS.items():
        needs = f" (needs {rule.needs})" if rule.needs else ""
        print(f"filter {key}: {'drops' if rule.drops else 'flags'} {rule.description}{needs}")


def filter(name: Name, params: ParamsFile = PARAMS) -> None:
    """Apply the filters to the candidates of all generators of the entry, and count their findings.

    \b
    Example:
      known-unknowns construct filter pocket
    """
    work = _workspace(name, params)
    _print(steps.filter_candidates(work))
    print(f"Review the release candidate: known-unknowns review start {work.filtered}")


def release(
    name: Name,
    decisions: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A decision file of the review. Repeat it for several.")
    ] = None,
    required: Reviewers = 1,
    partial: Annotated[bool, typer.Option("--partial", help="Leave out questions without a final decision.")] = False,
    pin: Annotated[bool, typer.Option("--pin", help="Pin the release with DVC.")] = False,
    params: ParamsFile = PARAMS,
) -> None:
    """Write the questions in the benchmark's format, with a datasheet, Croissant metadata and an entry for params.yaml.

    Without decisions, the release is a candidate that nobody has reviewed, and says so.

    \b
    Example:
      known-unknowns construct release pocket
      known-unknowns construct release pocket --decisions construction/pocket/filtered.decisions.jsonl --pin
    """
    work = _workspace(name, params)
    out, counts = run(work, decisions or (), required=required, partial=partial)
    state = "reviewed" if counts["review"] else "a release candidate that nobody has reviewed"
    print(f"{out}: {counts['questions']:,} questions about {counts['images']:,} images, {state}")
    if pin:
        print(f"Commit {pin_release(work, out)}, then run dvc push.")
    if not counts["review"]:
        print(f"Review it: known-unknowns review start {work.filtered}")


def endpoint(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="A command and its arguments, after --.")],
) -> None:
    """Run a command with a scripted endpoint on this machine as the address of models without a base_url.

    \b
    Example:
      known-unknowns construct endpoint -- known-unknowns construct generate pocket figure_a1
    """
    with scripted_endpoint.running() as address:
        environment = os.environ | scripted_endpoint.environment(address)
        try:
            done = subprocess.run(command, env=environment, check=False)
        except OSError as error:
            raise ConfigError(f"cannot run {command[0]!r}: {error.strerror}", path="COMMAND") from error
    raise typer.Exit(done.returncode if done.returncode >= 0 else 5)


def _workspace(name: str, params: Path) -> Workspace:
    return Workspace(configuration.load(params), name)


def _print(counts: Any) -> None:
    print(json.dumps(counts, indent=2, ensure_ascii=False))
