"""Measure the question browser: size and time of the build, first screen, filters, opening a question.

    python -m bench.browser.measure build/browser --questions 22831 --models 20

It needs Chromium. README.md has the results.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from bench.browser import data
from known_unknowns import config
from known_unknowns.report.browser import build
from known_unknowns.report.browser.benchmark import BenchmarkWriter
from tests.browser import Browser

READY = "document.getElementById('scroll')?.getAttribute('aria-busy') === 'false'"
CHANGE = """(async () => {
  const drawn = new Promise((done) => new MutationObserver((_, observer) => {
    if (document.getElementById('scroll').getAttribute('aria-busy') === 'true' && !%(text)s) return;
    observer.disconnect(); requestAnimationFrame(() => requestAnimationFrame(done)); }
  ).observe(document.getElementById('count'), { childList: true }));
  const start = performance.now();
  for (const [name, value] of Object.entries(%(values)s)) document.getElementById(name).value = value;
  const changed = document.getElementById(%(text)s ? 'search' : 'model');
  changed.dispatchEvent(new Event(%(text)s ? 'input' : 'change', { bubbles: true }));
  await drawn;
  const scroll = document.getElementById('scroll');
  while (scroll.getAttribute('aria-busy') !== 'false') await new Promise(requestAnimationFrame);
  return [performance.now() - start, document.getElementById('count').textContent];
})()"""
FILTERS = (
    ("outcome: wrong", {"outcome": "wrong"}, {"outcome": ""}),
    ("category", {"category": "Relation"}, {"category": ""}),
    ("search of questions", {"search": "wooden bicycle"}, {"search": ""}),
    ("two parsers disagree", {"parsers": "any"}, {"parsers": ""}),
    ("two models differ", {"other": "model-01"}, {"other": ""}),
    ("right, but not refused", {"relation": "original~nota_only"}, {"relation": ""}),
    ("another variant", {"variant": "noise"}, {"variant": "original"}),
    ("all models: wrong", {"model": "*", "outcome": "wrong"}, None),
    ("all models and variants: wrong", {"variant": "*"}, None),
    ("all models and variants: right", {"outcome": "right"}, None),
)
EVERYTHING = {"model": "*", "variant": "*"}
FIRST_FILTERS = (
    ("all models: wrong", {"model": "*", "outcome": "wrong"}),
    ("all models and variants: wrong", {**EVERYTHING, "outcome": "wrong"}),
    ("all models and variants: a category", {**EVERYTHING, "category": "Relation"}),
    ("all models and variants: two parsers disagree", {**EVERYTHING, "parsers": "any"}),
    ("all models and variants: differ from one model", {**EVERYTHING, "other": "model-01"}),
    ("all models and variants: search", {**EVERYTHING, "search": "wooden bicycle"}),
)
"""Filters that are measured as the first action, before and after the page has loaded their bytes in idle time."""
NEVER_IDLE = "window.requestIdleCallback = (call) => setTimeout(call, 1e9)"
PREPARED = "document.body.dataset.prepared"
REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=22831)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--sets", type=int, default=4, help="sets of replies that the models share")
    parser.add_argument("--root", type=Path, default=Path())
    chosen = parser.parse_args()
    settings = data.params(chosen.root, chosen.models, data.VARIANTS)
    page = chosen.folder / "report" / "questions.html"
    if not (chosen.folder / "replies").exists():
        data.write(chosen.folder, settings, chosen.questions, chosen.sets)
    if not page.exists():
        print(json.dumps(measure_build(chosen.folder, settings, page, chosen.sets)), flush=True)
    for name, value in (
        measure_page(page) | measure_first_filters(page) | measure_first_filters(page, idle=True)
    ).items():
        print(f"| {name} | {value} |", flush=True)


def measure_build(folder: Path, settings: data.Params, page: Path, sets: int) -> dict[str, float]:
    """Return replies, CPU seconds, seconds, the largest memory in MB, and size in MB and number of the files."""
    share_replies(settings, sets)
    cpu, start = time.process_time(), time.monotonic()
    without_images = config.parse({**settings.file.plain(), "report": {"images": False}})
    build(without_images, results=folder, data=folder, out=page)
    sizes = [path.stat().st_size for path in page.parent.rglob("*.*")]
    return {
        "models_built": sets,
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "seconds": round(time.monotonic() - start, 1),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "size_mb": round(sum(sizes) / 1e6),
        "files": len(sizes),
    }


def share_replies(settings: data.Params, sets: int) -> None:
    """Build the replies of each set once. Every model has its own outcomes: the set's, rolled."""
    build_replies, built = BenchmarkWriter._replies, {}

    def replies(self: BenchmarkWriter, model: str, cell: tuple[str, int], *arguments: Any) -> tuple[Any, list[str]]:
        number = settings.models.index(model)
        key = (number % sets, cell)
        if key not in built:
            built[key] = build_replies(self, model, cell, *arguments)
        planes, chunks = built[key]
        rolled = {parser: tuple(np.roll(plane, -number) for plane in of_one) for parser, of_one in planes.items()}
        return rolled, chunks

    BenchmarkWriter._replies = replies


def measure_page(page: Path) -> dict[str, str]:
    """Return medians and ranges over repeats, in milliseconds."""
    first, sizes = [], []
    for _ in range(REPEATS):
        with Browser() as browser:
            browser.open(page)
            browser.wait_for(READY, 60)
            first.append(browser.evaluate("performance.now()"))
            browser.wait_for("document.querySelector('#list .excerpt')?.textContent !== ''", 60)
            sizes.append(page.stat().st_size + sum(_size(address) for address in browser.requests))
    found = {"first screen": _range(first), "bytes until the list has its texts": f"{max(sizes) / 1e6:.2f} MB"}
    with Browser() as browser:
        browser.call("Performance.enable", timeDomain="threadTicks")
        browser.open(page)
        browser.wait_for("document.querySelector('#list .excerpt')?.textContent", 60)
        for name, values, back in FILTERS:
            times, spent, count = [], [], ""
            for _ in range(REPEATS if back else 1):
                taken, cpu, count = _change(browser, values)
                times.append(taken)
                spent.append(cpu)
                if back:
                    _change(browser, back)
            found[f"{name}, first time"] = f"{times[0]:.0f} ms, {spent[0]:.0f} ms of CPU time: {count}"
            if back:
                found[f"{name}, again"] = _range(times[1:])
    with Browser() as browser:
        opened = []
        browser.open(page)
        browser.wait_for(READY, 60)
        for _ in range(REPEATS):
            start = time.monotonic()
            browser.evaluate("(document.getElementById('variants') ?? document.body).removeAttribute('id')")
            browser.press("j")
            browser.wait_for("!!document.querySelector('#variants .cards')", 60)
            opened.append(1000 * (time.monotonic() - start))
        found["open the next question, with all variants"] = _range(opened)
        found["memory of the page"] = f"{browser.evaluate('performance.memory.usedJSHeapSize') / 1e6:.0f} MB"
    return found


def measure_first_filters(page: Path, *, idle: bool = False) -> dict[str, str]:
    """Return medians and ranges of milliseconds, and of CPU time, each in a new browser.

    With ``idle``, the page has loaded what it loads while nothing happens; the times until then are returned as well.
    """
    found, prepared = {}, []
    when = "first action after idle time" if idle else "first action"
    for name, values in FIRST_FILTERS:
        times, spent = [], []
        for _ in range(REPEATS):
            with Browser() as browser:
                if not idle:
                    browser.call("Page.addScriptToEvaluateOnNewDocument", source=NEVER_IDLE)
                browser.call("Performance.enable", timeDomain="threadTicks")
                browser.open(page)
                browser.wait_for("document.querySelector('#list .excerpt')?.textContent", 60)
                if idle:
                    browser.wait_for(f"!!{PREPARED}", 60)
                    prepared.append(float(browser.evaluate(PREPARED)))
                taken, cpu, count = _change(browser, values)
                times.append(taken)
                spent.append(cpu)
        found[f"{when}, {name}"] = f"{_range(times)}, {_range(spent)} of CPU time: {count}"
    return found | ({"all bytes of filters are loaded after": _range(prepared)} if idle else {})


def _change(browser: Browser, values: dict[str, str]) -> tuple[float, float, str]:
    """Return milliseconds until the list is complete, those of CPU time in the page's thread, and the count."""
    script = CHANGE % {"values": json.dumps(values), "text": json.dumps("search" in values)}
    before = _cpu(browser)
    taken, count = browser.evaluate(script)
    return taken, _cpu(browser) - before, count


def _cpu(browser: Browser) -> float:
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def _size(address: str) -> int:
    return Path(unquote(urlsplit(address).path)).stat().st_size


def _range(values: list[float]) -> str:
    return f"{median(values):.0f} ms ({min(values):.0f} to {max(values):.0f})"


if __name__ == "__main__":
    main()
