"""Print the robust parser's processor time per reply, for questions with different option texts.

Usage: ``python bench/parser/speed.py``. Each kind of reply is timed three times, and the fastest is printed.
"""

from __future__ import annotations

import time

from known_unknowns.records import AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring import robust

TEXTS = ("Red", "Blue", "Black", "Gold", "None of the above")
REASONING = (
    "The image shows a large dining room with a long table. Above the table there is a chandelier with many arms. The"
    " walls are painted in a light tone and the carpet has a dark pattern. To determine the color of the chandelier, I"
    " look at its arms and at the chains. The metal parts reflect the light of the bulbs and look yellowish. A red"
    " chandelier would look different, and a blue one is not visible. The black parts in the upper region of the image"
    " belong to the window frame and not to the lamp. The chandelier itself has a shiny surface that is typical of"
    " brass or of gilded metal. All other colors can be ruled out. Therefore, the answer is D. Gold{}."
)
REPLIES = {"a bare letter": "D", "an option's line": "D. Gold{}", "a sentence": "It is gold{}.", "reasoning": REASONING}


def seconds(reply: str, numbers: range) -> float:
    """Return the time per reply to questions with these numbers, which make their options different."""
    pairs = []
    for number in numbers:
        texts = [text if text == TEXTS[-1] else f"{text}{number}" for text in TEXTS]
        options = tuple(Option(label, text, f"{label}. ") for label, text in zip("ABCDE", texts, strict=True))
        question = Question(str(number), "", f"What color is chandelier {number}?", options, 3, 4, (), "", "")
        turn = AnsweredTurn(str(number), 0, "answer", "", (), question.labels, "", Reply(reply.format(number)))
        pairs.append((turn, question))
    start = time.process_time()
    for turn, question in pairs:
        robust(turn, question)
    return (time.process_time() - start) / len(numbers)


def main() -> None:
    """Print the table."""
    for place, (name, reply) in enumerate(REPLIES.items()):
        starts = [1500 * place + 500 * repeat for repeat in range(3)]
        best = min(seconds(reply, range(start, start + 500)) for start in starts)
        print(f"{name}, {len(reply)} characters: {best * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
