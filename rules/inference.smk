# Ask models. There is one job per model and benchmark: it loads the model once and answers every variant and seed.
#
# The outputs of a rule cannot depend on a wildcard, and benchmarks differ in their variants, so that each benchmark has
# its own rule. The journal is not an output, because Snakemake deletes the outputs of a job that it restarts. A model with
# `shards` has one job for each, and the job that writes the tables then asks nothing.


# Whether a model is there and can answer, before any long job.
rule probe:
    output:
        "<results>/probe/{model}.json",
    log:
        "<logs>/probe/{model}.log",
    wildcard_constraints:
        model=any_of(ASKED),
    conda:
        "../envs/models.yaml"
    params:
        read=FUNCTIONS.compared("probe"),
        journals=f"{JOURNAL}/{{model}}",
        settings=RESOLVED,
    shell:
        "python -m known_unknowns probe {wildcards.model} --journals {params.journals} --out {output}"
        " --params {params.settings} > {log} 2>&1"


for benchmark in PARAMS.benchmarks:

    rule:
        name:
            f"infer_{benchmark}"
        input:
            questions=TARGETS.per_question_set(
                "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet", benchmark
            ),
            images=f"<data>/questions/{benchmark}/images",
            weights=FUNCTIONS.weights,
            probe="<results>/probe/{model}.json",
            shards=FUNCTIONS.of_model(rule_parameters.shard_records, RESULTS, benchmark),
        output:
            replies=TARGETS.per_question_set(
                "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet",
                benchmark,
            ),
            engine=f"<results>/replies/{{model}}/{benchmark}/engine.json",
        log:
            f"<logs>/infer/{{model}}/{benchmark}.log",
        benchmark:
            f"<benchmarks>/infer/{{model}}/{benchmark}.tsv"
        wildcard_constraints:
            model=any_of(ASKED),
        group:
            FUNCTIONS.of_model(job_needs.group)
        conda:
            "../envs/models.yaml"
        threads: FUNCTIONS.of_model(rule_parameters.threads)
        resources:
            gpu=FUNCTIONS.of_model(rule_parameters.gpus_besides_shards),
            mem_mb=FUNCTIONS.of_attempt(job_needs.table_memory_mb),
            disk_mb=FUNCTIONS.of_model(job_needs.disk_mb),
            runtime=FUNCTIONS.of_model(job_needs.table_minutes, benchmark, Path(DATA)),
        params:
            entry=FUNCTIONS.of_model(rule_parameters.reply_settings),
            protocols=rule_parameters.protocols(PARAMS, benchmark),
            parsers=rule_parameters.refusal_parsers(PARAMS, benchmark),
            code=FUNCTIONS.of_model(rule_parameters.engine_code, benchmark),
            benchmark=benchmark,
            questions=subpath(input.images, parent=True),
            out=subpath(output.engine, parent=True),
            journal=f"{JOURNAL}/{{model}}/{benchmark}.jsonl",
            settings=RESOLVED,
        shell:
            "python -m known_unknowns infer {wildcards.model} {params.benchmark} --questions {params.questions}"
            " --out {params.out} --journal {params.journal} --params {params.settings} > {log} 2>&1"

    if SHARDED:

        rule:
            name:
                f"infer_{benchmark}_shard"
            input:
                questions=TARGETS.per_question_set(
                    "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet",
                    benchmark,
                ),
                images=f"<data>/questions/{benchmark}/images",
                weights=FUNCTIONS.weights,
                probe="<results>/probe/{model}.json",
            output:
                record=f"<results>/replies/{{model}}/{benchmark}/shards/{{shard}}-of-{{shards}}.json",
            log:
                f"<logs>/infer/{{model}}/{benchmark}-{{shard}}-of-{{shards}}.log",
            benchmark:
                f"<benchmarks>/infer/{{model}}/{benchmark}-{{shard}}-of-{{shards}}.tsv"
            wildcard_constraints:
                model=any_of(SHARDED),
                shard=r"\d+",
                shards=r"\d+",
            group:
                FUNCTIONS.of_model(job_needs.group)
            conda:
                "../envs/models.yaml"
            threads: FUNCTIONS.of_model(rule_parameters.threads)
            resources:
                gpu=FUNCTIONS.of_model(rule_parameters.gpus),
                mem_mb=FUNCTIONS.of_attempt(job_needs.memory_mb),
                disk_mb=FUNCTIONS.of_model(job_needs.disk_mb),
                runtime=FUNCTIONS.of_model(job_needs.minutes, benchmark, Path(DATA)),
            params:
                entry=FUNCTIONS.of_model(rule_parameters.reply_settings),
                protocols=rule_parameters.protocols(PARAMS, benchmark),
                parsers=rule_parameters.refusal_parsers(PARAMS, benchmark),
                code=FUNCTIONS.of_model(rule_parameters.engine_code, benchmark),
                benchmark=benchmark,
                questions=subpath(input.images, parent=True),
                out=subpath(output.record, ancestor=2),
                journal=f"{JOURNAL}/{{model}}/{benchmark}.jsonl",
                settings=RESOLVED,
            shell:
                "python -m known_unknowns infer {wildcards.model} {params.benchmark} --questions {params.questions}"
                " --out {params.out} --journal {params.journal} --shard {wildcards.shard}/{wildcards.shards}"
                " --params {params.settings} > {log} 2>&1"


# Ask a sample of recorded replies again, batched in other ways. Not part of `all`: snakemake verify
rule verify:
    input:
        expand(
            "<results>/verify/{model}/{benchmark}.json",
            model=ASKED,
            benchmark=PARAMS.benchmarks,
        ),


rule verify_model:
    input:
        engine="<results>/replies/{model}/{benchmark}/engine.json",
    output:
        "<results>/verify/{model}/{benchmark}.json",
        "<results>/verify/{model}/{benchmark}.parquet",
    log:
        "<logs>/verify/{model}/{benchmark}.log",
    wildcard_constraints:
        model=any_of(ASKED),
    conda:
        "../envs/models.yaml"
    threads: FUNCTIONS.of_model(rule_parameters.threads)
    resources:
        gpu=FUNCTIONS.of_model(rule_parameters.gpus),
        mem_mb=FUNCTIONS.of_attempt(job_needs.memory_mb),
        disk_mb=FUNCTIONS.of_model(job_needs.disk_mb),
    params:
        out=subpath(output[0], ancestor=2),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns verify {wildcards.model} {wildcards.benchmark} --report-only --out {params.out}"
        " --params {params.settings} > {log} 2>&1"
