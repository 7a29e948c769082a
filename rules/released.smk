# Replies that a benchmark's authors released. There is one job per benchmark, which keeps the replies of a model whose inputs
# have not changed, as in scoring.smk.
#
# Which variants a model has is known when the files are there. So a first run only fetches them (rule fetch_released), and
# `make run` starts a second one.

from known_unknowns.data import released_cells as released

RELEASED = [name for name in PARAMS.benchmarks if released.is_released(PARAMS, name)]
UNFETCHED = released.unfetched(PARAMS)
AGAIN = Path(".snakemake/known-unknowns.again")
RELEASED_NUMBERS = (
    []
    if UNFETCHED
    else expand("<results>/released/{benchmark}.json", benchmark=RELEASED)
)
REPLY_TABLES = (
    [] if UNFETCHED else expand("<results>/released/{benchmark}", benchmark=RELEASED)
)


for benchmark in RELEASED:
    if imported := [
        model
        for model in PARAMS.models
        if released.is_imported_from(PARAMS, model, benchmark)
    ]:

        rule:
            name:
                f"import_{benchmark}"
            input:
                questions=TARGETS.per_question_set(
                    "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                ),
                raw=f"<data>/raw/{benchmark}",
            output:
                replies=update(
                    [
                        path.replace("{model}", model)
                        for model in imported
                        for path in TARGETS.per_question_set(
                            "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                            benchmark,
                            model,
                        )
                    ]
                ),
                engines=update(
                    expand(
                        f"<results>/replies/{{model}}/{benchmark}/engine.json",
                        model=imported,
                    )
                ),
            log:
                f"<logs>/import/{benchmark}.log",
            group:
                "prepare"
            conda:
                "../envs/core.yaml"
            params:
                entries={model: PARAMS.model(model).as_dict() for model in imported},
                code=code_of("release", [benchmark]),
                benchmark=benchmark,
                questions=folder_of("questions", 2),
                out=lambda wildcards, output: (
                    Path(output.engines[0]).parents[2].as_posix()
                ),
                made_from=f"{MADE_FROM}/replies/{benchmark}.json",
                settings=RESOLVED,
            shell:
                "python -m known_unknowns import-released-models {params.benchmark} --raw {input.raw}"
                " --questions {params.questions} --out {params.out} --made-from {params.made_from}"
                " --code {params.code} --params {params.settings} > {log} 2>&1"


# Parsers, variants and models compared question by question.
rule reply_tables:
    input:
        questions=lambda wildcards: TARGETS.per_question_set(
            "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
            wildcards.benchmark,
        ),
        scores=lambda wildcards: [
            path
            for path in TARGETS.per_cell(
                "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"
            )
            if f"/{wildcards.benchmark}/" in path
        ],
    output:
        directory("<results>/released/{benchmark}"),
    log:
        "<logs>/reply_tables/{benchmark}.log",
    group:
        "evaluate"
    conda:
        "../envs/core.yaml"
    params:
        statistics=PARAMS.statistics.as_dict(),
        code=code_of("compare"),
        questions=folder_of("questions", 2),
        scores=folder_of("scores", 4),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns reply-tables {wildcards.benchmark} --questions {params.questions}"
        " --scores {params.scores} --out {output} --params {params.settings} > {log} 2>&1"


# The numbers that were released with the replies, and whether the replies reproduce them.
rule released_numbers:
    input:
        raw="<data>/raw/{benchmark}",
        questions=lambda wildcards: TARGETS.per_question_set(
            "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
            wildcards.benchmark,
        ),
    output:
        "<results>/released/{benchmark}.json",
    log:
        "<logs>/released/{benchmark}.log",
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    params:
        models={name: PARAMS.model(name).as_dict() for name in PARAMS.models},
        code=FUNCTIONS.code("release"),
        questions=folder_of("questions", 2),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns released-numbers {wildcards.benchmark} --raw {input.raw}"
        " --questions {params.questions} --out {output} --params {params.settings} > {log} 2>&1"
