# Every finished cell of the table becomes one MLflow run. One job writes them all: first writers of a fresh
# database race each other.


rule track:
    input:
        metrics=METRICS,
        questions=per_cell("<data>/questions/{benchmark}/{variant}/seed{seed}.parquet"),
        scores=per_cell(
            "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        replies=per_cell(
            "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        engines=per_pair("<results>/replies/{model}/{benchmark}/engine.json"),
    output:
        runs="<results>/tracking.json",
    log:
        "<logs>/track.log",
    conda:
        "../envs/workflow.yaml"
    params:
        shown=shown(),
        tracking=dict(PARAMS.tracking),
        code=code("tracking", "data/provenance.py"),
        results=subpath(output.runs, ancestor=1),
        data=folder_of("questions", 4),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns track {input.metrics} --results {params.results} --data {params.data}"
        " --out {output.runs} --params {params.settings} > {log} 2>&1"
