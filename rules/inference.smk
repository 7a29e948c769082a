# Ask models. There is one job per model and benchmark: it loads the model once and answers every variant and seed.
#
# The journal is not an output, because Snakemake deletes the outputs of a job that it restarts. A model with several
# shards has one job for each, and the job that writes the table then asks nothing.


# Whether a model is there and can answer: all models before any long job, because of the priority.
rule probe:
    output:
        "<results>/probe/{model}.json",
    log:
        "<logs>/probe/{model}.log",
    wildcard_constraints:
        model=any_of(ASKED),
    priority: 1
    conda:
        "../envs/models.yaml"
    params:
        **named(
            model=FUNCTIONS.probed,
            commits=lambda wildcards: commits(PARAMS.model(wildcards.model)),
        ),
        **uncompared(entry=lambda wildcards: PARAMS.model(wildcards.model)),
        journals=f"{JOURNAL}/{{model}}",
    script:
        "scripts/probe.py"


# What decides a reply besides the questions (`Asking`), and the keys of the model that change none, such as a timeout.
ASKING = {
    **named(
        model=lambda wildcards: FUNCTIONS.asked(wildcards).reply_keys(),
        commits=lambda wildcards: commits(PARAMS.model(wildcards.model)),
        cells=lambda wildcards: PARAMS.cells(wildcards.benchmark, wildcards.model),
        variants=lambda wildcards: PARAMS.functions(wildcards.benchmark),
        protocols=lambda wildcards: PARAMS.protocols(wildcards.benchmark),
        refusal_parsers=lambda wildcards: refusal_parsers(PARAMS, wildcards.benchmark),
        confidence=PARAMS.confidence,
    ),
    **uncompared(pace=lambda wildcards: FUNCTIONS.asked(wildcards).other_keys()),
}


rule infer:
    input:
        variants=lambda wildcards: TARGETS.variant_tables(wildcards.benchmark),
        table="<data>/questions/{benchmark}/questions.parquet",
        images="<data>/questions/{benchmark}/images",
        weights=FUNCTIONS.of_model(rule_functions.weights),
        probe=FUNCTIONS.probe,
        shards=FUNCTIONS.of_pair(rule_functions.shard_records),
    output:
        replies="<results>/replies/{model}/{benchmark}/replies.parquet",
        engine="<results>/replies/{model}/{benchmark}/engine.json",
    log:
        "<logs>/infer/{model}/{benchmark}.log",
    benchmark:
        "<benchmarks>/infer/{model}/{benchmark}.tsv"
    wildcard_constraints:
        model=any_of(ASKED),
    group:
        FUNCTIONS.of_model(needs.group)
    conda:
        "../envs/models.yaml"
    threads: FUNCTIONS.of_model(rule_functions.threads)
    resources:
        gpu=lambda wildcards: FUNCTIONS.gpus_besides_shards(wildcards.model),
        mem_mb=FUNCTIONS.of_attempt(needs.table_memory_mb),
        runtime=FUNCTIONS.of_pair(needs.table_minutes, Path(DATA)),
    params:
        **ASKING,
        code=FUNCTIONS.code_of_asking("infer.py"),
        questions=subpath(input.images, parent=True),
        folder=f"{RESULTS}/variants/{{benchmark}}",
        out=subpath(output.engine, parent=True),
        shards=f"{RESULTS}/shards/{{model}}/{{benchmark}}",
        journal=f"{JOURNAL}/{{model}}/{{benchmark}}.jsonl",
    script:
        "scripts/infer.py"


rule infer_shard:
    input:
        variants=lambda wildcards: TARGETS.variant_tables(wildcards.benchmark),
        table="<data>/questions/{benchmark}/questions.parquet",
        images="<data>/questions/{benchmark}/images",
        weights=FUNCTIONS.of_model(rule_functions.weights),
        probe=FUNCTIONS.probe,
    output:
        record="<results>/shards/{model}/{benchmark}/{shard}-of-{shards}.json",
    log:
        "<logs>/infer/{model}/{benchmark}-{shard}-of-{shards}.log",
    benchmark:
        "<benchmarks>/infer/{model}/{benchmark}-{shard}-of-{shards}.tsv"
    wildcard_constraints:
        model=any_of(SHARDED),
        shard=r"\d+",
        shards=r"\d+",
    group:
        FUNCTIONS.of_model(needs.group)
    conda:
        "../envs/models.yaml"
    threads: FUNCTIONS.of_model(rule_functions.threads)
    resources:
        gpu=lambda wildcards: FUNCTIONS.gpus(wildcards.model),
        mem_mb=FUNCTIONS.of_attempt(needs.memory_mb),
        runtime=FUNCTIONS.of_pair(needs.minutes, Path(DATA)),
    params:
        **ASKING,
        code=FUNCTIONS.code_of_asking("infer_shard.py"),
        questions=subpath(input.images, parent=True),
        folder=f"{RESULTS}/variants/{{benchmark}}",
        out=subpath(output.record, parent=True),
        journal=f"{JOURNAL}/{{model}}/{{benchmark}}.jsonl",
    script:
        "scripts/infer_shard.py"
