import copy

import pytest

from known_unknowns import config
from known_unknowns.config import catalogue, schema
from known_unknowns.errors import ConfigError
from known_unknowns.records import Cell
from known_unknowns.workflow import configuration
from tests.paths import ROOT

SOUND = config.read(ROOT / "params.yaml")


def changed(*changes):
    raw = copy.deepcopy(SOUND)
    for path, value in changes:
        *parents, last = path
        place = raw
        for key in parents:
            place = place[key]
        place[last] = value
    return raw


def test_the_shipped_params_are_valid_in_both_editions():
    for edition in ("pocket", "full"):
        assert configuration.load(ROOT / "params.yaml", edition=edition).edition == edition


MISTAKES = {
    "unknown top key": (("bencmarks",), {}, "bencmarks: unknown key: 'bencmarks' is not known; did you mean 'benchm"),
    "unknown key of a model": (
        ("models", "pocket", "dtpye"),
        "float32",
        "models.pocket.dtpye: unknown key: 'dtpye' is not known; did you mean 'dtype'",
    ),
    "unknown engine": (
        ("models", "pocket", "engine"),
        "transfomers",
        "models.pocket.engine: 'transfomers' is not known; did you mean 'transformers'",
    ),
    "a key that was removed": (
        ("models", "pocket", "cache_gib"),
        0.5,
        "models.pocket.cache_gib: this key was removed: images that are kept from one batch of turns to the next have "
        "1 GiB of memory; remove the key",
    ),
    "a removed key that changes prompts": (
        ("models", "pocket", "template_date"),
        "2026-01-02",
        "models.pocket.template_date: this key was removed: a chat template that writes the day of the run writes "
        "2024-07-26; remove the key. If it was another date, the prompts change and these questions are asked again",
    ),
    "wrong type": (("models", "pocket", "batch_size"), "many", "models.pocket.batch_size: 'many' is not valid"),
    "null": (("models", "pocket", "threads"), None, "models.pocket.threads: null is not allowed"),
    "missing key": (
        ("benchmarks", "mmsap", "data"),
        {"full": {"source": "hub"}},
        "mmsap.data.full.repository: this key",
    ),
    "unknown model": (("editions", "pocket", "models"), ["pokcet"], "editions.pocket.models[0]: 'pokcet' is not known"),
    "a variant twice": (
        ("benchmarks", "humblebench", "variants"),
        ["noise", "noise"],
        "benchmarks.humblebench.variants",
    ),
    "unknown argument": (("variants", "blank"), {"relettered": True}, "variants.blank.relettered"),
    "bad value of an argument": (("protocols", "zooming"), {"split": 5}, "protocols.zooming.split: "),
    "no images to show": (
        ("benchmarks", "actiview", "variants"),
        ["noise", "text_only"],
        "benchmarks.actiview.variants[1]: 'text_only' removes the images that the protocol 'full_image' needs",
    ),
    "a protocol named as a variant": (
        ("variants", "zooming"),
        {"function": "original"},
        "benchmarks.actiview.protocols",
    ),
    "no data": (
        ("editions", "mine"),
        SOUND["editions"]["pocket"],
        "editions.mine.data: humblebench has no data",
    ),
    "unknown parser": (("parsers",), ["robsut"], "parsers[0]: 'robsut' is not known; did you mean 'robust'"),
    "a generator without its model": (
        ("construction", "pocket", "generators", "figure_a1"),
        {},
        "construction.pocket.generators.figure_a1.model: it asks a model",
    ),
    "a benchmark without scenes": (
        ("construction", "pocket"),
        {"benchmark": "actiview", "scenes": {"seed": 1, "images": 2}, "generators": {"step_1": {"model": "uniform"}}},
        "construction.pocket.scenes: actiview has no rendered scenes; give psg",
    ),
    "seeds of no variant": (("benchmarks", "humblebench", "seeds"), {"noize": [1]}, "humblebench.seeds.noize: 'noize'"),
    "a seed of seven digits": (("editions", "pocket", "seeds"), [1_000_000], "editions.pocket.seeds[0]"),
    "samples of a greedy model": (
        ("models", "pocket", "samples"),
        5,
        "models.pocket.samples: pocket decodes greedily: 5 samples would be the same reply",
    ),
    "seeds of questions that do not change": (
        ("editions", "pocket", "seeds"),
        [0, 1],
        "editions.pocket.seeds: the questions of original of humblebench and of 28 other variants are the same",
    ),
    "samples of imported replies": (
        ("models", "Cambrian"),
        {"samples": 2},
        "models.Cambrian.samples: 2 is not valid: only replies that `rescore --import` added",
    ),
    "a name that is a path": (("models", "../x"), SOUND["models"]["oracle"], "models.../x: '../x' is not valid"),
}


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_names_the_path_of_the_bad_key(path, value, message):
    with pytest.raises(ConfigError) as raised:
        configuration.check(changed((path, value)))
    assert message in str(raised.value)


def mistakes(raw):
    """The paths of all keys that a message names."""
    with pytest.raises(ConfigError) as raised:
        configuration.check(raw)
    first, *lines = str(raised.value).splitlines()
    assert first == f"{len(lines)} mistakes:"
    return sorted(line.strip().split(": ")[0] for line in lines)


def test_wrong_types_hide_no_mistakes_in_names():
    raw = changed(
        (("models", "pocket", "batch_size"), "many"),
        (("statistics",), {}),
        (("editions", "pocket", "limit"), -5),
        (("editions", "pocket", "models"), ["orakle"]),
        (("construction", "pocket", "generators", "sceens"), {}),
        (("parsers",), ["robsut"]),
    )
    assert mistakes(raw) == [
        "construction.pocket.generators.sceens",
        "editions.pocket.limit",
        "editions.pocket.models[0]",
        "models.pocket.batch_size",
        "parsers[0]",
        "statistics.confidence",
    ]


@pytest.mark.parametrize(
    ("path", "value", "paths"),
    [
        (("models", "oracle"), {"engine": "respondent"}, ["models.oracle.behaviour"]),
        (("editions", "pocket"), {"models": ["oracle"], "seeds": [0]}, ["editions.pocket.benchmarks"]),
        (("editions", "pocket", "models"), ["oracle", {}, "orakle"], ["editions.pocket.models[1]"]),
        (("benchmarks", "humblebench", "variants"), "noise", ["benchmarks.humblebench.variants"]),
        (("benchmarks", "multiple_choice", "data", "mine"), {}, ["benchmarks.multiple_choice.data.mine.source"]),
        (("variants", "noise"), [], ["variants.noise"]),
        (("protocols", "single_turn"), 3, ["protocols.single_turn"]),
        (("models", "pocket", "decoding"), {"temperature": "hot"}, ["models.pocket.decoding.temperature"]),
    ],
)
def test_what_follows_from_a_wrong_type_is_no_further_mistake(path, value, paths):
    """Nothing is unknown that a wrong entry defines. The mistake in the list of parsers is listed with it."""
    assert mistakes(changed((path, value), (("parsers",), ["robsut", "robust"]))) == sorted([*paths, "parsers[0]"])


def test_a_wrong_temperature_is_not_taken_for_greedy_decoding():
    """Samples of a greedy model are a mistake; whether this one is greedy is not known."""
    raw = changed(
        (("models", "pocket", "decoding"), {"temperature": "hot"}),
        (("editions", "pocket", "models"), ["pocket"]),
        (("editions", "pocket", "samples"), 5),
    )
    with pytest.raises(ConfigError) as raised:
        configuration.check(raw)
    assert str(raised.value).startswith("models.pocket.decoding.temperature: 'hot' is not valid")
    assert "\n" not in str(raised.value)


def test_all_unknown_names_are_reported_at_once():
    """Those of the file, and those that only the registries know."""
    raw = changed(
        (("editions", "full", "models"), ["orakle", "oracle"]),
        (("variants", "blank"), {"relettered": True}),
        (("parsers",), ["robsut"]),
        (("construction", "pocket", "generators", "sceens"), {}),
        (("construction", "pocket", "filters"), {"flag": ["balance", "leek"], "without": ["leaks"]}),
    )
    assert mistakes(raw) == [
        "construction.pocket.filters.flag[1]",
        "construction.pocket.filters.without[0]",
        "construction.pocket.generators.sceens",
        "editions.full.models[0]",
        "parsers[0]",
        "variants.blank.relettered",
    ]


def test_a_mistake_of_several_variants_is_reported_once():
    entry = {"variants": ["original", "noise", "shuffled_refusal_prompt"], "protocol": "refusal_prompt", "seeds": {}}
    raw = changed((("benchmarks", "humblebench"), SOUND["benchmarks"]["humblebench"] | entry))
    raw["variants"]["shuffled_refusal_prompt"] = {"function": "shuffled_options", "protocol": "refusal_prompt"}
    assert mistakes(raw) == ["benchmarks.humblebench.protocol", "benchmarks.humblebench.variants[2]"]


def test_entries_keep_the_values_of_the_file():
    """Digests and records are made of these dictionaries."""
    params = config.check(SOUND)
    for name, entry in SOUND["models"].items():
        assert params.model(name).plain() == entry
    for name, entry in SOUND["variants"].items():
        assert params.variant(name).plain() == {"function": name} | entry
    for name, entry in catalogue.entries("benchmarks").items():
        assert params.data(name).plain() == entry["data"]["pocket"]
    numbers = {"engine": "openai", "source": "m", "decoding": {"temperature": 0, "top_p": None}, "timeout": 9}
    kept = config.check(changed((("models", "hosted"), numbers))).model("hosted").plain()
    assert kept == numbers
    assert type(kept["decoding"]["temperature"]) is int and type(kept["timeout"]) is int


def test_a_listed_protocol_is_a_variant_of_the_original_questions():
    listed = [
        "full_image",
        {"name": "zooming", "parser": ["official", "robust"]},
        {"name": "mixed", "parser": "robust"},
    ]
    raw = changed(
        (("benchmarks", "actiview", "protocols"), listed), (("benchmarks", "actiview", "variants"), ["noise"])
    )
    params = configuration.check(raw)
    assert params.variants("actiview") == ["full_image", "zooming", "zooming_robust", "mixed_robust", "noise"]
    assert params.variant("zooming_robust").function == "original"
    zooming = {"name": "zooming", "split": 4, "max_new_tokens": 20}
    assert params.protocol("actiview", "zooming").plain() == zooming | {"parser": "official"}
    assert params.protocol("actiview", "zooming_robust").plain() == zooming | {"parser": "robust"}
    assert params.protocol("actiview", "noise").plain() == {"name": "full_image", "max_new_tokens": 20}


def test_a_variant_may_have_seeds_of_its_own():
    raw = changed(
        (("benchmarks", "humblebench", "seeds"), {"shuffled_options": [3, 4]}),
        (("benchmarks", "humblebench", "variants"), ["original", "shuffled_options"]),
    )
    cells = configuration.check(raw).cells("humblebench")
    assert cells == [Cell("original", 0), Cell("shuffled_options", 3), Cell("shuffled_options", 4)]


def test_samples_are_those_of_the_model_or_else_of_the_edition():
    sampled = {"engine": "openai", "source": "m", "decoding": {"temperature": 0.5}}
    raw = changed(
        (("models", "a"), sampled),
        (("models", "b"), sampled | {"samples": 2}),
        (("models", "c"), sampled | {"decoding": {"temperature": None}, "samples": 1}),
        (("editions", "pocket"), SOUND["editions"]["pocket"] | {"models": ["uniform", "a", "b", "c"], "samples": 3}),
    )
    params = configuration.check(raw)
    assert {name: params.samples(name) for name in params.models} == {"uniform": 3, "a": 3, "b": 2, "c": 1}
    assert params.cells("actiview", "b")[:2] == [Cell("full_image", 0, 0), Cell("full_image", 0, 1)]


def test_a_server_at_temperature_0_can_have_samples():
    raw = changed((("models", "a"), {"engine": "openai", "source": "m", "samples": 2}))
    raw["editions"]["pocket"]["models"] = ["a"]
    assert configuration.check(raw).cells("actiview", "a")[:2] == [Cell("full_image", 0, 0), Cell("full_image", 0, 1)]


@pytest.mark.parametrize("content", ["a: [", "- 1", ""])
def test_a_file_that_is_no_mapping_is_refused(tmp_path, content):
    (tmp_path / "params.yaml").write_text(content)
    with pytest.raises(ConfigError):
        config.load(tmp_path / "params.yaml")


def test_an_absent_file_is_an_error_with_instructions(tmp_path):
    with pytest.raises(ConfigError, match="--params"):
        config.load(tmp_path / "none.yaml")


def test_the_schema_is_current():
    assert (ROOT / schema.FILE).read_text(encoding="utf-8") == schema.text(), "run: make schema"
