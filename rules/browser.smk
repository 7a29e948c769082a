# The question browser: a page with the data of every question and reply beside it.


rule question_browser:
    input:
        variants=TARGETS.variant_tables(),
        answers=ANSWERS,
        replies=REPLIES,
        engines=ENGINES,
    output:
        page="<results>/report/questions.html",
        shards=directory("<results>/report/questions"),
        digests="<results>/digests/question_browser.sha256",
    log:
        "<logs>/question_browser.log",
    priority: -1  # it takes the core that the report and MLflow's runs leave
    group:
        "report"
    conda:
        "../envs/report.yaml"
    params:
        **named(configuration=PARAMS.shown(), revisions=REVISIONS),
        code=FUNCTIONS.code("report", "question_browser.py"),
        results=subpath(output.page, ancestor=2),
        data=lambda wildcards: DATA,
    script:
        "scripts/question_browser.py"
