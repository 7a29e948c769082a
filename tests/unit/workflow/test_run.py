"""The lock, the settings and the messages of a run."""

from __future__ import annotations

import pytest
import yaml

from known_unknowns.config import Params, without_password
from known_unknowns.errors import MachineError
from known_unknowns.workflow import run


def test_only_one_run_holds_the_lock(tmp_path):
    held = run.lock(tmp_path / "a" / "lock")
    with pytest.raises(MachineError, match="another run"):
        run.lock(tmp_path / "a" / "lock")
    held.close()
    run.lock(tmp_path / "a" / "lock").close()


def test_equal_settings_are_not_written_again(tmp_path):
    path = tmp_path / "params.yaml"
    run.write_settings(Params({"edition": "mine"}), path)
    assert yaml.safe_load(path.read_text()) == {"edition": "mine"}
    written = path.stat().st_mtime_ns
    run.write_settings(Params({"edition": "mine"}), path)
    assert path.stat().st_mtime_ns == written
    run.write_settings(Params({"edition": "other"}), path)
    assert yaml.safe_load(path.read_text()) == {"edition": "other"}


def test_a_failure_shows_the_end_of_each_log_once(tmp_path):
    log = tmp_path / "infer.log"
    log.write_text("one\ntwo\nthree\n")
    snakemake = tmp_path / "snakemake.log"
    snakemake.write_text(f"    log: {log} (check log file(s) for error details)\n" * 2)
    message = run.failure_message([str(snakemake)], lines=2)
    assert message.count(str(log)) == 1
    assert f"{log}\n    two\n    three\n" in message and "one" not in message


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("postgresql://ann:s3cret@db:5432/mlflow", "postgresql://ann:***@db:5432/mlflow"),
        ("postgresql://ann:s3:cr@t@db/mlflow", "postgresql://ann:***@db/mlflow"),
        ("sqlite:///mlflow.db", "sqlite:///mlflow.db"),
        ("http://localhost:5000", "http://localhost:5000"),
    ],
)
def test_a_password_is_not_printed(uri: str, shown: str) -> None:
    assert without_password(uri) == shown
