"""Every figure in a window of 640 pixels: no text of a figure covers another one, and all can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.report.overview import Overview, draw_primary
from known_unknowns.report.page import figures_of, run_of
from tests.browser import CHROMIUM, Browser
from tests.unit.benchmarks.actiview import fake_report as actiview
from tests.unit.benchmarks.mmsap import fake_report as mmsap

from . import fake_run
from .fake_run import FakeRun

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
PAGE = "<!doctype html><style>body { margin: 0 } svg { display: block; max-width: 100%; height: auto }</style>"
COVERED = """[...document.querySelectorAll('svg')].flatMap((svg) => {
  const isShown = (text) => text.textContent.trim() && Number(getComputedStyle(text).opacity) > 0;
  const corners = (text) => {
    const box = text.getBBox(), matrix = text.getScreenCTM();
    const top = box.y + 0.15 * box.height, bottom = box.y + 0.85 * box.height;  // without the space between lines
    const ends = [[box.x, top], [box.x + box.width, top], [box.x + box.width, bottom], [box.x, bottom]];
    return ends.map(([x, y]) => [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f]);
  };
  const isApartAlong = ([dx, dy], one, other) => {
    const along = (quad) => quad.map(([x, y]) => x * dx + y * dy);
    const [ones, others] = [along(one), along(other)];
    return Math.max(...ones) <= Math.min(...others) || Math.max(...others) <= Math.min(...ones);
  };
  const sides = (quad) => [0, 1].map((at) => [quad[at + 1][0] - quad[at][0], quad[at + 1][1] - quad[at][1]]);
  const areApart = (one, other) => [...sides(one), ...sides(other)].some((side) => isApartAlong(side, one, other));
  const texts = [...svg.querySelectorAll('text')].filter(isShown).map((text) => [text.textContent, corners(text)]);
  return texts.flatMap(([name, one], at) => texts.slice(at + 1)
    .filter(([, other]) => !areApart(one, other)).map(([covered]) => `${name} on ${covered}`));
})"""
SMALLEST = """Math.min(...[...document.querySelectorAll('svg text')].map((text) =>
  parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a || Infinity))"""
"""The smallest size of a text that is not turned, in pixels."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


def show(browser: Browser, folder: Path, *svgs: str) -> None:
    page = folder / "figures.html"
    page.write_text(PAGE + "\n".join(svgs), encoding="utf-8")
    browser.open(page, width=640)


@pytest.mark.parametrize(
    ("benchmark", "make"),
    [("humblebench", fake_run.make), ("mmsap", mmsap.make), ("actiview", actiview.make)],
)
def test_no_label_of_a_figure_covers_another(
    browser: Browser, tmp_path: Path, benchmark: str, make: Callable[[Path], FakeRun]
) -> None:
    made = make(tmp_path)
    numbers = MetricIndex(metric for path in made.metrics for metric in tables.read_metrics(path))
    run = run_of(made.params, numbers, benchmark)
    own = registry.get(benchmark).section_data(run, results=made.results, data=made.data)
    figures = [*figures_of(run, own.figures), draw_primary([Overview(run, (), ())])]
    assert [figure.name for figure in figures if figure.absent] == []
    for figure in figures:
        show(browser, tmp_path, figure.svg)
        assert browser.evaluate(COVERED) == [], figure.name
        assert browser.evaluate(SMALLEST) >= 7, figure.name


def test_covered_labels_are_found(browser: Browser, tmp_path: Path) -> None:
    """Of three texts, the second one is on the first; the third is turned and beside them, within their rectangle."""
    texts = '<text x="10" y="20">first</text><text x="12" y="24">second</text>'
    turned = '<text transform="translate(40, 95) rotate(-45)">turned by half a right angle</text>'
    svg = f'<svg viewBox="0 0 640 100" width="640" height="100">{texts}{turned}</svg>'
    show(browser, tmp_path, svg)
    assert browser.evaluate(COVERED) == ["first on second"]
