"""Apply the filters to the candidates of all generators."""

from known_unknowns.workflow.job import job, run_configuration

with job(snakemake):
    from known_unknowns_construction.scripted_endpoint import if_scripted
    from known_unknowns_construction.steps import Workspace, filter_candidates

    work = Workspace(run_configuration(), snakemake.wildcards.construction)
    with if_scripted(work.entry):
        print(filter_candidates(work))
