# Log the results as nested MLflow runs. One job logs all of them: concurrent writers of a new database would conflict.


rule track:
    input:
        metrics=METRICS,
        questions=TARGETS.per_cell(
            "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        tables=expand(
            "<data>/questions/{benchmark}/questions.parquet",
            benchmark=PARAMS.benchmarks,
        ),
        scores=TARGETS.per_cell(
            "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        engines=TARGETS.per_pair("<results>/replies/{model}/{benchmark}/engine.json"),
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
        data=folder_of("questions", 4),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns track {input.metrics} --results {params.results} --data {params.data}"
        " --figures {params.results}/report/figures --out {output.runs} --params {params.settings} > {log} 2>&1"
