"""Print the sizes of the packages, the tests and the documentation, and fail if one is above its budget.

The budgets are in scripts/budgets.yaml: the files, and how many lines they may have together. A commit that raises a
budget says why.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def lines_of(pattern: str, without: str = "") -> int:
    """Return the number of lines of the files that match a pattern, without those that match another."""
    files = {*ROOT.glob(pattern)} - ({*ROOT.glob(without)} if without else set())
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def main() -> None:
    """Print a line for each budget. The exit code is 1 if any is exceeded."""
    exceeded = False
    for name, budget in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items():
        lines = lines_of(budget["files"], budget.get("without", ""))
        exceeded |= (over := lines > budget["lines"])
        print(f"{name:<28} {lines:>7,} of {budget['lines']:>7,} lines{'  too many' if over else ''}")
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
