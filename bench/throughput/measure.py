"""Times the loops on the question sets, interleaved, and compares their letters."""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from bench.throughput.data import Maker, QuestionSet
from bench.throughput.floor import Flops, Group, MatrixRate, executed_flops
from bench.throughput.launch_count import launched
from bench.throughput.loops import Loop, Said
from bench.throughput.prompt_groups import groups

PLAIN = ("plain loop, batch 1", "plain loop, batch 4")
REFERENCE = PLAIN[0]
COUNTED_QUESTIONS = 100
WARM_UP_QUESTIONS = 10


def letter(text: str) -> str:
    """What a reply starts with, in upper case; "" for an empty one."""
    return text.strip()[:1].upper()


@dataclass(slots=True)
class Record:
    """One loop on one set, which may be asked a part of it: for each repeat what was asked and said, and how long it
    took. ``least`` are the FLOPs that the questions of a repeat need; ``executed`` and ``counted`` those that the loop
    executes and that are needed for a part on which torch counts them. ``launches`` are the kernel launches per image:
    those per question of another part, times the questions per image. ``cpu_seconds`` are those of all threads and
    child processes."""

    asked: list[QuestionSet]
    least: int
    counted: int = 0
    executed: int = 0
    launches: float | None = None
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Questions a second."""
        return [len(asked.turns) / seconds for asked, seconds in zip(self.asked, self.seconds, strict=False)]

    @property
    def cpu_seconds_a_question(self) -> list[float]:
        return [spent / len(asked.turns) for asked, spent in zip(self.asked, self.cpu_seconds, strict=False)]

    @property
    def texts(self) -> list[str]:
        return [text for said in self.said for text in said.texts]


@dataclass(slots=True)
class Measured:
    """One set: its repeats, its first repeat's groups, each loop's record, the matrix rates beside each repeat."""

    sets: list[QuestionSet]
    groups: list[Group]
    records: dict[str, Record]
    matrix_rates: list[float] = field(default_factory=list)
    onednn_rates: list[float] = field(default_factory=list)
    onednn_cpu_rates: list[float] = field(default_factory=list)

    @property
    def reference(self) -> str:
        """The loop that others are held against; the first one where the batch-1 loop was not asked for."""
        return REFERENCE if REFERENCE in self.records else next(iter(self.records))


@dataclass(frozen=True, slots=True)
class Bench:
    """What measuring a set needs: the loops by name, a model and a processor, a folder for images.

    ``parts`` limits how many questions of a set a loop is asked. ``launches`` counts kernel launches, too.
    """

    loops: Mapping[str, Loop]
    parts: Mapping[str, int]
    model: Any
    processor: Any
    folder: Path
    say: Callable[[str], None]
    launches: bool = False


def measure(bench: Bench, maker: Maker, *, repeats: int) -> Measured:
    """Warm up, count FLOPs, then time all loops ``repeats`` times in turn, on new images each time."""
    flops = Flops(bench.model.config)
    sets = [maker(bench.folder, seed, sys.maxsize) for seed in range(1, repeats + 1)]
    warm, counted = maker(bench.folder, 0, WARM_UP_QUESTIONS), maker(bench.folder, 100, COUNTED_QUESTIONS)
    found = groups(bench.processor, sets[0].turns, bench.folder)
    measured = Measured(sets, found, {})
    whole = flops.shared(found)
    rate = MatrixRate(bench.model, found[0])
    for name, loop in bench.loops.items():
        bench.say(f"{sets[0].name}: {name}: warming up, counting")
        most = bench.parts.get(name, sys.maxsize)
        asked = [questions.first(most) for questions in sets]
        part, few = asked[0].turns, counted.first(most).turns
        least = whole if part == sets[0].turns else flops.shared(groups(bench.processor, part, bench.folder))
        loop(warm.turns, bench.folder)
        needed = flops.shared(groups(bench.processor, few, bench.folder))
        record = Record(asked, least, counted=needed, executed=executed_flops(partial(loop, few, bench.folder)))
        measured.records[name] = record
        if bench.launches and record.executed:  # else another process executes the loop
            few = maker(bench.folder, 101, WARM_UP_QUESTIONS if name in bench.parts else COUNTED_QUESTIONS).turns
            count = launched(partial(loop, few, bench.folder), on_gpu=bench.model.device.type == "cuda")
            record.launches = count / len(few) * len(sets[0].turns) / len(found)
    for repeat in range(repeats):
        measured.matrix_rates.append(rate.measure())
        if (by_onednn := rate.measure_onednn()) is not None:
            measured.onednn_rates.append(by_onednn[0])
            measured.onednn_cpu_rates.append(by_onednn[1])
        for name, loop in bench.loops.items():
            _time(loop, measured.records[name], repeat, bench.folder)
            bench.say(
                f"{sets[0].name}: repeat {repeat + 1}: {name}: {measured.records[name].rates[-1]:.2f} questions/s"
            )
    return measured


def _time(loop: Loop, record: Record, repeat: int, folder: Path) -> None:
    turns = record.asked[repeat].turns
    started, spent = time.perf_counter(), cpu_seconds()
    said = loop(turns, folder)
    record.seconds.append(time.perf_counter() - started)
    record.cpu_seconds.append(cpu_seconds() - spent)
    record.said.append(said)


def cpu_seconds() -> float:
    """Return the CPU-seconds of this process, of its child processes that have ended, and of those that run."""
    this, total = psutil.Process(), 0.0
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            used = process.cpu_times()
            total += used.user + used.system + used.children_user + used.children_system
    return total


def summary(measured: Measured, flops: Flops) -> dict[str, Any]:
    """All of a set's numbers, as JSON-able values."""
    said = measured.records[measured.reference].texts
    rate = statistics.median(measured.matrix_rates)
    least = flops.shared(measured.groups)
    return {
        "name": measured.sets[0].name,
        "questions": len(measured.sets[0].turns),
        "images": len(measured.groups),
        "repeats": len(measured.sets),
        "visual_tokens": span([group.grid[0] * group.grid[1] // 4 for group in measured.groups]),
        "prefix_tokens": span([group.prefix for group in measured.groups]),
        "suffix_tokens": span([own for group in measured.groups for own in group.suffixes]),
        "matrix_flops_a_second": span(measured.matrix_rates),
        "onednn_flops_a_second": span(measured.onednn_rates),
        "floor": {"flops": least, "seconds": least / rate, "unshared_flops": flops.unshared(measured.groups)},
        "letters": dict(sorted(Counter(map(letter, said)).items())),
        "one_letter_replies": _share(text in tuple("ABCDE") for text in said),
        "loops": {name: _summary(measured, name) for name in measured.records},
    }


def _summary(measured: Measured, name: str) -> dict[str, Any]:
    record = measured.records[name]
    rate = record.least / statistics.median(record.seconds)
    return {
        "questions": len(record.asked[0].turns),
        "questions_a_second": span(record.rates),
        "seconds": record.seconds,
        "cpu_seconds": record.cpu_seconds,
        "cpu_seconds_a_question": span(record.cpu_seconds_a_question),
        "ratio_to_batch_1": _ratio(measured, name),
        "cpu_ratio_to_batch_1": _cpu_ratio(measured, name),
        "ratio_to_best_plain": _ratio_to_best_plain(measured, name),
        "share_of_floor": rate / statistics.median(measured.matrix_rates),
        "share_of_onednns_floor": rate / statistics.median(measured.onednn_rates) if measured.onednn_rates else None,
        "cpu_share_of_onednns_floor": _cpu_share(measured, name),
        "executed_flops": record.executed,
        "useful_share": record.counted / record.executed if record.executed else None,
        "launches_an_image": record.launches,
        "visual_tokens": span([n for said in record.said for n in said.visual_tokens if n is not None]),
        "letters": compare(measured, name),
    }


def _share(values: Any) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def _ratio(measured: Measured, name: str) -> dict[str, float]:
    """How many times as fast as the batch-1 loop: of the medians, and the least and the most of the repeats."""
    return _times(measured.records[name].rates, measured.records[measured.reference].rates)


def _cpu_ratio(measured: Measured, name: str) -> dict[str, float]:
    """How many times as many CPU-seconds a question costs the batch-1 loop, in the same form."""
    theirs, ours = measured.records[measured.reference], measured.records[name]
    return _times(theirs.cpu_seconds_a_question, ours.cpu_seconds_a_question)


def _cpu_share(measured: Measured, name: str) -> dict[str, float] | None:
    """The CPU-seconds of the least FLOPs at oneDNN's rate beside each repeat, of those that the loop took."""
    record = measured.records[name]
    pairs = zip(record.cpu_seconds, measured.onednn_cpu_rates, strict=False)
    return span([record.least / rate / spent for spent, rate in pairs])


def _times(values: Sequence[float], of: Sequence[float]) -> dict[str, float]:
    each = [value / other for value, other in zip(values, of, strict=True)]
    return {"median": statistics.median(values) / statistics.median(of), "least": min(each), "most": max(each)}


def _ratio_to_best_plain(measured: Measured, name: str) -> float | None:
    plain = [statistics.median(measured.records[loop].rates) for loop in PLAIN if loop in measured.records]
    return statistics.median(measured.records[name].rates) / max(plain) if plain else None


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose letter differs from the batch-1 loop's. ``gap`` is between the two likeliest letters'
    log-probabilities, by the loop itself or by the first loop that tells them."""

    question: str
    letter: str
    reference: str
    gap: float | None


def compare(measured: Measured, name: str) -> dict[str, Any]:
    """How many letters, and whole replies, are the batch-1 loop's, of the questions that both were asked; the flips."""
    theirs, ours = measured.records[measured.reference], measured.records[name]
    flips, total, same = [], 0, 0
    for repeat, questions in enumerate(measured.sets):
        pairs = zip(questions.turns, ours.said[repeat].texts, theirs.said[repeat].texts, strict=False)
        for place, (turn, text, other) in enumerate(pairs):
            total += 1
            same += text == other
            here, there = letter(text), letter(other)
            if here != there:
                flips.append(Flip(turn.question_id, here, there, _gap(measured, name, repeat, place)))
    return {
        "equal": total - len(flips),
        "of": total,
        "same_replies": same,
        "flip_rate": len(flips) / total,
        "largest_gap_of_a_flip": max((flip.gap for flip in flips if flip.gap is not None), default=None),
        "flips": [asdict(flip) for flip in flips],
    }


def _gap(measured: Measured, name: str, repeat: int, place: int) -> float | None:
    for record in (measured.records[name], *measured.records.values()):
        gaps = record.said[repeat].gaps
        if place < len(gaps) and gaps[place] is not None:
            return gaps[place]
    return None


def span(values: Sequence[float]) -> dict[str, float] | None:
    """Median, least and most; None of nothing."""
    if not values:
        return None
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def by_image(loop: Loop, questions: QuestionSet, *, asked: int = 8, images: int = 3) -> dict[str, Any]:
    """Return the share of questions whose letter changes between images."""
    shown = list(dict.fromkeys(turn.images for turn in questions.turns))[:images]
    texts = [turn.text for turn in questions.turns[:asked]]
    turns = [replace(questions.turns[0], content=(*images, text)) for images in shown for text in texts]
    said = [letter(text) for text in loop(turns, questions.folder).texts]
    letters = [{said[image * len(texts) + place] for image in range(len(shown))} for place in range(len(texts))]
    return {"questions": len(texts), "images": len(shown), "letter_changes": _share(len(of) > 1 for of in letters)}
