# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with transposed matrices as kernels."""

from __future__ import annotations

from typing import Any

import pytest
from relax_mlir import op
from relax_mlir.transform import FuseTransposeMatmul
from rewriting_cases import build, check, names, tensor


@pytest.mark.parametrize(
    ("dtype", "out_dtype"), [("float32", None), ("float16", "float32"), ("int8", "int32")]
)
@pytest.mark.parametrize(
    ("x", "w", "axes"),
    [
        (("n", 4), (5, 4), None),
        ((4,), ("m", 4), [1, 0]),
        ((2, 3, 4), (5, 4), [-1, 0]),
        (("b", 3, 4), ("b", "m", 4), [0, 2, 1]),
        ((3, 4), (2, 1, 5, 4), [0, 1, 3, 2]),
    ],
)
def test_kernel_reads_the_matrix_as_it_is(
    x: Any, w: Any, axes: Any, dtype: str, out_dtype: str | None
) -> None:
    mod = build(
        lambda x, w: op.matmul(x, op.permute_dims(w, axes), out_dtype),
        tensor("x", *x, dtype=dtype),
        tensor("w", *w, dtype=dtype),
    )
    changed = check(FuseTransposeMatmul(), mod, ["call_tir"], n=3, m=5, b=2)
    assert "@NT_matmul" in str(changed)


def test_equal_products_share_a_kernel() -> None:
    mod = build(
        lambda x, w: op.matmul(op.matmul(x, op.permute_dims(w)), op.permute_dims(w)),
        tensor("x", 3, 4),
        tensor("w", 4, 4),
    )
    changed = check(FuseTransposeMatmul(), mod, ["call_tir", "call_tir"])
    assert [gvar.name for gvar in changed.get_global_vars()] == ["main", "NT_matmul"]


@pytest.mark.parametrize("axes", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_other_permutations_stay(axes: list[int]) -> None:
    mod = build(
        lambda x, w: op.matmul(x, op.permute_dims(w, axes)), tensor("x", 3, 3), tensor("w", 3, 3, 3)
    )
    check(FuseTransposeMatmul(), mod, None)


def test_matrix_on_the_left_stays() -> None:
    mod = build(lambda x, w: op.matmul(op.permute_dims(w), x), tensor("x", 4, 3), tensor("w", 4, 5))
    check(FuseTransposeMatmul(), mod, None)


def test_transposed_matrix_that_is_needed_stays() -> None:
    def write(x: Any, w: Any) -> Any:
        transposed = op.permute_dims(w)
        return op.tuple(op.matmul(x, transposed), transposed)

    mod = build(write, tensor("x", 3, 4), tensor("w", 5, 4))
    assert names(FuseTransposeMatmul()(mod)) == ["permute_dims", "matmul"]
