# Log the results as nested MLflow runs. One job logs all of them: concurrent writers of a new database would conflict.


rule track:
    input:
        metrics=METRICS,
        variants=TARGETS.variant_tables(),
        tables=expand(
            "<data>/questions/{benchmark}/questions.parquet",
            benchmark=PARAMS.benchmarks,
        ),
        scores=SCORES,
        replies=REPLIES,
        engines=ENGINES,
        figures=rules.report.output.figures,
    output:
        runs="<results>/tracking.json",
    log:
        "<logs>/track.log",
    retries: 0
    conda:
        "../envs/workflow.yaml"
    params:
        read=selection.compared(PARAMS, "track"),
        code=code_of("track", PARAMS.benchmarks),
        results=subpath(output.runs, ancestor=1),
        data=lambda wildcards: DATA,
    shell:
        "python -m known_unknowns step track {input.metrics} --results {params.results} --data {params.data}"
        " --figures {params.results}/report/figures --out {output.runs} > {log} 2>&1"
