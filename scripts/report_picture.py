"""Write docs/report.png: the first screen of the example report, with its texts in the file.

python -m scripts.report_picture     (part of make example; needs Chromium)
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs/example/index.html", ROOT / "docs/report.png"
WIDTH, HEIGHT = 1400, 900
TEXTS = "Description"
"""The PNG's text with what the picture shows, one line for each heading, sentence and cell."""
SHOWN = f"""
[...document.querySelectorAll('h1, .caveat, .findings li, caption, th, td, figcaption')]
  .filter(e => e.checkVisibility() && e.getBoundingClientRect().bottom <= {HEIGHT})
  .map(e => e.innerText.replace(/\\s+/g, ' ').trim()).filter(text => text).join('\\n')
"""


def write_picture(page: Path = PAGE, out: Path = PICTURE) -> None:
    with Browser() as browser:
        browser.open(page, width=WIDTH, height=HEIGHT)
        texts = browser.evaluate(SHOWN)
        browser.screenshot(out)
    described = PngInfo()
    described.add_itxt(TEXTS, texts)
    with Image.open(out) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(out, optimize=True, pnginfo=described)


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit(f"{PICTURE.name} needs Chromium, which is not installed")
    write_picture()
