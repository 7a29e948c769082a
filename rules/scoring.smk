# Score replies with every scorer. There is one job per model and benchmark: a job per variant and seed would spend most
# of its time on starting. Each benchmark has its own rule, as in inference.smk.

for name, benchmark, models in TARGETS.answered_sets("score"):

    rule:
        name:
            name
        input:
            questions=TARGETS.per_question_set(
                "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
                benchmark,
                models[0],
            ),
            replies=TARGETS.per_question_set(
                "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                benchmark,
                models[0],
            ),
        output:
            scores=TARGETS.per_question_set(
                "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                benchmark,
                models[0],
            ),
        log:
            f"<logs>/score/{{model}}/{benchmark}.log",
        wildcard_constraints:
            model=any_of(models),
        conda:
            "../envs/core.yaml"
        params:
            scorers=PARAMS.scorers,
            code=code_of("score", [benchmark]),
            benchmark=benchmark,
            questions=folder_of("questions", 2),
            replies=folder_of("replies", 2),
            out=lambda wildcards, output: Path(output[0]).parents[1].as_posix(),
            settings=RESOLVED,
        shell:
            "python -m known_unknowns score {params.benchmark} --model {wildcards.model} --questions {params.questions}"
            " --replies {params.replies} --out {params.out} --params {params.settings} > {log} 2>&1"
