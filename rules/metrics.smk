# Compute metrics with intervals from scores, and write the summaries for people, DVC and the report.


rule measure:
    input:
        variants=FUNCTIONS.answered_variants,
        scores="<results>/scores/{model}/{benchmark}/scores.parquet",
        replies="<results>/replies/{model}/{benchmark}/replies.parquet",
    output:
        "<results>/metrics/{model}/{benchmark}/metrics.parquet",
    log:
        "<logs>/measure/{model}/{benchmark}.log",
    group:
        "evaluate"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=2000,
    params:
        cells=FUNCTIONS.cells,
        statistics=PARAMS.statistics.as_dict(),
        code=FUNCTIONS.code("measure"),
        variants=f"{DATA}/variants/{{benchmark}}",
        settings=RESOLVED,
    shell:
        "python -m known_unknowns measure {wildcards.model} {wildcards.benchmark} --variants {params.variants}"
        " --scores {input.scores} --replies {input.replies} --out {output} --params {params.settings} > {log} 2>&1"


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
        plot="<results>/plots/stress_tests.csv",
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
        replies=REPLIES,
        engines=ENGINES,
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
        replies=f"{RESULTS}/replies",
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
        variants=TARGETS.variant_tables(),
        scores=SCORES,
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
        data=DATA,
        results=subpath(output[0], parent=True),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns compare-models --data {params.data}"
        " --results {params.results} --out {output} --params {params.settings} > {log} 2>&1"
