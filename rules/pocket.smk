# The pocket model, from nothing: `snakemake train_pocket`. No other rule asks for it: the weights are shipped.


rule train_pocket:
    output:
        expand(
            "results/training/model/{file}",
            file=["model.safetensors", "config.json", "tokenizer.json"],
        ),
    log:
        "results/training/train.log",
    conda:
        "../envs/models.yaml"
    threads: 1
    params:
        code=code("../known_unknowns_pocket", "benchmarks/*/prompts.py"),
        model=subpath(output[0], parent=True),
        work=subpath(output[0], ancestor=2),
    shell:
        # The checkpoint in the work folder is no output: a training that was stopped goes on.
        "python -m known_unknowns train --threads {threads} --work {params.work} --out {params.model} > {log} 2>&1"
