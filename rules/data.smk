# Fetch the data of a benchmark, convert them to a table of questions, and check them. The questions of all benchmarks
# come before other jobs (`priority`), so that models have work for every core from then on.


rule fetch:
    input:
        pin=FUNCTIONS.pin,
    output:
        directory("<data>/raw/{benchmark}"),
    log:
        "<logs>/fetch/{benchmark}.log",
    priority: 1
    conda:
        "../envs/core.yaml"
    params:
        source=lambda wildcards: rule_functions.source(PARAMS, wildcards.benchmark),
        code=FUNCTIONS.code_of_source,
        lock=FUNCTIONS.data_lock,
    script:
        "scripts/fetch.py"


rule questions:
    input:
        raw="<data>/raw/{benchmark}",
        own=FUNCTIONS.own_questions,
    output:
        table="<data>/questions/{benchmark}/questions.parquet",
        images=directory("<data>/questions/{benchmark}/images"),
        licence="<data>/questions/{benchmark}/LICENCE.md",
    log:
        "<logs>/questions/{benchmark}.log",
    priority: 1
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    # Rendered scenes are few.
    threads: lambda wildcards: 1 if PARAMS.data(wildcards.benchmark).source == "scenes" else 2
    params:
        **named(data=lambda wildcards: PARAMS.data(wildcards.benchmark)),
        out=subpath(output.table, parent=True),
        code=FUNCTIONS.code("questions", "questions.py"),
    script:
        "scripts/questions.py"


# Findings in published data do not stop the workflow: the report shows them. The rule fails only if no check was possible.
rule check:
    input:
        raw="<data>/raw/{benchmark}",
    output:
        "<results>/checks/{benchmark}.json",
    log:
        "<logs>/check/{benchmark}.log",
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    params:
        **named(data=lambda wildcards: PARAMS.data(wildcards.benchmark)),
        code=FUNCTIONS.code("check", "check.py"),
    script:
        "scripts/check.py"
