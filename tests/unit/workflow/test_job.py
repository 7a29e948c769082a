"""The frame of a job's script: its log, its exit code, its settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from known_unknowns.workflow import configuration, job, selection
from known_unknowns.workflow.run_lock import lock_run
from tests.factories import params_from
from tests.paths import ROOT

START = """
from types import SimpleNamespace
from known_unknowns.workflow.job import job

if __name__ == "__main__":
    snakemake = SimpleNamespace(log=["job.log"], params=[{"a": 1}, "a path", {"b": None}])

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
    assert (code, log) == (0, "{'a': 1, 'b': None}\na program\n")


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


def test_a_job_that_asks_has_the_keys_that_change_no_reply_from_its_run(tmp_path, monkeypatch):
    raw = configuration.load(ROOT / "params.yaml").file.plain()
    entry = {"engine": "openai", "source": "parrot", "base_url": "http://127.0.0.1:9/v1", "concurrency": 3}
    raw["models"]["hosted"] = entry | {"asked": {"mmsap": {"system": "Be brief."}}}
    params = params_from(raw)
    monkeypatch.chdir(tmp_path)
    job.FROZEN.parent.mkdir(parents=True)
    job.FROZEN.write_text(yaml.safe_dump(params.file.plain(), sort_keys=False))
    for benchmark in ("humblebench", "mmsap"):
        settings = selection.compared(params, "infer", model="hosted", benchmark=benchmark)
        assert not {"concurrency", "timeout", "asked"} & settings["models"]["hosted"].keys()
        asked = job.asking_configuration(settings).model("hosted").asked_in(benchmark)
        assert asked == params.model("hosted").asked_in(benchmark)
    settings["models"]["hosted"]["system"] = "as Snakemake compared it"
    assert job.asking_configuration(settings).model("hosted").system == "as Snakemake compared it"


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
