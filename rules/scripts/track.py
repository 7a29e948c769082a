"""Log the results as MLflow runs."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import Params
    from known_unknowns.tracking import track

    track(
        Params.of_settings(settings),
        [Path(path) for path in snakemake.input.metrics],
        results=Path(snakemake.params.results),
        data=Path(snakemake.params.data),
        out=Path(snakemake.output.runs),
        figures=[Path(path) for path in snakemake.input.figures],
    )
