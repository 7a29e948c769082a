# Train the pocket model: `snakemake train_pocket`. No other rule needs its output; the weights are in models/.


rule train_pocket:
    output:
        expand(
            "results/training/model/{file}",
            file=["model.safetensors", "config.json", "tokenizer.json"],
        ),
    log:
        "results/training/train.log",
    retries: 0
    conda:
        "../envs/models.yaml"
    threads: 1
    params:
        code=code_of(
            "infer",
            (),
            "known_unknowns_benchmarks",
            "known_unknowns_construction",
            "known_unknowns_pocket",
            script=SCRIPTS / "train_pocket.py",
        ),
        model=subpath(output[0], parent=True),
        work=subpath(output[0], ancestor=2),
    # The checkpoint is not an output, so that a stopped training continues from it.
    script:
        "scripts/train_pocket.py"
