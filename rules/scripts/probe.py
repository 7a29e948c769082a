"""Check that a model is there and can answer."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns import json_files
    from known_unknowns.config import typed_model
    from known_unknowns.model_runs.probe import probe

    model = snakemake.wildcards.model
    entry = typed_model(model, settings["entry"])
    json_files.write(Path(snakemake.output[0]), probe(model, entry, Path(snakemake.params.journals)))
