"""Write docs/report.png: the first screen of the report of the edition ``example``.

python -m scripts.report_picture     (part of make example; needs Chromium)
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from tests.browser import CHROMIUM, Browser

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "results/example/report/index.html", ROOT / "docs/report.png"
WIDTH, HEIGHT = 1400, 900


def write_picture(page: Path = PAGE, out: Path = PICTURE) -> None:
    with Browser() as browser:
        browser.open(page, width=WIDTH, height=HEIGHT)
        browser.screenshot(out)
    with Image.open(out) as picture:
        picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(out, optimize=True)


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit(f"{PICTURE.name} needs Chromium, which is not installed")
    write_picture()
