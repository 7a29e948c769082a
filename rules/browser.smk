# The question browser: a page with the data of every question and reply beside it.


rule question_browser:
    input:
        questions=TARGETS.per_cell(
            "<data>/questions/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        scores=TARGETS.per_cell(
            "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        engines=TARGETS.per_pair("<results>/replies/{model}/{benchmark}/engine.json"),
    output:
        page="<results>/report/questions.html",
        shards=directory("<results>/report/questions"),
    log:
        "<logs>/question_browser.log",
    group:
        "report"
    conda:
        "../envs/report.yaml"
    params:
        shown=rule_parameters.reported(PARAMS),
        code=code_of("report", PARAMS.benchmarks),
        results=subpath(output.page, ancestor=2),
        data=folder_of("questions", 4),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns question-browser --results {params.results} --data {params.data}"
        " --out {output.page} --params {params.settings} > {log} 2>&1"
