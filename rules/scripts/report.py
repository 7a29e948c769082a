"""Write the report as HTML pages that open offline."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import Params
    from known_unknowns.report.page import build
    from known_unknowns.workflow import end_products

    page = Path(snakemake.output.page)
    build(
        Params.of_settings(settings),
        [Path(path) for path in snakemake.input.metrics],
        results=Path(snakemake.params.results),
        data=Path(snakemake.params.data),
        comparison=Path(snakemake.input.comparison),
        out=page,
        checks=Path(snakemake.params.checks),
        pairs=Path(snakemake.input.pairs),
    )
    end_products.write_digests(Path(snakemake.output.digests), end_products.pages(page.parent))
