"""The transformers engine, on tiny random checkpoints that are built here, and on the shipped pocket model."""

from __future__ import annotations

import dataclasses
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


from known_unknowns.engines import _checkpoint, create
from known_unknowns.engines._grouping import batches
from known_unknowns.engines._reply_builder import LabelRecorder, label_step, token_forms
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.images import open_image, recipe_image
from known_unknowns.records import Image, Turn
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers, entry
from tests.unit.engines.tiny.words import LETTERS, tokenizer

WORDS = tokenizer("<image>")


def turn(number: int, *, images: int = 1, labels=LETTERS, limit: int = 4, text: str = "") -> Turn:
    """Prompts of different lengths with images of different sizes, some of them shared."""
    drawings = [recipe_image("normal-noise", 24 + 16 * ((number + k) % 2), 32, (number + k) % 3) for k in range(images)]
    asked = text or "What colour is it?\n" * (1 + number % 3) + "A. Red\nB. Blue\nE. None of the above"
    return Turn(str(number), "answer", (*drawings, asked), labels, max_new_tokens=limit)


@pytest.fixture(scope="session")
def llava(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "llava"
    tiny.build("llava", folder)
    return folder


def test_letters_get_the_log_probability_of_a_forward_pass_over_prompt_and_reply(llava, monkeypatch):
    """By hand: prompt and reply through the model once, softmax over all tokens before the reply's letter."""
    monkeypatch.setattr(LabelRecorder, "record", forcing_reply(" KB", " B"))
    asked = turn(1)
    made = TransformersEngine("tiny", entry(llava))
    (reply,) = answers(made, [asked])
    assert reply.text == " KB B"
    inputs = made._prompts.build_batch([asked], Path())
    tokenizer, model = made.checkpoint.tokenizer, made.checkpoint.model
    before = tokenizer(" KB", return_tensors="pt", add_special_tokens=False)["input_ids"]
    step = before.shape[1]
    assert step > 1  # several tokens, one of them "B": the bare letter comes later
    inputs["input_ids"] = torch.cat([inputs["input_ids"], before], dim=1)
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    with torch.inference_mode():
        logprobs = model(**inputs).logits[0, -1].log_softmax(-1)
    for letter in LETTERS:
        with_space, without = (tokenizer.convert_tokens_to_ids(form) for form in ("Ġ" + letter, letter))
        expected = max(logprobs[with_space].item(), logprobs[without].item())
        assert reply.logprobs[letter] == pytest.approx(expected, abs=2e-5)


def forcing_reply(*pieces: str):
    """A recorder that leaves only these words to greedy decoding, then the end."""
    record = LabelRecorder.record

    def force(self, rows, scores):
        record(self, rows, scores)
        said = [t for piece in pieces for t in WORDS.encode(piece, add_special_tokens=False)]
        said.append(WORDS.eos_token_id)
        scores.fill_(-1e9)
        scores[:, said[min(self.steps, len(said)) - 1]] = 0.0

    return force


def test_finish_and_counts(llava, monkeypatch):
    monkeypatch.setattr(LabelRecorder, "record", forcing_reply("B"))
    (reply,) = answers(TransformersEngine("tiny", entry(llava)), [turn(0, limit=4)])
    # "B" and the end token
    assert (reply.text, reply.finish, reply.output_tokens) == ("B", "stop", 2)
    (reply,) = answers(TransformersEngine("tiny", entry(llava)), [turn(0, limit=1)])
    assert (reply.text, reply.finish, reply.output_tokens) == ("B", "length", 1)
    limited = TransformersEngine("tiny", entry(llava, decoding={"max_new_tokens": 1}))
    assert answers(limited, [turn(0, limit=4)])[0].finish == "length"
    assert limited.facts["decoding"]["max_new_tokens"] == 1


@pytest.mark.parametrize(("granted", "expected"), [(None, [1, 2]), ("1", [1, 1]), ("2,1", [1, 2])])
def test_threads_are_those_of_the_entry_within_the_limit_of_the_job(llava, monkeypatch, granted, expected):
    """Snakemake says in OMP_NUM_THREADS how many cores a job has: fewer than its entry asks for, with --cores 1."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if granted is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", granted)
    before = torch.get_num_threads()
    try:
        counts = [TransformersEngine("tiny", entry(llava, threads=number)).about["threads"] for number in (1, 2)]
        assert counts == expected
    finally:
        torch.set_num_threads(before)


def test_log_probabilities_cover_offered_letters_and_no_free_text(llava):
    made = TransformersEngine("tiny", entry(llava, batch_size=3))
    replies = answers(made, [turn(0, labels=("A", "C")), turn(1, labels=None), turn(2)])
    assert tuple(replies[0].logprobs) == ("A", "C")
    assert replies[1].logprobs is None
    assert tuple(replies[2].logprobs) == LETTERS
    # The Greek letter is no token of this vocabulary: no number is better than a wrong one.
    assert answers(made, [turn(0, labels=("A", "Ω"))])[0].logprobs is None


@pytest.mark.parametrize("labels", [("yes", "no"), ("1", "2", "10")])
def test_labels_of_several_tokens_have_no_log_probabilities(llava, labels):
    assert any(len(WORDS.encode(label, add_special_tokens=False)) > 1 for label in labels)
    (reply,) = answers(TransformersEngine("tiny", entry(llava)), [turn(0, labels=labels)])
    assert reply.error is None
    assert reply.logprobs is None


@pytest.mark.parametrize(
    ("before", "letter", "after"),
    [
        ("", " B", ". Blue"),
        (" yellow", " B", ""),
        (" KB and XB:", " B", " or C"),
        (" (", "B", ")"),
        ("KB", "", ""),
        ("", "", ""),
    ],
)
def test_the_step_of_the_first_bare_letter(before, letter, after):
    """Pieces of words ("B" of "KB") do not count; a reply without a bare letter is read at its first step."""
    pieces = [WORDS.encode(text, add_special_tokens=False) for text in (before, letter, after)]
    tokens = [*pieces[0], *pieces[1], *pieces[2]]
    assert len(pieces[0]) > 1 or before in ("", " (")
    expected = len(pieces[0]) if letter else 0
    assert label_step(WORDS, tokens, token_forms(WORDS, LETTERS)) == expected


def test_token_forms_of_both_kinds_of_vocabulary():
    class Vocabulary:
        def __init__(self, *tokens):
            self.tokens = {token: number for number, token in enumerate(tokens)}

        def get_vocab(self):
            return self.tokens

    assert token_forms(Vocabulary("A", "ĠA", "B"), ("A", "B", "C")) == {"A": (0, 1), "B": (2,)}
    assert token_forms(Vocabulary("▁A", "A", "▁Apple"), ("A",)) == {"A": (1, 0)}
    # A word that is one token in one spelling only has no forms.
    assert token_forms(Vocabulary("Ġ", "no", "yes", "Ġno"), ("yes", "no")) == {"no": (1, 3)}
    assert token_forms(Vocabulary("▁", "▁no", "no", "▁yes", "Ġ"), ("yes", "no")) == {"no": (2, 1)}


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([4, 16])), max_size=40),
    st.integers(1, 7),
    st.integers(0, 9),
)
def test_batches_do_not_depend_on_answered_turns(kinds, size, done):
    """The batches of the remaining turns do not depend on the finished batches."""
    turns = [turn(number, images=images, limit=limit) for number, (images, limit) in enumerate(kinds)]
    planned = list(batches(turns, size))
    assert sorted(index for batch in planned for index in batch) == list(range(len(turns)))
    for batch in planned:
        assert len(batch) <= size
        assert len({(len(turns[index].images), turns[index].max_new_tokens) for index in batch}) == 1
    answered = {index for batch in planned[:done] for index in batch}
    left = [index for index in range(len(turns)) if index not in answered]
    again = [[left[index] for index in batch] for batch in batches([turns[index] for index in left], size)]
    assert again == planned[done:]


def test_out_of_memory_halves_the_batch_and_a_single_turn_fails(llava, monkeypatch, capsys):
    made = TransformersEngine("tiny", entry(llava, batch_size=4, sharing="off"))
    expected = answers(
        TransformersEngine("tiny", entry(llava, batch_size=1, sharing="off")), [turn(n) for n in range(4)]
    )
    generate, sizes = made._generate, []

    def scarce(turns, inputs, limit):
        sizes.append(len(turns))
        if len(turns) > 1 or turns[0].question_id == "2":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB\nmore")
        return generate(turns, inputs, limit)

    monkeypatch.setattr(made, "_generate", scarce)
    replies = answers(made, [turn(n) for n in range(4)])
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    assert "tiny: out of memory with 4 questions at once (CUDA out of memory." in capsys.readouterr().err
    assert made.about["out_of_memory"] == {"4": 1, "2": 2}
    assert replies[2].error == "out of memory: CUDA out of memory. Tried to allocate 2.00 GiB"
    assert (replies[2].text, replies[2].finish) == ("", "error")
    assert [replies[n] for n in (0, 1, 3)] == [expected[n] for n in (0, 1, 3)]


def test_other_errors_are_not_treated_as_out_of_memory(llava, monkeypatch):
    made = TransformersEngine("tiny", entry(llava, sharing="off"))
    monkeypatch.setattr(made, "_generate", lambda *_: (_ for _ in ()).throw(RuntimeError("shape mismatch")))
    with pytest.raises(ConfigError, match=r"LlavaFor.* gives no reply .*RuntimeError: shape mismatch"):
        answers(made, [turn(0)])
    made._answered = 1  # after a reply the fault is not in the model
    with pytest.raises(RuntimeError, match="shape mismatch"):
        answers(made, [turn(0)])


def test_a_broken_image_stops_the_run_and_logits_that_overflow_are_a_failed_reply(llava, tmp_path):
    made = TransformersEngine("tiny", entry(llava))
    (tmp_path / "broken.png").write_bytes(b"\x89PNG and no more")
    broken = dataclasses.replace(turn(0), content=(Image("broken.png", "0" * 64, 8, 8), "What?"))
    with pytest.raises(DataError, match=r"broken\.png"):
        answers(made, [broken], tmp_path)
    with torch.no_grad():
        made.checkpoint.model.lm_head.weight[7] = float("nan")
    (reply,) = answers(made, [turn(0)])
    assert "not finite" in reply.error and (reply.text, reply.logprobs) == ("", None)


def test_a_folder_is_pinned_by_the_sha256_of_its_weights(llava):
    found = sha256((llava / "model.safetensors").read_bytes()).hexdigest()
    assert TransformersEngine("tiny", entry(llava, revision=found)).facts["revision"] == found
    assert TransformersEngine("tiny", entry(llava)).facts["revision"] == found
    wrong = "0" * 64
    with pytest.raises(ConfigError, match=rf"models\.tiny\.revision: .*{found}.*{wrong}"):
        TransformersEngine("tiny", entry(llava, revision=wrong))


def test_shards_are_pinned_as_sha256sum_prints_them(tmp_path):
    lines = ""
    for name, data in (("model-00001.safetensors", b"one"), ("model-00002.safetensors", b"two")):
        (tmp_path / name).write_bytes(data)
        lines += f"{sha256(data).hexdigest()}  {name}\n"
    assert _checkpoint.weights_sha256(tmp_path) == sha256(lines.encode()).hexdigest()


def test_a_missing_folder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for revision in ("unpinned", "0" * 64):
        with pytest.raises(ConfigError, match=r"models\.tiny\.source: there is no folder 'models/gone'.*run from"):
            TransformersEngine("tiny", entry(Path("models/gone"), revision=revision))


def test_weights_that_are_not_safetensors_are_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(ConfigError, match=r"no \*\.safetensors file"):
        TransformersEngine("tiny", entry(tmp_path))


def test_a_backend_that_is_not_installed_is_an_error(llava):
    if transformers.utils.is_torchvision_available():
        pytest.skip("torchvision is installed")
    with pytest.raises(ConfigError, match=r"models\.tiny\.image_backend: .*'torchvision'.*'pil'"):
        TransformersEngine("tiny", entry(llava, image_backend="torchvision"))


def test_a_missing_gpu_is_an_error(llava):
    count = torch.cuda.device_count()
    with pytest.raises(ConfigError, match=rf"models\.tiny\.device: there is no cuda:{count}"):
        TransformersEngine("tiny", entry(llava, device=f"cuda:{count}"))


def test_facts_contain_only_what_changes_a_reply(llava, tmp_path):
    facts = TransformersEngine("tiny", entry(llava)).facts
    assert facts == TransformersEngine("other", entry(llava, batch_size=3, published="X")).facts
    assert facts["image_backend"] == "pil"
    assert facts["decoding"]["do_sample"] is False
    for change in ({"dtype": "bfloat16"}, {"system": "Be brief."}, {"decoding": {"repetition_penalty": 1.5}}):
        assert TransformersEngine("tiny", entry(llava, **change)).facts != facts
    keys = {turn(0).key(facts), turn(0).key(facts | {"chat_template": "another"})}
    assert len(keys) == 2


def test_generation_settings_of_the_checkpoint_hold_unless_overridden(tmp_path):
    tiny.build("llava", tmp_path)
    made = TransformersEngine("tiny", entry(tmp_path))
    config = transformers.GenerationConfig.from_pretrained(tmp_path)
    config.update(repetition_penalty=1.3, do_sample=True, temperature=0.7, top_k=5)
    config.save_pretrained(tmp_path)
    own = TransformersEngine("tiny", entry(tmp_path))
    assert own.facts["decoding"]["repetition_penalty"] == 1.3
    assert own.facts["decoding"]["do_sample"] is False
    assert "temperature" not in own.facts["decoding"]
    other = TransformersEngine("tiny", entry(tmp_path, decoding={"repetition_penalty": 1.0}))
    asked = [turn(0, limit=16)]
    assert answers(other, asked) == answers(made, asked)
    assert answers(own, asked)[0].text != answers(other, asked)[0].text
    assert answers(own, asked) == answers(own, asked)  # greedy, though the checkpoint samples


def test_a_system_prompt_reaches_the_model(llava):
    made = TransformersEngine("tiny", entry(llava, system="Answer B."))
    plain = TransformersEngine("tiny", entry(llava))
    text = made.checkpoint.tokenizer.decode(made._prompts.build_batch([turn(0)], Path())["input_ids"][0])
    assert "system\nAnswer B." in text
    assert answers(made, [turn(0)])[0].input_tokens > answers(plain, [turn(0)])[0].input_tokens


def test_visual_tokens_are_those_of_the_images(llava):
    """An image of 32 x 32 pixels in patches of 8 is 16 tokens."""
    made = TransformersEngine("tiny", entry(llava))
    seeing, blind = (answers(made, [turn(0), turn(1, images=0)])[index] for index in (0, 1))
    assert (seeing.visual_tokens, blind.visual_tokens) == (16, 0)
    assert seeing.input_tokens > 16


def test_creation_from_the_registry_prints_nothing(llava, capfd):
    made = create("tiny", entry(llava))
    answers(made, [turn(0)])
    assert capfd.readouterr() == ("", "")
    assert made.scripted is False
    assert made.about["parameters"] == sum(weight.numel() for weight in made.checkpoint.model.parameters())


def test_images_reach_the_model_in_their_position(llava):
    made = TransformersEngine("tiny", entry(llava))
    one, other = recipe_image("normal-noise", 32, 32, 1), recipe_image("blank", 32, 32)
    asked = Turn("q", "answer", ("First", one, "then", other, "What?"), LETTERS)
    inputs = made._prompts.build_batch([asked], Path())
    expected = made.checkpoint.processor.image_processor(
        [open_image(one, Path()), open_image(other, Path())], return_tensors="pt"
    )["pixel_values"]
    assert torch.equal(inputs["pixel_values"], expected)
    image = made.checkpoint.tokenizer.convert_tokens_to_ids("<image>")
    text = made.checkpoint.tokenizer.decode([t for t in inputs["input_ids"][0].tolist() if t != image])
    assert "Firstthen" in text
    assert "What?" in text
