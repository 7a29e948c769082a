"""ActiView's released replies of Qwen2-VL, and the action history of the mixed pipeline; released.yaml has the files.

A step of the history has the reply under "init" (zooming) or "inter" (operating), what the toolkit parsed of it under
"rst", and the last step has the "answer". The history is replayed through the protocol, which asks the same turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.exchange import is_number
from known_unknowns.benchmark.loading import read_json
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.benchmark.released import ReleasedTurn
from known_unknowns.config import ReleasedData
from known_unknowns.errors import DataError
from known_unknowns.exchange.released_reader import HISTORY, ReleasedReader, ReplyRow, Setting, Slot, Turns
from known_unknowns.records import OVERALL, Image, Question, Reply
from known_unknowns_benchmarks.actiview.format import read_files
from known_unknowns_benchmarks.actiview.loader import load_without_images
from known_unknowns_benchmarks.actiview.parsing import official
from known_unknowns_benchmarks.actiview.protocols import mixed

_FIRST_VIEW = 2
"""View v is image 2 + v of a question (`known_unknowns_benchmarks.actiview.format.IMAGES`)."""


class ActiViewReleased(ReleasedReader):
    """The questions of data.json, the stated accuracies, and the turns before the answers."""

    folder = Path(__file__).parent

    def questions(self, raw: Path, entry: ReleasedData) -> tuple[dict[str, Question], dict[str, str]]:
        """Return the questions of data.json, with their images by path alone."""
        paths = [values["images"] for values in read_files(raw / "asset", require_all=False).rows]
        found = load_without_images(raw / "asset", settings=entry)
        return {
            question.id: replace(
                question, images=tuple(Image(path, sha256(path.encode()).hexdigest(), 0, 0) for path in of_question)
            )
            for question, of_question in zip(found, paths, strict=True)
        }, {}

    def read_numbers(self, path: Path) -> dict[str, float]:
        content = read_json(path)
        if not isinstance(content, dict):
            raise DataError("is no object with an accuracy", file=path)
        stated = content.get("acc")
        return {"Overall_accuracy": 100 * stated} if is_number(stated) else {}

    def recompute(self, rows: Sequence[ReplyRow], questions: Sequence[Question]) -> dict[str, float]:
        """Compute the accuracy as the released rule does."""
        right = [official(row.reply or "", q).choice == q.answer for row, q in zip(rows, questions, strict=False)]
        return {"Overall_accuracy": 100 * (sum(right) / len(questions))} if rows and questions else {}

    def metric(self, name: str, setting: Setting) -> tuple[str, str, str]:
        return "accuracy", OVERALL, OVERALL

    def counts(self, questions: Sequence[Question], setting: Setting) -> Mapping[str, int]:
        return {OVERALL: len(questions)}

    def dialogues(
        self, raw: Path, slot: Slot, questions: Sequence[Question], turns: Turns
    ) -> tuple[dict[str, Sequence[ReleasedTurn]], list[str]]:
        """Replay the action history of mixed. A history that differs from the protocol gives only its answer."""
        history = slot.first(HISTORY)
        if history is None or slot.setting != "mix" or not turns:
            return {}, []
        try:
            steps = read_json(raw / history.place)
        except DataError as error:
            return {}, [f"{error}; only the answers are used"]
        if not isinstance(steps, list) or len(steps) != len(turns):
            return {}, [f"{history.path} is not a history of these replies; only the answers are used"]
        pairs = zip(questions, steps, strict=False)
        found = {question.id: _replay(question, of_one, turns[question.id][0].text) for question, of_one in pairs}
        odd = [name for name, replayed in found.items() if replayed is None]
        text = (
            f"{len(odd)} histories differ from the protocol, such as {odd[0]}; only their answers are used"
            if odd
            else ""
        )
        return {name: replayed for name, replayed in found.items() if replayed is not None}, [text] if odd else []


def _replay(question: Question, steps: Any, answer: str) -> list[ReleasedTurn] | None:
    """The turns that the protocol asks if it gets the replies of the history; None if it asks others.

    The answer must be given to the views that the toolkit parsed.
    """
    try:
        said = [step["init"] if "init" in step else step["inter"] for step in steps]
        if steps[-1]["answer"] != answer or not all(isinstance(text, str) for text in said):
            return None
        parsed: Sequence[int] = next((step["rst"] for step in reversed(steps) if step["rst"] is not None), [])
        views = tuple(question.images[_FIRST_VIEW + number].sha256 for number in parsed)
    except (KeyError, TypeError, IndexError):
        return None
    dialogue = mixed(question)
    found: list[ReleasedTurn] = []
    shown: tuple[str, ...] = ()
    turn = next(dialogue)
    for text in [*said, answer]:
        shown = tuple(image.sha256 for image in turn.images)
        found.append(ReleasedTurn(text, None, turn.step, turn.text, turn.labels is not None, shown))
        try:
            turn = dialogue.send(Reply(text))
        except StopIteration:
            break
    is_same = len(found) == len(said) + 1 and found[-1].step == ANSWER and shown[1:] == views
    return found if is_same else None


RELEASED = ActiViewReleased()
