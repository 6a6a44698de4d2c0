# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queries, keys and values that are parts of one permuted product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import SplitBeforePermuteDims
from rewriting_cases import arrays, build, check, names, run, tensor

ORDER = [2, 0, 3, 1, 4]
PARTS = ["get_item", "reshape", "permute_dims"]


def heads(x: Any, count: int = 3, heads: Any = 2, order: Any = ORDER) -> Any:
    """A tensor of `[b, n, count * heads * depth]` as one of `[count, b, heads, n, depth]`."""
    b, n = x.struct_info.shape[:2]
    return op.permute_dims(op.reshape(x, [b, n, count, heads, 4]), order)


def part(x: Any, i: int, axis: int = 0) -> Any:
    return op.strided_slice(x, [axis], [i], [i + 1])


def squeezed(x: Any, i: int) -> Any:
    return op.squeeze(part(x, i), [0])


def taken(x: Any, i: int) -> Any:
    return op.take(x, relax.const(i, "int64"), axis=0)


def attend(take: Any, x: Any) -> Any:
    q, k, v = (take(x, i) for i in range(3))
    scores = op.nn.softmax(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])), axis=-1)
    return op.matmul(scores, v)


@pytest.mark.parametrize("take", [squeezed, taken])
@pytest.mark.parametrize("shape", [(2, 5, 24), ("b", "n", 24)])
def test_parts_are_split_first(take: Any, shape: Any) -> None:
    mod = build(lambda x: attend(take, heads(x)), tensor("x", *shape))
    wanted = ["split", *3 * PARTS, "permute_dims", "matmul", "softmax", "matmul"]
    check(SplitBeforePermuteDims(), mod, wanted, b=2, n=5)


@pytest.mark.parametrize(
    ("write", "wanted"),
    [
        # The axis stays where something needs it.
        (lambda y: op.add(part(y, 0), part(y, 1)), [*2 * [*PARTS, "expand_dims"], "add"]),
        (
            lambda y: op.add(op.squeeze(part(y, 1), [0]), op.sum(part(y, 0), [0])),
            [*PARTS, *PARTS, "expand_dims", "sum", "add"],
        ),
        # A part may be taken twice.
        (
            lambda y: op.add(op.subtract(squeezed(y, 0), squeezed(y, 1)), squeezed(y, 0)),
            [*2 * PARTS, "subtract", *PARTS, "add"],
        ),
    ],
)
def test_parts_with_their_axis(write: Any, wanted: list[str]) -> None:
    mod = build(lambda x: write(heads(x, 2, 3)), tensor("x", "b", "n", 24))
    check(SplitBeforePermuteDims(), mod, ["split", *wanted], b=2, n=3)


@pytest.mark.parametrize("order", [[0, 2, 1, 4, 3], [4, 3, 2, 1, 0], [1, 2, 0, 3, 4]])
def test_parts_along_other_axes(order: list[int]) -> None:
    axis = order.index(2)
    mod = build(
        lambda x: op.add(*(part(heads(x, 2, 3, order), i, axis) for i in (1, 0))),
        tensor("x", 2, "n", 24),
    )
    # Both are permuted first, each for itself.
    assert names(SplitBeforePermuteDims()(mod)) == names(mod)

    def write(x: Any) -> Any:
        y = heads(x, 2, 3, order)
        return op.add(part(y, 1, axis), part(y, 0, axis))

    wanted = ["split", *2 * [*PARTS, "expand_dims"], "add"]
    check(SplitBeforePermuteDims(), build(write, tensor("x", 2, "n", 24)), wanted, n=3)


def is_used(y: Any) -> Any:
    return op.add(op.add(part(y, 0), part(y, 1)), op.sum(y, [0], keepdims=True))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: part(heads(x, 2, 3), 0),  # and not the other one
        lambda x: is_used(heads(x, 2, 3)),
        lambda x: op.strided_slice(heads(x, 2, 3), [0], [0], [2]),
        lambda x: op.strided_slice(heads(x, 2, 3), [0], [1], [-3], [-1]),
        lambda x: op.take(heads(x, 2, 3), relax.const([0, 1], "int64"), axis=0),
        lambda x: op.take(heads(x, 2, 3), relax.const(2, "int64"), axis=0),  # clipped
        # The innermost axis, and the first one of another reshape.
        lambda x: op.stack([part(heads(x, 2, 3), i, 4) for i in range(4)]),
        lambda x: op.stack(
            [part(op.permute_dims(op.reshape(x, [2, -1, 3]), [0, 2, 1]), i) for i in range(2)]
        ),
    ],
)
def test_other_parts_stay(write: Any) -> None:
    check(SplitBeforePermuteDims(), build(write, tensor("x", 2, "n", 24)), None, n=2)


def test_functions_that_update_tensors_stay() -> None:
    text = """
    func.func private @double(%x: memref<2x4xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        outs(%x : memref<2x4xf32>) {
      ^bb0(%a: f32):
        %b = arith.addf %a, %a : f32
        linalg.yield %b : f32
      }
      return
    }
    relax.func @main(%x: !relax.tensor<[2, 4], f32>) -> !relax.tensor<[1, 2, 2], f32> {
      %s = relax.shape <[2, 2, 2]>
      %c0 = relax.shape <[0]>
      %c1 = relax.shape <[1]>
      %c2 = relax.shape <[2]>
      %0 = relax.exp %x : (!relax.tensor<[2, 4], f32>) -> !relax.tensor<[2, 4], f32>
      %1 = relax.reshape %0, %s : (!relax.tensor<[2, 4], f32>, !relax.shape<[2, 2, 2]>) -> !relax.tensor<[2, 2, 2], f32>
      %2 = relax.call_tir_inplace @double(%0) inplace [0] : (!relax.tensor<[2, 4], f32>) -> !relax.tensor<[2, 4], f32>
      %3 = relax.permute_dims %1 {axes = array<i64: 1, 0, 2>} : (!relax.tensor<[2, 2, 2], f32>) -> !relax.tensor<[2, 2, 2], f32>
      %4 = relax.strided_slice %3, %c0, %c1 {axes = array<i64: 0>} : (!relax.tensor<[2, 2, 2], f32>, !relax.shape<[0]>, !relax.shape<[1]>) -> !relax.tensor<[1, 2, 2], f32>
      %5 = relax.strided_slice %3, %c1, %c2 {axes = array<i64: 0>} : (!relax.tensor<[2, 2, 2], f32>, !relax.shape<[1]>, !relax.shape<[2]>) -> !relax.tensor<[1, 2, 2], f32>
      %6 = relax.add %4, %5 : (!relax.tensor<[1, 2, 2], f32>, !relax.tensor<[1, 2, 2], f32>) -> !relax.tensor<[1, 2, 2], f32>
      relax.return %6 : !relax.tensor<[1, 2, 2], f32>
    }"""  # noqa: E501 (the lines of MLIR)
    x = np.arange(8, dtype="float32").reshape(2, 4) / 8
    expected = np.exp(x).reshape(2, 2, 2).sum(1)[None]
    for mode in ("bytecode", "compiled"):
        actual = run(relax.IRModule(text), x, exec_mode=mode)
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


MASKS = {
    "none": lambda scores, b: scores,
    "shifted": lambda scores, b: op.reshape(
        op.add(op.reshape(scores, [1, b, 2, 5, 5]), constant(1, b, 1, 5, 5)), [b, 2, 5, 5]
    ),
}


def constant(*shape: int) -> Any:
    numbers = np.random.default_rng(1).standard_normal(shape)
    return relax.const(numbers.astype("float32"))


@pytest.mark.parametrize("mask", MASKS)
def test_attention_of_a_transformer_copies_nothing(mask: str, tmp_path: Path) -> None:
    """Windows of images have masks of their own, which are added after a reshape."""

    def write(x: Any) -> Any:
        product = op.add(op.matmul(x, constant(8, 24)), constant(24))
        parts = heads(product)
        q, k, v = (squeezed(parts, i) for i in range(3))
        scores = op.matmul(op.multiply(q, relax.const(0.5)), op.permute_dims(k, [0, 1, 3, 2]))
        scores = MASKS[mask](op.add(scores, constant(1, 2, 5, 5)), 3)
        values = op.matmul(op.nn.softmax(scores, axis=-1), v)
        return op.reshape(op.permute_dims(values, [0, 2, 1, 3]), [3, 5, 8])

    mod = build(write, tensor("x", 3, 5, 8))
    (x,) = arrays(mod)
    for mode in ("bytecode", "compiled"):
        executable = relax.compile(mod, exec_mode=mode, dump_phases=tmp_path)
        legalized = next(tmp_path.glob("*legalize*")).read_text()
        calls = [line for line in legalized.splitlines() if "relax.call_tir" in line]
        assert len(calls) == 2, calls
        actual = np.from_dlpack(relax.VirtualMachine(executable)["main"](x))
        expected = run(mod, x, exec_mode=mode, fuse=False, opt_level=1)
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
