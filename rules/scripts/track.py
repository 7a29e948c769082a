"""Log the results as MLflow runs."""

from pathlib import Path

from known_unknowns.workflow.job import configuration, job

with job(snakemake) as settings:
    from known_unknowns.report.section import section
    from known_unknowns.tracking import track

    results = Path(snakemake.params.results)
    params, figures = configuration(settings), {}
    for benchmark in params.benchmarks:
        names = section(benchmark).figure_names
        figures[benchmark] = [results / "report/figures" / f"{name}.svg" for name in names]
    track(
        params,
        [Path(path) for path in snakemake.input.metrics],
        results=results,
        data=Path(snakemake.params.data),
        out=Path(snakemake.output.runs),
        figures=figures,
    )
