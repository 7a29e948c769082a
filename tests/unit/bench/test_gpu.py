"""bench/gpu on a tiny model: all loops give the same letters."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.gpu import benchmark, prompts

SIZES = ((84, 56), (56, 112))


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> benchmark.Benchmark:
    size = benchmark.Size(images=1, noise_questions=3, part=2, repeats=1, shapes=SIZES)
    out = tmp_path_factory.mktemp("out")
    return benchmark.Benchmark(size, shape="tiny", device="cpu", dtype="float32", seconds=600, out=out)


def test_all_loops_give_the_same_letters(bench):
    asked = prompts.prompt_set("questions", images=2, noise_questions=1, sizes=SIZES, seed=5)
    expected = bench.loops[0](asked)
    assert set(expected) <= set(prompts.TOKENS.letters) and len(set(expected)) > 1
    for loop in bench.loops[1:]:
        assert loop(asked) == expected, loop.name
    assert bench.engine.decoder.plans
