"""The table of a run, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "questions/s": lambda loop: _span(loop["questions_a_second"], 2),
    "x batch 1": lambda loop: _span(loop["ratio_to_batch_1"], 2),
    "CPU-s a question": lambda loop: _span(loop["cpu_seconds_a_question"], 3),
    "x batch 1 (CPU)": lambda loop: _span(loop["cpu_ratio_to_batch_1"], 2),
    "of the floor": lambda loop: percent(loop["share_of_floor"]),
    "of oneDNN's": lambda loop: percent(loop["share_of_onednns_floor"]),
    "of oneDNN's (CPU)": lambda loop: _percents(loop["cpu_share_of_onednns_floor"]),
    "useful FLOPs": lambda loop: percent(loop["useful_share"]),
    "launches an image": lambda loop: "" if loop["launches_an_image"] is None else f"{loop['launches_an_image']:,.0f}",
    "visual tokens": lambda loop: tokens(loop["visual_tokens"]),
    "same letters": lambda loop: f"{loop['letters']['equal']} of {loop['letters']['of']}{_gap(loop['letters'])}",
}
"""The columns after the set and the loop, computed from a loop's numbers."""
ALWAYS = [name for name in COLUMNS if name != "launches an image"]


def table(result: Mapping[str, Any], columns: Sequence[str] = ALWAYS) -> str:
    """The table: a row for each loop of each set."""
    lines = [["set", "loop", *columns], ["---"] * (2 + len(columns))]
    for measured in result["sets"].values():
        asked = f"{measured['name']} ({measured['questions']} x {measured['repeats']})"
        lines += [
            [asked, name, *(COLUMNS[column](loop) for column in columns)] for name, loop in measured["loops"].items()
        ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def saved(result: Mapping[str, Any]) -> str:
    """What sharing saves in FLOPs: the line under the table."""
    floors = [(of["name"], of["floor"]) for of in result["sets"].values()]
    times = ", ".join(f"{name} {floor['unshared_flops'] / floor['flops']:.2f}" for name, floor in floors)
    return f"FLOPs of asking each question alone, as multiples of the floor's: {times}."


def _span(values: Mapping[str, float], decimals: int) -> str:
    median, least, most = (f"{values[key]:.{decimals}f}" for key in ("median", "least", "most"))
    return f"{median} ({least} to {most})"


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}%"


def _percents(span: Mapping[str, float] | None) -> str:
    if span is None:
        return ""
    median, least, most = (percent(span[key]) for key in ("median", "least", "most"))
    return f"{median} ({least} to {most})"


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
