"""Paired comparisons of a run: the selection of models, variants or parsers, and the text of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from known_unknowns.comparison.dual_pairs import dual_series
from known_unknowns.comparison.models import Answers, PairedRow, Series, compare_pairs, read_answers
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.variants.of_benchmark import content_free


@dataclass(frozen=True)
class Selection:
    """What to compare. One of models, variants and parsers is compared in pairs, for each of the others.

    Attributes
    ----------
    models : sequence of str
        With one model, its variants or its parsers are compared.
    benchmarks : sequence of str
    variants : sequence of str
        Empty for all variants of the benchmark with content.
    parsers : sequence of str
    """

    models: Sequence[str]
    benchmarks: Sequence[str]
    variants: Sequence[str]
    parsers: Sequence[str]

    @property
    def compared(self) -> str:
        """The attribute of a `Series` that differs within a pair.

        Raises
        ------
        ConfigError
            If there is no pair, or one model has several variants and several parsers.
        """
        if len(self.models) > 1:
            return "model"
        several = [("variant", self.variants), ("parser", self.parsers)]
        found = [name for name, chosen in several if len(chosen) > 1]
        if len(found) != 1:
            raise ConfigError("a comparison needs two models, or one model and two variants or two parsers")
        return found[0]

    def check(self, params: Params) -> None:
        """Raise ConfigError if a name is unknown, or a selected variant has no content."""
        for name in self.benchmarks:
            if name not in params.raw["benchmarks"]:
                raise ConfigError(unknown_name(name, params.raw["benchmarks"]), path="--benchmark")
        for name in self.models:
            params.model(name)
        variants = {variant for benchmark in self.benchmarks for variant in params.variants(benchmark)}
        for chosen, known, option in (
            (self.variants, variants, "--variant"),
            (self.parsers, params.parsers, "--parser"),
        ):
            for name in chosen:
                if name not in known:
                    raise ConfigError(unknown_name(name, known), path=option)
        for benchmark in self.benchmarks:
            if free := content_free(params, benchmark) & set(self.variants):
                text = f"{min(free)!r} has no content, so that it is not compared by accuracy; its metric is recognised"
                raise ConfigError(text, path="--variant")


def compare_selection(params: Params, selection: Selection, files: EditionFiles) -> list[PairedRow]:
    """Compare what was selected, in all pairs.

    Variants without content (`Variant.content_free`) are left out. Models are also compared by their dual accuracy on
    two selected variants (`known_unknowns.metrics.dual`); the variant of such a row is ``<first>+<second>``. The tests
    are corrected for the pairs that have the same benchmark and, if models are compared, the same variant and parser.

    Parameters
    ----------
    params : Params
        The configuration.
    selection : Selection
    files : EditionFiles
        The edition's files: variants and scores are read.

    Returns
    -------
    list of PairedRow

    Raises
    ------
    ConfigError
        If a name is unknown, a selected variant has no content, or nothing is a pair.
    DataError
        If scores are missing.
    """
    selection.check(params)
    compared = selection.compared
    rows: list[PairedRow] = []
    for benchmark in selection.benchmarks:
        families: dict[tuple[str, ...], list[Answers]] = {}
        found = _read(params, selection, benchmark, files)
        if compared == "model":
            found += dual_series(params, benchmark, found)
        for answers in found:
            families.setdefault(_common(answers.series, compared), []).append(answers)
        for family in families.values():
            rows += compare_pairs(benchmark, family, confidence=params.statistics.confidence)
    return rows


def _common(series: Series, compared: str) -> tuple[str, ...]:
    """The attributes that are the same in all series of a family."""
    return tuple(getattr(series, name) for name in ("variant", "parser", "model") if name != compared)


def _read(params: Params, selection: Selection, benchmark: str, files: EditionFiles) -> list[Answers]:
    """The selected answers to a benchmark's variants with content. Imported models have some of the variants only."""
    left_out = content_free(params, benchmark)
    found: list[Answers] = []
    for model in dict.fromkeys(selection.models):
        seeds: dict[str, list[int]] = {}
        for variant, seed in params.cells(benchmark, model):
            if variant not in left_out and (not selection.variants or variant in selection.variants):
                seeds.setdefault(variant, []).append(seed)
        for variant, of_variant in seeds.items():
            found += read_answers(
                files.variants(benchmark),
                files.scores(model, benchmark),
                model=model,
                variant=variant,
                parsers=list(dict.fromkeys(selection.parsers)),
                seeds=of_variant,
            )
    return found


def as_text(rows: Sequence[PairedRow], compared: str) -> str:
    """Format rows for a terminal; accuracies and differences in percent and percentage points.

    Parameters
    ----------
    rows : sequence of PairedRow
        The result of `compare_selection`.
    compared : str
        `Selection.compared`.
    """
    if not rows:
        return "No pair has answers to the same benchmark and variant."
    parts = []
    for (benchmark, *common), family in groupby(rows, key=lambda row: (row.benchmark, *_common(row.a, compared))):
        parts.append(_family(f"{benchmark}, {', '.join(common)}", list(family), compared))
    parts.append(
        f"difference: a - b in percentage points, with its {rows[0].confidence:.0%} interval\n"
        "p (Holm): corrected for all pairs of its table, as are the ranks\n"
        "detectable: minimum detectable difference at 80% power in percentage points"
    )
    return "\n\n".join(parts)


def _family(title: str, rows: list[PairedRow], compared: str) -> str:
    head = ("a", "b", "n", "groups", "a %", "b %", "difference", "interval", "p", "p (Holm)", "detectable")
    lines = [head, *(_line(row, compared) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [f"{title} ({', '.join(dict.fromkeys(row.test for row in rows))})"]
    text += ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    for row in rows:
        pair = f"{getattr(row.a, compared)} and {getattr(row.b, compared)}"
        if row.only_a or row.only_b:
            text.append(f"{pair}: {row.only_a} and {row.only_b} questions that the other one does not have")
        if row.low is None:
            text.append(f"{pair}: no interval ({row.method})")
    if len(rows) > 1:
        ranks = {row.a: (row.rank_a_low, row.rank_a_high) for row in rows}
        ranks |= {row.b: (row.rank_b_low, row.rank_b_high) for row in rows}
        named = [
            f"{getattr(series, compared)} {low}" + (f"-{high}" if high > low else "")
            for series, (low, high) in sorted(ranks.items(), key=lambda item: item[1])
        ]
        text.append(f"ranks: {', '.join(named)}")
    return "\n".join(text)


def _line(row: PairedRow, compared: str) -> tuple[str, ...]:
    return (
        getattr(row.a, compared),
        getattr(row.b, compared),
        str(row.n) if row.seeds < 2 else f"{row.n} x {row.seeds} seeds",
        str(row.groups),
        _percent(row.accuracy_a, ""),
        _percent(row.accuracy_b, ""),
        _percent(row.difference, "+"),
        "-" if row.low is None else f"[{_percent(row.low, '+')}, {_percent(row.high, '+')}]",
        _p(row.p),
        _p(row.p_holm),
        _percent(row.detectable, ""),
    )


def _percent(value: float | None, sign: str) -> str:
    return "-" if value is None else f"{100 * value:{sign}.1f}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.0001" if value < 0.0001 else f"{value:.4f}"
