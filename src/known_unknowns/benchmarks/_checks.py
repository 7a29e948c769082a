"""What the checks of all benchmarks look for: in options, and in pictures."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.benchmarks._images import picture_bytes
from known_unknowns.errors import DataError
from known_unknowns.images import decode
from known_unknowns.records import Option

NOTE, WARNING, ERROR = "note", "warning", "error"
SEVERITIES = (NOTE, WARNING, ERROR)
"""A note is worth knowing and changes no number; a warning may change one; with an error the data cannot be used."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. ``code`` names its kind in kebab-case ("duplicate-pixels", "count"), for machines;
    ``where`` is the file, row or question it was found at ("" for the whole benchmark); ``text`` is for people."""

    severity: str
    code: str
    where: str
    text: str

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"{self.severity!r} is not one of {SEVERITIES}")


@dataclass(frozen=True, slots=True)
class Held:
    """A number that the files hold, and the one that was promised (None: nobody promised one). ``source`` says who."""

    what: str
    found: float
    promised: float | None = None
    source: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept, to the digits that were promised; None where there is none."""
        if self.promised is None:
            return None
        digits = len(f"{self.promised:.10f}".rstrip("0").partition(".")[2])
        return round(self.found, digits) == self.promised


_LEAK = re.compile(
    r"^\(?(?P<alone>[A-Z])\)?\.?$"
    r"|^\(?[A-H]\)?\s*[.):]\s*(?![A-Za-z]\.)\S"
    r"|\b(?i:option|answer|choice|letter)\s+\(?[A-H]\b"
    r"|[(\[]\s*(?i:correct|right|true|answer)\s*[)\]]"
    r"|\b(?i:the\s(?:correct|right)\s(?:answer|option|choice))\b"
)


def leaks(options: Sequence[Option]) -> Iterator[str]:
    """The options that name a letter, or say that they are right: "B. Red" as the text of A, "Red (correct)".

    A letter alone is one only where it is another's or the option's own; letters may be what is asked for, which only
    a person can tell.
    """
    labels = {option.label for option in options}
    for option in options:
        found = _LEAK.search(option.text.strip())
        if found and (found["alone"] is None or found["alone"] in labels):
            yield f"option {option.label} reads {option.text!r}, which names a letter or says that it is right"


def option_findings(options: Sequence[Option], *, expected: int | None, where: str) -> Iterator[Finding]:
    """What is wrong with the options of one question."""
    if expected is not None and len(options) != expected:
        yield Finding(WARNING, "option-count", where, f"{len(options)} options, where {expected} are promised")
    labels = [option.label for option in options]
    if labels != [chr(ord("A") + place) for place in range(len(labels))]:
        yield Finding(WARNING, "lettering", where, f"the options are lettered {', '.join(labels)}")
    counts = Counter(" ".join(option.text.split()).casefold() for option in options)
    for text, count in counts.items():
        if count > 1:
            yield Finding(WARNING, "option-twice", where, f"{count} options read {text!r}")
    for option in options:
        if not option.text.strip():
            yield Finding(WARNING, "option-empty", where, f"option {option.label} has no text")
    for text in leaks(options):
        yield Finding(WARNING, "leak", where, text)


class Pictures:
    """Every picture that was named, decoded once: which do not decode, and which hold the same pixels."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.sizes: dict[str, tuple[int, int]] = {}
        self._names: dict[str, set[str]] = defaultdict(set)
        self._pixels: dict[str, set[str]] = defaultdict(set)

    def add(self, cell: str | Mapping[str, Any], root: Path, *, file: Path, row: int, where: str) -> str | None:
        """The sha256 of a picture's bytes (see `picture_bytes`); None, and a finding, where it cannot be read."""
        name = cell if isinstance(cell, str) else str(cell.get("path") or "") if isinstance(cell, Mapping) else ""
        try:
            data = picture_bytes(cell, root)
            digest = sha256(data).hexdigest()
            if digest not in self.sizes:
                picture = decode(data, file=file, row=row)
                self.sizes[digest] = picture.size
                pixels = sha256(f"{picture.size}".encode() + picture.tobytes()).hexdigest()
                self._pixels[pixels].add(digest)
        except (DataError, ValueError, OSError) as error:
            self.findings.append(Finding(ERROR, "unreadable-image", where, f"{name or 'the picture'}: {error}"))
            return None
        if name:
            self._names[digest].add(name)
        return digest

    def duplicates(self) -> Iterator[Finding]:
        """Pictures that are the same. In different files, they count as independent where they are not."""
        for digests in self._pixels.values():
            if len(digests) > 1:
                named = sorted(self._name(digest) for digest in digests)
                text = f"{len(digests)} files hold the same pixels: {', '.join(named)}"
                yield Finding(WARNING, "duplicate-pixels", "", text)
        for names in self._names.values():
            if len(names) > 1:
                text = f"one picture has {len(names)} names: {', '.join(sorted(names))}"
                yield Finding(NOTE, "duplicate-file", "", text)

    def _name(self, digest: str) -> str:
        return min(self._names[digest], default=digest[:12])
