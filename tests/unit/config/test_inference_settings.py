"""How an entry says that a model is asked, for all benchmarks or one."""

from __future__ import annotations

import re

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration
from tests.factories import model_entry
from tests.paths import ROOT

LOCAL = {"source": "models/pocket", "revision": "0" * 64, "dtype": "float32"}


def test_the_keys_of_one_benchmark_override_those_of_the_entry():
    entry = model_entry(
        "transformers",
        **LOCAL,
        system="Be brief.",
        decoding={"max_new_tokens": 100, "temperature": 0.7},
        asked={"actiview": {"system": "", "order": "images_first", "decoding": {"max_new_tokens": 20}}},
    )
    own, other = entry.asked_in("actiview"), entry.asked_in("mmsap")
    assert (own.system, own.order, own.decoding.plain()) == (
        "",
        "images_first",
        {"max_new_tokens": 20, "temperature": 0.7},
    )
    assert (other.system, other.order, other.decoding.max_new_tokens) == ("Be brief.", "in_place", 100)
    assert "asked" not in own and "asked" not in other
    assert model_entry("respondent", behaviour="oracle").asked_in("mmsap").behaviour == "oracle"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"prompt": "Which?"}, "write {question} once"),
        ({"kept": "answer is ("}, "not a regular expression"),
        ({"order": "text"}, "'in_place', 'images_first' or 'text_first'"),
        ({"decoding": {"top_p": 0.5}}, "top_p and top_k have no effect without a temperature"),
        ({"decoding": {"seed": 1}}, "unknown key"),
        ({"reasoning": {"marks": ["<info>"]}}, "at least 2 items"),
        ({"asked": {"mmsap": {"decoding": {"top_k": 5}}}}, "have no effect without a temperature"),
        ({"asked": {"mmsap": {"dtype": "float16"}}}, "unknown key"),
    ],
)
def test_mistakes_are_explained(keys, reason):
    with pytest.raises(ConfigError, match=re.escape(reason)):
        model_entry("transformers", **LOCAL | keys)


def test_names_of_benchmarks_and_prompts_that_no_turn_would_use_are_mistakes():
    params = configuration.load(ROOT / "params.yaml").file.plain()
    hosted = {
        "engine": "openai",
        "source": "parrot-1",
        "asked": {"humblebnch": {"system": ""}},
        "prompt": "{question}!",
    }
    pocket = params["editions"]["pocket"] | {"models": ["hosted"]}
    raw = dict(params) | {"models": {"hosted": hosted}, "editions": {"pocket": pocket}}
    with pytest.raises(ConfigError) as error:
        configuration.check(raw)
    assert "models.hosted.asked.humblebnch" in str(error.value) and "did you mean 'humblebench'" in str(error.value)
    assert "models.hosted.prompt: the protocol 'full_image' of actiview has texts of its own" in str(error.value)
    hosted = {"engine": "openai", "source": "parrot-1", "asked": {"humblebench": {"prompt": "{question}!"}}}
    configuration.check(raw | {"models": {"hosted": hosted}})
