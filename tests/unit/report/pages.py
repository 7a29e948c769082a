"""A parser of the report's HTML."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

_VOID = frozenset({"meta", "img", "br", "hr", "link", "input"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    within: tuple[str, ...] = ()


@dataclass
class Page(HTMLParser):
    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        within = tuple(element.tag for element in self._open)
        element = Element(tag, {name: value or "" for name, value in attrs}, within=within)
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def close(self) -> None:
        super().close()
        assert not self._open, f"never closed: {[element.tag for element in self._open]}"

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def __getitem__(self, identifier: str) -> Element:
        (found,) = [e for e in self.elements if e.attributes.get("id") == identifier]
        return found


def parse(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


def check(page: Page, files: Collection[str]) -> None:
    """Assert what holds for every page of the report: no foreign code, no request, sound links, sound structure."""
    scripts = [e for e in page.all("script") if e.attributes.get("type") != "application/json"]
    assert all(not e.attributes and "use strict" in e.text for e in scripts)
    assert not [e for e in page.elements for name in e.attributes if name.startswith("on")]
    assert not {"link", "iframe", "object", "embed", "base"} & {e.tag for e in page.elements}
    (policy,) = [e for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy.attributes["content"]
    for element in page.elements:
        for name in ("src", "srcset", "xlink:href", "data", "action", "poster"):
            value = element.attributes.get(name)
            assert value is None or value.startswith("data:image/jpeg;base64,"), (element.tag, value)
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        file, _, target = link.attributes["href"].partition("#")
        assert file in files or (not file and target in ids), link.attributes["href"]
    assert page.all("html")[0].attributes["lang"] == "en"
    assert len(page.all("h1")) == 1 and len(page.all("main")) == 1
    levels = [int(e.tag[1]) for e in page.elements if re.fullmatch("h[1-6]", e.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(e.attributes.get("alt") for e in page.all("img"))
    assert all(e.text.strip() for e in page.all("caption")) and len(page.all("caption")) == len(page.all("table"))
    assert all(len(e.attributes["aria-label"]) > 80 for e in page.all("div") if e.attributes.get("class") == "drawing")


def drawn_text(svg: str) -> str:
    """The texts of a figure, whose lines are elements of their own."""
    return " ".join(re.findall(r">([^<>]+)<", svg))
