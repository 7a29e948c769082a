"""Shared code of the checks: findings, quantities, options and images."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from known_unknowns.benchmark.images import image_bytes
from known_unknowns.benchmark.option_references import ALL_OTHERS, references
from known_unknowns.errors import DataError
from known_unknowns.images import GROUND, decode, viewed
from known_unknowns.records import Option
from known_unknowns.yaml_reader import parse_yaml

T = TypeVar("T")
NOTE, WARNING, ERROR = "note", "warning", "error"
SEVERITIES = (NOTE, WARNING, ERROR)
"""A note is worth knowing and changes no number; a warning may change one; with an error the data cannot be used."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a check.

    Attributes
    ----------
    severity : str
        One of `SEVERITIES`.
    code : str
        Its kind in kebab-case ("duplicate-pixels", "count"), for machines.
    where : str
        The file, row or question; "" for the whole benchmark.
    text : str
        The description for people.
    """

    severity: str
    code: str
    where: str
    text: str

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"{self.severity!r} is not one of {SEVERITIES}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number computed from the files, and the expected one.

    Attributes
    ----------
    name : str
        What is counted.
    observed : float
        The number in the files.
    expected : float, optional
        The number according to ``source``; None if there is no such statement.
    source : str
        Where the expected number is stated.
    """

    name: str
    observed: float
    expected: float | None = None
    source: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the observed number equals the expected one, rounded to its digits; None without expected number."""
        if self.expected is None:
            return None
        digits = len(f"{self.expected:.10f}".rstrip("0").partition(".")[2])
        return round(self.observed, digits) == self.expected

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the check's result file."""
        return asdict(self) | {"agrees": self.agrees}


def with_expected(quantities: Iterable[Quantity], folder: Path, *, published: bool) -> list[Quantity]:
    """Return quantities with the numbers that expected.yaml in a benchmark's folder states, by source and name.

    Data that are not as ``published`` have no expected numbers. A quantity that has a number or a source keeps it.
    """
    stated = parse_yaml((folder / "expected.yaml").read_text(encoding="utf-8"))
    expected = {name: (number, source) for source, numbers in stated.items() for name, number in numbers.items()}
    found = []
    for one in quantities:
        number, source = expected.get(one.name, (None, ""))
        is_own = one.source or one.expected is not None
        found.append(one if is_own else replace(one, expected=number if published else None, source=source))
    return found


@dataclass
class CheckState:
    """Findings so far, and what is needed to find duplicates. Each benchmark adds its own counts."""

    findings: list[Finding] = field(default_factory=list)
    places_of_ids: dict[str, str] = field(default_factory=dict)
    places_of_questions: dict[tuple[str | None, str], str] = field(default_factory=dict)

    def add(self, severity: str, code: str, where: str, text: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(severity, code, where, text))

    def attempt(self, code: str, where: str, read: Callable[[], T]) -> T | None:
        """Return the result of ``read``; None, with a finding, if it raises."""
        try:
            return read()
        except (ValueError, TypeError, KeyError) as error:
            self.add(ERROR, code, where, str(error))
            return None

    def add_id(self, identifier: str, place: str, *, where: str = "") -> None:
        """Register the ``place`` of a question id, with a finding (at ``where`` or there) if it occurred before."""
        if identifier in self.places_of_ids:
            first = self.places_of_ids[identifier]
            self.add(ERROR, "id-twice", where or place, f"the question id {identifier} is already that of {first}")
        self.places_of_ids[identifier] = place

    def add_question(self, digest: str | None, text: str, where: str) -> None:
        """Register a question about the image ``digest``, with a finding if it occurred before."""
        if digest is not None and (digest, text) in self.places_of_questions:
            place = self.places_of_questions[digest, text]
            self.add(WARNING, "question-twice", where, f"the same question on the same image as {place}")
        self.places_of_questions[digest, text] = where


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


def reference_findings(options: Sequence[Option], *, refusal: int | None, where: str) -> Iterator[Finding]:
    """Find options by which shuffles and nota_only leave a question out: those that speak of other options or places.

    "None of the above" as the refusal is no finding.
    """
    for place, spoken in references(options).items():
        if place == refusal and spoken == ALL_OTHERS:
            continue
        text = (
            f"option {options[place].label} reads {options[place].text!r}, which speaks of other options or of places"
        )
        yield Finding(NOTE, "option-reference", where, f"{text}; shuffles and nota_only leave the question out")


def option_findings(
    options: Sequence[Option], *, expected: int | None, refusal: int | None, where: str
) -> Iterator[Finding]:
    """What is wrong with the options of one question."""
    if expected is not None and len(options) != expected:
        yield Finding(WARNING, "option-count", where, f"{len(options)} options, where {expected} are expected")
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
    yield from reference_findings(options, refusal=refusal, where=where)


def choice_findings(choices: Mapping[str, int], images: int, *, plain: bool = False) -> Iterator[Finding]:
    """State how many images need a choice to be shown (`known_unknowns.images.viewed`), one note for each choice.

    Parameters
    ----------
    choices : Mapping
        The name of a choice to the number of images that need it.
    images : int
        The number of distinct images.
    plain : bool
        Whether models get the stored pixels all the same.
    """
    for name, (code, what, applied) in _CHOICES.items():
        if choices.get(name):
            use = "models get the pixels as stored, as with the released code" if plain else applied
            yield Finding(NOTE, code, "", f"{choices[name]} of {images} images {what}: {use}")


_CHOICES = {
    "orientation": ("rotated-image", "have an EXIF orientation", "they are turned as it says"),
    "ground": ("transparent-image", "are transparent", f"they are put on {GROUND}"),
    "bits": ("deep-image", "have 16 bits per channel", "they are scaled to 8"),
}


class ImageChecks:
    """Decode every image once, and find images that do not decode or have the same pixels.

    Parameters
    ----------
    plain : bool
        Whether models get the stored pixels (`known_unknowns.benchmark.images.ImageStore`).
    """

    def __init__(self, *, plain: bool = False) -> None:
        self._plain = plain
        self._choices: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.sizes: dict[str, tuple[int, int]] = {}
        self._names: dict[str, set[str]] = defaultdict(set)
        self._pixels: dict[str, set[str]] = defaultdict(set)

    def add(self, cell: str | Mapping[str, Any], root: Path, *, file: Path, row: int, where: str) -> str | None:
        """Return the sha256 of an image's bytes (see `image_bytes`); None, and a finding, if it cannot be read."""
        name = cell if isinstance(cell, str) else str(cell.get("path") or "") if isinstance(cell, Mapping) else ""
        try:
            data = image_bytes(cell, root)
            digest = sha256(data).hexdigest()
            if digest not in self.sizes:
                image, choices = viewed(data, file=file, row=row)
                if self._plain and choices:
                    image = decode(data, file=file, row=row)
                self._choices.update(choices.keys())
                self.sizes[digest] = image.size
                pixels = sha256(f"{image.size}".encode() + image.tobytes()).hexdigest()
                self._pixels[pixels].add(digest)
        except (DataError, ValueError, OSError) as error:
            self.findings.append(Finding(ERROR, "unreadable-image", where, f"{name or 'the image'}: {error}"))
            return None
        if name:
            self._names[digest].add(name)
        return digest

    def closing(self) -> Iterator[Finding]:
        """Find equal images in different files, which would count as independent, and count those that need choices."""
        yield from choice_findings(self._choices, len(self.sizes), plain=self._plain)
        for digests in self._pixels.values():
            if len(digests) > 1:
                named = sorted(self._name(digest) for digest in digests)
                text = f"{len(digests)} files hold the same pixels: {', '.join(named)}"
                yield Finding(WARNING, "duplicate-pixels", "", text)
        for names in self._names.values():
            if len(names) > 1:
                text = f"one image has {len(names)} names: {', '.join(sorted(names))}"
                yield Finding(NOTE, "duplicate-file", "", text)

    def _name(self, digest: str) -> str:
        return min(self._names[digest], default=digest[:12])
