# Log the results as MLflow runs of models, benchmarks and seeds. One job logs all: concurrent writers of a new database
# would conflict.


rule track:
    input:
        metrics=METRICS,
        variants=TARGETS.variant_tables(),
        tables=expand(
            "<data>/questions/{benchmark}/questions.parquet",
            benchmark=PARAMS.benchmarks,
        ),
        answers=ANSWERS,
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
        **named(
            configuration=PARAMS.shown(),
            revisions=REVISIONS,
            tracking=PARAMS.tracking,
        ),
        code=FUNCTIONS.code("track", "track.py"),
        results=subpath(output.runs, ancestor=1),
        data=lambda wildcards: DATA,
    script:
        "scripts/track.py"
