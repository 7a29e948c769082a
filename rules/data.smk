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
    retries: 0
    conda:
        "../envs/core.yaml"
    params:
        read=FUNCTIONS.read("fetch"),
        code=FUNCTIONS.code_of_source,
        lock=FUNCTIONS.data_lock,
    shell:
        "python -m known_unknowns fetch {wildcards.benchmark} --out {output} > {log} 2>&1"


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
    retries: 0
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    # Rendered scenes are few.
    threads: lambda wildcards: 1 if PARAMS.data(wildcards.benchmark).source == "scenes" else 2
    params:
        read=FUNCTIONS.read("questions"),
        out=subpath(output.table, parent=True),
        code=FUNCTIONS.code("questions"),
    shell:
        "python -m known_unknowns step questions {wildcards.benchmark} --raw {input.raw} --out {params.out}"
        " --workers {threads} > {log} 2>&1"


# Findings in published data do not stop the workflow: the report shows them. The rule fails only if no check was possible.
rule check:
    input:
        raw="<data>/raw/{benchmark}",
    output:
        "<results>/checks/{benchmark}.json",
    log:
        "<logs>/check/{benchmark}.log",
    retries: 0
    group:
        "prepare"
    conda:
        "../envs/core.yaml"
    params:
        read=FUNCTIONS.read("check"),
        code=FUNCTIONS.code("check"),
    shell:
        "python -m known_unknowns check {wildcards.benchmark} --raw {input.raw} --json"
        " > {output} 2> {log} || [ -s {output} ]"
