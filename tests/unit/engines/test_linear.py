"""Linear layers by oneDNN: equal results, used only on processors where they are faster."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from known_unknowns.engines import _linear
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from prefix_sharing import check
from tests.unit.engines import tiny

HERE = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")


@pytest.fixture
def faster(monkeypatch):
    """Whatever the machine, and however few the tokens."""
    monkeypatch.setattr(_linear, "_is_faster", lambda dtype, packed: True)
    monkeypatch.setattr(_linear, "_MIN_TOKENS", 1)


def model(dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(0)
    layers = torch.nn.Linear(24, 40), torch.nn.GELU(), torch.nn.Linear(40, 8, bias=False)
    return torch.nn.Sequential(*layers).to(dtype)


@HERE
@pytest.mark.parametrize("memory", [2**40, 2**10], ids=["packed", "not packed"])
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-6), (torch.bfloat16, 4e-3)])
@torch.inference_mode()
def test_the_product_equals_torchs(faster, monkeypatch, dtype, near, memory):
    monkeypatch.setattr(_linear, "_total_memory", lambda: memory)
    plain = model(dtype)
    quick = copy.deepcopy(plain)
    assert _linear.use_onednn(quick) == ("onednn, packed" if memory == 2**40 else "onednn")
    for shape in ((1, 24), (3, 5, 24), (70, 24)):
        inputs = torch.randn(shape).to(dtype)
        torch.testing.assert_close(quick(inputs), plain(inputs), atol=near, rtol=near)


@HERE
@torch.inference_mode()
def test_upcast_weights_are_used_unchanged(faster):
    """The check against generate casts them up for a while; what was packed before are others."""
    quick = model(torch.bfloat16)
    assert _linear.use_onednn(quick) == "onednn, packed"
    inputs = torch.randn(9, 24)
    expected = copy.deepcopy(model(torch.bfloat16)).float()(inputs)
    before = quick(inputs.bfloat16())
    with check.in_float32(quick):
        torch.testing.assert_close(quick(inputs), expected)
    assert torch.equal(quick(inputs.bfloat16()), before)


@torch.inference_mode()
def test_few_tokens_use_torchs_product(monkeypatch):
    monkeypatch.setattr(_linear, "_is_faster", lambda dtype, packed: True)
    asked = []
    monkeypatch.setattr(_linear, "onednn_agrees", lambda dtype: True)
    monkeypatch.setattr(_linear, "pack_weight", lambda weight: weight)
    monkeypatch.setattr(_linear, "onednn_linear", lambda inputs, weight, bias: asked.append(inputs.shape) or inputs)
    layer = torch.nn.Linear(8, 8)
    _linear.use_onednn(layer)
    for rows in (1, _linear._MIN_TOKENS - 1, _linear._MIN_TOKENS):
        layer(torch.zeros(rows, 8))
    layer(torch.zeros(2, _linear._MIN_TOKENS // 2, 8))
    assert asked == [(_linear._MIN_TOKENS, 8), (2, _linear._MIN_TOKENS // 2, 8)]


def gone(*_):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def another(inputs, weight, bias):
    return torch.nn.functional.linear(inputs, weight, bias) + 0.1


@pytest.mark.parametrize("product", [gone, another])
def test_without_the_torch_operator_torchs_product_is_used(faster, monkeypatch, product):
    monkeypatch.setattr(_linear, "onednn_linear", product)
    layers = model(torch.float32)
    assert _linear.use_onednn(layers) == "torch"
    assert all("forward" not in vars(layer) for layer in layers)


@pytest.mark.parametrize(
    ("dtype", "capability", "intel", "packed", "expected"),
    [
        (torch.float32, "AVX512", False, False, True),
        (torch.float32, "AVX512", True, True, False),  # MKL uses all of Intel's own
        (torch.float32, "AVX2", False, True, False),  # there is no more to use
        (torch.bfloat16, "AVX512", True, True, True),
        (torch.bfloat16, "AVX512", True, False, False),  # torch asks oneDNN itself
        (torch.float16, "AVX512", False, True, False),
    ],
)
def test_where_it_is_faster(monkeypatch, dtype, capability, intel, packed, expected):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    for backend in (torch.backends.mkldnn, torch.backends.mkl):
        monkeypatch.setattr(backend, "is_available", lambda: True)
    monkeypatch.setattr(_linear, "_is_intel", lambda: intel)
    monkeypatch.setattr(_linear, "_supports_bfloat16", lambda: True)
    assert _linear._is_faster(dtype, packed=packed) is expected


@HERE
@pytest.mark.parametrize("name", ["qwen2.5-vl", "llava", "idefics3", "mllama"])
def test_an_engine_replies_the_same(faster, monkeypatch, tmp_path, name):
    """Shared prefixes too, whose check against generate is made with the same layers."""
    image = recipe_image("normal-noise", 64, 32, 1)
    texts = ("What is it?\nA. Red\nB. Blue", "Is it near?\nA. Yes\nB. No\nC. Both", "How many?\nA. One\nB. Two")
    turns = [Turn(str(k), "answer", (image, text), ("A", "B"), max_new_tokens=4) for k, text in enumerate(texts)]
    tiny.build(name, tmp_path)

    def replies(engine):
        pairs = sorted((pair for batch in engine.answer(turns, folder=Path()) for pair in batch), key=lambda it: it[0])
        return [dataclasses.replace(reply, seconds=0.0) for _, reply in pairs]

    quick = tiny.engine(name, tmp_path, sharing="on")
    assert quick.about["linear_layers"] == "onednn, packed"
    found = replies(quick)
    assert quick.about["sharing"]["fell_back"] == []
    monkeypatch.setattr(_linear, "_is_faster", lambda dtype, packed: False)
    plain = tiny.engine(name, tmp_path, sharing="off", batch_size=1)
    assert plain.about["linear_layers"] == "torch"
    for reply, expected in zip(found, replies(plain), strict=True):
        assert dataclasses.replace(reply, logprobs=None) == dataclasses.replace(expected, logprobs=None)
        assert reply.logprobs == pytest.approx(expected.logprobs, abs=2e-5)
