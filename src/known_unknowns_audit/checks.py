"""Checks that apply to the published numbers of any benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from known_unknowns.benchmark.published import (
    ALL,
    DATA,
    MODEL,
    NOT_ROUNDING,
    ONLY_IF,
    PERCENT,
    QUESTIONS,
    STATEMENT,
    VIEWS,
    AuditFinding,
    Published,
    PublishedCell,
)
from known_unknowns_audit.grim import grim_counts, grimmer, implied_n, nearest_percentages
from known_unknowns_audit.relations import ROUNDING

_OTHER_N = 10
"""The number of questions that explains percentages may differ by as many from the stated one."""
_FEWEST = 2  # some number of questions near the stated one explains almost any single percentage


def generic_checks(published: Published) -> Iterator[AuditFinding]:
    """Yield the findings of all checks of this module."""
    yield from identical_rows(published)
    yield from repeated_numbers(published.cells)
    yield from unknown_models(published.cells)
    yield from impossible_percentages(published.cells)
    yield from impossible_spreads(published.cells)


def identical_rows(published: Published) -> Iterator[AuditFinding]:
    """Yield a finding for each of two rows of one table with at least two cells that are equal in every digit."""
    rows = [row for row in published.rows().items() if len(row[1]) > 1 and next(iter(row[1].values())).kind != DATA]
    printed = {key: {column: (cell.printed, cell.spread) for column, cell in row.items()} for key, row in rows}
    for (one, row), (other, _) in combinations(rows, 2):
        if one[0] == other[0] and printed[one] == printed[other]:
            digits = " ".join(cell.printed for cell in row.values())
            for name, twin in ((one[1], other[1]), (other[1], one[1])):
                yield AuditFinding(
                    published.benchmark,
                    one[0],
                    name,
                    ALL,
                    digits,
                    f"The row is that of {twin} in every digit.",
                    f"{len(row)} of {len(row)} cells are equal: {digits}",
                )


def repeated_numbers(cells: Iterable[PublishedCell]) -> Iterator[AuditFinding]:
    """Yield a finding for each number that differs from the first print of the same number.

    The finding is on the cell with fewer decimals, or else on the later one. Further findings name two models whose
    numbers are exchanged, and another model if at least two differing numbers of a row are all those of this one only.

    Two cells are the same number if they have the same model, variant, metric, category and parser, and were measured
    on the same data. The one with fewer decimals may be the rounded other one.
    """
    first: dict[tuple[str | None, ...], PublishedCell] = {}
    pairs: list[tuple[PublishedCell, PublishedCell]] = []
    for cell in cells:
        other = first.setdefault(_number_key(cell), cell)
        if other is not cell and not _is_same_number(cell, other):
            odd, known = (other, cell) if other.decimals < cell.decimals else (cell, other)
            shown = f"{known.value:.{max(odd.decimals, 2)}f}" if known.decimals > odd.decimals else known.printed
            arithmetic = f"{_with_count(odd)} against {_with_count(known)}"
            yield AuditFinding.of(odd, f"{known.table} has {shown}.", arithmetic)
            pairs.append((odd, known))
    yield from _exchanged(pairs)
    rows: dict[tuple[str, str], list[PublishedCell]] = {}
    for odd, _ in pairs:
        rows.setdefault((odd.table, odd.row), []).append(odd)
    for row in rows.values():
        yield from _other_model(row, first)


def _exchanged(pairs: Sequence[tuple[PublishedCell, PublishedCell]]) -> Iterator[AuditFinding]:
    """Yield a finding for each of two numbers of one column that differ from their first print only by an exchange."""
    for odd, known in pairs:
        for other, known_other in pairs:
            if (
                (odd.table, odd.column) == (other.table, other.column)
                and odd.model != other.model
                and _is_same_number(odd, known_other)
                and _is_same_number(other, known)
            ):
                yield AuditFinding.of(
                    odd,
                    f"The numbers of {odd.row} and {other.row} are exchanged.",
                    f"{odd.printed} for {odd.row} and {other.printed} for {other.row}; {known.table} has "
                    f"{known.printed} and {known_other.printed}",
                )


def _other_model(
    row: Sequence[PublishedCell], first: Mapping[tuple[str | None, ...], PublishedCell]
) -> Iterator[AuditFinding]:
    """Yield a finding if at least two numbers of a row are those of exactly one other model."""
    models = [
        model
        for model in dict.fromkeys(cell.model for cell in first.values())
        if model != row[0].model
        and all(
            (other := first.get((model, *_number_key(cell)[1:]))) is not None and _is_same_number(cell, other)
            for cell in row
        )
    ]
    if len(row) > 1 and len(models) == 1:
        same = [first[models[0], *_number_key(cell)[1:]] for cell in row]
        for cell in row:
            text = f"It is the number of {models[0]}, as are the other differing numbers of the row."
            arithmetic = "; ".join(
                f"{_with_count(one)} as in {_with_count(two)}" for one, two in zip(row, same, strict=True)
            )
            yield AuditFinding.of(cell, text, arithmetic)


def _number_key(cell: PublishedCell) -> tuple[str | None, ...]:
    """Return what makes two cells the same number; the model is its first part."""
    model, variant = ("", "") if cell.kind == DATA else (cell.model, cell.variant)
    return model, variant, cell.metric, cell.category, cell.parser, cell.revision, cell.unit


def _is_same_number(one: PublishedCell, other: PublishedCell) -> bool:
    if one.decimals == other.decimals:
        return one.printed == other.printed
    return abs(one.value - other.value) <= max(one.half_unit, other.half_unit) + ROUNDING


def _with_count(cell: PublishedCell) -> str:
    """Return the number, with the count that produces it if there is exactly one."""
    place = f"{cell.table}, {cell.row}, {cell.column}: {cell.printed}"
    n = _denominator(cell)
    counts = grim_counts(cell.printed, n) if n is not None and cell.unit == PERCENT else ()
    return f"{place} ({counts[0]:,} of {n:,})" if len(counts) == 1 else place


def unknown_models(cells: Sequence[PublishedCell]) -> Iterator[AuditFinding]:
    """Yield a finding for each statement on a model that no table has."""
    known = {cell.model for cell in cells if cell.kind == MODEL}
    for cell in cells:
        if cell.kind == STATEMENT and cell.model not in known:
            yield AuditFinding.of(
                cell,
                f"No table has a model named {cell.row}.",
                f"0 of the {len(known)} models of the tables have this name",
            )


def _denominator(cell: PublishedCell) -> int | None:
    """Return the number of answers that a percentage counts: questions times runs."""
    return cell.questions * cell.runs if cell.countable and cell.questions else None


def impossible_percentages(cells: Iterable[PublishedCell]) -> Iterator[AuditFinding]:
    """Yield a finding for each percentage or mean that no whole count produces, rounded or truncated (GRIM).

    A mean over several runs may also be the mean of rounded or truncated numbers of each run. Another number of
    questions can explain percentages: it is named if it is near the stated one and explains several of a table.
    """
    found: dict[tuple[str, int], list[PublishedCell]] = {}
    for cell in cells:
        if not cell.countable or cell.kind == DATA:
            continue
        n = {QUESTIONS: cell.runs, VIEWS: _denominator(cell)}.get(cell.unit, _denominator(cell))
        if n is not None and not _is_possible(cell, n):
            found.setdefault((cell.table, n), []).append(cell)
    for (_, n), of_table in found.items():
        other = _other_n([cell for cell in of_table if cell.unit == PERCENT and cell.runs == 1], n)
        for cell in of_table:
            yield _impossible(cell, n, other)


def _is_possible(cell: PublishedCell, n: int) -> bool:
    scale = 100 if cell.unit == PERCENT else 1
    return any(
        grim_counts(cell.printed, n, scale=scale, truncated=truncated, of_rounded=of_rounded)
        for truncated in (False, True)
        for of_rounded in {False, cell.runs > 1}
    )


def _other_n(cells: Sequence[PublishedCell], n: int) -> str:
    """Return the number of questions next to ``n`` that explains all percentages, and how; empty if there is none."""
    printed = list(dict.fromkeys(cell.printed for cell in cells))
    if len(printed) < _FEWEST:
        return ""
    for distance in range(1, _OTHER_N + 1):
        for other in (n - distance, n + distance):
            for truncated, how in ((False, "rounded"), (True, "truncated")):
                if other > 0 and implied_n(printed, other, first=other, truncated=truncated):
                    return f"; {other:,}, {how}, gives {', '.join(printed)}"
    return ""


def _impossible(cell: PublishedCell, n: int, other: str) -> AuditFinding:
    scale = 100 if cell.unit == PERCENT else 1
    below, above = (
        nearest_percentages(cell.printed, n) if scale == 100 else (int(cell.value * n), int(cell.value * n) + 1)
    )
    low, high = (f"{scale * count / n:.{cell.decimals + 1}f}" for count in (below, above))
    nearest = min((below, above), key=lambda count: abs(scale * count / n - cell.value))
    of = f"{n:,} questions" if cell.runs == 1 else f"{cell.runs} runs"
    if cell.runs > 1 and cell.unit == PERCENT:
        of = f"{cell.questions:,} questions in {cell.runs} runs"
    return AuditFinding.of(
        cell,
        f"No count among {of} gives it; the nearest is {scale * nearest / n:.{cell.decimals}f}.",
        f"{below:,} / {n:,} = {low} and {above:,} / {n:,} = {high}; neither rounds nor truncates to {cell.printed}",
        f"{ONLY_IF}it is of another number of questions{other}" if cell.unit == PERCENT else NOT_ROUNDING,
    )


def impossible_spreads(cells: Iterable[PublishedCell]) -> Iterator[AuditFinding]:
    """Yield a finding for each standard deviation over runs that no whole counts produce (GRIMMER).

    It may have either ddof, may be rounded or truncated, and may be that of the runs' rounded or truncated numbers.
    """
    for cell in cells:
        if cell.spread is None or cell.questions is None or not cell.countable or cell.runs < 2:
            continue
        if not any(is_possible_spread(cell, ddof=ddof, truncated=cut) for ddof in (0, 1) for cut in (False, True)):
            yield AuditFinding.of(
                cell,
                "No counts in the runs have this mean and this standard deviation.",
                f"no {cell.runs} counts of {cell.questions:,} with the mean {cell.printed} have the standard deviation "
                f"{cell.spread:.{cell.decimals}f} with ddof = 0 or 1, whether or not each run was rounded",
                NOT_ROUNDING,
            )


def is_possible_spread(cell: PublishedCell, *, ddof: int = 0, variance: bool = False, truncated: bool = False) -> bool:
    """Whether counts in the runs of a cell have its mean and its spread; see `grimmer`.

    The number of each run may have been rounded, or truncated, to the printed decimals before, as for percentages.
    """
    if cell.spread is None or cell.questions is None:
        raise ValueError(f"{', '.join(cell.key)} has no spread or no number of questions")
    spread = f"{cell.spread:.{cell.decimals}f}"
    check = partial(grimmer, ddof=ddof, variance=variance, truncated=truncated)
    return any(check(cell.printed, spread, cell.questions, cell.runs, of_rounded=rounded) for rounded in (False, True))


def distribution(
    cells: Sequence[PublishedCell], n: int, *, text: str = "questions", instead: int | None = None
) -> Iterator[AuditFinding]:
    """Yield findings on shares of one whole: shares that no count of ``n`` gives, and a sum other than the whole.

    The shares, in percent, are all rounded or all truncated, whichever explains more of them. ``text`` says what the
    ``n`` items are, and ``instead`` is another number of items to name if it explains all shares.
    """
    counts = {cut: [grim_counts(cell.printed, n, truncated=cut) for cell in cells] for cut in (False, True)}
    cut = max((False, True), key=lambda one: sum(bool(found) for found in counts[one]))
    impossible = [cell for cell, found in zip(cells, counts[cut], strict=True) if not found]
    fewest, most = (sum(found[end] for found in counts[cut] if found) for end in (0, -1))
    for cell in impossible:
        below, above = nearest_percentages(cell.printed, n)
        low, high = (f"{100 * count / n:.{cell.decimals + 2}f}" for count in (below, above))
        how = "truncates" if cut else "rounds"
        arithmetic = f"{below:,} / {n:,} = {low}% and {above:,} / {n:,} = {high}%; neither {how} to {cell.printed}"
        arithmetic += _otherwise(cell, n, counts[not cut], truncated=not cut)
        if len(impossible) == 1 and fewest == most:
            left = f"{100 * (n - most) / n:.{cell.decimals}f}"
            arithmetic += f"; the other shares are {most:,} {text} and leave {n - most:,} / {n:,} = {left}%"
        if instead is not None and all(grim_counts(one.printed, instead) for one in cells):
            every = "any such share is a whole count" if instead >= 100 * 10**cell.decimals else "all are whole counts"
            arithmetic += f"; of {instead:,} {text.partition(' ')[0]}, {every}"
        yield AuditFinding.of(cell, f"No count of the {n:,} {text} gives it.", arithmetic)
    if not impossible and not fewest <= n <= most:
        counted = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        yield _sum_of_shares(cells, f"; the counts are {counted} of {n:,} {text}")
    elif impossible and not _adds_up(cells):
        yield _sum_of_shares(cells, "")


def _otherwise(cell: PublishedCell, n: int, counts: Sequence[range], *, truncated: bool) -> str:
    """Say why the counts that give a share if all are truncated (or rounded) do not explain it."""
    found = grim_counts(cell.printed, n, truncated=truncated)
    how = "truncates" if truncated else "rounds"
    others = sum(not of_cell for of_cell in counts)
    return f"; {found[0]:,} {how} to it, but {others} other shares have no count then" if found else ""


def _adds_up(cells: Sequence[PublishedCell]) -> bool:
    return abs(100 - sum(cell.value for cell in cells)) <= sum(cell.half_unit for cell in cells) + ROUNDING


def _sum_of_shares(cells: Sequence[PublishedCell], counts: str) -> AuditFinding:
    first = cells[0]
    whole = f"{sum(cell.value for cell in cells):.{max(cell.decimals for cell in cells)}f}"
    in_one_column = len({cell.column for cell in cells}) == 1
    return AuditFinding(
        first.benchmark,
        first.table,
        ALL if in_one_column else first.row,
        first.column if in_one_column else ALL,
        " ".join(cell.printed for cell in cells),
        f"The shares add up to {whole}%, not to 100%.",
        f"{' + '.join(cell.printed for cell in cells)} = {whole}{counts}",
    )
