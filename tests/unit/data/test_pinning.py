"""Stages of dvc.yaml that have an edition's results as outputs. tests/workflow/test_share.py tests pins with DVC."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns.cli import share
from known_unknowns.data import pinning
from known_unknowns.data.pinning import Pin
from known_unknowns.errors import ConfigError, DataError
from tests.factories import params_from

DVC = """
stages:
  mine:
    cmd: snakemake
    outs: [results/mine/tables]
  small:
    cmd: snakemake
    metrics:
      - results/tiny/metrics.json: {persist: true}
  other:
    cmd: "true"
"""


def params_of(edition):
    data = {"source": "scenes", "seed": 1, "images": 1, "questions_per_image": 1, "revision": "unpinned"}
    names = ("mine", "tiny", "absent")
    editions = {name: {"benchmarks": ["humblebench"], "models": ["m"], "seeds": [0]} for name in names}
    benchmarks = {"humblebench": {"data": dict.fromkeys(names, data)}}
    return params_from({"edition": edition, "editions": editions, "benchmarks": benchmarks})


def test_unfinished_results_are_not_recorded(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(pinning, "_dvc", lambda *arguments, root: called.append(arguments))

    def record_results(edition, root):
        return pinning.record_results(params_of(edition), root=root)

    assert not record_results("mine", root=tmp_path)
    (tmp_path / "dvc.yaml").write_text(DVC)
    assert not record_results("mine", root=tmp_path)  # no output, and not a repository of DVC
    (tmp_path / "results/mine/tables").mkdir(parents=True)
    assert not record_results("mine", root=tmp_path)
    (tmp_path / ".dvc").mkdir()
    assert not record_results("absent", root=tmp_path)
    assert not record_results("tiny", root=tmp_path)
    assert called == []
    assert record_results("mine", root=tmp_path)
    assert called == [("commit", "--force", "mine")]
    questions = Path("data/mine/questions/humblebench")
    (tmp_path / questions).mkdir(parents=True)
    assert record_results("mine", root=tmp_path)
    assert called[1:] == [("add", questions), ("commit", "--force", "mine")]
    assert (tmp_path / "data/mine/questions/humblebench.dvc").is_file()


def test_a_permission_for_data_is_refused_where_no_data_are_pinned(monkeypatch):
    monkeypatch.setattr(pinning, "record_results", lambda settings: pytest.fail("the results were recorded"))
    with pytest.raises(
        ConfigError, match=r"--redistribute: .* run {2}known-unknowns data pin --redistribute mmsap$"
    ) as raised:
        share.pin(redistribute=["mmsap"], results=True)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("text", ["[", "stages: []"])
def test_a_file_that_is_not_of_dvc_is_an_error(tmp_path, text):
    (tmp_path / "dvc.yaml").write_text(text)
    with pytest.raises(DataError, match="restore it from git"):
        pinning.record_results(params_of("mine"), root=tmp_path)


@pytest.mark.parametrize("left", ["", '{"read": {}, "write": {}}'])
def test_a_lock_that_a_killed_process_left_does_not_stop_dvc(tmp_path, left):
    dvc = shutil.which("dvc", path=str(Path(sys.executable).parent)) or shutil.which("dvc")
    if dvc is None:
        pytest.skip("dvc is not installed")
    subprocess.run([dvc, "init", "--no-scm", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/a.txt").write_text("a")
    (tmp_path / ".dvc/tmp").mkdir(exist_ok=True)
    (tmp_path / ".dvc/tmp/rwlock").write_text(left)
    assert pinning.pin_folder(Pin(tmp_path / "corpus", True, {}), root=tmp_path).is_file()
