"""Import scene graphs with their images and masks, or render scenes."""

from known_unknowns.workflow.job import job, run_configuration

with job(snakemake):
    from known_unknowns_construction.steps import Workspace, import_graphs

    print(import_graphs(Workspace(run_configuration(), snakemake.wildcards.construction)), "scene graphs")
