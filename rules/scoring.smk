# From replies to what each scorer read in them.


rule score:
    input:
        questions="<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
        replies="<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
    output:
        "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet",
    log:
        "<logs>/score/{model}/{benchmark}/{variant}/seed{seed}.log",
    conda:
        "../envs/core.yaml"
    params:
        scorers=PARAMS.scorers,
        code=lambda wildcards: code(
            "scoring.py", "scorers", f"benchmarks/{wildcards.benchmark}*.py"
        ),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns score --questions {input.questions} --replies {input.replies} --out {output}"
        " --params {params.settings} > {log} 2>&1"
