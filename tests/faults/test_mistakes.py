"""Mistakes in the configuration are refused with their place."""

from __future__ import annotations

import copy

import pytest
import yaml

from known_unknowns import config
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration, run_settings
from tests.paths import ROOT

RAW = yaml.safe_load((ROOT / "params.yaml").read_text())
DEEP = "a: " + "[" * 100_000 + "]" * 100_000
OPENAI = {"engine": "openai", "source": "x"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("edition: pocket\nseeds: [1]\nedition: full\n", r"the key 'edition' is given twice \(line 3, column 1\)"),
        ("models:\n  a: {engine: x, source: y, engine: z}\n", r"the key 'engine' is given twice \(line 2"),
        (DEEP, "more than 50 levels"),
        ("\n".join("  " * level + "a:" for level in range(200)), "more than 50 levels"),
    ],
    ids=["twice", "twice in an entry", "deep", "deep block"],
)
def test_a_file_that_loses_a_key_or_cannot_be_read_is_refused(tmp_path, text, told):
    (tmp_path / "params.yaml").write_text(text)
    with pytest.raises(ConfigError, match=told):
        config.read(tmp_path / "params.yaml")


def changed(path, value):
    raw = copy.deepcopy(RAW)
    *folders, last = path
    place = raw
    for folder in folders:
        place = place[folder]
    place[last] = value
    return raw


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("statistics", "confidence"), float("nan"), "statistics.confidence"),
        (("models", "m"), OPENAI | {"timeout": float("inf")}, "models.m.timeout"),
        (("models", "m"), OPENAI | {"max_cost": {"usd": float("inf")}}, "models.m.max_cost.usd"),
        (("models", "m"), OPENAI | {"decoding": {"seed": 10**30}}, "models.m.decoding.seed"),
        (("models", "m"), OPENAI | {"concurrency": 2.0}, "models.m.concurrency"),
        (("models", "m"), OPENAI | {"base_url": "http://host\n/v1"}, "models.m.base_url"),
        (("editions", "pocket", "seeds"), [10**30], r"editions.pocket.seeds\[0\]"),
        (("editions", "pocket", "seeds"), [1.0], r"editions.pocket.seeds\[0\]"),
        (("models", "m\n"), OPENAI, "'m\\\\n' is not valid"),
        (("models", "m" * 300), OPENAI, "should have at most 100 characters"),
        (("variants", "v" * 300), {"function": "noise"}, "should have at most 100 characters"),
        *((("tracking", "uri"), uri, "tracking.uri") for uri in ("foo", "http://", "http://h:port")),
        *((("tracking", "uri"), uri, "tracking.uri") for uri in ("sqlite:///:memory:", "sqlite:///a\nb")),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_its_path(path, value, told):
    with pytest.raises(ConfigError, match=told):
        configuration.check(changed(path, value))


@pytest.mark.parametrize("uri", ["sqlite:///mlflow.db", "http://host:5000", "https://host/mlflow", "databricks"])
def test_addresses_of_mlflow_are_accepted(uri):
    assert configuration.check(changed(("tracking", "uri"), uri)).tracking.uri == uri


def test_the_copy_of_the_settings_holds_no_password():
    params = configuration.check(changed(("tracking", "uri"), "http://user:secret@host:5000"))
    assert run_settings.without_passwords(params).tracking.uri == "http://user:***@host:5000"
    assert params.tracking.uri == "http://user:secret@host:5000"


def test_nested_overrides_have_their_types():
    """Snakemake gives all values within braces as strings."""
    overrides = {
        "tracking": {"enabled": "false"},
        "statistics": {"confidence": "0.9"},
        "editions": {"pocket": {"seeds": ["7"]}},
        "models": {"m": OPENAI | {"decoding": {"seed": "null"}}},
    }
    params = configuration.check(config.read(ROOT / "params.yaml", command_line=overrides))
    assert params.tracking.enabled is False
    assert params.statistics.confidence == 0.9
    assert params.file.plain()["editions"]["pocket"]["seeds"] == [7]
    assert params.file.plain()["editions"]["pocket"]["models"] == RAW["editions"]["pocket"]["models"]
    assert params.file.plain()["models"]["m"]["decoding"]["seed"] is None


def test_snakemake_refuses_and_converts_too(project):
    dry = ("snakemake", "--dry-run", "--cores", "1")
    with (project.root / "Snakefile").open("a") as file:
        file.write('\nrun_settings.write(PARAMS, Path("seen.yaml"))\n')
    project.run(*dry, "--config", "statistics={confidence: 0.9}", "tracking={enabled: false}", timeout=60)
    settings = yaml.safe_load((project.root / "seen.yaml").read_text())
    assert settings["statistics"]["confidence"] == 0.9 and settings["tracking"]["enabled"] is False
    text = (project.root / "params.yaml").read_text()
    (project.root / "params.yaml").write_text(f"{text}\nedition: full\n")
    said = project.run(*dry, code=None, timeout=60).stdout
    assert "the key 'edition' is given twice" in said and "Traceback" not in said
