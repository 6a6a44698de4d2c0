# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of two tensors that broadcast, and broadcasting itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import PrimExpr
from .elemwise import truth
from .utils import Tensor, constant, is_equal, shape_of, with_name


def broadcast_shape(lhs: Sequence[PrimExpr], rhs: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return the shape that two shapes broadcast to.

    Raises
    ------
    ValueError
        If they do not, or it is not known whether they do.
    """
    rank = max(len(lhs), len(rhs))
    padded = [[*[None] * (rank - len(shape)), *shape] for shape in (lhs, rhs)]
    result: list[PrimExpr] = []
    for a, b in zip(*padded, strict=True):
        if a is None or b is None:
            result.append(_expr.convert(b if a is None else a))
        elif constant(a) == 1:
            result.append(b)
        elif constant(b) == 1 or is_equal(a, b):
            result.append(b if constant(b) is not None and constant(b) != 1 else a)
        else:
            shapes = [f"({', '.join(str(_text(dim)) for dim in shape)})" for shape in (lhs, rhs)]
            how = "do not broadcast" if is_equal(a, b) is False else "may not broadcast"
            raise ValueError(
                f"expected shapes that broadcast, but {shapes[0]} and {shapes[1]} {how}: "
                f"{_text(a)} and {_text(b)}"
            )
    return result


def _text(dim: PrimExpr) -> Any:
    return dim if constant(dim) is None else constant(dim)


def element(x: Any, indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the element of a tensor that broadcasts; any other value is what it is."""
    if not isinstance(x, Tensor):
        return _expr.convert(x)
    own = indices[len(indices) - x.ndim :]
    return x(
        *(
            te.const(0, index.dtype) if constant(dim) == 1 else index
            for index, dim in zip(own, x.shape, strict=True)
        )
    )


def broadcast(name: str, function: Callable[..., Any], *operands: Any) -> Any:
    """Return a tensor of the function of each element; an expression where no operand is a tensor.

    Parameters
    ----------
    name : str
    function : callable
    *operands : Tensor, PrimExpr or number
    """
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    if not tensors:
        return function(*map(_expr.convert, operands))
    shape: list[PrimExpr] = list(tensors[0].shape)
    for operand in tensors[1:]:
        shape = broadcast_shape(shape, operand.shape)
    kind = tag.ELEMWISE if len(tensors) == 1 else tag.BROADCAST
    return te.compute(
        shape,
        lambda *i: function(*(element(operand, i) for operand in operands)),
        name=name,
        tag=kind,
    )


def _binary(name: str, what: str, function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def broadcasting(lhs: Any, rhs: Any) -> Any:
        return broadcast(f"T_{name}", function, lhs, rhs)

    return with_name(
        broadcasting,
        name,
        f"Return {what}, element by element; shapes broadcast.\n\nParameters\n----------\n"
        "lhs, rhs : Tensor, PrimExpr or number\n\nReturns\n-------\nTensor or PrimExpr\n"
        "    An expression if neither is a tensor.\n",
    )


def _quotient(lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
    return _op.div(lhs, rhs)


def _floor_divide(lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
    a, b = _expr.match_types(lhs, rhs)
    return _op.floor(_op.div(a, b)) if _expr.is_float(a.dtype) else _op.floordiv(a, b)


def _floor_mod(lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
    a, b = _expr.match_types(lhs, rhs)
    if not _expr.is_float(a.dtype):
        return _op.floormod(a, b)
    rest = _op.fmod(a, b)
    zero = te.const(0, a.dtype)
    differs = _expr.logical_and(
        _expr.compare(_expr.NE, rest, zero),
        _expr.compare(_expr.NE, (rest < zero).astype("int32"), (b < zero).astype("int32")),
    )
    return _expr.Select(differs, rest + b, rest)


def _power(lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
    a, b = _expr.match_types(lhs, rhs)
    if _expr.is_float(a.dtype):
        return _op.power(a, b)
    # Exact up to the 53 bits of a float64.
    return _op.power(a.astype("float64"), b.astype("float64")).astype(a.dtype)


def _xor(lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
    return _expr.bitwise_xor(truth(lhs), truth(rhs))


add = _binary("add", "the sum", _expr.add)
subtract = _binary("subtract", "the difference", _expr.subtract)
multiply = _binary("multiply", "the product", _expr.multiply)
divide = _binary("divide", "the quotient; of integers the one towards zero", _quotient)
floor_divide = _binary("floor_divide", "the greatest integer below the quotient", _floor_divide)
mod = _binary("mod", "the remainder with the sign of the dividend", _op.fmod)
floor_mod = _binary("floor_mod", "the remainder with the sign of the divisor", _floor_mod)
trunc_divide = _binary("trunc_divide", "the quotient of integers towards zero", _op.truncdiv)
trunc_mod = _binary("trunc_mod", "the remainder with the sign of the dividend", _op.truncmod)
log_add_exp = _binary("log_add_exp", "the logarithm of the sum of exponentials", _op.logaddexp)
maximum = _binary("maximum", "the greater one", _expr.maximum)
minimum = _binary("minimum", "the smaller one", _expr.minimum)
power = _binary("power", "the first to the power of the second", _power)
atan2 = _binary("atan2", "the angle of the point (rhs, lhs)", _op.atan2)
left_shift = _binary("left_shift", "the bits moved to the left", _expr.shift_left)
right_shift = _binary("right_shift", "the bits moved to the right", _expr.shift_right)
bitwise_and = _binary("bitwise_and", "the bits set in both", _expr.bitwise_and)
bitwise_or = _binary("bitwise_or", "the bits set in one or both", _expr.bitwise_or)
bitwise_xor = _binary("bitwise_xor", "the bits set in one only", _expr.bitwise_xor)
greater = _binary("greater", "whether it is greater", lambda a, b: _expr.compare(_expr.GT, a, b))
greater_equal = _binary(
    "greater_equal", "whether it is not less", lambda a, b: _expr.compare(_expr.GE, a, b)
)
less = _binary("less", "whether it is less", lambda a, b: _expr.compare(_expr.LT, a, b))
less_equal = _binary(
    "less_equal", "whether it is not greater", lambda a, b: _expr.compare(_expr.LE, a, b)
)
equal = _binary("equal", "whether both are equal", lambda a, b: _expr.compare(_expr.EQ, a, b))
not_equal = _binary(
    "not_equal", "whether both are different", lambda a, b: _expr.compare(_expr.NE, a, b)
)
logical_and = _binary(
    "logical_and", "whether both are true", lambda a, b: _expr.logical_and(truth(a), truth(b))
)
logical_or = _binary(
    "logical_or", "whether one is true", lambda a, b: _expr.logical_or(truth(a), truth(b))
)
logical_xor = _binary("logical_xor", "whether exactly one is true", _xor)


def broadcast_to(data: Tensor, shape: Any) -> Tensor:
    """Return a tensor repeated to a shape.

    Parameters
    ----------
    data : Tensor
    shape : sequence of int or PrimExpr

    Returns
    -------
    Tensor

    Examples
    --------
    >>> broadcast_to(te.placeholder((3, 1), name="A"), (2, 3, "n"))
    Tensor(T_broadcast_to, shape=(2, 3, n), dtype=float32)
    """
    dims = shape_of(shape)
    result = broadcast_shape(data.shape, dims)
    if len(result) != len(dims) or any(
        is_equal(a, b) is not True for a, b in zip(result, dims, strict=False)
    ):
        raise ValueError(f"expected a shape that {data} broadcasts to, but got {list(dims)}")
    return te.compute(dims, lambda *i: element(data, i), name="T_broadcast_to", tag=tag.BROADCAST)


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """Return the element of `x` where the condition is true, or not 0, else that of `y`.

    Parameters
    ----------
    condition : Tensor
    x, y : Tensor or number
        Shapes broadcast.

    Returns
    -------
    Tensor
    """

    def choose(flag: PrimExpr, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return _expr.Select(truth(flag), *_expr.match_types(a, b))

    return broadcast("T_where", choose, condition, x, y)


__all__ = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "divide",
    "equal",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "log_add_exp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "not_equal",
    "power",
    "right_shift",
    "subtract",
    "trunc_divide",
    "trunc_mod",
    "where",
]
