"""The report's tables of the use of the models, and of how their replies were computed."""

from __future__ import annotations

from collections.abc import Mapping

from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, interval, percent
from known_unknowns.report.numerics import Computation, RepeatedAnswers
from known_unknowns.report.provenance import Model, RunDescription


def usage(description: RunDescription) -> Table:
    """Return turns, replies, tokens, time and cost of each model. Columns without any number are left out."""
    columns = ("engine", "turns", "replies", "tokens in", "tokens out", "seconds", "US dollars")
    cells = [_usage(model) for model in description.models]
    kept = [i for i in range(len(columns)) if any(row[i].text != DASH for row in cells)]
    rows = tuple(
        Row((Head(model.name),), tuple(row[i] for i in kept), "baseline" if model.scripted else "")
        for model, row in zip(description.models, cells, strict=True)
    )
    return Table("Use of each model", ("Model",), tuple(Head(columns[i]) for i in kept), rows)


def _usage(model: Model) -> tuple[Cell, ...]:
    engine = Cell("scripted" if model.scripted else str(model.entry.get("engine", DASH)), kind="plain")
    used = model.usage
    if used is None:
        return engine, _count(model.turns), *(Cell(DASH, title="not recorded") for _ in range(5))
    partly = used.usd is not None and used.priced < used.replies
    return (
        engine,
        _count(model.turns),
        _count(used.replies),
        _count(used.input_tokens),
        _count(used.output_tokens),
        Cell(f"{used.seconds:,.0f}"),
        Cell(DASH if used.usd is None else f"{used.usd:,.4f}", note=f"of {used.priced:,} replies" if partly else ""),
    )


def _count(value: int | None) -> Cell:
    return Cell(DASH if value is None else f"{value:,}")


def computations(description: RunDescription, titles: Mapping[str, str]) -> Table | None:
    """Return how the replies of local weights were computed, or None without such replies.

    ``titles`` are those of the benchmarks.
    """
    rows = tuple(
        Row((Head(row.model), Head(titles.get(row.benchmark, row.benchmark))), _computation(row))
        for model in description.models
        for row in model.computations
    )
    columns = (
        Head("prefix cache"),
        Head("prompts by plan"),
        Head("largest difference from generate"),
        Head("rejected plans"),
        Head("answers that change at batch size 1"),
    )
    caption = "Prompts of this run by plan, without replies of earlier runs"
    return Table(caption, ("Model", "Benchmark"), columns, rows) if rows else None


def _computation(row: Computation) -> tuple[Cell, ...]:
    plans = ", ".join(f"{plan} {number:,}" for plan, number in row.plans.items()) or DASH
    images = f"standard deviations, on {row.images} image{'' if row.images == 1 else 's'}"
    difference = Cell("not checked") if row.difference is None else Cell(f"{row.difference:.1g}", note=images)
    rejected = "; ".join(f"{plan}: {why}" for plan, why in row.rejected_plans) or "none"
    changes = Cell(DASH)
    if row.changes is not None:
        found = row.changes
        gap = "" if found.widest is None else f"; widest gap {found.widest:.3f} nats"
        bounds = f"{percent(found.share)}% {interval(found.low, found.high)}, Wilson{gap}"
        changes = Cell(f"{found.count} of {found.n}", note=bounds)
    return Cell(row.requested, kind="plain"), Cell(plans, kind="text"), difference, Cell(rejected, kind="text"), changes


def repeated(description: RunDescription, titles: Mapping[str, str]) -> Table | None:
    """Return the answers that changed when recorded turns were asked again in other ways, or None without such."""
    rows = tuple(
        Row(
            (Head(row.model), Head(titles.get(row.benchmark, row.benchmark)), Head(row.way or "any way")),
            _repeated(row),
        )
        for model in description.models
        for row in model.repeated
    )
    columns = (
        Head("differs from the run in"),
        Head("asked again"),
        Head("answers that changed"),
        Head("of these, near ties"),
        Head("without a reply"),
    )
    return Table("Recorded replies asked again", ("Model", "Benchmark", "Way"), columns, rows) if rows else None


def _repeated(row: RepeatedAnswers) -> tuple[Cell, ...]:
    share = "" if row.share is None else f"{percent(row.share)}% {interval(row.low, row.high)}, {row.method}"
    changed = Cell(f"{row.count:,}", note=share) if row.n else Cell(DASH, title="nothing was compared")
    return (
        Cell(row.cause or "one or more of the settings below", kind="text"),
        Cell(f"{row.n:,}"),
        changed,
        Cell(f"{row.near_ties:,}" if row.count else DASH),
        _count(row.failed),
    )
