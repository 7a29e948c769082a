"""Ask a model one part of the questions of a benchmark. The job of the rule infer then writes the table."""

from pathlib import Path

from known_unknowns.workflow.job import asking_configuration, job

with job(snakemake) as settings:
    from known_unknowns.engines import stopping
    from known_unknowns.inference.model_run import infer_shard
    from known_unknowns.inference.shards import Shard

    stopping.install()
    params, wildcards = snakemake.params, snakemake.wildcards
    infer_shard(
        asking_configuration(settings),
        wildcards.model,
        wildcards.benchmark,
        Shard(int(wildcards.shard), int(wildcards.shards)),
        questions=Path(params.questions),
        variants=Path(params.folder),
        records=Path(params.out),
        journal=Path(params.journal),
    )
