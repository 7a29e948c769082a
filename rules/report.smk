# The page people look at. `snakemake --report` also shows the files that are flagged with report().

FIGURES = {
    "humblebench": ["humblebench_vs_e", "humblebench_vs_gn", "letters"],
    "mmsap": [
        "mmsap_scores",
        "mmsap_subtasks",
        "mmsap_quadrant",
        "mmsap_risk_coverage",
        "mmsap_letters",
    ],
    "actiview": [
        "actiview_pipelines",
        "actiview_needed",
        "actiview_cost_pictures",
        "actiview_cost_tokens",
        "actiview_letters",
    ],
}


def caption(benchmark, figure):
    own = PACKAGE / "benchmarks" / benchmark / "captions" / f"{figure}.rst"
    return str(own) if own.is_file() else f"captions/{figure}.rst"


rule report:
    input:
        metrics=METRICS,
        comparison="<results>/comparison.parquet",
        questions=per_cell("<data>/questions/{benchmark}/{variant}/seed{seed}.parquet"),
        scores=per_cell(
            "<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        replies=per_cell(
            "<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet"
        ),
        engines=per_pair("<results>/replies/{model}/{benchmark}/engine.json"),
        checks=CHECKS,
    output:
        page=report(
            "<results>/report/index.html",
            caption="captions/report.rst",
            category="Report",
        ),
        figures=[
            report(
                f"<results>/report/figures/{figure}.svg",
                caption=caption(benchmark, figure),
                category="Figures",
            )
            for benchmark in PARAMS.benchmarks
            for figure in FIGURES[benchmark]
        ],
    log:
        "<logs>/report.log",
    conda:
        "../envs/report.yaml"
    params:
        shown=shown(),
        code=code(
            "report",
            "comparison",
            "data/licences.py",
            "benchmarks/_terms.py",
            "benchmarks/_citation.py",
            "data/provenance.py",
            "metrics",
            "scoring",
            "data/check.py",
            "protocols.py",
            "images.py",
            "benchmarks",
        ),
        results=subpath(output.page, ancestor=2),
        data=folder_of("questions", 4),
        checks=folder_of("checks", 1),
        settings=RESOLVED,
    shell:
        "python -m known_unknowns report {input.metrics} --results {params.results} --data {params.data}"
        " --comparison {input.comparison} --checks {params.checks} --out {output.page} --params {params.settings}"
        " > {log} 2>&1"
