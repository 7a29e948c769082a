"""Release constructed questions: the published files, a datasheet, Croissant metadata and an entry for params.yaml.

The folder is construction/<name>/release, or release_candidate if nobody has reviewed the questions.

| file                                 | content                                                                     |
|--------------------------------------|-----------------------------------------------------------------------------|
| `data/`                              | the questions in the benchmark's published format                           |
| `README.md`                          | the datasheet                                                               |
| `croissant.json`                     | the metadata in Croissant 1.0 (https://mlcommons.org/croissant/1.0)         |
| `counts.json`                        | every count of the datasheet                                                |
| `questions.jsonl`                    | the questions as candidates: their source, objects, flags, and edited texts |
| `params.yaml`                        | the edition and the data entry to copy into params.yaml                     |
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.data.pinning import Pin, pin_folder
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.files import write_text
from known_unknowns.run_command import run_command
from known_unknowns.version import __version__
from known_unknowns_construction.candidates import Candidate, read_candidates
from known_unknowns_construction.datasheet import datasheet
from known_unknowns_construction.filters import Context
from known_unknowns_construction.filters.texts import broken_schema
from known_unknowns_construction.generation import sorted_counts
from known_unknowns_construction.interface import Construction
from known_unknowns_construction.jsonl import write_records
from known_unknowns_construction.review.agreement import agreement
from known_unknowns_construction.review.decisions import apply_decisions, content_of, read_decisions, standing
from known_unknowns_construction.steps import Workspace

CROISSANT = "http://mlcommons.org/croissant/1.0"
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class ReviewedCandidates:
    """The questions to release, and the counts of their review: None if nobody reviewed them."""

    questions: list[Candidate]
    counts: Mapping[str, int] | None
    agreement: list[Mapping[str, Any]]


def release(
    work: Workspace, decisions: Sequence[Path] = (), *, required: int = 1, partial: bool = False
) -> tuple[Path, Mapping[str, Any]]:
    """Write the release of a construction, and return its folder and the counts.

    Without ``decisions``, files of the review, it is a candidate that nobody has reviewed. Every question needs
    ``required`` reviewers; with ``partial``, questions without a decision are left out.

    Raises ConfigError if the benchmark has no published format or the review is not finished, and DataError if no
    question is left or one does not have the benchmark's form, for example because a reviewer edited the refusal.
    """
    part = work.construction
    if part.write is None:
        raise ConfigError(
            f"this benchmark's format is not written; review the questions in {work.filtered}, then run  "
            "known-unknowns review apply",
            path=f"construction.{work.name}.benchmark",
        )
    place = {graph.id: number for number, graph in enumerate(work.read_graphs())}
    found = _reviewed(work, decisions, required=required, partial=partial)
    if not found.questions:
        raise DataError("no question is left to release", file=work.filtered)
    _check_form(found.questions, part, work.filtered)
    found.questions.sort(key=lambda candidate: place.get(candidate.group, len(place)))  # by image
    out = work.folder / ("release" if decisions else "release_candidate")
    written = part.write(found.questions, folder=work.folder, out=out / "data")
    write_records(out / "questions.jsonl", found.questions)
    counts = counts_of(work, found, part)
    write_text(out / "counts.json", _json(counts))
    write_text(out / "croissant.json", _json(croissant(work, part, counts, written, out)))
    write_text(out / "README.md", datasheet(work.name, work.benchmark.title, counts, part))
    write_text(out / "params.yaml", _params_entry(work, out))
    return out, counts


def _check_form(questions: Sequence[Candidate], part: Construction, file: Path) -> None:
    context = Context(options=part.options, refusal=part.refusal, kinds=frozenset(part.kinds))
    problems = list(broken_schema(questions, context))
    if problems:
        name, why = problems[0]
        raise DataError(
            f"{len(problems):,} of {len(questions):,} questions do not have the benchmark's form; the first is {name}: "
            f"{why}. Review them again",
            file=file,
        )


def counts_of(work: Workspace, found: ReviewedCandidates, part: Construction) -> dict[str, Any]:
    """Return every number of the datasheet. ``review`` is None if nobody reviewed the questions."""
    questions = found.questions
    generation = {name: _read(work.folder / f"generation.{name}.json") for name in work.entry.generators}
    attributes = work.folder / "attributes.json"
    return {
        "name": work.name,
        "benchmark": work.benchmark.title,
        "questions": len(questions),
        "images": len({candidate.image.sha256 for candidate in questions}),
        "by_type": sorted_counts(part.kinds.get(candidate.kind, candidate.kind) for candidate in questions),
        "by_label": sorted_counts(candidate.answer for candidate in questions),
        "by_generator": sorted_counts(str(candidate.source.get("generator")) for candidate in questions),
        "generation": {name: _without(values, "rejections") for name, values in generation.items()},
        "generated": sum(values["candidates"] for values in generation.values()),
        "filters": _read(work.folder / "filters.json"),
        "review": found.counts,
        "agreement": found.agreement,
        "models": _models(questions),
        "attributes": _read(attributes) if work.entry.attributes and attributes.is_file() else None,
        "image_licences": sorted_counts(candidate.image.licence or UNKNOWN for candidate in questions),
        "source": work.entry.psg.plain()
        if work.entry.psg
        else {"scenes": work.entry.scenes and work.entry.scenes.plain()},
        "source_images": sum(1 for _ in work.read_graphs()),
        "version": __version__,
    }


def croissant(
    work: Workspace, part: Construction, counts: Mapping[str, Any], written: Sequence[Path], out: Path
) -> dict[str, Any]:
    """Return the metadata of the release as Croissant 1.0."""
    distribution = [
        {
            "@type": "cr:FileObject",
            "@id": path.relative_to(out).as_posix(),
            "name": path.name,
            "contentUrl": path.relative_to(out).as_posix(),
            "encodingFormat": "application/x-parquet",
            "contentSize": f"{path.stat().st_size} B",
            "sha256": sha256(path.read_bytes()).hexdigest(),
        }
        for path in written
    ]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"questions/{column.name}",
            "name": column.name,
            "description": column.description,
            "dataType": column.data_type,
            "source": {"fileObject": {"@id": distribution[0]["@id"]}, "extract": {"column": column.name}},
        }
        for column in part.columns
    ]
    licences = [name for name in counts["image_licences"] if name != UNKNOWN]
    return {
        "@context": json.loads(files(__package__).joinpath("croissant_context.json").read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "name": f"{work.name}-{work.entry.benchmark}",
        "description": (
            f"{counts['questions']} multiple-choice questions about {counts['images']} images in the format of "
            f"{counts['benchmark']}, constructed from scene graphs. "
            + ("Reviewed by people." if counts["review"] else "Not reviewed: a release candidate.")
        ),
        "version": "1.0.0" if counts["review"] else "0.1.0",
        "license": licences or [UNKNOWN],
        "isLiveDataset": False,
        "citeAs": f"{work.name}: questions constructed with Known Unknowns {__version__}",
        "distribution": distribution,
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "questions",
                "name": "questions",
                "key": {"@id": f"questions/{part.columns[0].name}"} if part.columns else None,
                "field": fields,
            }
        ],
    }


def pin(work: Workspace, out: Path) -> Path:
    """Pin the release with DVC, and return the .dvc file. Images without a known licence are pinned by hash only."""
    counts = _read(out / "counts.json")
    shared = UNKNOWN not in counts["image_licences"]
    meta = {
        "title": f"{counts['benchmark']}: {counts['questions']} constructed questions ({work.name})",
        "licence of the images": ", ".join(counts["image_licences"]),
        "reviewed": counts["review"] is not None,
    }
    return pin_folder(Pin(out, shared, meta), root=work.root)


def _reviewed(work: Workspace, decisions: Sequence[Path], *, required: int, partial: bool) -> ReviewedCandidates:
    candidates = list(read_candidates(work.made(work.filtered, "filter")))
    if not decisions:
        return ReviewedCandidates(candidates, None, [])
    made = read_decisions(decisions)
    applied = apply_decisions(candidates, made, required=required)
    counts = dict(applied.counts)
    if waiting := counts["pending"] + counts["disputed"]:
        if not partial:
            raise ConfigError(
                f"{counts['pending']} questions have no decision and {counts['disputed']} are disputed; finish the "
                "review, or leave them out with --partial",
                path="--decisions",
            )
        counts["left_out"] = waiting
    rows = agreement(
        {candidate.id: content_of(candidate) for candidate in candidates},
        {candidate.id: candidate.group for candidate in candidates},
        standing(made),
        confidence=work.params.statistics.confidence,
    )
    return ReviewedCandidates(list(applied.final), counts, [asdict(row) for row in rows])


def _models(questions: Iterable[Candidate]) -> list[dict[str, Any]]:
    """Return each generator with its model, the model's revision and the digest of the prompt."""
    names = ("generator", "model", "revision", "prompt")
    found = Counter(tuple(candidate.source.get(name) for name in names) for candidate in questions)
    rows = [dict(zip(names, key, strict=True)) | {"questions": count} for key, count in found.items()]
    return sorted(rows, key=lambda row: str(row["generator"]))


def _params_entry(work: Workspace, out: Path) -> str:
    """Return the edition and the data entry as text for params.yaml."""
    benchmark, edition = work.entry.benchmark, f"constructed-{work.name}"
    values = {
        "editions": {edition: {"benchmarks": [benchmark], "models": ["oracle", "always_refuse"], "seeds": [0]}},
        "benchmarks": {
            benchmark: {
                "data": {edition: {"source": "folder", "path": (out / "data").relative_to(work.root).as_posix()}}
            }
        },
    }
    head = f"# Add these keys to params.yaml, then: {run_command(edition)}\n"
    return head + yaml.safe_dump(values, sort_keys=False)


def _without(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the counts of an earlier step: {error}; run it again", file=path) from error


def _json(values: Any) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
