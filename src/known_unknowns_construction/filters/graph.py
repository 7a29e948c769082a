"""Filters that compare candidates with the scene graph of their image.

A graph proves options of the common forms of questions true or false. Only what the annotation says is used. Objects
and counts are complete in a panoptic annotation: every pixel belongs to a segment. Relations are not: a relation that
is not annotated may hold all the same, so that its option is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.filters._interface import Context, Finding, refusal_index
from known_unknowns_construction.filters.texts import WORDS, singular
from known_unknowns_construction.scene_graph import Node, SceneGraph, may_be_same

_COUNT = re.compile(r"^how many (?P<noun>.+?) (?:are|is|can|do|does|appear)\b(?P<rest>.*)$", re.I)
_ANYWHERE = frozenset(
    {"there", "be", "you", "we", "see", "seen", "visible", "present", "shown", "depicted", "in", "on", "the", "this"}
    | {"image", "picture", "photo", "photograph", "scene", "total", "altogether", "contain", "show"}
)
"""Words after the noun of a count that do not restrict what is counted."""
_EXISTENCE = re.compile(
    r"^(?:which|what) (?P<noun>(?:[\w ]* )??)(?:is|are|can be seen|appears?|exists?) "
    r"(?:present |visible |shown |seen |found )?(?:in|on) (?:the|this) (?:image|picture|photo|scene)\W*$",
    re.I,
)
_ANY_CLASS = frozenset(
    {"of", "these", "those", "the", "following", "object", "thing", "item", "shape", "class", "option"}
)
"""Words before the verb of a question for an object that do not restrict its class."""
_NEGATED = re.compile(r"\b(?:not|no|never|absent|missing|except|n't)\b|n't\b", re.I)
_ARTICLE = re.compile(r"^(?:a|an|the|one|some)\s+", re.I)
_NUMBER = {word: number for number, word in enumerate(WORDS["numbers"])} | {"none": 0, "no": 0}
_ANY_OBJECT = ("object", "thing", "item", "shape")
_SPELLINGS = {"color": "colour", "gray": "grey"}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names of classes and values of attributes that occur in a set of scene graphs."""

    classes: frozenset[str]
    values: frozenset[str]
    attributes: frozenset[str]

    @classmethod
    def of(cls, graphs: Iterable[SceneGraph]) -> Vocabulary:
        """Collect the vocabulary of scene graphs."""
        classes: set[str] = set()
        values: set[str] = set()
        attributes: set[str] = set()
        for graph in graphs:
            for node in graph.objects:
                classes.add(_name(node))
                attributes.update(map(_key, node.attributes))
                values.update(_key(value) for value in node.attributes.values())
        return cls(frozenset(classes), frozenset(values), frozenset(attributes))


def truths(candidate: Candidate, graph: SceneGraph, vocabulary: Vocabulary) -> list[bool | None]:
    """Return for each option whether the graph proves it true (True) or false (False); None if it does neither."""
    question = " ".join(candidate.question.split())
    unknown: list[bool | None] = [None] * len(candidate.options)
    if _NEGATED.search(question):
        return unknown
    if _COUNT.match(question):
        return _counts(counted(question, graph, vocabulary), candidate.options)
    if found := _EXISTENCE.match(question):
        present = [_present(option, graph, vocabulary) for option in candidate.options]
        return (
            present
            if _ANY_CLASS.issuperset(_tokens(found["noun"]))
            else [False if p is False else None for p in present]
        )
    asked = [name for name in vocabulary.attributes if re.search(rf"\b{name}\b", _key(question))]
    objects = named_objects(question, graph, vocabulary)
    if len(asked) == 1 and len(objects) == 1:
        return [_has_value(objects[0], asked[0], option, vocabulary) for option in candidate.options]
    if len(objects) == 2:
        return [_relation(objects[0], objects[1], option, graph) for option in candidate.options]
    return unknown


def counted(question: str, graph: SceneGraph, vocabulary: Vocabulary) -> list[Node] | None:
    """Return the objects that a question counts; None if it is no such question, or counts only some of a class."""
    found = _COUNT.match(" ".join(question.split()))
    if found is None or _NEGATED.search(question) or not _ANYWHERE.issuperset(re.findall(r"\w+", _key(found["rest"]))):
        return None
    return matching(_tokens(found["noun"]), graph, vocabulary)


def reversed_relation(candidate: Candidate, graph: SceneGraph, vocabulary: Vocabulary) -> str | None:
    """Return the annotated relation, in words, if the answer holds only from the second object to the first."""
    objects = named_objects(candidate.question, graph, vocabulary)
    if len(objects) != 2 or _NEGATED.search(candidate.question):
        return None
    answer = candidate.options[candidate.answer_index]
    first, second = objects
    if _relation(first, second, answer, graph) is None and _relation(second, first, answer, graph):
        return f"<{second.spoken}, {_predicate_in(answer, second, first, graph)}, {first.spoken}>"
    return None


def named_objects(text: str, graph: SceneGraph, vocabulary: Vocabulary) -> list[Node]:
    """Return the objects that a text identifies, in the order of the text; empty if a name fits several or none."""
    tokens = [singular(token) for token in re.findall(r"[^\W_]+", _key(text))]
    found, place = [], 0
    while place < len(tokens):
        length = next((n for n in (3, 2, 1) if " ".join(tokens[place : place + n]) in vocabulary.classes), 0)
        described = place > 0 and tokens[place - 1] in vocabulary.values and tokens[place] in _ANY_OBJECT
        if not length and not described:
            place += 1
            continue
        start, length = place, length or 1
        while start and tokens[start - 1] in vocabulary.values:
            start -= 1
        fitting = matching(tokens[start : place + length], graph, vocabulary) or []
        if len(fitting) != 1:
            return []
        found.append(fitting[0])
        place += length
    return found


def matching(tokens: Sequence[str], graph: SceneGraph, vocabulary: Vocabulary) -> list[Node] | None:
    """Return the objects that fit attributes and a class, such as "red star".

    None if a word is not known, or an object of another class may be called so.
    """
    if not tokens:
        return None
    for length in (3, 2, 1):
        noun, before = " ".join(tokens[-length:]), tokens[:-length]
        if len(tokens) >= length and (noun in vocabulary.classes or noun in _ANY_OBJECT):
            if not all(word in vocabulary.values for word in before):
                return None
            if any(_name(node) != noun and may_be_same(_name(node), noun) for node in graph.objects):
                return None
            return [
                node
                for node in graph.objects
                if (noun in _ANY_OBJECT or _name(node) == noun)
                and set(before) <= {_key(value) for value in node.attributes.values()}
            ]
    return None


def _counts(found: Sequence[Node] | None, options: Sequence[str]) -> list[bool | None]:
    numbers = [_number(option) for option in options]
    if found is None or not all(node.countable for node in found):
        return [None] * len(options)
    return [None if number is None else number == len(found) for number in numbers]


def _present(option: str, graph: SceneGraph, vocabulary: Vocabulary) -> bool | None:
    found = matching(_tokens(option), graph, vocabulary)
    return None if found is None else bool(found)


def _has_value(node: Node, attribute: str, option: str, vocabulary: Vocabulary) -> bool | None:
    own = {_key(name): _key(value) for name, value in node.attributes.items()}.get(attribute)
    value = " ".join(_tokens(option))
    if own is None or value not in vocabulary.values:
        return None
    return value == own


def _relation(subject: Node, target: Node, option: str, graph: SceneGraph) -> bool | None:
    return True if _predicate_in(option, subject, target, graph) else None


def _predicate_in(option: str, subject: Node, target: Node, graph: SceneGraph) -> str | None:
    """Return an annotated predicate between the objects that the option starts with, if any."""
    text = re.sub(r"^(?:it|they)?\s*(?:is|are)?\s*(?:to the )?", "", " ".join(_key(option).split()))
    for relation in graph.relations:
        if (relation.subject, relation.object) == (subject.id, target.id):
            predicate = re.escape(_key(relation.predicate))
            if re.match(rf"{predicate}(?:\s+(?:it|them|the .*|{re.escape(_key(target.spoken))}))?\W*$", text):
                return relation.predicate
    return None


def _tokens(text: str) -> list[str]:
    return [singular(token) for token in re.findall(r"[^\W_]+", _ARTICLE.sub("", _key(text.strip())))]


def _name(node: Node) -> str:
    """Return the class of an object as `_tokens` has it."""
    return " ".join(singular(word) for word in re.findall(r"[^\W_]+", _key(node.spoken)))


def _number(option: str) -> int | None:
    text = option.strip(" .").casefold()
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 4 else _NUMBER.get(text)


def _key(text: str) -> str:
    lowered = text.casefold()
    for american, british in _SPELLINGS.items():
        lowered = re.sub(rf"\b{american}\b", british, lowered)
    return lowered


def contradictions(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find answers that the annotation proves false: an option, a reversed relation, a refusal beside a true option."""
    for candidate, graph, vocabulary in _with_graphs(candidates, context):
        found = truths(candidate, graph, vocabulary)
        refusal, right = refusal_index(candidate, context), candidate.answer_index
        true = [label for label, true in zip(candidate.labels, found, strict=True) if true]
        if right == refusal and true:
            yield candidate.id, f"the annotation proves option {true[0]}, but the answer is the refusal"
        elif right != refusal and found[right] is False:
            yield candidate.id, f"the annotation proves that option {candidate.answer} is false"
        elif right != refusal and (relation := reversed_relation(candidate, graph, vocabulary)):
            yield candidate.id, f"the relation is reversed: annotated is {relation}"


def two_correct(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates with a second option that the annotation proves true."""
    for candidate, graph, vocabulary in _with_graphs(candidates, context):
        found = truths(candidate, graph, vocabulary)
        right = candidate.answer_index
        if right != refusal_index(candidate, context):
            others = [candidate.labels[k] for k, true in enumerate(found) if true and k != right]
            if others and found[right] is not False:
                yield candidate.id, f"option {others[0]} is true as well, by the annotation"


def uncountable(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find counts of what an annotation does not count: stuff such as trees, and crowds (rule 6 of Figure A1)."""
    for candidate, graph, vocabulary in _with_graphs(candidates, context):
        for node in counted(candidate.question, graph, vocabulary) or ():
            if not node.countable:
                what = f"a crowd of {node.spoken}" if node.crowd else node.spoken
                yield candidate.id, f"counts {what}, which the annotation does not count"
                break


def _with_graphs(
    candidates: Sequence[Candidate], context: Context
) -> Iterator[tuple[Candidate, SceneGraph, Vocabulary]]:
    vocabulary = Vocabulary.of(context.graphs.values())
    for candidate in candidates:
        if candidate.group in context.graphs:
            yield candidate, context.graphs[candidate.group], vocabulary
