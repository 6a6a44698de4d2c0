# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of expressions: mathematics, conditions and reductions, with TVM's names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .._arguments import shown
from . import expr as _expr
from .expr import (
    Call,
    CommReducer,
    ExprLike,
    IntImm,
    IterVar,
    PrimExpr,
    Range,
    Reduce,
    Select,
    Var,
    cast,
    const,
    convert,
    dtype_of,
    is_float,
    is_integer,
    is_uint,
    match_types,
)

# ---------------------------------------------------------------------------------------------
# Mathematics
# ---------------------------------------------------------------------------------------------


def _float_call(name: str, x: ExprLike) -> PrimExpr:
    """Call a function of floats; integers are taken as float32."""
    arg = convert(x)
    if arg.dtype in ("handle", "void"):
        raise TypeError(f"expected a number in {name}, but got {arg} of type {arg.dtype}")
    if not is_float(arg.dtype):
        arg = cast("float32", arg)
    return Call(arg.dtype, name, (arg,))


def _unary(name: str, what: str) -> Callable[[ExprLike], PrimExpr]:
    def function(x: ExprLike) -> PrimExpr:
        return _float_call(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {what}.\n\nParameters\n----------\nx : PrimExpr or number\n"
        "    An integer is taken as float32.\n\nReturns\n-------\nPrimExpr\n"
    )
    return function


exp = _unary("exp", "the exponential function of `x`")
exp2 = _unary("exp2", "two to the power of `x`")
exp10 = _unary("exp10", "ten to the power of `x`")
expm1 = _unary("expm1", "the exponential function of `x` minus one")
log = _unary("log", "the natural logarithm of `x`")
log2 = _unary("log2", "the logarithm of `x` to base two")
log10 = _unary("log10", "the logarithm of `x` to base ten")
log1p = _unary("log1p", "the natural logarithm of one plus `x`")
sin = _unary("sin", "the sine of `x`")
cos = _unary("cos", "the cosine of `x`")
tan = _unary("tan", "the tangent of `x`")
sinh = _unary("sinh", "the hyperbolic sine of `x`")
cosh = _unary("cosh", "the hyperbolic cosine of `x`")
tanh = _unary("tanh", "the hyperbolic tangent of `x`")
asin = _unary("asin", "the inverse sine of `x`")
acos = _unary("acos", "the inverse cosine of `x`")
atan = _unary("atan", "the inverse tangent of `x`")
asinh = _unary("asinh", "the inverse hyperbolic sine of `x`")
acosh = _unary("acosh", "the inverse hyperbolic cosine of `x`")
atanh = _unary("atanh", "the inverse hyperbolic tangent of `x`")
sqrt = _unary("sqrt", "the square root of `x`")
rsqrt = _unary("rsqrt", "one over the square root of `x`")
erf = _unary("erf", "the error function of `x`")
sigmoid = _unary("sigmoid", "the logistic function of `x`")


def _rounding(name: str, what: str) -> Callable[[ExprLike], PrimExpr]:
    def function(x: ExprLike) -> PrimExpr:
        arg = convert(x)
        return Call(arg.dtype, name, (arg,)) if is_float(arg.dtype) else arg

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return `x` rounded {what}.\n\nParameters\n----------\nx : PrimExpr or number\n"
        "    An integer stays what it is.\n\nReturns\n-------\nPrimExpr\n"
    )
    return function


floor = _rounding("floor", "towards negative infinity")
ceil = _rounding("ceil", "towards positive infinity")
trunc = _rounding("trunc", "towards zero")
round = _rounding("round", "to the nearest integer, ties to even")
nearbyint = _rounding("nearbyint", "to the nearest integer, ties to even")


def abs(x: ExprLike, span: None = None) -> PrimExpr:
    """Return the absolute value.

    Parameters
    ----------
    x : PrimExpr or number

    Returns
    -------
    PrimExpr
    """
    arg = convert(x)
    if arg.dtype == "bool":
        raise TypeError(f"expected a number in abs, but got {arg} of type bool")
    return arg if is_uint(arg.dtype) else Call(arg.dtype, "abs", (arg,))


def _classify(name: str, what: str, of_integers: bool) -> Callable[[ExprLike], PrimExpr]:
    def function(x: ExprLike) -> PrimExpr:
        arg = convert(x)
        if not is_float(arg.dtype):
            return const(of_integers, "bool")
        return Call("bool", name, (arg,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return whether `x` is {what}.\n\nParameters\n----------\nx : PrimExpr or number\n\n"
        "Returns\n-------\nPrimExpr\n    A bool.\n"
    )
    return function


isnan = _classify("isnan", "not a number", False)
isinf = _classify("isinf", "an infinity", False)
isfinite = _classify("isfinite", "neither an infinity nor not a number", True)


def _floats(name: str, lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    a, b = match_types(lhs, rhs)
    if not is_float(a.dtype):
        raise TypeError(f"expected floats in {name}, but got {a} and {b} of type {a.dtype}")
    return Call(a.dtype, name, (a, b))


def power(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return `x` to the power of `y`, of floats.

    Examples
    --------
    >>> power(Var("x", "float16"), 2)
    pow(x, float16(2.0))
    """
    return _floats("pow", x, y)


pow = power


def atan2(x1: ExprLike, x2: ExprLike) -> PrimExpr:
    """Return the angle of the point (`x2`, `x1`)."""
    return _floats("atan2", x1, x2)


def hypot(x1: ExprLike, x2: ExprLike) -> PrimExpr:
    """Return the distance of the point (`x1`, `x2`) from the origin."""
    return _floats("hypot", x1, x2)


def copysign(x1: ExprLike, x2: ExprLike) -> PrimExpr:
    """Return the absolute value of `x1` with the sign of `x2`."""
    return _floats("copysign", x1, x2)


def fmod(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the remainder of the quotient rounded towards zero."""
    a, b = match_types(x, y)
    return Call(a.dtype, "fmod", (a, b)) if is_float(a.dtype) else _expr.truncmod(a, b)


def ldexp(x1: ExprLike, x2: ExprLike) -> PrimExpr:
    """Return `x1` times two to the power of the integer `x2`."""
    a, b = convert(x1), convert(x2)
    if not is_float(a.dtype) or not is_integer(b.dtype):
        raise TypeError(f"expected a float and an integer in ldexp, not {a.dtype} and {b.dtype}")
    return Call(a.dtype, "ldexp", (a, b))


def logaddexp(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the logarithm of the sum of the exponential functions of both.

    Nothing overflows that has a finite result.
    """
    a, b = match_types(x, y)
    if not is_float(a.dtype):
        raise TypeError(f"expected floats in logaddexp, but got {a.dtype}")
    larger, smaller = _expr.maximum(a, b), _expr.minimum(a, b)
    # The difference of two equal infinities is not a number.
    difference = Select(a.equal(b), const(0, a.dtype), smaller - larger)
    return larger + log1p(exp(difference))


def popcount(x: ExprLike) -> PrimExpr:
    """Return the number of bits that are set in an integer."""
    return _integer_call("popcount", x)


def clz(x: ExprLike) -> PrimExpr:
    """Return the number of leading bits that are not set in an integer, as int32."""
    arg = convert(x)
    return cast("int32", _integer_call("clz", arg))


def _integer_call(name: str, x: ExprLike) -> PrimExpr:
    arg = convert(x)
    if not is_integer(arg.dtype):
        raise TypeError(f"expected an integer in {name}, but got {arg} of type {arg.dtype}")
    return Call(arg.dtype, name, (arg,))


def reinterpret(dtype: Any, value: ExprLike) -> PrimExpr:
    """Return the bits of a value as a value of another data type of the same size."""
    wanted, arg = dtype_of(dtype), convert(value)
    if _expr.bits(wanted) != _expr.bits(arg.dtype):
        raise TypeError(f"expected {_expr.bits(wanted)} bits in reinterpret, not {arg.dtype}")
    return arg if wanted == arg.dtype else Call(wanted, "reinterpret", (arg,))


# As functions, besides the operators.
add, subtract, multiply = _expr.add, _expr.subtract, _expr.multiply
div, truncdiv, truncmod = _expr.div, _expr.truncdiv, _expr.truncmod
floordiv, floormod, ceildiv = _expr.floordiv, _expr.floormod, _expr.ceildiv


def indexdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of integers that are not negative."""
    return floordiv(a, b)


def indexmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of integers that are not negative."""
    return floormod(a, b)


def min_value(dtype: Any) -> PrimExpr:
    """Return the least finite value of a data type."""
    wanted = dtype_of(dtype)
    return const(_expr.limits(wanted)[0], wanted)


def max_value(dtype: Any) -> PrimExpr:
    """Return the greatest finite value of a data type."""
    wanted = dtype_of(dtype)
    return const(_expr.limits(wanted)[1], wanted)


def infinity(dtype: Any) -> PrimExpr:
    """Return the positive infinity of a floating point type."""
    return _expr.FloatImm(dtype, math.inf)


# ---------------------------------------------------------------------------------------------
# Conditions
# ---------------------------------------------------------------------------------------------


def if_then_else(cond: ExprLike, t: ExprLike, f: ExprLike) -> PrimExpr:
    """Return `t` or `f`; only the one that is taken is computed.

    So it may hold an index that is out of bounds elsewhere.

    Parameters
    ----------
    cond : PrimExpr or bool
    t, f : PrimExpr or number

    Examples
    --------
    >>> i = Var("i", "int64")
    >>> if_then_else(i > 0, i, 1.5)
    if_then_else(i > 0, Cast('float32', i), float32(1.5))
    """
    condition = convert(cond)
    if is_integer(condition.dtype):
        condition = _expr.compare(_expr.NE, condition, 0)
    _expr.require_bool(condition)
    a, b = match_types(t, f)
    if isinstance(condition, IntImm):
        return a if condition.value else b
    return Call(a.dtype, "if_then_else", (condition, a, b))


def likely(cond: ExprLike) -> PrimExpr:
    """Return the condition; that it is likely true is not made use of."""
    return convert(cond)


def all(*args: Any, **kwargs: Any) -> PrimExpr:
    """Return whether all conditions are true; with axes, whether it is true everywhere.

    Parameters
    ----------
    *args : PrimExpr
        Conditions, or one, and the axes of a reduction.
    """
    return _combine("all", _all_of, _expr.logical_and, args, kwargs)


def any(*args: Any, **kwargs: Any) -> PrimExpr:
    """Return whether one condition is true; with axes, whether it is true somewhere.

    Parameters
    ----------
    *args : PrimExpr
        Conditions, or one, and the axes of a reduction.
    """
    return _combine("any", _any_of, _expr.logical_or, args, kwargs)


# ---------------------------------------------------------------------------------------------
# Reductions
# ---------------------------------------------------------------------------------------------


def reduce_axis(dom: Range | Sequence[ExprLike], name: str = "rv", thread_tag: str = "") -> IterVar:
    """Return an axis to reduce over.

    Parameters
    ----------
    dom : Range, or pair of PrimExpr
        The first value and, exclusively, the last one.
    name : str

    Examples
    --------
    >>> reduce_axis((0, 8), name="k")
    IterVar(k, Range(0, 8), 'CommReduce')
    """
    if not isinstance(dom, Range):
        if len(dom) != 2:
            raise ValueError(f"expected a pair, the first and the last value, but got {dom!r}")
        dom = Range(*match_types(*dom))
    if not _expr.is_integer(dom.extent.dtype):
        raise TypeError(f"expected integers as ends of a range, but got {dom}")
    if isinstance(dom.extent, _expr.IntImm) and dom.extent.value < 0:
        raise ValueError(f"expected a range that does not end before it begins, but got {dom}")
    kind = _expr.SizeVar if _expr.is_non_negative(dom.min) else Var
    return IterVar(dom, kind(name, dom.extent.dtype), "CommReduce")


def _axes(axis: Any) -> list[IterVar]:
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for each in axes:
        if not isinstance(each, IterVar):
            raise TypeError(f"expected axes made by reduce_axis, but got {each!r}")
        if each.iter_type != "CommReduce":
            raise ValueError(f"expected axes made by reduce_axis, but got {each}")
    return axes


def _reduce(
    combine: Callable[[Any, Any], Any],
    identity: Callable[..., Any],
    expr: Any,
    axis: Any,
    where: ExprLike | None,
    init: Any,
) -> Any:
    several = isinstance(expr, (list, tuple))
    sources = [convert(each) for each in (expr if several else [expr])]
    dtypes = [source.dtype for source in sources]
    lhs = [Var(f"x{i}" if several else "x", dtype) for i, dtype in enumerate(dtypes)]
    rhs = [Var(f"y{i}" if several else "y", dtype) for i, dtype in enumerate(dtypes)]
    if several:
        results, identities = combine(tuple(lhs), tuple(rhs)), identity(*dtypes)
        if not isinstance(results, (list, tuple)) or len(results) != len(sources):
            raise ValueError(f"expected {len(sources)} results of fcombine, but got {results!r}")
    else:
        results, identities = [combine(*lhs, *rhs)], [identity(*dtypes)]
    typed = [
        [cast(dtype, convert(each)) for each, dtype in zip(exprs, dtypes, strict=True)]
        for exprs in (results, identities)
    ]
    inits = [] if init is None else list(init) if isinstance(init, (list, tuple)) else [init]
    starts = [cast(dtype, each) for each, dtype in zip(inits, dtypes, strict=bool(inits))]
    condition = const(True, "bool") if where is None else convert(where)
    _expr.require_bool(condition)
    reducer = CommReducer(lhs, rhs, *typed)
    outputs = [
        Reduce(reducer, sources, _axes(axis), condition, i, starts) for i in range(len(sources))
    ]
    return outputs if several else outputs[0]


def comm_reducer(
    fcombine: Callable[[Any, Any], Any],
    fidentity: Callable[..., Any],
    name: str = "reduce",
) -> Callable[..., Any]:
    """Return a function that reduces over axes.

    Parameters
    ----------
    fcombine : callable
        Returns two values as one. Where several values are reduced together, it takes two tuples
        and returns one. The order in which values come is not known.
    fidentity : callable
        Takes the data type, or all of them, and returns what changes no value.
    name : str

    Returns
    -------
    callable
        ``reducer(expr, axis, where=None, init=None)``, or without axes ``reducer(a, b, ...)``.

    Examples
    --------
    >>> mysum = comm_reducer(lambda x, y: x + y, lambda t: const(0, dtype=t), name="mysum")
    >>> mysum(Var("a", "float32"), Var("b", "float32"))
    a + b
    """
    for function in (fcombine, fidentity):
        if not callable(function):
            raise TypeError(f"expected functions for {name}, but got {shown(function)}")

    def reducer(
        expr: Any,
        axis: Any,
        *args: Any,
        where: ExprLike | None = None,
        init: Any = None,
    ) -> Any:
        first = axis[0] if isinstance(axis, (list, tuple)) and axis else axis
        if not args and isinstance(first, IterVar) and first.iter_type == "CommReduce":
            return _reduce(fcombine, fidentity, expr, axis, where, init)
        if where is not None or init is not None:
            raise TypeError(f"expected axes made by reduce_axis in {name}, but got {axis!r}")
        return functools.reduce(fcombine, (axis, *args), expr)

    reducer.__name__ = reducer.__qualname__ = name
    return reducer


def _lowest(dtype: str) -> PrimExpr:
    return -infinity(dtype) if is_float(dtype) else min_value(dtype)


def _highest(dtype: str) -> PrimExpr:
    return infinity(dtype) if is_float(dtype) else max_value(dtype)


def _documented(reducer: Callable[..., Any], what: str) -> Callable[..., Any]:
    reducer.__doc__ = (
        f"Return the {what} of values, or that of an expression over axes.\n\nParameters\n"
        "----------\nexpr : PrimExpr\naxis : IterVar or sequence of it, or PrimExpr\n"
        "    Axes made by `reduce_axis`, or another value.\nwhere : PrimExpr, optional\n"
        "    Where it is false, an element does not count.\ninit : PrimExpr, optional\n"
        "    What to start with.\n\nReturns\n-------\nPrimExpr\n"
    )
    return reducer


sum = _documented(comm_reducer(_expr.add, lambda t: const(0, t), "sum"), "sum")
prod = _documented(comm_reducer(_expr.multiply, lambda t: const(1, t), "prod"), "product")
max = _documented(comm_reducer(_expr.maximum, _lowest, "max"), "greatest")
min = _documented(comm_reducer(_expr.minimum, _highest, "min"), "least")
_all_of = comm_reducer(_expr.logical_and, lambda t: const(True, t), "all")
_any_of = comm_reducer(_expr.logical_or, lambda t: const(False, t), "any")


def _combine(
    name: str,
    reducer: Callable[..., Any],
    fold: Callable[[Any, Any], PrimExpr],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> PrimExpr:
    if kwargs or (len(args) > 1 and isinstance(args[1], (IterVar, list, tuple))):
        return reducer(*args, **kwargs)
    if not args:
        raise ValueError(f"expected at least one condition in {name}")
    return functools.reduce(fold, args, const(name == "all", "bool"))


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "copysign",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "nearbyint",
    "popcount",
    "pow",
    "power",
    "prod",
    "reduce_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
]
