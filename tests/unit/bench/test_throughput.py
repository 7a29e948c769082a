"""bench/throughput on a tiny model: questions, counts and comparisons; FLOPs computed by hand."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.throughput import (
    data,
    floor,
    launch_count,
    loops,
    measure,
    memory,
    model,
    random_model,
    report,
)


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


def test_the_published_shape_has_the_published_number_of_parameters():
    """16,584,333,312 bytes of bfloat16, says the index of Qwen/Qwen2.5-VL-7B-Instruct."""
    tokens = model.tokens_of(model.make_tokenizer())
    shaped = random_model.make_model("qwen2.5-vl-7b-shape", tokens, dtype="bfloat16", device="meta", seed=0)
    assert sum(weight.numel() * weight.element_size() for weight in shaped.parameters()) == 16_584_333_312


@pytest.mark.parametrize(
    "make",
    [
        lambda loaded, settings: loops.Ours(settings, name="ours", sharing="auto", note=""),
        lambda loaded, settings: loops.Plain(loaded, batch_size=4),
    ],
)
def test_all_loops_give_the_same_replies(make, loaded, settings, asked, plain):
    said = make(loaded, settings)(asked.turns, asked.folder)
    assert said.texts == plain.texts
    assert said.visual_tokens == plain.visual_tokens == [357] * 5 + [391] * 5


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
    return measure.Measured(
        two, [group], {"ours": ours, measure.REFERENCE: theirs}, [100.0, 300.0], [400.0], [200.0, 250.0]
    )


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
    # 500 FLOPs at 200 and 250 a CPU-second, of 0.5 and 1
    assert ours["cpu_share_of_onednns_floor"] == {"median": 3.5, "least": 2.0, "most": 5.0}
    assert ours["useful_share"] == 0.8
    assert found["letters"] == {"A": 1, "B": 1, "C": 1, "D": 1}
    letters = ours["letters"]
    assert (letters["equal"], letters["of"], letters["flip_rate"]) == (1, 2, 0.5)
    assert letters["largest_gap_of_a_flip"] == 0.01
    assert [(flip["letter"], flip["reference"]) for flip in letters["flips"]] == [("E", "C")]
    assert letters["same_replies"] == 0  # "a." and "A" are one letter, and two replies
    assert theirs["letters"]["equal"] == theirs["letters"]["of"] == theirs["letters"]["same_replies"] == 4


def test_a_table_has_the_columns_that_are_asked_for(measured, loaded):
    measured.records["ours"].launches = 1234.4
    found = {"sets": {"questions": measure.summary(measured, floor.Flops(loaded.model.config))}}
    header, _, ours, theirs = report.table(
        found, ("questions/s", "of the floor", "launches an image", "same letters")
    ).splitlines()
    assert header == "| set | loop | questions/s | of the floor | launches an image | same letters |"
    asked = "5 questions per image (2 x 2)"
    assert ours == f"| {asked} | ours | 2.00 (2.00 to 2.00) | 500% | 1,234 | 1 of 2, gaps up to 0.010 |"
    assert theirs.endswith("% |  | 4 of 4 |")  # not counted
    assert "launches" not in report.table(found)


def test_operators_stand_for_launches_on_a_cpu():
    ones = torch.ones(2)
    assert launch_count.launched(lambda: ones + ones, on_gpu=False) == 1


def test_memory_growth_by_hand():
    peaks = [100, 150, *[160] * 9]
    found = [{"images": 50 * n, "resident_mib": 90, "peak_mib": peak} for n, peak in enumerate(peaks)]
    summary = memory.summary(found)
    assert (summary["loaded_mib"], summary["peak_mib"], summary["images"]) == (100, 160, 500)
    assert (summary["growth_after_a_tenth_mib"], summary["growth_after_half_mib"]) == (10, 0)
    assert "| ours | 500 | 100 MiB | 160 MiB | 10 MiB | 0 MiB |" in report.memory_table({"ours": summary})
