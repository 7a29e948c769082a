"""What the engine does with a tiny model of one class: its replies in every way of batching against batch size 1."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from bench.architectures.build import CLASSES, build
from bench.architectures.tiny_processor import NotApplicable, NotBuilt
from known_unknowns.config import TransformersModel
from known_unknowns.engines import _processors
from known_unknowns.engines._prompts import PromptError
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Reply, Turn
from prefix_sharing.padding import PLAN as PADDED

EQUAL, UNSHARED, REFUSED, NOT_APPLICABLE = "equal", "equal without sharing", "refused", "not applicable"
NOT_BUILT, DIFFERENT, FAILED = "not built", "different", "failed"
STATUSES = (EQUAL, UNSHARED, REFUSED, NOT_APPLICABLE, NOT_BUILT, DIFFERENT, FAILED)
"""The last two are faults of the engine."""

_TOLERANCE_NATS = 1e-3
_LETTERS = ("A", "B", "C", "D", "E")
_QUESTIONS = (
    "What colour is the ball?\nA. Red\nB. Blue\nC. Green\nD. Yellow\nE. None of the above",
    "How many chairs are there beside the tree?\nA. Two\nB. Three\nC. Four\nD. Five\nE. None of the above",
    "Is it open?\nA. Yes\nB. No\nC. Both\nD. Neither\nE. None of the above",
    "Which animal sits there, and why does it look at the chair?\nA. A cat\nB. A dog\nC. A cow\nD. A hen\nE. No",
    "?\nA. x\nB. y\nC. z\nD. v\nE. w",
)
_IMAGES = tuple(recipe_image("normal-noise", *size) for size in ((64, 32, 1), (24, 48, 2), (32, 32, 3), (48, 48, 4)))
TURNS = tuple(
    Turn(f"{place}-{number}", "answer", (image, question), _LETTERS, max_new_tokens=4)
    for number, question in enumerate(_QUESTIONS)
    for place, image in enumerate(_IMAGES)
)
TWO_IMAGES = tuple(
    Turn(f"{place}-{number}", "answer", (image, "\n", _IMAGES[place - 1], question), _LETTERS, max_new_tokens=4)
    for number, question in enumerate(_QUESTIONS[:3])
    for place, image in enumerate(_IMAGES)
)
"""Two images a prompt, as ActiView shows several. The line break stands for what chat templates write between images:
without it, some processors cannot tell the images' tokens apart."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result for one class.

    Attributes
    ----------
    status : str
        One of `STATUSES`.
    reason : str
        Why it is not "equal"; for "equal", "".
    images : str
        What prepares the images: "pil" or "torchvision"; "" if no model was built.
    batches : str
        Why padded batches are not used; "" if they are.
    """

    model_type: str
    model_class: str
    status: str
    reason: str = ""
    images: str = ""
    batches: str = ""


def outcome(model_type: str, turns: Sequence[Turn] = TURNS) -> Outcome:
    """Build a class's tiny model and ask it all turns in every way of batching."""
    name = CLASSES[model_type]
    try:
        model, processor = build(model_type)
    except NotApplicable as reason:
        return Outcome(model_type, name, NOT_APPLICABLE, str(reason))
    except NotBuilt as reason:
        return Outcome(model_type, name, NOT_BUILT, str(reason))
    except Exception as error:
        return Outcome(
            model_type, name, NOT_BUILT, f"its default configuration made small is rejected: {_short(error)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        try:
            model.save_pretrained(folder)
        except Exception as error:
            return Outcome(model_type, name, NOT_BUILT, f"its weights cannot be saved: {_short(error)}")
        images = getattr(processor().image_processor, "backend", "pil")  # older classes name none
        try:
            status, reason, batches = _compare(model_type, Path(folder), processor, images, turns)
        except ConfigError as error:
            status, reason, batches = REFUSED, _inner(str(error)).replace(repr(folder), "the tiny model"), ""
        except PromptError as error:
            status, reason, batches = REFUSED, str(error), ""
        except Exception as error:
            status, reason, batches = FAILED, _short(error), ""
    return Outcome(model_type, name, status, reason, images, batches)


def _compare(
    model_type: str, folder: Path, processor: Callable[[], Any], images: str, turns: Sequence[Turn] = TURNS
) -> tuple[str, str, str]:
    """Return the status, its reason, and why padded batches are not used."""

    def ask(**entry: Any) -> tuple[list[Reply], dict[str, Any]]:
        with _engine(model_type, folder, processor(), image_backend=images or None, **entry) as engine:
            replies = sorted(
                (pair for batch in engine.answer(turns, folder=Path()) for pair in batch), key=lambda p: p[0]
            )
            return [reply for _, reply in replies], engine.about["sharing"]

    alone, _ = ask(sharing="off", batch_size=1)
    if errors := {reply.error for reply in alone if reply.error}:
        return REFUSED, "; ".join(sorted(errors)), ""
    padded, told = ask(sharing="off", batch_size=4)
    batches = _why(told, padded=True)
    if found := _difference(padded, alone):
        return DIFFERENT, f"padded batches: {found}", batches
    for sharing in ("auto", "on"):
        shared, told = ask(sharing=sharing)
        if found := _difference(shared, alone):
            return DIFFERENT, f"sharing {sharing}: {found}", batches
    if sum(told.get("prompts", {}).values()):
        return EQUAL, "", batches
    return UNSHARED, _why(told, padded=False) or "no prompt could share a prefix", batches


@contextlib.contextmanager
def _engine(name: str, folder: Path, processor: Any, **entry: Any) -> Iterator[TransformersEngine]:
    base = {"engine": "transformers", "source": str(folder), "revision": "unpinned", "dtype": "float32"}
    given = {key: value for key, value in entry.items() if value is not None}
    if not processor.chat_template:
        given["prompt_template"] = "Question: {prompt} Answer:"
    with mock.patch.object(_processors, "load", lambda *_: processor):
        yield TransformersEngine(name, TransformersModel(**base | {"device": "cpu"} | given))


def _difference(found: Sequence[Reply], expected: Sequence[Reply]) -> str:
    """Return how replies differ; "" if they do not."""
    texts = sum(one.text != other.text for one, other in zip(found, expected, strict=True))
    apart = max(
        (
            abs(one.logprobs[label] - other.logprobs[label])
            for one, other in zip(found, expected, strict=True)
            if one.logprobs and other.logprobs
            for label in other.logprobs
        ),
        default=0.0,
    )
    if texts or apart > _TOLERANCE_NATS:
        return f"{texts} of {len(expected)} texts differ, log-probabilities by up to {apart:.2g} nats"
    return ""


def _why(told: dict[str, Any], *, padded: bool) -> str:
    """Return why ways of sharing, or padded batches, were given up."""
    given_up = [fallen for fallen in told.get("fell_back", ()) if (fallen["plan"] == PADDED) == padded]
    return "; ".join(dict.fromkeys(fallen["why"] for fallen in given_up))


def _inner(message: str) -> str:
    """Return the error of the model or its processor in the engine's explanation."""
    inner = message.partition(" with an image (")[2].rpartition("); try another")[0]
    return inner or message.partition(" cannot be asked: ")[2].partition("; ")[0] or message.partition(": ")[2]


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}"
