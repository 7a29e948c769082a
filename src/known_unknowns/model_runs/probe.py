"""Whether a model is there and able to answer, found before any long job."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image as Pillow

from known_unknowns import engines
from known_unknowns.config import ModelEntry, OpenAIModel, TransformersModel
from known_unknowns.engines import memory_needs
from known_unknowns.engines._weights import WEIGHTS, tensors
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.model_runs import lazy_engine
from known_unknowns.records import Image, Reply, Turn
from known_unknowns.unusable import ERROR, REJECTED, REMEDIES, class_of

LeftOut = Mapping[str, Mapping[str, Any]]

TEXT = "What is the main colour of this image? Answer with one word."
_COLOURS = ("red", "blue")
_SIZE = 224
_MAX_NEW_TOKENS = 256
_SKIP = "check_served: false in its entry skips this check"


def probe(model: str, entry: ModelEntry, journals: Path | None = None, *, again: bool = False) -> dict[str, Any]:
    """Check a model, and return what was found.

    An endpoint must serve the model, accept the key, and answer a question about an image. The default settings that it
    refuses are left out from then on; they are written to the model's folder of ``journals``, and found anew only
    ``again`` (`known_unknowns.engines.endpoint.refused_defaults`). Of a server that the job
    starts, the program must exist; it is not started, because that takes the job's GPUs and minutes. The files of a
    model in a local folder must be complete, and hold what the model needs
    (`known_unknowns.engines.checkpoint_check`). Nothing is checked of a model that has finished the runs of all its
    ``journals`` with this entry, except that a folder, if it is there, is complete: a clone with journals needs neither
    an endpoint nor weights.

    Raises ConfigError or MachineError if the model cannot answer.
    """
    found: dict[str, Any] = {"model": model, "engine": entry.engine}
    folder = Path(entry.source).expanduser() if isinstance(entry, TransformersModel) else None
    if folder is not None and folder.is_dir():
        for problem in _incomplete(folder):
            raise ConfigError(problem, path=f"models.{model}.source")
    if journals is not None and not again and lazy_engine.has_finished(entry, journals):
        return found | {"checked": "journal"}
    if isinstance(entry, OpenAIModel) and entry.launch is not None:
        from known_unknowns.engines.launched_server import require_program

        return found | {"checked": "program", "program": require_program(model, entry.launch)}
    if isinstance(entry, OpenAIModel):
        left_out, served = refused_defaults(model, entry, journals, again=again)
        if not entry.check_served:
            return found | {"checked": "settings", "left_out": left_out}
        sees = sees_images(model, entry, left_out)
        return found | {"checked": "endpoint", "endpoint": served, "left_out": left_out, "sees_images": sees}
    # Found here once, and not in the job of each benchmark and shard.
    why = memory_needs.shortage(entry, memory_needs.this_machine().gpu_gib)
    if why is not None:
        raise MachineError(f"models.{model} {why}; serve it on more GPUs (`launch`), or use another dtype or model")
    if isinstance(entry, TransformersModel) and folder is not None and folder.is_dir():
        from known_unknowns.engines.checkpoint_check import check_checkpoint

        return found | {"checked": "checkpoint", "asked": check_checkpoint(model, entry)}
    return found | {"checked": "nothing"}


def _incomplete(folder: Path) -> Iterator[str]:
    """Yield what is missing of a checkpoint: files that its index names, and parts of weight files."""
    for index in sorted(folder.glob("*.safetensors.index.json")):
        named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        yield from (
            f"{folder / name}, which {index.name} names, is missing; copy the model again"
            for name in sorted(named)
            if not (folder / name).is_file()
        )
    for file in sorted(folder.rglob(WEIGHTS)):
        try:
            tensors(file)
        except DataError as error:
            yield str(error)


def before_first_turn(model: str, entry: ModelEntry, journal: Path, turn: Turn, folder: Path) -> None:
    """Find the defaults that an endpoint refuses, where no rule `probe` precedes the first turn of a journal."""
    if isinstance(entry, OpenAIModel) and entry.launch is None and not lazy_engine.facts_file(journal).is_file():
        refused_defaults(model, entry, journal.parent, turn=turn, images=folder)


def refused_defaults(
    model: str,
    entry: OpenAIModel,
    folder: Path | None,
    *,
    turn: Turn | None = None,
    images: Path | None = None,
    again: bool = False,
) -> tuple[LeftOut, Mapping[str, Any]]:
    """Return the defaults that an endpoint refuses, from the file in a ``folder`` of journals, or by asking it.

    They are those of the entry without ``asked``, whose settings have records of their own. The second value is what
    the endpoint's list of models says of the model.

    What is found is written to the file, also that the list of models fails: the jobs of the run do not ask it again.
    The ``turn`` is like those that will be asked, with its ``images``; by default it has an image of one colour.

    Raises ConfigError if the endpoint refuses a value that the entry has, or the turn.
    """
    from known_unknowns.engines.endpoint import refused_defaults as of_endpoint
    from known_unknowns.engines.endpoint.settings import EndpointSettings

    with TemporaryDirectory() as name:
        asked = turn or replace(_turn(_square(Path(name), _COLOURS[0]), TEXT), labels=("A", "B"))
        place = images or Path(name)
        found: dict[str, dict[str, Mapping[str, Any]]] = {}
        known: dict[str, LeftOut] = {}
        served: Mapping[str, Any] = {}
        for own in [entry, *(entry.asked_in(benchmark) for benchmark in entry.asked)]:
            settings = EndpointSettings.from_entry(model, own)
            record = of_endpoint.record_name(settings)
            recorded = None if folder is None or again else of_endpoint.read(folder, settings)
            # The list of models is asked for once.
            engine = engines.create(model, own.model_copy(update={"check_served": own.check_served and not served}))
            if recorded is None:
                found[record] = found.get(record, {}) | engine.find_refused(asked, place)
            else:
                known[record] = recorded
                engine.leave_out(recorded)
                engine.check_accepted(asked, place)
            served = served or engine.about["served"]
    settings = EndpointSettings.from_entry(model, entry)
    if folder is not None:
        of_endpoint.write(folder, found, settings, unlisted=entry.check_served and served["listed"] is None)
    _report_left_out(model, found.values(), "")
    _report_left_out(model, known.values(), f" (`known-unknowns models probe {model} --again` asks anew)")
    left_out = {**known, **found}[of_endpoint.record_name(settings)]
    return left_out, {"model": settings.model, **served}


def _report_left_out(model: str, records: Iterable[LeftOut], hint: str) -> None:
    """Print each setting that is left out, with the endpoint's message, once."""
    reported = set()
    for left_out in records:
        for setting, row in left_out.items():
            text = f"the endpoint does not take the default {setting} ({row['message']}); {_INSTEAD[setting]}{hint}"
            if text not in reported:
                _say(model, text)
            reported.add(text)


_INSTEAD = {
    "stream": "replies are requested in parts (stream: true)",
    "temperature": "none is sent",
    "seed": "none is sent",
    "limit_name": "max_tokens is sent in place of max_completion_tokens",
    "top_logprobs": "fewer log-probabilities are requested, or none",
    "structured": "no response_format is sent",
}


def sees_images(model: str, entry: OpenAIModel, left_out: LeftOut) -> bool | None:
    """Return whether a model sees images, by the colour of a red and of a blue image, and the same without an image.

    None if it may ignore them, or gave no answer; a warning says which.

    Raises
    ------
    ConfigError
        The endpoint rejects images. Or it ignores them: the replies to both images are equal, and so are the numbers of
        prompt tokens with and without an image.
    MachineError
        The endpoint gives no readable reply.
    """
    red, blue, without = _replies(model, entry, left_out)
    path = f"models.{model}.source"
    for reply in (red, blue):
        if class_of(reply) == REJECTED:
            raise ConfigError(f"the endpoint rejects a question with an image ({reply.error}); {_SKIP}", path=path)
        if class_of(reply) == ERROR:
            raise MachineError(f"models.{model}: the endpoint does not answer a question with an image: {reply.error}")
        if kind := class_of(reply):
            _warn(model, f"a question with an image has no answer ({kind}). Remedy: {REMEDIES[kind]}")
            return None
    evidence = []
    if red.text.strip() == blue.text.strip():
        evidence.append(f"the replies to a red and a blue image are the same ({red.text.strip()[:50]!r})")
    if red.input_tokens is not None and red.input_tokens == without.input_tokens:
        evidence.append(f"a prompt has {red.input_tokens} tokens with and without an image")
    if len(evidence) > 1:
        raise ConfigError(f"the endpoint ignores images: {', and '.join(evidence)}; {_SKIP}", path=path)
    if evidence:
        _warn(model, f"the endpoint may ignore images: {evidence[0]}")
    return None if evidence else True


def _replies(model: str, entry: OpenAIModel, left_out: LeftOut) -> tuple[Reply, Reply, Reply]:
    """Return the replies to the red image, to the blue one, and to no image."""
    replies: Mapping[int, Reply] = {}
    with TemporaryDirectory() as name:
        images = [_square(Path(name), colour) for colour in _COLOURS]
        turns = [_turn(image, TEXT) for image in images] + [_turn(TEXT)]
        engine = engines.create(model, entry.model_copy(update={"check_served": False}))
        engine.leave_out(left_out)
        for rows in engine.answer(turns, folder=Path(name)):
            replies = {**replies, **dict(rows)}
    return replies[0], replies[1], replies[2]


def _turn(*content: Image | str) -> Turn:
    return Turn("probe", "probe", content, None, max_new_tokens=_MAX_NEW_TOKENS)


def _square(folder: Path, colour: str) -> Image:
    path = folder / f"{colour}.png"
    Pillow.new("RGB", (_SIZE, _SIZE), colour).save(path)
    return Image(path.name, sha256(path.read_bytes()).hexdigest(), _SIZE, _SIZE)


def _warn(model: str, text: str) -> None:
    _say(model, f"warning: {text}")


def _say(model: str, text: str) -> None:
    print(f"{model}: {text}", file=sys.stderr, flush=True)
