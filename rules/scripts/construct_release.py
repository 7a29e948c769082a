"""Write the questions in the benchmark's format as a candidate that nobody has reviewed."""

from known_unknowns.workflow.job import job, run_configuration

with job(snakemake):
    from known_unknowns_construction.release import release
    from known_unknowns_construction.steps import Workspace

    release(Workspace(run_configuration(), snakemake.wildcards.construction), ())
