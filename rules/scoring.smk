# Score replies with every parser. There is one job per benchmark, which reads each table of questions once. Its outputs
# are updated: the job keeps the scores of a model and cell whose inputs have not changed (MADE_FROM has their digests).

VERDICTS = {
    benchmark: (
        f"{RESULTS}/verdicts/{benchmark}.json" if "judge" in PARAMS.parsers else []
    )
    for benchmark in PARAMS.benchmarks
}


for benchmark in PARAMS.benchmarks:

    if VERDICTS[benchmark]:

        rule:
            name:
                f"judge_{benchmark}"
            input:
                questions=TARGETS.per_question_set(
                    "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                ),
                replies=TARGETS.per_cell(
                    "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                ),
                weights=rule_parameters.weights(PARAMS, PARAMS.judge.model),
            output:
                VERDICTS[benchmark],
            log:
                f"<logs>/judge/{benchmark}.log",
            conda:
                "../envs/models.yaml"
            threads: rule_parameters.threads(PARAMS, PARAMS.judge.model)
            resources:
                gpu=rule_parameters.gpus(PARAMS, PARAMS.judge.model),
                mem_mb=lambda wildcards, attempt: job_needs.memory_mb(
                    PARAMS, PARAMS.judge.model, attempt
                ),
                runtime=job_needs.MAX_MINUTES,
            params:
                entry=rule_parameters.reply_settings(PARAMS, PARAMS.judge.model),
                prompt=PARAMS.judge.prompt,
                code=rule_parameters.engine_code(PARAMS, PARAMS.judge.model, benchmark),
                benchmark=benchmark,
                questions=folder_of("questions", 2),
                replies=folder_of("replies", 4),
                journal=f"{JOURNAL}/judge/{PARAMS.judge.model}/{benchmark}.jsonl",
                settings=RESOLVED,
            shell:
                "python -m known_unknowns judge {params.benchmark} --questions {params.questions}"
                " --replies {params.replies} --out {output} --journal {params.journal} --params {params.settings}"
                " > {log} 2>&1"

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
            verdicts=VERDICTS[benchmark],
        output:
            update(
                TARGETS.per_cell(
                    "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                )
            ),
        log:
            f"<logs>/score/{benchmark}.log",
        group:
            "evaluate"
        conda:
            "../envs/core.yaml"
        threads: rule_parameters.table_threads(PARAMS, benchmark)
        params:
            parsers=PARAMS.parsers,
            code=code_of("score", [benchmark]),
            benchmark=benchmark,
            questions=folder_of("questions", 2),
            replies=folder_of("replies", 4),
            out=lambda wildcards, output: Path(output[0]).parents[3].as_posix(),
            made_from=f"{MADE_FROM}/scores/{benchmark}.json",
            verdicts=f"--verdicts {VERDICTS[benchmark]}" if VERDICTS[benchmark] else "",
            settings=RESOLVED,
        shell:
            "python -m known_unknowns score-models {params.benchmark} --questions {params.questions}"
            " --replies {params.replies} --out {params.out} --made-from {params.made_from} --code {params.code}"
            " --workers {threads} {params.verdicts} --params {params.settings} > {log} 2>&1"
