# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementary functions of a program with fewer digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relax_mlir import op
from relax_mlir.transform import FastMathTransform
from rewriting_cases import arrays, build, check, names, run, tensor

OPERATORS = [op.exp, op.erf, op.tanh, op.nn.softmax]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_are_close(operator: Any, dtype: str) -> None:
    mod = build(operator, tensor("x", "n", 5, dtype=dtype))
    changed = check(FastMathTransform(), mod, ["call_tir"], n=4)
    name = operator.__name__.rpartition(".")[2]
    assert f"@fast_{name}" in str(changed) and "fastmath<afn>" in str(changed)


def test_equal_operators_share_a_kernel() -> None:
    mod = build(lambda x: op.exp(op.exp(op.negative(op.exp(x)))), tensor("x", "n"))
    changed = check(FastMathTransform(), mod, ["call_tir", "negative", "call_tir", "call_tir"], n=3)
    assert [gvar.name for gvar in changed.get_global_vars()] == ["main", "fast_exp"]


def test_axes_have_a_kernel_each() -> None:
    mod = build(
        lambda x: op.nn.softmax(op.nn.softmax(x, axis=0), axis=1), tensor("x", "n", "m * 2", "m")
    )
    check(FastMathTransform(), mod, ["call_tir", "call_tir"], n=3, m=2)


def test_fewer_digits_in_the_midst_of_others() -> None:
    # The same program has exponentials of both kinds, which differ in the last digits.
    mod = build(lambda x: op.tuple(op.exp(x), op.sigmoid(x)), tensor("x", 4096))
    changed = FastMathTransform()(mod)
    assert names(changed) == ["call_tir", "sigmoid"]
    (x,) = arrays(mod)
    old, new = run(mod, x), run(changed, x)
    np.testing.assert_array_equal(new[1], old[1])
    assert not np.array_equal(new[0], old[0])
    np.testing.assert_allclose(new[0], old[0], rtol=1e-6)


def test_what_stays() -> None:
    mod = build(lambda x: op.nn.log_softmax(op.log(op.sigmoid(x))), tensor("x", 4, 4))
    check(FastMathTransform(), mod, None)
