"""How published rows were asked, and how entries differ from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from known_unknowns import config
from known_unknowns.benchmark import registry
from known_unknowns.comparison import IDENTICAL, NOT_COMPARABLE, compare_cells, load
from known_unknowns.comparison.conditions import conditions_of
from known_unknowns.comparison.settings import (
    KEYS,
    NEARLY,
    UNKNOWN,
    as_published,
    differences,
    published_settings,
    read_settings,
    unknown_settings,
)
from known_unknowns.config import Params, catalogue, typed_model
from known_unknowns.config.locked_commits import LockEntry, data_revision
from known_unknowns.config.models import EndpointInferenceSettings, LocalInferenceSettings
from known_unknowns.data import lock_file
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report import verdict_tables
from tests.factories import data_entry, params_from
from tests.paths import ROOT

COMMIT = "0ff007b870b7156be7c95aa17ee1fc1b6bd7d8c6"
BENCHMARKS = ("humblebench", "mmsap", "actiview", "mm_upd")
LATER = {"Insight-V", "gemini-2.5-pro"}
"""Rows of HumbleBench's later runs, whose numbers are released with the replies."""
MODEL = {"engine": "transformers", "source": "OWNER/NAME", "revision": "main", "dtype": "bfloat16"}


def params(model: dict[str, Any], **protocols: Any) -> Params:
    """The edition `full`, with one model called "ours" and changed protocols."""
    raw = config.load(ROOT / "params.yaml", edition="full").file.plain()
    raw["protocols"] |= protocols
    raw["models"] = {"ours": model or MODEL}
    raw["editions"]["full"]["models"] = ["ours"]
    return params_from(raw)


def test_the_keys_are_those_of_an_entry():
    assert {*LocalInferenceSettings.model_fields, *EndpointInferenceSettings.model_fields} <= set(KEYS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows: {A: {source: here, colour: red}}", "A: 'colour'"),
        ("rows: {A: {source: here, decoding: {beam: 1}}}", "A: 'beam'"),
        ("rows: {A: {source: here, variants: {noise: {colour: red}}}}", "A: 'colour'"),
        ("rows: {A: {dtype: float16}}", "A: no source"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str):
    path = tmp_path / "published_settings.yaml"
    path.write_text(f"from: a paper\ncommon: {{source: there}}\n{text}\n")
    with pytest.raises(DataError, match=message):
        read_settings(path)


def test_rows_and_variants_override(tmp_path: Path):
    path = tmp_path / "published_settings.yaml"
    path.write_text("""
from: a paper
common: {source: page 1, system: null, decoding: {temperature: 0}, variants: {noise: {decoding: {max_new_tokens: 20}}}}
rows:
  A: {source: page 2, dtype: float16, decoding: {max_new_tokens: 9}, variants: {blank: {decoding: {max_new_tokens: 1}}}}
  B: {source: page 3, sources: {dtype: page 4}, dtype: auto, unknown: [system]}
""")
    a, b = read_settings(path).values()
    assert a.of("original") == {"system": None, "decoding": {"temperature": 0, "max_new_tokens": 9}, "dtype": "float16"}
    assert (a.of("noise")["decoding"]["max_new_tokens"], a.of("blank")["decoding"]["max_new_tokens"]) == (9, 1)
    assert b.of("noise") == {"decoding": {"temperature": 0, "max_new_tokens": 20}, "dtype": "auto"}
    assert [a.source("system"), a.source("dtype"), b.source("dtype")] == ["page 1", "page 2", "page 4"]
    assert unknown_settings(b.of("")) == [
        *("weights", "revision", "dtype", "system", "prompt", "order", "processor", "attention", "kept"),
        "max_new_tokens",
    ]


@pytest.mark.parametrize(
    ("published", "ours", "expected"),
    [
        ({"temperature": 1.0, "top_k": 1}, {}, []),  # the most likely token
        ({"sampling": "checkpoint"}, {}, ["sampling greedy instead of checkpoint"]),
        ({"sampling": "checkpoint"}, {"sampling": "checkpoint"}, []),
        (
            {"temperature": 0.7, "top_k": 0},
            {"temperature": 0.7},
            ["sampling temperature 0.7 instead of temperature 0.7, top_k 0"],
        ),
        ({"do_sample": True}, {}, ["sampling greedy instead of do_sample True"]),
        ({"max_new_tokens": 30}, {}, ["max_new_tokens 16 instead of 30"]),
        ({"repetition_penalty": 1.0}, {}, ["repetition_penalty none instead of 1.0"]),
        ({"temperature": 0}, {"repetition_penalty": 1.1}, ["repetition_penalty 1.1 instead of none"]),
    ],
)
@pytest.mark.parametrize("engine", ["transformers", "openai"])
def test_decoding_is_compared_by_what_it_does(engine: str, published: dict, ours: dict, expected: list[str]):
    model = MODEL if engine == "transformers" else {"engine": "openai", "source": "NAME"}
    entry = typed_model("ours", model | {"decoding": ours})
    assert list(differences({"decoding": published}, entry, "humblebench", 16).values()) == expected


def test_weights_are_the_same_in_any_repository_and_an_endpoint_cannot_say_its_dtype():
    entry = typed_model("ours", MODEL | {"source": "OWNER/Ovis2-8B"})
    assert not differences({"weights": "ovis2-8b", "order": ["images_first", "in_place"]}, entry, "humblebench", 16)
    found = differences({"weights": "Ovis2-8B-hf", "order": "text_first"}, entry, "humblebench", 16)
    assert list(found.values()) == [
        "weights Ovis2-8B instead of Ovis2-8B-hf",
        "order in_place instead of text_first",
    ]
    endpoint = typed_model("ours", {"engine": "openai", "source": "NAME"})
    assert not differences({"dtype": "float16", "attention": "eager"}, endpoint, "humblebench", 16)


@pytest.mark.parametrize("published", ["LLaVA-7b", "no such row"])
def test_a_quantised_model_was_asked_otherwise(published: str):
    """Also than a row whose settings nobody has looked up."""
    served = {"engine": "openai", "source": "llava-hf/llava-1.5-7b-hf", "published": {"mmsap": published}}
    quantised = served | {"launch": {"quantization": "fp8"}}
    for model, otherwise in ((quantised, ("quantization fp8 instead of none",)), (served | {"launch": {}}, ())):
        asked = conditions_of(params(model), "mmsap", {}).asked("ours", "shuffled_options")
        assert asked.otherwise == otherwise
    assert not differences({"quantization": "fp8"}, typed_model("ours", quantised), "mmsap", 16)


MULBERRY = MODEL | {"source": "HuanjinYao/Mulberry_qwen2vl_7b", "published": {"humblebench": "Mulberry"}}
QWEN = MODEL | {"source": "Qwen/Qwen2-VL-7B-Instruct", "published": {"actiview": "Qwen2-VL"}}


def test_every_difference_from_a_row_is_named():
    """By hand from models/Mulberry.py: prompt, system, length, pixels, attention and the stored part."""
    asked = conditions_of(params(MULBERRY), "humblebench", {}).asked("ours", "original")
    assert asked.otherwise == (
        'prompt the benchmark\'s instead of "Generate an image description based on the questio..."',
        'system none instead of "You are a helpful assistant."',
        "min_pixels the default instead of 200704",
        "max_pixels the default instead of 1003520",
        "attention the default instead of eager",
        'kept the whole reply instead of "\\A(?:(?!final answer is:).)*final answer is:(?!.*f..."',
        "repetition_penalty none instead of 1.0",
        "max_new_tokens 16 instead of 1024",
    )
    assert asked.note == "Unknown in the source: revision."


def test_lengths_are_those_of_the_variant():
    """By hand from the toolkit: 20 tokens for the full image, 200 for shifting, images first, pixel limits."""
    found = conditions_of(params(QWEN), "actiview", {})
    common = {
        "revision main instead of 51c47430f97dd7c74aa1fa6825e68a813478097f",
        "order in_place instead of images_first",
        "sampling greedy instead of checkpoint",
        "min_pixels the default instead of 78400",
        "max_pixels the default instead of 815360",
    }
    assert set(found.asked("ours", "full_image").otherwise) == common
    assert set(found.asked("ours", "average").otherwise) == common  # over pipelines
    longer = conditions_of(params(QWEN | {"decoding": {"max_new_tokens": 200}}), "actiview", {})
    assert set(longer.asked("ours", "shifting_r").otherwise) == common
    assert set(longer.asked("ours", "full_image").otherwise) == common | {"max_new_tokens 200 instead of 20"}


def test_unknown_settings_are_no_obstacle():
    """MM-SAP's papers say only that decoding is greedy."""
    model = MODEL | {"source": "llava-hf/llava-1.5-7b-hf", "published": {"mmsap": "LLaVA-7b"}}
    asked = conditions_of(params(model), "mmsap", {}).asked("ours", "shuffled_options")
    assert not asked.otherwise
    assert asked.note == (
        "Unknown in the source: weights, revision, dtype, system, prompt, order, processor, attention, kept, "
        "max_new_tokens."
    )
    sampled = conditions_of(params(model | {"decoding": {"temperature": 0.7}}), "mmsap", {})
    assert sampled.asked("ours", "shuffled_options").otherwise == ("sampling temperature 0.7 instead of greedy",)


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        (MULBERRY, NOT_COMPARABLE),
        ({"engine": "imported", "published": {"humblebench": "Mulberry"}}, IDENTICAL),  # the authors' own replies
    ],
)
def test_a_model_that_was_asked_otherwise_is_not_comparable(model: dict[str, Any], verdict: str):
    cells = [cell for cell in load("humblebench") if (cell.table, cell.row) == ("Table 3", "Mulberry")][-1:]
    rows = compare_cells(
        cells,
        [
            Metric(
                "ours", "humblebench", "original", 0, 0, "official", OVERALL, "accuracy", 0.5993, 0.59, 0.61, 22831, "w"
            )
        ],
        published_rows={"ours": "Mulberry"},
        parsers=["official"],
        conditions=conditions_of(params(model), "humblebench", {}),
    )
    row = next(row for row in rows if row.model == "ours")
    assert row.verdict == verdict
    if verdict == NOT_COMPARABLE:
        assert row.obstacle == "asked otherwise" and row.reason.startswith("asked otherwise: prompt the benchmark's")
        assert row.note.endswith("Unknown in the source: revision.") and row.value == pytest.approx(59.93)
        (shown,) = verdict_tables.comparison(rows, ["official"])  # on the page
        assert (shown.verdict, shown.reasons) == (NOT_COMPARABLE, {row.reason: 1})


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_published_row_has_settings_with_sources_and_is_asked_exactly_nearly_or_not(name: str):
    settings = published_settings(name)
    assert settings.keys() - LATER == {cell.model for cell in load(name)}
    for row in settings.values():
        assert row.source("") and row.origin
        for variant in ("", *row.variants):
            assert row.of(variant).keys() <= set(KEYS) and all(map(row.source, row.of(variant)))
    found = as_published(config.load(ROOT / "params.yaml", edition="full"), name)
    assert [row.settings.row for row in found] == list(settings)
    for row in found:
        assert (row.level == "exactly") == (not row.reasons and not row.unknown)
        assert row.model or (row.level, len(row.reasons)) == ("not", 1)


@pytest.mark.parametrize("name", [name for name in registry.names() if registry.get(name).published])
def test_the_configuration_asks_by_the_published_protocols(name: str):
    assert conditions_of(params({}), name, {}).other_protocols == {}
    variants = {cell.variant for cell in load(name)}
    assert variants & set(registry.get(name).published_protocols)


def test_a_changed_argument_of_a_protocol_is_named():
    found = conditions_of(params({}, zooming={"split": 6, "max_new_tokens": 200}), "actiview", {})
    reason = "zooming is asked with the protocol's split 6 instead of 4"
    assert found.other_protocols == dict.fromkeys(("zooming", "average", "average_of_two"), reason)


def test_rendered_data_are_not_the_published_questions():
    pocket = config.load(ROOT / "params.yaml", edition="pocket")
    assert "rendered questions" in conditions_of(pocket, "mmsap", {}).other_questions
    assert conditions_of(params({}), "mmsap", {}).other_questions == ""


def test_the_revision_is_that_of_the_lock_or_of_the_entry(tmp_path: Path):
    lock_path = tmp_path / "params.lock.yaml"
    assert data_revision("b", data_entry("hub"), lock_path) == ""  # a branch that is not locked
    assert data_revision("b", data_entry("hub", revision=COMMIT), lock_path) == COMMIT
    lock_file.write({"hub:datasets/a/b@main": LockEntry(COMMIT, {})}, lock_path)
    assert data_revision("b", data_entry("hub"), lock_path) == COMMIT
    assert data_revision("b", data_entry("scenes"), lock_path) == ""


@pytest.mark.parametrize(("engine", "level"), [("transformers", NEARLY), ("openai", UNKNOWN)])
def test_a_server_may_remove_the_marks_that_the_kept_part_depends_on(engine: str, level: str):
    """The authors of LLaVA-CoT's row keep what follows <CONCLUSION>. All else is as in the catalogue's entry."""
    entry = dict(catalogue.entries()["llava-cot-11b"])
    if engine == "openai":
        left_out = ("dtype", "image_backend", "revision", "card")
        entry = {key: value for key, value in entry.items() if key not in left_out} | {"engine": "openai"}
    chosen = params(entry)
    found = {each.settings.row: each for each in as_published(chosen, "humblebench")}["LLaVA-CoT"]
    assert (found.model, found.level) == ("ours", level), found
    assert any("kept" in each for each in found.unknown) == (engine == "openai")


def test_changed_decisions_are_a_difference_of_their_rows():
    rows = published_settings("actiview")
    entry = typed_model("ours", MODEL)
    for row, variant in (("Idefics3-8B-Llama3", "mixed"), ("MiniCPM-V 2.6", "mixed"), ("MiniCPM-V 2.6", "shifting_r")):
        assert "decisions" in differences(rows[row].of(variant), entry, "actiview", 200)
        assert "decisions" not in differences(rows[row].of("full_image"), entry, "actiview", 20)
