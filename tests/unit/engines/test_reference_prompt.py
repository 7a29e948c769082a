"""What the engine renders, the date in chat templates, and settings that change nothing."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engine import RendersReference
from known_unknowns.engines.reference_prompt import coarse
from known_unknowns.errors import ConfigError
from tests.unit.engines import tiny

WITHOUT_SYSTEM = (
    "{% for m in messages if m['role'] == 'user' %}{% for c in m['content'] %}"
    "{{ '<image>' if c['type'] == 'image' else c['text'] }}{% endfor %}{% endfor %}"
)
DATED = "{{ 'Today: ' + strftime_now('%d %b %Y') + '\\n' }}" + WITHOUT_SYSTEM


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("llava")
    tiny.build("llava", made)
    return made


def test_the_reference_has_the_text_and_the_image(folder):
    engine = tiny.engine("llava", folder, system="Be brief.")
    assert isinstance(engine, RendersReference)
    rendered = engine.reference_prompt()
    assert rendered["text"].startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n<image>What colour")
    assert rendered["text"].endswith("C. None of the above<|im_end|>\n<|im_start|>assistant\n")
    shape = rendered["pixels"]["pixel_values"]["shape"]
    assert rendered["image_tokens"] > 0 and shape[1] == 3
    assert engine.reference_prompt() == rendered
    assert "template_date" not in engine.facts


def test_coarse_values_by_hand():
    """Eight parts of two values each: their mean and standard deviation."""
    values = np.arange(16.0).reshape(2, 8)
    expected = [[2 * part + 0.5, 0.5] for part in range(8)]
    assert coarse(values) == {"shape": [2, 8], "parts": expected}
    assert coarse(np.array([3.0])) == {"shape": [1], "parts": [[3.0, 0.0]]}


def test_a_date_in_the_template_is_the_same_on_all_days(folder):
    engine = tiny.engine("llava", folder, prompt_template=DATED)
    assert engine.reference_prompt()["text"].startswith("Today: 26 Jul 2024\n")
    assert engine.facts["template_date"] == "2024-07-26"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"prompt_template": WITHOUT_SYSTEM, "system": "Be brief."}, "system: the chat template drops the system text"),
        ({"prompt_template": DATED.replace("'%d %b %Y'", "form")}, "in a form that it computes"),
    ],
)
def test_a_setting_that_changes_nothing_is_an_error(folder, changes, key):
    with pytest.raises(ConfigError, match=key):
        tiny.engine("llava", folder, **changes)
