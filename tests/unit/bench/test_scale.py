"""The measurement at full size: its commands exist, and a step that has ended is not done again."""

from __future__ import annotations

import json

import pytest
import typer

from bench.scale import full
from known_unknowns.cli import app


def test_every_command_is_one_of_the_package() -> None:
    """Parsed by the command line itself, which refuses unknown and missing options."""
    group = typer.main.get_command(app)
    for step, beside in full.commands(["a", "b"], cores=2).items():
        assert len(beside) == (2 if step == "infer" else 1)
        for command in beside:
            name, *arguments = command.split()
            assert group.commands[name].make_context(name, arguments).params, command


def test_an_interrupted_measurement_continues(tmp_path, monkeypatch) -> None:
    ran: list[str] = []

    def run(folder, *command):
        ran.append(command[0])
        if command[0] == "measure-models" and ran.count("measure-models") == 1:
            raise KeyboardInterrupt
        return {"cpu_seconds": 1.0, "peak_mib": len(ran)}

    monkeypatch.setattr(full, "run", run)
    with pytest.raises(KeyboardInterrupt):
        full.measure(tmp_path, 40, ["a", "b"], seeds=1, cores=1)
    assert [step["step"] for step in json.loads((tmp_path / "steps.json").read_text())["steps"]] == [
        *("generate", "questions", "variants", "infer", "score")
    ]
    steps = full.measure(tmp_path, 40, ["a", "b"], seeds=1, cores=1)
    assert [step["step"] for step in steps] == ["generate", *full.commands(["a", "b"], 1)]
    assert ran.count("infer") == 2 and ran.count("measure-models") == 2
    with pytest.raises(SystemExit, match="use another --folder"):
        full.measure(tmp_path, 41, ["a", "b"], seeds=1, cores=1)
