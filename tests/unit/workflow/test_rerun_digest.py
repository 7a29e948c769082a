"""Which code a rule's digest covers."""

from __future__ import annotations

import sys

import pytest

from known_unknowns import benchmarks
from known_unknowns.benchmarks import Benchmark, Lazy
from known_unknowns.workflow import rerun_digest
from known_unknowns.workflow.rerun_digest import STEPS, Step, code_of, imported_by


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of a benchmark; call it to write a module."""

    def write(name, text):
        path = tmp_path / "their_benchmark" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for cached in (rerun_digest._code_of, rerun_digest._imports, rerun_digest._file, rerun_digest._folder):
            cached.cache_clear()

    write("__init__.py", "")
    monkeypatch.syspath_prepend(tmp_path)
    yield write
    sys.modules.pop("their_benchmark", None)


def names(modules):
    return sorted(imported_by(modules))


def test_imports_are_followed_wherever_they_are(package):
    package("a.py", "from their_benchmark import b\nimport json\ndef f():\n    from .c import x\n")
    package("b.py", "if True:\n    import their_benchmark.d\n")
    package("c.py", "x = 1")
    package("d.py", "from .a import f")  # a cycle
    package("e.py", "")
    assert names(["their_benchmark.a"]) == [f"their_benchmark.{name}" for name in "abcd"]


def test_imports_for_type_checkers_are_not_followed(package):
    package(
        "a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import T\nelse:\n    from .c import T\n",
    )
    package("b.py", "")
    package("c.py", "")
    assert names(["their_benchmark.a"]) == ["their_benchmark.a", "their_benchmark.c"]


def test_a_module_with_a_longer_name_is_another_one(package):
    package("pope.py", "")
    package("pope_adversarial.py", "")
    assert names(["their_benchmark.pope"]) == ["their_benchmark.pope"]
    before = code_of(modules=["their_benchmark.pope"])
    package("pope_adversarial.py", "x = 1")
    assert code_of(modules=["their_benchmark.pope"]) == before
    package("pope.py", "x = 1")
    assert code_of(modules=["their_benchmark.pope"]) != before


def test_a_module_that_does_not_exist_is_named():
    with pytest.raises(ModuleNotFoundError, match=r"known_unknowns\.scorers"):
        imported_by(["known_unknowns.scorers"])


def test_a_step_covers_only_the_parts_that_it_uses(package, monkeypatch):
    for name in ("load", "prompt", "official", "check"):
        package(f"{name}.py", f"from .shared import x\n{name} = x\n")
    package("shared.py", "x = 1")
    parts = {name: Lazy(f"their_benchmark.{name}:{name}") for name in ("load", "prompt", "official", "check")}
    benchmark = Benchmark(name="theirs", title="Theirs", package="their_benchmark", **parts)
    monkeypatch.setattr(benchmarks, "get", {"theirs": benchmark}.__getitem__)
    package("unused.py", "")
    before = {step: code_of(step, ["theirs"]) for step in ("questions", "infer", "score", "check")}

    def changed():
        return {step for step, digest in before.items() if code_of(step, ["theirs"]) != digest}

    assert changed() == set()
    package("check.py", "from .shared import x\ncheck = -x\n")
    assert changed() == {"check"}
    package("check.py", "from .shared import x\ncheck = x\n")
    package("official.py", "from .shared import x\nofficial = -x\n")
    assert changed() == {"infer", "score"}
    package("official.py", "from .shared import x\nofficial = x\n")
    package("shared.py", "x = 2")
    assert changed() == set(before)


def test_base_modules_are_covered():
    for step, base in {"infer": {"images", "records", "tables"}, "vary": {"images", "records", "tables"}}.items():
        modules = names(f"known_unknowns.{module}" for module in STEPS[step].modules)
        assert {f"known_unknowns.{name}" for name in base} <= set(modules)


def test_the_digest_of_a_renderer_covers_the_scenes():
    assert "known_unknowns_pocket.scenes" in names([benchmarks.get("mm_upd").pocket.render.module])


def test_the_configuration_is_a_parameter_and_not_code():
    every = {f"known_unknowns.{module}" for step in STEPS.values() for module in step.modules}
    assert not [name for name in names(every) if name.startswith("known_unknowns.config")]


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_a_digest(step):
    digest = code_of(step, benchmarks.names())
    assert len(digest) == 16 and digest != code_of("vary" if step != "vary" else "score")
    assert isinstance(STEPS[step], Step)


def test_a_rule_of_its_own_names_the_modules_that_it_runs():
    digest = code_of(modules=["known_unknowns.variants"])
    assert digest == code_of(modules=["known_unknowns.variants"]) != code_of(modules=["known_unknowns.scoring.robust"])


@pytest.fixture
def statements_file(tmp_path, monkeypatch):
    """The file that keeps the imports of modules; the memory of this process is empty."""
    path = tmp_path / "__pycache__/kept.json"
    path.parent.mkdir()
    monkeypatch.setattr(rerun_digest, "_CACHE", path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    rerun_digest._known_statements.cache_clear()
    yield path
    rerun_digest._known_statements.cache_clear()


def test_kept_imports_give_the_same_digest(package, statements_file, monkeypatch):
    package("a.py", "import their_benchmark.b\nfrom . import c\nfrom .d import x\nimport json, their_benchmark.e\n")
    for name in "bcde":
        package(f"{name}.py", f"x = '{name}'")
    package("a2.py", "")
    first, modules = code_of(modules=["their_benchmark.a"]), names(["their_benchmark.a"])
    assert modules == [f"their_benchmark.{name}" for name in "abcde"]
    assert statements_file.is_file()

    def never(_):
        raise AssertionError("a known file was parsed again")

    package("a2.py", "")  # forget what this process knows
    rerun_digest._known_statements.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(rerun_digest, "_parsed", never)
        assert code_of(modules=["their_benchmark.a"]) == first
    package("b.py", "from . import a2")
    assert names(["their_benchmark.a"]) == sorted([*modules, "their_benchmark.a2"])


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"checksum": "crc32:00000000"}'])
def test_a_damaged_file_of_imports_is_ignored(package, statements_file, damage):
    package("a.py", "from . import b")
    package("b.py", "")
    statements_file.write_bytes(damage)
    assert code_of(modules=["their_benchmark.a"])
    assert names(["their_benchmark.a"]) == ["their_benchmark.a", "their_benchmark.b"]


def test_without_permission_to_write_compiled_modules_nothing_is_kept(package, statements_file, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    package("a.py", "import json")
    assert code_of(modules=["their_benchmark.a"])
    assert not statements_file.exists()
