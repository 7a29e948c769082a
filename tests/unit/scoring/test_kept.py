"""What the official parser reads of whole and cut replies, beside the rules of HumbleBench's model files (0a34e68).

Each rule in words, with its file, is above its replies; the part that it stores is written by hand.
"""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.kept_part import kept_part
from known_unknowns.comparison.settings import published_settings
from known_unknowns.config import catalogue
from known_unknowns.records import ANSWERED, CUT, UNPARSED, AnsweredTurn, Reply
from known_unknowns.scoring import official, parsers_with
from known_unknowns.scoring.dialogues import parsed_answer
from known_unknowns_benchmarks.humblebench.official import exact_refusal
from tests.factories import question

RULES = {
    # models/GLM41V.py: after <answer>, if it occurs once; else after </think>, if it occurs once; both up to a full
    # stop; else all. The template opens the reasoning.
    "GLM-4.1V-Thinking": [
        ("Got it. A? No, b.</think><answer>B. Gold</answer>", "B"),
        ("Got it. A? No.</think>\nThe answer is B. Not c.", "The answer is B"),
        ("Got it, <answer> stands for a. Then b.</think><answer>B</answer>", "<answer>B</answer>"),
        ("Got it. It may be option a", "Got it. It may be option a"),  # cut within the reasoning
        ("Got it. B</think><answer>B", "B"),  # cut within the answer
        ("Got it.</think><answer>B</answer> or <answer>C</answer>", "<answer>B</answer> or <answer>C</answer>"),
        ("B</think> no </think> C.", "B</think> no </think> C."),
    ],
    # models/R1_Onevision.py: after </think>, if it occurs once; of that, what follows the last "Answer", or else
    # "answer", if one of the two words occurs once. Without one </think>, all.
    "R1-Onevision": [
        ("<think>a or b</think>\n**Answer:** B", ":** B"),
        ("<think>a or b</think> The answer is B", "is B"),
        ("<think>The answer is a</think> B", "B"),
        ("<think>The answer is a</think> Answer: B, my answer", ": B, my answer"),
        ("<think>x</think> answer A, answer B", "answer A, answer B"),
        ("<think>x</think> Answer A, Answer B, answer C", "B, answer C"),
        ("<think>It may be b. The answer", "<think>It may be b. The answer"),  # cut: all, and not what follows "answer"
        ("Answer: B", "Answer: B"),
    ],
    # models/LLaVA_CoT.py: after <CONCLUSION>, if it occurs once; else all.
    "LLaVA-CoT": [
        ("<SUMMARY>s</SUMMARY><REASONING>a, not c</REASONING><CONCLUSION> B </CONCLUSION>", "B </CONCLUSION>"),
        ("<SUMMARY>s</SUMMARY><REASONING>It is b", "<SUMMARY>s</SUMMARY><REASONING>It is b"),
        ("<REASONING>a</REASONING><CONCLUSION>B", "B"),
        ("<CONCLUSION>A</CONCLUSION><CONCLUSION>B", "<CONCLUSION>A</CONCLUSION><CONCLUSION>B"),
    ],
    # models/Visionary_R1.py: after the last <answer>, without </answer>; else all.
    "Visionary-R1": [
        ("<info>a</info><think>b or c</think><answer> B </answer>", "B"),
        ("<info>a room</info><think>It is b", "<info>a room</info><think>It is b"),
        ("<think>b</think><answer>A</answer><answer>C", "C"),
    ],
    # models/R1-VL.py: after "answer is:", if it occurs once, up to a full stop; else all.
    "R1-VL": [
        ("### Let's think. a\n### The final answer is: B. Gold", "B"),
        ("### Let's think. It is c", "### Let's think. It is c"),
        ("answer is: A answer is: B", "answer is: A answer is: B"),
    ],
    # models/Mulberry.py: after "final answer is:", if it occurs once; else all.
    "Mulberry": [
        ("### Rationales: a\n### The final answer is: B. Gold", "B. Gold"),
        ("### Rationales: the answer is: c", "### Rationales: the answer is: c"),
    ],
    # models/Ovis_2.py: after "answer is", if it occurs once; else all.
    "Ovis-2": [("Step 1: a.\nThe answer is B.", "B."), ("Step 1: a.", "Step 1: a.")],
}
CASES = [(row, *case) for row, cases in RULES.items() for case in cases]


def kept_of(row: str) -> str:
    """The pattern of a published row, which is also that of the entry for it."""
    kept = published_settings("humblebench")[row].of("original")["kept"]
    entries = [entry for entry in catalogue.models().values() if entry.published_row("humblebench") == row]
    assert [entry.asked_in("humblebench").kept for entry in entries] == [kept]
    return kept


@pytest.mark.parametrize(("row", "reply", "stored"), CASES)
def test_the_authors_stored_part(row, reply, stored):
    assert kept_part(reply, kept_of(row)) == stored


def test_the_end_of_a_line_is_no_part_of_the_exact_letter():
    """HumbleBench's Figure 4 counts replies that are exactly the refusal's label; its model files strip them."""
    kept = kept_part("### The final answer is: E\n", kept_of("Mulberry"))
    assert exact_refusal(kept, question())


def test_every_row_with_a_pattern_is_here():
    rows = published_settings("humblebench").items()
    assert {row for row, settings in rows if settings.of("original").get("kept")} == set(RULES)


def answered(reply: Reply) -> AnsweredTurn:
    return AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "k", reply)


@pytest.mark.parametrize(
    ("row", "raw", "outcome", "label"),
    [
        ("GLM-4.1V-Thinking", "Got it. It may be b", ANSWERED, "B"),  # the authors find the one letter of a cut reply
        ("LLaVA-CoT", "<REASONING>It is b", ANSWERED, "B"),
        ("Visionary-R1", "<think>It is b", ANSWERED, "B"),
        ("R1-Onevision", "<think>It is b, not c. The answer is b", CUT, None),  # two letters; after "answer" it was one
    ],
)
def test_a_cut_reply_is_read_as_a_whole(row, raw, outcome, label):
    """The text of such a reply is empty, because the reasoning did not end."""
    parse = parsers_with(kept_of(row))["official"]
    parsed = parsed_answer(answered(Reply("", raw=raw, finish="length")), question(), "official", parse)
    assert (parsed.outcome, parsed.label) == (outcome, label)


def test_without_a_pattern_the_official_parser_reads_the_text_after_the_reasoning():
    reply = Reply("B", raw="<think>a or c</think>B")
    assert official(answered(reply), question()).label == "B"
    assert official(answered(reply), question(), kept="no such part").outcome == UNPARSED  # a, b and c
