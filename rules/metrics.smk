# From scores to numbers with intervals, and to the tables that people, DVC and the report read.


rule measure:
    input:
        questions=lambda wildcards: per_question_set(
            "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
            wildcards.benchmark,
            wildcards.model,
        ),
        scores=lambda wildcards: per_question_set(
            "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet",
            wildcards.benchmark,
            wildcards.model,
        ),
        replies=lambda wildcards: per_question_set(
            "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
            wildcards.benchmark,
            wildcards.model,
        ),
    output:
        "<results>/metrics/{model}/{benchmark}.parquet",
    log:
        "<logs>/measure/{model}/{benchmark}.log",
    conda:
        "../envs/core.yaml"
    params:
        statistics=dict(PARAMS.statistics),
        code=lambda wildcards: code("metrics", f"benchmarks/{wildcards.benchmark}"),
        questions=folder_of("questions", 2),
        scores=folder_of("scores", 2),
        replies=folder_of("replies", 2),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns measure {wildcards.model} {wildcards.benchmark} --questions {params.questions}"
        " --scores {params.scores} --replies {params.replies} --out {output} --params {params.settings} > {log} 2>&1"


rule summarise:
    input:
        METRICS,
    output:
        headline="<results>/metrics.json",
        table=report(
            "<results>/tables/metrics.csv",
            caption="captions/metrics.rst",
            category="Tables",
        ),
        plot="<results>/plots/humblebench.csv",
    log:
        "<logs>/summarise.log",
    conda:
        "../envs/core.yaml"
    params:
        code=code("metrics"),
    shell:
        "python -m known_unknowns summarise {input} --out {output.headline} --table {output.table}"
        " --plot {output.plot} > {log} 2>&1"


rule compare:
    input:
        METRICS,
    output:
        "<results>/comparison.parquet",
    log:
        "<logs>/compare.log",
    conda:
        "../envs/core.yaml"
    params:
        published={name: PARAMS.model(name).get("published") for name in PARAMS.models},
        code=code("comparison"),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns compare {input} --out {output} --params {params.settings} > {log} 2>&1"
