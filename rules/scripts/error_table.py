"""Write the shares of the kinds of wrong answers that reviewers tagged."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake):
    from known_unknowns.records import Cell
    from known_unknowns.tables import Part
    from known_unknowns_construction.review.error_analysis import write_error_table

    wildcards = snakemake.wildcards
    cell, files = Cell(wildcards.variant, int(wildcards.seed)), snakemake.input
    write_error_table(
        f"wrong answers of {wildcards.model} to {wildcards.benchmark}, {wildcards.variant}",
        Part(Path(files.questions), cell.seed),
        Part(Path(files.answers), cell),
        Part(Path(files.replies), cell),
        images=Path(snakemake.params.images),
        tags=Path(files.tags),
        out=Path(snakemake.output[0]),
    )
