"""The texts of an SVG with their places, from the transforms and font sizes of Vega's SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

WIDTH = 0.56
"""Mean width of a character of Helvetica, as a share of the font size."""


@dataclass(frozen=True)
class Text:
    """A text and its box in pixels."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    turned: bool

    def overlaps(self, other: Text) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG."""
    root = ElementTree.fromstring(svg)
    return float(root.attrib["width"]), float(root.attrib["height"])


def texts(svg: str) -> list[Text]:
    """The texts of an SVG. Those that are turned by 90 degrees have no useful box."""
    return list(_walk(ElementTree.fromstring(svg), 0.0, 0.0, False))


def _walk(element: ElementTree.Element, x: float, y: float, turned: bool) -> Iterator[Text]:
    transform = element.attrib.get("transform", "")
    if moved := re.match(r"translate\(([-\d.]+),([-\d.]+)\)", transform):
        x, y = x + float(moved[1]), y + float(moved[2])
    turned = turned or "rotate" in transform
    if element.tag.endswith("}text"):
        font = float(re.match(r"[\d.]+", element.attrib["font-size"])[0])
        lines = [part for part in element if part.tag.endswith("}tspan")]
        for number, line in enumerate(lines or [element]):
            text = (line.text or "") + "".join(part.tail or "" for part in line)
            length = WIDTH * font * len(text)
            left = x - {"middle": 0.5, "end": 1.0}.get(element.attrib.get("text-anchor", ""), 0.0) * length
            base = y + number * 1.2 * font
            yield Text(text, left, base - 0.75 * font, left + length, base + 0.15 * font, turned)
    for child in element:
        yield from _walk(child, x, y, turned)
