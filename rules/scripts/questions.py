"""Convert the published files of a benchmark to a table of questions and a folder of images."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import data_entry
    from known_unknowns.data.questions import normalise

    normalise(
        snakemake.wildcards.benchmark,
        Path(snakemake.input.raw),
        Path(snakemake.params.out),
        settings=data_entry(settings["data"]),
        workers=snakemake.threads,
    )
