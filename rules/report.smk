# The report. `snakemake --report` also shows the files that are flagged with report().

from known_unknowns.report import section as report_section
from known_unknowns.report import shell as report_shell


rule report:
    input:
        metrics=METRICS,
        comparison="<results>/comparison.parquet",
        pairs="<results>/model_comparison.parquet",
        variants=TARGETS.variant_tables(),
        answers=ANSWERS,
        replies=REPLIES,
        engines=ENGINES,
        checks=CHECKS,
        released=[*RELEASED_NUMBERS, *REPLY_TABLES],
        errors=ERROR_TABLES,
    output:
        page=report(
            "<results>/report/index.html",
            caption="captions/report.rst",
            category="Report",
            labels={"page": "overview"},
        ),
        pages=[
            f"<results>/report/{link.file}"
            for link in report_shell.links(PARAMS)
            if link.file not in (report_shell.INDEX, report_shell.QUESTIONS)
        ],
        figures=[
            report(
                f"<results>/report/figures/{figure}.svg",
                caption=str(report_section.caption(benchmark, figure)),
                category="Figures",
                subcategory=report_section.section(benchmark).title,
                labels={
                    "benchmark": report_section.section(benchmark).title,
                    "figure": figure.removeprefix(f"{benchmark}_").replace("_", " "),
                },
            )
            for benchmark in PARAMS.benchmarks
            for figure in report_section.section(benchmark).figure_names
        ],
        digests="<results>/digests/report.sha256",
    log:
        "<logs>/report.log",
    group:
        "report"
    conda:
        "../envs/report.yaml"
    params:
        **named(configuration=PARAMS.shown(), revisions=REVISIONS),
        code=FUNCTIONS.code("report", "report.py"),
        results=subpath(output.page, ancestor=2),
        data=lambda wildcards: DATA,
        checks=lambda wildcards: f"{RESULTS}/checks",
        # What the captions of Snakemake's own report name.
        edition_name=PARAMS.edition,
        confidence=PARAMS.statistics.confidence,
        rendered=[
            name for name in PARAMS.benchmarks if PARAMS.data(name).source == "scenes"
        ],
    script:
        "scripts/report.py"
