"""A question about two small images, which shows whether a model behind an endpoint sees images."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image as Pillow

from known_unknowns import engines
from known_unknowns.config import OpenAIModel
from known_unknowns.engines.unusable import ERROR, REJECTED, REMEDIES, class_of
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.records import Image, Reply, Turn

TEXT = "What is the main colour of this image? Answer with one word."
_COLOURS = ("red", "blue")
_SIZE = 224
_MAX_NEW_TOKENS = 256
_SKIP = "check_served: false in its entry skips this check"


def ask(model: str, entry: OpenAIModel) -> bool | None:
    """Ask for the colour of a red and of a blue image, and the same without an image.

    Parameters
    ----------
    model : str
        The model's name in params.yaml.
    entry : OpenAIModel
        Its entry.

    Returns
    -------
    bool or None
        Whether the model sees images. None if it may ignore them, or gave no answer; a warning says which.

    Raises
    ------
    ConfigError
        The endpoint rejects images. Or it ignores them: the replies to both images are equal, and so are the numbers of
        prompt tokens with and without an image.
    MachineError
        The endpoint gives no readable reply.
    """
    red, blue, without = _replies(model, entry)
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


def _replies(model: str, entry: OpenAIModel) -> tuple[Reply, Reply, Reply]:
    """Return the replies to the red image, to the blue one, and to no image."""
    replies: Mapping[int, Reply] = {}
    with TemporaryDirectory() as name:
        images = [_square(Path(name), colour) for colour in _COLOURS]
        turns = [_turn(image, TEXT) for image in images] + [_turn(TEXT)]
        engine = engines.create(model, entry.model_copy(update={"batch": None}))
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
    print(f"{model}: warning: {text}", file=sys.stderr, flush=True)
