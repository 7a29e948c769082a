import copy

import pytest
import yaml

from known_unknowns import config
from known_unknowns.errors import ConfigError
from tests.paths import ROOT

SOUND = yaml.safe_load((ROOT / "params.yaml").read_text())


def check(raw):
    return config.check(raw, schema=ROOT / config.SCHEMA)


def changed(path, value):
    raw = copy.deepcopy(SOUND)
    *parents, last = path
    place = raw
    for key in parents:
        place = place[key]
    place[last] = value
    return raw


def test_the_shipped_params_are_sound_in_both_editions():
    for edition in ("pocket", "full"):
        assert config.load(ROOT / "params.yaml", edition=edition).edition == edition


MISTAKES = {
    "unknown top key": (("bencmarks",), {}, "params.yaml: unknown key: 'bencmarks' is not known; did you mean 'bench"),
    "unknown edition": (("edition",), "tiny", "edition: 'tiny' is not one of"),
    "unknown key of a model": (("models", "pocket", "dtpye"), "float32", "models.pocket: unknown key: 'dtpye'"),
    "unknown engine": (("models", "pocket", "engine"), "tensorflow", "models.pocket"),
    "wrong type": (("models", "pocket", "batch_size"), "many", "models.pocket.batch_size: 'many' is not of type"),
    "unknown model": (("editions", "pocket", "models"), ["pokcet"], "editions.pocket.models[0]: 'pokcet' is not known"),
    "unknown benchmark": (("editions", "full", "benchmarks"), ["mmsap2"], "editions.full.benchmarks[0]"),
    "a benchmark without code": (("benchmarks", "vqa"), SOUND["benchmarks"]["humblebench"], "benchmarks.vqa"),
    "unknown variant": (("benchmarks", "humblebench", "variants"), ["noize"], "benchmarks.humblebench.variants[0]"),
    "unknown protocol": (("benchmarks", "humblebench", "protocol"), "chat", "benchmarks.humblebench.protocol"),
    "impossible combination": (("variants", "blank"), {"relettered": True}, "variants.blank.relettered"),
    "unknown scorer": (("scorers",), ["robsut"], "scorers[0]: 'robsut' is not known; did you mean 'robust'"),
    "negative seed": (("editions", "pocket", "seeds"), [-1], "editions.pocket.seeds[0]"),
    "seeds of no variant": (("benchmarks", "humblebench", "seeds"), {"noize": [1]}, "humblebench.seeds.noize: 'noize'"),
    "no seeds": (("editions", "pocket", "seeds"), [], "editions.pocket.seeds"),
    "a name that is a path": (("models", "../x"), SOUND["models"]["oracle"], "models"),
    "confidence": (("statistics", "confidence"), 95, "statistics.confidence"),
}


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_names_the_path_of_the_bad_key(path, value, message):
    with pytest.raises(ConfigError) as raised:
        check(changed(path, value))
    assert message in str(raised.value)


def test_a_variant_may_have_seeds_of_its_own():
    raw = changed(("benchmarks", "humblebench", "seeds"), {"shuffled_options": [3, 4]})
    raw["benchmarks"]["humblebench"]["variants"] = ["original", "shuffled_options"]
    assert check(raw).cells("humblebench") == [("original", 0), ("shuffled_options", 3), ("shuffled_options", 4)]


@pytest.mark.parametrize("content", ["a: [", "- 1", ""])
def test_what_is_not_a_mapping_is_refused(tmp_path, content):
    (tmp_path / "params.yaml").write_text(content)
    with pytest.raises(ConfigError):
        config.load(tmp_path / "params.yaml")


def test_an_absent_file_says_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match="--params"):
        config.load(tmp_path / "none.yaml")


def test_every_schema_key_is_closed():
    """additionalProperties must be said wherever properties are, or a misspelt key would pass."""

    def walk(node, path):
        if isinstance(node, dict):
            if "properties" in node and node.get("type") == "object":
                assert "additionalProperties" in node or "allOf" in node, path  # allOf: one closed form for each kind
            for key, value in node.items():
                walk(value, f"{path}.{key}")
        elif isinstance(node, list):
            for index, value in enumerate(node):
                walk(value, f"{path}[{index}]")

    walk(yaml.safe_load((ROOT / config.SCHEMA).read_text()), "")
