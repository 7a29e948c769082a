"""bench/throughput on a tiny model: questions, counts and comparisons; FLOPs computed by hand."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Pillow

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.throughput import data, floor, loops, measure, memory, model, peers, report, throughput, vllm_offline
from known_unknowns.records import Image, Turn


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> loops.Settings:
    folder = model.ensure(tmp_path_factory.mktemp("bench"), "tiny", dtype="float32", device="cpu")
    return loops.Settings(folder, "cpu", "float32")


@pytest.fixture(scope="module")
def loaded(settings) -> loops.Loaded:
    return loops.Loaded(loops.load_model(settings), loops.load_processor(settings))


@pytest.fixture(scope="module")
def asked(tmp_path_factory) -> data.QuestionSet:
    return data.five_questions(tmp_path_factory.mktemp("images"), images=2, seed=7)


@pytest.fixture(scope="module")
def plain(loaded, asked) -> loops.Said:
    return loops.Plain(loaded, batch_size=1)(asked.turns, asked.folder)


def test_a_reply_is_a_letter_and_letters_differ(plain, settings):
    assert set(plain.texts) <= set("ABCDE")
    assert len(set(plain.texts)) > 1
    facts = json.loads((settings.checkpoint / "bench.json").read_text(encoding="utf-8"))
    assert min(facts["letter_margin"], facts["end_margin"]) > 5
    assert max(facts["letters"].values()) < 0.5


def test_a_finished_checkpoint_is_kept_and_another_is_created(settings):
    cache = settings.checkpoint.parent
    again = model.ensure(cache, "tiny", dtype="float32", device="cpu")
    weights = again / "model.safetensors"
    before = weights.stat().st_mtime_ns, weights.read_bytes()
    model.ensure(cache, "tiny", dtype="float32", device="cpu")
    assert weights.stat().st_mtime_ns == before[0]
    (again / "bench.json").unlink()
    model.ensure(cache, "tiny", dtype="float32", device="cpu")
    assert weights.stat().st_mtime_ns != before[0]
    assert weights.read_bytes() == before[1]  # drawn from a seed


def test_the_published_shape_has_the_published_number_of_parameters():
    """16,584,333,312 bytes of bfloat16, says the index of Qwen/Qwen2.5-VL-7B-Instruct."""
    shaped = model.make_model("qwen2.5-vl-7b-shape", model.make_tokenizer(), dtype="bfloat16", device="meta", seed=0)
    assert sum(weight.numel() * weight.element_size() for weight in shaped.parameters()) == 16_584_333_312


@pytest.mark.parametrize(
    "make",
    [
        lambda loaded, settings: loops.Ours(settings, name="ours", sharing="auto", note=""),
        lambda loaded, settings: loops.Ours(settings, name="ours", sharing="off", note=""),
        lambda loaded, settings: loops.Plain(loaded, batch_size=4),
        lambda loaded, settings: peers.HumbleBench(loaded),
        lambda loaded, settings: peers.VLMEvalKit(loaded),
    ],
)
def test_all_loops_give_the_same_replies(make, loaded, settings, asked, plain):
    said = make(loaded, settings)(asked.turns, asked.folder)
    assert said.texts == plain.texts
    assert said.visual_tokens == plain.visual_tokens == [357] * 5 + [391] * 5


def test_lmms_eval_sees_images_through_a_jpeg(loaded, tmp_path, asked):
    """Blocks of one grey are the same after it; the order of the questions is ours again afterwards."""
    turns = []
    for number, turn in enumerate(asked.turns[:5]):
        greys = np.random.default_rng(number).integers(0, 256, (14, 14), dtype=np.uint8).repeat(16, 0).repeat(16, 1)
        Pillow.fromarray(greys).save(tmp_path / f"{number}.png")
        sha256 = hashlib.sha256((tmp_path / f"{number}.png").read_bytes()).hexdigest()
        image = Image(f"{number}.png", sha256, 224, 224)
        turns.append(Turn(turn.question_id, turn.step, (image, turn.text), turn.labels))
    expected = loops.Plain(loaded, batch_size=1)(turns, tmp_path).texts
    assert len(set(expected)) > 1
    assert peers.LmmsEvalForm(loaded)(turns, tmp_path).texts == expected
    noisy = Pillow.open(asked.folder / asked.turns[0].images[0].source).convert("RGB")
    seen = peers._read_data_url(peers._data_url(noisy), peers.Limits.of(loaded.processor))
    assert seen.size == (588, 476)
    assert seen.tobytes() != peers.resize(noisy, peers.Limits.of(loaded.processor)).tobytes()


class StandInForVllm:
    """The interface of ``vllm.LLM`` and its outputs, around transformers: a test cannot install vLLM."""

    __version__ = "0"
    SamplingParams = SimpleNamespace

    def __init__(self, loaded: loops.Loaded) -> None:
        self.loaded, self.settings = loaded, {}

    def LLM(self, **settings):
        self.settings = settings
        return self

    def generate(self, asked, sampling, *, use_tqdm):
        assert (sampling.temperature, use_tqdm) == (0.0, False)
        answered = []
        for one in asked:
            images = [one["multi_modal_data"]["image"]]
            inputs = self.loaded.processor(text=[one["prompt"]], images=images, return_tensors="pt")
            said = loops.Said()
            loops.generate(self.loaded, inputs, said, max_new_tokens=sampling.max_tokens, do_sample=False)
            ids = inputs["input_ids"][0].tolist()
            answered.append(SimpleNamespace(outputs=[SimpleNamespace(text=said.texts[0])], prompt_token_ids=ids))
        return answered


def test_vllm_is_asked_the_same_prompts(loaded, settings, asked, plain, monkeypatch):
    stand_in = StandInForVllm(loaded)
    monkeypatch.setitem(sys.modules, "vllm", stand_in)
    said = vllm_offline.VllmOffline(settings, memory=0.4)(asked.turns, asked.folder)
    assert (said.texts, said.visual_tokens) == (plain.texts, plain.visual_tokens)
    assert stand_in.settings["model"] == str(settings.checkpoint) and stand_in.settings["enable_prefix_caching"]


def test_the_settings_for_videos_are_those_of_a_published_processor(settings):
    """vLLM loads the whole processor of Qwen2.5-VL, and fails without them."""
    described = json.loads((settings.checkpoint / "video_preprocessor_config.json").read_text(encoding="utf-8"))
    assert described["video_processor_type"] == "Qwen2VLVideoProcessor"
    assert (described["patch_size"], described["merge_size"], described["temporal_patch_size"]) == (14, 2, 2)


def test_cpu_seconds_include_those_of_running_child_processes():
    """vLLM's engine is a child process that runs until the end."""
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ntime.sleep(60)"
    before = measure.cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        spent = measure.cpu_seconds() - before
        child.kill()
    assert spent >= 0.45  # clock ticks of 0.01 s, and of the start less


def test_a_missing_vllm_is_named(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(SystemExit, match="needs the package vllm"):
        vllm_offline.VllmOffline(settings, memory=0.4)


def test_peers_pixels_by_hand():
    """594 x 473 are 21 x 17 tokens. At least 1280 tokens: both sides times sqrt(1003520 / 280962), rounded up."""
    image = Pillow.new("L", (594, 473))
    assert peers.resize(image, peers.Limits(56 * 56, 16384 * 784)).size == (21 * 28, 17 * 28)
    assert peers.resize(image, peers.VLMEVALKIT).size == (41 * 28, 32 * 28)
    assert peers.resize(Pillow.new("L", (256, 256)), peers.LMMS_EVAL).size == (16 * 28, 16 * 28)
    assert peers.resize(image, peers.VLMEVALKIT).mode == "RGB"


def test_variants_of_a_set_share_their_images(tmp_path):
    shuffles = data.five_shuffles(tmp_path, images=2, seed=1)
    assert len(shuffles.turns) == 10
    assert len({turn.images for turn in shuffles.turns}) == 2
    first = [turn.text.splitlines() for turn in shuffles.turns[:5]]
    assert len({lines[0] for lines in first}) == 1
    options = [[line[3:] for line in lines[1:6]] for lines in first]
    assert len({tuple(sorted(texts)) for texts in options}) == 1
    assert len({tuple(texts) for texts in options}) > 1
    noise = data.one_noise_image(tmp_path, questions=3, seed=1)
    assert len({turn.images for turn in noise.turns}) == 1
    with Pillow.open(tmp_path / noise.turns[0].images[0].source) as image:
        assert (image.size, image.mode) == ((256, 256), "L")
    single = data.one_question(tmp_path, images=3, seed=1)
    assert len({turn.images for turn in single.turns}) == 3
    gap = data.humblebench(tmp_path, "-E", questions=7, seed=1)
    assert [len(turn.labels) for turn in gap.turns] == [4] * 7
    assert gap.first(2).turns == gap.turns[:2]


def test_no_image_occurs_twice(tmp_path):
    """An engine caches images, so the images of another repeat or set would cost no time."""
    makers = data.makers(images=1, noise_questions=2, questions=5)
    sets = [make(tmp_path, seed, 1000) for make in makers.values() for seed in (0, 1, 100)]
    seen = [image for asked in sets for image in {turn.images[0].sha256 for turn in asked.turns}]
    # HumbleBench-GN uses the same image in all its sets, as published
    assert len(seen) - len(set(seen)) == 2
    assert len(makers["humblebench"](tmp_path, 0, 3).turns) == 3


def test_flops_by_hand(loaded):
    """10 x 14 patches are 5 x 7 tokens, so windows of 4 x 4, 4 x 3, 1 x 4 and 1 x 3 tokens of 4 patches."""
    flops = floor.Flops(loaded.model.config)
    assert sorted(flops.windows((10, 14))) == [12, 16, 48, 64]
    block, embedding, merger = 4 * 32**2 + 3 * 32 * 80, 1176 * 32, 128 * 128 + 128 * 64
    attended = 140**2 + 64**2 + 48**2 + 16**2 + 12**2
    assert flops.tower((10, 14)) == 2 * 140 * (2 * block + embedding) + 2 * 35 * merger + 4 * 32 * attended
    # three new tokens after five see 6, 7 and 8
    linear = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 160
    assert flops.language(3, 5) == 2 * (2 * linear * 3 + 4 * 64 * (6 + 7 + 8))
    assert flops.head() == 2 * 3072 * 64
    group = floor.Group((10, 14), 40, (3, 4))
    once = flops.tower((10, 14)) + flops.language(40)
    own = flops.language(3, 40) + flops.language(4, 40) + 2 * flops.head()
    assert flops.shared([group]) == once + own
    assert flops.language(43) == flops.language(40) + flops.language(3, 40)


def test_counted_flops_are_those_that_torch_executes(loaded, asked):
    flops = floor.Flops(loaded.model.config)
    one = asked.first(1)
    found = floor.groups(loaded.processor, one.turns, one.folder)
    executed = floor.executed_flops(lambda: loops.Plain(loaded, batch_size=1)(one.turns, one.folder))
    assert executed == pytest.approx(flops.unshared(found), rel=0.01)


def test_groups_have_the_lengths_of_the_prompts(loaded, asked):
    """Rows and columns of 14 pixels; and the prefix is the longest that all share."""
    found = floor.groups(loaded.processor, asked.turns, asked.folder)
    assert [group.grid for group in found] == [(34, 42), (34, 46)]
    prompts = []
    for turn in asked.turns[:5]:
        (conversation,) = [loops.Plain._conversation(turn, asked.folder)]
        inputs = loaded.processor.apply_chat_template(
            conversation, add_generation_prompt=True, tokenize=True, return_dict=True
        )
        prompts.append(inputs["input_ids"][0])
    assert [found[0].prefix + own for own in found[0].suffixes] == [len(prompt) for prompt in prompts]
    assert len({tuple(prompt[: found[0].prefix]) for prompt in prompts}) == 1
    assert len({tuple(prompt[: found[0].prefix + 1]) for prompt in prompts}) > 1


def test_matrix_rate_counts_every_weight_once_a_row(loaded):
    group = floor.Group((10, 14), 100, (30, 30))
    vision = 2 * (4 * 32**2 + 3 * 32 * 80)
    text = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 160)
    merger = 128 * 128 + 128 * 64
    by_hand = 2 * (140 * vision + 35 * merger + 100 * text + 2 * 3072 * 64)
    rate = floor.MatrixRate(loaded.model, group)
    assert rate.flops == by_hand
    assert rate.measure(least_seconds=0.0) > 0
    assert rate.measure_onednn(least_seconds=0.0) > 0


def said(*texts: str, gaps=None) -> loops.Said:
    return loops.Said(list(texts), [9] * len(texts), list(gaps or [None] * len(texts)))


@pytest.fixture
def measured(asked) -> measure.Measured:
    two = [asked.first(2), data.QuestionSet(asked.name, asked.folder, asked.turns[2:4])]
    theirs = measure.Record(two, least=1000, counted=100, executed=400)
    theirs.cpu_seconds = [8.0, 4.0]
    theirs.seconds, theirs.said = [4.0, 2.0], [said("A", "B"), said("C", "D")]
    ours = measure.Record([part.first(1) for part in two], least=500, counted=100, executed=125)
    ours.cpu_seconds = [0.5, 1.0]
    ours.seconds, ours.said = [0.5, 0.5], [said("a.", gaps=[2.0]), said("E", gaps=[0.01])]
    group = floor.Group((34, 42), 40, (3, 4))
    return measure.Measured(two, [group], {"ours": ours, measure.REFERENCE: theirs}, [100.0, 300.0], [400.0])


def test_loops_are_compared_with_the_batch_1_loop(measured, loaded):
    """By hand: the engine, asked half of each set, answers 2 a second; the other 0.5 and 1."""
    found = measure.summary(measured, floor.Flops(loaded.model.config))
    ours, theirs = found["loops"]["ours"], found["loops"][measure.REFERENCE]
    assert ours["questions_a_second"] == {"median": 2.0, "least": 2.0, "most": 2.0}
    assert theirs["questions_a_second"] == {"median": 0.75, "least": 0.5, "most": 1.0}
    assert ours["ratio_to_batch_1"] == {"median": pytest.approx(8 / 3), "least": 2.0, "most": 4.0}
    assert ours["cpu_seconds_a_question"] == {"median": 0.75, "least": 0.5, "most": 1.0}
    assert theirs["cpu_seconds_a_question"] == {"median": 3.0, "least": 2.0, "most": 4.0}
    assert ours["cpu_ratio_to_batch_1"] == {"median": 4.0, "least": 2.0, "most": 8.0}
    assert ours["share_of_floor"] == pytest.approx(500 / 200 / 0.5)
    assert ours["share_of_onednns_floor"] == pytest.approx(500 / 400 / 0.5)
    assert ours["useful_share"] == 0.8
    assert found["letters"] == {"A": 1, "B": 1, "C": 1, "D": 1}
    letters = ours["letters"]
    assert (letters["equal"], letters["of"], letters["flip_rate"]) == (1, 2, 0.5)
    assert letters["largest_gap_of_a_flip"] == 0.01
    assert [(flip["letter"], flip["reference"]) for flip in letters["flips"]] == [("E", "C")]
    assert letters["same_replies"] == 0  # "a." and "A" are one letter, and two replies
    assert theirs["letters"]["equal"] == theirs["letters"]["of"] == theirs["letters"]["same_replies"] == 4


def test_a_loop_without_probabilities_has_its_flips_gaps_from_one_that_has(measured):
    measured.records["third"] = measure.Record(measured.sets, least=1, seconds=[1.0, 1.0])
    measured.records["third"].said = [said("B", "B"), said("C", "")]
    letters = measure.compare(measured, "third")
    assert (letters["equal"], letters["of"]) == (2, 4)
    faster = measured.records["plain loop, batch 4"] = measured.records.pop("third")
    assert [round(rate, 9) for rate in faster.rates] == [2.0, 2.0]
    ratios = [measure._ratio_to_best_plain(measured, name) for name in measured.records]
    assert ratios == [1.0, 0.375, 1.0]
    assert [flip["gap"] for flip in letters["flips"]] == [2.0, None]  # the engine was not asked the last question


def test_table_and_projection(measured, loaded):
    found = measure.summary(measured, floor.Flops(loaded.model.config))
    result = {"sets": {f"humblebench{variant}": found for variant in ("", "-E", "-GN")}}
    head, _, row, *_, last = report.table(result).splitlines()
    assert row.count("|") == head.count("|")
    expected = "ours | 2.00 (2.00 to 2.00) | 2.67 (2.00 to 4.00) | 0.750 (0.500 to 1.000) | 4.00 (2.00 to 8.00) | "
    expected += "500% | 250% | 80% | 9 | 1 of 2, gaps up to 0.010"
    assert expected in row
    flops = floor.Flops(loaded.model.config)
    times = flops.unshared(measured.groups) / flops.shared(measured.groups)
    assert last.endswith(f"{measured.sets[0].name} {times:.2f}.")
    assert report.projection(result) == {"ours": 3 * 22831 / 2 / 60, measure.REFERENCE: 3 * 22831 / 0.75 / 60}
    assert report.projection({"sets": {"questions": found}}) == {}


def test_memory_growth_by_hand():
    peaks = [100, 150, *[160] * 9]
    found = [{"images": 50 * n, "resident_mib": 90, "peak_mib": peak} for n, peak in enumerate(peaks)]
    summary = memory.summary(found)
    assert (summary["loaded_mib"], summary["peak_mib"], summary["images"]) == (100, 160, 500)
    assert (summary["growth_after_a_tenth_mib"], summary["growth_after_half_mib"]) == (10, 0)
    assert "| ours | 500 | 100 MiB | 160 MiB | 10 MiB | 0 MiB |" in report.memory_table({"ours": summary})


def test_memory_is_measured_during_inference(tmp_path):
    counted = []

    def loop(turns, folder: Path):
        counted.append(len(turns))
        assert all((folder / turn.images[0].source).is_file() for turn in turns)

    found = memory.measurements(loop, tmp_path, images=60, questions=2)
    assert counted == [100, 20]
    assert [reading["images"] for reading in found] == [0, 50, 60]
    assert all(0 < reading["resident_mib"] <= reading["peak_mib"] for reading in found)
    assert not list((tmp_path / "images").iterdir())


def test_the_command(tmp_path, settings, capsys):
    """Two loops on a set, the plain one on a part of it: the numbers are written, and the letters are the same."""
    given = ["--quick", "--cache", str(settings.checkpoint.parent), "--out", str(tmp_path / "out" / "bench.json")]
    given += ["--loops", "plain-1", "ours", "--sets", "noise", "--noise-questions", "4", "--others", "3"]
    options = throughput.with_defaults(throughput.arguments().parse_args(given))
    assert (options.model, options.repeats) == ("tiny", 1)
    result = throughput.run(options)
    written = json.loads((tmp_path / "out" / "bench.json").read_text(encoding="utf-8"))
    found = written["sets"]["noise"]["loops"]
    assert all(spent > 0 for loop in found.values() for spent in loop["cpu_seconds"])
    assert (found["engine"]["questions"], found[measure.REFERENCE]["questions"]) == (4, 3)
    assert found["engine"]["letters"]["equal"] == found["engine"]["letters"]["of"] == 3
    assert result["letters_by_image"]["images"] == 3
    assert written["engines"]["engine"]["facts"]["engine"] == "transformers"
    assert "repeat 1: plain loop, batch 1" in capsys.readouterr().err
