# Shared by all rules: the checked configuration, where files are, and functions from wildcards to files and settings.
# The logic is in src/known_unknowns/workflow.

import atexit
import json
import os
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

# The package of a checkout; a project that `known-unknowns init` created has none, and uses the installed one.
SOURCE = Path(workflow.basedir) / "src"
if SOURCE.is_dir():
    sys.path.insert(0, str(SOURCE))

from known_unknowns.config import read as read_config
from known_unknowns.data import rerun_stamp, up_to_date
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.verification.summaries import files_digest as verified_digest
from known_unknowns.workflow import (
    construction_rules,
    configuration,
    job_needs,
    prerequisites,
    rule_parameters,
    run as workflow_run,
)
from known_unknowns.workflow.rerun_digest import code_of
from known_unknowns.workflow.targets import Targets, any_of, plot_file

# Snakemake's own reader keeps the last of two equal keys and fails on deep nesting.
try:
    for path in ["params.yaml", *workflow.overwrite_configfiles]:
        read_config(path)
except KnownUnknownsError as error:
    raise WorkflowError(f"Invalid configuration. {error}") from None


configfile: "params.yaml"


def checked(raw):
    """The checked configuration, and notes on it. A mistake stops the workflow before any job, with the path of the key.

    What a run needs besides, such as the user's data, is checked once, and not again by its jobs.
    """
    try:
        params = configuration.check_merged(
            json.loads(json.dumps(raw)), workflow.config_settings.config
        )
        return (
            prerequisites.checked(params) if workflow.is_main_process else (params, [])
        )
    except KnownUnknownsError as error:
        raise WorkflowError(
            f"Invalid configuration (params.yaml, --config). {error}"
        ) from None


# A job of a cluster parses this file again. It uses the settings of its run, not those of a params.yaml changed since.
if not workflow.is_main_process and (settings := workflow_run.job_settings()):
    config = settings
PARAMS, NOTES = checked(config)
TARGETS = Targets(PARAMS)
DATA = f"data/{PARAMS.data_name}"
RESULTS = f"results/{PARAMS.edition}"
JOURNAL = f"journal/{PARAMS.edition}"
# Jobs read their own run's settings, which no other process changes. The path is in a variable, because a rule reruns if
# its parameters change. results/<edition>/params.yaml is a copy for people.
SETTINGS = workflow_run.write_job_settings(PARAMS, Path(".snakemake/known-unknowns"))
RESOLVED = f"${workflow_run.SETTINGS_VARIABLE}"
if workflow.is_main_process:
    os.environ[workflow_run.SETTINGS_VARIABLE] = (
        SETTINGS.as_posix()
    )  # for jobs of a cluster, which parse this file
ASKED = TARGETS.asked_models
SHARDED = [model for model in ASKED if rule_parameters.shards(PARAMS, model)]
METRICS = TARGETS.per_pair("<results>/metrics/{model}/{benchmark}.parquet")
MADE_FROM = f"{RESULTS}/made_from"
CHECKS = expand("<results>/checks/{benchmark}.json", benchmark=PARAMS.benchmarks)

# A job runs this tree's package with this Python, unless its conda environment comes first.
workflow_run.prepend_to_path(Path(sys.executable).parent)
shell.prefix(workflow_run.shell_prefix(SOURCE, SETTINGS))

LOCKS = []  # open files: a lock lasts as long as this process
START = time.monotonic()


def start_run():
    """Allow one run at a time in this folder, with its own settings."""
    try:
        LOCKS.append(workflow_run.lock(workflow_run.LOCK_FILE))
    except KnownUnknownsError as error:
        raise WorkflowError(str(error)) from None
    for note in NOTES:
        print(note, file=sys.stderr)
    workflow_run.forward_sigterm()
    workflow_run.end_at_second_interrupt()
    workflow_run.write_job_settings(PARAMS, SETTINGS.parent)
    workflow_run.remove_other_settings(SETTINGS)
    workflow_run.write_settings(
        workflow_run.without_passwords(PARAMS), Path(RESULTS, "params.yaml")
    )


def print_last(message, stream):
    """Print a message when the process ends, below the last lines of Snakemake's own log."""
    atexit.register(print, message, file=stream)


pathvars:
    data=DATA,
    results=RESULTS,
    logs=f"{RESULTS}/logs",
    benchmarks=f"{RESULTS}/benchmarks",


wildcard_constraints:
    model=any_of(PARAMS.models),
    benchmark=any_of(PARAMS.benchmarks),
    variant=any_of(TARGETS.variants),
    seed=r"\d+",


def code(step):
    """The digest of the code that does a step for the benchmark of the wildcards."""
    return lambda wildcards: code_of(step, [wildcards.benchmark])


def code_of_source(wildcards):
    """The code of rendered data; nothing for downloaded data, which depend on their revision only."""
    rendered = PARAMS.data(wildcards.benchmark).source == "scenes"
    return code_of("render", [wildcards.benchmark]) if rendered else ""


def data_entry(wildcards):
    return PARAMS.data(wildcards.benchmark).as_dict()


def table_threads(wildcards):
    return rule_parameters.table_threads(PARAMS, wildcards.benchmark)


def stored_replies(benchmark=None):
    """The tables of replies as inputs of a job that fetches its inputs from an object store, and none otherwise.

    On a file system, engine.json stands for them. It has their digest, and they would be thousands of inputs.
    """
    if workflow.storage_settings.default_storage_provider is None:
        return []
    return TARGETS.per_cell(
        "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet", benchmark
    )


def own_questions(wildcards):
    """The benchmark's own questions, if they are there: released replies get their images."""
    folder = data_entry(wildcards).get("questions")
    table = Path(folder or "", "questions.parquet")
    return [local(table.as_posix())] if folder and table.is_file() else []


def data_lock(wildcards):
    """Changes if params.lock.yaml has another state of the benchmark's source."""
    entry = PARAMS.data(wildcards.benchmark)
    return rerun_stamp.rule_parameter(Path(DATA, "raw", wildcards.benchmark), entry)


# Files that git tracks or the user has are local, also with a default storage provider (profiles/kubernetes).


def pin(wildcards):
    """The .dvc file that pins a benchmark's published files, if there is one."""
    path = f"{DATA}/raw/{wildcards.benchmark}.dvc"
    return [local(path)] if Path(path).is_file() else []


def of_model(function, *arguments):
    """A function of a model's entry as a function of the wildcards."""
    return lambda wildcards: function(PARAMS, wildcards.model, *arguments)


def of_attempt(function):
    """A function of a model's entry and the attempt, which is 1 unless a job of a cluster failed before."""
    return lambda wildcards, attempt: function(PARAMS, wildcards.model, attempt)


def weights(wildcards):
    """The files of a model in a local folder."""
    return [local(path) for path in rule_parameters.weights(PARAMS, wildcards.model)]


def endpoint(wildcards):
    """The check of a model's endpoint. Its age does not matter."""
    check, journal = (
        Path(RESULTS, "served", f"{wildcards.model}.json"),
        Path(JOURNAL, wildcards.model),
    )
    needed = rule_parameters.needs_endpoint_check(
        PARAMS, wildcards.model, check=check, journal=journal
    )
    return ancient(check.as_posix()) if needed else []


def folder_of(name, levels):
    """The folder that many levels above the first of the input files ``name``."""
    return lambda wildcards, input: Path(input[name][0]).parents[levels - 1].as_posix()


def constructed(function, *arguments):
    """A function of an entry of the section construction as a function of the wildcards."""
    return lambda wildcards: function(PARAMS, wildcards.construction, *arguments)


def step_code(part):
    """The digest of the code of a step, and of the benchmark's generators and format."""
    return lambda wildcards: code_of(
        "construct",
        [PARAMS.construction(wildcards.construction).benchmark],
        modules=[f"known_unknowns.construction.{part}"],
    )
