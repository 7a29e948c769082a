"""Check of MM-UPD's files against the paper (Section 4.1, Table B); see `known_unknowns.data.check`."""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from known_unknowns.benchmark.checks import (
    ERROR,
    WARNING,
    CheckState,
    Finding,
    ImageChecks,
    Quantity,
    option_findings,
    with_expected,
)
from known_unknowns.benchmark.loading import Row
from known_unknowns.config import DataEntry, ScenesData
from known_unknowns.errors import DataError
from known_unknowns_benchmarks.mm_upd import loader
from known_unknowns_benchmarks.mm_upd.format import (
    BASE,
    OPTION,
    PASS,
    REFUSALS,
    STANDARD,
    SUBSETS,
    UPD,
    file_of,
    image_of,
    index_of,
    options_of,
    required,
    rows,
    text_of,
    type_of,
)

Key = tuple[str, int]
"""The type and the index of a row."""


@dataclass
class _State(CheckState):
    """Findings and counts of one subset."""

    passes: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    options: dict[Key, list[str]] = field(default_factory=dict)
    abilities: Counter[str] = field(default_factory=Counter)
    equal: int = 0


def check(raw: Path, *, settings: DataEntry | None = None) -> tuple[list[Quantity], list[Finding]]:
    """Check the files under ``raw`` (`known_unknowns.benchmark.interface.Check`).

    The paper's numbers are expected, except for rendered data (``source: scenes``).
    """
    images, states = ImageChecks(plain=True), {subset: _State() for subset in SUBSETS}
    for subset, state in states.items():
        for setting, take in ((BASE, _base_row), (OPTION, _option_row)):
            try:
                for row in rows(file_of(raw, settings, subset, setting)):
                    take(row, subset, images, state)
            except DataError as error:
                state.add(ERROR, "unreadable-file", f"{subset} {setting}", f"{error}; the rest was not checked")
        _circular(subset, state)
    findings = [finding for state in states.values() for finding in state.findings]
    published = not isinstance(settings, ScenesData)
    quantities = with_expected(_quantities(states), Path(__file__).parent, published=published)
    return quantities, [*findings, *images.findings, *images.closing()]


def _key_and_options(row: Row, state: _State) -> tuple[str, int | None, str | None, list[str] | None]:
    where = f"{row.file.name}, row {row.number}"
    index = state.attempt("index", where, lambda: index_of(row))
    kind = state.attempt("type", where, lambda: type_of(row))
    return where, index, kind, state.attempt("unreadable-options", where, lambda: options_of(row))


def _base_row(row: Row, subset: str, images: ImageChecks, state: _State) -> None:
    """Check a row of the base setting, which the questions are made of."""
    where, index, kind, texts = _key_and_options(row, state)
    data = state.attempt("unreadable-image", where, lambda: image_of(row))
    if data is not None:
        images.add({"bytes": data, "path": None}, row.file.parent, file=row.file, row=row.number, where=where)
    if index is None or kind is None or texts is None:
        return
    state.add_id(f"{subset}-{kind}-{index}", where)
    state.passes[kind, index % PASS].add(index // PASS)
    state.options[kind, index] = texts
    options = loader.with_refusal(texts, subset)
    state.findings += option_findings(options, expected=None, refusal=len(texts), where=where)
    state.attempt("answer", where, lambda: loader.answer_of(row, kind, texts))
    ability = state.attempt("missing", where, lambda: required(row, "category"))
    if ability and kind == UPD and index < PASS:
        state.abilities[ability] += 1


def _option_row(row: Row, subset: str, images: ImageChecks, state: _State) -> None:
    """Compare a row of the option setting with the row of the base setting, and with the rule of the loader."""
    where, index, kind, texts = _key_and_options(row, state)
    if index is None or kind is None or texts is None:
        return
    base = state.options.get((kind, index))
    if base is None:
        state.add(WARNING, "option-row", where, "the base setting has no such row, so that it is not asked")
        return
    expected = [*base, REFUSALS[subset]]
    if [_plain(text) for text in texts] != [_plain(text) for text in expected]:
        state.add(
            WARNING,
            "option-row",
            where,
            f"the options are {' / '.join(texts)}, where the base row and the additional option give "
            f"{' / '.join(expected)}; the latter are asked",
        )
        return
    answer, label = text_of(row, "answer").strip().upper(), string.ascii_uppercase[len(base)]
    if kind == UPD and answer != label:
        state.add(WARNING, "option-answer", where, f"the answer of an unsolvable row is {answer!r}, not {label!r}")
        return
    state.equal += 1


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _circular(subset: str, state: _State) -> None:
    """Find problems without all of their passes, and standard questions without a counterpart."""
    for (kind, problem), passes in state.passes.items():
        where = f"{subset}, {kind} {problem}"
        wanted = set(range(len(state.options.get((kind, problem), ()))))
        if passes != wanted:
            text = f"the passes {sorted(passes)}, where the options have the rotations {sorted(wanted)}"
            state.add(WARNING, "passes", where, text)
        other = UPD if kind == STANDARD else STANDARD
        if (other, problem) not in state.passes:
            state.add(WARNING, "pair", where, f"no {other} question has this index, so that it has no dual accuracy")


def _quantities(states: Mapping[str, _State]) -> Iterator[Quantity]:
    for subset, state in states.items():
        unsolvable, asked = sum(kind == UPD for kind, _ in state.passes), "as the loader asks them"
        yield Quantity(f"unsolvable questions of {subset}", unsolvable)
        yield Quantity(f"standard questions of {subset}", len(state.passes) - unsolvable)
        yield Quantity(f"passes of {subset}", len(state.options))
        yield Quantity(f"rows of the option setting of {subset} {asked}", state.equal, len(state.options))
        yield Quantity(f"abilities of {subset}", len(state.abilities))
        yield from (Quantity(f"  {subset}: {name}", number) for name, number in sorted(state.abilities.items()))
    yield Quantity("unsolvable questions", sum(kind == UPD for state in states.values() for kind, _ in state.passes))
