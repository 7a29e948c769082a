# Shares of the kinds of wrong answers that reviewers tagged (docs/construction.md#review). Tags are files of people, not of the run: a
# model has a table if its file is there.

ERROR_TABLES = rule_functions.error_tables(PARAMS)


rule error_table:
    input:
        tags=f"reviews/{PARAMS.edition}/errors/{{model}}/{{benchmark}}/{{variant}}-seed{{seed}}.jsonl",
        questions="<results>/variants/{benchmark}/{variant}.parquet",
        answers="<results>/answers/{model}/{benchmark}/answers.parquet",
        replies="<results>/replies/{model}/{benchmark}/replies.parquet",
    output:
        "<results>/errors/{model}/{benchmark}/{variant}-seed{seed}.csv",
    log:
        "<logs>/error_table/{model}/{benchmark}/{variant}-seed{seed}.log",
    wildcard_constraints:
        seed=r"\d+",
    group:
        "report"
    conda:
        "../envs/core.yaml"
    params:
        code=code_of(
            "infer",
            (),
            "known_unknowns_construction",
            script=SCRIPTS / "error_table.py",
        ),
        images=f"{DATA}/questions/{{benchmark}}",
    script:
        "scripts/error_table.py"
