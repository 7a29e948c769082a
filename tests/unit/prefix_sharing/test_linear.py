"""Linear layers by oneDNN: equal results, used only on processors where they are faster."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from prefix_sharing import check, linear
from prefix_sharing.linear import MIN_TOKENS

HERE = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")
BFLOAT16 = pytest.mark.skipif(not linear.this_machine().bfloat16, reason="oneDNN has no bfloat16 on this machine")
FASTER = linear.Machine(onednn=True, mkl=True, intel=False, avx512=True, bfloat16=True, memory=2**40)
SMALL = replace(FASTER, memory=2**10)


def model(dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(0)
    layers = torch.nn.Linear(24, 40), torch.nn.GELU(), torch.nn.Linear(40, 8, bias=False)
    return torch.nn.Sequential(*layers).to(dtype)


@HERE
@pytest.mark.parametrize(
    ("dtype", "near", "machine", "implementation"),
    [
        (torch.float32, 1e-6, FASTER, "onednn, packed"),
        (torch.float32, 1e-6, SMALL, "onednn"),
        pytest.param(torch.bfloat16, 4e-3, FASTER, "onednn, packed", marks=BFLOAT16),
        (torch.bfloat16, 4e-3, SMALL, "torch"),
    ],
)
@torch.inference_mode()
def test_the_product_equals_torchs(dtype, near, machine, implementation):
    plain = model(dtype)
    quick = copy.deepcopy(plain)
    assert linear.use_onednn(quick, machine) == implementation
    for shape in ((1, 24), (2, MIN_TOKENS // 2, 24), (MIN_TOKENS + 6, 24)):
        inputs = torch.randn(shape).to(dtype)
        torch.testing.assert_close(quick(inputs), plain(inputs), atol=near, rtol=near)


@torch.inference_mode()
def test_this_machine_multiplies_as_torch_does():
    plain = model(torch.float32)
    quick = copy.deepcopy(plain)
    assert linear.use_onednn(quick) in ("torch", "onednn, packed")
    inputs = torch.randn(MIN_TOKENS, 24)
    torch.testing.assert_close(quick(inputs), plain(inputs), atol=1e-6, rtol=1e-6)


@HERE
@BFLOAT16
@torch.inference_mode()
def test_upcast_weights_are_used_unchanged():
    """The check against generate casts them up for a while; what was packed before are others."""
    quick = model(torch.bfloat16)
    assert linear.use_onednn(quick, FASTER) == "onednn, packed"
    inputs = torch.randn(MIN_TOKENS, 24)
    expected = copy.deepcopy(model(torch.bfloat16)).float()(inputs)
    before = quick(inputs.bfloat16())
    with check.in_float32(quick):
        torch.testing.assert_close(quick(inputs), expected)
    assert torch.equal(quick(inputs.bfloat16()), before)


@torch.inference_mode()
def test_few_tokens_use_torchs_product(monkeypatch):
    asked = []
    monkeypatch.setattr(linear, "onednn_agrees", lambda dtype: True)
    monkeypatch.setattr(linear, "pack_weight", lambda weight: weight)
    monkeypatch.setattr(linear, "onednn_linear", lambda inputs, weight, bias: asked.append(inputs.shape) or inputs)
    layer = torch.nn.Linear(8, 8)
    linear.use_onednn(layer, FASTER)
    for rows in (1, MIN_TOKENS - 1, MIN_TOKENS):
        layer(torch.zeros(rows, 8))
    layer(torch.zeros(2, MIN_TOKENS // 2, 8))
    assert asked == [(MIN_TOKENS, 8), (2, MIN_TOKENS // 2, 8)]


def gone(*_):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def another(inputs, weight, bias):
    return torch.nn.functional.linear(inputs, weight, bias) + 0.1


@pytest.mark.parametrize("product", [gone, another])
def test_without_the_torch_operator_torchs_product_is_used(monkeypatch, product):
    monkeypatch.setattr(linear, "onednn_linear", product)
    layers = model(torch.float32)
    assert linear.use_onednn(layers, FASTER) == "torch"
    assert all("forward" not in vars(layer) for layer in layers)


@pytest.mark.parametrize(
    ("dtype", "machine", "expected"),
    [
        (torch.float32, SMALL, "onednn"),
        (torch.float32, replace(FASTER, intel=True), "torch"),  # MKL uses all of Intel's own
        (torch.float32, replace(FASTER, avx512=False), "torch"),  # there is no more to use
        (torch.float32, replace(FASTER, onednn=False), "torch"),
        (torch.bfloat16, replace(FASTER, intel=True), "onednn, packed"),
        (torch.bfloat16, SMALL, "torch"),  # torch asks oneDNN itself
        (torch.bfloat16, replace(FASTER, bfloat16=False), "torch"),
        (torch.float16, FASTER, "torch"),
    ],
)
def test_where_it_is_faster(dtype, machine, expected):
    assert machine.implementation(dtype, nbytes=2**20) == expected


@pytest.mark.parametrize("kind", [torch.nn.Conv2d, torch.nn.Conv3d])
@pytest.mark.parametrize("bias", [True, False])
@torch.inference_mode()
def test_a_convolution_of_one_patch_is_a_product_and_any_other_is_left_alone(kind, bias):
    size = (2, 7, 7)[-(3 if kind is torch.nn.Conv3d else 2) :]
    plain = torch.nn.Sequential(kind(3, 16, kernel_size=size, stride=size, bias=bias))
    quick = copy.deepcopy(plain)
    linear.multiply_patches(quick)
    patches, image = torch.randn(50, 3, *size), torch.randn(2, 3, *(2 * length for length in size))
    torch.testing.assert_close(quick(patches), plain(patches), atol=1e-5, rtol=1e-5)
    assert torch.equal(quick(image), plain(image))
    padded = torch.nn.Sequential(kind(3, 16, kernel_size=size, padding=1))
    linear.multiply_patches(padded)
    assert padded(patches).shape[2:] != (1,) * len(size)
