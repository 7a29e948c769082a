"""The variants and prompts of the released settings that the paper does not print."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from known_unknowns import variants
from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.humblebench.loader import parse_question, prompt
from tests.factories import asked_by, question
from tests.paths import SHARED

RELEASED = SHARED / "data/humblebench/released"
HAND_COPIED = {
    # id: options A to E and the label, of maifoundations/HumbleBench, shuffle_nota_position/GLM-4.1V and Mulberry
    7011: (["One", "None of the above", "Four", "Two", "Three"], "E"),
    15069: (["A man", "A chef", "None of the above", "A woman", "A child"], "A"),
}


def shuffled_lines() -> dict[int, tuple[list[str], str]]:
    """Every shuffled question that is at hand: the copied ones, and those of the excerpts if there are any."""
    found = dict(HAND_COPIED)
    for file in RELEASED.glob("shuffle_nota_position_*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            _, options = parse_question(row["question"])
            found[row["question_id"]] = ([option.text for option in options], row["label"])
    return found


def before(identifier: int, texts: list[str], label: str) -> Question:
    """The question before the shuffle: the i-th new label has the option of the i-th shuffled label."""
    old = list("ABCDE")
    random.Random(42 + identifier).shuffle(old)
    of_label = dict(zip(old, texts, strict=True))
    options = tuple(Option(letter, of_label[letter], f"{letter}. ") for letter in "ABCDE")
    answer = "ABCDE".index(old["ABCDE".index(label)])
    return replace(question(str(identifier)), options=options, answer=answer, refusal=4)


def test_all_options_are_shuffled_as_released():
    lines = shuffled_lines()
    for identifier, (texts, label) in lines.items():
        original = before(identifier, texts, label)
        assert original.options[4].text.startswith("None of "), identifier  # the published questions have it last
        found = variants.shuffled_all_options(original)
        assert [option.line for option in found.options] == [
            f"{letter}. {text}" for letter, text in zip("ABCDE", texts, strict=True)
        ]
        assert found.labels[found.answer] == label
        assert found.options[found.refusal].text.startswith("None of ")
    assert len(lines) >= 2


def test_another_seed_gives_another_order_and_odd_labels_none():
    orders = {variants.shuffled_all_options(question("7"), seed=seed).options for seed in range(5)}
    assert len(orders) > 1
    spaced = replace(question("7"), options=(replace(question().options[0], mark=" A. "), *question().options[1:]))
    assert variants.shuffled_all_options(spaced) == spaced
    gap = variants.nota_only(question("7"))
    assert variants.shuffled_all_options(gap) == gap


@pytest.mark.parametrize("protocol", ["cautious_prompt", "forced_grounding_prompt"])
def test_the_text_before_the_question_is_sent_before_the_usual_prompt(protocol):
    (turn,) = asked_by(protocol, question())
    assert turn.text.startswith("You are answering a visual multiple-choice question.\n\n")
    assert turn.text.endswith("\n\n\n" + prompt(question()))
    assert turn.labels == tuple("ABCDE")


@pytest.mark.skipif(not RELEASED.is_dir(), reason="no excerpts of the released files")
def test_the_prompts_are_those_of_the_released_files():
    protocols = {"cautious_prompt": "cautious_prompt", "noise_image": "forced_grounding_prompt"}
    for prefix, protocol in protocols.items():
        for file in RELEASED.glob(f"{prefix}*.jsonl"):
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                stem, options = parse_question(row["question"].rpartition("\n\n\n")[2])
                asked = replace(question(), text=stem, options=options)
                (turn,) = asked_by(protocol, asked)
                assert turn.text.startswith(row["question"] + "\nPlease respond with only")
