"""The page: safe, self-contained, accessible and deterministic."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL
from known_unknowns.report import shell
from known_unknowns.report.page import build
from known_unknowns.tables import read_metrics

from .conftest import write
from .fake_run import HOSTILE, REPOSITORY, FakeRun, make, params
from .pages import Page

FIGURES = ("humblebench_vs_e", "humblebench_vs_gn", "letters")
PAGES = {link.file for link in shell.links(params())}
STYLE = REPOSITORY / "src/known_unknowns/report/static/style.css"


def numbers(text: str) -> str:
    return " ".join(text.split())


def test_replies_are_escaped(page: Page) -> None:
    shown = "".join(e.text for e in page.all("pre"))
    assert all(part in shown for part in HOSTILE[:3])
    assert "␛[31mE␀" in shown  # control characters are shown, not sent
    assert not page.all("script")
    assert not [e for e in page.elements for name in e.attributes if name.startswith("on")]


def test_questions_are_escaped(tmp_path: Path) -> None:
    from dataclasses import replace

    from known_unknowns import tables

    run = make(tmp_path, questions=15, variants_kept=["original"])
    path = run.data / "questions" / "humblebench" / "original" / "seed0.parquet"
    bad = '</p><script>alert(3)</script>"><b onclick=x>'
    asked = [replace(q, text=bad, category=bad) for q in tables.read_questions(path)]
    tables.write_questions(path, asked)
    page = write(run)
    assert not page.all("script") and not page.all("b")
    assert any(bad in e.text for e in page.all("p"))


def test_a_long_reply_is_truncated_with_a_note(page: Page) -> None:
    assert max(len(e.text) for e in page.all("pre")) <= 1500
    assert any("more characters" in e.text for e in page.all("p"))


def test_the_page_makes_no_network_requests(run: FakeRun, page: Page) -> None:
    for element in page.elements:
        for name in ("src", "href", "srcset", "xlink:href", "data", "action", "poster"):
            value = element.attributes.get(name)
            assert value is None or value.startswith(("data:image/jpeg;base64,", "#")) or value in PAGES, (
                element.tag,
                value,
            )
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {e.tag for e in page.elements}
    text = run.page.read_text(encoding="utf-8")
    assert not re.search(r"@import|url\((?!#)", text)
    (policy,) = [e for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy.attributes["content"]


def test_links_have_targets_and_ids_are_unique(page: Page) -> None:
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    targets = {e.attributes["href"][1:] for e in page.all("a")} - {file[1:] for file in PAGES}
    assert targets <= set(ids)
    assert {"run", "cite", "humblebench-headline", "humblebench-samples", "humblebench-notes"} <= targets


def test_the_page_is_accessible(page: Page) -> None:
    assert page.all("html")[0].attributes["lang"] == "en"
    assert len(page.all("h1")) == 1 and len(page.all("main")) == 1
    levels = [int(e.tag[1]) for e in page.elements if re.fullmatch("h[1-6]", e.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(e.attributes.get("alt") for e in page.all("img"))
    assert all(e.text.strip() for e in page.all("caption"))
    assert len(page.all("caption")) == len(page.all("table"))
    drawings = [e for e in page.elements if e.attributes.get("class") == "drawing"]
    assert [len(e.attributes["aria-label"]) > 80 for e in drawings] == [True] * len(FIGURES)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    full = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    channels = [int(full[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_has_sufficient_contrast(theme: int) -> None:
    """WCAG AA: a contrast of at least 4.5 to 1."""
    block = re.findall(r":root \{(.*?)\}", STYLE.read_text(encoding="utf-8"), flags=re.S)[theme]
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", block))
    pairs = [(text, ground) for text in ("ink", "muted", "accent") for ground in ("ground", "raised")]
    pairs += [("good", "good-ground"), ("bad", "bad-ground")]
    for text, ground in pairs:
        dark, light = sorted((luminance(colours[text]), luminance(colours[ground])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


def test_the_headline_has_the_values_of_the_metrics(run: FakeRun, page: Page) -> None:
    (found,) = [
        m
        for m in read_metrics(run.results / "metrics" / "pocket" / "humblebench.parquet")
        if (m.variant, m.scorer, m.category, m.name) == ("nota_only", "robust", OVERALL, "accuracy")
    ]
    value, low, high = (f"{100 * v:.1f}" for v in (found.value, found.low, found.high))
    text = numbers(page["humblebench-headline"].text)
    assert f"{value} [{low}, {high}]" in text
    assert "HumbleBench-E" in text and "exactly “E”" in text and "n = 150" in text and "chance" in text
    metric_text = f"{value} [{low}, {high}], n = 150"
    assert metric_text in numbers(page["humblebench-figures"].text)


def test_types_are_in_the_papers_order(page: Page) -> None:
    text = page["humblebench-types"].text
    assert text.index("Object") < text.index("Relation") < text.index("Attribute") < text.index("Overall")


def test_the_run_is_described(page: Page) -> None:
    text = numbers(page["run"].text)
    assert "0123456789abcdef0123456789abcdef.dir" in text
    for said in ("pocket", "scenes", "do_sample False", "device cpu", "confidence 0.95", "1,200", "altair"):
        assert said in text, said


def test_the_same_run_gives_the_same_bytes(run: FakeRun) -> None:
    folder = run.page.parent
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    assert {path.stem for path in before} == {"index", "table", *FIGURES}
    write(run)
    assert {path: path.read_bytes() for path in before} == before


def test_figures_stand_alone(run: FakeRun) -> None:
    for name in FIGURES:
        text = (run.page.parent / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert 'fill="white"' in text[:600]  # a ground of its own
        assert not re.search(r"<script|<image|<foreignObject| on\w+=", text)
    labels = (run.page.parent / "figures" / "letters.svg").read_text(encoding="utf-8")
    assert all(f">{model}<" in labels for model in run.params.models)
    assert ">HumbleBench-GN<" in labels and ">no label<" in labels


def test_fewer_variants_make_a_smaller_page(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["text_only", "nota_only"])
    page = write(run)
    assert "HumbleBench-GN" not in page["humblebench-headline"].text
    assert "HumbleBench-E" in page["humblebench-headline"].text
    for name in FIGURES[:2]:
        text = (run.page.parent / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        assert "not drawn: " in text and "was not run" in text


def test_no_headline_variant_at_all(tmp_path: Path) -> None:
    page = write(make(tmp_path, questions=15, variants_kept=["text_only"]))
    assert "no image" in page["humblebench-headline"].text
    assert "No image was sent." in page["humblebench-samples"].text


def test_several_seeds(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original", "shuffled_options"], seeds=2)
    page = write(run)
    assert "0, 1" in page["run"].text
    assert "n = 30" in numbers(page["humblebench-parsers"].text)  # over both seeds


def test_a_single_scorer(tmp_path: Path) -> None:
    from known_unknowns.config import Params

    run = make(tmp_path, questions=15, variants_kept=["original", "nota_only"])
    run.params = Params(dict(run.params.raw) | {"scorers": ["official"]})
    page = write(run)
    assert not [e for e in page.elements if e.attributes.get("id") == "humblebench-parsers"]
    assert "robust" not in page["humblebench-headline"].text


def test_the_usage_of_a_model_is_shown(page: Page) -> None:
    """As the engine recorded it; the price is of the 1,200 replies that have one."""
    row = next(line for line in page["run"].text.split("uniform")[1:] if "56,789" in line)
    assert "1,234" in row and "2,468" in row and "0.2500" in row and "of 1,200 replies" in row


def test_values_that_were_not_recorded_are_a_dash(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    for path in (run.results / "replies").rglob("engine.json"):
        record = json.loads(path.read_text())
        del record["spent"]
        path.write_text(json.dumps(record))
    assert "1,234" not in write(run)["run"].text


def test_an_invalid_file_is_named(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    engine = run.results / "replies" / "pocket" / "humblebench" / "engine.json"
    engine.write_text('{"model": ')
    with pytest.raises(DataError, match=r"engine\.json"):
        write(run)
    engine.unlink()
    scores = run.results / "scores" / "pocket" / "humblebench" / "original" / "seed0.parquet"
    scores.write_bytes(scores.read_bytes()[:200])
    with pytest.raises(DataError, match=r"seed0\.parquet"):
        write(run)
    assert not run.page.exists()


def test_a_model_that_was_not_measured_is_left_out(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    build(
        run.params,
        run.metrics[:2],
        results=run.results,
        data=run.data,
        comparison=run.comparison,
        out=run.page,
        root=tmp_path,
    )
    text = run.page.read_text(encoding="utf-8")
    assert "unknown commit" in text
    headline = text[text.index('id="humblebench-headline"') : text.index('id="humblebench-types"')]
    assert "always_refuse" in headline and "always_a" not in headline


def test_the_computation_of_replies_is_described(page: Page) -> None:
    rows = [numbers(e.text) for e in page.all("tr") if "<b>its logits</b> differ" in e.text]
    assert rows
    assert all("2e-06" in row and "packed 300" in row and "on 2 images" in row for row in rows)


def test_the_terms_of_the_data_are_shown(page: Page) -> None:
    """Rendered data are this project's own; whose format they are in is to be cited all the same."""
    text = numbers(" ".join(e.text for e in page.all("td")))
    assert "MIT" in text and "arXiv:2509.09658" in text
