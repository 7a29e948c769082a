"""How the code released with HumbleBench (package ``humblebench`` 1.0.2) reads and counts replies, bug for bug.

The package scores a list of {label, question, type, image, question_id, prediction}. `official` is how it reads a
prediction, `released_label` the label it would hold it against, `official_metrics` the two of its numbers that
follow from no reading: they need the raw reply, or the labels as published.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from known_unknowns.images import is_drawn
from known_unknowns.records import Question
from known_unknowns.scoring.parsed_answer import ParsedAnswer, parse_label

_TOKEN = re.compile(r"\b\w+\b")
_CHOICES = set("abcde")


def official(text: str, question: Question) -> ParsedAnswer:
    """The one letter of a to e that is a word of the lower-cased reply; unparsed when there is none or several.

    Quirks that are kept: the article "a" is option A ("A car" and "it is a car" answer A, "E, a car" nothing);
    option texts are never read, so that "None of the above" is nothing; words of a chain of thought count; the
    letters are a to e whatever is on offer, and a letter that was removed is kept as read but is unparsed.
    """
    found = _CHOICES.intersection(_TOKEN.findall(text.lower()))
    return parse_label(found.pop().upper() if len(found) == 1 else None, question)


def exact_refusal(text: str, question: Question) -> bool:
    """Whether the raw reply is the refusal's letter and nothing else, which alone counts in ``E_accuracy``."""
    return question.refusal is not None and text == question.options[question.refusal].label


def released_label(question: Question) -> str:
    """The label that the released code has for this question ("" where there is no answer).

    It changes the label of HumbleBench-E to E, but leaves those of HumbleBench-GN as published although nothing
    can be seen (its ``DataLoader``): so do we, wherever the pictures are drawn.
    """
    if any(is_drawn(image) for image in question.images):
        return question.extra["label"]
    return "" if question.answer is None else question.options[question.answer].label


def official_metrics(
    questions: Sequence[Question], texts: Sequence[str], labels: Sequence[str | None]
) -> dict[str, tuple[list[bool], list[bool]]]:
    """Numerator and denominator, one flag a question, of the metrics that only the released code has.

    ``texts`` are the raw replies ("" where one failed), ``labels`` what `official` read.

    - ``exact_refusal_recall``: its ``E_accuracy``, which Figure 4 plots for HumbleBench-E: `exact_refusal` among the
      questions whose `released_label` is the refusal.
    - ``accuracy_published_labels``: its ``Overall_accuracy`` against the labels as published. Only where they still
      name the same options: not after an option was removed or moved.
    """
    released = [released_label(question) for question in questions]
    refusable = [
        q.refusal is not None and right == q.options[q.refusal].label
        for q, right in zip(questions, released, strict=True)
    ]
    exact = [exact_refusal(text, q) for text, q in zip(texts, questions, strict=True)]
    metrics = {
        "exact_refusal_recall": ([e and r for e, r in zip(exact, refusable, strict=True)], refusable),
    }
    if all(right == question.extra["label"] for right, question in zip(released, questions, strict=True)):
        correct = [label == right for label, right in zip(labels, released, strict=True)]
        metrics["accuracy_published_labels"] = (correct, [True] * len(questions))
    return metrics
