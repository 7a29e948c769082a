"""Compare every published number with that of this run, and print a summary."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.comparison import compare, read_comparison, summarise
    from known_unknowns.config import Params
    from known_unknowns.workflow.end_products import write_digests

    params, table = Params.of_settings(settings), Path(snakemake.output.table)
    compare(
        params,
        [Path(path) for path in snakemake.input.metrics],
        table,
        replies=Path(snakemake.params.replies),
        released=[Path(path) for path in snakemake.input.released],
    )
    write_digests(Path(snakemake.output.digests), [table])
    print(summarise(read_comparison(table), params).text())
