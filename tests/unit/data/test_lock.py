"""params.lock.yaml: it is written once, and changed on request with a list of the changes."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from known_unknowns.config import catalogue, locked_commits, typed_model
from known_unknowns.config.locked_commits import LockEntry
from known_unknowns.data import lock_command, lock_file
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.files.pins import FilePin
from tests.factories import params_from, with_keys

from .conftest import REPOSITORY, ROOT

MODEL = "tester/humble-7b"  # none of the catalogue
KEY = f"hub:datasets/{REPOSITORY}@main"
LARGE = random.Random(1).randbytes(5_000)
COMMIT, OTHER = "a" * 40, "b" * 40


@pytest.fixture
def world(serve, place):
    """A hub with both data sets and a model, and params.yaml with that one model."""
    hub = serve()
    hub.commit(REPOSITORY, {"README.md": b"one", "data/a.parquet": LARGE})
    hub.commit("Elliotwang/MM-SAP", {"BasicVisQA.json": b"[]"})
    hub.commit(MODEL, {"config.json": b"{}", "model.safetensors": LARGE[::-1]}, kind="model")
    raw = place.params.file.plain()
    qwen = {"engine": "transformers", "source": MODEL, "revision": "main", "dtype": "bfloat16"}
    raw["models"] = {"pocket": raw["models"]["pocket"], "one": qwen, "other": qwen | {"system": "Be humble."}}
    raw["editions"] = {"full": raw["editions"]["full"] | {"models": ["one"]}}  # no model of the catalogue
    # Sources of other benchmarks would be locked too, and this hub does not have them.
    raw["benchmarks"] = {name: raw["benchmarks"][name] for name in raw["editions"]["full"]["benchmarks"]}
    place.params, place.hub = params_from(raw), hub
    return place


def run(world, *names, **options):
    return lock_command.run(world.params, names, lock_path=world.lock_path, **options)


# The file


def locked_sources():
    files = st.dictionaries(
        st.from_regex(r"[a-z0-9 :#'%é-]{1,8}(/[a-z0-9-][a-z0-9.-]{0,7})?", fullmatch=True).filter(
            lambda path: ":" not in path.split("/")[0]
        ),
        st.builds(FilePin, size=st.integers(0, 2**50), sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True))
        | st.builds(FilePin, size=st.integers(0, 99), git=st.from_regex(r"[0-9a-f]{40}", fullmatch=True)),
        max_size=3,
    )
    keys = st.from_regex(r"hub:(datasets|models)/[A-Za-z0-9.-]{1,9}/[a-z]{1,4}@(main|refs/pr/1)", fullmatch=True)
    commits = st.from_regex(r"[0-9a-f]{40}", fullmatch=True)
    return st.dictionaries(keys, st.builds(LockEntry, commit=commits, files=files), max_size=3)


@given(entries=locked_sources())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
def test_a_written_lock_is_read_back(entries, tmp_path):
    path = tmp_path / "params.lock.yaml"
    lock_file.write(entries, path)
    assert locked_commits.read(path) == entries
    text = path.read_text(encoding="utf-8")
    lock_file.write(dict(reversed(entries.items())), path)
    assert path.read_text(encoding="utf-8") == text
    assert text.startswith("# The sources in params.yaml")


def test_the_shipped_lock_matches_params(full):
    actiview = locked_commits.data_source("actiview", full.data("actiview"))
    assert locked_commits.read(ROOT / "params.lock.yaml")[actiview.key].commit == full.data("actiview").revision


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sources: [", "not valid YAML"),
        ("version: 2\nsources: {}", "version: 2 is not valid"),
        (f"version: 1\nsources: {{'{KEY}': {{commit: main}}}}", "should match pattern"),
        (f"version: 1\nsources: {{'{KEY}': {{files: {{../x: {{size: 1, git: {COMMIT}}}}}}}}}", "leads out of"),
        (f"version: 1\nsources: {{'{KEY}': {{files: {{x: {{size: 1, crc: 1}}}}}}}}", "crc"),
        (f"version: 1\nsources: {{'{KEY}': {{files: {{x: {{size: 1}}}}}}}}", "one hash"),
        (f"version: 1\nsources: {{'{KEY}': {{}}}}", "a commit, files or both"),
        (f"version: 1\nsources: {{'ftp:x': {{commit: {COMMIT}}}}}", "should match pattern"),
        ("- 1", "should be a valid dictionary"),
    ],
)
def test_an_invalid_lock_is_refused(tmp_path, text, told):
    (tmp_path / "params.lock.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=told):
        locked_commits.read(tmp_path / "params.lock.yaml")


def test_concurrent_changes_are_both_kept(tmp_path):
    path = tmp_path / "params.lock.yaml"

    def add(number):
        with lock_file.update(path) as entries:
            time.sleep(0.01)
            entries[f"http:source-{number}"] = LockEntry(COMMIT, {})

    with ThreadPoolExecutor() as pool:
        list(pool.map(add, range(8)))
    assert len(locked_commits.read(path)) == 8


def test_a_diff_names_the_commit_and_every_file():
    old = LockEntry(COMMIT, {"a": FilePin(1, git=COMMIT), "b": FilePin(2_000, git=COMMIT), "c": FilePin(3, git=COMMIT)})
    new = LockEntry(
        OTHER, {"b": FilePin(2_500_000, git=OTHER), "c": FilePin(3, git=COMMIT), "d": FilePin(4, git=OTHER)}
    )
    assert lock_file.diff(old, new) == [
        f"commit {COMMIT} -> {OTHER}",
        "- a (1 bytes)",
        "~ b (2.0 kB -> 2.5 MB)",
        "+ d (4 bytes)",
    ]
    assert lock_file.diff(old, old) == []
    assert old.digest != new.digest


# The command


def test_everything_is_locked_once(world, capsys):
    assert run(world)
    first = world.lock_path.read_bytes()
    locked = locked_commits.read(world.lock_path)
    assert sorted(key.partition("@")[0] for key in locked) == [
        "https://github.com/THUNLP-MT/ActiView",
        "hub:datasets/Elliotwang/MM-SAP",
        f"hub:datasets/{REPOSITORY}",
        f"hub:models/{MODEL}",
    ]
    assert locked[f"hub:models/{MODEL}@main"].files.keys() == {"config.json", "model.safetensors"}
    assert "one, other: locked for the first time" in capsys.readouterr().out

    world.hub.commit(REPOSITORY, {"README.md": b"two"})
    world.hub.log.clear()
    assert run(world)
    assert world.lock_path.read_bytes() == first
    assert world.hub.log == []


def test_an_update_reports_and_changes_only_moved_sources(world, capsys):
    run(world)
    before = locked_commits.read(world.lock_path)
    old = before[KEY].commit
    new = world.hub.commit(REPOSITORY, {"README.md": b"two", "data/b.parquet": LARGE})
    capsys.readouterr()
    assert run(world, "humblebench", update=True)
    assert capsys.readouterr().out.splitlines() == [
        "humblebench: moved",
        f"  commit {old} -> {new}",
        "  ~ README.md (3 bytes -> 3 bytes)",
        "  - data/a.parquet (5.0 kB)",
        "  + data/b.parquet (5.0 kB)",
    ]
    after = locked_commits.read(world.lock_path)
    assert after[KEY].commit == new
    assert {key for key in after if after[key] != before[key]} == {KEY}
    assert run(world, update=True)
    assert "humblebench: has not moved" in capsys.readouterr().out


def test_an_update_of_all_removes_sources_that_params_does_not_name(world):
    run(world)
    world.params = with_keys(world.params, models={"pocket": world.params.model("pocket").plain()})
    run(world, "humblebench", update=True)
    assert f"hub:models/{MODEL}@main" in locked_commits.read(world.lock_path)
    run(world, update=True)
    assert f"hub:models/{MODEL}@main" not in locked_commits.read(world.lock_path)


def test_a_model_of_the_catalogue_is_locked_by_its_name_and_then_kept(world, monkeypatch):
    entry = {"engine": "transformers", "source": "org/other", "revision": "main", "dtype": "bfloat16"}
    known = {"other-7b": entry, "off-7b": entry | {"source": "org/off"}}
    monkeypatch.setattr(catalogue, "models", lambda: {name: typed_model(name, of) for name, of in known.items()})
    first = world.hub.commit("org/other", {"config.json": b"{}"}, kind="model")
    run(world)
    key = "hub:models/org/other@main"
    assert key not in locked_commits.read(world.lock_path)
    run(world, "other-7b")
    assert locked_commits.read(world.lock_path)[key].commit == first
    newer = world.hub.commit("org/other", {"config.json": b"{ }"}, kind="model")
    assert not run(world, check=True)
    run(world, update=True)
    assert locked_commits.read(world.lock_path)[key].commit == newer


def test_a_server_that_is_not_a_hub_is_an_error(world):
    world.hub.portal = True
    with pytest.raises(MachineError, match="does not answer like a hub"):
        run(world, "humblebench")


def test_a_check_reports_moved_sources_and_changes_nothing(world, capsys):
    assert not run(world, "humblebench", check=True)
    assert not world.lock_path.exists()
    run(world)
    before = world.lock_path.read_bytes()
    assert run(world, check=True)
    new = world.hub.commit(REPOSITORY, {"README.md": b"two", "data/a.parquet": LARGE})
    capsys.readouterr()
    assert not run(world, check=True)
    assert f"-> {new}" in capsys.readouterr().out
    assert world.lock_path.read_bytes() == before


def test_an_unreachable_source_does_not_prevent_locking_others(world):
    del world.hub.repositories["dataset", "Elliotwang/MM-SAP"]
    with pytest.raises(MachineError, match=r"1 source\(s\) did not answer:\n  mmsap"):
        run(world)
    assert len(locked_commits.read(world.lock_path)) == 3


@pytest.mark.parametrize(
    ("name", "told"), [("humblebenhc", "did you mean 'humblebench'"), ("pocket", "needs no lock: its revision")]
)
def test_an_unknown_name_cannot_be_locked(world, name, told):
    with pytest.raises(ConfigError, match=told):
        run(world, name)


def test_models_in_folders_and_behind_endpoints_have_no_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    hub = {"engine": "transformers", "source": MODEL, "revision": "main", "dtype": "float32"}
    assert locked_commits.model_source(typed_model("x", hub)).key == f"hub:models/{MODEL}@main"
    for entry in (
        hub | {"source": "mine"},
        hub | {"source": "models/pocket", "revision": "c3" * 32},
        hub | {"source": "models/pocket", "revision": "unpinned"},
        {"engine": "openai", "source": "gpt-4o"},
        {"engine": "respondent", "behaviour": "oracle"},
    ):
        assert locked_commits.model_source(typed_model("x", entry)) is None
