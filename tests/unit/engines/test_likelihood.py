"""The likelihood of the options' texts: by shared prefixes, by whole prompts, and by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.images import open_image, recipe_image
from known_unknowns.records import Turn
from tests.paths import ROOT
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers, entry

OPTIONS = ("Red", "Blue", "None of the above", "Dark red")
TEXT = "What colour is it?\nA. Red\nB. Blue\nC. None of the above\nD. Dark red"


def scored(number: int, image: int, *options: str, text: str = TEXT) -> Turn:
    options = options or OPTIONS
    content = (recipe_image("normal-noise", 48, 32, image), text)
    return Turn(str(number), "likelihood", content, tuple("ABCDE"[: len(options)]), 0, continuations=options)


TURNS = [
    scored(1, 1),
    scored(2, 1, "A ball", "A door beside the tree", text="What is it?"),
    scored(3, 1, "Yes", "No", "Both", text="Is it open, and why is the red ball beside the tree?"),
    scored(4, 2),
    dataclasses.replace(scored(5, 2), content=("What colour is the sea?",)),  # no image, so that nothing is shared
]


@pytest.mark.parametrize("name", ["llava", "qwen2.5-vl-sliding", "qwen3.5", "mllama", "gemma3"])
def test_shared_prefixes_change_no_likelihood(tmp_path, name):
    tiny.build(name, tmp_path / name)
    plain = answers(tiny.engine(name, tmp_path / name, sharing="off"), TURNS)
    made = tiny.engine(name, tmp_path / name, sharing="on")
    shared = answers(made, TURNS)
    if name != "qwen3.5":  # its recurrent state cannot be split by tokens
        assert made.about["sharing"]["prompts"]["packed"] == 13
    for turn, one, other in zip(TURNS, plain, shared, strict=True):
        assert one.error is None and one.text == "" and one.output_tokens == 0
        assert tuple(one.continuations) == turn.labels
        for label, value in one.continuations.items():
            assert value.tokens == other.continuations[label].tokens
            assert value.logprob == pytest.approx(other.continuations[label].logprob, abs=1e-4)


_CONTENT = "{% for c in m['content'] %}{{ '<image>' if c['type'] == 'image' else c['text'] }}{% endfor %}"
TEMPLATES = {
    # A space stands before a reply.
    "space": (
        "{% for m in messages %}{{ m['role'].upper() }}: " + _CONTENT + "{{ '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}ASSISTANT:{% endif %}",
        "USER: <image>" + TEXT + "\nASSISTANT:",
        " {}",
    ),
    # The prompt opens the reasoning; a reply is written without any.
    "reasoning": (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n" + _CONTENT + "<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
        "<|im_start|>user\n<image>" + TEXT + "<|im_end|>\n<|im_start|>assistant\n",
        "{}",
    ),
    # No replies are written.
    "none": ("Question: {prompt} Answer:", "Question: <image>" + TEXT + " Answer:", " {}"),
    "none, and a line break": ("Question: {prompt}\n", "Question: <image>" + TEXT + "\n", "{}"),
    # The text is trimmed, and the template ends a reply.
    "trimmed": (
        "{% for m in messages %}{% if m['role'] == 'user' %}" + _CONTENT + "{{ '\n' }}"
        "{% else %}A: {{ m['content'][0]['text'] | trim }}<|im_end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}A: {% endif %}",
        "<image>" + TEXT + "\nA:",
        " {}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("sharing", ["off", "on"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_text_is_written_by_the_chat_template(tmp_path, name, sharing):
    """By hand: the text before an option, the option as written, and the log-softmax before each of its tokens."""
    template, before, written = TEMPLATES[name]
    tiny.build("llava", tmp_path)
    made = tiny.engine("llava", tmp_path, sharing=sharing, prompt_template=template)
    options = ("Red", "Dark red", "None of the above", "5")
    asked = scored(1, 1, *options)
    (reply,) = answers(made, [asked])
    processor, model = made.checkpoint.processor, made.checkpoint.model
    image = open_image(asked.images[0], Path())
    prompt = processor(text=before, images=[image], return_tensors="pt")
    for label, option in zip(asked.labels, options, strict=True):
        tokens = processor.tokenizer(written.format(option), add_special_tokens=False)["input_ids"]
        ids = torch.cat([prompt["input_ids"], torch.tensor([tokens])], dim=1)
        with torch.inference_mode():
            logits = model(input_ids=ids, pixel_values=prompt["pixel_values"]).logits[0]
        values = logits.log_softmax(-1)[-len(tokens) - 1 : -1]
        expected = sum(row[token].item() for row, token in zip(values, tokens, strict=True))
        assert reply.continuations[label].tokens == len(tokens)
        assert reply.continuations[label].logprob == pytest.approx(expected, abs=1e-4)


def test_an_option_that_begins_another_has_the_larger_sum(tmp_path):
    tiny.build("llava", tmp_path)
    (reply,) = answers(tiny.engine("llava", tmp_path), [scored(1, 1, "The red", "The red ball", "The red ball sits")])
    sums = [reply.continuations[label].logprob for label in "ABC"]
    assert sums == sorted(sums, reverse=True)


def test_the_pocket_models_likelihood_is_that_of_one_forward_pass():
    """By hand: the prompt and an option's tokens in one row, and the log-softmax before each of these tokens.

    Its chat template writes a reply directly after the prompt.
    """
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = ROOT / "models" / "pocket"
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder, backend="pil")
    asked = TURNS[0]
    (reply,) = answers(TransformersEngine("pocket", entry(folder)), [asked])
    part = {"type": "image", "image": open_image(asked.images[0], Path())}
    conversation = [{"role": "user", "content": [part, {"type": "text", "text": TEXT}]}]
    inputs = processor.apply_chat_template(
        conversation, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    prompt = inputs.pop("input_ids")
    inputs.pop("attention_mask")
    for label, text in zip(asked.labels, OPTIONS, strict=True):
        tokens = processor.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(input_ids=torch.cat([prompt, tokens], dim=1), **inputs).logits[0]
        before = logits.log_softmax(-1)[prompt.shape[1] - 1 : -1]
        expected = sum(row[token].item() for row, token in zip(before, tokens[0], strict=True))
        assert reply.continuations[label].tokens == tokens.shape[1]
        assert reply.continuations[label].logprob == pytest.approx(expected, abs=1e-3)
        assert expected < -1e-3


def test_a_sampled_models_likelihoods_share_prefixes_and_are_not_sampled(tmp_path):
    tiny.build("llava", tmp_path)
    made = tiny.engine("llava", tmp_path, sharing="on", decoding={"temperature": 1.5})
    found = answers(made, TURNS)
    greedy = answers(tiny.engine("llava", tmp_path, sharing="on"), TURNS)
    assert [reply.continuations for reply in found] == [reply.continuations for reply in greedy]
    assert made.about["sharing"]["prompts"] == {"packed": 13}
    texts = [dataclasses.replace(turn, step="answer", continuations=None, max_new_tokens=4) for turn in TURNS]
    assert all(reply.text for reply in answers(made, texts))
    assert made.about["sharing"]["prompts"] == {"packed": 13}


def test_a_control_token_in_an_option_stays_text(tmp_path):
    tiny.build("llava", tmp_path)
    (reply,) = answers(tiny.engine("llava", tmp_path), [scored(1, 1, "Red", "<image>")])
    assert reply.continuations["B"].tokens > 1


def test_likelihoods_and_texts_are_asked_side_by_side(tmp_path):
    tiny.build("llava", tmp_path)
    texts = [dataclasses.replace(turn, step="answer", continuations=None, max_new_tokens=4) for turn in TURNS]
    made = tiny.engine("llava", tmp_path, sharing="on")
    mixed = answers(made, [*TURNS, *texts])
    assert [reply.continuations for reply in mixed[:5]] == [
        reply.continuations for reply in answers(tiny.engine("llava", tmp_path, sharing="on"), TURNS)
    ]
    assert all(reply.continuations is None and reply.logprobs for reply in mixed[5:])


def test_a_failing_pass_disables_sharing_and_whole_prompts_are_used(tmp_path, monkeypatch):
    tiny.build("llava", tmp_path)
    made = tiny.engine("llava", tmp_path, sharing="on")

    def fails(*_):
        raise ValueError("no such pass")

    monkeypatch.setattr(made._decoder, "continuation_logprobs", fails)
    found = answers(made, TURNS)
    plain = answers(tiny.engine("llava", tmp_path, sharing="off"), TURNS)
    assert [reply.continuations for reply in found] == [reply.continuations for reply in plain]
    assert any("no such pass" in each["why"] for each in made.about["sharing"]["fell_back"])
