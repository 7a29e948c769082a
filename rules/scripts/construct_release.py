"""Write the questions in the benchmark's format as a candidate that nobody has reviewed."""

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import parse
    from known_unknowns_construction.release import release
    from known_unknowns_construction.steps import Workspace

    params = parse(settings["configuration"])
    release(Workspace(params, snakemake.wildcards.construction), ())
