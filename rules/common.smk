# What the rules share: the checked configuration, where files lie, and the functions that turn wildcards into
# files and settings. Nothing is computed here that ends in a result.

import fcntl
import json
import os
import re
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

PACKAGE = Path(workflow.basedir) / "src" / "known_unknowns"
sys.path.insert(0, str(PACKAGE.parent))

from known_unknowns.config import NOT_IN_THE_REPLY
from known_unknowns.data import lock_file as params_lock
from known_unknowns.errors import ConfigError
from known_unknowns.data import rerun_stamp
from known_unknowns.workflow import configuration


def checked(raw):
    """The configuration, checked; a mistake stops the workflow before any job, naming the path of the bad key."""
    try:
        return configuration.check(json.loads(json.dumps(raw)))
    except ConfigError as error:
        raise WorkflowError(
            f"The configuration (params.yaml, --config) is not sound. {error}"
        ) from None


PARAMS = checked(config)
EDITION = PARAMS.edition
DATA = f"data/{PARAMS.data_name}"
RESULTS = f"results/{EDITION}"
JOURNAL = f"journal/{EDITION}"


def write_resolved(path):
    """Write the configuration as it is after --config, for the subcommands; leave the file alone if it is the same."""
    from known_unknowns.tables import write_text

    text = yaml.safe_dump(PARAMS.raw, sort_keys=False, allow_unicode=True)
    if not Path(path).is_file() or Path(path).read_text(encoding="utf-8") != text:
        write_text(path, text)
    return path


RESOLVED = write_resolved(f"{RESULTS}/params.yaml")


# A job runs this tree's package with this Python (or its conda environment's, which comes before it).
os.environ.update(
    PATH=os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    )
)
shell.prefix(f"set -euo pipefail; export PYTHONPATH='{PACKAGE.parent}'; ")


HELD = []  # the open file: its lock lasts as long as this process, however that ends


def hold_alone(path):
    """Let one run at a time work in this folder.

    Snakemake's own lock outlives a run that was killed, and then has to be removed by hand: the profile turns it off
    (nolock), and this one goes with its process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    HELD.append(path.open("w"))
    try:
        fcntl.flock(HELD[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WorkflowError(
            "Another run is at work in this folder; wait for it to end, or stop it."
        ) from None


pathvars:
    data=DATA,
    results=RESULTS,
    logs=f"{RESULTS}/logs",
    benchmarks=f"{RESULTS}/benchmarks",


# Models that are asked here. Those that are not were imported: their replies lie there before the workflow starts.
ASKED = [model for model in PARAMS.models if not PARAMS.is_imported(model)]


def any_of(names):
    return "|".join(re.escape(name) for name in names)


wildcard_constraints:
    model=any_of(PARAMS.models),
    benchmark=any_of(PARAMS.benchmarks),
    variant=any_of(
        {
            variant
            for benchmark in PARAMS.benchmarks
            for variant in PARAMS.variants(benchmark)
        }
    ),
    seed=r"\d+",


@cache
def code(*patterns):
    """A digest of the package's modules that do a rule's work: as a parameter, it reruns the rule when they change."""
    digest = sha256()
    for pattern in patterns:
        found = [
            file
            for path in PACKAGE.glob(pattern)
            for file in (path.rglob("*") if path.is_dir() else [path])
        ]
        if not found:
            raise WorkflowError(
                f"A rule names the modules {pattern}, and {PACKAGE} has none."
            )
        for file in sorted(found):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(
                    f"{file.resolve().relative_to(PACKAGE.parent).as_posix()}\0".encode()
                    + file.read_bytes()
                )
    return digest.hexdigest()[:16]


def code_of_source(wildcards):
    """What is rendered depends on our code; what is downloaded only on its revision."""
    rendered = PARAMS.data(wildcards.benchmark)["source"] == "scenes"
    return (
        code(
            "data/rendered.py",
            "../known_unknowns_pocket/benchmarks",
            "../known_unknowns_pocket/scenes",
            "benchmarks/*/format.py",
        )
        if rendered
        else ""
    )


def held_to(wildcards):
    """Changes when what params.lock.yaml holds a benchmark's source to does."""
    entry = PARAMS.data(wildcards.benchmark)
    return rerun_stamp.rule_parameter(Path(DATA, "raw", wildcards.benchmark), entry)


def pin(wildcards):
    """The .dvc file that pins a benchmark's published files, where there is one."""
    path = f"{DATA}/raw/{wildcards.benchmark}.dvc"
    return [path] if Path(path).is_file() else []


def weights(wildcards):
    """The files of a model that lies in a local folder."""
    folder = Path(PARAMS.model(wildcards.model).get("source", ""))
    if not folder.parts or not folder.is_dir():
        return []
    return sorted(
        path.as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".dvc"
    )


def reply_settings(wildcards):
    """A model's entry, less what cannot change a reply: a larger batch must not ask everything again. And the commit
    that params.lock.yaml holds it to."""
    entry = PARAMS.model(wildcards.model)
    held = params_lock.model_entry(entry)
    commit = {"commit": held.commit} if held else {}
    return commit | {
        key: value
        for key, value in sorted(entry.items())
        if key not in NOT_IN_THE_REPLY
    }


def endpoint(wildcards):
    """The check of a model's endpoint, before a model behind one is asked. Its age does not matter.

    Who has somebody else's journal needs no endpoint: were there something left to ask, the engine would look itself.
    """
    if PARAMS.model(wildcards.model)["engine"] != "openai":
        return []
    check = f"{RESULTS}/served/{wildcards.model}.json"
    asked = any(Path(JOURNAL, wildcards.model).glob("*.jsonl"))
    return ancient(check) if Path(check).is_file() or not asked else []


def in_process(wildcards):
    return PARAMS.model(wildcards.model)["engine"] == "transformers"


def infer_threads(wildcards):
    """As the model's entry says; snakemake tells the libraries that compute so."""
    return (
        PARAMS.model(wildcards.model).get("threads", 2) if in_process(wildcards) else 1
    )


def infer_gpu(wildcards):
    """One GPU for a model that may take one; it counts only where a profile says how many there are."""
    return int(
        in_process(wildcards)
        and PARAMS.model(wildcards.model).get("device", "auto") != "cpu"
    )


def protocols(benchmark):
    """How the questions of each of a benchmark's variants are asked."""
    return {
        variant: PARAMS.protocol(benchmark, variant).as_dict()
        for variant in PARAMS.variants(benchmark)
    }


# Every model with every benchmark that it answers.
PAIRS = [
    (model, benchmark)
    for benchmark in PARAMS.benchmarks
    for model in PARAMS.models
    if PARAMS.cells(benchmark, model)
]


def answered_sets(step):
    """A rule's name, the benchmark and the models that answer the same variants and seeds of it: all that are asked, and
    each that was imported by itself. A rule's outputs cannot depend on a wildcard."""
    for benchmark in PARAMS.benchmarks:
        if ASKED:
            yield f"{step}_{benchmark}", benchmark, ASKED
        for number, model in enumerate(PARAMS.models):
            if PARAMS.is_imported(model) and PARAMS.cells(benchmark, model):
                yield f"{step}_{benchmark}_imported_{number}", benchmark, [model]


def per_pair(pattern):
    """``pattern`` for every model and benchmark."""
    return [
        pattern.format(model=model, benchmark=benchmark) for model, benchmark in PAIRS
    ]


def per_question_set(pattern, benchmark, model=None):
    """``pattern`` for every variant of a benchmark and each of its seeds; of a model, those that it answered."""
    variants, seeds = zip(*PARAMS.cells(benchmark, model))
    return expand(
        pattern,
        zip,
        variant=variants,
        seed=seeds,
        benchmark=[benchmark] * len(seeds),
        allow_missing=True,
    )


def per_cell(pattern):
    """``pattern`` for every model, benchmark, variant and seed."""
    return [
        path
        for model, benchmark in PAIRS
        for path in expand(per_question_set(pattern, benchmark, model), model=model)
    ]


def folder_of(name, levels):
    """The folder so many levels above the first of the input files ``name``."""
    return lambda wildcards, input: Path(input[name][0]).parents[levels - 1].as_posix()


METRICS = per_pair("<results>/metrics/{model}/{benchmark}.parquet")
CHECKS = expand("<results>/checks/{benchmark}.json", benchmark=PARAMS.benchmarks)


def shown():
    """The part of the configuration that a report shows and a run is described by."""
    return {
        "edition": EDITION,
        "scorers": PARAMS.scorers,
        "statistics": dict(PARAMS.statistics),
        "models": {name: PARAMS.model(name).as_dict() for name in PARAMS.models},
        "benchmarks": {
            name: {
                "data": PARAMS.data(name).as_dict(),
                "protocols": protocols(name),
                "variants": {
                    variant: PARAMS.variant(variant).as_dict()
                    for variant in PARAMS.variants(name)
                },
            }
            for name in PARAMS.benchmarks
        },
    }


def closing_words():
    """Where everything is, for the end of a run."""
    lines = [
        f"Report     {RESULTS}/report/index.html",
        f"Tables     {RESULTS}/tables/metrics.csv",
        f"Replies    {RESULTS}/replies/",
    ]
    if PARAMS.tracking["enabled"]:
        mlflow = Path(sys.executable).parent / "mlflow"
        if mlflow.is_relative_to(Path.cwd()):
            mlflow = mlflow.relative_to(Path.cwd())
        lines.append(
            f"MLflow     {mlflow} ui --backend-store-uri {PARAMS.tracking['uri']}"
        )
    return "\n".join(["", *lines, ""])


def failed_logs(logs_of_snakemake, lines=5):
    """Which jobs failed, by the last lines of their logs. Snakemake's own log of the run names them."""
    told = "\n".join(
        Path(path).read_text(encoding="utf-8", errors="replace")
        for path in logs_of_snakemake
    )
    parts = ["", "Not everything was made. These logs say why:"]
    for path in map(
        Path,
        dict.fromkeys(
            re.findall(r"^ *log: (\S+) \(check log file", told, flags=re.MULTILINE)
        ),
    ):
        tail = (
            path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
            if path.is_file()
            else []
        )
        parts += [str(path), *(f"    {line}" for line in tail)]
    return "\n".join(
        [
            *parts,
            "No reply is lost: the same command, run again, continues where this one stopped.",
            "",
        ]
    )
