"""``--help`` imports no heavy library, and only parts that need the tools of the workflow import them."""

import subprocess
import sys

import pytest

from tests.paths import SOURCE


def loaded(program):
    lines = f"import sys\n{program}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_imports_no_large_package():
    heavy = {"torch", "transformers", "pandas", "pyarrow", "numpy", "scipy", "mlflow", "dvc", "snakemake", "altair"}
    assert not loaded("import known_unknowns.cli") & heavy


@pytest.mark.parametrize("module", ["snakemake", "mlflow", "dvc"])
def test_only_tracking_and_the_functions_of_rules_name_the_workflows_tools(module):
    """Only Snakemake calls the functions of rules, and only they import it."""
    allowed = {"mlflow": "tracking/", "snakemake": "workflow/rule_functions.py"}
    users = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(
            line.strip().startswith((f"import {module}", f"from {module}")) for line in path.read_text().splitlines()
        )
    ]
    assert all(module in allowed and user.startswith(allowed[module]) for user in users), users
