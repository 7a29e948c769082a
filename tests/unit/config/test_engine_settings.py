"""An engine that is added as one module: its settings are found by its name, and checked as those of any model."""

import importlib
import sys

import pytest
import yaml

from known_unknowns import engines
from known_unknowns.benchmark import registry
from known_unknowns.config import models
from known_unknowns.entry_points import BENCHMARKS
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration
from tests.paths import ROOT

MODULE = """
from typing import ClassVar, Literal

from known_unknowns.config.models import ModelSettings
from known_unknowns.records import Reply


class Settings(ModelSettings):
    implementation = f"{__name__}:Echo"
    not_in_the_reply = ModelSettings.not_in_the_reply | {"pace"}
    engine: Literal["echo"]
    text: str
    pace: int = 1


SETTINGS = Settings


class Echo:
    scripted = False
    notes = None

    def __init__(self, name, entry):
        self.facts = {"engine": "echo", "text": entry.text}
        self.about = {}

    def answer(self, turns, *, folder):
        yield [(index, Reply(self.facts["text"])) for index, _ in enumerate(turns)]
"""


@pytest.fixture(params=["a module of the engines", "another distribution"])
def echo(request, tmp_path, monkeypatch):
    """The engine ``echo``, in one file."""
    models.settings_of.cache_clear()
    site = tmp_path / "site"
    site.mkdir()
    if request.param == "another distribution":
        (site / "echo_engine.py").write_text(MODULE)
        info = site / "echo_engine-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-engine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{models.ENGINES}]\necho = echo_engine:SETTINGS\n")
        monkeypatch.syspath_prepend(str(site))
    else:
        (site / "echo.py").write_text(MODULE)
        monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(site)])
    yield
    models.settings_of.cache_clear()
    for name in ("echo_engine", f"{models.ENGINES}.echo"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("code", ["import no_such_module", "1 / 0", "def"])
def test_an_engine_that_cannot_be_imported_is_named(code, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(code)
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    with pytest.raises(ConfigError, match=r"mine.*the engine broken cannot be imported: \w+Error"):
        with_model(engine="broken")


@pytest.mark.parametrize("code", ["import no_such_module", "1 / 0"])
def test_a_benchmark_that_cannot_be_imported_is_named(code, tmp_path, monkeypatch):
    (tmp_path / "broken_benchmark.py").write_text(code)
    info = tmp_path / "broken_benchmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-benchmark\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{BENCHMARKS}]\nbroken = broken_benchmark:BENCHMARK\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=r"benchmarks\.broken: the plugin broken_benchmark:BENCHMARK .*Error"):
        registry.get("broken")


def with_model(**entry):
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["models"]["mine"] = entry
    raw["editions"]["pocket"]["models"] = ["mine"]
    return configuration.check(raw)


def test_the_engine_answers_with_its_settings(echo, tmp_path):
    params = with_model(engine="echo", text="B", pace=3, images="concatenated", published="a row")
    entry = params.model("mine")
    assert (entry.images, params.published("mine", "any")) == ("concatenated", "a row")
    batches = engines.create("mine", entry).answer([None, None], folder=tmp_path)
    assert [(index, reply.text) for batch in batches for index, reply in batch] == [(0, "B"), (1, "B")]


def test_a_missing_attribute_of_an_engine_is_named(echo):
    entry = with_model(engine="echo", text="B").model("mine")
    module, _, name = entry.implementation.partition(":")
    del getattr(importlib.import_module(module), name).scripted
    with pytest.raises(ConfigError, match=r"models\.mine\.engine: .*Echo has no attribute scripted"):
        engines.create("mine", entry)


@pytest.mark.parametrize(
    ("entry", "path"), [({"text": 1}, "models.mine.text"), ({"text": "B", "txt": ""}, "models.mine.txt")]
)
def test_a_mistake_in_the_entry_is_named(echo, entry, path):
    with pytest.raises(ConfigError) as raised:
        with_model(engine="echo", **entry)
    assert raised.value.path == path


@pytest.mark.parametrize(
    ("omitted", "instead", "message"),
    [
        ("SETTINGS = Settings\n", "", "mine.engine: .*SETTINGS"),
        ('implementation = f"{__name__}:Echo"', "pass", "mine.engine: .*implementation"),
        ("from typing import", "import no_library\nfrom typing import", "mine.engine: .*imported.*no_library"),
        (":Echo", ":Ech", "mine.engine: .*has no 'Ech'"),
        ("def answer(", "def reply(", "mine.engine: .*:Echo has no attribute answer"),
    ],
)
def test_an_incomplete_engine_is_named(omitted, instead, message, tmp_path, monkeypatch):
    models.settings_of.cache_clear()
    assert omitted in MODULE
    (tmp_path / "incomplete.py").write_text(MODULE.replace(omitted, instead, 1).replace('"echo"', '"incomplete"'))
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    try:
        with pytest.raises(ConfigError, match=rf"^models\.{message}"):
            engines.create("mine", with_model(engine="incomplete", text="B").model("mine"))
    finally:
        models.settings_of.cache_clear()
        sys.modules.pop(f"{models.ENGINES}.incomplete", None)


@pytest.mark.parametrize("engine", ["ech0", "prices", "../openai"])
def test_an_unknown_engine_is_refused(engine):
    with pytest.raises(ConfigError, match="engine") as raised:
        with_model(engine=engine)
    assert raised.value.path == "models.mine.engine"
