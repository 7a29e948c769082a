"""Import scene graphs with their images and masks, or render scenes."""

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import parse
    from known_unknowns_construction.steps import Workspace, import_graphs

    params = parse(settings["configuration"])
    print(import_graphs(Workspace(params, snakemake.wildcards.construction)), "scene graphs")
