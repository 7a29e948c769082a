# Known Unknowns: pinned data goes in on the left, a report comes out on the right, every arrow is one rule.
#
#   fetch -> questions -> vary -> infer -> score -> measure -> summarise, compare -> track, report
#
# The rules name files; the work is done by the subcommands of the package (python -m known_unknowns --help).
# docs/workflow.md tells the same story in words.

from snakemake.utils import min_version

min_version("9.20")


configfile: "params.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/variants.smk"
include: "rules/inference.smk"
include: "rules/scoring.smk"
include: "rules/metrics.smk"
include: "rules/tracking.smk"
include: "rules/report.smk"
include: "rules/pocket.smk"


localrules:
    all,
    fetch,
    summarise,
    compare,
    track,
    report,


rule all:
    default_target: True
    input:
        "<results>/report/index.html",
        "<results>/tables/metrics.csv",
        "<results>/comparison.parquet",
        CHECKS,
        ["<results>/tracking.json"] if PARAMS.tracking["enabled"] else [],
        # What lies between is asked for too, so that a table that was deleted is made again.
        METRICS,
        per_cell("<results>/scores/{model}/{benchmark}/{variant}/seed{seed}.parquet"),
        per_cell("<results>/replies/{model}/{benchmark}/{variant}/seed{seed}.parquet"),


onstart:
    hold_alone(Path(".snakemake/known-unknowns.lock"))


onsuccess:
    print(closing_words())


onerror:
    print(failed_logs(log), file=sys.stderr)
