# The question browser: a page with the data of every question and reply beside it.


rule question_browser:
    input:
        variants=TARGETS.variant_tables(),
        scores=SCORES,
        replies=REPLIES,
        confidences=CONFIDENCES,
        engines=ENGINES,
    output:
        page="<results>/report/questions.html",
        shards=directory("<results>/report/questions"),
        digests="<results>/digests/question_browser.sha256",
    log:
        "<logs>/question_browser.log",
    retries: 0
    group:
        "report"
    conda:
        "../envs/report.yaml"
    params:
        read=selection.compared(PARAMS, "question_browser"),
        code=code_of("report", PARAMS.benchmarks),
        results=subpath(output.page, ancestor=2),
        data=lambda wildcards: DATA,
    shell:
        "python -m known_unknowns step question-browser --results {params.results} --data {params.data}"
        " --out {output.page} --digests {output.digests} > {log} 2>&1"
