# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on the operands of others, in another order; reshapes that are not needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relax_mlir import op
from relax_mlir.script import from_source
from relax_mlir.transform import (
    RemoveRedundantReshape,
    ReorderPermuteDimsAfterConcat,
    ReorderTakeAfterMatmul,
)
from rewriting_cases import arrays, build, check, names, tensor

# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def with_indices(mod: Any, indices: list[int], **sizes: int) -> list[np.ndarray]:
    """Return arguments for `main`, the last of which are indices."""
    *others, last = arrays(mod, **sizes)
    return [*others, np.array(indices, last.dtype)]


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("x", [(2, 4), (4,), ("n", 1, 4)])
def test_columns_of_a_table(x: Any, axis: int, mode: str, dtype: str) -> None:
    mod = build(
        lambda x, w, i: op.matmul(x, op.take(w, i, axis, mode)),
        tensor("x", *x, dtype=dtype),
        tensor("w", 4, "m", dtype=dtype),
        tensor("i", 5, dtype="int64"),
    )
    given = with_indices(mod, [0, 2, -1, 9, 2], n=3, m=7)
    check(ReorderTakeAfterMatmul(), mod, ["matmul", "take"], *given)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("sizes", [(3, 3), ("b", "b")])
def test_a_matrix_for_each_batch(sizes: Any, dtype: str) -> None:
    mod = build(
        lambda x, w, i: op.matmul(x, op.take(w, i, 0)),
        tensor("x", sizes[0], 2, 4, dtype=dtype),
        tensor("w", "t", 4, 5, dtype=dtype),
        tensor("i", sizes[1], dtype="int32"),
    )
    changed = ReorderTakeAfterMatmul()(mod)
    assert names(changed)[:5] == ["permute_dims", "reshape", "matmul", "reshape", "take"]
    check(ReorderTakeAfterMatmul(), mod, names(changed), *with_indices(mod, [5, 0, 2], b=3, t=6))


def test_products_of_another_data_type() -> None:
    mod = build(
        lambda x, w, i: op.matmul(x, op.take(w, i, 1), out_dtype="int32"),
        tensor("x", 2, 4, dtype="int8"),
        tensor("w", 4, 3, dtype="int8"),
        tensor("i", 5, dtype="int64"),
    )
    given = with_indices(mod, [0, 2, 1, 0, 2])
    check(ReorderTakeAfterMatmul(), mod, ["matmul", "take"], *given)


@pytest.mark.parametrize(
    ("x", "table", "indices", "axis", "mode"),
    [
        ((2, 5), (4, 6), (5,), 0, "clip"),  # rows
        ((2, 5), (4,), (5,), 0, "clip"),  # elements of a vector
        ((2, 5), (4, 6), (5, 2), 1, "clip"),  # a tensor of rank 3
        ((2, 4), (4, 6), (5,), 1, "nan"),
        ((1, 2, 4), (6, 4, 5), (3,), 0, "clip"),  # one batch for many matrices
        (("a", 2, 4), (6, 4, 5), ("b",), 0, "clip"),
        ((2, 4), (6, 4, 5), (3,), 0, "clip"),
    ],
)
def test_other_elements_are_taken_before(
    x: Any, table: Any, indices: Any, axis: int, mode: str
) -> None:
    mod = build(
        lambda x, w, i: op.matmul(x, op.take(w, i, axis, mode)),
        tensor("x", *x),
        tensor("w", *table),
        tensor("i", *indices, dtype="int64"),
    )
    check(ReorderTakeAfterMatmul(), mod, None)


# ---------------------------------------------------------------------------------------------
# Transposed tensors
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize(
    ("shapes", "axes", "axis"),
    [
        ([("n", 4), (3, 4)], None, 1),
        ([("n", 4), (3, 4)], [1, 0], -1),
        ([(4, 3), (4, 5), (4, 2)], None, 0),
        ([(2, 3, 4), (2, 5, 4)], [2, 0, 1], 2),
        ([(2, 3, 4), (7, 3, 4)], [-1, 0, 1], -2),
        ([(1, 2)] * 15, None, 1),
    ],
)
def test_permuted_after_concatenation(shapes: Any, axes: Any, axis: int, dtype: str) -> None:
    params = [tensor(f"x{i}", *shape, dtype=dtype) for i, shape in enumerate(shapes)]
    mod = build(lambda *xs: op.concat([op.permute_dims(x, axes) for x in xs], axis), *params)
    check(ReorderPermuteDimsAfterConcat(), mod, ["concat", "permute_dims"], n=2)


def test_tensors_that_are_permuted_in_other_ways_stay() -> None:
    x = tensor("x", 3, 3, 3)

    def write(x: Any) -> Any:
        return op.concat([op.permute_dims(x, [1, 2, 0]), op.permute_dims(x, [2, 0, 1])], 0)

    check(ReorderPermuteDimsAfterConcat(), build(write, x), None)
    mod = build(lambda x: op.concat([op.permute_dims(x), x], 0), x)
    check(ReorderPermuteDimsAfterConcat(), mod, None)
    mod = build(lambda x: op.concat([op.permute_dims(x)], 0), x)
    check(ReorderPermuteDimsAfterConcat(), mod, None)


# ---------------------------------------------------------------------------------------------
# Reshapes
# ---------------------------------------------------------------------------------------------


def test_of_two_reshapes_the_second_one_is_left() -> None:
    mod = build(
        lambda x: op.exp(op.reshape(op.reshape(op.reshape(x, [-1]), ["n", 2, 2]), [2, "n", 2])),
        tensor("x", "n", 4),
    )
    check(RemoveRedundantReshape(), mod, ["reshape", "exp"], n=3)


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [((4, 6), [24], [4, 6]), (("n", 4), ["n * 4"], ["n", 4]), (("n", 4), [-1], ["n", 4])],
)
def test_reshapes_to_the_shape_there_is(before: Any, between: Any, after: Any) -> None:
    mod = build(lambda x: op.exp(op.reshape(op.reshape(x, between), after)), tensor("x", *before))
    check(RemoveRedundantReshape(), mod, ["exp"], n=3)
    mod = build(lambda x: op.exp(op.reshape(x, after)), tensor("x", *before))
    check(RemoveRedundantReshape(), mod, ["exp"], n=3)


def test_sizes_are_compared_not_their_spelling() -> None:
    mod = build(
        lambda x, y: op.exp(op.reshape(op.concat([x, x, y]), ["(n + 1) * 2"])),
        tensor("x", "n"),
        tensor("y", 2),
    )
    check(RemoveRedundantReshape(), mod, ["concat", "exp"], n=3)


def test_reshape_that_is_used_elsewhere_stays() -> None:
    def write(x: Any) -> Any:
        flat = op.reshape(x, [24])
        return op.tuple(flat, op.reshape(flat, [2, 12]))

    check(RemoveRedundantReshape(), build(write, tensor("x", 4, 6)), ["reshape", "reshape"])


def test_shapes_that_are_values() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), s: R.Shape(["a", "b"])):
        a, b = T.int64(), T.int64()
        with R.dataflow():
            y = R.reshape(x, (8,))
            z = R.reshape(y, s)
            R.output(z)
        return z
""")
    changed = RemoveRedundantReshape()(mod)
    assert names(changed) == ["reshape"]
    assert "relax.reshape %x, %s" in str(changed)
