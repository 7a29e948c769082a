# Make the variants of the questions. There is one job per benchmark: a job per variant and seed would spend most of its
# time on starting. Each benchmark has its own rule, as in inference.smk.

for benchmark in PARAMS.benchmarks:

    rule:
        name:
            f"vary_{benchmark}"
        input:
            f"<data>/questions/{benchmark}/questions.parquet",
            corrections=rule_parameters.variant_files(PARAMS, benchmark),
        output:
            TARGETS.per_question_set(
                "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet", benchmark
            ),
        log:
            f"<logs>/vary/{benchmark}.log",
        priority: 1
        group:
            "prepare"
        conda:
            "../envs/core.yaml"
        params:
            entries={
                variant: PARAMS.variant(variant).as_dict()
                for variant in PARAMS.variants(benchmark)
            },
            code=code_of("vary", [benchmark]),
            benchmark=benchmark,
            questions=subpath(input[0], parent=True),
            settings=RESOLVED,
        shell:
            "python -m known_unknowns variants {params.benchmark} --questions {params.questions}"
            " --params {params.settings} > {log} 2>&1"
