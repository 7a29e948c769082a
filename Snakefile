# Known Unknowns: from pinned data to a report. Every arrow is one rule.
#
#   fetch -> questions -> vary -> infer -> parse -> measure -> summarise, compare, compare_models -> report -> track
#
# A rule names files and parameters. Its script in rules/scripts calls one function of the package with them.
# docs/workflow.md describes the workflow.

from snakemake.utils import min_version

min_version("9.20")


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/variants.smk"
include: "rules/inference.smk"
include: "rules/released.smk"
include: "rules/scoring.smk"
include: "rules/metrics.smk"
include: "rules/review.smk"
include: "rules/report.smk"
include: "rules/browser.smk"
include: "rules/tracking.smk"
include: "rules/construction.smk"


localrules:
    all,
    fetch,
    fetch_released,
    track,


rule all:
    default_target: not UNFETCHED
    input:
        rules.report.output,
        rules.question_browser.output,
        rules.summarise.output,
        rules.compare.output,
        rules.compare_models.output,
        CHECKS,
        RELEASED_NUMBERS,
        REPLY_TABLES,
        ["<results>/tracking.json"] if PARAMS.tracking.enabled else [],
        # Snakemake makes a missing file again if it is a target, and else only if a file that needs it is made again.
        QUESTIONS,
        IMAGES,
        TARGETS.variant_tables(),
        REPLIES,
        ENGINES,
        JUDGEMENTS,
        ANSWERS,
        METRICS,


# Which variants released files have is known when they are there, so that a first run only fetches them.
rule fetch_released:
    default_target: bool(UNFETCHED)
    input:
        expand("<data>/raw/{benchmark}", benchmark=UNFETCHED),


if workflow.is_main_process:
    check_unrecorded(rules.all.input)


onstart:
    start_run()


# A dry run of the whole edition ends with its plan.
if command_line.is_dry_run() and not UNFETCHED:
    atexit.register(print_plan)


onsuccess:
    if is_whole():
        run_settings.end(CONFIGURED)
    if UNFETCHED:
        print_last(workflow_run.fetched_message(UNFETCHED, AGAIN), sys.stdout)
    elif done := command_line.constructions():
        print_last(construction_rules.closing_message(done), sys.stdout)
    else:
        print_last(
            workflow_run.closing_message(
                CONFIGURED, RESULTS, time.monotonic() - START
            ),
            sys.stdout,
        )


onerror:
    message = workflow_run.failure_message(log)
    # Not after a signal, and not if only a part of the edition was asked for.
    if (
        not workflow_run.STOPPED
        and not workflow.dag_settings.targets
        and not UNFETCHED
    ):
        # Its imports take a second, which no other end of a run needs.
        from known_unknowns.workflow import partial_report

        message += partial_report.write(PARAMS)
    print_last(message, sys.stderr)
