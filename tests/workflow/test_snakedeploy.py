"""A workflow deployed by the real snakedeploy from an address of GitHub, which Git redirects to this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.workflow.project import Project

PEERS = Path(sys.prefix) / "peers"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (PEERS / "snakedeploy").is_dir(), reason=f"snakedeploy is not in {PEERS}: `make test` installs it"
    ),
]
ADDRESS = "https://github.com/example/known-unknowns"


@pytest.fixture(scope="module")
def deployed(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    base = tmp_path_factory.mktemp("snakedeploy")
    (base / "gitconfig").write_text(f'[url "file://{untouched.root}"]\n\tinsteadOf = {ADDRESS}\n', encoding="utf-8")
    environment = {"GIT_CONFIG_GLOBAL": str(base / "gitconfig"), "XDG_CACHE_HOME": str(base / "cache")}
    commit = untouched.run("git", "rev-parse", "HEAD").stdout.strip()
    call = f"deploy({ADDRESS!r}, None, None, None, Path('deployed'), commit={commit!r})"
    Project(base, environment | {"PYTHONPATH": str(PEERS)}).run(
        "python", "-c", f"from pathlib import Path; from snakedeploy.deploy import deploy; {call}"
    )
    return Project(base / "deployed", environment | {"PYTHONPATH": str(untouched.root / "src")})


def test_the_first_plan_completes_the_project_and_plans_a_whole_run(deployed):
    assert 'path="workflow/Snakefile"' in (deployed.root / "workflow/Snakefile").read_text(encoding="utf-8")
    assert not (deployed.root / "params.yaml").exists()
    planned = deployed.snakemake("--dry-run")
    assert "infer" in planned and "report" in planned
    assert (deployed.root / "params.yaml").resolve() == deployed.root / "config/config.yaml"
    assert (deployed.root / "params.lock.yaml").is_file() and not (deployed.root / "rules").exists()
    assert (deployed.root / "models/pocket/model.safetensors").stat().st_size > 1e6
    assert deployed.run("python", "-m", "known_unknowns", "check", "params").stdout


def test_jobs_run_and_the_handlers_of_the_workflow_apply(deployed):
    said = deployed.snakemake("data/pocket/raw/humblebench")
    assert any((deployed.root / "data/pocket/raw/humblebench").iterdir())
    assert "Duration" in said and (deployed.root / "results/pocket/params.yaml").is_file()
