"""The report's section on MM-UPD."""

from __future__ import annotations

from known_unknowns.benchmark.section import Section
from known_unknowns_benchmarks.mm_upd.subsets import SUBSETS

SECTION = Section(
    title="MM-UPD",
    headline=("mm_upd_base", "original", "mm_upd_instruction"),
    measured=("circular_dual", "dual accuracy in percent"),
    headline_note="Dual accuracy under circular evaluation: the standard question and its unsolvable counterpart are "
    "both right in every rotation of their options. “As released” is the matching of letters alone; the released code "
    "then asks a language model, whose place the robust parser takes.",
    by_type=("mm_upd_base", "original", "mm_upd_instruction"),
    names={
        "original": "MM-UPD, option",
        "mm_upd_base": "MM-UPD, base",
        "mm_upd_instruction": "MM-UPD, instruction",
        "mm_upd_standard": "MM-UPD, original standard",
    },
    categories=SUBSETS,
    answers_note="The last label is that of the option that withholds an answer, F in the instruction setting. Only "
    "the option setting shows this option.",
    template="mm_upd/section.html.j2",
)
