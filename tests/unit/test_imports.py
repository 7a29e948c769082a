"""``--help`` imports no heavy library."""

import subprocess
import sys


def loaded(program):
    lines = f"import sys\n{program}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_imports_no_large_package():
    heavy = {"torch", "transformers", "pandas", "pyarrow", "numpy", "scipy", "mlflow", "dvc", "snakemake", "altair"}
    assert not loaded("import known_unknowns.cli") & heavy


def test_the_public_functions_are_listed_and_imported_when_they_are_used():
    printed = loaded("import known_unknowns\nassert {'evaluate', 'parse_reply'} <= {*dir(known_unknowns)}")
    assert not printed & {"pandas", "pyarrow", "numpy"}
    assert "numpy" in loaded("from known_unknowns import evaluate")
