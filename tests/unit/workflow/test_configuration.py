"""Which files are checked against the registries."""

from __future__ import annotations

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration, run
from tests.paths import ROOT


def test_a_run_checks_the_names_once_for_all_its_jobs(tmp_path, monkeypatch):
    written = run.write_job_settings(configuration.load(ROOT / "params.yaml"), tmp_path)

    def never(_):
        raise AssertionError("the names were checked again")

    with monkeypatch.context() as patched:
        patched.setattr(configuration, "unknown_to_registries", never)
        assert configuration.load(written).edition == "pocket"
        with pytest.raises(AssertionError):
            configuration.load(written, edition="full")  # another edition has other combinations

    wrong = written.read_text(encoding="utf-8").replace("- robust\n", "- roboust\n")
    written.write_text(wrong, encoding="utf-8")  # the name does not fit the content any more
    with pytest.raises(ConfigError, match="roboust"):
        configuration.load(written)
    with pytest.raises(ConfigError, match="roboust"):
        (tmp_path / "mine.yaml").write_text(wrong, encoding="utf-8")
        configuration.load(tmp_path / "mine.yaml")
