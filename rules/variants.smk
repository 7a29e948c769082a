# Make the variants of a table of questions, one for each seed.


rule vary:
    input:
        "<data>/questions/{benchmark}/questions.parquet",
    output:
        "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
    log:
        "<logs>/vary/{benchmark}/{variant}/seed{seed}.log",
    conda:
        "../envs/core.yaml"
    params:
        entry=lambda wildcards: PARAMS.variant(wildcards.variant).as_dict(),
        code=code_of("vary"),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns vary {wildcards.variant} --questions {input} --out {output}"
        " --seed {wildcards.seed} --params {params.settings} > {log} 2>&1"
