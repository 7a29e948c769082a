"""Parser and metrics of the code released with HumbleBench (package ``humblebench`` 1.0.2), bug for bug.

The package scores a list of {label, question, type, image, question_id, prediction}. `official` parses a prediction as
the package does. `released_label` is the label that the package compares it with. `official_metrics` are the two
numbers of the package that do not follow from parsed answers: they need the raw reply, or the labels as published.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.images import is_recipe_image
from known_unknowns.records import Question

_TOKEN = re.compile(r"\b\w+\b")
_CHOICES = set("abcde")


def official(text: str, question: Question) -> ParsedAnswer:
    """Parse the one letter of a to e that is a word of the lower-cased reply; unparsed if there is none or several.

    These quirks are kept:

    - The article "a" is option A: "A car" and "it is a car" are parsed as A, "E, a car" is unparsed.
    - Option texts are ignored: "None of the above" is unparsed.
    - Words of a chain of thought count.
    - The letters are always a to e. A letter whose option was removed is kept, but the reply is unparsed.
    """
    return parse_label(letter(text), question)


def letter(text: str) -> str | None:
    """Return the letter that `official` finds, whatever the question offers; None if there is none or several."""
    found = _CHOICES.intersection(_TOKEN.findall(text.lower()))
    return found.pop().upper() if len(found) == 1 else None


def exact_refusal(text: str, question: Question) -> bool:
    """Return whether the raw reply is exactly the refusal's letter, as ``E_accuracy`` requires."""
    return question.refusal is not None and text == question.options[question.refusal].label


def released_label(question: Question) -> str:
    """Return the label of the question in the released code ("" if there is no answer).

    Its ``DataLoader`` changes the label of HumbleBench-E to E, but keeps the published labels of HumbleBench-GN
    although the image shows nothing. This function does the same for all generated images.
    """
    if any(is_recipe_image(image) for image in question.images):
        return question.extra["label"]
    return "" if question.answer is None else question.options[question.answer].label


def official_metrics(
    questions: Sequence[Question], texts: Sequence[str], labels: Sequence[str | None]
) -> dict[str, tuple[list[bool], list[bool]]]:
    """Compute the metrics that only the released code has.

    - ``exact_refusal_recall``: its ``E_accuracy``, the share of `exact_refusal` among the questions whose
      `released_label` is the refusal.
    - ``accuracy_published_labels``: its ``Overall_accuracy`` against the labels as published. It is only defined if
      they still name the same options, so not after an option was removed or moved.

    Parameters
    ----------
    questions : sequence of Question
        The questions.
    texts : sequence of str
        The raw replies; "" for a failed reply.
    labels : sequence of str or None
        The labels that `official` parsed.

    Returns
    -------
    dict from str to tuple of list of bool
        Numerator and denominator of each metric, one flag per question.

    References
    ----------
    .. [1] Tong et al., arXiv:2509.09658, Figure 4; the package ``humblebench`` 1.0.2.
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
