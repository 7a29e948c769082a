"""Which code a step's digest covers."""

from __future__ import annotations

import sys
from importlib import invalidate_caches

import grimp
import pytest

from known_unknowns.workflow import code_digest
from known_unknowns.workflow.code_digest import STEPS, code_of
from known_unknowns_pocket.editions import HUMBLEBENCH

ENTRIES = {
    "questions": ["known_unknowns.data.questions"],
    "check": ["known_unknowns.data.check"],
    "vary": ["known_unknowns.data.variant_tables", "known_unknowns.variants"],
    "infer": ["known_unknowns.model_runs.model_run"],
    "release": ["known_unknowns.exchange.released"],
    "parse": ["known_unknowns.scoring.table"],
    "measure": ["known_unknowns.metrics.measure"],
    "summarise": ["known_unknowns.metrics.summary"],
    "compare": ["known_unknowns.comparison.compare", "known_unknowns.comparison.pairs"],
    "report": ["known_unknowns.report.page", "known_unknowns.report.browser.build"],
    "track": ["known_unknowns.tracking"],
}
OTHERS = {
    "construction": (
        (*STEPS["infer"], "known_unknowns_construction"),
        ["known_unknowns_construction.steps", "known_unknowns_construction.benchmarks"],
    ),
}
"""The same of the packages above, by what they do."""
PACKAGES = (
    *("known_unknowns", "known_unknowns_construction", "known_unknowns_pocket", "known_unknowns_benchmarks"),
    "prefix_sharing",
)


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of a benchmark; call it to write a module."""

    def write(name, text):
        path = tmp_path / "their_benchmark" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        code_digest._of_package.cache_clear()
        invalidate_caches()

    write("__init__.py", "")
    monkeypatch.syspath_prepend(tmp_path)
    yield write
    sys.modules.pop("their_benchmark", None)
    code_digest._of_package.cache_clear()


@pytest.mark.parametrize("step", [*ENTRIES, *OTHERS])
def test_the_named_packages_contain_all_that_the_step_imports(step, graph):
    named, entries = OTHERS[step] if step in OTHERS else (STEPS[step], ENTRIES[step])
    modules = set(entries)
    waiting = list(modules)
    while waiting:
        for module in graph.find_modules_directly_imported_by(waiting.pop()) - modules:
            modules.add(module)
            waiting.append(module)
    left_out = {
        module
        for module in modules
        if module not in ("known_unknowns", "known_unknowns_benchmarks")
        and not module.startswith("known_unknowns_benchmarks.")  # the step's own, which the rule names
        and not any(f"{module}.".startswith(f"{name}.") for name in named)
    }
    assert not left_out


def test_every_step_but_rendering_has_its_entries():
    """Rendered files are checked against the revision of their entry."""
    assert STEPS.keys() - ENTRIES.keys() == {"render"}
    assert {"known_unknowns_pocket", "known_unknowns_construction"} <= set(HUMBLEBENCH.code)


def test_comments_docstrings_and_texts_for_readers_do_not_count(package):
    package("prompts.py", 'def ask():\n    """Ask."""\n    return 1\n')
    before = code_of("parse", (), "their_benchmark"), code_of("report", (), "their_benchmark")
    package("prompts.py", "# Asks.\ndef ask():\n\n    return (1)\n")
    package("README.md", "What it asks.")
    assert (code_of("parse", (), "their_benchmark"), code_of("report", (), "their_benchmark")) == before
    package("citation.bib", "@misc{a}")
    assert code_of("parse", (), "their_benchmark") == before[0]
    assert code_of("report", (), "their_benchmark") != before[1]  # it shows the papers to cite
    package("prompts.py", "def ask():\n    return 2\n")
    assert code_of("parse", (), "their_benchmark") != before[0]


def test_every_file_of_a_package_but_compiled_ones_counts(package):
    before = code_of("parse", (), "their_benchmark")
    package("prompts.py", "x = 1")
    added = code_of("parse", (), "their_benchmark")
    package("prompts.py", "x = 2")
    changed = code_of("parse", (), "their_benchmark")
    package("published.yaml", "x: 2")
    whole = code_of("parse", (), "their_benchmark")
    assert len({before, added, changed, whole}) == 4
    package("__pycache__/x.pyc", "x")
    assert code_of("parse", (), "their_benchmark") == whole


def test_a_package_that_does_not_exist_is_named():
    with pytest.raises(ModuleNotFoundError, match="their_engine"):
        code_of("infer", (), "their_engine")


def test_the_script_of_a_rule_counts(tmp_path):
    script = tmp_path / "parse.py"
    script.write_text("x = 1", encoding="utf-8")
    before = code_of("parse", script=script)
    script.write_text("x = 2", encoding="utf-8")
    assert len({before, code_of("parse", script=script), code_of("parse")}) == 3
