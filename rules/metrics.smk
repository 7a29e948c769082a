# Compute metrics with intervals from scores, and write the summaries for people, DVC and the report. There is one job of
# measure per benchmark, which keeps the metrics of a model whose inputs have not changed, as in scoring.smk.

for benchmark in PARAMS.benchmarks:

    rule:
        name:
            f"measure_{benchmark}"
        input:
            questions=TARGETS.per_question_set(
                "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet", benchmark
            ),
            scores=TARGETS.per_cell(
                "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                benchmark,
            ),
            engines=TARGETS.per_pair(
                "<results>/replies/{model}/{benchmark}/engine.json", benchmark
            ),
        output:
            update(
                TARGETS.per_pair(
                    "<results>/metrics/{model}/{benchmark}.parquet", benchmark
                )
            ),
        log:
            f"<logs>/measure/{benchmark}.log",
        group:
            "evaluate"
        conda:
            "../envs/core.yaml"
        threads: rule_parameters.table_threads(PARAMS, benchmark)
        params:
            statistics=PARAMS.statistics.as_dict(),
            code=code_of("measure", [benchmark]),
            benchmark=benchmark,
            questions=folder_of("questions", 2),
            scores=folder_of("scores", 4),
            replies=folder_of("engines", 3),
            out=lambda wildcards, output: Path(output[0]).parents[1].as_posix(),
            made_from=f"{MADE_FROM}/metrics/{benchmark}.json",
            settings=RESOLVED,
        shell:
            "python -m known_unknowns measure-models {params.benchmark} --questions {params.questions}"
            " --scores {params.scores} --replies {params.replies} --out {params.out} --made-from {params.made_from}"
            " --code {params.code} --workers {threads} --params {params.settings} > {log} 2>&1"


rule summarise:
    input:
        METRICS,
    output:
        records="<results>/metrics.json",
        headline=report(
            "<results>/headline.csv",
            caption="captions/headline.rst",
            category="Tables",
            labels={"table": "headline metrics"},
        ),
        leaderboard=report(
            "<results>/leaderboard.csv",
            caption="captions/leaderboard.rst",
            category="Tables",
            labels={"table": "leaderboard"},
        ),
        models=expand(
            "<results>/models/{model}.json",
            model=dict.fromkeys(model for model, _ in TARGETS.pairs),
        ),
        plot=plot_file("<results>/plots/{benchmark}.csv"),
    log:
        "<logs>/summarise.log",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        code=code_of("summarise", PARAMS.benchmarks),
    shell:
        "python -m known_unknowns summarise {input} --out {output.records} --headline {output.headline}"
        " --leaderboard {output.leaderboard} --plot {output.plot} > {log} 2>&1"


rule compare:
    input:
        metrics=METRICS,
        engines=TARGETS.per_pair("<results>/replies/{model}/{benchmark}/engine.json"),
        released=RELEASED_NUMBERS,
    output:
        "<results>/comparison.parquet",
    log:
        "<logs>/compare.log",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        published={
            name: PARAMS.model(name).as_dict().get("published")
            for name in PARAMS.models
        },
        conditions=rule_parameters.comparison_conditions(PARAMS),
        verified=verified_digest(Path(RESULTS, "verify"), PARAMS.models),
        code=code_of("compare", PARAMS.benchmarks),
        replies=folder_of("engines", 3),
        released=lambda wildcards, input: [
            f"--released {path}" for path in input.released
        ],
        settings=RESOLVED,
    shell:
        "python -m known_unknowns compare {input.metrics} --replies {params.replies} {params.released} --out {output}"
        " --params {params.settings} > {log} 2>&1"


# Models in pairs, for the report: paired differences, tests and ranks.
rule compare_models:
    input:
        questions=TARGETS.per_cell(
            "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        scores=TARGETS.per_cell(
            "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
    output:
        "<results>/model_comparison.parquet",
    log:
        "<logs>/compare_models.log",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        models=PARAMS.models,
        parsers=PARAMS.parsers,
        statistics=PARAMS.statistics.as_dict(),
        code=code_of("compare"),
        data=folder_of("questions", 4),
        results=subpath(output[0], parent=True),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns compare-models --data {params.data}"
        " --results {params.results} --out {output} --params {params.settings} > {log} 2>&1"
