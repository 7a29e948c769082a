"""Ask the judge which options the replies of all models give."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns import stopping
    from known_unknowns.config import typed_model
    from known_unknowns.config.sections import Judge
    from known_unknowns.model_runs.judging import judge
    from known_unknowns.records import Cell

    stopping.install()
    judge_settings = Judge(**settings["judge"])
    cells = {}
    for model, of_model in settings["cells"].items():
        cells[model] = {}
        for benchmark, of_pair in of_model.items():
            cells[model][benchmark] = [Cell(*cell) for cell in of_pair]
    judge(
        judge_settings,
        typed_model(judge_settings.model, settings["pace"] | settings["model"]),
        cells,
        own_models=settings["own_models"],
        variants=Path(snakemake.params.folder),
        replies=Path(snakemake.params.replies),
        out=Path(snakemake.output[0]),
        journal=Path(snakemake.params.journal),
    )
