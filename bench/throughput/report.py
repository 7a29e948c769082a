"""The table of a run, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COLUMNS = (
    *("set", "loop", "questions/s", "x batch 1", "CPU-s a question", "x batch 1 (CPU)"),
    *("of the floor", "of oneDNN's", "useful FLOPs", "visual tokens", "same letters"),
)
HEADER = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def table(result: Mapping[str, Any]) -> str:
    """The table, and under it what sharing saves in FLOPs."""
    sets = result["sets"].values()
    saved = [f"{of['name']} {of['floor']['unshared_flops'] / of['floor']['flops']:.2f}" for of in sets]
    under = f"FLOPs of asking each question alone, as multiples of the floor's: {', '.join(saved)}."
    return "\n".join([HEADER, *(row for measured in sets for row in rows(measured)), "", under])


def rows(measured: Mapping[str, Any]) -> Iterator[str]:
    """A row for each loop of one set."""
    for name, loop in measured["loops"].items():
        rate, letters = loop["questions_a_second"], loop["letters"]
        cells = [
            f"{measured['name']} ({measured['questions']} x {measured['repeats']})",
            name,
            _span(rate, 2),
            _span(loop["ratio_to_batch_1"], 2),
            _span(loop["cpu_seconds_a_question"], 3),
            _span(loop["cpu_ratio_to_batch_1"], 2),
            percent(loop["share_of_floor"]),
            percent(loop["share_of_onednns_floor"]),
            percent(loop["useful_share"]),
            tokens(loop["visual_tokens"]),
            f"{letters['equal']} of {letters['of']}{_gap(letters)}",
        ]
        yield f"| {' | '.join(cells)} |"


def _span(values: Mapping[str, float], decimals: int) -> str:
    median, least, most = (f"{values[key]:.{decimals}f}" for key in ("median", "least", "most"))
    return f"{median} ({least} to {most})"


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}%"


def tokens(span: Mapping[str, float] | None) -> str:
    if span is None:
        return ""
    least, most = int(span["least"]), int(span["most"])
    return str(least) if least == most else f"{least} to {most}"


def _gap(letters: Mapping[str, Any]) -> str:
    gap = letters["largest_gap_of_a_flip"]
    return "" if gap is None else f", gaps up to {gap:.3f}"


def memory_table(measured: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| loop | images | loaded | peak | growth after a tenth | after half |", "|---|---|---|---|---|---|"]
    for name, memory in measured.items():
        mib = [memory[key] for key in ("loaded_mib", "peak_mib", "growth_after_a_tenth_mib", "growth_after_half_mib")]
        lines.append(f"| {name} | {memory['images']} | {' | '.join(f'{value:.0f} MiB' for value in mib)} |")
    return "\n".join(lines)


def projection(result: Mapping[str, Any], questions: int = 22_831) -> dict[str, Any]:
    """Minutes for HumbleBench's three runs of ``questions`` questions, by each loop that ran all of their sets."""
    sets = [measured for key, measured in result["sets"].items() if key.startswith("humblebench")]
    if len(sets) < 3:
        return {}
    loops = set.intersection(*(set(measured["loops"]) for measured in sets))
    rates = {
        name: [measured["loops"][name]["questions_a_second"]["median"] for measured in sets] for name in sorted(loops)
    }
    return {name: sum(questions / rate for rate in each) / 60 for name, each in rates.items()}
