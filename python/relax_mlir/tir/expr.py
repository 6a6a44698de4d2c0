# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions: what one element of a tensor is computed from.

An expression is a tree of immutable nodes; Python's operators make new ones. Data types are
promoted and constants are folded as in TVM. `relax_mlir.tir.emit` makes operations of expressions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..core.dtypes import dtype_name
from ..core.ir import Dim

# Of the module `dims`, which builds on this one and sets them.
from_dim: Any = None
to_dim: Any = None

# ---------------------------------------------------------------------------------------------
# Data types
# ---------------------------------------------------------------------------------------------


def dtype_of(dtype: Any) -> str:
    """Return the name of a data type of scalars; "handle" stands for a pointer."""
    return dtype if dtype in ("handle", "void") else dtype_name(dtype)


def bits(dtype: str) -> int:
    """Return the number of bits of a data type.

    Examples
    --------
    >>> bits("float16"), bits("bool"), bits("float8_e4m3fn")
    (16, 1, 8)
    """
    if dtype == "bool":
        return 1
    if dtype.startswith("float8"):
        return 8
    digits = "".join(letter for letter in dtype if letter.isdigit())
    return int(digits) if digits else 64


def is_float(dtype: str) -> bool:
    """Say whether a data type is one of floating point numbers."""
    return dtype.startswith(("float", "bfloat"))


def is_int(dtype: str) -> bool:
    """Say whether a data type is one of signed integers."""
    return dtype.startswith("int")


def is_uint(dtype: str) -> bool:
    """Say whether a data type is one of unsigned integers; bool is not."""
    return dtype.startswith("uint")


def is_integer(dtype: str) -> bool:
    """Say whether a data type is one of integers, signed or not."""
    return is_int(dtype) or is_uint(dtype)


def widens(from_dtype: str, to_dtype: str) -> bool:
    """Say whether each integer of a data type is one of another data type, too."""
    if not (is_integer(from_dtype) and is_integer(to_dtype)):
        return False
    if is_int(from_dtype) == is_int(to_dtype):
        return bits(from_dtype) <= bits(to_dtype)
    return is_int(to_dtype) and bits(from_dtype) < bits(to_dtype)


def promote(lhs: str, rhs: str) -> str:
    """Return the data type that an operation on two data types computes with.

    Examples
    --------
    >>> promote("float16", "int64"), promote("int8", "uint8"), promote("uint32", "int64")
    ('float16', 'uint8', 'int64')
    """
    if lhs == rhs:
        return lhs
    if is_float(lhs) != is_float(rhs):
        return lhs if is_float(lhs) else rhs
    if bits(lhs) != bits(rhs):
        return lhs if bits(lhs) > bits(rhs) else rhs
    preferred = "float" if is_float(lhs) else "uint"
    return lhs if lhs.startswith(preferred) else rhs


# Finite limits by the name of the data type, where NumPy does not know it.
_FLOAT_MAX = {
    "bfloat16": 3.3895313892515355e38,
    "float8_e3m4": 15.5,
    "float8_e4m3": 240.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 2.0**127,
}


def _limits(dtype: str) -> tuple[int | float, int | float]:
    if dtype == "bool":
        return 0, 1
    if is_float(dtype):
        highest = _FLOAT_MAX.get(dtype)
        highest = float(np.finfo(dtype).max) if highest is None else highest
        return (0.0 if dtype == "float8_e8m0fnu" else -highest), highest
    width = bits(dtype)
    return (0, 2**width - 1) if is_uint(dtype) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


# ---------------------------------------------------------------------------------------------
# Nodes
# ---------------------------------------------------------------------------------------------


class ExprOp:
    """Python's operators, for expressions and for what stands for one."""

    # Before NumPy's scalars, which would make arrays of us.
    __array_priority__ = 1000
    __array_ufunc__ = None

    def __add__(self, other: ExprLike) -> PrimExpr:
        return add(self, other)

    def __radd__(self, other: ExprLike) -> PrimExpr:
        return add(other, self)

    def __sub__(self, other: ExprLike) -> PrimExpr:
        return subtract(self, other)

    def __rsub__(self, other: ExprLike) -> PrimExpr:
        return subtract(other, self)

    def __mul__(self, other: ExprLike) -> PrimExpr:
        return multiply(self, other)

    def __rmul__(self, other: ExprLike) -> PrimExpr:
        return multiply(other, self)

    def __truediv__(self, other: ExprLike) -> PrimExpr:
        return _true_divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> PrimExpr:
        return _true_divide(other, self)

    def __floordiv__(self, other: ExprLike) -> PrimExpr:
        return floordiv(self, other)

    def __rfloordiv__(self, other: ExprLike) -> PrimExpr:
        return floordiv(other, self)

    def __mod__(self, other: ExprLike) -> PrimExpr:
        return floormod(self, other)

    def __rmod__(self, other: ExprLike) -> PrimExpr:
        return floormod(other, self)

    def __neg__(self) -> PrimExpr:
        return negative(self)

    def __lshift__(self, other: ExprLike) -> PrimExpr:
        return shift_left(self, other)

    def __rlshift__(self, other: ExprLike) -> PrimExpr:
        return shift_left(other, self)

    def __rshift__(self, other: ExprLike) -> PrimExpr:
        return shift_right(self, other)

    def __rrshift__(self, other: ExprLike) -> PrimExpr:
        return shift_right(other, self)

    def __and__(self, other: ExprLike) -> PrimExpr:
        return bitwise_and(self, other)

    def __rand__(self, other: ExprLike) -> PrimExpr:
        return bitwise_and(other, self)

    def __or__(self, other: ExprLike) -> PrimExpr:
        return bitwise_or(self, other)

    def __ror__(self, other: ExprLike) -> PrimExpr:
        return bitwise_or(other, self)

    def __xor__(self, other: ExprLike) -> PrimExpr:
        return bitwise_xor(self, other)

    def __rxor__(self, other: ExprLike) -> PrimExpr:
        return bitwise_xor(other, self)

    def __invert__(self) -> PrimExpr:
        return bitwise_not(self)

    def __lt__(self, other: ExprLike) -> PrimExpr:
        return compare(LT, self, other)

    def __le__(self, other: ExprLike) -> PrimExpr:
        return compare(LE, self, other)

    def __gt__(self, other: ExprLike) -> PrimExpr:
        return compare(GT, self, other)

    def __ge__(self, other: ExprLike) -> PrimExpr:
        return compare(GE, self, other)

    def __eq__(self, other: object) -> Any:
        return compare(EQ, self, other) if _is_scalar(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return compare(NE, self, other) if _is_scalar(other) else NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise ValueError(
            "expected no 'and', 'or', 'not', 'if' or chained comparison of expressions: their "
            "value is not known yet; use all, any, logical_not or if_then_else"
        )

    def equal(self, other: ExprLike) -> PrimExpr:
        """Return whether two expressions have the same value, as an expression."""
        return compare(EQ, self, other)

    def astype(self, dtype: Any) -> PrimExpr:
        """Return the value as one of another data type."""
        return cast(dtype, self)


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
        return to_dim(self)

    def __repr__(self) -> str:
        return _Writer().text(self)


class Var(PrimExpr):
    """A variable. Two variables of one name are not the same.

    Parameters
    ----------
    name : str
    dtype : str or numpy.dtype
    """

    def __init__(self, name: str, dtype: Any = "int32") -> None:
        self.name = name
        self.dtype = dtype_of(dtype)

    @property
    def name_hint(self) -> str:
        """The name."""
        return self.name


class SizeVar(Var):
    """A variable that is not negative, such as a dimension or an index."""


class _Imm(PrimExpr):
    value: Any

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, self.value))


class IntImm(_Imm):
    """An integer or a bool.

    Parameters
    ----------
    dtype : str or numpy.dtype
    value : int
    """

    def __init__(self, dtype: Any, value: int) -> None:
        self.dtype = dtype_of(dtype)
        self.value = int(value)
        lowest, highest = _limits(self.dtype)
        if not lowest <= self.value <= highest:
            raise ValueError(f"expected a value of {self.dtype}, but got {value}")

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value


class FloatImm(_Imm):
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


class StringImm(_Imm):
    """A string, as an argument of a call.

    Parameters
    ----------
    value : str
    """

    def __init__(self, value: str) -> None:
        self.dtype = "handle"
        self.value = value


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
        return structural_equal(self.a, self.b)


class NE(CmpOp):
    """The comparison ``a != b``. As a Python bool: whether both are different expressions."""

    symbol = "!="

    def __bool__(self) -> bool:
        return not structural_equal(self.a, self.b)


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
        _require_bool(self.a)


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
        _require_bool(self.a)
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
        _require_bool(self.condition)
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


class _Load(PrimExpr):
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


class BufferLoad(_Load):
    """An element of a buffer.

    Parameters
    ----------
    buffer
        Anything with a name, a shape and a dtype.
    indices : sequence of PrimExpr
    """

    @property
    def buffer(self) -> Any:
        """The buffer."""
        return self.source


class ProducerLoad(_Load):
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


# ---------------------------------------------------------------------------------------------
# Reductions
# ---------------------------------------------------------------------------------------------


class Range:
    """The integers from ``min`` on, ``extent`` of them.

    Parameters
    ----------
    begin, end : PrimExpr
        The first and, exclusively, the last one. With one argument it is the end.
    """

    def __init__(self, begin: ExprLike, end: ExprLike | None = None) -> None:
        first = const(0, convert(begin).dtype) if end is None else convert(begin)
        self.min: PrimExpr = first
        self.extent: PrimExpr = convert(begin) if end is None else subtract(end, first)

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> Range:
        """Return the range of a first value and an extent."""
        made = Range(extent)
        made.min = convert(min_value)
        return made

    def __repr__(self) -> str:
        return f"Range({self.min}, {add(self.min, self.extent)})"


class IterVar(ExprOp):
    """A variable that runs over a range: an axis of a tensor, or one of a reduction.

    Parameters
    ----------
    dom : Range
    var : Var
    iter_type : str
        "DataPar" or "CommReduce".
    """

    def __init__(self, dom: Range, var: Var, iter_type: str = "DataPar") -> None:
        self.dom, self.var, self.iter_type = dom, var, iter_type

    @property
    def dtype(self) -> str:
        """The data type of the variable."""
        return self.var.dtype

    def as_prim_expr(self) -> PrimExpr:
        """Return the variable."""
        return self.var

    def __repr__(self) -> str:
        return f"IterVar({self.var}, {self.dom}, {self.iter_type!r})"


class CommReducer:
    """A commutative reducer, which combines two values, or two lists of them, into one.

    Parameters
    ----------
    lhs, rhs : sequence of Var
    result : sequence of PrimExpr
        Of these variables.
    identity_element : sequence of PrimExpr
        The neutral element, which changes no value.
    """

    def __init__(
        self,
        lhs: Sequence[Var],
        rhs: Sequence[Var],
        result: Sequence[PrimExpr],
        identity_element: Sequence[PrimExpr],
    ) -> None:
        self.lhs, self.rhs = tuple(lhs), tuple(rhs)
        self.result, self.identity_element = tuple(result), tuple(identity_element)

    def __call__(self, lhs: Sequence[PrimExpr], rhs: Sequence[PrimExpr]) -> list[PrimExpr]:
        """Return the results for given values."""
        values = dict(zip((*self.lhs, *self.rhs), (*lhs, *rhs), strict=True))
        return [substitute(expr, values) for expr in self.result]


class Reduce(PrimExpr):
    """A value reduced over axes. It can only be all that an element is computed as.

    Parameters
    ----------
    combiner : CommReducer
    source : sequence of PrimExpr
        One for each output.
    axis : sequence of IterVar
    condition : PrimExpr
        Where it is false, an element does not count.
    value_index : int
        The index of this output.
    init : sequence of PrimExpr
        The initial values of the outputs. Empty: the identity.
    """

    def __init__(
        self,
        combiner: CommReducer,
        source: Sequence[PrimExpr],
        axis: Sequence[IterVar],
        condition: PrimExpr,
        value_index: int,
        init: Sequence[PrimExpr] = (),
    ) -> None:
        self.combiner, self.source, self.axis = combiner, tuple(source), tuple(axis)
        self.condition, self.value_index, self.init = condition, value_index, tuple(init)
        self.dtype = self.source[value_index].dtype

    def _operands(self) -> tuple[PrimExpr, ...]:
        return (*self.source, self.condition, *self.init)

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        count = len(self.source)
        return Reduce(
            self.combiner,
            operands[:count],
            self.axis,
            operands[count],
            self.value_index,
            operands[count + 1 :],
        )


ExprLike: TypeAlias = Any  # PrimExpr, what stands for one, or a number


# ---------------------------------------------------------------------------------------------
# Conversion
# ---------------------------------------------------------------------------------------------


def _is_scalar(value: Any) -> bool:
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
        return from_dim(value)
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
    if not isinstance(value, (bool, int, float, np.generic, _Imm)):
        raise TypeError(f"expected a number, but got {value!r}")
    number = value.value if isinstance(value, _Imm) else value
    if is_float(dtype):
        return FloatImm(dtype, float(number))
    if dtype == "bool":
        return IntImm(dtype, int(bool(number)))
    return IntImm(dtype, int(number))


def _index(value: ExprLike) -> PrimExpr:
    expr = convert(value)
    if is_float(expr.dtype) or expr.dtype == "handle":
        raise TypeError(f"expected an integer as index, but got {expr} of type {expr.dtype}")
    return expr


def _require_bool(expr: PrimExpr) -> None:
    if expr.dtype != "bool":
        raise TypeError(f"expected a condition of type bool, but got {expr} of type {expr.dtype}")


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
        lowest, highest = _limits(wanted)
        if math.isfinite(number) and lowest <= int(number) <= highest:
            return IntImm(wanted, int(number))
    return Cast(wanted, expr)


def match_types(lhs: ExprLike, rhs: ExprLike) -> tuple[PrimExpr, PrimExpr]:
    """Return two values as ones of the data type that an operation on them computes with."""
    a, b = convert(lhs), convert(rhs)
    for expr in (a, b):
        if expr.dtype in ("handle", "void"):
            raise TypeError(f"expected a number, but got {expr} of type {expr.dtype}")
    dtype = promote(a.dtype, b.dtype)
    return cast(dtype, a), cast(dtype, b)


# ---------------------------------------------------------------------------------------------
# Arithmetic
# ---------------------------------------------------------------------------------------------


def _fold(
    a: PrimExpr, b: PrimExpr, compute: Callable[[Any, Any], int | float], dtype: str | None = None
) -> PrimExpr | None:
    """Return the constant that an operation on constants gives, or None."""
    wanted = a.dtype if dtype is None else dtype
    if not (isinstance(a, (IntImm, FloatImm)) and isinstance(b, (IntImm, FloatImm))):
        return None
    if bits(a.dtype) == 16 or a.dtype.startswith("float8"):
        return None  # rounded when it is computed
    try:
        value = compute(a.value, b.value)
    except (ZeroDivisionError, OverflowError):
        return None
    if wanted == "float32" and math.isfinite(value):
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if not is_float(wanted):
        lowest, highest = _limits(wanted)
        if not lowest <= value <= highest:
            return None
    return const(value, wanted)


def _is_const(expr: PrimExpr, value: int) -> bool:
    return isinstance(expr, (IntImm, FloatImm)) and expr.value == value


def add(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the sum."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: x + y)
    if folded is not None:
        return folded
    # Not for floats: -0.0 + 0.0 is 0.0.
    if not is_float(a.dtype):
        if _is_const(a, 0):
            return b
        if _is_const(b, 0):
            return a
    return Add(a, b)


def subtract(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the difference."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: x - y)
    if folded is not None:
        return folded
    return a if _is_const(b, 0) else Sub(a, b)


def multiply(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the product."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: x * y)
    if folded is not None:
        return folded
    if _is_const(a, 1):
        return b
    if _is_const(b, 1):
        return a
    # Not for floats: inf * 0 is nan.
    if not is_float(a.dtype):
        for zero in (a, b):
            if _is_const(zero, 0):
                return zero
    return Mul(a, b)


def negative(value: ExprLike) -> PrimExpr:
    """Return the value with the other sign; unsigned integers wrap around."""
    expr = convert(value)
    if expr.dtype == "bool":
        raise TypeError(f"expected a number, but got {expr} of type bool")
    if isinstance(expr, FloatImm):
        return FloatImm(expr.dtype, -expr.value)
    if is_uint(expr.dtype):
        return Sub(const(0, expr.dtype), expr)
    return multiply(expr, const(-1, expr.dtype))


def is_zero(expr: PrimExpr) -> bool:
    """Say whether an expression is the number 0."""
    return isinstance(expr, IntImm) and expr.value == 0


def _require_divisor(b: PrimExpr) -> None:
    if is_zero(b):
        raise ZeroDivisionError("expected a divisor other than 0")


def _true_divide(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    a, b = match_types(lhs, rhs)
    if is_integer(a.dtype):
        raise TypeError(
            f"expected floats around '/', but got {a} and {b} of type {a.dtype}: write '//' "
            "(floordiv) or truncdiv for integers, or cast them"
        )
    return div(a, b)


def _truncate(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def div(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient; that of integers is rounded towards zero.

    Examples
    --------
    >>> div(-7, 2), div(1.0, 4.0), floordiv(-7, 2), truncmod(-7, 2), floormod(-7, 2)
    (-3, float32(0.25), -4, -1, 1)
    """
    a, b = match_types(lhs, rhs)
    _require_divisor(b)
    folded = _fold(a, b, operator.truediv if is_float(a.dtype) else _truncate)
    if folded is not None:
        return folded
    return a if _is_const(b, 1) else Div(a, b)


def _integers(lhs: ExprLike, rhs: ExprLike, what: str) -> tuple[PrimExpr, PrimExpr]:
    a, b = match_types(lhs, rhs)
    if not is_integer(a.dtype):
        raise TypeError(f"expected integers in {what}, but got {a} and {b} of type {a.dtype}")
    return a, b


def truncdiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of integers, rounded towards zero."""
    return div(*_integers(lhs, rhs, "truncdiv"))


def truncmod(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the remainder of `truncdiv`, with the sign of the dividend."""
    a, b = _integers(lhs, rhs, "truncmod")
    _require_divisor(b)
    folded = _fold(a, b, lambda x, y: x - _truncate(x, y) * y)
    return Mod(a, b) if folded is None else folded


def floordiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of integers, rounded towards negative infinity."""
    a, b = _integers(lhs, rhs, "'//' (floordiv)")
    _require_divisor(b)
    folded = _fold(a, b, lambda x, y: x // y)
    if folded is not None:
        return folded
    return a if _is_const(b, 1) else FloorDiv(a, b)


def floormod(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the remainder of `floordiv`, with the sign of the divisor."""
    a, b = _integers(lhs, rhs, "'%' (floormod)")
    _require_divisor(b)
    folded = _fold(a, b, lambda x, y: x % y)
    if folded is not None:
        return folded
    return const(0, a.dtype) if _is_const(b, 1) else FloorMod(a, b)


def ceildiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of integers, rounded towards positive infinity."""
    a, b = _integers(lhs, rhs, "ceildiv")
    return floordiv(add(a, subtract(b, 1)), b)


def minimum(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the smaller one of two values."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, min)
    return Min(a, b) if folded is None else folded


def maximum(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the larger one of two values."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, max)
    return Max(a, b) if folded is None else folded


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def compare(kind: type[CmpOp], lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return a comparison of two values.

    Parameters
    ----------
    kind : type
        EQ, NE, LT, LE, GT or GE.
    lhs, rhs : PrimExpr or number
    """
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: int(_COMPARE[kind.symbol](x, y)), "bool")
    return kind(a, b) if folded is None else folded


def logical_and(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return whether both are true."""
    a, b = convert(lhs), convert(rhs)
    _require_bool(a)
    _require_bool(b)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, IntImm):
            return second if first.value else first
    return And(a, b)


def logical_or(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return whether one is true."""
    a, b = convert(lhs), convert(rhs)
    _require_bool(a)
    _require_bool(b)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, IntImm):
            return first if first.value else second
    return Or(a, b)


def logical_not(value: ExprLike) -> PrimExpr:
    """Return whether it is false."""
    expr = convert(value)
    _require_bool(expr)
    return const(not expr.value, "bool") if isinstance(expr, IntImm) else Not(expr)


def _bitwise(name: str, lhs: ExprLike, rhs: ExprLike, compute: Any) -> PrimExpr:
    a, b = match_types(lhs, rhs)
    if is_float(a.dtype):
        raise TypeError(f"expected integers in {name}, but got {a} and {b} of type {a.dtype}")
    folded = _fold(a, b, compute)
    return Call(a.dtype, name, (a, b)) if folded is None else folded


def bitwise_and(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the bits that are set in both."""
    return _bitwise("bitwise_and", lhs, rhs, lambda x, y: x & y)


def bitwise_or(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the bits that are set in one of both, or in both."""
    return _bitwise("bitwise_or", lhs, rhs, lambda x, y: x | y)


def bitwise_xor(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the bits that are set in one of both only."""
    return _bitwise("bitwise_xor", lhs, rhs, lambda x, y: x ^ y)


def bitwise_not(value: ExprLike) -> PrimExpr:
    """Return the bits that are not set."""
    expr = convert(value)
    if is_float(expr.dtype):
        raise TypeError(f"expected an integer after '~', but got {expr} of type {expr.dtype}")
    return Call(expr.dtype, "bitwise_not", (expr,))


def _shift(name: str, lhs: ExprLike, rhs: ExprLike, compute: Any) -> PrimExpr:
    a, b = _integers(lhs, rhs, name)
    if isinstance(b, IntImm) and not 0 <= b.value < bits(a.dtype):
        raise ValueError(f"expected to shift by 0 to {bits(a.dtype) - 1} bits, but got {b.value}")
    folded = _fold(a, b, compute)
    return Call(a.dtype, name, (a, b)) if folded is None else folded


def shift_left(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the integer with its bits moved to the left."""
    return _shift("shift_left", lhs, rhs, lambda x, y: x << y)


def shift_right(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the integer with its bits moved to the right; the sign stays."""
    return _shift("shift_right", lhs, rhs, lambda x, y: x >> y)


# ---------------------------------------------------------------------------------------------
# Walking
# ---------------------------------------------------------------------------------------------


def post_order_visit(expr: PrimExpr, visit: Callable[[PrimExpr], object]) -> None:
    """Call a function on each node of an expression once, operands first."""
    seen: set[int] = set()
    stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
    while stack:
        node, done = stack.pop()
        if done:
            visit(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.operands()))


def transform(expr: PrimExpr, replace: Callable[[PrimExpr], PrimExpr | None]) -> PrimExpr:
    """Return the expression with nodes replaced.

    Parameters
    ----------
    expr : PrimExpr
    replace : callable
        Returns what takes the place of a node, or None where its operands are looked at.
    """
    done: dict[int, PrimExpr] = {}
    stack = [(expr, False)]
    while stack:
        node, is_ready = stack.pop()
        if id(node) in done:
            continue
        if is_ready:
            old = node.operands()
            new = [done[id(operand)] for operand in old]
            changed = any(a is not b for a, b in zip(old, new, strict=True))
            done[id(node)] = node.rebuild(new) if changed else node
            continue
        result = replace(node)
        if result is not None:
            done[id(node)] = result
        else:
            stack.append((node, True))
            stack.extend((operand, False) for operand in node.operands())
    return done[id(expr)]


def substitute(expr: ExprLike, values: Mapping[Var, ExprLike]) -> PrimExpr:
    """Return the expression with variables replaced, all at once.

    Examples
    --------
    >>> n = Var("n", "int64")
    >>> substitute(n * 4 + 1, {n: 2})
    int64(9)
    """
    table = {id(variable): convert(value) for variable, value in values.items()}

    def replace(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, Var):
            return None
        value = table.get(id(node))
        return node if value is None else cast(node.dtype, value)

    return simplify(transform(convert(expr), replace))


_FOLDERS: dict[type[PrimExpr], Callable[..., PrimExpr]] = {
    Add: add,
    Sub: subtract,
    Mul: multiply,
    Div: div,
    Mod: truncmod,
    FloorDiv: floordiv,
    FloorMod: floormod,
    Min: minimum,
    Max: maximum,
    And: logical_and,
    Or: logical_or,
    Not: logical_not,
}


def simplify(expr: PrimExpr) -> PrimExpr:
    """Return the expression with constants folded."""
    done: dict[int, PrimExpr] = {}

    def visit(node: PrimExpr) -> None:
        old = node.operands()
        new = [done[id(operand)] for operand in old]
        folder = _FOLDERS.get(type(node))
        if isinstance(node, CmpOp):
            done[id(node)] = compare(type(node), *new)
        elif folder is not None:
            try:
                done[id(node)] = folder(*new)
            except ZeroDivisionError:
                done[id(node)] = node.rebuild(new)
        else:
            changed = any(a is not b for a, b in zip(old, new, strict=True))
            done[id(node)] = node.rebuild(new) if changed else node

    post_order_visit(expr, visit)
    return done[id(expr)]


def undefined_vars(expr: PrimExpr) -> list[Var]:
    """Return the variables of an expression that it does not bind itself, each once."""
    found: dict[int, Var] = {}
    bound: set[int] = set()

    def visit(node: PrimExpr) -> None:
        if isinstance(node, Var):
            found[id(node)] = node
        elif isinstance(node, Let):
            bound.add(id(node.var))
        elif isinstance(node, Reduce):
            bound.update(id(axis.var) for axis in node.axis)
            for axis in node.axis:
                for end in (axis.dom.min, axis.dom.extent):
                    post_order_visit(end, visit)

    post_order_visit(expr, visit)
    return [variable for key, variable in found.items() if key not in bound]


def is_zero(expr: PrimExpr) -> bool:
    """Say whether an expression is the integer 0."""
    return isinstance(expr, IntImm) and expr.value == 0


def is_one(expr: PrimExpr) -> bool:
    """Say whether an expression is the integer 1."""
    return isinstance(expr, IntImm) and expr.value == 1


def is_non_negative(expr: PrimExpr) -> bool:
    """Say whether an integer is certain not to be negative.

    Examples
    --------
    >>> n, i = SizeVar("n", "int64"), Var("i", "int64")
    >>> is_non_negative(n * 4 + 1), is_non_negative(n - 1), is_non_negative(i)
    (True, False, False)
    """
    known: dict[int, bool] = {}

    def visit(node: PrimExpr) -> None:
        known[id(node)] = _is_natural(node, [known[id(operand)] for operand in node.operands()])

    post_order_visit(expr, visit)
    return known[id(expr)]


def _is_natural(expr: PrimExpr, operands: Sequence[bool]) -> bool:
    """Say whether an integer is not negative, given which of its operands are not."""
    if isinstance(expr, IntImm):
        return expr.value >= 0
    if isinstance(expr, SizeVar) or is_uint(expr.dtype):
        return True
    if isinstance(expr, (Add, Mul, FloorDiv, Div, Min)):
        return all(operands)
    if isinstance(expr, Max):
        return any(operands)
    if isinstance(expr, FloorMod):
        return operands[1]
    if isinstance(expr, Cast):
        wider = is_int(expr.dtype) and bits(expr.dtype) >= bits(expr.value.dtype)
        return wider and is_int(expr.value.dtype) and operands[0]
    return False


def _payload(expr: PrimExpr) -> tuple[Any, ...]:
    """Return the properties that distinguish nodes of one class besides their operands."""
    if isinstance(expr, _Imm):
        return (expr.value,)
    if isinstance(expr, _Load):
        return (id(expr.source),)
    if isinstance(expr, Call):
        return (expr.op,)
    if isinstance(expr, (Let, Reduce)):
        return (id(expr),)
    return ()


def structural_equal(lhs: ExprLike, rhs: ExprLike) -> bool:
    """Say whether two expressions are the same: of the same nodes, of the same variables.

    Constants are compared by their value, not their data type.

    Examples
    --------
    >>> n = Var("n", "int64")
    >>> structural_equal(n + 1, n + 1), structural_equal(n + 1, n), structural_equal(n, Var("n"))
    (True, False, False)
    """
    seen: set[tuple[int, int]] = set()
    pairs = [(convert(lhs), convert(rhs))]
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            if a.value != b.value:
                return False
            continue
        if type(a) is not type(b) or isinstance(a, Var) or a.dtype != b.dtype:
            return False
        if _payload(a) != _payload(b) or len(a.operands()) != len(b.operands()):
            return False
        pairs.extend(zip(a.operands(), b.operands(), strict=True))
    return True


# ---------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------


class _Writer:
    """Writes an expression as text, the first nodes of a large one."""

    def __init__(self, limit: int = 400) -> None:
        self.limit = limit

    def list(self, exprs: Iterable[PrimExpr]) -> str:
        return ", ".join(self.text(expr) for expr in exprs)

    def text(self, expr: PrimExpr, around: int = 0) -> str:
        """Return text, in parentheses inside of an operator that binds more tightly."""
        self.limit -= 1
        if self.limit < 0:
            return "..."
        if isinstance(expr, Var):
            return expr.name
        if isinstance(expr, _Imm):
            return self.imm(expr)
        if isinstance(expr, BinaryOp):
            return self.binary(expr, around)
        if isinstance(expr, _Load):
            return f"{expr.source.name}[{self.list(expr.indices)}]"
        if isinstance(expr, Cast):
            return f"Cast({expr.dtype!r}, {self.text(expr.value)})"
        if isinstance(expr, Call):
            return f"{expr.op}({self.list(expr.args)})"
        if isinstance(expr, Let):
            return f"Let({expr.var.name}, {self.list(expr.operands())})"
        if isinstance(expr, Reduce):
            return self.reduce(expr)
        if isinstance(expr, Not):
            return f"not {self.text(expr.a, 8)}"
        return f"{type(expr).__name__}({self.list(expr.operands())})"

    def imm(self, expr: _Imm) -> str:
        if isinstance(expr, StringImm):
            return repr(expr.value)
        if expr.dtype == "int32":
            return str(expr.value)
        if expr.dtype == "bool":
            return str(bool(expr.value))
        return f"{expr.dtype}({expr.value})"

    def binary(self, expr: BinaryOp, around: int) -> str:
        if not expr.infix:
            return f"{expr.symbol}({self.list(expr.operands())})"
        # A constant takes its data type from the other operand.
        a, b = (
            str(side.value)
            if isinstance(side, IntImm) and not isinstance(other, IntImm) and side.dtype != "bool"
            else self.text(side, level)
            for side, other, level in (
                (expr.a, expr.b, expr.precedence),
                (expr.b, expr.a, expr.precedence + 1),
            )
        )
        text = f"{a} {expr.symbol} {b}"
        return f"({text})" if expr.precedence < around else text

    def reduce(self, expr: Reduce) -> str:
        combined, source = self.list(expr.combiner.result), self.list(expr.source)
        axes = ", ".join(str(axis.var) for axis in expr.axis)
        return f"reduce({combined}, source=[{source}], axis=[{axes}])"


__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BinaryOp",
    "BufferLoad",
    "Call",
    "Cast",
    "CmpOp",
    "CommReducer",
    "Div",
    "ExprLike",
    "ExprOp",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "IterVar",
    "Let",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimExpr",
    "ProducerLoad",
    "Range",
    "Reduce",
    "Select",
    "SizeVar",
    "StringImm",
    "Sub",
    "Var",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "const",
    "convert",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "negative",
    "post_order_visit",
    "shift_left",
    "shift_right",
    "simplify",
    "structural_equal",
    "substitute",
    "transform",
    "undefined_vars",
]
