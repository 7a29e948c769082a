"""Statements of ActiView's text that its tables contradict.

The statements are facts in published.yaml, with their place in the paper. Numbers that the text repeats are cells of
the kind "statement" there, and `known_unknowns.comparison.audit` compares them with the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from known_unknowns.benchmark.published import ALL, MODEL, Finding, Published, PublishedCell, cells_by_row
from known_unknowns.comparison.audit.relations import ROUNDING, weighted_mean

_FIVE = ("Zooming", "Shifting-R", "Shifting-E", "Shifting-M", "Shifting-H")
_IN_CAPTION = ("Zooming", "Shifting-R", "Shifting-M", "Shifting-H")
Row = dict[str, PublishedCell]


def text_findings(published: Published) -> Iterator[Finding]:
    """Yield the findings on statements of the text."""
    rows = cells_by_row(cell for cell in published.cells if cell.kind == MODEL)
    overall = [row for (table, _), row in rows.items() if table in ("Table 2", "Table 7")]
    yield from _caption_of_table_7(published)
    yield from _below_random_choice(published, overall)
    yield from _unnamed_exceptions(published, overall, [row for (t, _), row in rows.items() if t == "Table 13"])
    yield from _not_the_best(published, [row for (table, _), row in rows.items() if table in _shifting_tables()])
    yield from _differences(published)
    yield from _splits_of_another_accuracy(published)
    yield from _descriptions(published)


def _shifting_tables() -> tuple[str, ...]:
    return tuple(f"Table {number}" for number in range(9, 13))


def _caption_of_table_7(published: Published) -> Iterator[Finding]:
    """Flag the average of Table 7: its caption leaves one of its columns out."""
    rows = [row for row in published.rows("Table 7").values() if "AVG" in row]
    without = [weighted_mean(row["AVG"], [(row[name], 1.0) for name in _IN_CAPTION], truncation=True) for row in rows]
    odd = [one for one in without if not one.is_consistent]
    if odd:
        text = (
            f"The caption leaves Shifting-E out of the average, but {len(odd)} of {len(rows)} rows do not follow then."
        )
        first = odd[0]
        yield Finding(
            published.benchmark,
            "Table 7",
            ALL,
            "AVG",
            first.cell.printed,
            text,
            f"{first.cell.row}: {first.arithmetic} = {first.value:.2f}; printed {first.cell.printed}",
        )


def _below_random_choice(published: Published, overall: Sequence[Row]) -> Iterator[Finding]:
    """Flag averages below random choice: Section 5 says that all models exceed it, and Appendix F confirms it."""
    chance = published.row("Section 5, data", "Random choice").get("ActiView")
    for row in overall if chance is not None else ():
        if chance is not None and row["AVG"].value < chance.value:
            text = f"Below random choice ({chance.printed}), which all models exceed by Section 5 and Appendix F."
            arithmetic = f"{row['AVG'].printed} < {chance.printed}; Zooming is {row['Zooming'].printed}"
            yield Finding.of(row["AVG"], text, arithmetic)


def _unnamed_exceptions(published: Published, overall: Sequence[Row], selection: Sequence[Row]) -> Iterator[Finding]:
    """Flag models that are an exception as well as those that the text names as the only ones."""
    facts = published.facts
    single, helped = facts["single_image_models"].value, tuple(facts["zooming_helps"].value)
    zooming = {row["Zooming"].model: row["Zooming"] for row in overall}
    for row in overall:
        model = row["AVG"].model
        if model in single and not model.startswith(helped) and row["Zooming"].value > row["Full image"].value:
            text = (
                f"By Appendix F.1, single-image models except {' and '.join(helped)} do not reach their full-image "
                "accuracy by zooming."
            )
            yield Finding.of(row["Zooming"], text, f"{row['Zooming'].printed} > {row['Full image'].printed}")
        if row["Shifting-H"].value > row["Shifting-E"].value and model not in facts["hard_above_easy"].value:
            text = "Appendix F.2 does not name it among the models that are better on Shifting-H than on Shifting-E."
            yield Finding.of(row["Shifting-H"], text, f"{row['Shifting-H'].printed} > {row['Shifting-E'].printed}")
    for row in selection:
        given, chosen = row["ACC_GT"], row["Zooming ACC_QA"]
        if given.value < chosen.value and given.model not in facts["annotated_views_hurt"].value:
            text = "Appendix F.3 does not name it among the only models that are worse with the annotated views"
            elsewhere = zooming.get(given.model)
            if elsewhere is not None and elsewhere.value <= given.value:
                text += f"; with the zooming of {elsewhere.table} it is not ({elsewhere.printed})"
            yield Finding.of(given, f"{text}.", f"{given.printed} < {chosen.printed}")


def _not_the_best(published: Published, rows: Sequence[Row]) -> Iterator[Finding]:
    """Flag the average of the environment-centric type if the model that the text calls the best is not."""
    best = published.facts["best_in_type_one"].value
    for table in _shifting_tables():
        cells = [row["Type I AVG"] for row in rows if row["Type I AVG"].table == table]
        named = next((cell for cell in cells if cell.model == best), None)
        above = [cell for cell in cells if named is not None and cell.value > named.value]
        if named is not None and above:
            text = f"Appendix F.2 calls {best} the best in the average of this type; {len(above)} models are better."
            if len(above) == 1:
                text = text.replace("1 models are", f"{above[0].row} is")
            yield Finding.of(named, text, "; ".join(f"{c.row} {c.printed} > {named.printed}" for c in above))


def _differences(published: Published) -> Iterator[Finding]:
    """Flag cells of Table 14, 15 and others whose difference is not the printed one."""
    for printed, of, less in published.facts["differences"].value:
        first, second = (published.row(table, row).get(column) for table, row, column in (of, less))
        if first is not None and second is not None:
            yield from _difference(first, second, printed)
    for model, (zooming, shifting) in published.facts["differences_of_descriptions"].value.items():
        described, joined = _described(published, model)
        for column, printed in (("Zooming", zooming), ("Shifting-R", shifting)):
            if column in described and column in joined:
                yield from _difference(described[column], joined[column], printed)


def _difference(first: PublishedCell, second: PublishedCell, printed: str) -> Iterator[Finding]:
    value = first.value - second.value
    half_unit = 0.5 * 10 ** -len(printed.partition(".")[2]) if "." in printed else second.half_unit
    if abs(value - float(printed)) > first.half_unit + second.half_unit + half_unit + ROUNDING:
        arithmetic = f"{first.printed} - {second.printed} = {value:.2f}; printed {printed}"
        yield Finding.of(first, f"The printed difference of {printed} is {value:.2f}.", arithmetic)


def _described(published: Published, model: str) -> tuple[Row, Row]:
    """Return the rows of Table 15 with descriptions and with images side by side."""
    descriptions, joined = (
        published.row("Table 15", f"{model}, {how}") for how in ("textual descriptions", "image concatenation")
    )
    return descriptions, joined


def _splits_of_another_accuracy(published: Published) -> Iterator[Finding]:
    """Flag averages of Table 14 that change their order with the accuracies of Table 7 (Appendix G.1)."""
    row, whole = (published.row(table, "LLaVA-1.6 13B") for table in ("Table 14", "Table 7"))
    four, last = row.get("4 splits, AVG"), row.get("16 splits, AVG")
    if four is None or last is None or not whole:
        return
    value = (whole["Zooming"].value + whole["Shifting-R"].value) / 2
    if (last.value > value) != (last.value > four.value):
        change, printed_change = last.value - value, last.value - four.value
        yield Finding.of(
            four,
            f"With Table 7's accuracies it is {value:.2f}; 16 splits then change it by {change:+.2f}, not by "
            f"{printed_change:+.2f} (Appendix G.1).",
            f"({whole['Zooming'].printed} + {whole['Shifting-R'].printed}) / 2 = {value:.2f}; "
            f"{last.printed} - {value:.2f} = {change:+.2f}; {last.printed} - {four.printed} = {printed_change:+.2f}",
        )


def _descriptions(published: Published) -> Iterator[Finding]:
    """Flag Table 15 if descriptions do not lower both accuracies of most models (Section 5, Appendix G.3)."""
    models = published.facts["differences_of_descriptions"].value
    pairs = {model: _described(published, model) for model in models}
    changes = {
        model: [described[column].value - joined[column].value for column in ("Zooming", "Shifting-R")]
        for model, (described, joined) in pairs.items()
        if described and joined
    }
    both = [model for model, (zooming, shifting) in changes.items() if zooming < 0 and shifting < 0]
    if changes and 2 * len(both) <= len(changes):
        text = (
            f"Section 5 and Appendix G.3 see drops in both for most models; they are in {len(both)} of {len(changes)}."
        )
        yield Finding(
            published.benchmark,
            "Table 15",
            ALL,
            ALL,
            " ".join(printed for model in changes for printed in models[model]),
            text,
            "; ".join(f"{model}: {first:+.2f} and {second:+.2f}" for model, (first, second) in changes.items()),
        )
