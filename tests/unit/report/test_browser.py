"""The page in a browser without network access."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tests.unit.benchmarks.actiview import fake_report

from .conftest import write
from .fake_run import HOSTILE, FakeRun
from .pages import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)"),
]


def browse(page: Path, tmp_path: Path, *arguments: str) -> str:
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
        f"--user-data-dir={tmp_path / 'profile'}", *arguments, page.resolve().as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=240, check=True)
    return done.stdout.decode("utf-8")


def test_the_browser_sees_text_where_a_model_wrote_markup(run: FakeRun, tmp_path: Path) -> None:
    dumped = browse(run.page, tmp_path, "--dump-dom")
    page = Page()
    page.feed(dumped)  # a browser's dump need not be well formed
    assert not page.all("script")
    assert not [e for e in page.elements for name in e.attributes if name.startswith("on")]
    assert any(HOSTILE[0] in e.text for e in page.all("pre"))
    assert "</html>" in dumped


HEIGHT = 6000  # px; on a narrow page the first figure is below several paragraphs


def screenshot(page: Path, tmp_path: Path, width: int, *arguments: str) -> Pillow.Image:
    out = tmp_path / "shot.png"
    browse(page, tmp_path, f"--window-size={width},{HEIGHT}", f"--screenshot={out}", *arguments)
    return Pillow.open(out).convert("RGB")


@pytest.mark.parametrize("width", [1300, 500])
def test_the_page_renders_in_light_and_dark_themes(run: FakeRun, tmp_path: Path, width: int) -> None:
    light = screenshot(run.page, tmp_path, width)
    dark = screenshot(run.page, tmp_path, width, "--blink-settings=preferredColorScheme=0")
    assert light.size == dark.size == (width, HEIGHT)
    assert light.getpixel((3, 60)) == (253, 253, 252)
    assert dark.getpixel((3, 60)) == (20, 24, 29)
    for shot in (light, dark):
        colours = shot.getcolors(maxcolors=1 << 20)
        share_of_ground = max(count for count, _ in colours) / (width * HEIGHT)
        assert 0.5 < share_of_ground < 0.97  # neither empty nor a solid block
        orange = [c for _, c in colours if c[0] > 190 and 80 < c[1] < 140 and c[2] < 80]
        assert orange  # the points of the figures are drawn


@pytest.fixture(scope="module")
def strips(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    """A run with image strips on its page."""
    kept = ("full_image", "single_view", "zooming", "shifting_r", "mixed")
    made = fake_report.make(tmp_path_factory.mktemp("strips"), fake_report.params(kept), per_class=1)
    write(made)
    return made


@pytest.mark.parametrize("shown", ["run", "strips"])
def test_wide_tables_scroll_inside_the_page(shown: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The page is as wide as its window: what is wider scrolls in a frame of its own."""
    probe = tmp_path / "probe.html"
    text = request.getfixturevalue(shown).page.read_text(encoding="utf-8")
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    without_policy = text[:start] + text[text.index(">", start) + 1 :]
    script = "<script>document.title = document.documentElement.scrollWidth + ' in ' + innerWidth</script>"
    probe.write_text(without_policy.replace("</body>", f"{script}</body>"), encoding="utf-8")
    dumped = browse(probe, tmp_path, "--window-size=500,900", "--dump-dom")
    title = dumped[dumped.index("<title>") + len("<title>") : dumped.index("</title>")]
    width, window = (int(part) for part in title.split(" in "))
    assert width <= window
