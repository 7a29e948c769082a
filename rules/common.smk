# Shared by all rules: the checked configuration, where files are, and functions from wildcards to files and settings.
# The logic is in src/known_unknowns/workflow.

import atexit
import gc
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
from known_unknowns.workflow.code_digest import code_of
from known_unknowns.workflow.rule_functions import RuleFunctions
from known_unknowns.workflow.targets import Targets, any_of

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
FUNCTIONS = RuleFunctions(PARAMS, DATA, RESULTS, JOURNAL)
ASKED = TARGETS.asked_models
SHARDED = [model for model in ASKED if rule_parameters.shards(PARAMS, model)]
REPLIES = TARGETS.per_pair("<results>/replies/{model}/{benchmark}/replies.parquet")
ENGINES = TARGETS.per_pair("<results>/replies/{model}/{benchmark}/engine.json")
SCORES = TARGETS.per_pair("<results>/scores/{model}/{benchmark}/scores.parquet")
METRICS = TARGETS.per_pair("<results>/metrics/{model}/{benchmark}/metrics.parquet")
CHECKS = expand("<results>/checks/{benchmark}.json", benchmark=PARAMS.benchmarks)

# A job runs this tree's package with this Python, unless its conda environment comes first.
workflow_run.prepend_to_path(Path(sys.executable).parent)
shell.prefix(workflow_run.shell_prefix(SOURCE, SETTINGS))

LOCKS = []  # open files: a lock lasts as long as this process
START = time.monotonic()
atexit.register(gc.freeze)  # or Python would search all objects for cycles as it ends


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
