"""Generate candidates with one generator."""

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import parse
    from known_unknowns_construction.scripted_endpoint import if_scripted
    from known_unknowns_construction.steps import Workspace, generate

    work = Workspace(parse(settings["configuration"]), snakemake.wildcards.construction)
    with if_scripted(work.entry):
        print(generate(work, snakemake.wildcards.generator))
