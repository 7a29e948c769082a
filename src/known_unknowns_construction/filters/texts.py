"""Filters that need only the texts: form, duplicates, options, and traces of the annotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

from known_unknowns.yaml_reader import parse_yaml
from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.filters._interface import Context, Finding
from known_unknowns_construction.generation import MAX_TEXT

NEAR = 0.8
"""The least Jaccard similarity of near duplicates, of their sets of runs of four characters."""
_PERMUTATIONS = 128
_SHINGLE = 4

_WORDS = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the", "it", "its", "is", "are", "to", "of", "there"})
WORDS = parse_yaml(files(__package__).joinpath("words.yaml").read_text(encoding="utf-8"))
_SAME = {word: str(number) for number, word in enumerate(WORDS["numbers"])}
_SAME |= {word: first for first, *others in WORDS["synonyms"] for word in others}
_LEAKS = (
    (re.compile(r"\b[^\W\d_][\w-]*_\d+\b"), "an object's index"),
    (re.compile(r"-(?:other-)?merged\b|\ba crowd of \w+_"), "the name of an annotated class"),
    (
        re.compile(
            r"\b(?:based on|according to|in|from) the (?:\w+ )?(?:captions?|descriptions?|annotations?)\b", re.I
        ),
        "the captions",
    ),
    (re.compile(r"\bscene graph\b|\bbounding box(?:es)?\b|\bbbox(?:es)?\b", re.I), "the annotation"),
    (re.compile(r"https?://|<\s*/?\s*(?:script|img|iframe|a)\b", re.I), "an address or markup"),
)


def broken_schema(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates whose number of options, refusal, kind or texts do not have the form of the benchmark."""
    for candidate in candidates:
        if context.options is not None and len(candidate.options) != context.options:
            yield candidate.id, f"{len(candidate.options)} options instead of {context.options}"
        elif context.refusal is not None and candidate.options[-1] != context.refusal:
            yield candidate.id, f"the last option is {candidate.options[-1]!r}, not {context.refusal!r}"
        elif context.kinds and candidate.kind not in context.kinds:
            yield candidate.id, f"the kind {candidate.kind!r} is not one of {', '.join(sorted(context.kinds))}"
        elif not all(text.strip() for text in (candidate.question, *candidate.options)):
            yield candidate.id, "the question or an option is empty"
        elif max(map(len, (candidate.question, *candidate.options))) > MAX_TEXT:
            yield candidate.id, f"a text is longer than {MAX_TEXT} characters"
        elif not all(text.isprintable() for text in (candidate.question, *candidate.options)):
            yield candidate.id, "a text has a line break or another control character"


def duplicates(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find the question and right answer of an earlier candidate of the image, but for case, articles and marks."""
    seen: dict[tuple[str, ...], str] = {}
    for candidate in candidates:
        right = candidate.options[candidate.answer_index]
        key = (candidate.group, *words(candidate.question), "|", *(words(right) or [right]))
        first = seen.setdefault(key, candidate.id)
        if first != candidate.id:
            yield candidate.id, f"the same question and answer as {first}"


def near_duplicates(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates that resemble an earlier one of the same image (MinHash).

    Two sets have to be similar: that of the question, and that of the question with its options. Long options that are
    the same make different questions similar ("What color is the man's shirt?", "What color is the man's hat?").
    """
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=NEAR, num_perm=_PERMUTATIONS)
    parts: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for candidate in candidates:
        own = parts[candidate.id] = shingles(candidate)
        # The group is a part of every shingle, so that only candidates of the same image meet.
        hashed = MinHash(num_perm=_PERMUTATIONS, seed=1)
        hashed.update_batch([f"{candidate.group}\0{part}".encode() for part in sorted(own[1])])
        found = [(min(map(jaccard, own, parts[other])), other) for other in index.query(hashed)]
        best = max(found, default=(0.0, ""), key=lambda pair: (pair[0], pair[1]))
        if best[0] >= NEAR:
            yield candidate.id, f"resembles {best[1]} (Jaccard similarity {best[0]:.2f})"
        else:
            index.insert(candidate.id, hashed)


def repeated_options(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates with two options that are the same or synonyms."""
    for candidate in candidates:
        seen: dict[tuple[str, ...], str] = {}
        for label, option in zip(candidate.labels, candidate.options, strict=True):
            key = tuple(_SAME.get(word, word) for word in words(option)) or (option,)
            first = seen.setdefault(key, label)
            if first != label:
                kind = "the same" if option.casefold() == candidate.options[ord(first) - 65].casefold() else "synonyms"
                yield candidate.id, f"the options {first} and {label} are {kind}"
                break


def leaks(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates that show an index, a class name of the annotation, or where their content came from."""
    for candidate in candidates:
        text = "\n".join([candidate.question, *candidate.options])
        for pattern, what in _LEAKS:
            if found := pattern.search(text):
                yield candidate.id, f"mentions {what}: {found[0]!r}"
                break


def words(text: str) -> list[str]:
    """Return the words of a text in lower case and in the singular, without articles."""
    found = [word.casefold() for word in _WORDS.findall(text)]
    return [singular(word) for word in found if word not in _ARTICLES]


def singular(word: str) -> str:
    """Return the singular of a regular English plural, and of the irregular ones of common classes."""
    if word in WORDS["singulars"]:
        return WORDS["singulars"][word]
    if len(word) > 3 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def shingles(candidate: Candidate) -> tuple[frozenset[str], frozenset[str]]:
    """Return all runs of four characters of the question, and those of the question with its sorted options."""
    question = " ".join(words(candidate.question))
    whole = " ".join([question, "|", *sorted(" ".join(words(option)) for option in candidate.options)])
    return _runs(question), _runs(whole)


def _runs(text: str) -> frozenset[str]:
    return frozenset(text[k : k + _SHINGLE] for k in range(max(1, len(text) - _SHINGLE + 1)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection over that of the union."""
    return len(one & other) / len(one | other)
