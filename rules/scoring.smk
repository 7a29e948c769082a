# Score replies with every scorer. There is one job per benchmark, which reads each table of questions once. Its outputs
# are updated: the job keeps the scores of a model and cell whose inputs have not changed (MADE_FROM has their digests).

for benchmark in PARAMS.benchmarks:

    rule:
        name:
            f"score_{benchmark}"
        input:
            questions=TARGETS.per_question_set(
                "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet", benchmark
            ),
            replies=TARGETS.per_cell(
                "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                benchmark,
            ),
        output:
            update(
                TARGETS.per_cell(
                    "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                )
            ),
        log:
            f"<logs>/score/{benchmark}.log",
        conda:
            "../envs/core.yaml"
        threads: rule_parameters.table_threads(PARAMS, benchmark)
        params:
            scorers=PARAMS.scorers,
            code=code_of("score", [benchmark]),
            benchmark=benchmark,
            questions=folder_of("questions", 2),
            replies=folder_of("replies", 4),
            out=lambda wildcards, output: Path(output[0]).parents[3].as_posix(),
            made_from=f"{MADE_FROM}/scores/{benchmark}.json",
            settings=RESOLVED,
        shell:
            "python -m known_unknowns score-models {params.benchmark} --questions {params.questions}"
            " --replies {params.replies} --out {params.out} --made-from {params.made_from} --code {params.code}"
            " --workers {threads} --params {params.settings} > {log} 2>&1"
