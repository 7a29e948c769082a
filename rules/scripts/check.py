"""Compare the published files of a benchmark with the statements of its papers. Findings are a result, not an error."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import data_entry
    from known_unknowns.data.check import as_json, check
    from known_unknowns.files import write_text

    data = data_entry(settings["data"])
    found = check(snakemake.wildcards.benchmark, Path(snakemake.input.raw), settings=data)
    write_text(Path(snakemake.output[0]), as_json(found) + "\n")
