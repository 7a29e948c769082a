"""A git repository in the layout of ActiView's: the questions, then released replies and their action history.

The questions and the replies to shifting are the published ones if they are beside the project, else generated ones.
The replies to mixed and their history are generated, in the released layout: four forms of a history in turn.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.paths import SHARED

PUBLISHED = SHARED / "data/actiview"
ASSETS = ("data.json", "groundtruth_views.json", "shifting_level.json")
MODEL = "qwen2vl"
# What the model said, the views that the toolkit parsed, and the views of the answer: 3, 4, 1 and none.
FORMS: list[list[tuple[str, str, list[int] | None]]] = [
    [("init", '{"part": "1,2", "reason": "x"}', [1, 2]), ("inter", '{"keep": "1", "shift": "2,3,4"}', [1, 3, 4])],
    [("init", '{"part": "1,2,3,4"}', [1, 2, 3, 4]), ("inter", '```json\n{"keep": "3", "shift": "4"}\n```', None)],
    [("init", '{"part": "4"}', [4]), ("inter", '{"keep": "2", "shift": "3"}', [3])],
    [("init", '{"part": "none"}', None)],
]
VIEWS = (3, 4, 1, 0)


def generated_questions(count: int) -> dict[str, Any]:
    """Invented questions in the format of data.json."""
    names = ["{}", "{}_resized", "{}_resized_lines", *(f"{{}}_{view}" for view in ("0_0", "1_0", "0_1", "1_1"))]
    question = {
        "options": ["No", "Yes"],
        "category": "counting",
        "distraction": 0,
        "contains_bbox": ["no", "no", 1, "no"],
    }
    rows = [
        question
        | {"question": f"Is it number {number}?", "answer": number % 2, "id": f"q{number}"}
        | {"images": [f"./images/{name.format(number)}.jpg" for name in names]}
        for number in range(count)
    ]
    return {"data": rows}


def answers(rows: list[dict[str, Any]], *, wrong: int) -> list[str]:
    """A letter and its option for each question; every ``wrong``-th answer is wrong."""
    letters = [(row["answer"] + (place % wrong == 0)) % len(row["options"]) for place, row in enumerate(rows)]
    return [f"{'ABCDEFGH'[letter]}. {row['options'][letter]}" for letter, row in zip(letters, rows, strict=True)]


def history(said: list[str]) -> list[list[dict[str, Any]]]:
    """The history of the replies of mixed. The last one's answer is not that of the replies."""
    found = []
    for place, answer in enumerate(said):
        steps = [{kind: text, "rst": views} for kind, text, views in FORMS[place % len(FORMS)]]
        steps[-1]["answer"] = answer
        found.append(steps)
    found[-1][-1]["answer"] = "another answer"
    return found


def write_actiview(folder: Path, *, count: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Write the repository; return its two commits and the rows of data.json."""
    (folder / "asset").mkdir(parents=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for key in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
        _git(folder, "config", key, "true")
    if PUBLISHED.is_dir():
        content = {name: json.loads((PUBLISHED / name).read_text(encoding="utf-8")) for name in ASSETS}
    else:
        starts = {level: [0] * count for level in ("easy", "medium", "hard")}
        content = dict(zip(ASSETS, (generated_questions(count), [[3]] * count, starts), strict=True))
    rows: list[dict[str, Any]] = content["data.json"]["data"]
    commits = [_commit(folder, {f"asset/{name}": values for name, values in content.items()})]
    said = answers(rows, wrong=len(rows))  # one wrong answer
    released = {
        "mix": {"preds": said, "acc": (len(rows) - 1) / len(rows)},
        "action_history_mix": history(said),
        "shifting": json.loads((PUBLISHED / f"results/{MODEL}_shifting.json").read_text(encoding="utf-8"))
        if PUBLISHED.is_dir()
        else {"preds": answers(rows, wrong=1), "acc": 0.0},
    }
    commits.append(_commit(folder, {f"results/{MODEL}/{name}.json": values for name, values in released.items()}))
    return commits, rows


def _commit(folder: Path, content: dict[str, Any]) -> str:
    for name, values in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(values, indent=4), encoding="utf-8")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "part")
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Generator", "-c", "user.email=generator@example.org", "-c", "core.autocrlf=false"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
