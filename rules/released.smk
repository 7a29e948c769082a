# Replies that a benchmark's authors released: one job per model and benchmark imports them.
#
# Which variants a model has is known when the files are there. So a first run only fetches them (rule fetch_released), and
# `make run` starts a second one.

from known_unknowns.data import released_cells as released

RELEASED = [name for name in PARAMS.benchmarks if released.is_released(PARAMS, name)]
UNFETCHED = released.unfetched(PARAMS)
COMPARED = ["parsers", "sensitivity", "agreement", "questions", "all_wrong"]
AGAIN = Path(".snakemake/known-unknowns.again")
RELEASED_NUMBERS = (
    []
    if UNFETCHED
    else expand("<results>/released/{benchmark}.json", benchmark=RELEASED)
)
REPLY_TABLES = (
    []
    if UNFETCHED
    else expand(
        "<results>/released/{benchmark}/{table}.csv",
        benchmark=RELEASED,
        table=COMPARED,
    )
)


rule import_released:
    input:
        variants=FUNCTIONS.answered_variants,
        raw="<data>/raw/{benchmark}",
    output:
        replies="<results>/replies/{model}/{benchmark}/replies.parquet",
        engine="<results>/replies/{model}/{benchmark}/engine.json",
    log:
        "<logs>/import/{model}/{benchmark}.log",
    wildcard_constraints:
        model=any_of(filter(PARAMS.is_imported, PARAMS.models)),
        benchmark=any_of(RELEASED),
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=1000,
    params:
        **named(
            configuration=lambda wildcards: PARAMS.shown(
                [wildcards.benchmark], [wildcards.model]
            ),
        ),
        code=FUNCTIONS.code("release", "import_released.py"),
        folder=f"{RESULTS}/variants/{{benchmark}}",
        out=subpath(output.engine, parent=True),
    script:
        "scripts/import_released.py"


# Parsers, variants and models compared question by question.
rule reply_tables:
    input:
        variants=lambda wildcards: TARGETS.variant_tables(wildcards.benchmark),
        answers=lambda wildcards: TARGETS.per_pair(
            "<results>/answers/{model}/{benchmark}/answers.parquet",
            wildcards.benchmark,
        ),
    output:
        tables=expand("<results>/released/{{benchmark}}/{table}.csv", table=COMPARED),
    log:
        "<logs>/reply_tables/{benchmark}.log",
    group:
        "evaluate"
    conda:
        "../envs/core.yaml"
    params:
        **named(
            configuration=lambda wildcards: PARAMS.shown([wildcards.benchmark]),
            revisions=REVISIONS,
        ),
        code=FUNCTIONS.code("compare", "reply_tables.py"),
        folder=f"{RESULTS}/variants/{{benchmark}}",
        answers=f"{RESULTS}/answers",
        out=subpath(output[0], parent=True),
    script:
        "scripts/reply_tables.py"


# The numbers that were released with the replies, and whether the replies reproduce them.
rule released_numbers:
    input:
        raw="<data>/raw/{benchmark}",
        variants=lambda wildcards: TARGETS.variant_tables(wildcards.benchmark),
    output:
        "<results>/released/{benchmark}.json",
    log:
        "<logs>/released/{benchmark}.log",
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    params:
        **named(
            configuration=lambda wildcards: PARAMS.shown([wildcards.benchmark]),
            revisions=REVISIONS,
        ),
        code=FUNCTIONS.code("release", "released_numbers.py"),
        folder=f"{RESULTS}/variants/{{benchmark}}",
    script:
        "scripts/released_numbers.py"
