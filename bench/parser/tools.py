"""The extraction rules of other evaluation tools, run from the tools' own code.

None of their code is part of the project. Whoever measures names the folders that hold it: a clone of a repository, of
which the files are read at a fixed commit, or a folder of installed packages. Only the functions that extract an answer
are executed, so a tool's other dependencies need not be installed.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import io
import logging
import os
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

Row = Mapping[str, Any]

VLMEVALKIT = (
    "2cf2a36c6e79b51faf676a7011b3a0f5b579814d",
    "c3371551bb84a36b8012d277231059c901ffa2f7",
    "aca64dbb3113ebf09683e379c65fb8b5107cba3f",
)
"""Commits of github.com/open-compass/VLMEvalKit at which the function `can_infer` changed, newest first."""

MMLU_PRO = "f418b116db00b065c2aea046518d8fcf74d39872"
"""Commit of github.com/TIGER-AI-Lab/MMLU-Pro."""

LM_EVAL_TASK = "lm_eval/tasks/mmlu/flan_cot_zeroshot/_mmlu_flan_cot_zeroshot_template_yaml"
LMMS_EVAL_RULE = "lmms_eval/tasks/_task_utils/mmmu_mcq_utils.py"


class Parsed(NamedTuple):
    """The offered label that a tool counts for a reply, and whether the tool drew it at random."""

    label: str | None
    drawn: bool = False


Parser = Callable[[Sequence[Row]], list[Parsed]]


class Draws(random.Random):
    """Random numbers that count the options drawn."""

    count = 0

    def choice(self, seq: Any) -> Any:
        """Draw as `random.choice` does."""
        self.count += 1
        return super().choice(seq)


def at_commit(folder: Path, commit: str, file: str) -> str:
    """Return the text of a file of a clone at a commit, whatever is checked out."""
    command = ["git", "-C", str(folder), "show", f"{commit}:{file}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    if shown.returncode:
        sys.exit(f"{folder} has no {file} at commit {commit}: {shown.stderr.strip()}")
    return shown.stdout


def definitions(source: str, names: Sequence[str], provided: Mapping[str, Any]) -> dict[str, Any]:
    """Execute the named functions and constants of a source text, and nothing else of it.

    ``provided`` has what the source imports.
    """
    wanted: list[ast.stmt] = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef) and statement.name in names:
            wanted.append(statement)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in names:
            wanted.append(statement)
    namespace = dict(provided)
    exec(compile(ast.Module(wanted, []), "<tool>", "exec"), namespace)  # noqa: S102 - the measured code
    return namespace


def offered(label: object, row: Row) -> str | None:
    """Return a label if the question offers it."""
    return str(label) if label in row["options"] else None


def vlmevalkit(folder: Path, commit: str) -> Parser:
    """VLMEvalKit's exact matching: what `can_infer` returns. False and "Z" are no option, as in the tool."""
    source = at_commit(folder, commit, "vlmeval/utils/matching_util.py")
    names = ("_VERBOSE_ANSWER_RE", "can_infer_option", "can_infer_text", "can_infer")
    provided = {"re": re, "os": os, "string": string, "cp": copy, "logger": logging.getLogger("vlmeval")}
    can_infer = definitions(source, names, provided)["can_infer"]

    def parse(rows: Sequence[Row]) -> list[Parsed]:
        # can_infer changes the texts of the options in place.
        return [Parsed(offered(can_infer(row["reply"], dict(row["options"])), row)) for row in rows]

    return parse


def mmlu_pro(folder: Path) -> Parser:
    """MMLU-Pro's three stages. Without a letter the tool draws one of the options, with this seed."""
    source = at_commit(folder, MMLU_PRO, "evaluate_from_api.py")
    extract_answer = definitions(source, ("extract_answer", "extract_again", "extract_final"), {"re": re})[
        "extract_answer"
    ]

    def parse(rows: Sequence[Row]) -> list[Parsed]:
        draws = random.Random(12345)
        parsed = []
        for row in rows:
            # The function prints each reply that its first stage does not read.
            with contextlib.redirect_stdout(io.StringIO()):
                letter = extract_answer(row["reply"])
            if letter:
                parsed.append(Parsed(offered(letter, row)))
            else:
                labels = list(row["options"])
                parsed.append(Parsed(labels[draws.randint(0, len(labels) - 1)], drawn=True))
        return parsed

    return parse


def lmms_eval(packages: Path) -> Parser:
    """lmms-eval's rule for MMMU. Without an option it draws one; 0 is the default seed of its runs."""
    source = (packages / LMMS_EVAL_RULE).read_text(encoding="utf-8")

    def parse(rows: Sequence[Row]) -> list[Parsed]:
        draws = Draws(0)
        name = "parse_mmmu_multi_choice_response"
        rule = definitions(source, (name,), {"random": draws, "np": np})[name]
        parsed = []
        for row in rows:
            before = draws.count
            label = rule(row["reply"], list(row["options"]), dict(row["options"]))
            parsed.append(Parsed(offered(label, row), drawn=draws.count > before))
        return parsed

    return parse


def lm_eval(packages: Path) -> Parser:
    """lm-evaluation-harness's flexible extraction, with the settings of its task MMLU (flan_cot_zeroshot)."""
    task = yaml.safe_load((packages / LM_EVAL_TASK).read_text(encoding="utf-8"))
    flexible = next(entry for entry in task["filter_list"] if entry["name"] == "flexible-extract")
    settings = dict(flexible["filter"][0])
    if settings.pop("function") != "multi_choice_regex":
        sys.exit(f"{packages / LM_EVAL_TASK}: flexible-extract starts with another filter than multi_choice_regex")
    sys.path.insert(0, str(packages))
    extraction = importlib.import_module("lm_eval.filters.extraction")

    def parse(rows: Sequence[Row]) -> list[Parsed]:
        rule = extraction.MultiChoiceRegexFilter(**settings)
        documents = [{"choices": list(row["options"].values())} for row in rows]
        extracted = rule.apply([[row["reply"]] for row in rows], documents)
        # A letter is in brackets. "[invalid]" is no option, as in the tool.
        return [Parsed(offered(found[0].strip("()"), row)) for found, row in zip(extracted, rows, strict=True)]

    return parse


def tools(
    packages: Path | None, vlmevalkit_clone: Path | None, mmlu_pro_clone: Path | None
) -> Iterator[tuple[str, Parser]]:
    """Yield the name, with the version or commit, and the parser of each tool whose folder is given."""
    if mmlu_pro_clone:
        yield f"MMLU-Pro {MMLU_PRO[:12]}", mmlu_pro(mmlu_pro_clone)
    if packages:
        installed = {d.name.replace("_", "-"): d.version for d in distributions(path=[str(packages)])}
        for name, rule in (("lm-eval", lm_eval), ("lmms-eval", lmms_eval)):
            if name in installed:
                yield f"{name} {installed[name]}", rule(packages)
    if vlmevalkit_clone:
        for commit in VLMEVALKIT:
            yield f"VLMEvalKit {commit[:12]}", vlmevalkit(vlmevalkit_clone, commit)
