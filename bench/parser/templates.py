"""Count the errors of the robust parser on usual forms of a reply, with all questions of the labelled replies.

Usage: ``python bench/parser/templates.py [--examples N]``. Each question is asked with its own options, and with those
of its options that are no refusal followed by each known refusal or none. Each form of a reply gives each option.
docs/parsers.md has the result.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from bench.parser.agreement import REFUSAL, REPLIES, UNPARSED, parse

LETTERS = "ABCDEFGH"
REFUSALS = ("None of the above", "Sorry, I can't help with it")
FORMS = (
    *(
        "{L}",
        "{L}.",
        "({L})",
        "[{L}]",
        '"{L}"',
        "**{L}**",
        "Option {L}",
        "Choice {L}",
        "{L}</s>",
        "assistant\n{L}",
        "{L}。",
    ),
    *("{L}) {T}", "{L}. {T}", "{L}. {T}.", "{L}: {T}", "({L}) {T}", "{L} - {T}", "{L}, {T}", "{L} {T}", "**{L}. {T}**"),
    *("{T}", "{T}.", "{t}", "{t}.", "Answer: {T}", "Final Answer: {T}", "The answer is {T}.", "The answer is {t}."),
    *("Based on the image, the answer is {t}.", "I think the answer is {T}.", "I choose {L}. {T}"),
    *("Answer: {L}", "Answer:{L}", "ANSWER: {L}", "Answer: {L}. {T}", "**Answer:** {L}", "**Answer: {L}. {T}**"),
    *("### Answer\n\n{L}", "Final answer: {L}", "Correct answer: {L}", "Solution: {L}", "Option {L}: {T}"),
    *("The answer is {L}.", "The answer is {L}. {T}", "My answer is {L}.", "The best answer is {L}.", "It is {L}."),
    *("The correct answer is {L}.", "The correct answer is ({L}) {T}.", "The correct answer is **{L}. {T}**."),
    *("The correct option is {L}.", "Thus, the answer is {L}.", "So the answer is {L}. {T}.", "I would choose {L}."),
    *("Based on the image, the correct answer is {L}. {T}.", "The answer to the question is {L}. {T}."),
    *("Therefore, the correct answer is:\n\n{L}. {T}", "The image shows this clearly, so the answer is {L}."),
    *("Looking at the image, I can see the details clearly. The answer is {L}.", "\\boxed{{{L}}}"),
    *("{L}. {T}\n\nExplanation: This is what the image shows.", "The final answer is $\\boxed{{{L}}}$."),
    *("<answer>{L}</answer>", "<think>It could be another one.</think>\n\n{L}", '{{"answer": "{L}"}}'),
    *("<think>Hmm.</think><answer>{L}. {T}</answer>", "答案是{L}。", "答案：{L}", "Die Antwort ist {L}."),
    *("La respuesta es {L}.", "La réponse est {L}."),
)
"""L is the label, T the text, t the text with a small first letter."""


def questions() -> Iterator[tuple[str, dict[str, str], str | None]]:
    """Yield the question, the options and the refusal's label of all labelled replies, and their variants."""
    seen: dict[tuple[str, tuple[tuple[str, str], ...]], str | None] = {}
    for file in sorted(REPLIES.parent.glob("*.jsonl")):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            seen.setdefault((row["question"], tuple(row["options"].items())), row["refusal"])
    for (question, options), refusal in seen.items():
        texts = [text for label, text in options if label != refusal]
        if len(texts) > 4 or not set(dict(options)) <= set(LETTERS):
            yield question, dict(options), refusal
            continue
        yield question, dict(zip(LETTERS, texts, strict=False)), None
        for last in REFUSALS:
            label = LETTERS[len(texts)]
            yield question, dict(zip(LETTERS, [*texts, last], strict=False)), label


def is_ambiguous(options: Mapping[str, str]) -> bool:
    """Whether an option's text is a label, so that a letter can mean two options."""
    return any(text.strip(" .").casefold() in {label.casefold() for label in options} for text in options.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1, help="wrong and missed replies to print for each form")
    chosen = parser.parse_args()
    counts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    examples: dict[str, list[str]] = defaultdict(list)
    for question, options, refusal in questions():
        for label, text in options.items():
            for form in FORMS:
                reply = form.format(L=label, T=text, t=text[:1].lower() + text[1:])
                row = {"id": "1", "question": question, "options": options, "refusal": refusal, "reply": reply}
                found, expected = parse(row), REFUSAL if label == refusal else label
                outcome = "right" if found == expected else "missed" if found == UNPARSED else "wrong"
                counts[is_ambiguous(options)][outcome] += 1
                if outcome != "right" and len(examples[form]) < chosen.examples and not is_ambiguous(options):
                    examples[form].append(f"{outcome}: {reply!r} to {question!r}, {options}: {found}")
    for ambiguous, found in counts.items():
        print(f"{'an option is a label' if ambiguous else 'other questions'}: {found.total():,} replies, {dict(found)}")
    print("\n".join(line for lines in examples.values() for line in lines))


if __name__ == "__main__":
    main()
