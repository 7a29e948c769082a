"""Sharing with Git, DVC and Snakemake: a second clone gets the data and the replies and runs no model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
ASKED = "results/pocket/replies/pocket/humblebench/engine.json"
NUMBERS = "results/pocket/metrics.json"
"""What a clone computes here: replies, scores and metrics. The report has no part in sharing."""
SECRET = "not-a-real-key"
UNLICENSED = b"a question that nobody may pass on"


def dvc(project: Project, *arguments: str | Path, code: int | None = 0) -> str:
    return project.run("dvc", *arguments, code=code).stdout


def replies(project: Project) -> dict[str, bytes]:
    folder = project.root / "results/pocket/replies"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def journals(project: Project) -> dict[str, bytes]:
    folder = project.root / "journal"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.json*"))}


@pytest.fixture(scope="module")
def finished(reproduced: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A finished run of a model with weights, pinned and committed but not pushed."""
    project = reproduced.twin(tmp_path_factory.mktemp("share") / "project")
    (project.root / "dvc.lock").unlink()  # as after a run by Snakemake
    shutil.rmtree(project.root / ".dvc/cache")
    project.run("known-unknowns", "data", "pin")
    assert not (project.root / "dvc.lock").exists()
    project.run("known-unknowns", "data", "pin", "--results")
    project.commit("a run, pinned")
    return project


def pushed(finished: Project, root: Path, address: str | Path, **settings: str) -> Project:
    """A copy of the finished run that was pushed to a new remote."""
    project = finished.twin(root)
    use_remote(project, address, **settings)
    dvc(project, "push")
    return project


def use_remote(project: Project, address: str | Path, **settings: str) -> None:
    dvc(project, "remote", "add", "--local", "--default", "store", address)
    for name, value in settings.items():
        dvc(project, "remote", "modify", "--local", "store", name, value)


def use_remote_of(owner: Project, other: Project) -> None:
    """Use the owner's remote, with its settings, in another clone."""
    shutil.copy2(owner.root / ".dvc/config.local", other.root / ".dvc/config.local")


def clone(project: Project, root: Path) -> Project:
    """A clone on a machine that cannot load a model."""
    project.run("git", "clone", "--quiet", project.root, root)
    shutil.copytree(project.root / "src", root / "src", dirs_exist_ok=True)  # the same files, and the compiled package
    other = Project(root)
    for name in ("torch", "transformers"):
        (root / f"src/{name}.py").write_text("raise ImportError('no model can be loaded here')\n")
    assert not (root / "results" / "pocket").exists() and not list((root / "journal").rglob("*.jsonl"))
    return other


def pull(owner: Project, other: Project) -> None:
    """`dvc pull` brings the data, the journals and the results, bit for bit."""
    dvc(other, "pull")
    assert journals(other) == journals(owner)
    for name in (
        "leaderboard.csv",
        "models/pocket.json",
        "report/index.html",
        "metrics/pocket/humblebench/metrics.parquet",
    ):
        path = Path("results/pocket", name)
        assert (other.root / path).read_bytes() == (owner.root / path).read_bytes()
    for step in ("raw", "questions"):
        pulled, ours = (project.made(f"data/pocket/{step}/humblebench") for project in (other, owner))
        assert pulled.keys() == {path for path in ours if not path.endswith(".snakemake_timestamp")} != set()


def test_a_clone_computes_the_numbers_without_inference(finished, tmp_path):
    owner = pushed(finished, tmp_path / "owner", tmp_path / "store")
    other = clone(owner, tmp_path / "clone")
    use_remote_of(owner, other)
    dvc(other, "pull", "results/pocket/models")
    assert "pocket" in dvc(other, "metrics", "show")
    pull(owner, other)
    other.snakemake(NUMBERS)
    assert journals(other) == journals(owner)
    assert replies(other) == replies(owner)
    assert (other.root / NUMBERS).read_bytes() == (owner.root / NUMBERS).read_bytes()
    assert "Nothing to be done" in other.snakemake(NUMBERS)
    assert "up to date" in dvc(other, "status", "--recursive", "data", "journal")
    # Even from the journal alone: the results are not needed.
    shutil.rmtree(other.root / "results")
    other.snakemake("--force", ASKED)
    told = json.loads((other.root / ASKED).read_text(encoding="utf-8"))
    assert (told["newly_asked"], told["turns"]) == (0, 2 * 2 * 5)  # variants, images, questions
    assert journals(other) == journals(owner)
    shutil.rmtree(other.root / "journal")
    assert "no model can be loaded here" in other.snakemake("--force", ASKED, code=None)


# What may not be passed on


@pytest.fixture
def published(untouched: Project, tmp_path: Path) -> Project:
    """A repository with replies and with data of the full edition that may not be redistributed."""
    project = untouched.twin(tmp_path / "published")
    for folder in ("raw", "questions"):
        for benchmark in ("humblebench", "mmsap", "actiview"):
            path = project.root / "data/full" / folder / benchmark
            path.mkdir(parents=True)
            (path / "questions.json").write_bytes(UNLICENSED + benchmark.encode())
    journal = project.root / "journal/qwen2.5-vl-7b"
    journal.mkdir(parents=True)
    (journal / "humblebench.jsonl").write_text("replies\n")
    return project


def stored(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_data_that_may_not_be_redistributed_are_not_pushed(published, tmp_path):
    said = published.run("known-unknowns", "data", "pin", "--edition", "full").stdout
    assert "data/full/raw/actiview.dvc  hash only: no licence is granted" in said
    assert "journal/qwen2.5-vl-7b.dvc  shared by dvc push" in said
    meta = yaml.safe_load((published.root / "data/full/questions/humblebench.dvc").read_text())["meta"]
    assert "arXiv:2509.09658" in meta["cite"] and meta["redistribute"] is False
    meta = yaml.safe_load((published.root / "journal/qwen2.5-vl-7b.dvc").read_text())["meta"]
    assert meta["model"] == "Qwen/Qwen2.5-VL-7B-Instruct" and meta["licence of the model"] == "Apache-2.0"
    published.commit("pinned")
    use_remote(published, tmp_path / "store")
    dvc(published, "push")
    assert UNLICENSED not in stored(tmp_path / "store") + stored(published.root / ".dvc/cache")
    assert b"replies\n" in stored(tmp_path / "store")

    other = clone(published, tmp_path / "clone")
    use_remote_of(published, other)
    dvc(other, "pull", "--recursive", "data/full", "journal")
    assert (other.root / "journal/qwen2.5-vl-7b/humblebench.jsonl").read_text() == "replies\n"
    assert not (other.root / "data/full/raw/actiview").exists()
    # Who fetches the same data has them checked against the pin.
    for folder in ("raw", "questions"):
        shutil.copytree(published.root / "data/full" / folder, other.root / "data/full" / folder, dirs_exist_ok=True)
    assert "up to date" in dvc(other, "status", "--recursive", "data/full")
    (other.root / "data/full/raw/actiview/questions.json").write_bytes(b"others")
    assert "modified:" in dvc(other, "status", "--recursive", "data/full")


def test_the_user_may_allow_and_disallow_redistribution(published, tmp_path):
    said = published.run(
        "known-unknowns", "data", "pin", "--edition", "full", "--redistribute", "activiev", code=2
    ).stdout
    assert "--redistribute: 'activiev' is not known; did you mean 'actiview'" in said
    use_remote(published, tmp_path / "store")
    said = published.run("known-unknowns", "data", "pin", "--edition", "full", "--redistribute", "actiview").stdout
    assert "data/full/raw/actiview.dvc  shared by dvc push" in said
    assert "data/full/raw/mmsap.dvc  hash only" in said
    dvc(published, "push")
    kept = stored(tmp_path / "store")
    assert UNLICENSED + b"actiview" in kept
    assert UNLICENSED + b"mmsap" not in kept and UNLICENSED + b"humblebench" not in kept
    pin = yaml.safe_load((published.root / "data/full/raw/actiview.dvc").read_text())
    assert pin["meta"]["redistribute"] is True and "the user allowed it when pinning" in pin["meta"]["why"]

    published.run("known-unknowns", "data", "pin", "--edition", "full")
    shutil.rmtree(tmp_path / "store")
    dvc(published, "push")
    assert UNLICENSED not in stored(tmp_path / "store")
