"""The reference question, and the record of how it was rendered: <benchmark>.prompt.json beside a journal.

A reply's key in the journal has the settings of a model, not what a library makes of them: a chat template or an image
processor of another version can render another prompt from the same settings. With the first reply, a run therefore
records how a fixed question is rendered (`engines.RendersReference`). A later run renders it again before it asks.
Another text stops the run, because its replies would be those to other prompts. Other pixels, tokens or versions
are a note in the report, and in "rendering" in engine.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import ndiff
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from known_unknowns import json_files
from known_unknowns.engine import Engine, RendersReference, ScriptedEngine
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn, facts_text

REFERENCE = Turn(
    "reference",
    "answer",
    (recipe_image("normal-noise", 448, 336, 1), "What colour is the ball?\nA. Red\nB. Blue\nC. None of the above"),
    ("A", "B", "C"),
)
"""The question. A change makes earlier records differ."""
_PARTS = 8
TOLERANCE = 0.01
"""Accepted difference of a mean or a standard deviation of pixels, which are about 1. Rounding causes less."""
_LONGEST = 200


def coarse(pixels: np.ndarray) -> dict[str, Any]:
    """Return the shape of some pixels, and the mean and the standard deviation of `_PARTS` equal parts of them."""
    values = np.nan_to_num(pixels.astype(np.float64)).reshape(-1)
    parts = np.array_split(values, min(_PARTS, len(values)))
    found = [[round(float(part.mean()), 4), round(float(part.std()), 4)] for part in parts]
    return {"shape": list(pixels.shape), "parts": found}


def path_of(journal: Path) -> Path:
    """Return the path of the record beside a journal."""
    return journal.with_suffix(".prompt.json")


def check(engine: Engine | ScriptedEngine, journal: Path, *, has_replies: bool) -> None:
    """Render the reference prompt, and record it or compare it with the record.

    Parameters
    ----------
    journal : Path
        The benchmark's journal, of all shards.
    has_replies : bool
        Whether journals have replies of this engine. Without any, an earlier record has no effect.

    Raises
    ------
    ConfigError
        The text differs from that of the earlier replies.
    """
    if not isinstance(engine, RendersReference) or (rendered := engine.reference_prompt()) is None:
        return
    path, name = path_of(journal), _name(engine.facts)
    records = _read(path)
    earlier = records.get(name)
    if earlier is None or not has_replies:
        # Replies without a record were given before there were records.
        records[name] = dict(rendered) | {"covers_all_replies": not has_replies, "changes": []}
        json_files.write(path, records)
        return
    if (difference := _first_difference(earlier, rendered)) is not None:
        raise ConfigError(
            f"the prompts are no longer rendered as for the recorded replies: {difference}. "
            f"The recorded versions: {_versions(earlier)}; now: {_versions(rendered)}. Use the recorded versions, or "
            f"move {journal} and {path.name} away to ask all questions again"
        )
    changes = [change for change in _changes(earlier, rendered) if change not in earlier["changes"]]
    if changes:
        records[name] = earlier | {"changes": [*earlier["changes"], *changes]}
        json_files.write(path, records)


def changes(journal: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return what later runs rendered in another way than the first, for replies of an engine with these facts."""
    record = _read(path_of(journal)).get(_name(facts))
    return record["changes"] if record else []


def _name(facts: Mapping[str, Any]) -> str:
    return sha256(facts_text(facts).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    return json_files.read(path) if path.is_file() else {}


def _first_difference(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first line that differs; None if there is none. A server may have told its rendering only once."""
    for key in ("text", "rendered"):
        before, after = earlier.get(key), now.get(key)
        if before is not None and after is not None and before != after:
            return _difference(before, after)
    return None


def _difference(earlier: str, now: str) -> str:
    lines = ndiff(earlier.splitlines(), now.splitlines())
    changed = [line for line in lines if line.startswith(("- ", "+ "))]
    if not changed:
        return "they end in other line breaks"
    before = next((line[2:] for line in changed if line.startswith("- ")), "")
    after = next((line[2:] for line in changed if line.startswith("+ ")), "")
    return f"{before[:_LONGEST]!r} is now {after[:_LONGEST]!r}"


def _changes(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    found = []
    for key, what in (("tokens", "text tokens"), ("image_tokens", "image tokens")):
        if earlier[key] != now[key]:
            found.append(f"{what}: {earlier[key]}, later {now[key]}")
    for name in sorted({*earlier["pixels"], *now["pixels"]}):
        difference = _pixel_difference(earlier["pixels"].get(name), now["pixels"].get(name))
        found += [f"{name}: {difference}"] if difference else []
    for name in sorted({*earlier["versions"], *now["versions"]}):
        before, after = earlier["versions"].get(name), now["versions"].get(name)
        if before != after:
            found.append(f"{name} {before or 'not recorded'}, later {after or 'not recorded'}")
    return found


def _pixel_difference(earlier: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    if earlier is None or now is None:
        return "in one of the runs only"
    if earlier["shape"] != now["shape"]:
        return f"shape {earlier['shape']}, later {now['shape']}"
    pairs = zip(earlier["parts"], now["parts"], strict=True)
    apart = max(abs(one - other) for part, later in pairs for one, other in zip(part, later, strict=True))
    return f"other pixels (a part's mean or standard deviation differs by {apart:.2g})" if apart > TOLERANCE else ""


def _versions(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version or 'unknown'}" for name, version in record["versions"].items())
