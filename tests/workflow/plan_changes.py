"""What Snakemake plans after changes of params.yaml, for many changes in one process.

    python plan_changes.py < CHANGES

CHANGES is a JSON list of objects: the dotted paths of keys, with their new values. The output is a JSON list with the
planned jobs after each change, as [rule, output]; of a configuration that is refused, ["error", what Snakemake said].
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import yaml
from snakemake.cli import main

PARAMS = Path("params.yaml")


def changed(text: str, values: dict[str, Any]) -> str:
    """Return params.yaml with other values of some keys. Missing sections are added."""
    params = yaml.safe_load(text)
    for path, value in values.items():
        *above, last = path.split(".")
        entry = params
        for key in above:
            entry = entry.setdefault(key, {})
        entry[last] = value
    return yaml.safe_dump(params, sort_keys=False)


def planned() -> list[list[str]]:
    """Return the rule and the file of everything that a run would make."""
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        main(["--summary", "--cores", "1"])
    rows = [line.split("\t") for line in printed.getvalue().splitlines()]
    if not rows or rows[0][0] != "output_file":
        return [["error", said.getvalue()[-1500:]]]
    return [[row[2], row[0]] for row in rows[1:] if row[-1] == "update pending"]


def plans() -> list[list[list[str]]]:
    """Return the plan after each change, one at a time."""
    text = PARAMS.read_text(encoding="utf-8")
    found = []
    try:
        for values in json.load(sys.stdin):
            PARAMS.write_text(changed(text, values), encoding="utf-8")
            found.append(planned())
    finally:
        PARAMS.write_text(text, encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.argv = ["snakemake"]
    print(json.dumps(plans()))
