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

import known_unknowns

# Who imported it before, such as a plugin, may have found the one of another checkout that shares the environment.
if SOURCE.is_dir() and not SOURCE.samefile(Path(known_unknowns.__file__).parents[1]):
    raise WorkflowError(
        f"This checkout has the package in {SOURCE}, and its environment the one of "
        f"{Path(known_unknowns.__file__).parents[1]}. Set up an environment here (make setup), or run with "
        f"PYTHONPATH={SOURCE}"
    )

from known_unknowns.config import read as read_config
from known_unknowns.config.locked_commits import commits, data_revision
from known_unknowns.engines import memory_needs
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.inference.asking import refusal_parsers
from known_unknowns.inference.shards import shards_of
from known_unknowns.variants import corrections
from known_unknowns.workflow import (
    code_digest,
    command_line,
    configuration,
    job,
    needs,
    prerequisites,
    rule_functions,
    run as workflow_run,
    run_lock,
    run_plan,
    run_settings,
    unrecorded,
)
from known_unknowns.workflow.code_digest import code_of
from known_unknowns.workflow.rule_functions import RuleFunctions, Targets, any_of
from known_unknowns.workflow.rule_settings import named, uncompared
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
    """The checked configuration, and notes on it.

    A mistake stops the workflow before any job, with the path of the key.

    What a run needs besides, such as the user's data, is checked once, and not again by its jobs. A job of a cluster
    parses this file again: it reads the configuration that its run wrote (`onstart`), not params.yaml, which may have
    changed since.
    """
    try:
        if not workflow.is_main_process:
            return configuration.load(job.FROZEN), []
        return prerequisites.checked(merged_files())
    except KnownUnknownsError as error:
        raise WorkflowError(
            f"Invalid configuration (params.yaml, --configfile, --config). {error}"
        ) from None


CONFIGURED, NOTES = checked()
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
REVISIONS = {name: data_revision(name, PARAMS.data(name)) for name in PARAMS.benchmarks}
CHECKS = expand("<results>/checks/{benchmark}.json", benchmark=PARAMS.benchmarks)

# A job runs this tree's package with this Python, unless its conda environment comes first.
workflow_run.prepend_to_path(Path(sys.executable).parent)
shell.prefix(workflow_run.shell_prefix(SOURCE))

LOCKS = []  # open files: a lock lasts as long as this process
START = time.monotonic()


def check_unrecorded(outputs):
    """Stop if there are files of the edition that Snakemake has no record of, and that may be of other settings."""
    records = FilePersistence(nolock=True)
    files = [
        path.replace("<results>", RESULTS).replace("<data>", DATA) for path in outputs
    ]
    # Of interrupted jobs. Snakemake makes them again by itself.
    incomplete = records._filter_incomplete_keys(files)

    def has_record(path):
        return path in incomplete or records.metadata(IOFile(path)) is not None

    try:
        unrecorded.check(
            CONFIGURED,
            files,
            has_record,
            is_forced=command_line.is_forced,
            again=command_line.forcing,
        )
    except KnownUnknownsError as error:
        raise WorkflowError(str(error)) from None


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
    run_settings.write(PARAMS, job.FROZEN, secrets=True)
    run_settings.start(CONFIGURED)
    code_digest.keep_trees()
    # Only a job that asks a model continues in a further attempt (--retries). Any other job would fail again.
    for each in workflow.rules:
        if each.name not in ("infer", "infer_shard", "judge"):
            each.restart_times = 0
    shutil.rmtree(job.FOLDER, ignore_errors=True)  # scripts of a killed run
    shutil.rmtree(workflow_run.partial_report_folder(PARAMS), ignore_errors=True)


def is_whole():
    """Whether this run makes all results of the edition."""
    chosen = workflow.dag_settings
    parts = chosen.until or chosen.omit_from or chosen.batch
    return not UNFETCHED and not parts and set(chosen.targets) <= {"all"}


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
