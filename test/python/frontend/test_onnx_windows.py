# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows over images whose size the program finds, against PyTorch.

ONNX's reference pads pools with zeros, and some of them with too few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax

onnx = pytest.importorskip("onnx")

import torch  # noqa: E402
from onnx_models import RNG, graph, random  # noqa: E402
from relax_mlir.frontend.onnx import from_onnx  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812 (the name PyTorch uses)

# The size of the window, the strides and the dilations.
WINDOWS = {
    "3x3": ((3, 3), (2, 2), (1, 1)),
    "2x2": ((2, 2), (2, 2), (1, 1)),
    "7x7": ((7, 7), (2, 2), (1, 1)),
    "one": ((1, 1), (2, 2), (1, 1)),
    "apart": ((3, 2), (2, 3), (1, 1)),
    "dilated": ((5, 3), (2, 4), (2, 1)),
    "partly": ((3, 3), (1, 2), (1, 1)),
}
IMAGES = ((7, 8), (8, 7), (12, 9), (1, 1), (5, 6))


def sides(kind: str, extents: Any, window: str) -> list[int]:
    """The padding of auto_pad as PyTorch takes it: the last dimension first."""
    given = []
    for n, kernel, stride, dilation in zip(extents, *WINDOWS[window], strict=True):
        reach = (kernel - 1) * dilation + 1
        total = max(0, (-(-n // stride) - 1) * stride + reach - n)
        halves = [total // 2, total - total // 2]
        given.insert(0, halves if kind == "SAME_UPPER" else halves[::-1])
    return [one for pair in given for one in pair]


def attributes(kind: str, window: str, more: str = "") -> str:
    kernel, strides, dilations = map(list, WINDOWS[window])
    return (
        f'auto_pad = "{kind}", kernel_shape = {kernel}, strides = {strides}, '
        f"dilations = {dilations}{more}"
    )


def main_of(model: Any, exec_mode: str) -> Any:
    return relax.VirtualMachine(relax.compile(from_onnx(model), exec_mode=exec_mode))["main"]


def windows_of(x: Any, window: str, padding: list[int], value: float = 0.0) -> torch.Tensor:
    """The elements of each window as the second dimension; channels are in the batch."""
    kernel, strides, dilations = WINDOWS[window]
    padded = F.pad(torch.as_tensor(x), padding, value=value).flatten(0, 1)[:, None]
    for axis, (size, stride, dilation) in enumerate(
        zip(kernel, strides, dilations, strict=True), 2
    ):
        padded = padded.unfold(axis, (size - 1) * dilation + 1, stride)[..., ::dilation]
    return padded.flatten(4)[:, 0].unflatten(0, x.shape[:2])


@pytest.mark.parametrize("kind", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("window", WINDOWS)
def test_convolutions(exec_mode: str, window: str, kind: str) -> None:
    kernel, strides, dilations = WINDOWS[window]
    shape = f"float[4, 2, {kernel[0]}, {kernel[1]}]"
    model = graph(f"""(float[n, 2, h, w] x, {shape} k) => (float[n, 4, p, q] y) {{
      y = Conv<{attributes(kind, window)}>(x, k)
    }}""")
    main = main_of(model, exec_mode)
    for image in IMAGES:
        x, k = random(2, 2, *image), random(4, 2, *kernel)
        padded = F.pad(torch.tensor(x), sides(kind, image, window))
        wanted = F.conv2d(padded, torch.tensor(k), stride=strides, dilation=dilations)
        torch.testing.assert_close(torch.from_dlpack(main(x, k)), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("window", WINDOWS)
def test_pools(exec_mode: str, window: str, kind: str) -> None:
    how = attributes(kind, window)
    powers = "" if window == "dilated" else f"z = LpPool<{how}>(x)"
    outputs = ["float[n, 2, p, q] m", "float[n, 2, r, s] a", "float[n, 2, t, u] b"]
    outputs += ["float[n, 2, v, o] z"] if powers else []
    model = graph(
        f"""(float[n, 2, h, w] x) => ({", ".join(outputs)}) {{
      m = MaxPool<{how}>(x)
      a = AveragePool<{how}>(x)
      b = AveragePool<{how}, count_include_pad = 1>(x)
      {powers}
    }}""",
        opset=20,
    )
    main = main_of(model, exec_mode)
    for image in IMAGES:
        x = random(2, 2, *image) - 1
        padding = sides(kind, image, window)
        elements = windows_of(x, window, padding)
        counts = windows_of(np.ones_like(x), window, padding).sum(-1)
        wanted = [
            windows_of(x, window, padding, -np.inf).amax(-1),
            elements.sum(-1) / counts,
            elements.mean(-1),
            elements.square().sum(-1).sqrt(),
        ]
        results = [torch.from_dlpack(one) for one in main(x)]
        torch.testing.assert_close(results, wanted[: len(results)], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "how",
    [
        "strides = [2, 1], pads = [1, 0, 1, 1], dilations = [1, 2]",
        "strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1",
        'strides = [2, 3], auto_pad = "SAME_LOWER"',
    ],
)
def test_places_of_largest_elements(exec_mode: str, how: str, order: int) -> None:
    model = graph(f"""(float[n, 2, h, w] x) => (float[n, 2, p, q] y, int64[n, 2, p, q] i) {{
      y, i = MaxPool<kernel_shape = [3, 2], {how}, storage_order = {order}>(x)
    }}""")
    main = main_of(model, exec_mode)
    for shape in ((3, 2, 7, 6), (1, 2, 4, 9)):
        x = RNG.permutation(np.prod(shape)).astype("float32").reshape(shape)  # all are different
        y, i = (np.asarray(one) for one in main(x))
        rows = x if order == 0 else x.transpose(0, 1, 3, 2)
        np.testing.assert_array_equal(rows.reshape(-1)[i], y)
    _, i = (np.asarray(one) for one in main(np.zeros((1, 2, 7, 6), "float32")))
    assert i[0, 0, 0, 0] == 0 and i[0, 1, 0, 0] == 42  # of equal elements the first one


def test_convolutions_of_integers(exec_mode: str) -> None:
    """Padding is the zero point."""
    model = graph(f"""(uint8[1, 2, h, w] x, int8[3, 2, 3, 3] k) => (int32[1, 3, p, q] y) {{
      zero = Constant<value = uint8 {{7}}>()
      y = ConvInteger<{attributes("SAME_UPPER", "3x3")}>(x, k, zero)
    }}""")
    main = main_of(model, exec_mode)
    for image in IMAGES:
        x = RNG.integers(0, 256, (1, 2, *image)).astype("uint8")
        k = RNG.integers(-128, 128, (3, 2, 3, 3)).astype("int8")
        padded = F.pad(torch.tensor(x).double() - 7, sides("SAME_UPPER", image, "3x3"))
        wanted = F.conv2d(padded, torch.tensor(k).double(), stride=2)
        np.testing.assert_array_equal(np.asarray(main(x, k)), wanted.numpy().astype("int32"))


def test_shortcuts_have_the_size_of_what_they_are_added_to() -> None:
    """Both sizes are one expression: nothing is checked when the program runs."""
    model = graph(f"""(float[n, 2, h, w] x, float[4, 2, 3, 3] k, float[4, 2, 1, 1] l)
      => (float[n, 4, p, q] y) {{
      a = Conv<{attributes("SAME_UPPER", "3x3")}>(x, k)
      b = Conv<{attributes("SAME_UPPER", "one")}>(x, l)
      y = Add(a, b)
    }}""")
    text = str(from_onnx(model))
    assert "match_cast" not in text
    assert "-> !relax.tensor<[n, 4, (h + 1) floordiv 2, (w + 1) floordiv 2], f32>" in text


def test_padding_of_known_sizes_is_that_of_the_operator() -> None:
    model = graph(f"""(float[n, 2, 7, w] x, float[4, 2, 3, 3] k) => (float[n, 4, 4, 4] y) {{
      y = Conv<{attributes("SAME_UPPER", "3x3")}>(x, k)
    }}""")
    assert "padding = array<i64: 1, 0, 1, 0>" in str(from_onnx(model))
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_value = 8
    text = str(from_onnx(model))
    assert "padding = array<i64: 1, 0, 1, 1>" in text and "concat" not in text


def test_elements_are_put_back(exec_mode: str) -> None:
    model = graph("""(float[n, 2, h, w] x) => (float[n, 2, p, q] y) {
      m, i = MaxPool<kernel_shape = [3, 2]>(x)
      y = MaxUnpool<kernel_shape = [3, 2]>(m, i)
    }""")
    main = main_of(model, exec_mode)
    for image in ((7, 8), (3, 2), (5, 9)):
        x = random(2, 2, *image)
        pooled = F.max_pool2d(torch.tensor(x), (3, 2), 1, return_indices=True)
        wanted = F.max_unpool2d(*pooled, (3, 2), 1)
        torch.testing.assert_close(torch.from_dlpack(main(x)), wanted)
