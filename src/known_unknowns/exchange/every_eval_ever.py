"""Results in the schema of Every Eval Ever [1]_: the numbers of a model on a benchmark, and every reply.

The files are in the folders of its datastore: ``data/<benchmark>/<developer>/<model>/<uuid>.json``, and
``<uuid>_samples.jsonl`` beside it. The schema is in the package every-eval-ever (MIT licence).

References
----------
.. [1] Batzner et al., "Every Eval Ever: A Unifying Schema and Community Repository for AI Evaluation Results", 2026,
   arXiv:2606.14516.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.config import HubData, ImportedModel, ModelEntry, OpenAIModel, Params, TransformersModel
from known_unknowns.config.locked_commits import is_folder_pin
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import DataError
from known_unknowns.files import write_text
from known_unknowns.metrics.dual import DUAL
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.metrics.summary import main_parser, shows
from known_unknowns.records import FAILED, OVERALL, AnsweredTurn, Metric, Question
from known_unknowns.scoring.dialogues import final_answers, read_turns
from known_unknowns.tables import Part, read_answers
from known_unknowns.variants.of_benchmark import content_free
from known_unknowns.version import __version__

NAME, SCHEMA_VERSION = "every_eval_ever", "0.3.0"
METRICS = ("accuracy", DUAL, *RECOGNISED)
UNDESIRABLE = ("share_abstained", "share_unparsed", "share_cut", "share_failed")
"""Metrics of all benchmarks that are exported, besides the headline metrics of a benchmark; a low share is better."""
_ARGUMENTS = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_new_tokens": "max_tokens"}


def write(params: Params, model: str, benchmark: str, out: Path, *, root: Path = Path()) -> list[Path]:
    """Write the results of a model on a benchmark and every reply, and return both files.

    The folder ``out`` gets the folder ``data``. ``root`` is the project's folder.
    """
    files = EditionFiles.of(params, root)
    metrics = [
        metric
        for metric in tables.read_metrics(files.metrics(model, benchmark))
        if metric.category == OVERALL and metric.seed is not None
    ]
    parser = main_parser(dict.fromkeys(metric.parser for metric in metrics))
    info = _model_info(params.model(model), model)
    made = str(int(files.metrics(model, benchmark).stat().st_mtime))
    log: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{benchmark}/{info['id']}/{params.edition}/{made}",
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": f"known-unknowns, edition {params.edition}",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "known-unknowns", "version": __version__},
        "model_info": info,
        "evaluation_results": list(_results(params, benchmark, metrics, parser, _arguments(files, model, benchmark))),
    }
    name = str(UUID(bytes=sha256(log["evaluation_id"].encode()).digest()[:16], version=4))
    developer, _, rest = info["id"].partition("/")
    folder = Path("data", benchmark, developer, rest.replace("/", "_"))
    aggregate, samples = out / folder / f"{name}.json", out / folder / f"{name}_samples.jsonl"
    rows = [json.dumps(row, ensure_ascii=False) for row in _samples(params, model, benchmark, files, parser, log)]
    content = "".join(f"{row}\n" for row in rows)
    log["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": (folder / samples.name).as_posix(),
        "hash_algorithm": "sha256",
        "checksum": sha256(content.encode()).hexdigest(),
        "total_rows": len(rows),
    }
    write_text(samples, content)
    write_text(aggregate, json.dumps(log, indent=2, ensure_ascii=False) + "\n")
    return [aggregate, samples]


def _model_info(entry: ModelEntry, name: str) -> dict[str, Any]:
    source, revision = name, ""
    if isinstance(entry, OpenAIModel | TransformersModel):
        source, revision = entry.source, entry.revision or ""
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    identifier = f"local/{name}"
    if isinstance(entry, OpenAIModel):
        identifier = f"{'endpoint' if entry.base_url else 'openai'}/{source}"
    elif not isinstance(entry, ImportedModel):
        details["deployment_type"] = "self_deployed"
        if re.fullmatch(r"[^/]+/[^/]+", source) and not is_folder_pin(revision):
            identifier, details["model_availability"] = source, "open_weights"
    if revision:
        details["revision"] = revision
    if isinstance(entry, TransformersModel):
        details["dtype"] = entry.dtype
    return {
        "name": name,
        "id": re.sub(r'[<>:"\\|?*]', "_", identifier),
        "inference_engine": {"name": entry.engine},
        "additional_details": details,
    }


def _arguments(files: EditionFiles, model: str, benchmark: str) -> dict[str, Any]:
    """Return the settings of decoding that the schema has."""
    record = files.engine(model, benchmark)
    facts = json.loads(record.read_text(encoding="utf-8"))["facts"] if record.is_file() else {}
    decoding = facts.get("decoding") or {}
    found = {
        theirs: decoding[ours] for ours, theirs in _ARGUMENTS.items() if isinstance(decoding.get(ours), int | float)
    }
    return {"temperature": 0.0} | found if decoding.get("do_sample") is False else found


def _results(
    params: Params, benchmark: str, metrics: Sequence[Metric], parser: str, arguments: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    declared, without_content = registry.get(benchmark), content_free(params, benchmark)
    chosen = {*METRICS, *UNDESIRABLE, *declared.metrics().headline}
    chosen |= {number.metric for number in declared.headline if not number.lower_is_better}
    for metric in metrics:
        if not shows(metric, without_content) and metric.name not in UNDESIRABLE:
            continue
        if metric.name not in chosen or metric.value is None or metric.parser not in (parser, "official"):
            continue
        if not 0 <= metric.value <= 1:
            continue  # no share
        uncertainty: dict[str, Any] = {"num_samples": metric.n}
        if metric.low is not None and metric.high is not None:
            level = params.statistics.confidence
            interval = {"lower": metric.low, "upper": metric.high, "confidence_level": level, "method": metric.method}
            uncertainty["confidence_interval"] = interval
        of_all = metric.name in METRICS or metric.name in UNDESIRABLE
        yield {
            "evaluation_result_id": _result_id(metric.variant, metric.seed, metric.sample, metric.parser, metric.name),
            "evaluation_name": f"{benchmark}.{metric.variant}",
            "source_data": _source(params, benchmark),
            "metric_config": {
                "metric_id": metric.name if metric.name == "accuracy" else f"known_unknowns.{metric.name}",
                "metric_name": metric.name.replace("_", " "),
                "metric_kind": metric.name if of_all else f"{benchmark}.{metric.name}",
                "metric_unit": "proportion",
                "lower_is_better": metric.name in UNDESIRABLE,
                "score_type": "continuous",
                "min_score": 0.0,
                "max_score": 1.0,
                "additional_details": {
                    "parser": metric.parser,
                    "seed": str(metric.seed),
                    "sample": str(metric.sample),
                    "variant": metric.variant,
                },
            },
            "score_details": {"score": metric.value, "uncertainty": uncertainty},
            "generation_config": {"generation_args": arguments},
        }


def _result_id(variant: str, seed: int | None, sample: int | None, parser: str, metric: str) -> str:
    return f"{variant}/{seed}/{sample}/{parser}/{metric}"


def _source(params: Params, benchmark: str) -> dict[str, Any]:
    data, title = params.data(benchmark), registry.get(benchmark).title
    if isinstance(data, HubData):
        details = {"additional_details": {"revision": data.revision}}
        return {"dataset_name": title, "source_type": "hf_dataset", "hf_repo": data.repository, **details}
    if data.source == "git":
        return {"dataset_name": title, "source_type": "url", "url": [data.repository]}
    note = "rendered questions, not the published ones" if data.source == "scenes" else f"source: {data.source}"
    return {"dataset_name": title, "source_type": "other", "additional_details": {"note": note}}


def _samples(
    params: Params, model: str, benchmark: str, files: EditionFiles, parser: str, log: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    results = {result["evaluation_result_id"] for result in log["evaluation_results"]}
    without_accuracy = content_free(params, benchmark)  # the schema requires is_correct, which they have not
    for cell in params.cells(benchmark, model):
        if cell.variant in without_accuracy:
            continue
        result = _result_id(*cell, parser, "accuracy")
        asked = files.asked(benchmark, cell.variant, cell.seed)
        replies, answers = (Part(path(model, benchmark), cell) for path in (files.replies, files.answers))
        pairs = read_turns(asked, replies)
        parsed = read_answers(answers, ["question_id", "parser", "outcome", "label", "correct"])
        parsed = parsed[parsed["parser"] == parser]
        if parsed["question_id"].tolist() != [question.id for question, _ in pairs]:
            raise DataError("not the answers to these questions; delete it and run again", file=answers)
        of_all = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": log["evaluation_id"],
            "model_id": log["model_info"]["id"],
            "evaluation_name": f"{benchmark}.{cell.variant}",
            **({"evaluation_result_id": result} if result in results else {}),
        }
        finals = final_answers(pairs, file=replies)
        for (question, turns), (_, last), answer in zip(pairs, finals, parsed.itertuples(), strict=True):
            yield (
                of_all
                | _sample(question, turns, last, answer)
                | {
                    "metadata": {
                        "category": question.category,
                        "group": question.group,
                        "outcome": answer.outcome,
                        "seed": str(cell.seed),
                        "sample": str(cell.sample),
                        "variant": cell.variant,
                    }
                }
            )


def _sample(question: Question, turns: Sequence[AnsweredTurn], last: AnsweredTurn, answer: Any) -> dict[str, Any]:
    """The record of a question. ``answer`` is its row in the table of answers."""
    reference = [] if question.answer is None else [question.labels[question.answer]]
    content = json.dumps({"raw": question.rendered, "reference": reference}, sort_keys=True, separators=(",", ":"))
    dialogue = len(turns) > 1
    place = 2 * turns.index(last) + 1 if dialogue else 0
    sample: dict[str, Any] = {
        "sample_id": question.id,
        "sample_hash": sha256(content.encode()).hexdigest(),
        "interaction_type": "multi_turn" if dialogue else "single_turn",
        "input": {
            "raw": question.rendered,
            "formatted": last.text,
            "reference": reference,
            "choices": [option.line for option in question.options],
        },
        "answer_attribution": [
            {
                "turn_idx": place,
                "source": f"messages[{place}].content" if dialogue else "output.raw",
                "extracted_value": answer.outcome if pd.isna(answer.label) else answer.label,
                "extraction_method": answer.parser,
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(answer.correct), "is_correct": answer.correct, "num_turns": len(turns)},
        "error": last.reply.error if answer.outcome == FAILED else None,
    }
    if dialogue:
        said = [(role, text) for turn in turns for role, text in (("user", turn.text), ("assistant", turn.reply.text))]
        sample["messages"] = [{"turn_idx": n, "role": role, "content": text} for n, (role, text) in enumerate(said)]
    else:
        sample["output"] = {"raw": [last.reply.text]}
    tokens = [turn.reply.input_tokens for turn in turns], [turn.reply.output_tokens for turn in turns]
    if None not in (*tokens[0], *tokens[1]):
        used = [sum(filter(None, each)) for each in tokens]
        names = ("input_tokens", "output_tokens", "total_tokens")
        sample["token_usage"] = dict(zip(names, (*used, sum(used)), strict=True))
    return sample
