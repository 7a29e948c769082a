from __future__ import annotations

import copy
import json
import re
import shutil

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns.cli import app
from known_unknowns.comparison import compare_cells, load
from known_unknowns.comparison.compare import _check_rows, _published_rows
from known_unknowns.comparison.settings import published_settings
from known_unknowns.config import OpenAIModel, catalogue
from known_unknowns.engines import memory_needs
from known_unknowns.engines.endpoint.settings import EndpointSettings
from known_unknowns.engines.memory_needs import Machine
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration, needs
from tests.factories import model_entry
from tests.paths import ROOT

RAW = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
ENTRIES = {name: entry for name, entry in catalogue.entries().items() if name in catalogue.models() and "card" in entry}
OF_TRANSFORMERS = [name for name, entry in ENTRIES.items() if entry["engine"] == "transformers"]


def check(models, *, own=None, edition="full"):
    """The configuration with these models in its full edition, and ``own`` under its models."""
    editions = RAW["editions"] | {"full": RAW["editions"]["full"] | {"models": models}}
    raw = RAW | {"edition": edition, "editions": editions, "models": RAW["models"] | (own or {})}
    return configuration.check(raw)


def test_every_entry_is_a_valid_model_of_params_yaml():
    params = check(list(ENTRIES))
    assert params.models == list(ENTRIES)
    _check_rows(params, {name: load(name) for name in params.benchmarks})
    for name, entry in ENTRIES.items():
        assert entry["card"]["licence"] and entry["card"]["paper"], name
        # A commit only if a source names it; else the lock says which that is.
        named = {settings.of("").get("revision") for settings in published_settings("actiview").values()}
        pull_request = re.fullmatch(r"refs/pr/\d+", entry.get("revision", ""))
        assert entry.get("revision", "main") in {"main", *named} or pull_request, name
        assert not entry.get("trust_remote_code"), name
        if entry["engine"] == "transformers":
            assert memory_needs.memory_gib(catalogue.models()[name]) > 2, name
        else:
            EndpointSettings.from_entry(name, OpenAIModel(**entry))


@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_transformers_has_a_class_for_each_entry(name):
    import transformers
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES as IMAGES
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES as PROCESSORS

    from known_unknowns.engines._checkpoint import model_class
    from known_unknowns.engines._processors import without_videos

    card, backend = ENTRIES[name]["card"], ENTRIES[name].get("image_backend", "pil")
    config = transformers.CONFIG_MAPPING[card["model_type"]]
    assert config in model_class(config)._model_mapping
    assert not card.get("remote_code")
    assert backend in IMAGES[card["model_type"]]
    assert (backend == "torchvision") == ("torchvision" in card.get("needs", ()))
    # Without torchvision too, which processors of videos want.
    parts = without_videos(getattr(transformers, PROCESSORS[card["model_type"]])).get_attributes()
    others = {"audio_processor", "feature_extractor", "qformer_tokenizer"}
    assert [part for part in parts if part not in others] == ["image_processor", "tokenizer"]


def test_the_edition_papers_asks_every_model_with_a_published_row():
    papers = configuration.check(RAW | {"edition": "papers"})
    with_a_row = {name for name, entry in ENTRIES.items() if entry.get("published")}
    assert set(papers.models) - with_a_row == {"oracle", "always_refuse", "always_a", "uniform"}
    assert with_a_row <= set(papers.models) and papers.model("gemma-3-4b").plain() == ENTRIES["gemma-3-4b"]
    assert configuration.check(papers.file.plain()) == papers  # a job's copy of the settings lists each once too
    # The lock and the jobs of other editions do not name them.
    assert "gemma-3-4b" not in configuration.check(RAW).file.models


def test_published_models_are_those_of_the_editions_benchmarks():
    editions = {"one": {"data": "full", "benchmarks": ["mmsap"], "models": ["oracle"], "seeds": [0]}}
    editions["one"]["published_models"] = True
    raw = RAW | {"edition": "one", "editions": editions}
    standing = ["instructblip-vicuna-7b", "llava-1.5-7b", "llava-1.5-13b", "qwen-vl-chat"]  # MM-SAP's rows
    assert configuration.check(raw).models == ["oracle", *standing]
    own = {"models": RAW["models"] | {"llava-1.5-7b": {"batch_size": 2}}}
    assert configuration.check(raw | own).model("llava-1.5-7b").batch_size == 2


@pytest.mark.parametrize("benchmark", catalogue.absent())
def test_every_published_row_has_a_model_or_a_reason_for_its_absence(benchmark):
    rows = {cell.model for cell in load(benchmark)}
    standing = [row for entry in catalogue.models().values() if (row := entry.published_row(benchmark))]
    absent = list(catalogue.absent()[benchmark])
    assert sorted(standing + absent) == sorted(rows)  # each once


def test_params_yaml_overrides_keys_of_an_entry():
    params = check(["oracle", "gemma-3-4b"], own={"gemma-3-4b": {"device": "cpu", "dtype": "float32"}})
    assert params.model("gemma-3-4b").plain() == ENTRIES["gemma-3-4b"] | {"device": "cpu", "dtype": "float32"}
    assert catalogue.entries()["gemma-3-4b"]["dtype"] == "bfloat16"


@pytest.mark.parametrize(
    ("own", "name", "expected"),
    [
        ({}, "full", {"source": "hub", "repository": "maifoundations/HumbleBench", "revision": "main"}),
        (
            {"full": {"revision": "f" * 40}},
            "full",
            {"source": "hub", "repository": "maifoundations/HumbleBench", "revision": "f" * 40},
        ),
        ({"full": {"source": "folder", "path": "mine"}}, "full", {"source": "folder", "path": "mine"}),
        ({"mine": {"source": "folder", "path": "mine"}}, "mine", {"source": "folder", "path": "mine"}),
    ],
    ids=["the catalogue's", "another revision", "another source", "one more"],
)
def test_a_benchmark_has_the_data_of_the_catalogue_and_its_own(own, name, expected):
    raw = copy.deepcopy(RAW)
    raw["benchmarks"]["humblebench"]["data"] = own
    data = configuration.check(raw).benchmark("humblebench").data
    assert data[name].plain() == expected
    assert data.keys() == {"pocket", "pocket_confidence", "full", "released", *own}


def test_a_benchmark_without_data_is_named():
    raw = copy.deepcopy(RAW)
    del raw["benchmarks"]["multiple_choice"]["data"]
    message = r"editions\.mine\.data: multiple_choice has no data called 'mine'; add benchmarks\.multiple_choice\.data"
    with pytest.raises(ConfigError, match=message):
        configuration.check(raw)


def clear_caches():
    catalogue._sections.cache_clear()
    catalogue.models.cache_clear()


def test_a_model_is_added_by_one_entry(tmp_path, monkeypatch):
    """Its entry alone makes it known to the configuration, to the list and to the comparison."""
    entry = {"engine": "transformers", "source": "a/b", "revision": "main", "dtype": "bfloat16"}
    entry |= {"published": {"humblebench": "Cambrian"}, "card": {"family": "New", "licence": "MIT", "parameters": 1.0}}
    folder = shutil.copytree(catalogue.FOLDER, tmp_path / "models")
    (folder / "new.yaml").write_text("models:\n  new: " + json.dumps(entry) + "\n", encoding="utf-8")
    monkeypatch.setattr(catalogue, "FOLDER", folder)
    clear_caches()
    try:
        params = check(["new"])
        assert "new" in configuration.check(RAW | {"edition": "papers"}).models
        (listed,) = (row for row in memory_needs.list_models(params, Machine(24)) if row.on)
        standing = _published_rows(params, "humblebench")
    finally:
        clear_caches()
    assert (listed.name, listed.fits, listed.as_json()["family"]) == ("new", memory_needs.IN_RAM, "New")
    rows = compare_cells(load("humblebench"), [], published_rows=standing, parsers=["official"])
    assert {row.row for row in rows if row.model == "new"} == {"Cambrian"}


def test_each_name_is_in_one_file():
    files = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in catalogue.FOLDER.glob("*.yaml")]
    assert all(content.keys() <= {"models", "absent"} for content in files)
    assert sum(len(content.get("models", {})) for content in files) == len(ENTRIES)


def test_a_model_may_correspond_to_another_row_in_each_benchmark():
    params = check(["idefics3-8b", "llava-next-vicuna-7b"])
    assert _published_rows(params, "humblebench") == {"idefics3-8b": "Idefics3"}
    assert _published_rows(params, "actiview") == {
        "idefics3-8b": "Idefics3-8B-Llama3",
        "llava-next-vicuna-7b": "LLaVA-1.6 7B",
    }
    assert _published_rows(params, "mmsap") == {}
    assert model_entry("openai", source="x", published="GPT-4V").published_row("mmsap") == "GPT-4V"  # one name for all


@pytest.mark.parametrize(
    ("published", "message"),
    [
        ({"humblebench": "Idefics-3"}, r"published\.humblebench: .*did you mean 'Idefics3'"),
        ({"humblebenhc": "Idefics3"}, r"published: .*did you mean 'humblebench'"),
        ("Idefics-3", r"published: .*did you mean 'Idefics3'"),
    ],
)
def test_a_row_that_is_not_published_names_the_key(published, message):
    params = check(["idefics3-8b"], own={"idefics3-8b": {"published": published}})
    with pytest.raises(ConfigError, match=rf"models\.idefics3-8b\.{message}"):
        _check_rows(params, {name: load(name) for name in params.benchmarks})


def run(*arguments):
    done = CliRunner().invoke(app, ["models", "list", "--params", str(ROOT / "params.yaml"), *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_list_marks_models_that_fit_and_enabled_ones(monkeypatch):
    monkeypatch.setattr(memory_needs, "this_machine", lambda: Machine(64, (("A card", 12.0),)))
    lines = {line[2:].split()[0]: line for line in run("--edition", "full").splitlines() if line[:1] in ("*", " ")}
    assert {name for name, line in lines.items() if line.startswith("*")} == {"qwen2.5-vl-7b"}
    assert lines["gemma-3-4b"].split()[3:5] == ["11.6", "GPU"]
    assert lines["pixtral-12b"].split()[2:4] == ["30.3", "RAM"]
    assert lines["idefics3-8b"].endswith("humblebench: Idefics3; actiview: Idefics3-8B-Llama3; mm_upd: idefics3-8B")
    found = json.loads(run("--fits", "--json"))
    names = {model["name"] for model in found["models"]}
    assert {"gemma-3-4b", "pixtral-12b", "deepseek-vl2-tiny", "gpt-4o"} <= names
    assert "minicpm-v-2.6" not in names  # 20 GiB, behind a server: no GPU for it
    assert found["machine"]["gpus"] == [["A card", 12.0]]


def test_the_needs_of_the_edition_papers_are_printed():
    """Every model has a row, and the sums are those of the entries."""
    found = json.loads(run("--needs", "--edition", "papers", "--json"))
    with_a_row = {name for name, entry in ENTRIES.items() if entry.get("published")}
    assert {model["model"] for model in found["models"]} == with_a_row
    sizes = [ENTRIES[name]["card"].get("parameters", 0) for name in with_a_row]  # all are in 16 bits
    assert found["totals"]["disk_gb"] == pytest.approx(2 * sum(sizes), abs=0.05 * len(sizes))
    assert found["totals"]["memory_gib"] == pytest.approx(13.9 * 2e9 / 2**30 * 1.2 + 2, abs=0.05)  # glm-4v-9b
    printed = run("--needs", "--edition", "papers").splitlines()
    assert next(line for line in printed if line.startswith("gpt-4o")).split()[1:] == ["hosted", "-", "-"]


def test_before_the_data_are_there_the_published_numbers_of_questions_count(tmp_path):
    """As the papers have it: Section 2 of HumbleBench, Section 3.2 of MM-SAP, data.json of ActiView."""
    params = configuration.load(ROOT / "params.yaml", edition="papers")
    numbers = {name: needs.questions_of(params, name, tmp_path) for name in params.benchmarks}
    assert numbers == {"humblebench": 22_831, "mmsap": 1_150, "actiview": 325}


@pytest.mark.parametrize(
    ("benchmark", "levels"),
    [
        ("humblebench", {"exactly": 0, "nearly": 14, "unknown": 0, "not": 7}),
        ("mmsap", {"exactly": 0, "nearly": 0, "unknown": 4, "not": 10}),
        ("actiview", {"exactly": 0, "nearly": 2, "unknown": 7, "not": 22}),
        ("mm_upd", {"exactly": 0, "nearly": 1, "unknown": 6, "not": 15}),
    ],
)
def test_published_settings_are_listed_with_sources(benchmark, levels):
    found = json.loads(run("--as-published", benchmark, "--json"))
    assert {level: sum(row["reproduced"] == level for row in found) for level in levels} == levels
    for row in found:
        assert row["sources"].keys() >= row["settings"].keys() and all(row["sources"].values()), row["row"]
        assert row["reasons"] or row["reproduced"] != "not"
    printed = run("--as-published", benchmark)
    assert all(f"{row['row']} (" in printed for row in found)
    counts = ", ".join(f"{number} {level}" for level, number in levels.items())
    assert f"{len(found)} rows: {counts}." in printed.splitlines()[-1]


def test_editions_variants_and_protocols_of_packages_are_taken_by_name():
    """Of those that nothing names, none is in the configuration."""
    shipped = configuration.check(RAW)
    assert "pocket_siblings" not in shipped.file.editions and "zooming_6" not in shipped.file.protocols
    own = {"pocket_siblings": {"limit": 20}}
    siblings = configuration.check(RAW | {"edition": "pocket_siblings", "editions": RAW["editions"] | own})
    assert (siblings.limit, siblings.models[-1]) == (20, "pocket-refuses-often")
    assert siblings.model("pocket-refuses-often").adapter == "refuses-often"
    splits = RAW["benchmarks"]["actiview"] | {"protocols": ["zooming_6", {"name": "shifting_r_6"}]}
    asked = configuration.check(RAW | {"benchmarks": RAW["benchmarks"] | {"actiview": splits}})
    assert asked.protocol("actiview", "zooming_6").arguments == {"split": 6, "max_new_tokens": 20}
    assert "shifting_r_6" in asked.file.protocols and "zooming_8" not in asked.file.protocols
    cautious = {"full": RAW["editions"]["full"] | {"variants": {"humblebench": ["cautious_prompt"]}}}
    of_edition = configuration.check(RAW | {"edition": "full", "editions": RAW["editions"] | cautious})
    assert of_edition.protocol("humblebench", "cautious_prompt").name == "cautious_prompt"


def test_an_unknown_edition_names_those_of_packages_too():
    with pytest.raises(ConfigError, match=r"edition: 'pocket_sibling' is not known; did you mean 'pocket_siblings'\?"):
        configuration.check(RAW | {"edition": "pocket_sibling"})
