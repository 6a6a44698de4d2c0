# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of scalar expressions: what all have in common, variables and constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._arguments import require_str
from ..core.ir import Dim
from .dtypes import dtype_of, is_float, limits

ExprLike: TypeAlias = Any  # PrimExpr, what stands for one, or a number

# What `arithmetic`, `walking`, `text` and `dims`, which build on nodes, do with them: functions by
# the operator of Python that stands for them, or else by name.
FUNCTIONS: dict[str, Any] = {}


def _method(symbol: str, swap: bool = False) -> Callable[[Any, ExprLike], PrimExpr]:
    """Return a method for an operator on two values."""

    def method(self: Any, other: ExprLike) -> PrimExpr:
        function = FUNCTIONS[symbol]
        return function(other, self) if swap else function(self, other)

    return method


class ExprOp:
    """Python's operators, for expressions and for what stands for one."""

    # Before NumPy's scalars, which would make arrays of us.
    __array_priority__ = 1000
    __array_ufunc__ = None

    __add__, __radd__ = _method("+"), _method("+", swap=True)
    __sub__, __rsub__ = _method("-"), _method("-", swap=True)
    __mul__, __rmul__ = _method("*"), _method("*", swap=True)
    __truediv__, __rtruediv__ = _method("/"), _method("/", swap=True)
    __floordiv__, __rfloordiv__ = _method("//"), _method("//", swap=True)
    __mod__, __rmod__ = _method("%"), _method("%", swap=True)
    __lshift__, __rlshift__ = _method("<<"), _method("<<", swap=True)
    __rshift__, __rrshift__ = _method(">>"), _method(">>", swap=True)
    __and__, __rand__ = _method("&"), _method("&", swap=True)
    __or__, __ror__ = _method("|"), _method("|", swap=True)
    __xor__, __rxor__ = _method("^"), _method("^", swap=True)
    __lt__, __le__, __gt__, __ge__ = _method("<"), _method("<="), _method(">"), _method(">=")

    def __neg__(self) -> PrimExpr:
        return FUNCTIONS["negative"](self)

    def __invert__(self) -> PrimExpr:
        return FUNCTIONS["~"](self)

    def __eq__(self, other: object) -> Any:
        return FUNCTIONS["=="](self, other) if is_scalar(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return FUNCTIONS["!="](self, other) if is_scalar(other) else NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise ValueError(
            "expected no 'and', 'or', 'not', 'if' or chained comparison of expressions: their "
            "value is not known yet; use all, any, logical_not or if_then_else"
        )

    def equal(self, other: ExprLike) -> PrimExpr:
        """Return whether two expressions have the same value, as an expression."""
        return FUNCTIONS["=="](self, other)

    def astype(self, dtype: Any) -> PrimExpr:
        """Return the value as one of another data type."""
        return FUNCTIONS["cast"](dtype, self)


class PrimExpr(ExprOp):
    """An expression, of one scalar value.

    Attributes
    ----------
    dtype : str
        The data type of the value, by its name in NumPy and TVM.

    Examples
    --------
    >>> n, x = Var("n", "int64"), Var("x", "float16")
    >>> (n + 1) * 2 // 4, (n + x).dtype, x > 0
    ((n + 1) * 2 // 4, 'float16', x > float16(0.0))
    """

    dtype: str

    def operands(self) -> tuple[PrimExpr, ...]:
        """Return the expressions that this one is computed from."""
        return self._operands()

    def rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        """Return this expression of other operands."""
        return self._rebuild(operands)

    def _operands(self) -> tuple[PrimExpr, ...]:
        return ()

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        return self

    def same_as(self, other: object) -> bool:
        """Say whether both are the same node."""
        return self is other

    def as_dim(self) -> Dim:
        """Return the expression as a dimension of the dialect, its variables by their names."""
        return FUNCTIONS["to_dim"](self)

    def __repr__(self) -> str:
        return FUNCTIONS["text"](self)


class Var(PrimExpr):
    """A variable. Two variables of one name are not the same.

    Parameters
    ----------
    name : str
    dtype : str or numpy.dtype
    """

    # Whether it is the one of an axis to reduce over.
    is_reduced = False

    def __init__(self, name: str, dtype: Any = "int32") -> None:
        require_str("the name of a variable", name)
        self.name = name
        self.dtype = dtype_of(dtype)

    @property
    def name_hint(self) -> str:
        """The name."""
        return self.name


class SizeVar(Var):
    """A variable that is not negative, such as a dimension or an index."""


class Imm(PrimExpr):
    """A constant."""

    value: Any

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, self.value))


class IntImm(Imm):
    """An integer or a bool.

    Parameters
    ----------
    dtype : str or numpy.dtype
    value : int
    """

    def __init__(self, dtype: Any, value: int) -> None:
        self.dtype = dtype_of(dtype)
        if is_float(self.dtype):
            raise TypeError(f"expected the data type of an integer, but got {self.dtype}")
        self.value = _whole(self.dtype, value)
        lowest, highest = limits(self.dtype)
        if not lowest <= self.value <= highest:
            raise ValueError(f"expected a value of {self.dtype}, but got {value}")

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value


def _whole(dtype: str, value: Any) -> int:
    """Return a number without a fraction as an int."""
    if isinstance(value, (float, np.floating)) and not float(value).is_integer():
        raise ValueError(f"expected a value of {dtype}, but got {value}")
    return int(value)


class FloatImm(Imm):
    """A floating point number; one of 16 bits is the nearest that there is.

    Parameters
    ----------
    dtype : str or numpy.dtype
    value : float

    Examples
    --------
    >>> FloatImm("float16", 0.1), FloatImm("bfloat16", 0.1)
    (float16(0.0999755859375), bfloat16(0.10009765625))
    """

    def __init__(self, dtype: Any, value: float) -> None:
        self.dtype = dtype_of(dtype)
        if not is_float(self.dtype):
            raise TypeError(f"expected the data type of a float, but got {self.dtype}")
        self.value = _nearest(self.dtype, float(value))

    def __bool__(self) -> bool:
        return self.value != 0

    def __float__(self) -> float:
        return self.value


# Of floats of 16 bits: how many bits of a number count, the least exponent, and the greatest.
_HALVES = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127)}


def _nearest(dtype: str, value: float) -> float:
    """Return the float of a data type that is nearest to a number, of two the even one.

    Examples
    --------
    >>> _nearest("float16", 2049.0), _nearest("float16", 65520.0), _nearest("bfloat16", 257.0)
    (2048.0, inf, 256.0)
    """
    if dtype not in _HALVES or not math.isfinite(value) or value == 0:
        return value
    digits, lowest, highest = _HALVES[dtype]
    exponent = max(math.frexp(value)[1] - 1, lowest)
    step = exponent - digits + 1
    rounded = math.ldexp(round(math.ldexp(value, -step)), step)
    is_large = abs(rounded) >= math.ldexp(1.0, highest + 1)
    return math.copysign(math.inf if is_large else rounded, value)


class StringImm(Imm):
    """A string, as an argument of a call.

    Parameters
    ----------
    value : str
    """

    def __init__(self, value: str) -> None:
        self.dtype = "handle"
        self.value = value


def is_scalar(value: Any) -> bool:
    """Say whether a value stands for an expression."""
    kinds = (PrimExpr, Dim, bool, int, float, np.generic)
    return isinstance(value, kinds) or hasattr(value, "as_prim_expr")


def convert(value: ExprLike) -> PrimExpr:
    """Return a Python value as an expression.

    Parameters
    ----------
    value : PrimExpr, relax_mlir.Dim, bool, int, float, numpy scalar, or a stand-in
        A number becomes a constant as `const` makes it. What has a method ``as_prim_expr``
        (an axis, an element of a tensor, a dimension of a shape) becomes what that returns.

    Raises
    ------
    TypeError
        If there is no such expression.
    """
    if isinstance(value, PrimExpr):
        return value
    if hasattr(value, "as_prim_expr"):
        return value.as_prim_expr()
    if isinstance(value, (bool, int, float, np.generic)):
        return const(value)
    if isinstance(value, Dim):
        return FUNCTIONS["from_dim"](value)
    raise TypeError(f"expected an expression or a number, but got {value!r}")


def const(value: Any, dtype: Any = None) -> PrimExpr:
    """Return a constant.

    Parameters
    ----------
    value : bool, int, float or numpy scalar
    dtype : str or numpy.dtype, optional
        By default bool, int32 (int64 where it does not fit), float32, or that of a NumPy scalar.

    Examples
    --------
    >>> const(1), const(1, "float16"), const(2**40)
    (1, float16(1.0), int64(1099511627776))
    """
    if dtype is None:
        if isinstance(value, np.generic):
            dtype = value.dtype.name
        elif isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if -(2**31) <= value < 2**31 else "int64"
        else:
            dtype = "float32"
    dtype = dtype_of(dtype)
    if not isinstance(value, (bool, int, float, np.generic, Imm)):
        raise TypeError(f"expected a number, but got {value!r}")
    number: Any = value.value if isinstance(value, Imm) else value
    if is_float(dtype):
        return FloatImm(dtype, float(number))
    if dtype == "bool":
        return IntImm(dtype, int(bool(number)))
    return IntImm(dtype, number)


def require_bool(expr: PrimExpr) -> None:
    """Raise a TypeError if an expression is no condition."""
    if expr.dtype != "bool":
        raise TypeError(f"expected a condition of type bool, but got {expr} of type {expr.dtype}")


def is_zero(expr: PrimExpr) -> bool:
    """Say whether an expression is the integer 0."""
    return isinstance(expr, IntImm) and expr.value == 0


def is_one(expr: PrimExpr) -> bool:
    """Say whether an expression is the integer 1."""
    return isinstance(expr, IntImm) and expr.value == 1
