"""A package of an extra that is not installed is named with the extra, whatever command needs it."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from known_unknowns import cli
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("openai", "api"),
        ("transformers", "models"),
        ("vl_convert", "report"),
    ],
)
def test_the_extra_is_named(module, extra, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(cli, "app", lambda: import_module(module))
    monkeypatch.delenv("KNOWN_UNKNOWNS_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"known-unknowns: error: this needs the package {module}; ")
    assert f"pip install 'known-unknowns[{extra}]'" in said and said.count("\n") == 1


@pytest.mark.parametrize("module", ["known_unknowns.absent", "open"])
def test_other_missing_modules_are_faults(module, monkeypatch):
    def app() -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(ModuleNotFoundError):
        cli.main()


def test_a_model_behind_an_endpoint_without_the_package(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "openai", None)
    for name in [name for name in sys.modules if name.startswith("known_unknowns.engines.")]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "params.yaml").write_text(
        (ROOT / "params.yaml")
        .read_text(encoding="utf-8")
        .replace("\nmodels:\n", "\nmodels:\n  s: {engine: openai, source: m, base_url: 'http://127.0.0.1:9/v1'}\n", 1)
        .replace("models: [oracle,", "models: [s, oracle,", 1),
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["known-unknowns", "models", "probe", "s"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2 and "known-unknowns[api]" in said, said
