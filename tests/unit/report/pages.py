"""A parser of the report's HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

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
