"""Linear layers by oneDNN: equal results, used only on processors where they are faster."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from prefix_sharing import check, linear

HERE = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")


@pytest.fixture
def faster(monkeypatch):
    """Whatever the machine, and however few the tokens."""
    monkeypatch.setattr(linear, "_is_faster", lambda dtype, packed: True)
    monkeypatch.setattr(linear, "_MIN_TOKENS", 1)


def model(dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(0)
    layers = torch.nn.Linear(24, 40), torch.nn.GELU(), torch.nn.Linear(40, 8, bias=False)
    return torch.nn.Sequential(*layers).to(dtype)


@HERE
@pytest.mark.parametrize("memory", [2**40, 2**10], ids=["packed", "not packed"])
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-6), (torch.bfloat16, 4e-3)])
@torch.inference_mode()
def test_the_product_equals_torchs(faster, monkeypatch, dtype, near, memory):
    monkeypatch.setattr(linear, "_total_memory", lambda: memory)
    plain = model(dtype)
    quick = copy.deepcopy(plain)
    assert linear.use_onednn(quick) == ("onednn, packed" if memory == 2**40 else "onednn")
    for shape in ((1, 24), (3, 5, 24), (70, 24)):
        inputs = torch.randn(shape).to(dtype)
        torch.testing.assert_close(quick(inputs), plain(inputs), atol=near, rtol=near)


@HERE
@torch.inference_mode()
def test_upcast_weights_are_used_unchanged(faster):
    """The check against generate casts them up for a while; what was packed before are others."""
    quick = model(torch.bfloat16)
    assert linear.use_onednn(quick) == "onednn, packed"
    inputs = torch.randn(9, 24)
    expected = copy.deepcopy(model(torch.bfloat16)).float()(inputs)
    before = quick(inputs.bfloat16())
    with check.in_float32(quick):
        torch.testing.assert_close(quick(inputs), expected)
    assert torch.equal(quick(inputs.bfloat16()), before)


@torch.inference_mode()
def test_few_tokens_use_torchs_product(monkeypatch):
    monkeypatch.setattr(linear, "_is_faster", lambda dtype, packed: True)
    asked = []
    monkeypatch.setattr(linear, "onednn_agrees", lambda dtype: True)
    monkeypatch.setattr(linear, "pack_weight", lambda weight: weight)
    monkeypatch.setattr(linear, "onednn_linear", lambda inputs, weight, bias: asked.append(inputs.shape) or inputs)
    layer = torch.nn.Linear(8, 8)
    linear.use_onednn(layer)
    for rows in (1, linear._MIN_TOKENS - 1, linear._MIN_TOKENS):
        layer(torch.zeros(rows, 8))
    layer(torch.zeros(2, linear._MIN_TOKENS // 2, 8))
    assert asked == [(linear._MIN_TOKENS, 8), (2, linear._MIN_TOKENS // 2, 8)]


def gone(*_):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def another(inputs, weight, bias):
    return torch.nn.functional.linear(inputs, weight, bias) + 0.1


@pytest.mark.parametrize("product", [gone, another])
def test_without_the_torch_operator_torchs_product_is_used(faster, monkeypatch, product):
    monkeypatch.setattr(linear, "onednn_linear", product)
    layers = model(torch.float32)
    assert linear.use_onednn(layers) == "torch"
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
    monkeypatch.setattr(linear, "_is_intel", lambda: intel)
    monkeypatch.setattr(linear, "_supports_bfloat16", lambda: True)
    assert linear._is_faster(dtype, packed=packed) is expected


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
