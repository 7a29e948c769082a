# Compute confidences, and metrics with intervals from answers, and write the summaries for people, DVC and the report.


rule measure:
    input:
        "<results>/answers/{model}/{benchmark}/answers.parquet",
    output:
        metrics="<results>/metrics/{model}/{benchmark}/metrics.parquet",
        confidence="<results>/confidence/{model}/{benchmark}/confidence.parquet",
    log:
        "<logs>/measure/{model}/{benchmark}.log",
    retries: 0
    group:
        "evaluate"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=2000,
    params:
        read=FUNCTIONS.read("measure"),
        code=FUNCTIONS.code("measure"),
    shell:
        "python -m known_unknowns step measure {wildcards.model} {wildcards.benchmark} --answers {input}"
        " --out {output.metrics} --confidence {output.confidence} > {log} 2>&1"


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
        digests="<results>/digests/summarise.sha256",
    log:
        "<logs>/summarise.log",
    retries: 0
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        read=selection.compared(PARAMS, "summarise"),
        code=code_of("summarise", PARAMS.benchmarks),
    shell:
        "python -m known_unknowns step summarise {input} --out {output.records} --headline {output.headline}"
        " --leaderboard {output.leaderboard} --plot {output.plot} --digests {output.digests}"
        " > {log} 2>&1"


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
    retries: 0
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        read=selection.compared(PARAMS, "compare"),
        code=code_of("compare", PARAMS.benchmarks),
        replies=lambda wildcards: f"{RESULTS}/replies",
        released=lambda wildcards, input: [
            f"--released {path}" for path in input.released
        ],
    shell:
        "python -m known_unknowns step compare {input.metrics} --replies {params.replies} {params.released} --out {output.table}"
        " --digests {output.digests}"
        " > {log} 2>&1"


# Models in pairs, for the report: paired differences, tests and ranks.
rule compare_models:
    input:
        variants=TARGETS.variant_tables(),
        scores=SCORES,
    output:
        "<results>/model_comparison.parquet",
    log:
        "<logs>/compare_models.log",
    retries: 0
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        read=selection.compared(PARAMS, "compare_models"),
        code=code_of("compare"),
        data=lambda wildcards: DATA,
        results=subpath(output[0], parent=True),
    shell:
        "python -m known_unknowns compare-models --data {params.data}"
        " --results {params.results} --out {output} > {log} 2>&1"
