"""Compare the models of the edition in pairs."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.comparison.pairs import compare_edition
    from known_unknowns.config import Params
    from known_unknowns.edition_files import EditionFiles

    files = EditionFiles(Path(snakemake.params.data), Path(snakemake.params.results))
    compare_edition(Params.of_settings(settings), files, Path(snakemake.output[0]))
