"""The page in Chromium, from a file and without network access."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.browser import CHROMIUM, Browser, violations

from .tiny_run import HOSTILE, LONG, TinyRun

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
COUNT = "document.getElementById('count')?.textContent"
DETAIL = "document.getElementById('detail').innerText"
COMPLETE = "!!document.querySelector('#models table') && !!document.querySelector('#variants .cards')"
ROWS = "[...document.querySelectorAll('#list .facts')].map((e) => e.textContent.split(' · ')[0])"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, run: TinyRun) -> Iterator[Browser]:
    """A browser whose ``show(hash)`` opens the page. At the end, nothing outside its folder was requested."""

    def show(target: str = "", **arguments) -> None:
        browser.open(run.page.resolve().as_uri() + target, **arguments)
        browser.wait_for("document.getElementById('scroll')?.getAttribute('aria-busy') === 'false'")
        if "question=" in target and "absent" not in target:
            browser.wait_for(COMPLETE)

    browser.show = show
    yield browser
    folder = run.shards.resolve().as_uri() + "/"
    assert browser.errors == []
    assert [address for address in browser.requests if not address.startswith(folder)] == []


def choose(browser: Browser, name: str, value: str) -> None:
    browser.evaluate(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = {value!r};"
        " e.dispatchEvent(new Event('change', { bubbles: true })); })()"
    )


def test_the_first_model_that_is_no_baseline_is_listed(visit):
    visit.show()
    assert visit.evaluate(COUNT) == "6 of 6 questions"
    assert visit.evaluate("[1, 1200].map((n) => counted(n, 'question'))") == ["1 question", "1,200 questions"]
    assert visit.evaluate("location.hash") == "#benchmark=humblebench&model=pocket&variant=original"
    visit.wait_for("document.querySelector('#list .excerpt')?.textContent.startsWith('What is red? A. Red')")


def test_a_link_opens_a_question(visit):
    visit.show("#benchmark=humblebench&question=q5")
    text = visit.evaluate(DETAIL)
    assert "Question q5" in text and "right, label B (robust parser)" in text
    assert visit.evaluate("[...document.querySelectorAll('.answered pre')].map((e) => e.textContent)") == [LONG]
    assert "B" in visit.evaluate("[...document.querySelectorAll('.answered mark')].map((e) => e.textContent)")
    assert "0123456789abcdef" in visit.evaluate("document.querySelector('.provenance').textContent")
    assert visit.evaluate("document.querySelector('.asked img').naturalWidth") == 40
    assert "What colour is the chair?" in visit.evaluate("document.querySelector('.prompt pre').textContent")
    assert visit.evaluate("document.querySelectorAll('#variants .card').length") == 2
    assert visit.evaluate("document.querySelectorAll('#models tbody tr').length") == 3
    assert visit.evaluate("document.querySelector('#list [aria-current]').dataset.place") == "4"


def test_unknown_names_in_a_link_are_reported(visit):
    notice = "(() => { const n = document.getElementById('notice'); return n.hidden ? '' : n.textContent; })()"
    visit.show("#benchmark=humblebench&question=absent")
    assert visit.evaluate(notice) == "HumbleBench has no question \u201cabsent\u201d."
    visit.show("#benchmark=none&model=nobody&other=noone&variant=nothing&seed=7")
    text = visit.evaluate(notice)
    for name in ("\u201cnone\u201d", "\u201cnobody\u201d", "\u201cnoone\u201d", "\u201cnothing\u201d", "seed 7"):
        assert name in text
    choose(visit, "outcome", "right")
    visit.wait_for(f"{notice} === ''")


def test_the_overview_links_the_questions_of_each_outcome(visit):
    visit.show("#benchmark=humblebench&model=pocket")
    rows = "[...document.querySelectorAll('#detail .overview tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    # pocket: A B E nothing B markup; the other: A A B B failed A; the baseline: A six times. The key: A B E D B A.
    assert visit.evaluate(rows)[:3] == [
        ["pocket", "66.7%", "0.0%", "33.3%", "0.0%", "6"],
        ["pocket-never-refuses", "33.3%", "50.0%", "0.0%", "16.7%", "6"],
        ["always_a", "33.3%", "66.7%", "0.0%", "0.0%", "6"],
    ]
    heads = visit.evaluate("[...document.querySelector('#detail .overview thead tr').cells].map(c => c.textContent)")
    assert heads == ["Model", "Right", "Wrong", "Unparsed", "Failed", "n"]
    visit.evaluate("document.querySelector('#detail .overview tbody tr').cells[3].querySelector('a').click()")
    visit.wait_for(f"{COUNT} === '2 of 6 questions'")
    assert visit.evaluate(ROWS) == ["q4", "q6"]


FILTERS = {
    "outcome=right": "q1 q2 q3 q5",
    "outcome=failed&model=pocket-never-refuses": "q5",
    "outcome=refused&variant=nota_only": "q1 q3 q4 q6",
    "outcome=recognised&variant=nota_only": "q1 q3 q4 q6",
    "outcome=no_label&model=pocket-never-refuses": "q5",
    "category=Relation": "q3 q4",
    "search=CHAIR": "q4 q5",
    "search=thought+gold&replies=1": "q5",
    "search=thought+gold": "",
    # q5 and q6: "an" in a long text is no letter, but "a" is for the official parser.
    "parsers=official~robust": "q5",
    # right as published: q1, q2, q5, and q3 by refusing, which does not count
    # "E" without the option in q1 and q3; "B" and "C" in q2 and q5
    "relation=original~nota_only": "q2 q5",
    "relation=original~noise": "",
    # "E" without the option in q1, q3, q4 and q6
    "relation=original%2Bnota_only": "q1",
    "relation=original%2Bnoise": "q1 q2 q5",
    # pocket: A B E – B –; the other: A A B B (failed) A
    "other=pocket-never-refuses": "q2 q3 q4 q5 q6",
    "other=pocket-never-refuses&differ=first": "q2 q3 q5",
    "other=pocket-never-refuses&differ=second": "q6",
    "other=pocket-never-refuses&differ=right": "q1",
    "other=pocket-never-refuses&differ=wrong": "q4",
}


def test_a_filter_lists_the_questions_that_fit(visit):
    for filters, found in FILTERS.items():
        visit.show(f"#benchmark=humblebench&{filters}")
        assert visit.evaluate(ROWS) == found.split(), filters


OVERVIEW = """[...document.querySelectorAll('#detail .overview')].map((t) =>
  [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent)))"""


def test_the_overview_counts_what_its_links_list(visit):
    """Under any filters but the outcome, each share of the overview lists as many questions as it counts."""
    n = {
        "search=CHAIR": 2,
        "search=thought+gold&replies=1": 1,
        "parsers=official~robust": 1,
        "other=pocket-never-refuses&differ=first": 3,
        "relation=original~nota_only": 2,
        "relation=original%2Bnota_only": 1,  # the other one is right by the refusal
        "category=Relation": 2,
    }
    for filters, asked in n.items():
        visit.show(f"#benchmark=humblebench&{filters}")
        row = visit.evaluate(OVERVIEW)[0][0]
        assert (row[0], row[-1]) == ("pocket", str(asked)), filters
        links = "document.querySelectorAll('#detail .overview tbody tr td a')"
        counts = "(a => [a.href, a.textContent, a.closest('tr').lastElementChild.textContent])"
        for address, share, of in visit.evaluate(f"[...{links}].map{counts}"):
            visit.show("#" + address.split("#")[1])
            listed = int(visit.evaluate(COUNT).split(" of ")[0])
            assert f"{100 * listed / int(of):.1f}%" == share, (filters, address)


def test_a_search_of_replies_counts_those_of_the_listed_model(visit):
    visit.show("#benchmark=humblebench&search=a&replies=1&model=always_a")
    assert [row[0] for row in visit.evaluate(OVERVIEW)[0]] == ["always_a"]
    assert "the searched replies" in visit.evaluate(DETAIL)


def test_a_row_shows_the_answer(visit):
    given = "[...document.querySelectorAll('#list .given')].map((e) => e.textContent)"
    visit.show("#benchmark=humblebench&model=pocket-never-refuses")
    visit.wait_for(f"{given}[0] === 'A. Red'")
    # A A B B (failed) A; right are A B E D B A
    assert visit.evaluate(given) == [
        "A. Red", "A. Red (right: B. Blue)", "B. Blue (right: E. None of the above)", "B. Blue (right: D. Gold)",
        "failed", "A. Red",
    ]  # fmt: skip
    visit.show("#benchmark=humblebench&model=pocket&other=pocket-never-refuses")  # q1 is the same
    visit.wait_for(f"{given}[0] === 'B. Blue / A. Red (right: B. Blue)'")
    assert visit.evaluate(given)[1:3] == [
        "E. None of the above / B. Blue (right: E. None of the above)",
        "unparsed / B. Blue (right: D. Gold)",
    ]


def test_back_goes_to_the_question_before(visit):
    heading = "document.getElementById('question')?.textContent === 'Question {}'"
    visit.show()
    for key, hit in (("j", "q1"), ("j", "q2"), ("j", "q3")):
        visit.press(key)
        visit.wait_for(heading.format(hit))
    for hit in ("q2", "q1"):
        visit.evaluate("history.back()")
        visit.wait_for(heading.format(hit))
    visit.evaluate("history.back()")
    visit.wait_for("!document.body.classList.contains('reading') && !!document.querySelector('#detail .overview')")


def test_a_change_of_the_benchmark_keeps_the_filters_open(two_benchmarks, browser):
    browser.open(two_benchmarks.page.resolve().as_uri() + "#benchmark=humblebench&model=pocket&outcome=refused")
    browser.wait_for("document.getElementById('scroll')?.getAttribute('aria-busy') === 'false'")
    browser.evaluate("document.getElementById('more').open = true; document.getElementById('benchmark').focus()")
    choose(browser, "benchmark", "mmsap")
    browser.wait_for(
        "location.hash.includes('benchmark=mmsap') && document.getElementById('benchmark').value === 'mmsap'"
    )
    assert browser.evaluate("document.getElementById('more').open")
    assert browser.evaluate("document.activeElement.id") == "benchmark"
    assert "outcome=refused" in browser.evaluate("location.hash") and "model=pocket" in browser.evaluate(
        "location.hash"
    )
    assert browser.evaluate("document.getElementById('notice').hidden")
    assert browser.errors == []


def test_all_models_and_variants_and_two_models_side_by_side(visit):
    visit.show("#benchmark=humblebench&model=pocket&other=pocket-never-refuses&question=q2")
    headings = visit.evaluate("[...document.querySelectorAll('.dialogue h3')].map((e) => e.textContent)")
    assert headings == ["Reply of pocket", "Reply of pocket-never-refuses"]
    assert visit.evaluate("document.querySelectorAll('#list [aria-current] .outcome').length") == 2
    visit.show("#benchmark=humblebench&model=*&variant=*")
    assert visit.evaluate(COUNT) == "54 of 54 rows"
    choose(visit, "outcome", "failed")
    visit.wait_for(f"{COUNT} === '1 of 54 rows'")
    visit.press("j")
    visit.wait_for(COMPLETE)
    assert "timeout" in visit.evaluate(DETAIL)
    assert "open_model=pocket-never-refuses&open_variant=original" in visit.evaluate("location.hash")


def test_keys(visit):
    visit.show()
    for key, hit in (("j", "q1"), ("j", "q2"), ("k", "q1"), ("k", "q1")):
        visit.press(key)
        visit.wait_for(f"document.getElementById('question')?.textContent === 'Question {hit}'")
    visit.press("?")
    assert visit.evaluate("document.getElementById('help').open")
    visit.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", windowsVirtualKeyCode=27)
    visit.wait_for("!document.getElementById('help').open")
    visit.press("/")
    assert visit.evaluate("document.activeElement.id") == "search"
    visit.press("j")  # in a field, a key is text
    visit.wait_for("document.getElementById('search').value === 'j'")
    visit.wait_for(f"{COUNT} === 'No question fits these filters.'")
    assert visit.evaluate("document.getElementById('question').textContent") == "Question q1"
    visit.press("Escape")
    assert visit.evaluate("document.activeElement.id") != "search"
    visit.press("Escape")
    visit.wait_for("!location.hash.includes('question=')")


def test_hostile_text_stays_text(visit):
    visit.show("#benchmark=humblebench&question=q6")
    assert visit.evaluate("document.title").startswith("Questions")
    assert visit.evaluate("[...document.images].every((e) => e.src.includes('/questions/images/'))")
    handlers = (
        "[...document.querySelectorAll('*')].filter((e) => e.getAttributeNames().some((n) => n.startsWith('on')))"
    )
    assert visit.evaluate(f"{handlers}.length") == 0
    visible = re.sub("[\u2028\u202c\u202e]", lambda match: f"U+{ord(match[0]):04X}", HOSTILE)
    for place in (".asked pre", ".answered pre", ".prompt pre"):
        assert visible in visit.evaluate(f"document.querySelector('{place}').textContent")
    assert not set("\u202e\u2028") & set(visit.evaluate("document.querySelector('main').textContent"))


def test_nothing_is_wider_than_the_window_and_on_a_phone_the_question_replaces_the_list(visit):
    for width in (1400, 390):
        visit.show("#benchmark=humblebench&question=q6&other=always_a", width=width)
        assert visit.overflow() == 0
    wide = "[...document.querySelectorAll('.scroll-x')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert visit.evaluate(wide) == 0  # tables fit; only the cards of the variants lie beside each other
    displayed = "getComputedStyle(document.querySelector('{}')).display"
    assert visit.evaluate(displayed.format(".left")) == "none"
    visit.evaluate("document.querySelector('.back').click()")
    visit.wait_for(f"{displayed.format('.detail')} === 'none' && {displayed.format('.left')} !== 'none'")


def test_the_rules_of_axe_core(visit):
    visit.show("#benchmark=humblebench&question=q1&other=always_a", dark=True)
    assert violations(visit, "color-contrast") == []
    visit.show("#benchmark=humblebench&question=q1&other=always_a")
    assert violations(visit) == []


def test_a_missing_shard_is_reported(visit, run, tmp_path):
    (tmp_path / "questions.html").write_bytes(run.page.read_bytes())
    visit.open(tmp_path / "questions.html")
    visit.wait_for(f"{COUNT}?.includes('cannot be read')")
    visit.errors.clear()  # the browser reports the absent file
    visit.requests.clear()


def test_answers_are_sorted_by_confidence(visit):
    """Right answers with a confidence come in rising order here, as no wrong one has a confidence."""
    visit.show()
    options = "[...document.getElementById('sort').options].map((e) => e.value)"
    assert visit.evaluate(options) == ["", "wrong", "letters"]
    choose(visit, "sort", "letters")
    visit.wait_for(f"{ROWS}[0] === 'q5'")
    assert visit.evaluate(ROWS) == ["q5", "q2", "q1", "q3", "q4", "q6"]
    facts = visit.evaluate("document.querySelector('#list .facts').textContent")
    assert facts == "q5 · Attribute · confidence 20%"
    visit.show("#benchmark=humblebench&model=pocket&sort=letters&question=q2")
    assert visit.evaluate("document.querySelector('#list [aria-current=true]').dataset.place") == "1"
    visit.show("#benchmark=humblebench&sort=samples")
    assert "no confidence from the source" in visit.evaluate("document.getElementById('notice').textContent")


def test_sure_and_wrong_comes_first(visit):
    visit.show()
    order = """(() => {
      const rows = new Rows([Uint8Array.of(1, 0, 1, 1), Uint8Array.of(1, 1, 0, 1)], Uint32Array.of(2, 1, 1, 2));
      const keys = [[3, 9, 1, 2], [0, 2, 9, 1]];
      const sorted = new SortedRows(rows, (q, number) => keys[number][q]);
      return [Array.from({ length: 6 }, (_, i) => sorted.at(i)), sorted.placesOf(3)];
    })()"""
    assert visit.evaluate(order) == [[[0, 1], [2, 0], [3, 1], [1, 1], [3, 0], [0, 0]], [4, 2]]
