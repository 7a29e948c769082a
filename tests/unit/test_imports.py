"""A machine with torch and transformers alone can run an engine, and --help does not load them."""

import subprocess
import sys

import pytest

from tests.paths import SOURCE


def loaded(program):
    lines = f"import sys\n{program}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_loads_nothing_heavy():
    heavy = {"torch", "transformers", "pandas", "pyarrow", "numpy", "scipy", "mlflow", "dvc", "snakemake", "altair"}
    assert not loaded("import known_unknowns.cli") & heavy


def test_the_engines_load_without_the_workflow():
    program = "import known_unknowns.inference.runner, known_unknowns.inference, known_unknowns.engines.respondents"
    assert not loaded(program) & {"snakemake", "mlflow", "dvc", "altair", "torch"}


@pytest.mark.parametrize("module", ["snakemake", "mlflow", "dvc"])
def test_only_tracking_may_name_the_workflows_tools(module):
    users = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(
            line.strip().startswith((f"import {module}", f"from {module}")) for line in path.read_text().splitlines()
        )
    ]
    assert all(module == "mlflow" and user.startswith("tracking/") for user in users), users
