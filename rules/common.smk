# Shared by all rules: the checked configuration, where files are, and functions from wildcards to files and settings.
# The logic is in src/known_unknowns/workflow.

import atexit
import shutil
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import IOFile
from snakemake.persistence.file import FilePersistence

# The package of a checkout; a project that `known-unknowns init` created has none, and uses the installed one.
SOURCE = Path(workflow.basedir) / "src"
if SOURCE.is_dir():
    sys.path.insert(0, str(SOURCE))

from known_unknowns.config import read as read_config
from known_unknowns.engines import memory_needs
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.inference.shards import shards_of
from known_unknowns.variants import corrections
from known_unknowns.workflow import (
    configuration,
    job,
    needs,
    prerequisites,
    rule_functions,
    run as workflow_run,
    run_lock,
    run_plan,
    unrecorded,
)
from known_unknowns.workflow.code_digest import code_of
from known_unknowns.workflow.rule_functions import RuleFunctions, Targets, any_of
from known_unknowns_construction import rules as construction_rules

SCRIPTS = Path(workflow.basedir) / "rules/scripts"


def merged_files():
    """params.yaml, the files of --configfile over it, and the values of --config over both.

    The project's own reader reads all files, and there is no `configfile:` here: Snakemake's reader takes Yes for a
    boolean, and keeps the last of two equal keys.
    """
    settings = workflow.config_settings
    own = [] if settings.replace_workflow_config else ["params.yaml"]
    return read_config(*own, *settings.configfiles, command_line=settings.config)


def checked():
    """The checked configuration, notes on it, and the results of other settings that this run makes again.

    A mistake stops the workflow before any job, with the path of the key.

    What a run needs besides, such as the user's data, is checked once, and not again by its jobs. A job of a cluster
    parses this file again: it reads the configuration that its run wrote (`onstart`), not params.yaml, which may have
    changed since.
    """
    try:
        if not workflow.is_main_process:
            return configuration.load(job.FROZEN), [], []
        params, notes = prerequisites.checked(configuration.check(merged_files()))
        records = FilePersistence(nolock=True)
        outdated = unrecorded.check(
            params,
            lambda path: records.metadata(IOFile(path)) is not None,
            sys.argv[1:],
        )
        return params, notes, outdated
    except KnownUnknownsError as error:
        raise WorkflowError(
            f"Invalid configuration (params.yaml, --configfile, --config). {error}"
        ) from None


CONFIGURED, NOTES, OUTDATED = checked()
# Snakemake writes its own reading of --configfile and --config into the scripts of jobs, which do not need it.
config.clear()
# The run's GPUs: those of `--resources gpu=N` or of the profile. Jobs read the numbers of shards that follow from it.
LIMIT = workflow.global_resources.get("gpu")
GPUS = LIMIT.value if LIMIT is not None and workflow.is_main_process else None
PARAMS = rule_functions.with_shards(CONFIGURED, GPUS)
TARGETS = Targets(PARAMS)
DATA = f"data/{PARAMS.data_name}"
RESULTS = f"results/{PARAMS.edition}"
JOURNAL = "journal"  # of all editions: the key of a reply does not depend on them
FUNCTIONS = RuleFunctions(PARAMS, DATA, GPUS, SCRIPTS)
ASKED = TARGETS.asked_models
SHARDED = [model for model in ASKED if shards_of(PARAMS.model(model))]
QUESTIONS = expand(
    "<data>/questions/{benchmark}/questions.parquet", benchmark=PARAMS.benchmarks
)
IMAGES = expand("<data>/questions/{benchmark}/images", benchmark=PARAMS.benchmarks)
REPLIES = TARGETS.per_pair("<results>/replies/{model}/{benchmark}/replies.parquet")
ENGINES = TARGETS.per_pair("<results>/replies/{model}/{benchmark}/engine.json")
ANSWERS = TARGETS.per_pair("<results>/answers/{model}/{benchmark}/answers.parquet")
METRICS = TARGETS.per_pair("<results>/metrics/{model}/{benchmark}/metrics.parquet")
CHECKS = expand("<results>/checks/{benchmark}.json", benchmark=PARAMS.benchmarks)

# A job runs this tree's package with this Python, unless its conda environment comes first.
workflow_run.prepend_to_path(Path(sys.executable).parent)
shell.prefix(workflow_run.shell_prefix(SOURCE))

LOCKS = []  # open files: a lock lasts as long as this process
START, STARTED = time.monotonic(), time.time()


def start_run():
    """Allow one run at a time in this folder, with its own configuration."""
    try:
        LOCKS.append(run_lock.lock_run())
    except KnownUnknownsError as error:
        raise WorkflowError(str(error)) from None
    for note in NOTES:
        print(note, file=sys.stderr)
    workflow_run.forward_sigterm()
    workflow_run.end_at_second_interrupt()
    workflow_run.write_settings(PARAMS, job.FROZEN)
    shutil.rmtree(job.FOLDER, ignore_errors=True)  # scripts of a killed run
    shutil.rmtree(workflow_run.partial_report_folder(PARAMS), ignore_errors=True)
    # With results of other settings, their own settings are kept until they are made again (workflow/unrecorded.py).
    if not OUTDATED:
        write_last_settings()


def write_last_settings():
    """Write the configuration of the results beside them, without secrets."""
    workflow_run.write_settings(
        workflow_run.without_passwords(CONFIGURED), Path(RESULTS, "params.yaml")
    )


def print_last(message, stream):
    """Print a message when the process ends, below the last lines of Snakemake's own log."""
    atexit.register(print, message, file=stream)


def print_plan():
    """Print what a run of the edition would ask, unless the dry run is of single files."""
    if not workflow.dag_settings.targets:
        try:
            memory = memory_needs.this_machine().gpu_gib if GPUS else None
            plan = run_plan.of_run(PARAMS, GPUS, memory)
            print(run_plan.as_text(plan), file=sys.stderr)
        except KnownUnknownsError as error:
            print(f"No plan: {error}", file=sys.stderr)


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
