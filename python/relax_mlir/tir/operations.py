# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that compute a value from operands: operators, calls, choices and loads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .dtypes import dtype_of, is_float, limits
from .nodes import (
    FUNCTIONS,
    ExprLike,
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    const,
    convert,
    require_bool,
)


class BinaryOp(PrimExpr):
    """An operation on two values of one data type.

    Parameters
    ----------
    a, b : PrimExpr
    """

    symbol: ClassVar[str]
    precedence: ClassVar[int]
    # Symbols between the operands; otherwise a call.
    infix: ClassVar[bool] = True

    def __init__(self, a: ExprLike, b: ExprLike) -> None:
        self.a, self.b = convert(a), convert(b)
        if self.a.dtype != self.b.dtype:
            raise TypeError(
                f"expected operands of one data type, but got {self.a.dtype} and {self.b.dtype}"
            )
        self.dtype = self.a.dtype

    def _operands(self) -> tuple[PrimExpr, ...]:
        return self.a, self.b

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return type(self)(*operands)


class Add(BinaryOp):
    """The sum ``a + b``."""

    symbol, precedence = "+", 6


class Sub(BinaryOp):
    """The difference ``a - b``."""

    symbol, precedence = "-", 6


class Mul(BinaryOp):
    """The product ``a * b``."""

    symbol, precedence = "*", 7


class Div(BinaryOp):
    """The quotient of floats, or that of integers rounded towards zero."""

    symbol, precedence = "/", 7


class Mod(BinaryOp):
    """The remainder of `Div`, with the sign of ``a``."""

    symbol, precedence, infix = "truncmod", 9, False


class FloorDiv(BinaryOp):
    """The quotient rounded towards negative infinity."""

    symbol, precedence = "//", 7


class FloorMod(BinaryOp):
    """The remainder of `FloorDiv`, with the sign of ``b``."""

    symbol, precedence = "%", 7


class Min(BinaryOp):
    """The smaller one of two values."""

    symbol, precedence, infix = "min", 9, False


class Max(BinaryOp):
    """The larger one of two values."""

    symbol, precedence, infix = "max", 9, False


class CmpOp(BinaryOp):
    """A comparison, of type bool."""

    precedence = 3

    def __init__(self, a: ExprLike, b: ExprLike) -> None:
        super().__init__(a, b)
        self.dtype = "bool"


class EQ(CmpOp):
    """The comparison ``a == b``. As a Python bool: whether both are the same expression."""

    symbol = "=="

    def __bool__(self) -> bool:
        return FUNCTIONS["structural_equal"](self.a, self.b)


class NE(CmpOp):
    """The comparison ``a != b``. As a Python bool: whether both are different expressions."""

    symbol = "!="

    def __bool__(self) -> bool:
        return not FUNCTIONS["structural_equal"](self.a, self.b)


class LT(CmpOp):
    """The comparison ``a < b``."""

    symbol = "<"


class LE(CmpOp):
    """The comparison ``a <= b``."""

    symbol = "<="


class GT(CmpOp):
    """The comparison ``a > b``."""

    symbol = ">"


class GE(CmpOp):
    """The comparison ``a >= b``."""

    symbol = ">="


class _LogicalOp(BinaryOp):
    def __init__(self, a: ExprLike, b: ExprLike) -> None:
        super().__init__(a, b)
        require_bool(self.a)


class And(_LogicalOp):
    """The conjunction ``a and b``."""

    symbol, precedence = "and", 2


class Or(_LogicalOp):
    """The disjunction ``a or b``."""

    symbol, precedence = "or", 1


class Not(PrimExpr):
    """The negation ``not a``.

    Parameters
    ----------
    a : PrimExpr
    """

    def __init__(self, a: ExprLike) -> None:
        self.a = convert(a)
        require_bool(self.a)
        self.dtype = "bool"

    def _operands(self) -> tuple[PrimExpr, ...]:
        return (self.a,)

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return Not(*operands)


class Cast(PrimExpr):
    """A value as one of another data type.

    Parameters
    ----------
    dtype : str or numpy.dtype
    value : PrimExpr
    """

    def __init__(self, dtype: Any, value: ExprLike) -> None:
        self.dtype = dtype_of(dtype)
        self.value = convert(value)

    def _operands(self) -> tuple[PrimExpr, ...]:
        return (self.value,)

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return cast(self.dtype, operands[0])


def cast(dtype: Any, value: ExprLike) -> PrimExpr:
    """Return a value as one of another data type; a constant at once.

    Examples
    --------
    >>> cast("float32", 1), cast("int8", Var("x", "float32"))
    (float32(1.0), Cast('int8', x))
    """
    wanted, expr = dtype_of(dtype), convert(value)
    if expr.dtype == wanted:
        return expr
    if isinstance(expr, (IntImm, FloatImm)):
        number = expr.value
        if is_float(wanted) or wanted == "bool":
            return const(number, wanted)
        lowest, highest = limits(wanted)
        if math.isfinite(number) and lowest <= int(number) <= highest:
            return IntImm(wanted, int(number))
    return Cast(wanted, expr)


class Select(PrimExpr):
    """One of two values, both of which are computed. See `if_then_else` for where one may fail.

    Parameters
    ----------
    condition : PrimExpr
        A bool.
    true_value, false_value : PrimExpr
        Of one data type.
    """

    def __init__(self, condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> None:
        self.condition = convert(condition)
        self.true_value, self.false_value = convert(true_value), convert(false_value)
        require_bool(self.condition)
        if self.true_value.dtype != self.false_value.dtype:
            raise TypeError(
                f"expected values of one data type in Select, but got {self.true_value.dtype} and "
                f"{self.false_value.dtype}"
            )
        self.dtype = self.true_value.dtype

    def _operands(self) -> tuple[PrimExpr, ...]:
        return self.condition, self.true_value, self.false_value

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return Select(*operands)


class Let(PrimExpr):
    """A value that is computed once, as a variable of an expression.

    Parameters
    ----------
    var : Var
    value : PrimExpr
    body : PrimExpr
    """

    def __init__(self, var: Var, value: ExprLike, body: ExprLike) -> None:
        self.var, self.value, self.body = var, convert(value), convert(body)
        if self.value.dtype != var.dtype:
            raise TypeError(
                f"expected a value of {var.dtype} for {var.name}, not {self.value.dtype}"
            )
        self.dtype = self.body.dtype

    def _operands(self) -> tuple[PrimExpr, ...]:
        return self.value, self.body

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return Let(self.var, *operands)


class Call(PrimExpr):
    """A call of an intrinsic, such as ``exp``; `relax_mlir.tir.emit.INTRINSICS` has them all.

    Parameters
    ----------
    dtype : str or numpy.dtype
        That of the result.
    op : str
        The name; a leading "tir." is dropped.
    args : sequence of PrimExpr
    """

    def __init__(self, dtype: Any, op: str, args: Sequence[ExprLike]) -> None:
        self.dtype = dtype_of(dtype)
        self.op = op.removeprefix("tir.").removeprefix("tirx.")
        self.args = tuple(StringImm(arg) if isinstance(arg, str) else convert(arg) for arg in args)

    def _operands(self) -> tuple[PrimExpr, ...]:
        return self.args

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return Call(self.dtype, self.op, operands)


def _index(value: ExprLike) -> PrimExpr:
    expr = convert(value)
    if is_float(expr.dtype) or expr.dtype == "handle":
        raise TypeError(f"expected an integer as index, but got {expr} of type {expr.dtype}")
    return expr


class Load(PrimExpr):
    """An element of an array."""

    source: Any

    def __init__(self, source: Any, indices: Sequence[ExprLike]) -> None:
        self.source = source
        self.indices = tuple(_index(index) for index in indices)
        self.dtype = dtype_of(source.dtype)
        shape = source.shape
        if len(shape) != len(self.indices):
            raise ValueError(
                f"expected {len(shape)} indices of '{source.name}', but got {len(self.indices)}"
            )

    def _operands(self) -> tuple[PrimExpr, ...]:
        return self.indices

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return type(self)(self.source, operands)


class BufferLoad(Load):
    """An element of a buffer.

    Parameters
    ----------
    buffer : object
        Anything with a name, a shape and a dtype.
    indices : sequence of PrimExpr
    """

    @property
    def buffer(self) -> Any:
        """The buffer."""
        return self.source


class ProducerLoad(Load):
    """An element of a tensor of `relax_mlir.te`.

    Parameters
    ----------
    producer : relax_mlir.te.Tensor
    indices : sequence of PrimExpr
    """

    @property
    def producer(self) -> Any:
        """The tensor."""
        return self.source
