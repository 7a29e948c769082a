"""bench/gpu: what it imports, its images, and its table, by hand."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from bench.gpu import benchmark, loops, prompts
from bench.throughput import floor, launch_count, random_model

SIZES = ((84, 56), (56, 112))


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> benchmark.Benchmark:
    size = benchmark.Size(images=1, noise_questions=3, part=2, repeats=1, shapes=SIZES)
    out = tmp_path_factory.mktemp("out")
    return benchmark.Benchmark(size, shape="tiny", device="cpu", dtype="float32", seconds=600, out=out)


def test_it_imports_torch_and_transformers_only():
    """A machine with a GPU may have neither pydantic nor Pillow. What functions import is for vLLM."""
    starts = ("bench.gpu.", "prefix_sharing")
    modules = [module for name, module in sys.modules.items() if name.startswith(starts)]
    modules += [floor, launch_count, random_model]
    packages: set[str] = set()
    for module in modules:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom):
                packages.add(str(statement.module))
            elif isinstance(statement, ast.Import):
                packages.update(alias.name for alias in statement.names)
    others = {name.partition(".")[0] for name in packages} - sys.stdlib_module_names
    assert others == {"bench", "prefix_sharing", "torch", "transformers"}
    of_bench = {name for name in packages if name.startswith("bench.")}
    assert of_bench <= {module.__name__ for module in modules} | {"bench.gpu", "bench.throughput"}


def test_patches_are_those_of_the_image_processor():
    pixels = torch.randint(256, (3, 56, 84), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    processor = Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 10**6})
    expected = processor(pixels.permute(1, 2, 0).numpy(), return_tensors="pt")
    assert expected["image_grid_thw"].tolist() == [[1, 4, 6]]
    torch.testing.assert_close(prompts.patches(pixels), expected["pixel_values"], rtol=0, atol=1e-5)


def test_a_set_has_new_images_for_another_seed():
    made = {"images": 2, "noise_questions": 3, "sizes": SIZES}
    first, other = (prompts.prompt_set("questions", seed=seed, **made) for seed in (1, 2))
    assert [(group.grid, len(group.suffixes)) for group in first.groups()] == [((4, 6), 5), ((8, 4), 5)]
    assert not torch.equal(first.images[0].pixels, other.images[0].pixels)
    assert len(prompts.prompt_set("noise", seed=1, **made).groups()) == 1
    assert [len(group.suffixes) for group in prompts.prompt_set("single", seed=1, **made).groups()] == [1] * 4


def test_all_loops_give_the_same_letters(bench):
    asked = prompts.prompt_set("questions", images=2, noise_questions=1, sizes=SIZES, seed=5)
    expected = bench.loops[0](asked)
    assert set(expected) <= set(prompts.TOKENS.letters) and len(set(expected)) > 1
    for loop in bench.loops[1:]:
        assert loop(asked) == expected, loop.name
    assert bench.engine.decoder.plans


def test_the_table_by_hand(bench, monkeypatch):
    """Four questions in 2 and 4 seconds; 100 FLOPs at 50 a second are 2 seconds of the bound."""
    monkeypatch.setattr(bench, "loops", [])
    monkeypatch.setattr(bench, "measured", [])
    asked = prompts.prompt_set("noise", images=1, noise_questions=4, sizes=SIZES, seed=1)
    steady = [benchmark.Repeat(asked, [0, 1, 2, 3], seconds, 100, (50.0, 25.0)) for seconds in (2.0, 4.0)]
    fast = [benchmark.Repeat(asked.first(2), [0, 1], seconds, 100, (50.0, 50.0)) for seconds in (1.9, 2.0)]
    disturbed = [benchmark.Repeat(asked.first(2), [0, 1], 1.9, 100, (50.0, 40.0))]
    measured = benchmark.Measured("noise", {benchmark.REFERENCE: steady, "fast": fast}, {"fast": 1234.4})
    bench.measured.append(measured)
    rows = bench.table().splitlines()[4:6]
    assert rows[0] == "| noise (4 x 2) | generate, batch 1 | 1.50 (1.00 to 2.00) | 75% (50% to 100%) |  | 8 of 8 |  |"
    assert (
        rows[1] == "| noise (2 x 2) | fast | 1.03 (1.00 to 1.05) | 103% (100% to 105%) | 1,234 | 4 of 4 | disturbed |"
    )
    measured.repeats["fast"] = disturbed
    assert bench.table().splitlines()[5].endswith("| 2 of 2 | disturbed |")
    measured.repeats["fast"] = [benchmark.Repeat(asked.first(2), [4, 1], 2.0, 100, (50.0, 40.0))]
    assert "| 1 of 2, gaps up to " in bench.table().splitlines()[5]


def test_the_time_limit_leaves_what_was_measured(bench, monkeypatch):
    monkeypatch.setattr(bench, "measured", [])
    monkeypatch.setattr(bench, "remarks", [])
    monkeypatch.setattr(bench, "_deadline", 0.0)
    bench.run()
    assert 'The time limit ended the run in the set "5 questions an image".' in (bench.out / "gpu.md").read_text()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('no kernels')", "RuntimeError: no kernels"),
        ("import os; os.abort()", "vLLM cannot be imported"),
    ],
)
def test_an_import_of_vllm_that_fails_leaves_it_out(tmp_path, monkeypatch, code, reason):
    (tmp_path / "vllm.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert reason in loops.vllm_fault()
