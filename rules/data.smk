# From a source to a table of questions.


rule fetch:
    input:
        pin=pin,
    output:
        directory("<data>/raw/{benchmark}"),
    log:
        "<logs>/fetch/{benchmark}.log",
    conda:
        "../envs/core.yaml"
    params:
        entry=lambda wildcards: PARAMS.data(wildcards.benchmark).as_dict(),
        code=code_of_source,
        lock=held_to,
        settings=RESOLVED,
    shell:
        "python -m known_unknowns fetch {wildcards.benchmark} --out {output} --params {params.settings} > {log} 2>&1"


rule questions:
    input:
        raw="<data>/raw/{benchmark}",
    output:
        table="<data>/questions/{benchmark}/questions.parquet",
        images=directory("<data>/questions/{benchmark}/images"),
    log:
        "<logs>/questions/{benchmark}.log",
    conda:
        "../envs/core.yaml"
    threads: 4
    params:
        entry=lambda wildcards: PARAMS.data(wildcards.benchmark).as_dict(),
        out=subpath(output.table, parent=True),
        code=lambda wildcards: code(
            "data/questions.py",
            "images.py",
            "data/licences.py",
            "benchmarks/_terms.py",
            "benchmarks/_citation.py",
            "benchmarks/_images.py",
            f"benchmarks/{wildcards.benchmark}",
        ),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns questions {wildcards.benchmark} --raw {input.raw} --out {params.out}"
        " --workers {threads} --params {params.settings} > {log} 2>&1"


# What is wrong with published data stops nothing: the report shows it. Only where nothing could be checked does it fail.
rule check:
    input:
        raw="<data>/raw/{benchmark}",
    output:
        "<results>/checks/{benchmark}.json",
    log:
        "<logs>/check/{benchmark}.log",
    conda:
        "../envs/core.yaml"
    params:
        entry=lambda wildcards: PARAMS.data(wildcards.benchmark).as_dict(),
        code=lambda wildcards: code(
            "data/check.py",
            "benchmarks/_checks.py",
            f"benchmarks/{wildcards.benchmark}",
        ),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns check {wildcards.benchmark} --raw {input.raw} --json --params {params.settings}"
        " > {output} 2> {log} || [ -s {output} ]"
