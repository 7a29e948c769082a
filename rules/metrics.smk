# Compute metrics with intervals from answers, and write the summaries for people, DVC and the report.


rule measure:
    input:
        "<results>/answers/{model}/{benchmark}/answers.parquet",
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
        **named(
            cells=lambda wildcards: PARAMS.cells(wildcards.benchmark, wildcards.model),
            parsers=PARAMS.parsers,
            confidence_level=PARAMS.statistics.confidence,
            variants=lambda wildcards: PARAMS.functions(wildcards.benchmark),
            protocols=lambda wildcards: PARAMS.protocols(wildcards.benchmark),
        ),
        code=FUNCTIONS.code("measure", "measure.py"),
    script:
        "scripts/measure.py"


rule summarise:
    input:
        METRICS,
    output:
        records="<results>/metrics.json",
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
        digests="<results>/digests/summarise.sha256",
    log:
        "<logs>/summarise.log",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        **named(configuration=PARAMS.shown(), revisions=REVISIONS),
        code=FUNCTIONS.code("summarise", "summarise.py"),
    script:
        "scripts/summarise.py"


rule compare:
    input:
        metrics=METRICS,
        replies=REPLIES,
        engines=ENGINES,
        released=RELEASED_NUMBERS,
    output:
        table="<results>/comparison.parquet",
        digests="<results>/digests/compare.sha256",
    log:
        "<logs>/compare.log",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        **named(configuration=PARAMS.shown(), revisions=REVISIONS),
        code=FUNCTIONS.code("compare", "compare.py"),
        replies=lambda wildcards: f"{RESULTS}/replies",
    script:
        "scripts/compare.py"


# Models in pairs, for the report: paired differences, tests and ranks.
rule compare_models:
    input:
        variants=TARGETS.variant_tables(),
        answers=ANSWERS,
    output:
        "<results>/model_comparison.parquet",
    log:
        "<logs>/compare_models.log",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        **named(configuration=PARAMS.shown(), revisions=REVISIONS),
        code=FUNCTIONS.code("compare", "compare_models.py"),
        data=lambda wildcards: DATA,
        results=subpath(output[0], parent=True),
    script:
        "scripts/compare_models.py"
