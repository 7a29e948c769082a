"""A construction from scenes to its release: files, counts, review, and the benchmark's own check and loader."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from known_unknowns.benchmark import registry
from known_unknowns.config import FolderData
from known_unknowns.data import pinning
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.workflow import configuration
from known_unknowns_construction import release as releasing
from known_unknowns_construction import steps
from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.release import release
from known_unknowns_construction.review.decisions import DECISION, Content, Decision, content_of, decision_line
from tests.factories import params_from
from tests.paths import ROOT


def workspace(root: Path, **changes) -> steps.Workspace:
    raw = configuration.load(ROOT / "params.yaml").file.plain()
    raw["construction"]["small"] = {
        "benchmark": "humblebench",
        "scenes": {"seed": 5, "images": 3},
        "generators": {"scenes": {"questions": 4}},
        "filters": {"without": ["balance"]},
    } | changes
    return steps.Workspace(params_from(raw), "small", root)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    made = workspace(tmp_path_factory.mktemp("project"))
    assert steps.import_graphs(made) == 3
    assert steps.generate(made, "scenes")["candidates"] == 12
    assert steps.filter_candidates(made)["kept"] == 12
    return made


@pytest.fixture(scope="module")
def candidate_release(work):
    return release(work)


def test_the_release_passes_the_check_and_the_loader(candidate_release, tmp_path):
    """The entry in the release's params.yaml makes it an edition of its own."""
    out, _ = candidate_release
    entry = yaml.safe_load((out / "params.yaml").read_text())
    data = entry["benchmarks"]["humblebench"]["data"]["constructed-small"]
    assert data == {"source": "folder", "path": "construction/small/release_candidate/data"}
    assert entry["editions"]["constructed-small"]["benchmarks"] == ["humblebench"]
    benchmark = registry.get("humblebench")
    quantities, findings = benchmark.check(out / "data", settings=FolderData(**data))
    assert not findings
    assert [q.name for q in quantities if q.expected is not None] == ["question types"]
    questions = list(benchmark.load(out / "data", tmp_path, settings=FolderData(**data)))
    assert len(questions) == 12 and len({question.group for question in questions}) == 3


def test_the_metadata_describes_the_files(candidate_release):
    """mlcroissant 1.1.1 read the records of such a file; here its digests, columns and references are checked."""
    out, _ = candidate_release
    metadata = json.loads((out / "croissant.json").read_text())
    (file,) = metadata["distribution"]
    data = (out / file["contentUrl"]).read_bytes()
    assert file["sha256"] == sha256(data).hexdigest() and file["contentSize"] == f"{len(data)} B"
    (records,) = metadata["recordSet"]
    columns = pq.read_schema(out / file["contentUrl"]).names
    assert {field["source"]["extract"]["column"] for field in records["field"]} < set(columns)
    assert {field["source"]["fileObject"]["@id"] for field in records["field"]} == {file["@id"]}
    assert metadata["license"] == ["MIT"] and metadata["conformsTo"].endswith("croissant/1.0")
    assert "Not reviewed" in metadata["description"]


def test_the_datasheet_says_that_nobody_has_reviewed_it(candidate_release):
    out, _ = candidate_release
    text = (out / "README.md").read_text()
    assert "**Not reviewed.**" in text and "| kept by reviewers | not reviewed |  |" in text
    assert "| scenes | none | not stated | none | 12 |" in text
    assert "- The filter solvable did not run: it needs models." in text


def decide(work, folder: Path, reviewer: str, actions) -> Path:
    """Write a decision file: the action of each candidate, in order."""
    path = folder / f"{reviewer}.jsonl"
    lines = []
    for number, (candidate, action) in enumerate(zip(read_candidates(work.filtered), actions, strict=False)):
        content = content_of(candidate)
        other = "ABCDE"[(candidate.answer_index + 1) % 5]
        after = Content(f"{content.question} Now?", content.labels, content.options, other)
        lines.append(
            decision_line(
                Decision(
                    key=f"{reviewer}-{number}",
                    item=candidate.id,
                    sha256=content.sha256,
                    reviewer=reviewer,
                    time="2026-01-01T00:00:00+00:00",
                    action=action,
                    after=after if action == "modify" else None,
                )
            )
        )
    path.write_bytes(b"".join(lines))
    return path


def test_reviewed_questions_are_kept_modified_or_deleted(work, tmp_path):
    first = decide(work, tmp_path, "first", ["keep"] * 7 + ["modify"] * 2 + ["delete"] * 3)
    second = decide(work, tmp_path, "second", ["keep"] * 7 + ["modify"] * 2 + ["delete"] * 2 + ["keep"])
    with pytest.raises(ConfigError, match="0 questions have no decision and 1 are disputed"):
        release(work, [first, second], required=2)
    out, counts = release(work, [first, second], required=2, partial=True)
    assert {name: counts["review"][name] for name in ("initial", "kept", "modified", "deleted", "disputed")} == {
        **{"initial": 12, "kept": 7, "modified": 2, "deleted": 2, "disputed": 1}
    }
    assert counts["questions"] == 9
    alpha = [row for row in counts["agreement"] if row["coefficient"] == "Krippendorff's alpha"]
    assert alpha and all(row["n"] == 12 for row in alpha)
    text = (out / "README.md").read_text()
    assert "| kept by reviewers | 7 | 58.33% |" in text and "| modified by reviewers | 2 | 16.67% |" in text
    released = list(read_candidates(out / "questions.jsonl"))
    modified = [candidate for candidate in released if "original" in candidate.source]
    assert len(modified) == 2 and all(candidate.question.endswith("Now?") for candidate in modified)


def test_a_reviewed_question_of_another_form_is_refused(work, tmp_path):
    """The reviewer edits the refusal of the first question."""
    edited = decide(work, tmp_path, "first", ["modify", *["keep"] * 11])
    line = json.loads(edited.read_bytes().splitlines()[0])
    line["after"]["options"][4] = "None of these"
    del line["crc32"]
    changed = decision_line(DECISION.validate_python(line))
    edited.write_bytes(changed + b"".join(edited.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(DataError, match=r"1 of 12 questions do not .*scenes-\w+-0: the last option is 'None of these'"):
        release(work, [edited])


def test_a_review_that_is_not_finished_is_refused(work, tmp_path):
    some = decide(work, tmp_path, "first", ["keep"] * 5)
    with pytest.raises(ConfigError, match="7 questions have no decision and 0 are disputed"):
        release(work, [some])
    none = decide(work, tmp_path, "third", ["delete"] * 12)
    with pytest.raises(DataError, match="no question is left to release"):
        release(work, [none])


@pytest.mark.parametrize(("licence", "cached"), [("MIT", True), ("not known", False)])
def test_the_release_is_pinned_by_hash_only_without_a_licence(work, monkeypatch, licence, cached):
    out, _ = release(work)
    counts = json.loads((out / "counts.json").read_text()) | {"image_licences": {licence: 12}}
    (out / "counts.json").write_text(json.dumps(counts))
    called = []
    (work.root / ".dvc").mkdir(exist_ok=True)
    monkeypatch.setattr(pinning, "_dvc", lambda *arguments, root: called.append(arguments))
    path = releasing.pin(work, out)
    path_entry = yaml.safe_load(path.read_text())
    assert ("cache" not in path_entry["outs"][0]) is cached
    assert path_entry["meta"]["reviewed"] is False and called == [("add", out.relative_to(work.root))]
    path.unlink()


def test_a_missing_step_is_named_with_its_command(tmp_path):
    missing = workspace(tmp_path, attributes="uniform")
    for run, step in (
        (steps.describe, "graphs small"),
        (lambda work: steps.generate(work, "scenes"), "attributes small"),
        (steps.filter_candidates, "generate small scenes"),
        (release, "attributes small"),
    ):
        with pytest.raises(DataError, match=f"not made yet; run  known-unknowns construct {step}$"):
            run(missing)
