# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions as operations of arith, math, scf, tensor and memref.

Integers are signless in kernels; the data types of expressions say how to compare and divide them.
No operation here has undefined behaviour for any value: divisors and floats out of range are
replaced before they are used. Floats of 16 bits are computed with as f32 and rounded where they are
stored or cast.
"""

from __future__ import annotations

import contextlib
import math as _pymath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlir import ir
from mlir.dialects import arith, math, memref, scf, tensor

from ..core.context import current_location
from ..core.dtypes import element_type
from . import expr as _expr
from .expr import (
    BinaryOp,
    Call,
    Cast,
    CmpOp,
    ExprLike,
    FloatImm,
    IntImm,
    Let,
    Not,
    PrimExpr,
    Reduce,
    Select,
    Var,
    bits,
    convert,
    is_float,
    is_int,
    widens,
)

# ---------------------------------------------------------------------------------------------
# Types and constants
# ---------------------------------------------------------------------------------------------


def kernel_type(dtype: Any) -> ir.Type:
    """Return the type that holds a value of a data type in a kernel: integers are signless.

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> with default_context():
    ...     print(kernel_type("uint8"), kernel_type("float16"))
    i8 f16
    """
    name = _expr.dtype_of(dtype)
    if _expr.is_uint(name):
        return ir.IntegerType.get_signless(bits(name))
    return element_type(name)


def _wide_type(dtype: str) -> ir.Type:
    """Return the type that values of a data type are computed with."""
    return ir.F32Type.get() if is_float(dtype) and bits(dtype) == 16 else kernel_type(dtype)


def _constant(type_: ir.Type, value: int | float) -> ir.Value:
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        width = 64 if isinstance(type_, ir.IndexType) else type_.width
        number = int(value) % 2**width
        signed = number - 2**width if number >= 2 ** (width - 1) and width > 1 else number
        return arith.ConstantOp(type_, ir.IntegerAttr.get(type_, signed)).result
    return arith.ConstantOp(type_, ir.FloatAttr.get(type_, float(value))).result


def _known(value: ir.Value) -> int | None:
    """Return the integer that a value is known to be, or None."""
    if isinstance(value, ir.OpResult) and value.owner.name == "arith.constant":
        attr = value.owner.attributes["value"]
        if isinstance(attr, ir.IntegerAttr):
            return attr.value
    return None


def _is_float(value: ir.Value) -> bool:
    return isinstance(value.type, ir.FloatType)


# ---------------------------------------------------------------------------------------------
# Arithmetic
# ---------------------------------------------------------------------------------------------

_FLOAT_CMP = {
    "==": arith.CmpFPredicate.OEQ,
    "!=": arith.CmpFPredicate.UNE,
    "<": arith.CmpFPredicate.OLT,
    "<=": arith.CmpFPredicate.OLE,
    ">": arith.CmpFPredicate.OGT,
    ">=": arith.CmpFPredicate.OGE,
}
_INT_CMP = {
    "==": arith.CmpIPredicate.eq,
    "!=": arith.CmpIPredicate.ne,
    "<": arith.CmpIPredicate.slt,
    "<=": arith.CmpIPredicate.sle,
    ">": arith.CmpIPredicate.sgt,
    ">=": arith.CmpIPredicate.sge,
}
_UINT_CMP = {
    "==": arith.CmpIPredicate.eq,
    "!=": arith.CmpIPredicate.ne,
    "<": arith.CmpIPredicate.ult,
    "<=": arith.CmpIPredicate.ule,
    ">": arith.CmpIPredicate.ugt,
    ">=": arith.CmpIPredicate.uge,
}


def _compare(symbol: str, a: ir.Value, b: ir.Value, signed: bool = True) -> ir.Value:
    if _is_float(a):
        return arith.CmpFOp(_FLOAT_CMP[symbol], a, b).result
    return arith.CmpIOp((_INT_CMP if signed else _UINT_CMP)[symbol], a, b).result


def _select(condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.SelectOp(condition, a, b).result


def _like(value: ir.Value, number: int | float) -> ir.Value:
    return _constant(value.type, number)


def _div_ints(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Return the quotient rounded towards zero; 0 where the divisor is."""
    op = arith.DivSIOp if signed else arith.DivUIOp
    known = _known(b)
    if known is not None and known not in (0, -1):
        return op(a, b).result
    zero, one = _like(b, 0), _like(b, 1)
    is_zero = _compare("==", b, zero)
    if not signed:
        return _select(is_zero, zero, op(a, _select(is_zero, one, b)).result)
    # The least integer divided by -1 wraps around.
    is_minus_one = _compare("==", b, _like(b, -1))
    unsafe = arith.OrIOp(is_zero, is_minus_one).result
    quotient = op(a, _select(unsafe, one, b)).result
    negated = arith.SubIOp(zero, a).result
    return _select(is_zero, zero, _select(is_minus_one, negated, quotient))


def _rem_ints(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Return the remainder with the sign of the dividend; 0 where the divisor is."""
    known = _known(b)
    if known is not None and known not in (0, -1):
        return (arith.RemSIOp if signed else arith.RemUIOp)(a, b).result
    zero = _like(b, 0)
    product = arith.MulIOp(_div_ints(a, b, signed), b).result
    return _select(_compare("==", b, zero), zero, arith.SubIOp(a, product).result)


def _floor_differs(rest: ir.Value, b: ir.Value) -> ir.Value:
    """Return whether the quotient rounded towards zero is greater than its floor."""
    zero = _like(b, 0)
    known = _known(b)
    if known is not None and known > 0:
        return _compare("<", rest, zero)
    signs = arith.XOrIOp(_compare("<", rest, zero), _compare("<", b, zero)).result
    return arith.AndIOp(signs, _compare("!=", rest, zero)).result


def _floor_div(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    quotient = _div_ints(a, b, signed)
    if not signed:
        return quotient
    differs = _floor_differs(_rem_ints(a, b, signed), b)
    return _select(differs, arith.SubIOp(quotient, _like(b, 1)).result, quotient)


def _floor_mod(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    rest = _rem_ints(a, b, signed)
    if not signed:
        return rest
    return _select(_floor_differs(rest, b), arith.AddIOp(rest, b).result, rest)


def _min(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    if _is_float(a):
        return arith.MinimumFOp(a, b).result
    return (arith.MinSIOp if signed else arith.MinUIOp)(a, b).result


def _max(a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    if _is_float(a):
        return arith.MaximumFOp(a, b).result
    return (arith.MaxSIOp if signed else arith.MaxUIOp)(a, b).result


def _either(float_op: Any, int_op: Any) -> Callable[[ir.Value, ir.Value, bool], ir.Value]:
    return lambda a, b, signed: (float_op if _is_float(a) else int_op)(a, b).result


_BINARY: dict[type[PrimExpr], Callable[[ir.Value, ir.Value, bool], ir.Value]] = {
    _expr.Add: _either(arith.AddFOp, arith.AddIOp),
    _expr.Sub: _either(arith.SubFOp, arith.SubIOp),
    _expr.Mul: _either(arith.MulFOp, arith.MulIOp),
    _expr.Div: lambda a, b, s: arith.DivFOp(a, b).result if _is_float(a) else _div_ints(a, b, s),
    _expr.Mod: _rem_ints,
    _expr.FloorDiv: _floor_div,
    _expr.FloorMod: _floor_mod,
    _expr.Min: _min,
    _expr.Max: _max,
    _expr.And: lambda a, b, s: arith.AndIOp(a, b).result,
    _expr.Or: lambda a, b, s: arith.OrIOp(a, b).result,
}
# Operators that are computed with index where an index is wanted.
_INDEX_OPS = (
    _expr.Add,
    _expr.Sub,
    _expr.Mul,
    _expr.FloorDiv,
    _expr.FloorMod,
    _expr.Div,
    _expr.Mod,
    _expr.Min,
    _expr.Max,
)


# ---------------------------------------------------------------------------------------------
# Conversions
# ---------------------------------------------------------------------------------------------


def _resize_float(x: ir.Value, type_: ir.Type) -> ir.Value:
    """Return a float as one of another width, through f32 between others and those of 16 bits."""
    if x.type == type_:
        return x
    if {x.type.width, type_.width} == {16, 64} or x.type.width == type_.width:
        x = _resize_float(x, ir.F32Type.get())
    op = arith.ExtFOp if x.type.width < type_.width else arith.TruncFOp
    return op(type_, x).result


def _float_to_int(x: ir.Value, dtype: str) -> ir.Value:
    """Return the integer; floats out of range become the nearest limit and nan 0."""
    signed, type_ = is_int(dtype), kernel_type(dtype)
    width = bits(dtype)
    if width <= 16:
        return _float_to_short(x, dtype)
    low = _like(x, -_pymath.ldexp(1.0, width - 1) if signed else -1.0)
    high = _like(x, _pymath.ldexp(1.0, width - 1 if signed else width))
    is_low, is_high = _compare("<=", x, low), _compare(">=", x, high)
    inside = arith.AndIOp(_compare(">", x, low), _compare("<", x, high)).result
    safe = _select(inside, x, _like(x, 0))
    result = (arith.FPToSIOp if signed else arith.FPToUIOp)(type_, safe).result
    lowest, highest = _expr.limits(dtype)
    result = _select(is_high, _constant(type_, highest), result)
    return _select(is_low, _constant(type_, lowest), result)


def _float_to_short(x: ir.Value, dtype: str) -> ir.Value:
    """Return the integer of 8 or 16 bits: floats are clamped before."""
    lowest, highest = _expr.limits(dtype)
    low, high = _like(x, float(lowest)), _like(x, float(highest))
    clamped = _select(_compare(">", x, low), x, low)
    clamped = _select(_compare("<", clamped, high), clamped, high)
    if lowest != 0:  # nan is 0: above it is the lowest number
        clamped = _select(_compare("==", x, x), clamped, _like(x, 0))
    wide = arith.FPToSIOp(ir.IntegerType.get_signless(32), clamped).result
    return arith.TruncIOp(kernel_type(dtype), wide).result


def _require_arithmetic(dtype: str) -> None:
    if dtype.startswith("float8"):
        raise TypeError(f"expected another data type than {dtype}, which can only be copied")
    if dtype in ("handle", "void"):
        raise TypeError(f"expected a number, but got a value of type {dtype}")


def _convert(x: ir.Value, from_dtype: str, to_dtype: str) -> ir.Value:
    """Return a value, as it is computed with, as one of another data type."""
    _require_arithmetic(from_dtype)
    _require_arithmetic(to_dtype)
    type_ = _wide_type(to_dtype)
    if to_dtype == "bool":
        return _compare("!=", x, _like(x, 0))
    if is_float(to_dtype):
        if is_float(from_dtype):
            rounded = _resize_float(x, kernel_type(to_dtype))
        else:
            op = arith.SIToFPOp if is_int(from_dtype) else arith.UIToFPOp
            rounded = _resize_float(op(type_, x).result, kernel_type(to_dtype))
        return _resize_float(rounded, type_)
    if is_float(from_dtype):
        return _float_to_int(x, to_dtype)
    width, from_width = bits(to_dtype), bits(from_dtype)
    if width == from_width:
        return x
    if width < from_width:
        return arith.TruncIOp(type_, x).result
    return (arith.ExtSIOp if is_int(from_dtype) else arith.ExtUIOp)(type_, x).result


# ---------------------------------------------------------------------------------------------
# Intrinsics
# ---------------------------------------------------------------------------------------------

Intrinsic = Callable[[list[ir.Value], Call], ir.Value]


def _of(op: Any) -> Intrinsic:
    return lambda args, call: op(*args).result


def _sigmoid(args: list[ir.Value], call: Call) -> ir.Value:
    (x,) = args
    one = _like(x, 1)
    power = math.ExpOp(arith.NegFOp(x).result).result
    return arith.DivFOp(one, arith.AddFOp(one, power).result).result


def _abs(args: list[ir.Value], call: Call) -> ir.Value:
    return (math.AbsFOp if _is_float(args[0]) else math.AbsIOp)(args[0]).result


def _against_infinity(symbol: str) -> Intrinsic:
    """Compare the absolute value with infinity; what is not a number is neither < nor ==."""
    return lambda args, call: _compare(symbol, _abs(args, call), _like(args[0], _pymath.inf))


def _hypot(args: list[ir.Value], call: Call) -> ir.Value:
    x, y = (math.AbsFOp(arg).result for arg in args)
    larger, smaller = arith.MaximumFOp(x, y).result, arith.MinimumFOp(x, y).result
    zero, one = _like(x, 0), _like(x, 1)
    scale = _select(_compare("==", larger, zero), one, larger)
    ratio = arith.DivFOp(smaller, scale).result
    root = math.SqrtOp(arith.AddFOp(one, arith.MulFOp(ratio, ratio).result).result).result
    is_infinite = _compare("==", larger, _like(x, _pymath.inf))
    return _select(is_infinite, larger, arith.MulFOp(larger, root).result)


def _ldexp(args: list[ir.Value], call: Call) -> ir.Value:
    x, exponent = args
    power = math.Exp2Op(arith.SIToFPOp(x.type, exponent).result).result
    return arith.MulFOp(x, power).result


def _shift(signed_op: Any, unsigned_op: Any) -> Intrinsic:
    def emit(args: list[ir.Value], call: Call) -> ir.Value:
        x, amount = args
        signed = is_int(call.args[0].dtype)
        op = signed_op if signed else unsigned_op
        known, width = _known(amount), bits(call.args[0].dtype)
        if known is not None and 0 <= known < width:
            return op(x, amount).result
        # As if by that many bits: 0, or the sign.
        is_large = _compare(">=", amount, _like(amount, width), signed=False)
        limited = _select(is_large, _like(amount, width - 1), amount)
        if op is arith.ShRSIOp:
            return op(x, limited).result
        return _select(is_large, _like(x, 0), op(x, limited).result)

    return emit


def _invert(args: list[ir.Value], call: Call) -> ir.Value:
    return arith.XOrIOp(args[0], _like(args[0], -1)).result


INTRINSICS: dict[str, Intrinsic] = {
    "abs": _abs,
    "fabs": _abs,
    "acos": _of(math.AcosOp),
    "acosh": _of(math.AcoshOp),
    "asin": _of(math.AsinOp),
    "asinh": _of(math.AsinhOp),
    "atan": _of(math.AtanOp),
    "atan2": _of(math.Atan2Op),
    "atanh": _of(math.AtanhOp),
    "bitwise_and": _of(arith.AndIOp),
    "bitwise_not": _invert,
    "bitwise_or": _of(arith.OrIOp),
    "bitwise_xor": _of(arith.XOrIOp),
    "ceil": _of(math.CeilOp),
    "clz": _of(math.CountLeadingZerosOp),
    "copysign": _of(math.CopySignOp),
    "cos": _of(math.CosOp),
    "cosh": _of(math.CoshOp),
    "erf": _of(math.ErfOp),
    "exp": _of(math.ExpOp),
    "exp10": lambda args, call: math.PowFOp(_like(args[0], 10), args[0]).result,
    "exp2": _of(math.Exp2Op),
    "expm1": _of(math.ExpM1Op),
    "floor": _of(math.FloorOp),
    "fmod": _of(arith.RemFOp),
    "hypot": _hypot,
    "isfinite": _against_infinity("<"),
    "isinf": _against_infinity("=="),
    "isnan": lambda args, call: _compare("!=", args[0], args[0]),
    "ldexp": _ldexp,
    "likely": lambda args, call: args[0],
    "log": _of(math.LogOp),
    "log10": _of(math.Log10Op),
    "log1p": _of(math.Log1pOp),
    "log2": _of(math.Log2Op),
    "nearbyint": _of(math.RoundEvenOp),
    "popcount": _of(math.CtPopOp),
    "pow": _of(math.PowFOp),
    "round": _of(math.RoundEvenOp),
    "rsqrt": _of(math.RsqrtOp),
    "shift_left": _shift(arith.ShLIOp, arith.ShLIOp),
    "shift_right": _shift(arith.ShRSIOp, arith.ShRUIOp),
    "sigmoid": _sigmoid,
    "sin": _of(math.SinOp),
    "sinh": _of(math.SinhOp),
    "sqrt": _of(math.SqrtOp),
    "tan": _of(math.TanOp),
    "tanh": _of(math.TanhOp),
    "trunc": _of(math.TruncOp),
}
"""Emitters of intrinsics by name: functions of the values of the arguments, and the call.

Floats of 16 bits come as f32. Besides, `Emitter` knows if_then_else and reinterpret.
"""


# ---------------------------------------------------------------------------------------------
# Expressions
# ---------------------------------------------------------------------------------------------


class Emitter:
    """Emits expressions as operations at the current insertion point.

    The value of a node is emitted once, so one emitter serves one block and those in it.

    Parameters
    ----------
    values : mapping of Var to mlir.ir.Value, optional
        The values of variables: of type index, or of the data type.
    sources : iterable of (object, mlir.ir.Value), optional
        The tensors or memrefs that stand for what elements are loaded from.
    resolve : callable, optional
        Returns what stands for any other variable, or None.

    Examples
    --------
    >>> from mlir import ir
    >>> from mlir.dialects import func
    >>> from relax_mlir import default_context
    >>> with default_context(), ir.Location.unknown():
    ...     module = ir.Module.create()
    ...     with ir.InsertionPoint(module.body):
    ...         @func.func(ir.F32Type.get())
    ...         def f(x):
    ...             v = Var("x", "float32")
    ...             return Emitter({v: x}).value(v * 2 + 1)
    >>> print(module.body.operations[0])
    func.func @f(%arg0: f32) -> f32 {
      %cst = arith.constant 2.000000e+00 : f32
      %0 = arith.mulf %arg0, %cst : f32
      %cst_0 = arith.constant 1.000000e+00 : f32
      %1 = arith.addf %0, %cst_0 : f32
      return %1 : f32
    }
    """

    def __init__(
        self,
        values: Mapping[Var, ir.Value] | None = None,
        sources: Any = (),
        resolve: Callable[[Var], ir.Value | None] | None = None,
    ) -> None:
        self._resolve = resolve
        # With the nodes, so that they live and their ids stay theirs.
        self._bound: dict[int, tuple[Var, ir.Value]] = {}
        self._sources: dict[int, tuple[Any, ir.Value]] = {}
        self._scopes: list[dict[tuple[int, bool], tuple[PrimExpr, ir.Value]]] = [{}]
        for variable, value in (values or {}).items():
            self.bind(variable, value)
        for source, value in sources:
            self.bind_source(source, value)

    def bind(self, variable: Var, value: ir.Value) -> None:
        """Let a value stand for a variable."""
        self._bound[id(variable)] = (variable, value)

    def bind_source(self, source: Any, value: ir.Value) -> None:
        """Let a tensor or memref stand for what elements are loaded from."""
        self._sources[id(source)] = (source, value)

    def value(self, expr: ExprLike) -> ir.Value:
        """Return the value of an expression, of type `kernel_type` of its data type."""
        node = convert(expr)
        with current_location():
            if isinstance(node, Cast) and _is_half(node.dtype) and not _is_half(node.value.dtype):
                return self._half(node)
            is_copied = isinstance(node, _expr.Load) and _is_half(node.dtype)
            if is_copied and self._find(node, False) is None:
                return self.load(node)
            wide = self._value(node)
            return wide if not is_float(node.dtype) else self._narrow(wide, node.dtype)

    def index(self, expr: ExprLike) -> ir.Value:
        """Return the value of an integer expression, of type index."""
        with current_location():
            return self._index(convert(expr))

    def size(self, expr: ExprLike) -> int | ir.Value:
        """Return an integer as one of Python if it is known, and as an index otherwise."""
        node = convert(expr)
        return node.value if isinstance(node, IntImm) else self.index(node)

    @contextlib.contextmanager
    def scope(self, block: ir.Block) -> Iterator[None]:
        """Emit into a block, in which everything emitted so far can be used."""
        self._scopes.append({})
        try:
            with ir.InsertionPoint(block):
                yield
        finally:
            self._scopes.pop()

    def load(self, node: Any) -> ir.Value:
        """Return an element, of type `kernel_type`. Subclasses may know a shorter way."""
        known = self._sources.get(id(node.source))
        if known is None:
            raise ValueError(f"expected '{node.source.name}' to be known here, in {node}")
        indices = [self._index(index) for index in node.indices]
        if isinstance(known[1].type, ir.MemRefType):
            return memref.LoadOp(known[1], indices).result
        return tensor.ExtractOp(known[1], indices).result

    # -- values -------------------------------------------------------------------------------

    @staticmethod
    def _narrow(x: ir.Value, dtype: str) -> ir.Value:
        return x if dtype.startswith("float8") else _resize_float(x, kernel_type(dtype))

    @staticmethod
    def _widen(x: ir.Value, dtype: str) -> ir.Value:
        return x if dtype.startswith("float8") else _resize_float(x, _wide_type(dtype))

    def _half(self, node: Cast) -> ir.Value:
        """Return a value as a float of 16 bits that nothing is computed with."""
        x = self._value(node.value)
        _require_arithmetic(node.value.dtype)
        if not is_float(node.value.dtype):
            op = arith.SIToFPOp if is_int(node.value.dtype) else arith.UIToFPOp
            x = op(_wide_type(node.dtype), x).result
        return _resize_float(x, kernel_type(node.dtype))

    def _find(self, node: PrimExpr, is_index: bool) -> ir.Value | None:
        for scope in reversed(self._scopes):
            if (id(node), is_index) in scope:
                return scope[id(node), is_index][1]
        return None

    def _keep(self, node: PrimExpr, is_index: bool, value: ir.Value) -> ir.Value:
        self._scopes[-1][id(node), is_index] = (node, value)
        return value

    def _value(self, expr: PrimExpr) -> ir.Value:
        """Return the value as it is computed with. Operands come first, without recursion."""
        stack = [expr]
        while True:
            node = stack[-1]
            value = self._find(node, False)
            if value is None:
                missing = [op for op in _eager(node) if self._find(op, False) is None]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                value = self._keep(node, False, self._emit(node))
            stack.pop()
            if not stack:
                return value

    def _emit(self, node: PrimExpr) -> ir.Value:
        """Emit a node whose eager operands are emitted."""
        if isinstance(node, (IntImm, FloatImm)):
            return _constant(_wide_type(node.dtype), node.value)
        if isinstance(node, Var):
            return self._variable(node)
        if isinstance(node, (CmpOp, BinaryOp)):
            return self._binary(node)
        if isinstance(node, Cast):
            return _convert(self._value(node.value), node.value.dtype, node.dtype)
        if isinstance(node, Select):
            return _select(*(self._value(operand) for operand in node.operands()))
        if isinstance(node, Not):
            return _invert([self._value(node.a)], Call("bool", "bitwise_not", (node.a,)))
        if isinstance(node, Let):
            self.bind(node.var, self._narrow_any(self._value(node.value), node.value.dtype))
            return self._value(node.body)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, _expr.Load):
            return self._widen_any(self.load(node), node.dtype)
        if isinstance(node, Reduce):
            raise ValueError(f"expected a reduction to be all that is computed, but got {node}")
        raise TypeError(f"expected a number, but got {node} of type {node.dtype}")

    def _narrow_any(self, x: ir.Value, dtype: str) -> ir.Value:
        return self._narrow(x, dtype) if is_float(dtype) else x

    def _widen_any(self, x: ir.Value, dtype: str) -> ir.Value:
        return self._widen(x, dtype) if is_float(dtype) else x

    def _variable(self, node: Var) -> ir.Value:
        value = self._bound_value(node)
        if value is None:
            raise ValueError(f"expected the variable '{node.name}' to be known here")
        if isinstance(value.type, ir.IndexType):
            return arith.IndexCastOp(kernel_type(node.dtype), value).result
        return self._widen_any(value, node.dtype)

    def _bound_value(self, node: Var) -> ir.Value | None:
        known = self._bound.get(id(node))
        if known is not None:
            return known[1]
        return None if self._resolve is None else self._resolve(node)

    def _binary(self, node: BinaryOp) -> ir.Value:
        b = self._value(node.b)
        a = b if _is_negation(node) else self._value(node.a)
        _require_arithmetic(node.a.dtype)
        signed = is_int(node.a.dtype)
        if _is_negation(node):
            return arith.NegFOp(b).result
        if isinstance(node, CmpOp):
            return _compare(node.symbol, a, b, signed)
        return _BINARY[type(node)](a, b, signed and not _divides_naturals(node))

    def _call(self, node: Call) -> ir.Value:
        if node.op == "if_then_else":
            return self._if(node)
        args = [self._value(arg) for arg in node.args]
        if node.op == "reinterpret":
            source = self._narrow_any(args[0], node.args[0].dtype)
            bits_ = arith.BitcastOp(kernel_type(node.dtype), source).result
            return self._widen_any(bits_, node.dtype)
        intrinsic = INTRINSICS.get(node.op)
        if intrinsic is None:
            raise ValueError(f"expected a known intrinsic, but got '{node.op}' in {node}")
        for arg in node.args:
            _require_arithmetic(arg.dtype)
        return intrinsic(args, node)

    def _if(self, node: Call) -> ir.Value:
        condition, *branches = node.args
        op = scf.IfOp(self._value(condition), [_wide_type(node.dtype)], has_else=True)
        for block, branch in zip((op.then_block, op.else_block), branches, strict=True):
            with self.scope(block):
                scf.YieldOp([self._value(branch)])
        return op.results[0]

    # -- indices ------------------------------------------------------------------------------

    def _index(self, node: PrimExpr) -> ir.Value:
        known = self._find(node, True)
        return self._keep(node, True, self._emit_index(node)) if known is None else known

    def _emit_index(self, node: PrimExpr) -> ir.Value:
        index = ir.IndexType.get()
        if isinstance(node, IntImm):
            return _constant(index, node.value)
        if isinstance(node, _INDEX_OPS) and not is_float(node.dtype):
            a, b = self._index(node.a), self._index(node.b)
            return _BINARY[type(node)](a, b, not _divides_naturals(node))
        if isinstance(node, Cast) and widens(node.value.dtype, node.dtype):
            return self._index(node.value)
        if isinstance(node, Select):
            values = (self._index(node.true_value), self._index(node.false_value))
            return _select(self._value(node.condition), *values)
        if isinstance(node, Var):
            bound = self._bound_value(node)
            if bound is not None and isinstance(bound.type, ir.IndexType):
                return bound
        if is_float(node.dtype) or node.dtype in ("handle", "void"):
            raise TypeError(f"expected an integer as index, but got {node} of type {node.dtype}")
        op = arith.IndexCastOp if is_int(node.dtype) else arith.IndexCastUIOp
        return op(index, self._value(node)).result


def _divides_naturals(node: PrimExpr) -> bool:
    """Say whether this is a division that does not have to know about negative numbers."""
    kinds = (_expr.FloorDiv, _expr.FloorMod)
    return isinstance(node, kinds) and all(map(_expr.is_non_negative, node.operands()))


def _is_half(dtype: str) -> bool:
    return is_float(dtype) and bits(dtype) == 16


def _is_negation(node: PrimExpr) -> bool:
    """Say whether this is -0.0 - x, which is -x for any x."""
    return (
        isinstance(node, _expr.Sub)
        and isinstance(node.a, FloatImm)
        and node.a.value == 0
        and _pymath.copysign(1, node.a.value) < 0
    )


def _eager(node: PrimExpr) -> tuple[PrimExpr, ...]:
    """Return the operands whose values are needed whatever happens."""
    if isinstance(node, (_expr.Load, Reduce)):
        return ()
    if isinstance(node, Let) or (isinstance(node, Call) and node.op == "if_then_else"):
        return node.operands()[:1]
    return node.operands()[1:] if _is_negation(node) else node.operands()


__all__ = ["INTRINSICS", "Emitter", "Intrinsic", "kernel_type"]
