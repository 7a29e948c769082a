"""Changed settings, code and files: a run gives the results of a fresh one, and makes nothing else again."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from known_unknowns import json_files, tables
from known_unknowns.records import Cell
from tests.cells import read_replies
from tests.workflow.project import Project, reduce

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TARGETS = ["results/pocket/metrics.json", "results/pocket/checks/multiple_choice.json"]
QUESTIONS = """set,question,A,B,C,answer
old,Which planet has the most moons?,Mars,Saturn,None of the above,B
old,How many legs has a spider?,Six,Ten,None of the above,C
new,What is the square root of nine?,Two,Three,None of the above,B
"""
REPLIES = "results/pocket/replies/uniform/humblebench/replies.parquet"
METRICS = "results/pocket/metrics/uniform/{}/metrics.parquet"
VARIANTS = ["original", "noise"]
DONE = "Nothing to be done"
CHANGES = {
    "the source of rendered data, and the rows of one's own": {
        "benchmarks.humblebench.data.pocket.seed": 2,
        "benchmarks.multiple_choice.data.pocket.only.set": "new",
    },
    "an argument of a variant, and a model": {"variants.noise.noise_seed": 1, "models.uniform.behaviour": "always_a"},
    "the limit": {"editions.pocket.limit": 1},
    # The protocol of one of the benchmarks asks again after a refusal, which the parsers decide.
    "parsers": {"parsers": ["official"]},
    "the confidence of intervals": {"statistics.confidence": 0.9},
}


def configure(params: dict[str, Any]) -> None:
    reduce(params, models=["uniform"], variants=VARIANTS, images=2, tracking=False)
    params["models"]["uniform"].pop("shards")
    params["editions"]["pocket"]["benchmarks"] += ["multiple_choice"]
    own = params["benchmarks"]["multiple_choice"]
    own |= {"variants": ["original"], "seeds": {}}
    own["data"]["pocket"] = {"source": "folder", "path": "my_data", "without_image": True, "only": {"set": "old"}}


@pytest.fixture(scope="module")
def two_benchmarks(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the results of two benchmarks, one with questions of one's own."""
    project = untouched.twin(tmp_path_factory.mktemp("changed_settings") / "project")
    (project.root / "my_data").mkdir()
    (project.root / "my_data/questions.csv").write_text(QUESTIONS)
    project.change_params(configure)
    project.snakemake(*TARGETS)
    return project


def change(keys: dict[str, Any], params: dict[str, Any]) -> None:
    for path, value in keys.items():
        *above, last = path.split(".")
        entry = params
        for key in above:
            entry = entry[key]
        entry[last] = value


def content(root: Path) -> dict[str, Any]:
    """The values of all tables and checks, and the bytes of all images."""
    found: dict[str, Any] = {}
    for path in sorted([*(root / "data").rglob("*"), *(root / "results").rglob("*")]):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".parquet":
            found[name] = pq.read_table(path).to_pylist()
        elif path.suffix == ".png":
            found[name] = path.read_bytes()
        elif path.parent.name == "checks":
            found[name] = json_files.read(path)
    return found


@pytest.mark.parametrize("kind", CHANGES)
def test_a_run_after_a_change_gives_the_results_of_a_fresh_one(
    two_benchmarks: Project, tmp_path: Path, kind: str
) -> None:
    keys = CHANGES[kind]
    project = two_benchmarks.twin(tmp_path / "project")
    project.change_params(partial(change, keys))
    before = content(project.root)
    project.snakemake(*TARGETS)
    fresh = two_benchmarks.twin(tmp_path / "fresh")
    fresh.change_params(partial(change, keys))
    for folder in (".snakemake", "data", "results", "journal"):
        shutil.rmtree(fresh.root / folder)
    fresh.snakemake(*TARGETS)
    assert content(project.root) == content(fresh.root) != before
    assert DONE in project.snakemake(*TARGETS)


def test_a_new_seed_takes_the_other_replies_from_the_journal(two_benchmarks: Project, tmp_path: Path) -> None:
    project = two_benchmarks.twin(tmp_path / "project")
    journal, replies = (project.root / path for path in ("journal/uniform/humblebench.jsonl", REPLIES))
    kept = journal.read_bytes()
    old = {variant: read_replies(replies, variant) for variant in VARIANTS}
    project.change_params(lambda params: params["editions"]["pocket"]["seeds"].append(1))
    project.snakemake(REPLIES)
    assert journal.read_bytes().startswith(kept)
    assert tables.cells_in(replies) == [Cell(variant, seed) for variant in VARIANTS for seed in (0, 1)]
    assert {variant: read_replies(replies, variant) for variant in VARIANTS} == old


def test_variants_of_one_benchmark_rerun_nothing_of_the_other(two_benchmarks: Project, tmp_path: Path) -> None:
    project = two_benchmarks.twin(tmp_path / "project")
    project.change_params(lambda params: params["benchmarks"]["humblebench"]["variants"].append("blank"))
    project.snakemake(METRICS.format("humblebench"))
    assert DONE in project.snakemake(METRICS.format("multiple_choice"))


def test_a_comment_in_the_code_reruns_nothing_and_another_statement_its_step(
    two_benchmarks: Project, tmp_path: Path
) -> None:
    project = two_benchmarks.twin(tmp_path / "project")
    for file in (project.root / "src").rglob("*.py"):
        file.write_text(f"{file.read_text(encoding='utf-8')}\n# Edited.\n", encoding="utf-8")
    (project.root / "src/known_unknowns_benchmarks/humblebench/README.md").write_text("Edited.")
    assert DONE in project.snakemake(*TARGETS)
    intervals = project.root / "src/known_unknowns/metrics/intervals.py"
    intervals.write_text(f"{intervals.read_text(encoding='utf-8')}\n_EDITED = 1\n", encoding="utf-8")
    assert planned(project) == {"measure", "summarise"}
    parser = project.root / "src/known_unknowns/scoring/official.py"
    parser.write_text(f"{parser.read_text(encoding='utf-8')}\n_EDITED = 1\n", encoding="utf-8")
    # What a protocol asks next can depend on a parser: the replies are gone through, from the journal.
    assert planned(project) == {"infer", "parse", "measure", "summarise"}


def planned(project: Project) -> set[str]:
    """The rules that a run would run."""
    text = project.snakemake("--dry-run", *TARGETS)
    return set(re.findall(r"^ *(\w+) +\d+ *$", text, re.MULTILINE)) - {"total"}


def test_a_moved_folder_of_weights_and_another_name_of_the_edition_ask_nothing(
    reproduced: Project, tmp_path: Path
) -> None:
    project = reproduced.twin(tmp_path / "project")
    replies = "results/{}/replies/pocket/humblebench/replies.parquet"
    given = (project.root / replies.format("pocket")).read_bytes()
    moved = shutil.move(project.root / "models/pocket", tmp_path / "moved")

    def rename(params: dict[str, Any]) -> None:
        params["models"]["pocket"]["source"] = str(moved)
        params["editions"]["renamed"] = params["editions"]["pocket"] | {"data": "pocket"}

    project.change_params(rename)
    project.snakemake(replies.format("renamed"), "--config", "edition=renamed")
    record = json_files.read(project.root / "results/renamed/replies/pocket/humblebench/engine.json")
    assert record["newly_asked"] == 0
    assert (project.root / replies.format("renamed")).read_bytes() == given


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("results/pocket/replies/oracle/humblebench/engine.json", "infer"),
        ("data/pocket/questions/humblebench/images", "questions"),
        ("results/pocket/report/benchmark-humblebench.html", "report"),
        ("results/pocket/report/questions", "question browser"),
        ("results/pocket/digests/compare.sha256", "compare"),
    ],
)
def test_what_was_deleted_is_made_again(rerun: Project, tmp_path: Path, path: str, rule: str) -> None:
    """Only planned: the test of a run in whole says that rules write their outputs."""
    (rerun.root / path).rename(tmp_path / "aside")
    assert re.search(rf"^ {rule} +1 *$", rerun.snakemake("--dry-run"), re.MULTILINE)


def test_removed_models_leave_no_row(rerun: Project) -> None:
    """Their replies, answers and metrics stay, for when they are back; nothing of the edition reads them."""
    root = rerun.root / "results/pocket"
    rerun.change_params(lambda params: params["editions"]["pocket"].update(models=["oracle"]))
    rerun.snakemake()
    per_model = ("replies", "answers", "metrics", "probe", "logs", "benchmarks", "run.yaml", "params.yaml")
    files = [path for path in root.rglob("*") if path.relative_to(root).parts[0] not in per_model]
    assert not [path for path in files if "always_a" in path.name]
    assert not [path for path in files if path.is_file() and "always_a" in text_of(path)]
    rerun.run("known-unknowns", "export", "always_a", "humblebench", code=2)
    assert DONE in rerun.snakemake()


def text_of(path: Path) -> str:
    """The rows of a table, or the text of another file."""
    if path.suffix == ".parquet":
        return str(pq.read_table(path).to_pylist())
    return path.read_bytes().decode("utf-8", errors="replace")


def test_another_edition_with_the_same_data_makes_its_own_results(rerun: Project) -> None:
    edition = {"data": "pocket", "benchmarks": ["humblebench"], "models": ["oracle"], "seeds": [1]}
    rerun.change_params(lambda params: params["editions"].update(other=edition))
    assert DONE in rerun.snakemake()
    rerun.snakemake("results/other/metrics/oracle/humblebench/metrics.parquet", "--config", "edition=other")
    assert DONE in rerun.snakemake()
    for name, seed in (("pocket", 0), ("other", 1)):
        rows = tables.read_metrics(rerun.root / f"results/{name}/metrics/oracle/humblebench/metrics.parquet")
        assert {row.seed for row in rows if row.variant == "noise" and row.seed is not None} == {seed}
