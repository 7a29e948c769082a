# Construct a benchmark from scene graphs: `make construct`, or a target of its own. No other rule needs its outputs.
#
#   graphs -> attributes -> generate (one job for each generator) -> filter -> release candidate
#
# Folders of images and journals of replies are not outputs, because Snakemake deletes the outputs of a job that it
# restarts. A person reviews construction/<name>/filtered.jsonl; `known-unknowns construct release` then takes the
# decisions.


wildcard_constraints:
    construction=any_of(PARAMS.constructions),
    generator=r"\w+",


rule construct_graphs:
    input:
        FUNCTIONS.of_construction(construction_rules.annotation),
    output:
        "construction/{construction}/graphs.jsonl",
    log:
        "construction/{construction}/logs/graphs.log",
    conda:
        "../envs/construction.yaml"
    params:
        **named(
            construction=FUNCTIONS.of_construction(
                construction_rules.settings, "scenes", "psg"
            ),
        ),
        **uncompared(configuration=run_settings.without_passwords(PARAMS).file),
        code=FUNCTIONS.of_construction(
            construction_rules.code, SCRIPTS / "construct_graphs.py"
        ),
    script:
        "scripts/construct_graphs.py"


rule construct_attributes:
    input:
        "construction/{construction}/graphs.jsonl",
    output:
        graphs="construction/{construction}/described.jsonl",
        counts="construction/{construction}/attributes.json",
    log:
        "construction/{construction}/logs/attributes.log",
    conda:
        "../envs/construction.yaml"
    params:
        **named(
            construction=FUNCTIONS.of_construction(
                construction_rules.settings, "attributes"
            ),
            models=FUNCTIONS.of_construction(
                construction_rules.asked_models, "attributes"
            ),
        ),
        **uncompared(configuration=run_settings.without_passwords(PARAMS).file),
        code=FUNCTIONS.of_construction(
            construction_rules.code, SCRIPTS / "construct_attributes.py"
        ),
    script:
        "scripts/construct_attributes.py"


rule construct_generate:
    input:
        FUNCTIONS.of_construction(construction_rules.graphs),
    output:
        candidates="construction/{construction}/candidates.{generator}.jsonl",
        counts="construction/{construction}/generation.{generator}.json",
    log:
        "construction/{construction}/logs/generate.{generator}.log",
    conda:
        "../envs/construction.yaml"
    params:
        **named(
            construction=FUNCTIONS.of_construction(
                construction_rules.settings, "generators", "seed"
            ),
            models=FUNCTIONS.of_construction(
                construction_rules.asked_models, "generators"
            ),
        ),
        **uncompared(configuration=run_settings.without_passwords(PARAMS).file),
        code=FUNCTIONS.of_construction(
            construction_rules.code, SCRIPTS / "construct_generate.py"
        ),
    script:
        "scripts/construct_generate.py"


rule construct_filter:
    input:
        graphs=FUNCTIONS.of_construction(construction_rules.graphs),
        candidates=lambda wildcards: expand(
            "construction/{{construction}}/candidates.{generator}.jsonl",
            generator=PARAMS.construction(wildcards.construction).generators,
        ),
    output:
        kept="construction/{construction}/filtered.jsonl",
        dropped="construction/{construction}/dropped.jsonl",
        counts="construction/{construction}/filters.json",
    log:
        "construction/{construction}/logs/filter.log",
    conda:
        "../envs/construction.yaml"
    params:
        **named(
            construction=FUNCTIONS.of_construction(
                construction_rules.settings, "filters", "seed"
            ),
            models=FUNCTIONS.of_construction(
                construction_rules.asked_models, "filters"
            ),
        ),
        **uncompared(configuration=run_settings.without_passwords(PARAMS).file),
        code=FUNCTIONS.of_construction(
            construction_rules.code, SCRIPTS / "construct_filter.py"
        ),
    script:
        "scripts/construct_filter.py"


rule construct_release:
    input:
        "construction/{construction}/filters.json",
        "construction/{construction}/filtered.jsonl",
    output:
        directory("construction/{construction}/release_candidate"),
    log:
        "construction/{construction}/logs/release.log",
    conda:
        "../envs/construction.yaml"
    params:
        **named(
            construction=FUNCTIONS.of_construction(
                construction_rules.settings, "seed"
            ),
            confidence_level=PARAMS.statistics.confidence,
        ),
        **uncompared(configuration=run_settings.without_passwords(PARAMS).file),
        code=FUNCTIONS.of_construction(
            construction_rules.code, SCRIPTS / "construct_release.py"
        ),
    script:
        "scripts/construct_release.py"
