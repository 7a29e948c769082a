"""Generated files in the layout of HumbleBench's released predictions, in a git repository of three commits.

The questions, models and predictions are invented. The forms of the predictions are those of the released files: a
letter, a letter with its option, special tokens around a letter, and a chain of thought that is cut off.

    commits = write_repository(folder, models=["Cambrian"], questions_=questions(40))
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns_benchmarks.humblebench.protocols import CAUTIOUS, FORCED_GROUNDING

NOISE = "noise_image__forced_grounding_prompt"
SETTINGS = ("common", "noise_image", "nota_only", "shuffle_nota_position", "cautious_prompt", NOISE)
_NOISE_PATH = ".cache/noise_image.png"
_THINGS = ("lamp", "chair", "dog", "kite", "bus", "tree", "door", "cup", "boat", "clock")
_WORDS = {
    "Attribute": ["Red", "Blue", "Black", "Gold", "White", "Green", "Grey", "Brown"],
    "Object": ["One", "Two", "Three", "Four", "Five", "Six", "None", "Seven"],
    "Relation": [
        "Next to it",
        "Under it",
        "In front of it",
        "On top of it",
        "Behind it",
        "Above it",
        "Inside it",
        "Left",
    ],
}
_STEMS = {
    "Attribute": "What color is the {} number {}?",
    "Object": "How many parts does the {} number {} have?",
    "Relation": "Where is the {} number {} in relation to the wall?",
}


@dataclass(frozen=True)
class Published:
    """A question as published, with its right label."""

    id: int
    kind: str
    stem: str
    options: tuple[str, ...]
    label: str
    path: str

    @property
    def text(self) -> str:
        """The stem and the lines of the options; a third of the questions has no space after the letters."""
        mark = "." if self.id % 3 == 0 else ". "
        return "\n".join([self.stem, *(f"{x}{mark}{o}" for x, o in zip("ABCDE", self.options, strict=True))])


def questions(count: int, seed: int = 0) -> list[Published]:
    """Return invented questions, seven on each image; one in seven is labelled E."""
    generator = random.Random(seed)
    found = []
    for number in range(1, count + 1):
        kind = ("Attribute", "Object", "Relation")[number % 3]
        options = (*generator.sample(_WORDS[kind], 4), "None of the above")
        stem = _STEMS[kind].format(generator.choice(_THINGS), number)
        label = "E" if number % 7 == 0 else generator.choice("ABCD")
        found.append(Published(number, kind, stem, options, label, f"images/{(number - 1) // 7}.jpg"))
    return found


def asked(question: Published, setting: str) -> tuple[str, str]:
    """Return text and label of a question in a setting."""
    if setting == "cautious_prompt":
        return CAUTIOUS + question.text, question.label
    if setting == NOISE:
        return FORCED_GROUNDING + question.text, question.label
    if setting == "nota_only" and question.label != "E":
        lines = question.text.split("\n")
        return "\n".join(line for line in lines if not line.startswith(f"{question.label}.")), "E"
    if setting == "shuffle_nota_position":
        old = list("ABCDE")
        random.Random(42 + question.id).shuffle(old)
        of_label = dict(zip("ABCDE", question.options, strict=True))
        lines = [f"{new}. {of_label[x]}" for new, x in zip("ABCDE", old, strict=True)]
        return "\n".join([question.stem, *lines]), "ABCDE"[old.index(question.label)]
    return question.text, question.label


def row(question: Published, setting: str, generator: random.Random, skill: float) -> dict[str, Any]:
    """Return one line of a file of predictions."""
    text, label = asked(question, setting)
    path = _NOISE_PATH if "noise" in setting else question.path
    right = "E" if "noise" in setting and generator.random() < 0.6 else label
    letter = right if generator.random() < skill else generator.choice("ABCDE")
    option = next((line[2:].strip() for line in text.split("\n") if line.startswith(f"{letter}.")), "")
    forms = [
        letter,
        letter,
        letter,
        f"{letter}. {option}",
        f"<|begin_of_box|>{letter}<|end_of_box|></answer>",
        f"{letter} </CONCLUSION>",
        f"<think>The image shows a {generator.choice(_THINGS)}. So option",
    ]
    return {
        "label": label,
        "question": text,
        "type": question.kind,
        "image": {"bytes": None, "path": path},
        "question_id": question.id,
        "prediction": generator.choice(forms),
    }


def rows(asked_questions: Sequence[Published], model: str, setting: str) -> list[dict[str, Any]]:
    """Return the lines of one model in one setting."""
    generator = random.Random(f"{model}:{setting}")
    skill = 0.35 + 0.4 * random.Random(model).random()
    return [row(question, setting, generator, skill) for question in asked_questions]


def log(lines: Sequence[Mapping[str, Any]], model: str, setting: str) -> str:
    """Return the log that belongs to the lines: counts over counts, times 100."""
    found = [sorted(set("abcde") & set(re.findall(r"\b\w+\b", line["prediction"].lower()))) for line in lines]
    letters = [each[0].upper() if len(each) == 1 else "NA" for each in found]
    right = [letter == line["label"] for letter, line in zip(letters, lines, strict=True)]
    kinds = [line["type"] for line in lines]
    of_e = [line["prediction"] == "E" for line in lines if line["label"] == "E"]
    shares = Counter(letters)
    accuracy = {
        f"{kind}_accuracy": sum(r for r, k in zip(right, kinds, strict=True) if k == kind) / kinds.count(kind) * 100
        for kind in dict.fromkeys(kinds)
    }
    accuracy |= {"Overall_accuracy": sum(right) / len(lines) * 100, "E_accuracy": sum(of_e) / (len(of_e) or 1) * 100}
    proportions = {f"{letter}_proportion": shares[letter] / len(lines) * 100 for letter in [*"ABCDE", "NA"]}
    content = {"Accuracy": accuracy, "Proportions": proportions, "model_name_or_path": model}
    return json.dumps(content | {"evaluation_setting": setting}, indent=4)


def as_lines(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a file of JSON lines."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


Change = Callable[[str, str], str | None]
"""``(path, text) -> text``: what a test changes in a file; None leaves it out."""


def write_repository(
    folder: Path,
    *,
    models: Sequence[str],
    questions_: Sequence[Published],
    settings: Sequence[str] = SETTINGS,
    gemini: bool = True,
    change: Change = lambda path, text: text,
) -> list[str]:
    """Write a repository with predictions and logs; return the names of its three commits.

    The first commit has the settings of the paper. The other settings follow in the second and third commit, where
    predictions and logs lie under different roots.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for key in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
        _git(folder, "config", key, "true")
    (folder / "README.md").write_text("Generated predictions.\n", encoding="utf-8")

    def write(path: str, text: str) -> None:
        changed = change(path, text)
        if changed is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(changed, encoding="utf-8")

    commits = []
    groups = (list(SETTINGS[:3]), ["shuffle_nota_position", "cautious_prompt"], [NOISE])
    for number, group in enumerate(groups):
        for setting in (s for s in group if s in settings):
            for place, model in enumerate(models):
                lines = rows(questions_, model, setting)
                swapped = number > 0 and place % 2
                of_lines, of_log = ("rebuttal_results", "results") if swapped else ("results", "rebuttal_results")
                if number == 0:
                    of_lines = of_log = "results"
                write(f"{of_lines}/{setting}/{model}/{model}.jsonl", as_lines(lines))
                write(f"{of_log}/{setting}/{model}/{model}.log", log(lines, model, setting))
        if number == 2 and gemini:
            answers = [{"question_id": q.id, "model_answer": "ABCDE"[q.id % 5]} for q in questions_]
            write("rebuttal_results/proprietary/gemini-2.5-pro.jsonl", as_lines(answers))
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--allow-empty", "--message", f"part {number + 1}")
        commits.append(_git(folder, "rev-parse", "HEAD"))
    return commits


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Generator", "-c", "user.email=generator@example.org", "-c", "core.autocrlf=false"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
