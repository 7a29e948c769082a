"""A run sees its own settings only, whatever is started beside it. Real Snakemake processes run here."""

from __future__ import annotations

import pytest
import yaml

pytestmark = pytest.mark.timeout(300)
OTHER = "snakemake --cores 1 --nolock --rerun-incomplete --configfile other.yaml"
SNAKEFILE = f"""
import os, subprocess
include: "rules/common.smk"

rule all:
    default_target: True
    input: "seen.yaml"

# The job starts a dry run and a second run, both with other settings, edits params.yaml, and only then reads its own.
rule read:
    output: "seen.yaml"
    shell: '''
        {OTHER} --dry-run >dry.txt 2>&1
        if {OTHER} >second.txt 2>&1; then exit 1; fi
        grep -q "another run is active" second.txt
        echo "edition: none" > params.yaml
        cp .snakemake/known-unknowns/params.yaml {{output}}
    '''

onstart:
    # Another process parses the workflow after this one did, and before this one has the lock.
    subprocess.run({OTHER!r} + " --dry-run", shell=True, capture_output=True)
    start_run()
"""


def test_other_processes_do_not_change_the_settings_of_a_run(project):
    (project.root / "other.yaml").write_text("statistics: {confidence: 0.9}")
    (project.root / "Snakefile").write_text(SNAKEFILE)
    text = (project.root / "params.yaml").read_text()
    own = yaml.safe_load(text)
    project.run("snakemake", "--cores", "1", "--workflow-profile", "none", "--nolock", timeout=120)
    (project.root / "params.yaml").write_text(text)
    seen = yaml.safe_load((project.root / "seen.yaml").read_text())
    assert seen["statistics"] == own["statistics"]
    assert not list(project.root.rglob("executed"))
    assert yaml.safe_load((project.root / "results/pocket/run.yaml").read_text()) == seen
    project.run(*OTHER.split(), "--dry-run", "--forceall", timeout=120)
    assert yaml.safe_load((project.root / "results/pocket/run.yaml").read_text()) == seen
