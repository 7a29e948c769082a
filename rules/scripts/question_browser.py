"""Write the page on which every question and reply can be searched and filtered."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import Params
    from known_unknowns.report.browser import build
    from known_unknowns.workflow import end_products

    page = Path(snakemake.output.page)
    build(
        Params.of_settings(settings),
        results=Path(snakemake.params.results),
        data=Path(snakemake.params.data),
        out=page,
    )
    end_products.write_digests(Path(snakemake.output.digests), end_products.browser_files(page.parent))
