# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations that models write as arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from mlir import ir

from .. import op
from ..core.variables import defining_op, float_of
from .python_pass import function_pass
from .rewriting import dtype_of, has_one_use, made_by, rewrite_operations

# A sum of products of some values: how often a product has each of them, and its coefficient.
_Polynomial = dict[tuple[int, ...], float]

# How far constants may be from what they stand for: models have six digits of them, or all that
# the data type has.
_TOLERANCE = {"float64": 2e-6, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}

_MOST_OPERATIONS = 16  # of an activation
_ARITHMETIC = ("relax.add", "relax.multiply", "relax.divide", "relax.power")

_SLOPE = math.sqrt(2 / math.pi)


class _Activation(NamedTuple):
    """An operator of x that is a polynomial of x and of a function of another one."""

    function: str
    argument: _Polynomial  # by powers of x
    result: _Polynomial  # by powers of x and of the function
    make: Callable[[ir.Value], ir.Value]


_GATED: _Polynomial = {(1, 0): 0.5, (1, 1): 0.5}
_ACTIVATIONS = (
    _Activation("relax.erf", {(1,): math.sqrt(0.5)}, _GATED, op.nn.gelu),
    _Activation("relax.tanh", {(1,): _SLOPE, (3,): _SLOPE * 0.044715}, _GATED, op.nn.gelu_tanh),
    _Activation("relax.sigmoid", {(1,): 1}, {(1, 1): 1}, op.nn.silu),
)


@function_pass(opt_level=1)
class FuseActivations:
    """Replace activations that are written as arithmetic by operators.

    - ``0.5 * x * (1 + erf(x / sqrt(2)))`` becomes `op.nn.gelu`,
    - ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`` becomes `op.nn.gelu_tanh`,
    - ``x * sigmoid(x)`` becomes `op.nn.silu`,

    with sums and products in any order. Operators round once, where arithmetic of 16 bits rounds
    after each step, and are what other passes know.

    Examples
    --------
    >>> from relax_mlir.transform import FuseActivations
    >>> mod = FuseActivations()('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.sigmoid %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   %1 = relax.multiply %x, %0 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %1 : !relax.tensor<[n], f32>
    ... }''')
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.silu']
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Replace the activations of a function."""
        rewrite_operations(func.operation, ["relax.add", "relax.divide", "relax.multiply"], _fuse)
        return func


def _fuse(found: ir.Operation) -> ir.Value | None:
    result = found.results[0]
    tolerance = _TOLERANCE.get(dtype_of(result) or "")
    if tolerance is None:
        return None
    for curve in _parts(result):
        for activation in _ACTIVATIONS:
            made = made_by(curve, activation.function)
            if made is None or not has_one_use(curve):
                continue
            argument = made.operands[0]
            for x in _parts(argument):
                if _is_near(
                    _polynomial(argument, [x]), activation.argument, tolerance
                ) and _is_near(_polynomial(result, [x, curve]), activation.result, tolerance):
                    return activation.make(x)
    return None


def _parts(value: ir.Value) -> Iterator[ir.Value]:
    """Yield a value, and what it is made of by arithmetic."""
    seen = [value]
    for each in seen:
        yield each
        made = defining_op(each)
        if made is not None and made.name in _ARITHMETIC and len(seen) < _MOST_OPERATIONS:
            seen += made.operands


def _is_near(made: _Polynomial | None, expected: _Polynomial, tolerance: float) -> bool:
    return (
        made is not None
        and made.keys() == expected.keys()
        and all(math.isclose(made[key], expected[key], rel_tol=tolerance) for key in expected)
    )


def _polynomial(value: ir.Value, leaves: Sequence[ir.Value]) -> _Polynomial | None:
    """Return what a value is as a polynomial of other ones; None where it is none."""
    if value in leaves:
        return {tuple(int(value == leaf) for leaf in leaves): 1.0}
    made = defining_op(value)
    if made is None:
        return None
    if (number := float_of(made)) is not None:
        return {(0,) * len(leaves): number}
    if made.name not in _ARITHMETIC:
        return None
    left, right = (_polynomial(operand, leaves) for operand in made.operands)
    if left is None or right is None:
        return None
    if made.name == "relax.add":
        return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}
    if made.name == "relax.multiply":
        return _product(left, right)
    number = float_of(defining_op(made.operands[1]))
    if made.name == "relax.divide" and number:
        return {key: coefficient / number for key, coefficient in left.items()}
    if made.name == "relax.power" and number in (2, 3):
        square = _product(left, left)
        return square if number == 2 else _product(square, left)
    return None


def _product(left: _Polynomial, right: _Polynomial) -> _Polynomial:
    result: _Polynomial = {}
    for one, number in left.items():
        for other, factor in right.items():
            key = tuple(map(sum, zip(one, other, strict=True)))
            result[key] = result.get(key, 0) + number * factor
    return result
