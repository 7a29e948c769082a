"""The frame of a job's script: its log, its exit code, its settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns.inference.asking import Asking
from known_unknowns.workflow import configuration, job
from known_unknowns.workflow.rule_settings import named, of_job, uncompared
from known_unknowns.workflow.run_lock import lock_run
from tests import scripts
from tests.factories import params_from
from tests.paths import ROOT

START = """
from types import SimpleNamespace
from known_unknowns.workflow.job import job

if __name__ == "__main__":
    params = [{"a": 1}, "a path", {"b": None}, SimpleNamespace(c=2)]
    snakemake = SimpleNamespace(log=["job.log"], params=params)

"""


def run(folder: Path, body: str) -> tuple[int, str]:
    """Run a script with this body in `job`; return its exit code and its log. It prints nothing elsewhere."""
    lines = ["with job(snakemake) as settings:", *(f"    {line}" for line in body.splitlines())]
    (folder / "script.py").write_text(START + "\n".join(lines), encoding="utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
    return done.returncode, (folder / "job.log").read_text(encoding="utf-8")


def test_the_log_has_the_output_of_the_job_and_of_the_programs_that_it_starts(tmp_path):
    (tmp_path / "job.log").write_text("of an earlier attempt\n" * 9)
    code, log = run(tmp_path, "import os\nprint(settings, flush=True)\nos.system('echo a program >&2')")
    assert (code, log) == (0, "{'a': 1, 'b': None, 'c': 2}\na program\n")


@pytest.mark.parametrize(
    ("statement", "code", "log"),
    [
        ("raise DataError('no rows', file='x.csv')", 3, "known-unknowns: error: x.csv: no rows\n"),
        ("open('/')", 4, "known-unknowns: error: /: Is a directory; correct this and run again\n"),
        ("import openai", 2, "known-unknowns: error: this needs the package openai; install it with"),
        ("raise KeyboardInterrupt", 1, "interrupted\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
    ],
)
def test_an_error_ends_in_the_log_with_its_exit_code(tmp_path, statement, code, log):
    missing = "import sys\nfrom known_unknowns.errors import DataError\nsys.modules['openai'] = None\n"
    ended, found = run(tmp_path, missing + statement)
    assert ended == code and log in found
    assert ("Traceback" in found) is ("1 / 0" in statement)


def test_processes_that_a_job_spawns_do_not_repeat_it(tmp_path):
    code, log = run(
        tmp_path,
        "import multiprocessing, operator\n"
        "print('once')\n"
        "with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "    print(pool.apply(operator.add, (1, 2)))",
    )
    assert (code, log) == (0, "once\n3\n")


def test_no_run_starts_beside_a_job(tmp_path):
    code, log = run(
        tmp_path,
        "from known_unknowns.workflow.run_lock import lock_run\nlock_run(seconds=0)",
    )
    assert code == 4 and "jobs of a stopped run are active in this folder" in log
    lock_run(tmp_path / "run.lock", tmp_path / ".snakemake/known-unknowns.jobs", seconds=0).close()


def test_a_job_that_asks_has_the_keys_that_change_no_reply_which_are_not_compared():
    raw = configuration.load(ROOT / "params.yaml").file.plain()
    entry = {"engine": "openai", "source": "parrot", "base_url": "http://127.0.0.1:9/v1", "concurrency": 3}
    raw["models"]["hosted"] = entry | {"asked": {"mmsap": {"system": "Be brief."}}}
    params = params_from(raw)
    for benchmark in ("humblebench", "mmsap"):
        parameters = scripts.parameters_of_asking(params, "hosted", benchmark).values()
        compared = of_job(value for value in parameters if isinstance(value, dict))
        assert not {"concurrency", "timeout", "asked"} & compared["model"].keys()
        assert "pace" not in compared
        settings = of_job(parameters)
        assert Asking.of_settings("hosted", settings).model == params.model("hosted").asked_in(benchmark)
        assert Asking.of_settings("hosted", settings) == Asking.of(params, "hosted", benchmark)
    settings["model"]["system"] = "as Snakemake compared it"
    assert Asking.of_settings("hosted", settings).model.system == "as Snakemake compared it"


def test_settings_are_compared_with_their_names_and_not_with_the_order_of_keys():
    def parameters(**settings):
        return {name: of_wildcards(None) for name, of_wildcards in named(**settings).items()}

    one, other = parameters(seeds=[0], samples=[1]), parameters(seeds=[1], samples=[0])
    assert {repr(value) for value in one.values()} != {repr(value) for value in other.values()}
    assert repr(parameters(judge={"a": 1, "b": 2})) == repr(parameters(judge={"b": 2, "a": 1}))


def test_settings_are_constants_or_functions_of_the_wildcards():
    given = {**named(parsers=["{model}"], cells=lambda wildcards: [wildcards]), **uncompared(pace={"timeout": 1})}
    settings = of_job(of_wildcards("m") for of_wildcards in given.values())
    assert settings == {"parsers": ["{model}"], "cells": ["m"], "pace": {"timeout": 1}}


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["python", "/project/.snakemake/scripts/tmp1.infer.py"], True),
        (["bash", "-c", "python /project/.snakemake/scripts/tmp1.infer.py"], False),
        (["python", "-m", "snakemake"], False),
        ([], False),
    ],
)
def test_the_process_of_a_job_is_that_of_its_script(command, found):
    assert job.is_job(command) is found
