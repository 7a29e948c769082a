"""The construction of a benchmark by the real Snakemake: from rendered scenes to a reviewed release."""

from __future__ import annotations

import json
from typing import Any

import pytest

from known_unknowns import json_files
from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.review.decisions import Decision, DecisionLog, content_of
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TARGET = "construction/pocket/release_candidate"
IMAGES = 3
UNCHANGED = ("construct graphs", "construct attributes", "construct generate")


def small(params: dict[str, Any]) -> None:
    entry = params["construction"]["pocket"]
    entry["scenes"]["images"] = IMAGES
    entry["generators"]["scenes"]["questions"] = 2
    entry["filters"] = {"models": ["always_a"]}


@pytest.fixture(scope="module")
def built(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A project with a release candidate, and the output of the run."""
    project = untouched.twin(tmp_path_factory.mktemp("construct") / "project")
    project.change_params(small)
    return project, project.snakemake(TARGET)


def test_every_candidate_is_released_or_dropped_with_a_reason(built):
    project, _ = built
    folder = project.root / "construction/pocket"
    graphs = (folder / "described.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(graphs) == IMAGES
    assert json_files.read(folder / "attributes.json")["failed"] == 0
    generated = [list(read_candidates(folder / f"candidates.{name}.jsonl")) for name in ("scenes", "figure_a1")]
    assert len(generated[0]) == 2 * IMAGES and generated[1]
    kept = list(read_candidates(folder / "filtered.jsonl"))
    dropped = [json.loads(line) for line in (folder / "dropped.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(kept) + len(dropped) == sum(map(len, generated))
    counts = json_files.read(folder / "release_candidate/counts.json")
    assert counts["questions"] == len(kept) == sum(counts["by_generator"].values())
    assert counts["by_generator"]["scenes"] == 2 * IMAGES  # templates are exact on their scenes


def test_the_run_ends_with_the_commands_of_the_review_and_the_release(built):
    _, printed = built
    assert "Review     known-unknowns review start construction/pocket/filtered.jsonl" in printed
    assert "Release    known-unknowns construct release pocket --decisions" in printed


def test_only_changed_steps_run_again(built):
    project, _ = built
    plan = project.snakemake(
        TARGET, "--dry-run", "--config", "construction={pocket: {filters: {models: [always_a], without: [balance]}}}"
    )
    assert "construct filter" in plan and "construct release" in plan
    assert not [step for step in UNCHANGED if step in plan]


def test_a_reviewed_release_has_what_the_reviewer_kept(built):
    project, _ = built
    folder = project.root / "construction/pocket"
    candidates = list(read_candidates(folder / "filtered.jsonl"))
    decisions = folder / "filtered.decisions.jsonl"
    with DecisionLog(decisions) as log:
        for number, candidate in enumerate(candidates):
            action, reason = ("delete", "the answer is wrong") if number == 0 else ("keep", "")
            content = content_of(candidate).sha256
            log.append(
                Decision(str(number), candidate.id, content, "ann", "2026-01-01T00:00:00.000Z", action, reason=reason)
            )
    project.run("known-unknowns", "construct", "release", "pocket", "--decisions", decisions)
    counts = json_files.read(folder / "release/counts.json")
    assert counts["questions"] == len(candidates) - 1
    assert "Not reviewed" not in (folder / "release/README.md").read_text(encoding="utf-8")
    assert (
        candidates[0].question
        not in [
            json.loads(line)["question"]
            for line in (folder / "release/questions.jsonl").read_text("utf-8").splitlines()
        ]
        or [c.question for c in candidates].count(candidates[0].question) > 1
    )
