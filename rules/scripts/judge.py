"""Ask the judge which options the replies of all models give."""

from pathlib import Path

from known_unknowns.workflow.job import asking_configuration, job

with job(snakemake) as settings:
    from known_unknowns import stopping
    from known_unknowns.model_runs.judging import judge

    stopping.install()
    judge(
        asking_configuration(settings),
        variants=Path(snakemake.params.folder),
        replies=Path(snakemake.params.replies),
        out=Path(snakemake.output[0]),
        journal=Path(snakemake.params.journal),
    )
