# Replies that a benchmark's authors released. There is one job per model: the replies of all its variants.
#
# Which variants a model has is known when the files are there. So a first run only fetches them (rule fetch_released), and
# `make run` starts a second one.

from known_unknowns.exchange import released

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


for name, benchmark, models in TARGETS.answered_sets("import"):
    if benchmark in RELEASED and PARAMS.is_imported(models[0]):

        rule:
            name:
                name
            input:
                questions=TARGETS.per_question_set(
                    "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                    models[0],
                ),
                raw=f"<data>/raw/{benchmark}",
            output:
                replies=[
                    path.replace("{model}", models[0])
                    for path in TARGETS.per_question_set(
                        "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                        benchmark,
                        models[0],
                    )
                ],
                engine=f"<results>/replies/{models[0]}/{benchmark}/engine.json",
            log:
                f"<logs>/import/{models[0]}/{benchmark}.log",
            conda:
                "../envs/core.yaml"
            params:
                entry=PARAMS.model(models[0]).as_dict(),
                code=code_of("release", [benchmark]),
                model=models[0],
                benchmark=benchmark,
                questions=folder_of("questions", 2),
                out=subpath(output.engine, parent=True),
                settings=RESOLVED,
            shell:
                "python -m known_unknowns import-released {params.model} {params.benchmark} --raw {input.raw}"
                " --questions {params.questions} --out {params.out} --params {params.settings} > {log} 2>&1"


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
    conda:
        "../envs/core.yaml"
    params:
        statistics=PARAMS.statistics.as_dict(),
        code=code_of(modules=["known_unknowns.comparison.raw_replies"]),
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
    conda:
        "../envs/core.yaml"
    params:
        models={name: PARAMS.model(name).as_dict() for name in PARAMS.models},
        code=code("release"),
        questions=folder_of("questions", 2),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns released-numbers {wildcards.benchmark} --raw {input.raw}"
        " --questions {params.questions} --out {output} --params {params.settings} > {log} 2>&1"
