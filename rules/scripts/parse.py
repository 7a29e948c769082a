"""Parse every reply of a model to a benchmark with every parser, and write the answers."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.records import Cell
    from known_unknowns.scoring.table import parse

    judgements = snakemake.input.judgements  # none without the parser judge
    parse(
        Path(snakemake.params.folder),
        Path(snakemake.input.replies),
        Path(snakemake.output[0]),
        cells=[Cell(*cell) for cell in settings["cells"]],
        parsers=settings["parsers"],
        judgements=Path(judgements[0]) if judgements else None,
        kept=settings["kept"],
    )
