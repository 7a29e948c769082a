"""An engine runs where only torch and transformers are installed, and ``--help`` imports no heavy library."""

import subprocess
import sys

from tests.paths import SOURCE


def loaded(program):
    lines = f"import sys\n{program}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_imports_no_large_package():
    heavy = {"torch", "transformers", "pandas", "pyarrow", "numpy", "scipy", "mlflow", "dvc", "snakemake", "altair"}
    assert not loaded("import known_unknowns.cli") & heavy


IMPORT_ALL = """
import importlib, pkgutil, sys
import known_unknowns

sys.modules.update(dict.fromkeys({absent}))  # None makes an import fail as if the package were not installed
for module in pkgutil.walk_packages(known_unknowns.__path__, "known_unknowns."):
    if not module.name.startswith({skipped}) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_base_modules_and_all_engines_import_without_the_workflow():
    """Only tracking needs MLflow, and only the report needs altair."""
    absent = ("snakemake", "mlflow", "dvc", "altair", "vl_convert")
    skipped = ("known_unknowns.tracking", "known_unknowns.report", "known_unknowns.benchmarks.")
    names = loaded(IMPORT_ALL.format(absent=absent, skipped=skipped) + "print(*sys.modules)\n")
    base = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    engines = {path.stem for path in (SOURCE / "engines").glob("*.py")} - {"__init__"}
    assert {f"known_unknowns.{name}" for name in base} | {f"known_unknowns.engines.{name}" for name in engines} <= names
