"""Inconsistencies in the published numbers of ActiView: tables against tables; see README.md.

All values are computed from the printed numbers. A difference counts only if rounding cannot explain it.
`known_unknowns_benchmarks.actiview.audit_text` compares the paper's text with its tables.

References
----------
.. [1] Wang et al., "ActiView: Evaluating Active Perception Ability for Multimodal Large Language Models".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from known_unknowns.benchmark.published import ALL, MODEL, Finding, Published, PublishedCell, cells_by_row
from known_unknowns.comparison.audit.grim import grim_counts, nearest_percentages
from known_unknowns.comparison.audit.relations import ROUNDING, Derived, inconsistent, weighted_mean
from known_unknowns_benchmarks.actiview.audit_text import text_findings
from known_unknowns_benchmarks.actiview.format import TYPES

TableRow = Mapping[str, PublishedCell]

HUMAN = 84.67
"""Percent: mean accuracy of six people who may look things up, on 60 of the questions (Table 4)."""
CHANCE = 33.95
"""Percent, as printed (Section 5); the published options give 34.24."""

PIPELINES = ("Zooming", "Shifting-R", "Shifting-E", "Shifting-M", "Shifting-H")
"""The columns of Table 2 that its AVG column averages."""
BY_CLASS: Mapping[str, str] = dict(zip((f"Table {n}" for n in range(8, 13)), PIPELINES, strict=True))
"""The tables of sub-classes, and the column of Table 2 with the accuracy over all their sub-classes."""
_CLASSES = tuple(name for names in TYPES.values() for name in names)
_OVERALL_TABLES = ("Table 2", "Table 7")
_VIEWS, _RECALL = 4, "view_recall_as_published"
_LEFT_OUT = 2
"""Up to so many questions of a sub-class can be missing: with more, some count fits almost any percentage."""
_LEAST_MATCHES = 2  # one sum can equal another column's by chance


def audit(published: Published) -> Iterator[Finding]:
    """Yield the findings on the numbers of this benchmark (`known_unknowns.comparison.audit`)."""
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


def type_averages(cells: Iterable[PublishedCell]) -> list[Derived]:
    """Recompute the AVG columns of Tables 8 to 12: the accuracy of each type from its sub-classes."""
    found = []
    for (table, _), row in cells_by_row(cells).items():
        for name, parts in TYPES.items() if table in BY_CLASS else ():
            scores = [_score(row[part]) for part in parts]
            found.append(_from_scores(row[f"{name} AVG"], scores, sum(n for _, n in scores)))
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
            cell, scores = whole[BY_CLASS[table]], [_score(row[part]) for part in _CLASSES]
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


def _questions_left_out(cells: Iterable[PublishedCell]) -> Iterator[Finding]:
    """Flag rows of Tables 8 to 12 whose percentages are of fewer questions, if the averages of the types are too."""
    types = [one for one in type_averages(cells) if one.is_consistent]
    for (table, name), row in cells_by_row(cells).items():
        scores = {part: _score(row[part]) for part in _CLASSES} if table in BY_CLASS else {}
        fewer = {part: score for part, score in scores.items() if score[1] < _questions(row[part])}
        if fewer and sum(one.cell.key[:2] == (table, name) for one in types) == len(TYPES):
            asked, everything = sum(n for _, n in scores.values()), sum(_questions(row[part]) for part in _CLASSES)
            first = row[_CLASSES[0]]
            yield Finding(
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


def _sub_classes_of_another_pipeline(cells: Iterable[PublishedCell]) -> Iterator[Finding]:
    """Flag rows of Tables 9 to 12 whose sum is the next pipeline's in Table 2, if this holds for several of a model."""
    rows = cells_by_row(cells)
    shifting = list(BY_CLASS.items())[1:]
    for model, whole in _by_model(rows).items():
        found = []
        for (table, column), (_, following) in pairwise(shifting):
            row = next((row for (name, _), row in rows.items() if name == table and _model(row) == model), None)
            if row is not None:
                right = sum(_right(row[name]) for name in _CLASSES)
                if right == _right(whole[following]) != _right(whole[column]):
                    found.append((row, right, column, following))
        for row, right, column, following in found if len(found) >= _LEAST_MATCHES else ():
            first, n = next(iter(row.values())), _questions(whole[column])
            yield Finding(
                first.benchmark,
                first.table,
                first.row,
                ALL,
                " ".join(cell.printed for cell in row.values()),
                f"The sub-classes add up to {following} of {whole[column].table}, not to {column}.",
                f"{' + '.join(str(_right(row[name])) for name in _CLASSES)} = {right} of {n}; {following} "
                f"{whole[following].printed} is {_right(whole[following])}, {column} {whole[column].printed} is "
                f"{_right(whole[column])}",
            )


def _people(published: Published) -> Iterator[Finding]:
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


def _no_count(cell: PublishedCell, n: int, of: str) -> Finding:
    below, above = nearest_percentages(cell.printed, n)
    nearest = min((below, above), key=lambda count: abs(100 * count / n - cell.value))
    return Finding.of(
        cell,
        f"No count of the {n:,} {of} gives it; the nearest is {100 * nearest / n:.{cell.decimals}f}.",
        f"{below:,} / {n:,} = {100 * below / n:.3f}% and {above:,} / {n:,} = {100 * above / n:.3f}%",
    )


def _recalls_below_their_minimum(cells: Iterable[PublishedCell], annotated: int, from_zero: int) -> Iterator[Finding]:
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
            yield Finding.of(recall, text, f"{arithmetic}; printed {recall.printed}")


def _impossible_recalls(cells: Iterable[PublishedCell], annotated: int) -> Iterator[Finding]:
    """Flag recalls that are no whole number of the annotated views."""
    for cell in cells:
        if cell.metric == _RECALL and not any(
            grim_counts(cell.printed, annotated, truncated=cut) for cut in (False, True)
        ):
            yield _no_count(cell, annotated, "annotated views")


def _views_without_clues(published: Published, annotated: int) -> Iterator[Finding]:
    """Flag the mean number of views with clues: it counts all four views of questions without a clue in any view."""
    without = int(published.facts["questions_without_clues"].value)
    for column, cell in published.row("Appendix A.3", "Views with clues per question").items():
        questions = published.row("Appendix A.3", "Questions")[column]
        value = (annotated - _VIEWS * without) / questions.value
        if abs(value - cell.value) > cell.half_unit + ROUNDING:
            yield Finding.of(
                cell,
                f"It counts all four views of the {without} questions that have no clue in any view; without them it "
                f"is {value:.2f}.",
                f"({annotated} - {_VIEWS} x {without}) / {questions.printed} = {value:.2f}; {annotated} / "
                f"{questions.printed} = {annotated / questions.value:.2f}",
            )


def _backbones(published: Published) -> Iterator[Finding]:
    """Flag models of Table 6 that are named after another language model than the one that the table has."""
    families = ("llama3", "vicuna")
    for row, (backbone, _) in published.facts["backbones"].value.items():
        for family in families:
            if family in _plain(row) and family not in _plain(backbone):
                text = "The model is named after another language model."
                arithmetic = f"the name {row} against the LLM backbone {backbone}"
                yield Finding(published.benchmark, "Table 6", row, "LLM Backbone", backbone, text, arithmetic)


def _plain(name: str) -> str:
    return name.lower().replace("-", "")


def _model(row: TableRow) -> str:
    return next(iter(row.values())).model


def _by_model(rows: Mapping[tuple[str, str], TableRow]) -> dict[str, TableRow]:
    """Return the rows of Tables 2 and 7 by model."""
    return {_model(row): row for (table, _), row in rows.items() if table in _OVERALL_TABLES}
