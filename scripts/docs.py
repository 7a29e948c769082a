"""Build the documentation site from the pages of the repository and the docstrings: make docs.

Pages keep their places in the repository, so that the links between them also work on the site. A broken link, a page
that is in no list, or a name that a docstring does not have is an error.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from known_unknowns import __version__  # noqa: E402
from known_unknowns.benchmark import registry  # noqa: E402

GROUPS = {
    "Start": ("tutorial_model", "tutorial_benchmark", "concepts", "findings"),
    "Use": ("installation", "workflow", "clusters", "own_data", "data", "models", "rescore"),
    "Results": ("report", "comparison", "metrics", "parsers"),
    "Construct and review": ("construction",),
    "Internals": ("architecture", "shared_prefixes"),
}
"""The pages in docs/, in the order of the site. A page that is missing here stops the build."""
UNLISTED = frozenset({"bench", "tests"})
"""Folders whose pages are on the site, for links, but not in its lists."""
MODULES = (
    "",
    *("records", "variants", "protocols", "errors", "images"),
    *(
        "benchmark.registry",
        "benchmark.interface",
        *(f"benchmark.{name}" for name in ("variant", "protocol", "parsed_answer", "metrics", "published", "section")),
        *(f"benchmark.{name}" for name in ("exchange", "released", "pocket", "checks")),
        "scoring",
        "metrics",
        "comparison",
        "engine",
        "engines",
        "config",
        "evaluation",
        "exchange.every_eval_ever",
    ),
)
"""The modules whose public names are documented."""
CONFIGURATION = f'''
project, author = "Known Unknowns", "the authors of Known Unknowns"
version = release = "{__version__}"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_extra_path = ["extra"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
suppress_warnings = ["misc.highlighting_failure"]  # mermaid's diagrams stay text
'''


def pages() -> list[Path]:
    """Return the pages, relative to the repository."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md")]
    for pattern in ("src/**/README.md", "bench/*/README.md", "profiles/*/README.md", "models/*/README.md"):
        found += ROOT.glob(pattern)
    found += [ROOT / "results" / "README.md", *ROOT.glob("tests/*/*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


def assemble(source: Path) -> None:
    """Write what Sphinx reads: the pages, the files that they link to, the lists of pages, and the configuration."""
    for page in pages():
        (source / page).parent.mkdir(parents=True, exist_ok=True)
        head = "---\norphan: true\n---\n\n" if page.parts[0] in UNLISTED else ""
        (source / page).write_text(head + (ROOT / page).read_text(encoding="utf-8"), encoding="utf-8")
    pictures = [path for suffix in ("png", "svg") for path in ROOT.glob(f"docs/*.{suffix}")]
    for file in (*pictures, *(ROOT / name for name in ("LICENSE", "CITATION.cff", "params.yaml"))):
        shutil.copyfile(file, source / file.relative_to(ROOT))
    extra = source / "extra" / "docs"  # files that README names in HTML keep their paths
    extra.mkdir(parents=True, exist_ok=True)
    for file in pictures:
        shutil.copyfile(file, extra / file.name)
    (source / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    (source / "index.md").write_text(
        (ROOT / "README.md").read_text(encoding="utf-8") + "\n" + lists(), encoding="utf-8"
    )
    (source / "README.md").unlink()
    for module in MODULES:
        write_module(source, ".".join(filter(None, ("known_unknowns", module))))


def lists() -> str:
    """Return the lists of pages."""
    of_benchmarks = [f"src/known_unknowns_benchmarks/{name}/README" for name in registry.names()]
    groups = {caption: [f"docs/{name}" for name in names] for caption, names in GROUPS.items()}
    groups["Benchmarks"] = [page for page in of_benchmarks if (ROOT / f"{page}.md").is_file()]
    groups["API reference"] = [f"python/{module or 'known_unknowns'}" for module in MODULES]
    listed = {page for some in groups.values() for page in some}
    rest = [str(page.with_suffix("")) for page in pages() if page != Path("README.md")]
    if unlisted := [page for page in rest if page.startswith("docs/") and page not in listed]:
        raise SystemExit(f"scripts/docs.py: add to GROUPS: {', '.join(unlisted)}")
    groups["More"] = [page for page in rest if page not in listed and Path(page).parts[0] not in UNLISTED]
    return "\n".join(
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```", ""])
        for caption, names in groups.items()
    )


def write_module(source: Path, name: str) -> None:
    """Write the page of a module: its public functions and classes, also those that it takes from its own parts."""
    module = importlib.import_module(name)
    page = source / "python" / f"{name.removeprefix('known_unknowns.')}.rst"
    page.parent.mkdir(exist_ok=True)
    lines = [name, "=" * len(name), "", f".. automodule:: {name}", "   :no-members:", ""]
    for public in sorted({*vars(module), *getattr(module, "__all__", ())}):
        value = getattr(module, public)
        own = getattr(value, "__module__", "") == name or str(getattr(value, "__module__", "")).startswith(f"{name}.")
        if public.startswith("_") or not own or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        lines += [f".. auto{'class' if inspect.isclass(value) else 'function'}:: {name}.{public}", ""]
    page.write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    from sphinx.cmd.build import build_main

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "docs")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as source:
        assemble(Path(source))
        failed = build_main(["-W", "--keep-going", "-q", "-b", "html", source, str(folder)])
    if not failed:
        print(f"The site is in {folder}; open {folder}/index.html")
    return failed


if __name__ == "__main__":
    sys.exit(main())
