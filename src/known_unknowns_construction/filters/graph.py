"""Filters that compare candidates with the scene graph of their image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.filters._interface import Context, Finding, refusal_index
from known_unknowns_construction.filters.statements import Vocabulary, counted, reversed_relation, verdicts
from known_unknowns_construction.scene_graph import SceneGraph


def contradictions(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find answers that the annotation proves false: an option, a reversed relation, a refusal beside a true option."""
    for candidate, graph, vocabulary in _with_graphs(candidates, context):
        found = verdicts(candidate, graph, vocabulary)
        refusal, right = refusal_index(candidate, context), candidate.answer_index
        true = [label for label, verdict in zip(candidate.labels, found, strict=True) if verdict]
        if right == refusal and true:
            yield candidate.id, f"the annotation proves option {true[0]}, but the answer is the refusal"
        elif right != refusal and found[right] is False:
            yield candidate.id, f"the annotation proves that option {candidate.answer} is false"
        elif right != refusal and (relation := reversed_relation(candidate, graph, vocabulary)):
            yield candidate.id, f"the relation is reversed: annotated is {relation}"


def two_correct(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates with a second option that the annotation proves true."""
    for candidate, graph, vocabulary in _with_graphs(candidates, context):
        found = verdicts(candidate, graph, vocabulary)
        right = candidate.answer_index
        if right != refusal_index(candidate, context):
            others = [candidate.labels[k] for k, verdict in enumerate(found) if verdict and k != right]
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
