"""Every branch of every protocol, driven with scripted replies."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from known_unknowns import engines, variants
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.inference.bound_protocols import answer_key, impossible_combination
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.protocols import PROTOCOLS
from known_unknowns.records import AnsweredTurn, AnswerKey, Cell, Image, Option, Question, Reply, ResolvedProtocol
from known_unknowns.scoring import PARSERS
from known_unknowns_benchmarks.mmsap import loader as mmsap
from tests.factories import PARSER_NAMES, asked_by, context, model_entry
from tests.factories import question as humble_question

REFUSAL = "Sorry, I can't help with it"
MAPO = ["Ma La Xiang Guo", "Chili Con Carne", REFUSAL, "Vegetarian Chili", "Mapo Tofu"]


single_turn, forced_choice, refusal_prompt = (
    partial(asked_by, name) for name in ("single_turn", "forced_choice", "refusal_prompt")
)


def question(identifier="1", subset="KnowVisQA", answer=4, refusal=2, texts=MAPO):
    """By default: C is the refusal and E is right."""
    return Question(
        id=identifier,
        benchmark="mmsap",
        text="What is the dish?",
        options=tuple(Option(x, text, f"{x}. ") for x, text in zip("ABCDE", texts, strict=False)),
        answer=answer,
        refusal=refusal,
        images=(Image("images/a.png", "a" * 64, 40, 30),),
        category="Food",
        group="a" * 64,
        extra={"subset": subset},
    )


def talk(protocol, *replies):
    """The turns that a protocol takes when it hears these replies, and whether it hears them all."""
    turns = [next(protocol)]
    for said in replies:
        try:
            turns.append(protocol.send(said if isinstance(said, Reply) else Reply(said)))
        except StopIteration:
            return turns
    return turns


PROMPT = """What is the dish?
A. Ma La Xiang Guo
B. Chili Con Carne
C. Sorry, I can't help with it
D. Vegetarian Chili
E. Mapo Tofu
Answer with the option's letter from the given choices directly."""
FORCED = PROMPT.replace("C. Sorry, I can't help with it\n", "")


def test_single_turn_asks_once():
    (turn,) = talk(single_turn(question(), max_new_tokens=5), "C")
    assert (turn.step, turn.text, turn.labels, turn.max_new_tokens) == ("answer", PROMPT, tuple("ABCDE"), 5)
    assert turn.images == question().images


@pytest.mark.parametrize("said", ["C", " C.", REFUSAL, "sorry, I can’t help with it.", "I do not know"])
def test_a_refused_question_is_asked_again_without_the_refusal(said):
    first, second = talk(forced_choice(question(), max_new_tokens=7), said, "E")
    assert (first.step, second.step) == ("answer", "forced")
    assert first.text == PROMPT and second.text == FORCED
    assert second.labels == ("A", "B", "D", "E")  # the others keep their letters
    assert second.images == first.images and second.max_new_tokens == 7
    assert answer_key(question(), first) == AnswerKey("E", "C")
    assert answer_key(question(), second) == AnswerKey("E", "")


@pytest.mark.parametrize("said", ["E", "A", "F", "", "None of the options is right", "Answer: E", "not C"])
def test_a_reply_that_is_no_refusal_ends_the_dialogue(said):
    assert len(talk(forced_choice(question()), said)) == 1


def test_a_failed_reply_is_not_parsed():
    assert len(talk(forced_choice(question()), Reply("C", error="out of memory"))) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply("The answer is C."),  # robust alone reads it
        Reply("E", logprobs={"A": -3.0, "B": -3.0, "C": -0.2, "D": -3.0, "E": -2.0}),  # likelihood alone
    ],
)
def test_a_refusal_under_any_parser_is_followed_by_the_forced_choice(reply):
    asked = AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "", reply)
    assert sum(read(asked, question()).outcome == "refused" for read in map(PARSERS.get, PARSER_NAMES)) == 1
    assert [turn.step for turn in talk(forced_choice(question()), reply, "E")] == ["answer", "forced"]


@pytest.mark.parametrize("subset", ["BasicVisQA", "BeyondVisQA"])
def test_forced_choice_applies_to_knowvisqa_only(subset):
    answer = 2 if subset == "BeyondVisQA" else 4
    assert len(talk(forced_choice(question(subset=subset, answer=answer)), "C")) == 1


@pytest.mark.parametrize("variant", ["nota_only", "noise", "gaussian", "blank", "without_refusal"])
def test_no_forced_choice_if_the_refusal_is_right_or_absent(variant):
    varied = variants.VARIANTS[variant](question())
    said = "C" if varied.refusal is not None else "A"
    assert len(talk(forced_choice(varied), said)) == 1


def test_forced_choice_applies_without_an_image():
    first, second = talk(forced_choice(variants.text_only(question())), "C", "B")
    assert first.images == second.images == ()


@pytest.mark.parametrize("seed", range(12))
def test_forced_choice_keeps_the_letters_of_shuffled_options(seed):
    shuffled = variants.shuffled_options(question(), seed=seed)
    refuse, right = shuffled.labels[shuffled.refusal], shuffled.labels[shuffled.answer]
    assert shuffled.options[shuffled.answer].text == "Mapo Tofu"
    _, second = talk(forced_choice(shuffled), refuse, right)
    assert answer_key(shuffled, second).right == right and second.labels == tuple(x for x in "ABCDE" if x != refuse)
    assert f"\n{right}. Mapo Tofu\n" in second.text and REFUSAL not in second.text


def test_the_refusal_prompt_is_in_the_first_turn_only():
    hint = " If you don't know the answer, please reply with 'Sorry, I can't help with it'."
    first, second = talk(refusal_prompt(question()), "C", "E")
    assert first.text == PROMPT + hint
    assert second.text == FORCED and second.step == "forced"
    assert len(talk(refusal_prompt(question()), "E")) == 1
    assert len(talk(refusal_prompt(question(subset="BasicVisQA")), "C")) == 1


def test_a_benchmark_without_a_refusal_prompt_is_an_error():
    with pytest.raises(ValueError, match="humblebench has no refusal prompt"):
        next(refusal_prompt(humble_question()))


def test_forced_choice_on_humblebench_removes_the_refusal():
    _, second = talk(forced_choice(humble_question(answer=1)), "E", "B")
    assert second.labels == ("A", "B", "C", "D")
    assert answer_key(humble_question(answer=1), second) == AnswerKey("B", "")
    assert "E" not in second.text.split("(")[1] and "None of the above" not in second.text


def mixed():
    """Ten questions: 4 basic, 3 know (right at A, B, C; the refusal at E), 3 beyond (the refusal at A, B, C)."""
    texts = ["v", "w", "x", "y", REFUSAL]
    rotated = [[REFUSAL if k == i else t for k, t in enumerate("vwxyz")] for i in range(3)]
    basic = [question(f"b{i}", "BasicVisQA", i, 4, texts) for i in range(4)]
    know = [question(f"k{i}", "KnowVisQA", i, 4, texts) for i in range(3)]
    beyond = [question(f"u{i}", "BeyondVisQA", i, i, rotated[i]) for i in range(3)]
    return [*basic, *know, *beyond]


def replies(tmp_path, behaviour, protocol, questions):
    engine = engines.create("x", model_entry("respondent", behaviour=behaviour))
    with Journal(tmp_path / "journal") as journal:
        outcome = run({Cell("original", 0): (partial(asked_by, protocol), questions)}, engine, journal, folder=Path())
    return {(row.question_id, row.step): row for row in outcome.replies[Cell("original", 0)]}


def test_always_refuse_is_wrong_in_the_forced_choice(tmp_path):
    rows = replies(tmp_path, "always_refuse", "forced_choice", mixed())
    forced = {identifier for identifier, step in rows if step == "forced"}
    assert forced == {"k0", "k1", "k2"}
    for q in mixed():
        assert mmsap.official(rows[q.id, "answer"].reply.text, q).outcome == "refused"
        if q.id in forced:
            row = rows[q.id, "forced"]
            assert row.reply.text == "" and row.labels == ("A", "B", "C", "D")
            assert {read(row, q).outcome for read in map(PARSERS.get, PARSER_NAMES)} == {"unparsed"}


def test_the_uniform_respondent_chooses_among_the_options_of_each_turn(tmp_path):
    many = [replace(q, id=f"{q.id}-{k}") for k in range(60) for q in mixed()[4:7]]
    rows = replies(tmp_path, "uniform", "forced_choice", many)
    forced = [row for (_, step), row in rows.items() if step == "forced"]
    # 180 questions, one in five refused: 36 expected, standard deviation 5.4.
    assert 18 < len(forced) < 54
    assert all(row.reply.text in "ABCD" for row in forced)
    by_id = {q.id: q for q in many}
    # The likelihood parser agrees with the reply: nothing of the first turn leaks into the second.
    assert all("ABCDE"[PARSERS["likelihood"](row, by_id[row.question_id]).choice] == row.reply.text for row in forced)
    assert all(math.isclose(sum(map(math.exp, row.reply.logprobs.values())), 1, rel_tol=1e-4) for row in forced)


def test_only_configured_parsers_decide_whether_a_question_is_asked_again(monkeypatch):
    """Defect: every registered parser did, so that registering one changed what models are asked."""
    monkeypatch.setitem(PARSERS, "suspicious", lambda answered, question: ParsedAnswer("refused", "C", 2))

    def turns(parsers):
        ask_again = PROTOCOLS["forced_choice"].bind(
            ResolvedProtocol.of(name="forced_choice"), context=context("mmsap", parsers)
        )
        return len(talk(ask_again(question()), "E", "E"))

    assert turns(["official", "robust", "likelihood"]) == 1
    assert turns(["official", "suspicious"]) == 2


@pytest.mark.parametrize(("parsers", "turns"), [(["official"], 1), (["robust"], 2), (["likelihood", "robust"], 2)])
def test_only_configured_parsers_are_used(parsers, turns):
    """Only the robust parser accepts this sentence."""
    protocol = PROTOCOLS["forced_choice"].bind(
        ResolvedProtocol.of(name="forced_choice"), context=context("mmsap", parsers)
    )
    assert len(talk(protocol(question()), "The answer is C.", "E")) == turns


@pytest.mark.parametrize(
    ("benchmark", "variant", "protocol", "reason"),
    [
        ("mmsap", "shuffled_options", "refusal_prompt", None),
        ("humblebench", "text_only", "single_turn", None),
        ("actiview", "text_only", "text_only_template", None),
        ("actiview", "noise", "zooming", None),
        ("actiview", "text_only", "zooming", "'text_only' removes the images that the protocol 'zooming' needs"),
        ("actiview", "text_only", "full_image", "'text_only' removes the images that the protocol 'full_image' needs"),
        ("humblebench", "original", "refusal_prompt", "needs a refusal prompt"),
        ("mmsap", "original", "zooming", "'zooming' is a protocol of another benchmark"),
    ],
)
def test_impossible_combinations_are_found_before_inference(benchmark, variant, protocol, reason):
    found = impossible_combination(registry.get(benchmark), variant, protocol)
    assert found is None if reason is None else reason in found
