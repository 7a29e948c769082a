"""Write the leaderboard, and a short record of each model."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import Params
    from known_unknowns.metrics.summary import summarise
    from known_unknowns.workflow.end_products import write_digests

    output = snakemake.output
    summarise(
        Params.of_settings(settings),
        [Path(path) for path in snakemake.input],
        out=Path(output.records),
        plot=Path(output.plot),
        leaderboard_table=Path(output.leaderboard),
        models=Path(output.records).with_name("models"),
    )
    tables = [output.records, output.plot, output.leaderboard, *output.models]
    write_digests(Path(output.digests), [Path(path) for path in tables])
