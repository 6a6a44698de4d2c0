# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of each element of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import PrimExpr
from .utils import Tensor, require_float, with_name


def elementwise(
    x: Tensor, function: Callable[[PrimExpr], Any], name: str, kind: str = tag.ELEMWISE
) -> Tensor:
    """Return a tensor of the function of each element."""
    return te.compute(x.shape, lambda *i: function(x(*i)), name=name, tag=kind)


def _of_floats(name: str, what: str) -> Callable[[Tensor], Tensor]:
    expression = getattr(_op, name)

    def function(x: Tensor) -> Tensor:
        require_float(x, name)
        return elementwise(x, expression, f"T_{name}")

    return with_name(
        function,
        name,
        f"Return {what} of each element.\n\nParameters\n----------\nx : Tensor\n    Of floats.\n\n"
        "Returns\n-------\nTensor\n",
    )


def _of_numbers(name: str, what: str) -> Callable[[Tensor], Tensor]:
    expression = getattr(_op, name)

    def function(x: Tensor) -> Tensor:
        return elementwise(x, expression, f"T_{name}")

    return with_name(
        function,
        name,
        f"Return {what} of each element.\n\nParameters\n----------\nx : Tensor\n\n"
        "Returns\n-------\nTensor\n",
    )


acos = _of_floats("acos", "the inverse cosine")
acosh = _of_floats("acosh", "the inverse hyperbolic cosine")
asin = _of_floats("asin", "the inverse sine")
asinh = _of_floats("asinh", "the inverse hyperbolic sine")
atan = _of_floats("atan", "the inverse tangent")
atanh = _of_floats("atanh", "the inverse hyperbolic tangent")
cos = _of_floats("cos", "the cosine")
cosh = _of_floats("cosh", "the hyperbolic cosine")
erf = _of_floats("erf", "the error function")
exp = _of_floats("exp", "the exponential function")
log = _of_floats("log", "the natural logarithm")
log2 = _of_floats("log2", "the logarithm to base two")
log10 = _of_floats("log10", "the logarithm to base ten")
rsqrt = _of_floats("rsqrt", "one over the square root")
sigmoid = _of_floats("sigmoid", "the logistic function")
sin = _of_floats("sin", "the sine")
sinh = _of_floats("sinh", "the hyperbolic sine")
sqrt = _of_floats("sqrt", "the square root")
tan = _of_floats("tan", "the tangent")
tanh = _of_floats("tanh", "the hyperbolic tangent")

abs = _of_numbers("abs", "the absolute value")
ceil = _of_numbers("ceil", "the least integer that is not less")
floor = _of_numbers("floor", "the greatest integer that is not greater")
isfinite = _of_numbers("isfinite", "whether it is finite, for that")
isinf = _of_numbers("isinf", "whether it is an infinity, for that")
isnan = _of_numbers("isnan", "whether it is not a number, for that")
round = _of_numbers("round", "the nearest integer, ties to even,")
trunc = _of_numbers("trunc", "the integer towards zero")


def identity(x: Tensor) -> Tensor:
    """Return a copy.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """
    return elementwise(x, lambda value: value, "T_identity")


def negative(x: Tensor) -> Tensor:
    """Return each element with the other sign.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """
    return elementwise(x, lambda value: -value, "T_negative")


def sign(x: Tensor) -> Tensor:
    """Return -1, 0 or 1 for each element, as its sign is.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """

    def of(value: PrimExpr) -> PrimExpr:
        zero, one = te.const(0, x.dtype), te.const(1, x.dtype)
        if _expr.is_uint(x.dtype) or x.dtype == "bool":
            return _expr.Select(value > zero, one, zero)
        below = _expr.Select(value < zero, te.const(-1, x.dtype), value)
        # NaN stays NaN.
        return _expr.Select(value > zero, one, below)

    return elementwise(x, of, "T_sign")


def cast(x: Any, dtype: Any) -> Any:
    """Return each element as one of another data type.

    Parameters
    ----------
    x : Tensor or PrimExpr
    dtype : str or numpy.dtype

    Returns
    -------
    Tensor or PrimExpr
    """
    if not isinstance(x, Tensor):
        return _expr.cast(dtype, x)
    return elementwise(x, lambda value: value.astype(dtype), "T_cast")


def reinterpret(x: Tensor, dtype: Any) -> Tensor:
    """Return the bits of each element as a value of another data type of the same size.

    Parameters
    ----------
    x : Tensor
    dtype : str or numpy.dtype

    Returns
    -------
    Tensor
    """
    return elementwise(x, lambda value: _op.reinterpret(dtype, value), "T_reinterpret")


def clip(x: Tensor, a_min: Any, a_max: Any) -> Tensor:
    """Return each element, or the limit that is beyond.

    Parameters
    ----------
    x : Tensor
    a_min, a_max : number or PrimExpr

    Returns
    -------
    Tensor
    """

    def of(value: PrimExpr) -> PrimExpr:
        low, high = (
            te.const(limit, x.dtype) if isinstance(limit, (int, float)) else _expr.convert(limit)
            for limit in (a_min, a_max)
        )
        return _op.max(_op.min(value, high.astype(x.dtype)), low.astype(x.dtype))

    return elementwise(x, of, "T_clip")


def logical_not(data: Tensor) -> Tensor:
    """Return whether each element is false, or 0.

    Parameters
    ----------
    data : Tensor

    Returns
    -------
    Tensor
    """
    return elementwise(data, lambda value: _expr.logical_not(truth(value)), "T_logical_not")


def bitwise_not(data: Tensor) -> Tensor:
    """Return each integer with all bits turned over.

    Parameters
    ----------
    data : Tensor

    Returns
    -------
    Tensor
    """
    return elementwise(data, _expr.bitwise_not, "T_bitwise_not")


def truth(value: PrimExpr) -> PrimExpr:
    """Return whether a value is true, or not 0."""
    return value if value.dtype == "bool" else _expr.compare(_expr.NE, value, 0)


__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "cast",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "identity",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log2",
    "log10",
    "logical_not",
    "negative",
    "reinterpret",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
