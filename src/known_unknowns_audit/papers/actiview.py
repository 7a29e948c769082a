"""Inconsistencies in the published numbers of ActiView: tables against tables, and text against tables; see README.md.

All values are computed from the printed numbers. A difference counts only if rounding cannot explain it. Statements of
the text are facts in published.yaml, with their place in the paper. Numbers that the text repeats are cells of the kind
"statement" there, and `known_unknowns_audit` compares them with the tables.

References
----------
.. [1] Wang et al., "ActiView: Evaluating Active Perception Ability for Multimodal Large Language Models".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import correlation

from known_unknowns.benchmark.published import ALL, MODEL, AuditFinding, Published, PublishedCell, cells_by_row
from known_unknowns_audit.grim import grim_counts, nearest_percentages
from known_unknowns_audit.relations import ROUNDING, Derived, inconsistent, weighted_mean

TableRow = Mapping[str, PublishedCell]

PIPELINES = ("Zooming", "Shifting-R", "Shifting-E", "Shifting-M", "Shifting-H")
"""The columns of Table 2 that its AVG column averages."""
BY_CLASS: Mapping[str, str] = dict(zip((f"Table {n}" for n in range(8, 13)), PIPELINES, strict=True))
"""The tables of sub-classes, and the column of Table 2 with the accuracy over all their sub-classes."""
_SHIFTING_TABLES = tuple(BY_CLASS)[1:]
_OVERALL_TABLES = ("Table 2", "Table 7")
_VIEWS, _RECALL = 4, "view_recall_as_published"
_AVERAGE = " AVG"
_LEFT_OUT = 2
"""Up to so many questions of a sub-class can be missing: with more, some count fits almost any percentage."""
_LEAST_MATCHES = 2  # one sum can equal another column's by chance


def findings(published: Published) -> Iterator[AuditFinding]:
    """Yield the findings on the numbers of this paper."""
    cells = published.cells
    models = [cell for cell in cells if cell.kind == MODEL]
    yield from inconsistent(type_averages(models), "Does not follow from its row: the sub-classes' cells give {}.")
    table_of = {column: table for table, column in BY_CLASS.items()}
    for one in overall_accuracies(models):
        yield from inconsistent([one], f"{table_of[one.cell.column]}'s sub-classes give {{}}.")
    yield from _questions_left_out(models)
    yield from _sub_classes_of_another_pipeline(models)
    yield from _people(published)
    annotated = int(published.facts["annotated_views"].value)
    yield from _recalls_below_their_minimum(models, annotated, int(published.facts["annotated_views_1_to_3"].value))
    yield from _impossible_recalls(cells, annotated)
    yield from _views_without_clues(published, annotated)
    yield from _backbones(published)
    yield from text_findings(published)


def _types(row: TableRow) -> dict[str, list[str]]:
    """Return the sub-classes of each average in a row of Tables 8 to 12, where an average stands after its parts."""
    types, parts = {}, list[str]()
    for column in row:
        if column.endswith(_AVERAGE):
            types[column] = parts
            parts = []
        else:
            parts.append(column)
    return types


def _classes(row: TableRow) -> list[str]:
    return [column for column in row if not column.endswith(_AVERAGE)]


def type_averages(cells: Iterable[PublishedCell]) -> list[Derived]:
    """Recompute the AVG columns of Tables 8 to 12: the accuracy of each type from its sub-classes."""
    found = []
    for (table, _), row in cells_by_row(cells).items():
        for average, parts in _types(row).items() if table in BY_CLASS else ():
            scores = [_score(row[part]) for part in parts]
            found.append(_from_scores(row[average], scores, sum(n for _, n in scores)))
    return found


def overall_accuracies(cells: Iterable[PublishedCell]) -> list[Derived]:
    """Recompute the accuracies of Tables 2 and 7 from the sub-classes of Tables 8 to 12.

    Questions that are left out of the sub-classes count as wrong if the accuracy follows then.
    """
    rows = cells_by_row(cells)
    overall = _by_model(rows)
    found = []
    for (table, _), row in rows.items():
        whole = overall.get(next(iter(row.values())).model) if table in BY_CLASS else None
        if whole is not None:
            cell, scores = whole[BY_CLASS[table]], [_score(row[part]) for part in _classes(row)]
            ways = [_from_scores(cell, scores, n) for n in (_questions(cell), sum(n for _, n in scores))]
            found.append(min(ways, key=lambda way: abs(way.value - cell.value)))
    return found


def _mean(cell: PublishedCell, parts: Iterable[tuple[PublishedCell, int]]) -> Derived:
    """Return the weighted mean of the parts. The cell may be truncated: some cells of the tables are."""
    return weighted_mean(cell, parts, truncation=True)


def _questions(cell: PublishedCell) -> int:
    if cell.questions is None:
        raise ValueError(f"{', '.join(cell.key)}: the number of questions of {cell.category} is not stated")
    return cell.questions


def _score(cell: PublishedCell) -> tuple[int, int]:
    """Return the right answers and the questions of a percentage.

    If no count of all questions gives it, up to `_LEFT_OUT` of them are left out. If none does then either, the right
    answers are the nearest count of all questions.
    """
    everything = _questions(cell)
    for n in range(everything, max(0, everything - _LEFT_OUT - 1), -1):
        for cut in (False, True):
            if counts := grim_counts(cell.printed, n, truncated=cut):
                return counts[0], n
    return _right(cell), everything


def _from_scores(cell: PublishedCell, scores: Sequence[tuple[int, int]], n: int) -> Derived:
    """Return the percentage of the right answers of several parts among ``n`` questions. The cell may be truncated."""
    right = [count for count, _ in scores]
    arithmetic = f"100 x ({' + '.join(map(str, right))}) / {n}"
    return Derived(cell, 100 * sum(right) / n, 0.0, arithmetic, truncation=True)


def _questions_left_out(cells: Iterable[PublishedCell]) -> Iterator[AuditFinding]:
    """Flag rows of Tables 8 to 12 whose percentages are of fewer questions, if the averages of the types are too."""
    types = [one for one in type_averages(cells) if one.is_consistent]
    for (table, name), row in cells_by_row(cells).items():
        scores = {part: _score(row[part]) for part in _classes(row)} if table in BY_CLASS else {}
        fewer = {part: score for part, score in scores.items() if score[1] < _questions(row[part])}
        if fewer and sum(one.cell.key[:2] == (table, name) for one in types) == len(_types(row)):
            asked, everything = sum(n for _, n in scores.values()), sum(_questions(row[part]) for part in scores)
            first = next(iter(row.values()))
            yield AuditFinding(
                first.benchmark,
                table,
                name,
                ALL,
                " ".join(cell.printed for cell in row.values()),
                f"The percentages are of {asked} questions; {everything - asked} of {everything} are left out.",
                "; ".join(f"{part}: {right} / {n} = {row[part].printed}%" for part, (right, n) in fewer.items()),
            )


def _right(cell: PublishedCell) -> int:
    """Return the number of right answers that is nearest to a percentage."""
    return round(cell.value * _questions(cell) / 100)


def _sub_classes_of_another_pipeline(cells: Iterable[PublishedCell]) -> Iterator[AuditFinding]:
    """Flag rows of Tables 9 to 12 whose sum is the next pipeline's in Table 2, if this holds for several of a model."""
    rows = cells_by_row(cells)
    shifting = list(BY_CLASS.items())[1:]
    for model, whole in _by_model(rows).items():
        found = []
        for (table, column), (_, following) in pairwise(shifting):
            row = next((row for (name, _), row in rows.items() if name == table and _model(row) == model), None)
            if row is not None:
                right = sum(_right(row[name]) for name in _classes(row))
                if right == _right(whole[following]) != _right(whole[column]):
                    found.append((row, right, column, following))
        for row, right, column, following in found if len(found) >= _LEAST_MATCHES else ():
            first, n = next(iter(row.values())), _questions(whole[column])
            yield AuditFinding(
                first.benchmark,
                first.table,
                first.row,
                ALL,
                " ".join(cell.printed for cell in row.values()),
                f"The sub-classes add up to {following} of {whole[column].table}, not to {column}.",
                f"{' + '.join(str(_right(row[name])) for name in _classes(row))} = {right} of {n}; {following} "
                f"{whole[following].printed} is {_right(whole[following])}, {column} {whole[column].printed} is "
                f"{_right(whole[column])}",
            )


def _people(published: Published) -> Iterator[AuditFinding]:
    """Check Table 4: percentages of the 60 questions, and the means of the six people."""
    rows = {name: row for (_, name), row in published.rows("Table 4").items()}
    people = [row for name, row in rows.items() if name != "Average"]
    for row in people:
        for cell in row.values():
            if cell.n and not any(grim_counts(cell.printed, cell.n, truncated=cut) for cut in (False, True)):
                yield _no_count(cell, cell.n, "questions")
    for column, cell in rows.get("Average", {}).items():
        scores = [row[column] for row in people]
        without = {one.row: _mean(cell, [(other, 1) for other in scores if other is not one]) for one in scores}
        text = f"The {len(people)} people give {{}}."
        if explained := [name for name, mean in without.items() if mean.is_consistent]:
            text += f" Without {explained[0]} it follows."
        yield from inconsistent([_mean(cell, [(score, 1) for score in scores])], text)


def _no_count(cell: PublishedCell, n: int, of: str) -> AuditFinding:
    below, above = nearest_percentages(cell.printed, n)
    nearest = min((below, above), key=lambda count: abs(100 * count / n - cell.value))
    return AuditFinding.of(
        cell,
        f"No count of the {n:,} {of} gives it; the nearest is {100 * nearest / n:.{cell.decimals}f}.",
        f"{below:,} / {n:,} = {100 * below / n:.3f}% and {above:,} / {n:,} = {100 * above / n:.3f}%",
    )


def _recalls_below_their_minimum(
    cells: Iterable[PublishedCell], annotated: int, from_zero: int
) -> Iterator[AuditFinding]:
    """Flag recalls that are too small for the mean number of views in use (#view).

    Views that are not in use can all be annotated at most. With u views in use over all questions, at least
    ``annotated`` - (4 x questions - u) annotated ones are among them, so that Equation 1 has a minimum. All views
    numbered from 0 have ``from_zero`` numbers in common with the annotated ones, numbered from 1.
    """
    for (table, _), row in cells_by_row(cells).items():
        for name in PIPELINES[:2] if table == "Table 13" else ():
            recall, views = row[f"{name} R_select"], row[f"{name} #view"]
            n = _questions(views)
            used = (views.value - views.half_unit) * n
            least = 100 * (annotated - (_VIEWS * n - used)) / annotated
            if recall.value + recall.half_unit + ROUNDING >= least:
                continue
            text = f"With {views.printed} of four views in use, Equation 1 gives at least {least:.2f}."
            arithmetic = (
                f"{annotated} - ({_VIEWS * n:,} - {views.value - views.half_unit:.3f} x {n}) = "
                f"{least * annotated / 100:.1f} of {annotated}"
            )
            if views.value == _VIEWS and from_zero in grim_counts(recall.printed, annotated):
                text += (
                    f" Numbering the used views from 0 and the annotated ones from 1 gives {from_zero} of "
                    f"{annotated}, as printed."
                )
            yield AuditFinding.of(recall, text, f"{arithmetic}; printed {recall.printed}")


def _impossible_recalls(cells: Iterable[PublishedCell], annotated: int) -> Iterator[AuditFinding]:
    """Flag recalls that are no whole number of the annotated views."""
    for cell in cells:
        if cell.metric == _RECALL and not any(
            grim_counts(cell.printed, annotated, truncated=cut) for cut in (False, True)
        ):
            yield _no_count(cell, annotated, "annotated views")


def _views_without_clues(published: Published, annotated: int) -> Iterator[AuditFinding]:
    """Flag the mean number of views with clues: it counts all four views of questions without a clue in any view."""
    without = int(published.facts["questions_without_clues"].value)
    for column, cell in published.row("Appendix A.3", "Views with clues per question").items():
        questions = published.row("Appendix A.3", "Questions")[column]
        value = (annotated - _VIEWS * without) / questions.value
        if abs(value - cell.value) > cell.half_unit + ROUNDING:
            yield AuditFinding.of(
                cell,
                f"It counts all four views of the {without} questions that have no clue in any view; without them it "
                f"is {value:.2f}.",
                f"({annotated} - {_VIEWS} x {without}) / {questions.printed} = {value:.2f}; {annotated} / "
                f"{questions.printed} = {annotated / questions.value:.2f}",
            )


def _backbones(published: Published) -> Iterator[AuditFinding]:
    """Flag models of Table 6 that are named after another language model than the one that the table has."""
    families = ("llama3", "vicuna")
    for row, (backbone, _) in published.facts["backbones"].value.items():
        for family in families:
            if family in _plain(row) and family not in _plain(backbone):
                text = "The model is named after another language model."
                arithmetic = f"the name {row} against the LLM backbone {backbone}"
                yield AuditFinding(published.benchmark, "Table 6", row, "LLM Backbone", backbone, text, arithmetic)


def _plain(name: str) -> str:
    return name.lower().replace("-", "")


def _model(row: TableRow) -> str:
    return next(iter(row.values())).model


def _by_model(rows: Mapping[tuple[str, str], TableRow]) -> dict[str, TableRow]:
    """Return the rows of Tables 2 and 7 by model."""
    return {_model(row): row for (table, _), row in rows.items() if table in _OVERALL_TABLES}


_IN_CAPTION = ("Zooming", "Shifting-R", "Shifting-M", "Shifting-H")


def text_findings(published: Published) -> Iterator[AuditFinding]:
    """Yield the findings on statements of the text."""
    rows = cells_by_row(cell for cell in published.cells if cell.kind == MODEL)
    overall = [row for (table, _), row in rows.items() if table in ("Table 2", "Table 7")]
    yield from _caption_of_table_7(published)
    yield from _below_random_choice(published, overall)
    yield from _unnamed_exceptions(published, overall, [row for (t, _), row in rows.items() if t == "Table 13"])
    yield from _not_the_best(published, [row for (table, _), row in rows.items() if table in _SHIFTING_TABLES])
    yield from _differences(published)
    yield from _splits_of_another_accuracy(published)
    yield from _descriptions(published)
    yield from _recall_and_accuracy(published)
    yield from _gaps_of_difficulty(published)


def _caption_of_table_7(published: Published) -> Iterator[AuditFinding]:
    """Flag the average of Table 7: its caption leaves one of its columns out."""
    rows = [row for row in published.rows("Table 7").values() if "AVG" in row]
    without = [weighted_mean(row["AVG"], [(row[name], 1.0) for name in _IN_CAPTION], truncation=True) for row in rows]
    odd = [one for one in without if not one.is_consistent]
    if odd:
        text = (
            f"The caption leaves Shifting-E out of the average, but {len(odd)} of {len(rows)} rows do not follow then."
        )
        first = odd[0]
        yield AuditFinding(
            published.benchmark,
            "Table 7",
            ALL,
            "AVG",
            first.cell.printed,
            text,
            f"{first.cell.row}: {first.arithmetic} = {first.value:.2f}; printed {first.cell.printed}",
        )


def _below_random_choice(published: Published, overall: Sequence[TableRow]) -> Iterator[AuditFinding]:
    """Flag averages below random choice: Section 5 says that all models exceed it, and Appendix F confirms it."""
    chance = published.row("Section 5, data", "Random choice").get("ActiView")
    for row in overall if chance is not None else ():
        if chance is not None and row["AVG"].value < chance.value:
            text = (
                f"Below random choice ({chance.printed}). All models exceed it by Section 5 on Table 2, whose "
                "conclusions Table 7 preserves by Appendix F."
            )
            arithmetic = f"{row['AVG'].printed} < {chance.printed}; Zooming is {row['Zooming'].printed}"
            yield AuditFinding.of(row["AVG"], text, arithmetic)


def _unnamed_exceptions(
    published: Published, overall: Sequence[TableRow], selection: Sequence[TableRow]
) -> Iterator[AuditFinding]:
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
            yield AuditFinding.of(row["Zooming"], text, f"{row['Zooming'].printed} > {row['Full image'].printed}")
    for row in selection:
        given, chosen = row["ACC_GT"], row["Zooming ACC_QA"]
        if given.value < chosen.value and given.model not in facts["annotated_views_hurt"].value:
            text = "Appendix F.3 does not name it among the only models that are worse with the annotated views"
            elsewhere = zooming.get(given.model)
            if elsewhere is not None and elsewhere.value <= given.value:
                text += f"; with the zooming of {elsewhere.table} it is not ({elsewhere.printed})"
            yield AuditFinding.of(given, f"{text}.", f"{given.printed} < {chosen.printed}")


def _not_the_best(published: Published, rows: Sequence[TableRow]) -> Iterator[AuditFinding]:
    """Flag the model that the text calls the best in one type of questions, if it is the best in another type only."""
    best = published.facts["best_in_type_one"].value
    leaders: dict[str, list[PublishedCell]] = {}
    for table in _SHIFTING_TABLES:
        of_table = [row for row in rows if next(iter(row.values())).table == table]
        for average in _types(of_table[0]):
            leader = max((row[average] for row in of_table), key=lambda cell: cell.value)
            leaders.setdefault(average, []).append(leader)
    named, *others = leaders.items()
    better = [cell for cell in named[1] if cell.model != best]
    led = [average for average, cells in others if all(cell.model == best for cell in cells)]
    if better and led:
        yield AuditFinding(
            published.benchmark,
            "Appendix F.2",
            best,
            named[0],
            "consistently outperforms other models",
            f"It is not the best in {named[0]} in {len(better)} of {len(named[1])} tables, but in all of {led[0]}, the "
            "event-centric category, about which the sentence goes on.",
            "; ".join(f"{cell.table}: {cell.row} has {cell.printed}" for cell in better),
        )


def _differences(published: Published) -> Iterator[AuditFinding]:
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


def _difference(first: PublishedCell, second: PublishedCell, printed: str) -> Iterator[AuditFinding]:
    value = first.value - second.value
    half_unit = 0.5 * 10 ** -len(printed.partition(".")[2]) if "." in printed else second.half_unit
    if abs(value - float(printed)) > first.half_unit + second.half_unit + half_unit + ROUNDING:
        arithmetic = f"{first.printed} - {second.printed} = {value:.2f}; printed {printed}"
        yield AuditFinding.of(first, f"The printed difference of {printed} is {value:.2f}.", arithmetic)


def _described(published: Published, model: str) -> tuple[TableRow, TableRow]:
    """Return the rows of Table 15 with descriptions and with images side by side."""
    descriptions, joined = (
        published.row("Table 15", f"{model}, {how}") for how in ("textual descriptions", "image concatenation")
    )
    return descriptions, joined


def _splits_of_another_accuracy(published: Published) -> Iterator[AuditFinding]:
    """Flag averages of Table 14 that change their order with the accuracies of Table 7 (Appendix G.1)."""
    row, whole = (published.row(table, "LLaVA-1.6 13B") for table in ("Table 14", "Table 7"))
    four, last = row.get("4 splits, AVG"), row.get("16 splits, AVG")
    if four is None or last is None or not whole:
        return
    value = (whole["Zooming"].value + whole["Shifting-R"].value) / 2
    if (last.value > value) != (last.value > four.value):
        change, printed_change = last.value - value, last.value - four.value
        yield AuditFinding.of(
            four,
            f"With Table 7's accuracies it is {value:.2f}; 16 splits then change it by {change:+.2f}, not by "
            f"{printed_change:+.2f} (Appendix G.1).",
            f"({whole['Zooming'].printed} + {whole['Shifting-R'].printed}) / 2 = {value:.2f}; "
            f"{last.printed} - {value:.2f} = {change:+.2f}; {last.printed} - {four.printed} = {printed_change:+.2f}",
        )


def _descriptions(published: Published) -> Iterator[AuditFinding]:
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
        zooming, shifting = (sum(change[place] < 0 for change in changes.values()) for place in (0, 1))
        text = (
            f"Section 5 and Appendix G.3 see drops on both for most models; of {len(changes)} models, zooming drops "
            f"for {zooming}, shifting for {shifting}, and both for {len(both)}."
        )
        yield AuditFinding(
            published.benchmark,
            "Table 15",
            ALL,
            ALL,
            " ".join(printed for model in changes for printed in models[model]),
            text,
            "; ".join(f"{model}: {first:+.2f} and {second:+.2f}" for model, (first, second) in changes.items()),
        )


def _recall_and_accuracy(published: Published) -> Iterator[AuditFinding]:
    """Flag Table 13 if accuracy falls with the recall of views in a pipeline (Appendix F.3 says that it rises)."""
    rows = published.rows("Table 13").values()
    correlations = {}
    for pipeline in ("Zooming", "Shifting-R"):
        columns = (f"{pipeline} R_select", f"{pipeline} ACC_QA")
        pairs = [[row[column].value for column in columns] for row in rows if all(name in row for name in columns)]
        if len(pairs) > 2:
            correlations[pipeline] = correlation(*zip(*pairs, strict=True))
    if any(value < 0 for value in correlations.values()):
        values = " and ".join(f"{value:+.2f} in {pipeline}" for pipeline, value in correlations.items())
        yield AuditFinding(
            published.benchmark,
            "Appendix F.3",
            ALL,
            ALL,
            "lower recall tends to correlate with lower accuracy",
            f"The correlation of recall and accuracy over the models of Table 13 is {values}.",
            f"Pearson's r of R_select and ACC_QA, {len(rows)} models",
        )


def _gaps_of_difficulty(published: Published) -> Iterator[AuditFinding]:
    """Flag models that the text names for a gap of about 10 from Shifting-E to -H, if they rise (Appendix F.2)."""
    easy, hard = published.rows("Table 10"), published.rows("Table 12")
    after = {row: cells for (_, row), cells in hard.items()}
    for (_, row), cells in easy.items():
        if row not in published.facts["gap_of_difficulty"].value or row not in after:
            continue
        for column in ("Type I AVG", "Type II AVG"):
            first, last = cells[column], after[row][column]
            if last.value > first.value:
                yield AuditFinding(
                    published.benchmark,
                    "Appendix F.2",
                    row,
                    column,
                    "a gap of about 10%",
                    f"Appendix F.2 names it for a gap of about 10%; from Table 10 to Table 12 it rises by "
                    f"{last.value - first.value:.2f}.",
                    f"{last.printed} - {first.printed} = {last.value - first.value:+.2f}",
                )
