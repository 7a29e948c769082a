# Parse replies with every parser: one job per model and benchmark. The parser "judge" looks up the judgements of a language
# model, which one job asks for all replies of the edition.

from known_unknowns.model_runs import judging

JUDGEMENTS = ["<results>/judgements.json"] if "judge" in PARAMS.parsers else []


if JUDGEMENTS:

    rule judge:
        input:
            variants=TARGETS.variant_tables(),
            replies=REPLIES,
            weights=rule_functions.weights(PARAMS, PARAMS.judge.model),
        output:
            "<results>/judgements.json",
        log:
            "<logs>/judge.log",
        conda:
            "../envs/models.yaml"
        threads: rule_functions.threads(PARAMS, PARAMS.judge.model)
        resources:
            gpu=FUNCTIONS.gpus(PARAMS.judge.model),
            mem_mb=lambda wildcards, attempt: needs.memory_mb(
                PARAMS, PARAMS.judge.model, attempt
            ),
            runtime=needs.MAX_MINUTES,
        params:
            **named(
                judge=PARAMS.judge,
                model=PARAMS.model(PARAMS.judge.model).reply_keys(),
                commits=commits(PARAMS.model(PARAMS.judge.model)),
                cells=judging.cells_of(PARAMS),
                own_models=judging.own_models(PARAMS),
            ),
            **uncompared(pace=PARAMS.model(PARAMS.judge.model).other_keys()),
            code=FUNCTIONS.code_of_asking("judge.py", PARAMS.judge.model),
            folder=f"{RESULTS}/variants",
            replies=f"{RESULTS}/replies",
            journal=f"{JOURNAL}/judge/{PARAMS.judge.model}.jsonl",
        script:
            "scripts/judge.py"


rule parse:
    input:
        variants=FUNCTIONS.answered_variants,
        replies="<results>/replies/{model}/{benchmark}/replies.parquet",
        judgements=JUDGEMENTS,
    output:
        "<results>/answers/{model}/{benchmark}/answers.parquet",
    log:
        "<logs>/parse/{model}/{benchmark}.log",
    group:
        "evaluate"
    conda:
        "../envs/core.yaml"
    resources:
        mem_mb=1000,
    params:
        **named(
            cells=lambda wildcards: PARAMS.cells(wildcards.benchmark, wildcards.model),
            parsers=PARAMS.parsers,
            kept=FUNCTIONS.kept,
        ),
        code=FUNCTIONS.code("parse", "parse.py"),
        folder=f"{RESULTS}/variants/{{benchmark}}",
    script:
        "scripts/parse.py"
