"""Ask a model one part of the questions of a benchmark. The job of the rule infer then writes the table."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns import stopping
    from known_unknowns.inference.asking import Asking
    from known_unknowns.inference.shards import Shard
    from known_unknowns.model_runs.model_run import infer_shard

    stopping.install()
    params, wildcards = snakemake.params, snakemake.wildcards
    infer_shard(
        Asking.of_settings(wildcards.model, settings),
        wildcards.model,
        wildcards.benchmark,
        Shard(int(wildcards.shard), int(wildcards.shards)),
        questions=Path(params.questions),
        variants=Path(params.folder),
        records=Path(params.out),
        journal=Path(params.journal),
    )
