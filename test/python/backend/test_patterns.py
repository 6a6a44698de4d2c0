# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns that many libraries have (RF15)."""

from __future__ import annotations

from typing import Any

import pytest
from relax_mlir.analysis import var_name
from relax_mlir.backend import patterns
from relax_mlir.script import from_source
from relax_mlir.transform import FuseOpsByPattern, PatternCheckContext

PARAMS = ", ".join(f'{name}: R.Tensor((4, 4), "float32")' for name in "xwbr")
IMAGES = (
    'x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32"), '
    'b: R.Tensor((4,), "float32"), r: R.Tensor((1, 4, 8, 8), "float32")'
)


def found(annotated: Any, body: str, params: str = PARAMS) -> dict[str, str] | None:
    """Return the names of what the parts of a pattern match; None if it does not match."""
    mod = from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main({params}):
        with R.dataflow():
            out = {body}
            R.output(out)
        return out
""")
    seen: list[dict[str, Any]] = []

    def check(context: PatternCheckContext) -> bool:
        seen.append({name: var_name(value) for name, value in context.annotated_expr.items()})
        return True

    FuseOpsByPattern([("my.pattern", *annotated, check)])(mod)
    parts = seen[0] if seen else None
    return parts and {name: value for name, value in parts.items() if name != "root"}


def test_rf15_products() -> None:
    plain = patterns.make_matmul_pattern()
    assert found(plain, "R.matmul(x, w)") == {"lhs": "x", "rhs": "w"}
    transposed = patterns.make_matmul_pattern(transposed_rhs=True)
    assert found(transposed, "R.matmul(x, R.permute_dims(w))") == {"lhs": "x", "rhs": "w"}
    assert found(transposed, "R.matmul(x, w)") is None
    full = patterns.make_matmul_pattern(with_bias=True, activation="relax.nn.relu")
    parts = {"lhs": "x", "rhs": "w", "bias": "b"}
    assert found(full, "R.nn.relu(R.add(R.matmul(x, w), b))") == parts
    assert found(full, "R.add(R.matmul(x, w), b)") is None


def test_rf15_convolutions() -> None:
    plain = patterns.make_conv2d_pattern(activation="relax.nn.relu")
    parts = {"input": "x", "weight": "w"}
    assert found(plain, "R.nn.relu(R.nn.conv2d(x, w))", IMAGES) == parts
    reshaped = patterns.make_fused_bias_activation_pattern(
        "relax.nn.conv2d", with_bias=True, allow_reshape=True
    )
    body = "R.add(R.nn.conv2d(x, w), R.reshape(b, (1, 4, 1, 1)))"
    assert found(reshaped, body, IMAGES) == {"lhs": "x", "rhs": "w", "bias": "b"}


def test_rf15_residual_blocks() -> None:
    block = patterns.make_residual_block_pattern(
        patterns.make_matmul_pattern(with_bias=True), activation="relax.nn.relu"
    )
    parts = {"lhs": "x", "rhs": "w", "bias": "b", "residual": "r"}
    for body in ("R.add(R.add(R.matmul(x, w), b), r)", "R.add(r, R.add(R.matmul(x, w), b))"):
        assert found(block, f"R.nn.relu({body})") == parts
    alone = patterns.make_residual_block_pattern(
        patterns.make_matmul_pattern()[0], binary_op="relax.subtract"
    )
    assert found(alone, "R.subtract(r, R.matmul(x, w))") == {"residual": "r"}


def test_rf15_rejects_operators_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="expected the name of an operator"):
        patterns.make_matmul_pattern(activation="relax.nn.rleu")
