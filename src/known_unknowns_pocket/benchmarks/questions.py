"""Questions with five options about a scene. Right and wrong follow from its scene graph.

A template yields drafts: a stem, the true answer, three false options, and a fourth false option of the same type
as the true answer, which replaces it if "None of the above" is to be right. The composition of the options
therefore does not reveal whether one of them is true.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from known_unknowns_pocket.benchmarks import question_templates
from known_unknowns_pocket.benchmarks.question_templates import REFUSAL, Draft, Fact, QuestionTemplate
from known_unknowns_pocket.scenes import ALL_PAIRS, Pair, Scene

LETTERS = "ABCDE"
TYPES = ("Object", "Relation", "Attribute")

# Templates and weights: the probability of a template to be tried first is proportional to its weight.
_TEMPLATES: dict[str, tuple[tuple[QuestionTemplate, float], ...]] = {
    "Object": ((question_templates.existence, 1.5), (question_templates.count, 2)),
    "Relation": ((question_templates.where, 2), (question_templates.related, 1)),
    "Attribute": (
        (question_templates.colour, 2),
        (question_templates.shape, 1),
        (question_templates.texture, 1),
        (question_templates.owner, 1),
    ),
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with five options, the last of which is always "None of the above"."""

    type: str
    kind: str
    stem: str
    options: tuple[str, ...]
    answer: str
    truth: str  # the true answer in words, also if it is not an option and `answer` is "E"
    # the statements about the scene that make the answer true, such as ("colour", 2, "red") or ("left of", 0, 3)
    # with ids of objects
    facts: tuple[Fact, ...]
    topic: tuple[str | int, ...]  # what the question asks about. No two questions on a scene share it.

    @property
    def text(self) -> str:
        """Stem and lettered options, as HumbleBench publishes them."""
        lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=True)]
        return "\n".join([self.stem, *lines])


def questions_for(
    scene: Scene,
    rng: random.Random,
    *,
    wanted: Sequence[str] = TYPES,
    letter: Callable[[str], str] | None = None,
) -> tuple[Question, ...]:
    """Return questions on one scene, one for each of the types ``wanted``, in this order.

    A type is left out if the scene has no further question of it. ``letter`` returns the right letter for a type; by
    default each of A to E has the same probability.
    """
    allowed = frozenset(ALL_PAIRS)
    asked: set[tuple[str | int, ...]] = set()
    questions = []
    for question_type in wanted:
        draft = next((d for d in _drafts(scene, rng, question_type, allowed) if d.topic not in asked), None)
        if draft is not None:
            asked.add(draft.topic)
            right = rng.choice(LETTERS) if letter is None else letter(question_type)
            questions.append(compose(draft, question_type, right, rng))
    return tuple(questions)


def compose(draft: Draft, question_type: str, answer: str, rng: random.Random) -> Question:
    """Return the draft as a question of the given type whose right letter is `answer`."""
    options = rng.sample(draft.false, len(draft.false))
    if answer == "E":
        options.insert(rng.randrange(4), draft.substitute)
    else:
        options.insert(LETTERS.index(answer), draft.truth)
    return Question(
        type=question_type,
        kind=draft.kind,
        stem=draft.stem,
        options=(*options, REFUSAL),
        answer=answer,
        truth=draft.truth,
        facts=draft.facts,
        topic=draft.topic,
    )


def _drafts(scene: Scene, rng: random.Random, question_type: str, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Yield every draft of a type, the templates in a random order that follows their weights."""
    # The least of exponential variables is the first with a probability proportional to its rate.
    order = sorted(_TEMPLATES[question_type], key=lambda entry: rng.expovariate(entry[1]))
    for kind, _ in order:
        yield from kind(scene, rng, allowed)
