"""Convolutions of bytes and of bfloat16 by constants, against PyTorch in double precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401 (NumPy has bfloat16 then)
import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.native import describe_target

FEATURES = describe_target().features
HAS_BYTES = "avx512vnni" in FEATURES
HAS_BFLOATS = "avx512bf16" in FEATURES and "avx512fp16" not in FEATURES

# Image, weights, attributes.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 5, 9, 8), (6, 5, 1, 1), {}),
    ((2, 5, 9, 8), (6, 5, 1, 1), {"strides": (2, 1)}),
    ((1, 4, 9, 8), (7, 4, 3, 3), {"padding": (1, 0, 2, 1), "strides": (2, 2)}),
    ((2, 3, 9, 9), (4, 3, 3, 2), {"padding": (1, 1, 1, 1), "dilation": (2, 3)}),
    ((1, 3, 30, 31), (16, 3, 7, 7), {"padding": (3, 3, 3, 3), "strides": (2, 2)}),
    ((1, 64, 20, 20), (64, 64, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((1, 300, 14, 14), (40, 300, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((1, 16, 20, 20), (32, 8, 3, 3), {"padding": (1, 1, 1, 1), "groups": 2}),
    # Output channels of a group: less than a panel has, several panels, a panel of many vectors.
    ((2, 14, 9, 12), (48, 7, 3, 3), {"padding": (1, 1, 1, 1), "groups": 2}),
    ((1, 12, 9, 17), (64, 6, 3, 3), {"strides": (2, 2), "groups": 2}),
    ((1, 10, 8, 9), (160, 5, 2, 3), {"padding": (1, 0, 1, 2), "groups": 2}),
    # Images of few channels whose rows are whole vectors.
    ((2, 3, 21, 32), (20, 3, 3, 3), {"padding": (1, 1, 1, 1), "strides": (2, 2)}),
    ((1, 4, 9, 34), (40, 4, 2, 3), {}),
    ((1, 8, 11, 12), (32, 4, 5, 5), {"padding": (2, 2, 2, 2), "groups": 2}),
    ((1, 8, 9, 9), (32, 4, 3, 6), {"groups": 2}),
    ((1, 1, 20, 20), (32, 1, 5, 5), {"padding": (1, 1, 1, 1), "strides": (3, 3)}),
    ((0, 4, 9, 8), (7, 4, 3, 3), {}),
    ((1, 64, 20, 20), (64, 64, 1, 1), {}),
    ((1, 2050, 5, 5), (24, 2050, 1, 1), {}),
    # The last vectors have one to four pixels.
    ((2, 33, 7, 7), (40, 33, 1, 1), {}),
    ((1, 70, 3, 6), (24, 70, 1, 1), {}),
    ((1, 300, 7, 5), (15, 300, 1, 1), {}),
    # Channels are lanes: several images, many blocks of pixels, panels that are not full.
    ((1, 2051, 7, 5), (24, 2051, 1, 1), {}),
    ((2, 515, 14, 14), (40, 515, 1, 1), {}),
    ((3, 1030, 13, 19), (33, 1030, 1, 1), {}),
    ((1, 3000, 29, 13), (16, 3000, 1, 1), {}),
    ((0, 515, 14, 14), (40, 515, 1, 1), {}),
    ((1, 9, 14, 14), (8, 9, 3, 3), {"padding": (1, 1, 1, 1)}),
    # Words of columns: the last ones reach beyond the window, or do not.
    ((1, 3, 9, 40), (20, 3, 1, 9), {"padding": (0, 4, 0, 4)}),
    ((2, 2, 9, 20), (24, 2, 3, 6), {"padding": (1, 2, 1, 3), "strides": (2, 1)}),
    ((1, 3, 12, 30), (40, 3, 4, 8), {"padding": (1, 3, 2, 4), "strides": (1, 2)}),
    ((2, 2, 9, 20), (24, 2, 3, 4), {"dilation": (1, 3)}),
]
DEPTHWISE = [
    ((2, 6, 9, 11), (6, 1, 3, 3), {"padding": (1, 1, 1, 1), "groups": 6}),
    ((1, 6, 19, 37), (12, 1, 5, 3), {"padding": (2, 0, 1, 2), "strides": (2, 2), "groups": 6}),
    ((1, 4, 30, 20), (4, 1, 2, 2), {"dilation": (3, 2), "strides": (3, 1), "groups": 4}),
    ((1, 2, 9, 9), (32, 1, 3, 3), {"groups": 2}),
    ((1, 3, 12, 40), (3, 1, 8, 8), {"padding": (7, 7, 7, 7), "groups": 3}),
    ((1, 3, 12, 40), (3, 1, 9, 8), {"groups": 3}),
    ((1, 5, 0, 4), (5, 1, 3, 3), {"padding": (2, 2, 2, 2), "groups": 5}),
    # Words whose columns are not next to each other, and too far from it.
    ((1, 2, 9, 60), (2, 1, 3, 5), {"dilation": (1, 8), "groups": 2}),
    ((1, 2, 9, 99), (2, 1, 3, 3), {"dilation": (1, 20), "strides": (1, 2), "groups": 2}),
    ((1, 2, 9, 99), (2, 1, 3, 3), {"strides": (1, 5), "groups": 2}),
]
SIGNS = [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8")]


def program(
    shape: tuple[Any, ...], weight: np.ndarray, dtypes: tuple[str, str], **attributes: Any
) -> relax.IRModule:
    x = relax.Var("x", relax.TensorStructInfo(shape, dtypes[0]))
    total = "float32" if dtypes[0] == "bfloat16" else "int32"
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        constant = relax.const(weight.astype(np.dtype(dtypes[1])))
        made = op.nn.conv2d(x, constant, out_dtype=total, **attributes)
        bb.emit_func_output(made)
    return bb.get()


def convolved(x: np.ndarray, weight: np.ndarray, **attributes: Any) -> np.ndarray:
    top, left, bottom, right = attributes.get("padding", (0, 0, 0, 0))
    padded = torch.nn.functional.pad(torch.tensor(x).double(), (left, right, top, bottom))
    result = torch.nn.functional.conv2d(
        padded, torch.tensor(weight).double(), stride=attributes.get("strides", 1),
        dilation=attributes.get("dilation", 1), groups=attributes.get("groups", 1),
    )  # fmt: skip
    return result.numpy()


def check(
    case: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], x: np.ndarray,
    weight: np.ndarray, dtypes: tuple[str, str], mode: str,
) -> None:  # fmt: skip
    shape, _, attributes = case
    wanted = convolved(x, weight, **attributes)
    given = torch.tensor(x).bfloat16() if dtypes[0] == "bfloat16" else x.astype(dtypes[0])
    for sizes in (shape, ("n", shape[1], "h", "w")):
        mod = program(sizes, weight, dtypes, **attributes)
        vm = relax.VirtualMachine(relax.compile(mod, exec_mode=mode), relax.cpu())
        result = np.from_dlpack(vm["main"](given))
        assert result.shape == wanted.shape
        if dtypes[0] == "bfloat16":
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-4)
        else:
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtypes", SIGNS)
@pytest.mark.parametrize("case", [*CASES, *DEPTHWISE])
def test_bytes(case: Any, dtypes: tuple[str, str], exec_mode: str) -> None:
    rng = np.random.default_rng(0)
    ranges = {"int8": (-128, 127), "uint8": (0, 255)}
    x, weight = (
        rng.integers(*ranges[dtype], shape, endpoint=True)
        for dtype, shape in zip(dtypes, case[:2], strict=True)
    )
    check(case, x, weight, dtypes, exec_mode)


@pytest.mark.parametrize("case", [*CASES, *DEPTHWISE])
def test_bfloats(case: Any, exec_mode: str) -> None:
    rng = np.random.default_rng(0)
    x, weight = (
        torch.tensor(rng.standard_normal(shape)).bfloat16().float().numpy() for shape in case[:2]
    )
    check(case, x, weight, ("bfloat16", "bfloat16"), exec_mode)


@pytest.mark.parametrize("strides", [1, 2])
def test_neighbors_outside_of_windows_do_not_count(strides: int, exec_mode: str) -> None:
    # A word has more columns than are left of a window, so those count as zeros.
    x = np.ones((1, 1, 3, 40), "float32")
    x[0, 0, :, 7] = np.inf
    x[0, 0, :, 20] = np.nan
    x = np.concatenate([x, x[:, :, ::-1, ::-1]], 1)
    weight = np.ones((2, 1, 3, 3), "float32")
    case = (x.shape, weight.shape, {"groups": 2, "strides": (1, strides)})
    check(case, x, weight, ("bfloat16", "bfloat16"), exec_mode)


@pytest.mark.parametrize("columns", [3, 4])
def test_elements_beyond_windows_do_not_count(columns: int, exec_mode: str) -> None:
    x = np.ones((1, 1, 3, 40), "float32")
    x[0, 0, :, 7] = np.inf
    x[0, 0, :, 20] = np.nan
    weight = np.ones((16, 1, 3, columns), "float32")
    case = (x.shape, weight.shape, {"padding": (1, 0, 1, 2)})
    check(case, x, weight, ("bfloat16", "bfloat16"), exec_mode)


@pytest.mark.parametrize("case", DEPTHWISE)
def test_largest_sums_of_bytes(case: Any, exec_mode: str) -> None:
    """Sums of unsigned bytes are computed as floats, which have all of them."""
    x, weight = (np.full(shape, 255) for shape in case[:2])
    check(case, x, weight, ("uint8", "uint8"), exec_mode)


def kernel_of(dtypes: tuple[str, str]) -> list[str]:
    """Return the name of the kernel of a convolution, which says whether weights are packed."""
    mod = program((1, 16, 9, 9), np.ones((16, 16, 3, 3), "float32"), dtypes)
    kernels = relax.compile(mod, exec_mode="bytecode").kernels
    return [each for each in kernels if "conv2d" in each]


@pytest.mark.skipif(not HAS_BYTES, reason="this processor has no VNNI of AVX-512")
def test_weights_of_bytes_are_packed() -> None:
    assert kernel_of(("uint8", "int8")) == ["conv2d_packed"]
    # Where both are signed, nothing moves the image.
    assert kernel_of(("int8", "int8")) == ["conv2d"]


@pytest.mark.skipif(not HAS_BFLOATS, reason="this processor has no fast dot product of bfloat16")
def test_weights_of_bfloats_are_packed() -> None:
    assert kernel_of(("bfloat16", "bfloat16")) == ["conv2d_packed"]
