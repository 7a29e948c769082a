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
    conda:
        "../envs/workflow.yaml"
    params:
        shown=rule_parameters.reported(PARAMS),
        tracking=PARAMS.tracking.as_dict(),
        code=code_of("track", PARAMS.benchmarks),
        results=subpath(output.runs, ancestor=1),
        data=DATA,
        settings=RESOLVED,
    shell:
        "python -m known_unknowns track {input.metrics} --results {params.results} --data {params.data}"
        " --figures {params.results}/report/figures --out {output.runs} --params {params.settings} > {log} 2>&1"
