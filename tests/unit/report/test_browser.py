"""The pages in a browser without network access. One browser has all checks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from known_unknowns.records import Reply
from tests.browser import CHROMIUM, Browser, contrast, violations

from . import fake_run
from .conftest import write
from .fake_run import HOSTILE, FakeRun
from .test_page import PAGES

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
OWN = "benchmark-humblebench.html"
TABLE = "document.querySelector('.table-box:not([hidden]) table')"
MODELS = f"[...{TABLE}.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[0].querySelector('.name').textContent)"
SCROLLED = (
    "[...document.querySelectorAll('.scroll')].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)"
    ".map(e => e.getAttribute('aria-label') ?? e.className)"
)
"""Tables and figures that are wider than their place."""
SCROLLED_TABLES = SCROLLED.replace("'.scroll'", "'.scroll:not(.drawing-box)'")
"""On a phone, a figure scrolls in its place, so that its text can be read."""
UNREADABLE = """[...document.querySelectorAll('.drawing text')].filter((text) => {
  const box = text.ownerSVGElement.getBoundingClientRect();
  const scale = box.width / text.ownerSVGElement.viewBox.baseVal.width;
  return box.width && text.textContent && parseFloat(getComputedStyle(text).fontSize) * scale < 8;
}).map((text) => text.textContent)"""
"""Texts of figures that are smaller than 8 pixels."""
BROKEN = """[...document.querySelectorAll('tbody th .name, td.text .value')].flatMap(e => {
  if (!e.offsetWidth || !e.firstChild) return [];
  const range = document.createRange();
  return [...e.textContent.matchAll(/[A-Za-z]+/g)].filter((word) => {
    range.setStart(e.firstChild, word.index);
    range.setEnd(e.firstChild, word.index + word[0].length);
    return word[0].length < 16 && range.getClientRects().length > 1;
  }).map((word) => word[0]);
})"""
"""Words of row heads and of cells of text that are broken over two lines."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


@pytest.fixture
def folder(run: FakeRun) -> Path:
    return run.page.parent


BROKEN_MODEL = "qwen2.5-vl-7b"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of a run with a model of the catalogue, none of whose replies can be parsed."""

    def reply(model: str, *arguments: Any) -> Reply:
        return Reply(HOSTILE[0]) if model == BROKEN_MODEL else fake_run.make_reply(model, *arguments)

    models = (*fake_run.RESPONDENTS, "pocket", "pocket-never-refuses", BROKEN_MODEL)
    folder = tmp_path_factory.mktemp("broken")
    made = fake_run.make(folder, questions=20, variants_kept=["original", "nota_only"], models=models, reply=reply)
    write(made)
    return made.page


@pytest.mark.parametrize("file", PAGES)
def test_a_page_fits_its_window_and_has_no_error(browser: Browser, folder: Path, file: str) -> None:
    for width, height in ((1400, 900), (390, 844)):
        browser.open(folder / file, width=width, height=height)
        browser.evaluate("document.querySelectorAll('details:not(.menu)').forEach(d => { d.open = true; })")
        for tab in range(max(1, browser.evaluate("document.querySelectorAll('[role=tab]').length"))):
            browser.evaluate(f"document.querySelectorAll('[role=tab]')[{tab}]?.click()")
            browser.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
            assert browser.overflow() <= 0, width
            assert browser.evaluate(SCROLLED if width > 390 else SCROLLED_TABLES) == [], width
            assert browser.evaluate(UNREADABLE) == [], width
            assert browser.evaluate(BROKEN) == [], width
        assert browser.errors == [] and browser.requests == []
    says_that_questions_are_rendered(browser)


def says_that_questions_are_rendered(browser: Browser) -> None:
    """Assert the caveat at the end of a long page on a phone and in print. Titles and captions do not repeat it."""
    caveat = "document.querySelector('.caveat')"
    browser.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert "rendered questions, not the published ones" in browser.evaluate(f"{caveat}.innerText")
    top, bottom = browser.evaluate(f"(r => [r.top, r.bottom])({caveat}.getBoundingClientRect())")
    assert top >= 0 and 0 < bottom <= 844
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(f"{caveat}.offsetHeight") > 0
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.evaluate("document.querySelector('.bar').innerText.match(/rendered/gi).length") == 1
    texts = browser.evaluate("[...document.querySelectorAll('h1, h2, caption, .findings li')].map(e => e.textContent)")
    assert [text for text in texts if "(rendered" in text] == []


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_first_screen_has_the_answer(browser: Browser, folder: Path, width: int, height: int) -> None:
    browser.open(folder / "index.html", width=width, height=height)
    bottom = "Math.round(document.querySelector('{}').getBoundingClientRect().bottom)"
    for part in (".findings li:nth-child(3)", ".first table", ".first .drawing"):
        assert 0 < browser.evaluate(bottom.format(part)) <= height, part
    assert browser.evaluate(f"{TABLE}.querySelectorAll('tbody tr').length") == 7
    greyed = browser.evaluate(f"[...{TABLE}.querySelectorAll('.baseline')].map(r => r.rowIndex)")
    assert greyed == [4, 5, 6, 7]  # below the models


def test_baselines_are_folded_until_they_are_asked_for(browser: Browser, folder: Path) -> None:
    browser.open(folder / "index.html")
    assert browser.evaluate(f"{MODELS}.length") == 3
    fold = "[...document.querySelectorAll('.tools button')].find(b => b.textContent === '4 baselines')"
    browser.evaluate(f"{fold}.click()")
    assert browser.evaluate(f"{MODELS}.length") == 7 and browser.evaluate(f"{fold}.ariaExpanded") == "true"
    browser.evaluate(f"{fold}.click()")
    assert browser.evaluate(f"{MODELS}.length") == 3


def test_the_matrix_links_to_questions_and_sorts_by_size(browser: Browser, broken: Path) -> None:
    browser.open(broken)
    assert browser.evaluate(MODELS)[-1] == BROKEN_MODEL  # not ranked, below the models that are
    links = browser.evaluate(
        f"[...{TABLE}.querySelectorAll('tr:not(.baseline) td a')].map(a => a.getAttribute('href'))"
    )
    pair = "questions.html#benchmark=humblebench&model=pocket&variant=nota_only&relation=original%2Bnota_only"
    assert pair in links and len(links) == 3
    browser.evaluate(f"[...{TABLE}.querySelectorAll('thead button')].find(b => b.textContent === 'Parameters').click()")
    assert browser.evaluate(MODELS)[0] == BROKEN_MODEL
    assert browser.overflow() <= 0 and browser.errors == []


def test_unusable_replies_are_counted_linked_and_quoted(browser: Browser, broken: Path) -> None:
    browser.open(f"{broken.resolve().as_uri()}#answer-humblebench")
    section = "document.getElementById('answer-humblebench')"
    table = f"{section}.querySelector('table')"
    row = f"[...{table}.tBodies[0].rows].find(r => r.innerText.includes('{BROKEN_MODEL}'))"
    column = f"[...{table}.tHead.rows].at(-1).innerText.split(/\\t/).findIndex(h => h.startsWith('Unusable'))"
    cell = f"{row}.cells[{browser.evaluate(column)}]"
    assert browser.evaluate(f"{cell}.querySelector('.value').textContent") == "100.0"
    assert browser.evaluate(f"{cell}.querySelector('a').getAttribute('href')").endswith("&outcome=unusable")
    assert browser.evaluate(f"{row}.cells[1].innerText") == "\u2013"  # no rank
    quoted = browser.evaluate(f"{section}.querySelector('.callout').innerText")
    assert BROKEN_MODEL in quoted and HOSTILE[0] in quoted and "Likely remedy" in quoted
    assert BROKEN_MODEL not in browser.evaluate(f"{section}.querySelector('.findings').innerText")
    assert browser.errors == []


def test_a_table_can_be_sorted_and_filtered(browser: Browser, folder: Path) -> None:
    browser.open(folder / OWN)
    before = browser.evaluate(MODELS)
    values = f"[...{TABLE}.tBodies[0].rows].map(r => parseFloat(r.cells[1].querySelector('.value').textContent))"
    shown = browser.evaluate(values)
    click = f"{TABLE}.querySelector('thead tr:last-child').cells[1].querySelector('button').click()"
    for reverse in (True, False):
        browser.evaluate(click)
        models, baselines = sorted(shown[:3], reverse=reverse), sorted(shown[3:], reverse=reverse)
        assert browser.evaluate(values) == models + baselines
        name = "descending" if reverse else "ascending"
        assert browser.evaluate(f"{TABLE}.querySelector('[aria-sort]').getAttribute('aria-sort')") == name
    browser.evaluate(click)
    assert browser.evaluate(MODELS) == before
    browser.evaluate(
        "(() => { const i = document.querySelector('input[type=search]'); i.value = 'REFUSE often';"
        " i.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate(MODELS) == ["pocket-refuses-often"]


def test_a_column_can_be_hidden_and_the_table_exported(browser: Browser, folder: Path) -> None:
    browser.open(folder / OWN)
    visible = f"[...{TABLE}.tHead.rows].at(-1).querySelectorAll('th:not([hidden])').length"
    columns = browser.evaluate(visible)
    browser.evaluate("document.querySelector('.menu input').click()")
    assert browser.evaluate(visible) == columns - 1
    saved = {}
    for name in ("CSV", "LaTeX", "Markdown"):
        browser.evaluate(
            f"[...document.querySelectorAll('.table-box .menu button')].find(b => b.textContent === '{name}').click()"
        )
        ending = {"CSV": "csv", "LaTeX": "tex", "Markdown": "md"}[name]
        saved[name] = browser.downloaded(ending)
    rows = list(csv.DictReader(io.StringIO(saved["CSV"])))
    assert [row["Model"] for row in rows[:3]] == ["pocket", "pocket-never-refuses", "pocket-refuses-often"]
    first = next(name for name in rows[0] if name.endswith(", low")).removesuffix(", low")
    assert float(rows[0][f"{first}, low"]) <= float(rows[0][first]) <= float(rows[0][f"{first}, high"])
    caveat = "rendered questions, not the published ones"
    assert {row["caveat"] for row in rows} == {caveat} and caveat in saved["LaTeX"] and caveat in saved["Markdown"]
    assert not any(name.startswith("HumbleBench: as released") for name in rows[0])  # the hidden column
    assert r"always\_refuse &" in saved["LaTeX"] and r"\toprule" in saved["LaTeX"]
    assert saved["Markdown"].startswith("| Model |") and r"always\_refuse" in saved["Markdown"]


def test_latex_has_all_parts_of_the_papers_table(browser: Browser, folder: Path) -> None:
    """Group heads, rules, a label, headings over rows, footnotes, the caveat, and as many cells in every row."""
    browser.open(folder / OWN)
    browser.evaluate("document.querySelector('main').dataset.caveat = 'Rendered questions: 100% not published.'")
    parts = {
        "Table 3": [
            r"\label{tab:table-3-accuracy-on-humblebench", r"\multicolumn{5}{l}{\emph{General-purpose models}} \\",
            "70.20$^{1}$", "$^{1}$ overall.log has 70.19.", "pocket, this run & ",
        ],
        "HumbleBench: percent right": [
            r" & \multicolumn{2}{c}{HumbleBench} & \multicolumn{6}{c}{HumbleBench-E} &",
            r"\cmidrule(lr){2-3} \cmidrule(lr){4-9}", r"Exactly ``E''", "Chance &",
        ],
    }  # fmt: skip
    for caption, expected in parts.items():
        browser.evaluate(
            "[...document.querySelectorAll('.table-box')].find(t => t.querySelector('caption').textContent.startsWith"
            f"('{caption}')).querySelectorAll('.menu button').forEach(b => b.textContent === 'LaTeX' && b.click())"
        )
        latex = browser.downloaded("tex")
        check_latex(latex)
        for part in (*expected, r"\textbf{Rendered questions: 100\% not published.}"):
            assert part in latex, part


def check_latex(text: str) -> None:
    """Assert that every row has as many cells as the table has columns, and that special characters are escaped."""
    assert r"\hline" not in text and text.count("{") == text.count("}")
    columns = len(re.search(r"tabular\}\{@\{\}([lr]+)@", text)[1])
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    for row in re.findall(r"^(?!\\(?:top|mid)rule|\\cmidrule|\\addlinespace)(.+) \\\\$", body, flags=re.M):
        spans = sum(int(span) - 1 for span in re.findall(r"\\multicolumn\{(\d+)\}", row))
        assert len(re.findall(r"(?<!\\)&", row)) + 1 + spans == columns, row
    plain = re.sub(r"\$\^\{\d+\}\$|\$\\\w+\$", "", text.partition("\n")[2])
    assert not re.search(r"(?<!\\)[%$#_^~]", re.sub(r"\\label\{[^}]*\}", "", plain))


def test_a_link_to_a_verdict_unfolds_its_numbers(browser: Browser, folder: Path) -> None:
    browser.open(f"{(folder / OWN).as_uri()}#humblebench-verdict-not-run")
    assert browser.evaluate("[...document.querySelectorAll('details[open]')].map(e => e.id)") == [
        "humblebench-verdict-not-run"
    ]
    browser.open(folder / OWN)
    link = "document.querySelector('#humblebench-published a[href=\"#humblebench-verdict-not-run\"]')"
    assert "not run" in browser.evaluate(f"{link}.textContent")
    browser.evaluate(f"{link}.click()")
    browser.wait_for("document.getElementById('humblebench-verdict-not-run').open")
    assert browser.errors == []


def test_a_heading_says_its_definition(browser: Browser, folder: Path) -> None:
    """The button that sorts has it as its description."""
    browser.open(folder / "index.html")
    buttons = "[...document.querySelectorAll('thead .sort')]"
    title = browser.evaluate(f"{buttons}.find(b => b.textContent === 'Accuracy').title")
    assert title == "Share of the questions whose reply is right. (docs/metrics.md#metrics-and-outcomes)"


def test_figures_are_saved_as_svg_and_png(browser: Browser, folder: Path) -> None:
    browser.open(folder / "index.html")
    for label, ending, start in (("SVG", "svg", b"<svg"), ("PNG", "png", b"\x89PNG")):
        browser.evaluate(
            f"[...document.querySelectorAll('figure button')].find(b => b.textContent === '{label}').click()"
        )
        assert browser.downloaded_bytes(ending).startswith(start)
    assert browser.errors == []


def test_two_models_are_compared(browser: Browser, folder: Path) -> None:
    browser.open(f"{(folder / 'models.html').as_uri()}#model=pocket-refuses-often&other=pocket")
    assert browser.evaluate("document.getElementById('model-a').value") == "pocket-refuses-often"
    text = browser.evaluate("document.querySelector('#pairs tbody').innerText")
    assert "better" in text or "cannot be distinguished" in text
    links = browser.evaluate("[...document.querySelectorAll('#pairs tbody a')].map(a => a.getAttribute('href'))")
    start = "questions.html#benchmark=humblebench&variant={}&model=pocket-refuses-often&other=pocket"
    assert links[0] == start.format("original") and start.format("nota_only") in links
    difference = "document.querySelector('#pairs tbody tr').cells[3].querySelector('.value').textContent"
    one = float(browser.evaluate(difference))
    browser.open(f"{(folder / 'models.html').as_uri()}#model=pocket&other=pocket-refuses-often")
    assert float(browser.evaluate(difference)) == -one
    assert browser.errors == []


def printed(browser: Browser) -> str:
    """The words of a page in print, each with one space after it."""
    return " ".join(" ".join(page.extract_text() for page in PdfReader(io.BytesIO(browser.pdf())).pages).split())


def test_print_has_all_columns_and_baselines_and_names_what_the_reader_hid(browser: Browser, folder: Path) -> None:
    browser.open(folder / OWN, width=500)
    heads = f"[...{TABLE}.tHead.rows].at(-1).cells"
    assert browser.evaluate(f"[...{heads}].some((head) => head.hidden)")
    text = printed(browser)
    for head in browser.evaluate(f"[...{heads}].map((head) => head.querySelector('.name').textContent)"):
        assert head in text
    assert browser.evaluate(f"[...{heads}].some((head) => head.hidden)")  # as before
    assert "Columns not printed" not in text
    first = "document.querySelector('.table-box:not([hidden]) .menu input[type=checkbox]')"
    browser.evaluate(f"{first}.click()")
    hidden = browser.evaluate(f"{first}.parentElement.textContent").strip()
    assert f"Columns not printed: {hidden}" in printed(browser)
    browser.open(folder / "index.html")
    assert "oracle" in printed(browser)


def test_the_report_prints_on_few_pages_and_is_accessible(browser: Browser, folder: Path) -> None:
    """By the rules of axe-core. The contrast of colours, its slowest rule, is checked once for each kind of element."""
    for file in PAGES:
        browser.open(folder / file)
        assert violations(browser, without=("color-contrast",)) == [], file
        assert contrast(browser) == [], file
    browser.open(folder / OWN, dark=True)
    assert contrast(browser) == []
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(browser.pdf())).pages]
    assert all(text.strip() for text in pages) and len(pages) < 10
