"""Parse every reply of a model to a benchmark with every parser, and write the answers."""

from pathlib import Path

from known_unknowns.workflow.job import configuration, job

with job(snakemake) as settings:
    from known_unknowns.scoring.table import parse

    params = configuration(settings)
    model, benchmark = snakemake.wildcards.model, snakemake.wildcards.benchmark
    judgements = snakemake.input.judgements  # none without the parser judge
    parse(
        Path(snakemake.params.folder),
        Path(snakemake.input.replies),
        Path(snakemake.output[0]),
        cells=params.cells(benchmark, model),
        parsers=params.parsers,
        judgements=Path(judgements[0]) if judgements else None,
        kept=getattr(params.model(model), "kept", None),
    )
