# Make the variants of the questions: one job per benchmark and variant makes those of all seeds.


rule vary:
    input:
        questions="<data>/questions/{benchmark}/questions.parquet",
        corrections=lambda wildcards: sorted(
            corrections.files(PARAMS.variant(wildcards.variant))
        ),
    output:
        "<results>/variants/{benchmark}/{variant}.parquet",
    log:
        "<logs>/vary/{benchmark}/{variant}.log",
    priority: 1
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=1000,
    params:
        **named(
            variant=lambda wildcards: PARAMS.variant(wildcards.variant),
            seeds=lambda wildcards: PARAMS.seeds_of(
                wildcards.benchmark, wildcards.variant
            ),
            limit=PARAMS.limit,
        ),
        code=FUNCTIONS.code("vary", "vary.py"),
    script:
        "scripts/vary.py"
