"""The summary at the end of a run: judged numbers, verdicts by kind, and what to run to judge more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import conditions as condition
from known_unknowns.comparison.compare import OFFICIAL, ComparisonRow
from known_unknowns.comparison.published import load
from known_unknowns.comparison.verdicts import UNJUDGED, counts
from known_unknowns.config import Params, catalogue, parse
from known_unknowns.config.sections import Edition
from known_unknowns.errors import ConfigError
from known_unknowns.records import OVERALL
from known_unknowns.run_command import run_command

_ADVICE = {
    condition.VARIANT: "run the variant {row.variant} for {row.model}",
    condition.METRIC: "{row.metric} of {row.variant} was not measured, or is undefined, for {row.model}",
    condition.NUMBER: "ask all published questions of {row.variant}; {row.reason}",
    condition.REVISION: "fetch the published revision of the data; {row.reason}",
    condition.PROTOCOL: "use the published protocol; {row.reason}",
    condition.SETTINGS: "ask {row.model} as published (known-unknowns models list --as-published {row.benchmark})",
}
"""What to change so that a number with an obstacle can be judged. Those of models and questions have own functions."""
_MOST_ROWS = 5
"""Published rows without a model that have their own step, per benchmark."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to run so that ``numbers`` more published numbers can be judged."""

    numbers: int
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.numbers:,} published number{'s' * (self.numbers != 1)})"


@dataclass(frozen=True, slots=True)
class Summary:
    """The verdicts of a run under the official parser (or a table's own, or the first).

    ``comparable`` is whether any published question was asked. ``judged`` counts the published numbers with a verdict
    other than "not run" and "not comparable", ``verdicts`` has one for each published number and corresponding model.
    ``steps`` are what to run to judge more, the largest gain first.
    """

    numbers: int
    comparable: bool
    judged: int
    verdicts: Mapping[str, int]
    steps: tuple[Step, ...]

    def text(self) -> str:
        """Return the summary as lines of text."""
        if not self.numbers:
            return "Verdicts   there are no published numbers of these benchmarks"
        lines = self.counts()
        if self.steps:
            lines.append("To judge more:")
            lines += [f"  {step}" for step in self.steps]
        return "\n".join(lines)

    def counts(self) -> list[str]:
        """Return lines with the number of judged numbers, and of each verdict."""
        lines = [f"Verdicts   {self.judged:,} of {self.numbers:,} published numbers could be judged"]
        return lines + [f"           {number:6,} {verdict}" for verdict, number in self.verdicts.items()]


def leading_rows(rows: Iterable[ComparisonRow]) -> list[ComparisonRow]:
    """Return one row for each published number and model: the official parser's, or else the first parser's."""
    lines = (list(line) for _, line in groupby(rows, key=lambda r: (r.benchmark, r.table, r.row, r.column, r.model)))
    return [next((row for row in line if row.parser == OFFICIAL), line[0]) for line in lines]


def summarise(rows: Sequence[ComparisonRow], params: Params) -> Summary:
    """Summarise the verdicts of a run.

    The steps name models and editions of the configuration. Pages and tables know their own edition only, so that
    another one reruns nothing.
    """
    leading = leading_rows(rows)
    judged = {_key(row) for row in leading if row.verdict not in UNJUDGED}
    return Summary(
        numbers=len({_key(row) for row in leading}),
        comparable=any(row.obstacle != condition.QUESTIONS for row in leading),
        judged=len(judged),
        verdicts=counts([row.verdict for row in leading]),
        steps=tuple(_steps([row for row in leading if _key(row) not in judged], params)),
    )


def _key(row: ComparisonRow) -> tuple[str, str, str, str]:
    return row.benchmark, row.table, row.row, row.column


def _steps(rows: Sequence[ComparisonRow], params: Params) -> list[Step]:
    texts = Counter(
        f"{registry.get(row.benchmark).title}: {_ADVICE[row.obstacle].format(row=row)}"
        for row in rows
        if row.obstacle in _ADVICE
    )
    steps = [Step(number, text) for text, number in texts.items()]
    rendered = Counter(row.benchmark for row in rows if row.obstacle == condition.QUESTIONS)
    for benchmark, number in rendered.items():
        title = registry.get(benchmark).title
        unnamed = Step(number, f"{title}: the questions are rendered; run an edition with the published ones")
        steps += list(_published_data(benchmark, params)) or [unnamed]
    for benchmark in dict.fromkeys(row.benchmark for row in rows):
        missing = Counter(
            row.published_row or row.row
            for row in rows
            if (row.benchmark, row.obstacle) == (benchmark, condition.MODEL)
        )
        steps += _models(benchmark, missing, params)
    return sorted(steps, key=lambda step: -step.numbers)


def _published_data(benchmark: str, params: Params) -> Iterator[Step]:
    """Yield steps that ask the published questions, with the numbers that they can judge.

    Of editions that judge equally many, the step names the one that asks least.
    """
    title = registry.get(benchmark).title
    cheapest: dict[int, tuple[int, str]] = {}
    for edition in _editions(benchmark, params, {**catalogue.editions(), **params.file.editions}, without=("scenes",)):
        with suppress(ConfigError):  # an edition with a mistake, which a run of it names
            selected = _selected(params, edition)
            number = len(judgeable(benchmark, selected))
            cells = sum(len(selected.cells(each, model)) for each in selected.benchmarks for model in selected.models)
            cheapest[number] = min(cheapest.get(number, (cells, edition)), (cells, edition))
    for number, (_, edition) in cheapest.items():
        if number:
            yield Step(number, f"{title}: the questions are rendered; ask the published ones: {run_command(edition)}")


def _selected(params: Params, edition: str) -> Params:
    """Return the configuration with an edition of it or of the catalogue selected, and the entries that it names."""
    return parse(params.file.plain() | {"edition": edition})


def judgeable(benchmark: str, params: Params) -> list[PublishedCell]:
    """Return the published numbers that a run judges if all its questions are the published ones.

    They are those of rows that its models correspond to and are asked like, of variants with the published protocol.
    """
    variants = set(params.variants(benchmark))
    variants |= {c.name for c in registry.get(benchmark).metrics().across_variants if variants.issuperset(c.variants)}
    variants -= condition.other_protocols(params, benchmark).keys()
    cells, asked = load(benchmark), condition.asked_as(params, benchmark)
    counts = condition.published_counts(cells)
    rows: dict[str, list[str]] = {}
    for model in params.models:
        rows.setdefault(params.published(model, benchmark) or "", []).append(model)
    return [
        cell
        for cell in cells
        if cell.variant in variants
        and (condition.published_number(cell) is not None or OVERALL in counts.get(cell.revision, {}))
        and any(not asked(model, cell.variant).otherwise for model in rows.get(cell.model, ()))
    ]


def _editions(benchmark: str, params: Params, known: Mapping[str, Edition], *, without: Sequence[str]) -> list[str]:
    """Return the names of the known editions whose data of a benchmark come from another source than these."""
    data = params.benchmark(benchmark).data
    names = []
    for name, entry in known.items():
        if benchmark in entry.benchmarks:
            source = data.get(entry.data or name)
            if source is not None and source.source not in without:
                names.append(name)
    return names


def _models(benchmark: str, missing: Mapping[str, int], params: Params) -> list[Step]:
    """Return a step for the published rows with the most numbers that no model stands for, and one for the others."""
    known = {row: name for name, entry in catalogue.models().items() if (row := entry.published_row(benchmark))}
    absent = catalogue.absent().get(benchmark, {})
    title = registry.get(benchmark).title
    place = "to the models of the edition"
    if params.data(benchmark).source == "released":  # no model is asked
        editions = " or ".join(_editions(benchmark, params, params.file.editions, without=("scenes", "released")))
        place = f"to an edition with the published data{f' ({editions})' if editions else ''}"
    steps = []
    if unavailable := sum(number for row, number in missing.items() if row in absent):
        text = (
            f"{title}: the models of other rows cannot be run (known-unknowns models list --absent lists the reasons)"
        )
        steps.append(Step(unavailable, text))
    runnable = sorted((row for row in missing if row not in absent), key=lambda row: -missing[row])
    for row in runnable[:_MOST_ROWS]:
        advice = f"add {known[row]} {place}" if row in known else f"add a model with published: {row}"
        steps.append(Step(missing[row], f"{title}: no model stands for {row}: {advice}"))
    if others := runnable[_MOST_ROWS:]:
        text = f"{title}: no model stands for {', '.join(others)} (known-unknowns models list lists their models)"
        steps.append(Step(sum(missing[row] for row in others), text))
    return steps
