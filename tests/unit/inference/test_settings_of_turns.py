"""``prompt``, ``order`` and ``kept`` of an entry, for every protocol: through `bound_protocols.bound` alone."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.kept_part import kept_part
from known_unknowns.benchmark.protocol import arrange
from known_unknowns.inference.bound_protocols import bound, ignored_prompt, protocols_of
from known_unknowns.records import AnsweredTurn, Image, Question, Reply, ResolvedProtocol, Turn
from known_unknowns.scoring import parsers_with
from tests.factories import model_entry, question

FULL, LEFT = Image("full.png", "f" * 64, 40, 30), Image("left.png", "e" * 64, 40, 30)
ONE_IMAGE = {"humblebench": ("single_turn", "forced_choice", "cautious_prompt"), "mmsap": ("refusal_prompt",)}


def model(**settings):
    return model_entry("openai", source="parrot-1", **settings)


def turns(asked: Question, protocol: str, *replies: str, **settings) -> list[Turn]:
    """The turns of a protocol, answered by these replies."""
    benchmark = registry.get(asked.benchmark)
    parsers = ["official", "robust"]
    dialogue = bound(benchmark, ResolvedProtocol.of(name=protocol), parsers=parsers, model=model(**settings))(asked)
    found = [next(dialogue)]
    for reply in replies:
        try:
            found.append(dialogue.send(Reply(reply)))
        except StopIteration:
            break
    return found


def test_the_prompt_takes_the_place_of_the_benchmarks_own_in_every_turn():
    asked = question()
    first, second = turns(asked, "forced_choice", "E", prompt="Look. {question}\nThink first.")
    assert first.text == f"Look. {asked.rendered}\nThink first."
    assert second.text == first.text.replace("\nE. None of the above", "")
    (plain,) = turns(asked, "single_turn")
    assert plain.text == registry.get("humblebench").prompt(asked) != first.text


def test_braces_of_a_question_stay_as_they_are():
    asked = question(text="What is {x}?")
    (turn,) = turns(asked, "single_turn", prompt="{question}!")
    assert turn.text == f"{asked.rendered}!"


@pytest.mark.parametrize(("benchmark", "protocol"), [(b, p) for b, names in ONE_IMAGE.items() for p in names])
def test_the_order_applies_to_every_protocol(benchmark, protocol):
    asked = question(benchmark=benchmark)
    (plain,) = turns(asked, protocol)
    (text_first,) = turns(asked, protocol, order="text_first")
    assert plain.content == (*asked.images, plain.text)
    assert text_first.content == (plain.text, *asked.images)
    assert turns(asked, protocol, order="images_first") == [plain]


def test_the_text_names_images_that_stood_within_it():
    content = ("See ", FULL, ", the full one; ", LEFT, ", the left part.")
    text = "See image 1, the full one; image 2, the left part."
    assert arrange(content, "images_first") == (FULL, LEFT, text)
    assert arrange(content, "text_first") == (text, FULL, LEFT)
    assert arrange((FULL, " is the full image."), "images_first") == (FULL, "image 1 is the full image.")
    assert arrange((FULL, LEFT, "Which?"), "text_first") == ("Which?", FULL, LEFT)
    assert arrange(("Which?",), "images_first") == ("Which?",)


def test_protocols_with_texts_of_their_own_are_named():
    entry = model(prompt="{question}!")
    assert ignored_prompt(registry.get("actiview"), ["full_image", "zooming"], entry) == "full_image"
    assert ignored_prompt(registry.get("humblebench"), protocols_of(registry.get("humblebench")), entry) is None
    assert (
        ignored_prompt(registry.get("actiview"), ["full_image"], model(asked={"mmsap": {"prompt": "{question}"}}))
        is None
    )


@pytest.mark.parametrize(
    ("pattern", "reply", "kept"),
    [
        ("answer is(.*)", "It is red.\nSo the answer is\nB", "B"),
        ("answer is(.*)", "B", "B"),
        ("<answer>(.*?)</answer>|Answer: (.)", "Answer: C.", "C"),
        ("[A-E]$", "I choose D", "D"),
    ],
)
def test_what_is_kept_of_a_reply(pattern, reply, kept):
    assert kept_part(reply, pattern) == kept


def test_only_the_official_parser_reads_what_is_kept():
    asked, text = question(), "A is wrong and B is wrong. The answer is C"
    turn = AnsweredTurn(asked.id, 0, "answer", "", (), asked.labels, "", Reply(text))
    whole, cut = parsers_with(None), parsers_with("answer is(.*)")
    assert cut["official"](turn, asked).label == "C" != whole["official"](turn, asked).label
    assert cut["robust"] is whole["robust"]
    assert turn.reply.text == text


def test_what_is_kept_decides_whether_a_refusal_is_asked_again():
    """HumbleBench's parser alone: it takes the first letter of the whole reply, and E of what is kept."""
    asked, reply = question(), "A is wrong. The answer is E"
    benchmark, protocol = registry.get("humblebench"), ResolvedProtocol.of(name="forced_choice")
    counts = {}
    for settings in ({}, {"kept": "answer is(.*)"}):
        dialogue = bound(benchmark, protocol, parsers=["official"], model=model(**settings))(asked)
        next(dialogue)
        try:
            dialogue.send(Reply(reply))
            counts[bool(settings)] = 2
        except StopIteration:
            counts[bool(settings)] = 1
    assert counts == {False: 1, True: 2}
