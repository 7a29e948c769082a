"""Train the pocket model on one thread, as the weights in models/ were trained."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake):
    from known_unknowns_pocket.cli import train

    train(out=Path(snakemake.params.model), work=Path(snakemake.params.work))
