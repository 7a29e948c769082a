"""The settings and the messages of a run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml

from known_unknowns.workflow import configuration, run, run_settings
from tests.factories import params_from
from tests.paths import ROOT


def test_equal_settings_are_not_written_again(tmp_path):
    path = tmp_path / "params.yaml"
    run_settings.write(params_from({"edition": "mine"}), path)
    assert yaml.safe_load(path.read_text())["edition"] == "mine"
    written = path.stat().st_mtime_ns
    run_settings.write(params_from({"edition": "mine"}), path)
    assert path.stat().st_mtime_ns == written
    run_settings.write(params_from({"edition": "other"}), path)
    assert yaml.safe_load(path.read_text())["edition"] == "other"


@pytest.mark.parametrize("configured", ["--config edition=mine", "--configfile"])
def test_printed_commands_read_the_configuration_of_the_run(tmp_path, monkeypatch, configured):
    """With an empty reply of an endpoint to retry; a model in this process would give it again."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["models"]["far"] = {"engine": "openai", "source": "m"}
    raw["editions"]["mine"] = raw["editions"]["pocket"] | {"data": "pocket", "models": ["pocket", "far"]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw))
    if configured == "--configfile":
        raw["editions"]["only here"] = raw["editions"].pop("mine")
        raw["editions"] = {"only-here": raw["editions"].pop("only here")} | raw["editions"]
    edition = next(name for name in ("mine", "only-here") if name in raw["editions"])
    params = configuration.check(raw | {"edition": edition})
    results = tmp_path / "results" / edition
    run_settings.start(params)
    for model in params.models:
        record = results / "replies" / model / "humblebench" / "engine.json"
        record.parent.mkdir(parents=True)
        record.write_text('{"failures": {"empty": 1}, "replies": 9}')
    assert "known-unknowns open" not in run.closing_message(params, f"results/{edition}", 1.0)
    page = results / "report/index.html"
    page.parent.mkdir()
    page.touch()
    message = run.closing_message(params, f"results/{edition}", 1.0)
    options = "--params results/only-here/run.yaml" if configured == "--configfile" else "--edition mine"
    assert f"known-unknowns open {options}\n" in message
    assert re.findall(r"Ask them again: \S*known-unknowns (.*)", message) == [f"journal retry far {options}"]
    chosen = options.split()
    loaded = configuration.load(**({"edition": chosen[1]} if chosen[0] == "--edition" else {"path": chosen[1]}))
    assert loaded.file.plain() == params.file.plain()


def test_a_failure_shows_the_end_of_each_log_once(tmp_path):
    log = tmp_path / "infer.log"
    log.write_text("one\ntwo\nthree\n")
    snakemake = tmp_path / "snakemake.log"
    snakemake.write_text(f"    log: {log} (check log file(s) for error details)\n" * 2)
    message = run.failure_message([str(snakemake)], lines=2)
    assert message.count(str(log)) == 1
    assert f"{log}\n    two\n    three\n" in message and "one" not in message


FAILED = """\
Error in rule infer:
    message: SLURM-job '2' failed
    jobid: {job}
    log: {own}, {cluster} (check log file(s) for error details)
"""
GROUP = """\
    message: Error in group prepare
    log: {cluster} (check log file(s) for error details)
    jobs:
        rule questions:
            jobid: {job}
            log: {own} (check log file(s) for error details)
"""


@pytest.mark.parametrize("form", [FAILED, GROUP])
def test_a_failure_on_a_cluster_shows_the_clusters_log_if_the_jobs_own_is_empty(tmp_path, form):
    own, cluster, snakemake = (tmp_path / f"{name}.log" for name in ("own", "cluster", "snakemake"))
    snakemake.write_text(form.format(job=4, own=own, cluster=cluster))
    cluster.write_text("slurmstepd: out of memory\n")
    message = run.failure_message([str(snakemake)])
    assert f"{cluster}\n    slurmstepd: out of memory\n" in message and str(own) not in message
    own.write_text("no such file\n")
    message = run.failure_message([str(snakemake)])
    assert f"{own}\n    no such file\n" in message and str(cluster) not in message


def test_a_job_that_succeeded_in_a_later_attempt_is_no_failure(tmp_path):
    logs = {name: tmp_path / f"{name}.log" for name in ("again", "lost", "cluster")}
    for name, path in logs.items():
        path.write_text(f"about {name}\n")
    first = FAILED.format(job=7, own=logs["again"], cluster=logs["cluster"])
    second = FAILED.format(job=8, own=logs["lost"], cluster=logs["cluster"])
    snakemake = tmp_path / "snakemake.log"
    snakemake.write_text(f"{first}{second}Finished jobid: 7 (Rule: infer)\n")
    message = run.failure_message([str(snakemake)])
    assert "about lost" in message and "about again" not in message


def test_a_stopped_run_names_no_logs(tmp_path):
    snakemake = tmp_path / "snakemake.log"
    snakemake.write_text("Terminating processes on user request, this might take some time.\n")
    message = run.failure_message([str(snakemake)])
    assert "no job failed" in message and "logs" not in message


@pytest.mark.parametrize("failed", [True, False])
def test_the_end_of_a_run_names_the_signal_that_stopped_it(tmp_path, monkeypatch, failed):
    monkeypatch.setattr(run, "STOPPED", [signal.SIGTERM])
    snakemake = tmp_path / "snakemake.log"
    snakemake.write_text(FAILED.format(job=1, own="results/own.log", cluster="9.log") if failed else "Terminating.\n")
    assert "The run was stopped by SIGTERM" in run.failure_message([str(snakemake)])


def test_a_failure_without_any_log_names_the_logs(tmp_path):
    snakemake = tmp_path / "snakemake.log"
    snakemake.write_text(FAILED.format(job=1, own="results/own.log", cluster="9.log"))
    assert "why:\nresults/own.log\n9.log\n" in run.failure_message([str(snakemake)])


def test_the_shell_of_a_job_outlives_a_sigterm_to_all_its_processes(tmp_path):
    job = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(5)); print('on', flush=True); time.sleep(60)"
    prefix = run.shell_prefix(tmp_path / "none").format()
    command = ["bash", "-c", f'{prefix}{sys.executable} -c "{job}"']
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"on\n"
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(30) == 5
