"""Put the published files of a benchmark into a folder, or render them."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import data_entry
    from known_unknowns.data.fetch import fetch

    name, edition = snakemake.wildcards.benchmark, settings["edition"]  # of the data
    source = settings["benchmarks"][name]["data"][edition]
    fetch(name, data_entry(source), Path(snakemake.output[0]), edition=edition)
