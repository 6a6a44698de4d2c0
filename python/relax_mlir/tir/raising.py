# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``func.func`` on memrefs as tensor programs: the way back of `relax_mlir.tir.lower`.

What operations stand for is recognized from their shape alone, so the result is what they may
have been made from. Whoever needs to be sure lowers it again, and compares.
"""

from __future__ import annotations

import contextlib
import keyword
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir
from mlir.dialects import llvm

from ..dtypes import dtype_name
from ..ir import PrimStructInfo, TensorStructInfo
from . import expr as _expr
from . import stmt as st
from .dims import from_dim
from .expr import BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var
from .lower import ANNOTATIONS, HANDLE, LOOP, SCOPE, THREAD, TYPE, location_names

# Operations in expressions of one function, counted as often as they are written.
MOST_NODES = 100_000


class NotRaisableError(ValueError):
    """A function has no counterpart as tensor program."""


class KernelName(_expr.StringImm):
    """The name of a function of the module that a kernel calls."""


def is_kernel(name: str, op: ir.Operation) -> bool:
    """Say whether the module of an operation defines a function of a name."""
    module: Any = op.parent
    if module is None:
        return False
    return any(
        each.operation.name == "func.func"
        and each.operation.attributes["sym_name"].value == name
        and len(each.operation.regions[0].blocks)
        for each in module.operation.regions[0].blocks[0].operations
    )


def raise_function(op: ir.Operation, dim_dtype: str = "int64") -> st.PrimFunc:
    """Return a ``func.func`` as a tensor program.

    Parameters
    ----------
    op : mlir.ir.Operation
    dim_dtype : str
        The data type of variables that are dimensions.

    Raises
    ------
    NotRaisableError
        If it holds what tensor programs do not.
    """
    return _Raising(op, dim_dtype).run()


def from_attribute(attr: ir.Attribute) -> Any:
    """Return an attribute as a value of ``T.func_attr``.

    Raises
    ------
    NotRaisableError
        If there is none.
    """
    if isinstance(attr, ir.BoolAttr):
        return attr.value
    if isinstance(attr, ir.IntegerAttr):
        if not isinstance(attr.type, ir.IntegerType):
            raise NotRaisableError(f"the attribute {attr}")
        if attr.type == ir.IntegerType.get_signless(64, attr.context):
            return attr.value
        return IntImm(dtype_name(attr.type), attr.value)
    if isinstance(attr, ir.FloatAttr):
        if isinstance(attr.type, ir.F64Type):
            return attr.value
        return FloatImm(dtype_name(attr.type), attr.value)
    if isinstance(attr, ir.StringAttr):
        if not isinstance(attr.type, ir.NoneType):
            raise NotRaisableError(f"the attribute {attr}")
        return attr.value
    if isinstance(attr, ir.UnitAttr):
        return None
    if isinstance(attr, ir.ArrayAttr):
        return [from_attribute(element) for element in attr]
    if isinstance(attr, ir.DictAttr):
        return {item.name: from_attribute(item.attr) for item in attr}
    raise NotRaisableError(f"the attribute {attr}")


# ---------------------------------------------------------------------------------------------
# Operations
# ---------------------------------------------------------------------------------------------


def _owner(value: ir.Value) -> ir.Operation | None:
    return value.owner if isinstance(value, ir.OpResult) else None


def _is(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation that makes a value, if it has one of some names."""
    op = _owner(value)
    return op if op is not None and op.name in names else None


def _constant(value: ir.Value) -> int | float | None:
    op = _is(value, "arith.constant")
    if op is None:
        return None
    attr = op.attributes["value"]
    return attr.value if isinstance(attr, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr) else None


def _equals(value: ir.Value, number: int) -> bool:
    known = _constant(value)
    return known is not None and known == number


def _select(value: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    op = _is(value, "arith.select")
    return None if op is None else tuple(op.operands)


_Division = tuple[ir.Value, ir.Value, bool]  # dividend, divisor, whether they are unsigned


def _match_div(value: ir.Value) -> _Division | None:
    """Return the operands of a quotient of integers rounded towards zero."""
    op = _is(value, "arith.divsi", "arith.divui")
    if op is not None:
        return op.operands[0], op.operands[1], op.name == "arith.divui"
    outer = _select(value)
    if outer is None or not _equals(outer[1], 0):
        return None
    inner = outer[2]
    around_negated = _select(inner)
    if around_negated is not None:
        inner = around_negated[2]
    op = _is(inner, "arith.divsi", "arith.divui")
    safe = None if op is None else _select(op.operands[1])
    if op is None or safe is None or not _equals(safe[1], 1):
        return None
    return op.operands[0], safe[2], op.name == "arith.divui"


def _match_rem(value: ir.Value) -> _Division | None:
    """Return the operands of a remainder with the sign of the dividend."""
    op = _is(value, "arith.remsi", "arith.remui")
    if op is not None:
        return op.operands[0], op.operands[1], op.name == "arith.remui"
    outer = _select(value)
    if outer is None or not _equals(outer[1], 0):
        return None
    difference = _is(outer[2], "arith.subi")
    product = None if difference is None else _is(difference.operands[1], "arith.muli")
    if product is None:
        return None
    operands = _match_div(product.operands[0])
    return operands if operands is not None and operands[1] == product.operands[1] else None


def _match_floor_div(value: ir.Value) -> _Division | None:
    parts = _select(value)
    below = None if parts is None else _is(parts[1], "arith.subi")
    if parts is None or below is None or below.operands[0] != parts[2]:
        return None
    return _match_div(parts[2]) if _equals(below.operands[1], 1) else None


def _match_floor_mod(value: ir.Value) -> _Division | None:
    parts = _select(value)
    above = None if parts is None else _is(parts[1], "arith.addi")
    if parts is None or above is None or above.operands[0] != parts[2]:
        return None
    operands = _match_rem(parts[2])
    return operands if operands is not None and operands[1] == above.operands[1] else None


def _match_float_to_int(value: ir.Value) -> tuple[ir.Value, bool] | None:
    """Return the float that becomes an integer, and whether that is signed."""
    outer = _select(value)
    inner = None if outer is None else _select(outer[2])
    op = None if inner is None else _is(inner[2], "arith.fptosi", "arith.fptoui")
    safe = None if op is None else _select(op.operands[0])
    if op is None or safe is None:
        return None
    return safe[1], op.name == "arith.fptosi"


def _match_sigmoid(value: ir.Value) -> ir.Value | None:
    op = _is(value, "arith.divf")
    if op is None or not _equals(op.operands[0], 1):
        return None
    total = _is(op.operands[1], "arith.addf")
    power = None if total is None else _is(total.operands[1], "math.exp")
    negated = None if power is None else _is(power.operands[0], "arith.negf")
    return None if negated is None else negated.operands[0]


def _match_shift(value: ir.Value) -> tuple[str, ir.Value, ir.Value] | None:
    """Return the name and the operands of a shift by an amount that is not known."""
    outer = _select(value)
    if outer is not None and _equals(outer[1], 0):
        op = _is(outer[2], "arith.shli", "arith.shrui")
    else:
        op = _is(value, "arith.shrsi")
    if op is None:
        return None
    limited = _select(op.operands[1])
    if limited is None or _constant(limited[1]) is None:
        return None
    name = "shift_left" if op.name == "arith.shli" else "shift_right"
    return name, op.operands[0], limited[2]


_BINARY: dict[str, tuple[Any, str]] = {
    # The node, and what the operands are: any, signed or unsigned.
    "arith.addi": (_expr.Add, "any"),
    "arith.addf": (_expr.Add, "any"),
    "arith.subi": (_expr.Sub, "any"),
    "arith.subf": (_expr.Sub, "any"),
    "arith.muli": (_expr.Mul, "any"),
    "arith.mulf": (_expr.Mul, "any"),
    "arith.divf": (_expr.Div, "any"),
    "arith.minimumf": (_expr.Min, "any"),
    "arith.maximumf": (_expr.Max, "any"),
    "arith.minsi": (_expr.Min, "signed"),
    "arith.maxsi": (_expr.Max, "signed"),
    "arith.minui": (_expr.Min, "unsigned"),
    "arith.maxui": (_expr.Max, "unsigned"),
    "arith.divsi": (_expr.Div, "signed"),
    "arith.remsi": (_expr.Mod, "signed"),
    "arith.divui": (_expr.FloorDiv, "unsigned"),
    "arith.remui": (_expr.FloorMod, "unsigned"),
}
_CALLS = {
    "arith.remf": "fmod",
    "math.absf": "abs",
    "math.absi": "abs",
    "math.acos": "acos",
    "math.acosh": "acosh",
    "math.asin": "asin",
    "math.asinh": "asinh",
    "math.atan": "atan",
    "math.atan2": "atan2",
    "math.atanh": "atanh",
    "math.ceil": "ceil",
    "math.copysign": "copysign",
    "math.cos": "cos",
    "math.cosh": "cosh",
    "math.ctlz": "clz",
    "math.ctpop": "popcount",
    "math.erf": "erf",
    "math.exp": "exp",
    "math.exp2": "exp2",
    "math.expm1": "expm1",
    "math.floor": "floor",
    "math.isfinite": "isfinite",
    "math.isinf": "isinf",
    "math.isnan": "isnan",
    "math.log": "log",
    "math.log10": "log10",
    "math.log1p": "log1p",
    "math.log2": "log2",
    "math.powf": "pow",
    "math.roundeven": "round",
    "math.rsqrt": "rsqrt",
    "math.sin": "sin",
    "math.sinh": "sinh",
    "math.sqrt": "sqrt",
    "math.tan": "tan",
    "math.tanh": "tanh",
    "math.trunc": "trunc",
}
_COMPARE: dict[int, tuple[Any, str]] = {
    0: (_expr.EQ, "any"),
    1: (_expr.NE, "any"),
    2: (_expr.LT, "signed"),
    3: (_expr.LE, "signed"),
    4: (_expr.GT, "signed"),
    5: (_expr.GE, "signed"),
    6: (_expr.LT, "unsigned"),
    7: (_expr.LE, "unsigned"),
    8: (_expr.GT, "unsigned"),
    9: (_expr.GE, "unsigned"),
}
_COMPARE_FLOATS: dict[int, Any] = {
    1: _expr.EQ,
    2: _expr.GT,
    3: _expr.GE,
    4: _expr.LT,
    5: _expr.LE,
    13: _expr.NE,
}
_BITWISE: dict[str, tuple[str, Any]] = {
    "arith.andi": ("bitwise_and", _expr.And),
    "arith.ori": ("bitwise_or", _expr.Or),
    "arith.xori": ("bitwise_xor", None),
}
_SHIFTS = {
    "arith.shli": ("shift_left", "any"),
    "arith.shrsi": ("shift_right", "signed"),
    "arith.shrui": ("shift_right", "unsigned"),
}
# What is computed as an index where one is wanted.
_INDEX_OPS = (
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.divsi",
    "arith.remsi",
    "arith.minsi",
    "arith.maxsi",
    "arith.select",
    "arith.extsi",
)
# Operations that only compute; any other one is a statement.
_PURE = (
    "arith.",
    "math.",
    "memref.load",
    "memref.dim",
    "tensor.dim",
    "tensor.extract",
    "memref.extract_aligned_pointer_as_index",
    "linalg.index",
    "llvm.inttoptr",
)


class _Open(PrimExpr):
    """A constant whose data type follows from what is around it."""

    def __init__(self, value: int | float, dtype: str) -> None:
        self.value, self.dtype = value, dtype


def _fix(expr: PrimExpr, dtype: str) -> PrimExpr:
    """Return an expression as one of a data type that is held in the same way."""
    if isinstance(expr, _Open):
        if _expr.is_float(dtype):
            return FloatImm(dtype, expr.value)
        width = _expr.bits(dtype)
        value = int(expr.value) % 2**width
        if _expr.is_int(dtype) and value >= 2 ** (width - 1):
            value -= 2**width
        return IntImm(dtype, value)
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, _expr.Cast) and _resizes(expr):
        return _expr.Cast(dtype, expr.value)
    return _expr.Cast(dtype, expr)


def _resizes(expr: _expr.Cast) -> bool:
    """Say whether a cast is one of integers that means the same for the result of either sign."""
    source = expr.value.dtype
    integers = all(_expr.is_integer(dtype) for dtype in (source, expr.dtype))
    return source == "bool" or (integers and _expr.bits(source) != _expr.bits(expr.dtype))


def _close(expr: PrimExpr) -> PrimExpr:
    return _fix(expr, expr.dtype) if isinstance(expr, _Open) else expr


def _join(a: PrimExpr, b: PrimExpr, sign: str = "any") -> tuple[PrimExpr, PrimExpr]:
    """Return two operands with one data type."""
    if isinstance(a, _Open) and not isinstance(b, _Open):
        dtype = _dtype_with(a, b)
    elif isinstance(b, _Open) and not isinstance(a, _Open):
        dtype = _dtype_with(b, a)
    elif a.dtype == b.dtype:
        dtype = a.dtype
    else:
        dtype = _expr.promote(a.dtype, b.dtype)
    dtype = _signed(dtype, sign)
    return _fix(a, dtype), _fix(b, dtype)


def _dtype_with(constant: _Open, other: PrimExpr) -> str:
    """Return the data type of a constant that is computed with another value."""
    dtype = other.dtype
    if _expr.is_float(dtype) and _expr.bits(dtype) == 16:
        value = float(constant.value)
        # It is held as f32: a number that is not rounded is one of that type.
        if FloatImm(dtype, value).value != value and value == value:
            return constant.dtype
    return dtype


def _signed(dtype: str, sign: str) -> str:
    if sign == "signed" and _expr.is_uint(dtype):
        return dtype.removeprefix("u")
    if sign == "unsigned" and _expr.is_int(dtype):
        return "u" + dtype
    return dtype


# ---------------------------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------------------------


class _Raising:
    """Raises one function.

    Parameters
    ----------
    op : mlir.ir.Operation
    dim_dtype : str
    """

    def __init__(self, op: ir.Operation, dim_dtype: str) -> None:
        self.op = op
        self.dim_dtype = dim_dtype
        self.names = _Names()
        # What values stand for: variables, and what elements of regions are.
        self.known: dict[ir.Value, PrimExpr] = {}
        self.buffers: dict[ir.Value, st.Buffer] = {}
        self.views: dict[int, st.View] = {}
        # How many operations expressions may still be made of; each is written where it is used.
        self.size = MOST_NODES
        # The operands of values, in the order in which they are asked for, while that is noted.
        self.trace: dict[ir.Value | None, list[ir.Value]] | None = None
        self.under_way: list[ir.Value | None] = []
        self.result: str | None = None

    def run(self) -> st.PrimFunc:
        """Return the function."""
        op = self.op
        declared = not len(op.regions[0].blocks)
        if declared:
            op = op.clone(ip=False).operation
            op.opview.add_entry_block([ir.Location.unknown()] * len(op.opview.type.inputs))
        if len(op.regions[0].blocks) != 1:
            raise NotRaisableError("several blocks")
        name = op.attributes["sym_name"].value
        if not name.isidentifier():
            raise NotRaisableError(f"the name '{name}'")
        self.names.take(name)
        entry = op.regions[0].blocks[0]
        types = [argument.type for argument in entry.arguments]
        self.tensors = any(isinstance(type_, ir.RankedTensorType) for type_ in types)
        results = list(op.attributes["function_type"].value.results)
        if self.tensors and (
            not results or any(isinstance(type_, ir.MemRefType) for type_ in types)
        ):
            raise NotRaisableError("results")
        result = None if self.tensors else self._result(op, results)
        self.dims = _Dims(entry) if self.tensors else None
        params = self._params(entry)
        attrs, private = {}, False
        for key, attr in op.attributes.items():
            if key == "sym_visibility":
                if attr.value != "private":
                    raise NotRaisableError(f"visibility {attr}")
                private = True
            elif key not in ("sym_name", "function_type", "arg_attrs", "res_attrs"):
                attrs[key] = from_attribute(attr)
        if declared and self.tensors and results != types[-1:]:
            raise NotRaisableError("results")
        self.result = result
        body = [] if declared else self._region(entry, "func.return")
        return st.PrimFunc(
            name,
            params,
            body,
            attrs,
            private=private,
            tensors=self.tensors,
            declared=declared,
            result=result,
        )

    def _result(self, op: ir.Operation, results: Sequence[ir.Type]) -> str | None:
        """Return the data type of the scalar that a function returns, or None."""
        given: Any = op.attributes["res_attrs"][0] if "res_attrs" in op.attributes else []
        attrs = {item.name: item.attr for item in given}
        if len(results) > 1 or set(attrs) - {TYPE}:
            raise NotRaisableError("results")
        if not results:
            return None
        said = attrs[TYPE].value if TYPE in attrs else None
        dtype: Any = said.dtype if isinstance(said, PrimStructInfo) else _scalar_dtype(results[0])
        return str(dtype)

    # -- parameters ---------------------------------------------------------------------------

    def _params(self, entry: ir.Block) -> list[st.Param]:
        given: Any = self.op.attributes.get("arg_attrs", [])
        types: list[ir.Type | None] = []
        for i in range(len(entry.arguments)):
            attrs = {item.name: item.attr for item in given[i]} if len(given) else {}
            if set(attrs) - {TYPE}:
                raise NotRaisableError(f"the attributes {given[i]} of an argument")
            types.append(attrs[TYPE].value if TYPE in attrs else None)
        # Names of dimensions are names of the program.
        variables: dict[str, PrimExpr] = {}
        for type_ in types:
            if isinstance(type_, TensorStructInfo) and type_.shape is not None:
                for dim in type_.shape.dims:
                    for name in dim.variables:
                        if name not in variables:
                            variables[name] = Var(self.names.new(name), self.dim_dtype)
        names = [next(iter(location_names(arg.location)), None) for arg in entry.arguments]
        if len(set(names)) < len(names):
            names = [None] * len(names)  # that of what the kernel was made for
        return [
            self._param(i, argument, type_, variables, name)
            for i, (argument, type_, name) in enumerate(
                zip(entry.arguments, types, names, strict=True)
            )
        ]

    def _param(
        self,
        i: int,
        value: ir.Value,
        type_: ir.Type | None,
        variables: dict[str, PrimExpr],
        wanted: str | None,
    ) -> st.Param:
        if isinstance(value.type, ir.RankedTensorType):
            name = self.names.new(wanted or _letter(i))
            buffer = st.Buffer(name, self._tensor_shape(value), dtype_name(value.type.element_type))
            self.buffers[value] = buffer
            return buffer
        if isinstance(value.type, ir.MemRefType):
            name = self.names.new(wanted or _letter(i))
            if not isinstance(type_, TensorStructInfo | None):
                raise NotRaisableError(f"the type {type_} of an argument")
            buffer = self._buffer(name, value.type, type_, variables)
            self.buffers[value] = buffer
            return buffer
        if str(value.type) == HANDLE:
            return Var(self.names.new(wanted or _letter(i).lower()), "handle")
        dtype = type_.dtype if isinstance(type_, PrimStructInfo) else _scalar_dtype(value.type)
        # A variable of a shape may be a parameter.
        value_of = type_.value if isinstance(type_, PrimStructInfo) else None
        var = variables.get(value_of.name) if value_of is not None and value_of.name else None
        if var is not None and var.dtype != dtype:
            raise NotRaisableError("a dimension of two data types")
        if not isinstance(var, Var):
            var = Var(self.names.new(wanted or f"x{i}"), dtype)
        self.known[value] = var
        return var

    def _buffer(
        self,
        name: str,
        type_: ir.MemRefType,
        info: Any,
        variables: dict[str, PrimExpr],
        sizes: Sequence[PrimExpr] | None = None,
    ) -> st.Buffer:
        if type_.memory_space is not None or str(type_.layout) != str(_identity(type_.rank)):
            raise NotRaisableError(f"the layout of {type_}")
        dtype = info.dtype if isinstance(info, TensorStructInfo) else dtype_name(type_.element_type)
        shape: list[PrimExpr] = []
        dynamic = iter(sizes or ())
        for axis, size in enumerate(type_.shape):
            if isinstance(info, TensorStructInfo) and info.shape is not None:
                given = info.shape.dims[axis]
                dim = variables[given.name] if given.name else from_dim(given, variables)
                shape.append(_expr.const(dim.value) if isinstance(dim, IntImm) else dim)
            elif size != ir.ShapedType.get_dynamic_size():
                shape.append(_expr.const(size))
            elif sizes is not None:
                shape.append(next(dynamic))
            else:
                shape.append(Var(self.names.new("nmkl"[axis] if axis < 4 else "n"), self.dim_dtype))
        return st.Buffer(name, shape, dtype)

    def _tensor_shape(self, value: ir.Value) -> list[PrimExpr]:
        """Return the shape of a tensor; dimensions that are the same have one variable."""
        assert self.dims is not None
        shape: list[PrimExpr] = []
        for axis, size in enumerate(value.type.shape):
            if size != ir.ShapedType.get_dynamic_size():
                shape.append(_expr.const(size))
                continue
            key = self.dims.find((value, axis))
            if key not in self.dims.variables:
                letter = "nmkl"[axis] if axis < 4 else "n"
                self.dims.variables[key] = Var(self.names.new(letter), self.dim_dtype)
            shape.append(self.dims.variables[key])
        return shape

    # -- statements ---------------------------------------------------------------------------

    def _region(self, block: ir.Block, end: str) -> list[st.Stmt]:
        """Return the operations of a block as statements."""
        return _Body(self, block, end).run()

    def _buffer_of(self, value: ir.Value) -> st.Buffer:
        buffer = self.buffers.get(value)
        if buffer is None:
            raise NotRaisableError(f"the memory {value}")
        return buffer

    # -- expressions --------------------------------------------------------------------------

    def index(self, value: ir.Value) -> PrimExpr:
        """Return a value of type index."""
        known = self.known.get(value)
        if known is not None:
            return known
        with self._recorded(value):
            return self._index(value)

    @contextlib.contextmanager
    def _recorded(self, value: ir.Value) -> Iterator[None]:
        """Note that a value is an operand of the one under way."""
        if self.trace is None:
            yield
            return
        self.trace.setdefault(self.under_way[-1], []).append(value)
        self.trace.setdefault(value, [])
        self.under_way.append(value)
        try:
            yield
        finally:
            self.under_way.pop()

    def _index(self, value: ir.Value) -> PrimExpr:
        number = _constant(value)
        if number is not None:
            return _expr.const(int(number))
        for match, node in (
            (_match_floor_div, _expr.FloorDiv),
            (_match_floor_mod, _expr.FloorMod),
            (_match_div, _expr.Div),
            (_match_rem, _expr.Mod),
        ):
            operands = match(value)
            if operands is not None:
                made = _rounded_down(node) if operands[2] else node
                return made(*_expr.match_types(*(self.index(operand) for operand in operands[:2])))
        op = _owner(value)
        if op is None:
            raise NotRaisableError(f"the value {value}")
        if op.name in _BINARY:
            node, _ = _BINARY[op.name]
            return node(*_expr.match_types(*(self.index(operand) for operand in op.operands)))
        if op.name == "arith.select":
            a, b = _expr.match_types(self.index(op.operands[1]), self.index(op.operands[2]))
            return _expr.Select(_close(self.value(op.operands[0])), a, b)
        if op.name in ("arith.index_cast", "arith.index_castui"):
            inner = _close(self.value(op.operands[0]))
            sign = "signed" if op.name == "arith.index_cast" else "unsigned"
            return _fix(inner, _signed(inner.dtype, sign))
        if op.name in ("memref.dim", "tensor.dim"):
            return self._dim(op)
        raise NotRaisableError(f"the operation {op.name}")

    def _dim(self, op: ir.Operation) -> PrimExpr:
        axis = _constant(op.operands[1])
        buffer = self._buffer_of(op.operands[0])
        if not isinstance(axis, int) or not 0 <= axis < buffer.ndim:
            raise NotRaisableError("a dimension that is not known")
        return buffer.shape[axis]

    def value(self, value: ir.Value) -> PrimExpr:
        """Return a value, as it is computed with."""
        known = self.known.get(value)
        if known is not None:
            return known
        with self._recorded(value):
            return self._value(value)

    def _value(self, value: ir.Value) -> PrimExpr:
        op = _owner(value)
        if op is None:
            raise NotRaisableError(f"the value {value}")
        number = _constant(value)
        if number is not None:
            if isinstance(value.type, ir.IntegerType) and value.type.width == 1:
                return IntImm("bool", int(number) & 1)
            return _Open(number, _scalar_dtype(value.type))
        self.size -= 1
        if self.size < 0:
            raise NotRaisableError("expressions that are too long")
        idiom = self._idiom(value)
        if idiom is not None:
            return idiom
        return self._operation(op)

    def _idiom(self, value: ir.Value) -> PrimExpr | None:
        """Return what several operations together stand for."""
        for match, node in (
            (_match_floor_div, _expr.FloorDiv),
            (_match_floor_mod, _expr.FloorMod),
            (_match_div, _expr.Div),
            (_match_rem, _expr.Mod),
        ):
            operands = match(value)
            if operands is None:
                continue
            *pair, unsigned = operands
            a, b = (self.value(operand) for operand in pair)
            if unsigned:  # unsigned integers, or ones that cannot be negative
                natural = all(map(_is_natural, (a, b)))
                return _rounded_down(node)(*_join(a, b, "any" if natural else "unsigned"))
            return node(*_join(a, b, "signed"))
        converted = _match_float_to_int(value)
        if converted is not None:
            source, signed = converted
            dtype = _scalar_dtype(value.type)
            return _expr.Cast(
                _signed(dtype, "signed" if signed else "unsigned"), _close(self.value(source))
            )
        argument = _match_sigmoid(value)
        if argument is not None:
            return self._call("sigmoid", [argument])
        shift = _match_shift(value)
        if shift is not None:
            name, x, amount = shift
            a, b = _join(self.value(x), self.value(amount))
            return Call(a.dtype, name, (a, b))
        return None

    def _call(self, name: str, operands: Sequence[ir.Value]) -> PrimExpr:
        args = [self.value(operand) for operand in operands]
        if len(args) == 2:
            args = list(_join(args[0], args[1]))
        args = [_close(arg) for arg in args]
        if name in ("isnan", "isinf", "isfinite"):
            return Call("bool", name, args)
        return Call(args[0].dtype, name, args)

    def _operation(self, op: ir.Operation) -> PrimExpr:
        name = op.name
        if name in _BINARY:
            node, sign = _BINARY[name]
            return node(*_join(self.value(op.operands[0]), self.value(op.operands[1]), sign))
        if name in _CALLS:
            return self._call(_CALLS[name], op.operands)
        if name in ("memref.load", "tensor.extract"):
            buffer = self._buffer_of(op.operands[0])
            return BufferLoad(buffer, [self.index(value) for value in list(op.operands)[1:]])
        if name == "arith.cmpi":
            return self._compare(op)
        if name == "arith.cmpf":
            kind = _COMPARE_FLOATS.get(op.attributes["predicate"].value)
            if kind is None:
                raise NotRaisableError(f"the comparison {op}")
            return kind(*_join(self.value(op.operands[0]), self.value(op.operands[1])))
        if name in _BITWISE:
            return self._bitwise(op)
        if name in _SHIFTS:
            called, sign = _SHIFTS[name]
            a, b = _join(self.value(op.operands[0]), self.value(op.operands[1]), sign)
            return Call(a.dtype, called, (a, b))
        if name == "arith.select":
            condition = _close(self.value(op.operands[0]))
            a, b = _join(self.value(op.operands[1]), self.value(op.operands[2]))
            return _expr.Select(condition, a, b)
        if name == "scf.if":
            return self._if_then_else(op)
        if name == "arith.bitcast":
            source = _close(self.value(op.operands[0]))
            return Call(_scalar_dtype(op.results[0].type), "reinterpret", (source,))
        return self._conversion(op)

    def _compare(self, op: ir.Operation) -> PrimExpr:
        node, sign = _COMPARE[op.attributes["predicate"].value]
        if isinstance(op.operands[0].type, ir.IndexType):
            raise NotRaisableError("a comparison of indices")
        a, b = _join(self.value(op.operands[0]), self.value(op.operands[1]))
        if a.dtype != "bool":
            a, b = _join(a, b, sign)
        return node(a, b)

    def _bitwise(self, op: ir.Operation) -> PrimExpr:
        name, logical = _BITWISE[op.name]
        a, b = _join(self.value(op.operands[0]), self.value(op.operands[1]))
        if a.dtype == "bool" and logical is not None:
            return logical(a, b)
        if op.name == "arith.xori" and isinstance(b, IntImm):
            if b.dtype == "bool" and b.value:
                return _expr.Not(a)
            if b.value in (-1, 2 ** _expr.bits(b.dtype) - 1) and b.dtype != "bool":
                return Call(a.dtype, "bitwise_not", (a,))
        return Call(a.dtype, name, (a, b))

    def _if_then_else(self, op: ir.Operation) -> PrimExpr:
        if len(op.results) != 1:
            raise NotRaisableError("a condition with several results")
        condition = _close(self.value(op.operands[0]))
        values = []
        for region in op.regions:
            *_, end = region.blocks[0].operations
            values.append(self.value(end.operands[0]))
        a, b = _join(values[0], values[1])
        return Call(a.dtype, "if_then_else", (condition, a, b))

    def _conversion(self, op: ir.Operation) -> PrimExpr:
        name = op.name
        if len(op.results) != 1 or len(op.operands) != 1:
            raise NotRaisableError(f"the operation {name}")
        to, source = op.results[0].type, op.operands[0]
        visit = _CONVERSIONS.get(name)
        if visit is None:
            raise NotRaisableError(f"the operation {name}")
        return visit(self, name, source, to)

    def _negate(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x = _close(self.value(source))
        return _expr.Sub(FloatImm(x.dtype, -0.0), x)

    def _extend(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        inner = None if source in self.known else _is(source, "arith.truncf")
        if inner is not None and inner.operands[0].type == to:
            # Rounded, and computed with further.
            return _expr.Cast(_scalar_dtype(source.type), _close(self.value(inner.operands[0])))
        x = _close(self.value(source))
        if isinstance(source.type, ir.F16Type | ir.BF16Type) and isinstance(to, ir.F32Type):
            return x  # held as f32
        return _expr.Cast(_scalar_dtype(to), x)

    def _truncate(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x, dtype = self.value(source), _scalar_dtype(to)
        if not isinstance(to, ir.F16Type | ir.BF16Type):
            return _expr.Cast(dtype, _close(x))
        # The end of a computation.
        if isinstance(x, _Open) or x.dtype == dtype:
            return _fix(x, dtype)
        if x.dtype in ("float32", "float64"):
            return _expr.Cast(dtype, x)
        raise NotRaisableError("a float that is rounded in its computation")

    def _from_int(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        sign = "signed" if name in ("arith.sitofp", "arith.extsi") else "unsigned"
        x = _close(self.value(source))
        if x.dtype != "bool":
            x = _fix(x, _signed(x.dtype, sign))
        return _expr.Cast(_scalar_dtype(to), x)

    def _narrow_int(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x = _close(self.value(source))
        sign = "unsigned" if _expr.is_uint(x.dtype) else "signed"
        return _expr.Cast(_signed(_scalar_dtype(to), sign), x)

    def _from_index(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x = self.known.get(source)
        if not isinstance(x, Var):
            raise NotRaisableError("an index as a number")
        if x.dtype != _scalar_dtype(to):
            raise NotRaisableError("an index of two data types")
        return x


_CONVERSIONS: dict[str, Callable[[_Raising, str, ir.Value, ir.Type], PrimExpr]] = {
    "arith.extf": _Raising._extend,
    "arith.truncf": _Raising._truncate,
    "arith.sitofp": _Raising._from_int,
    "arith.uitofp": _Raising._from_int,
    "arith.extsi": _Raising._from_int,
    "arith.extui": _Raising._from_int,
    "arith.trunci": _Raising._narrow_int,
    "arith.index_cast": _Raising._from_index,
    "arith.negf": _Raising._negate,
}


def _rounded_down(node: Any) -> Any:
    """Return the division that is the same one for integers that are not negative."""
    return {_expr.Div: _expr.FloorDiv, _expr.Mod: _expr.FloorMod}.get(node, node)


def _is_natural(expr: PrimExpr) -> bool:
    """Say whether an integer is known not to be negative."""
    return expr.value >= 0 if isinstance(expr, _Open) else _expr.is_non_negative(expr)


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"A{i}"


def _identity(rank: int) -> ir.AffineMapAttr:
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))


def _scalar_dtype(type_: ir.Type) -> str:
    if isinstance(type_, ir.IndexType):
        raise NotRaisableError("an index as a number")
    try:
        return dtype_name(type_)
    except (ValueError, TypeError):
        raise NotRaisableError(f"the type {type_}") from None


class _Names:
    """Names that are not taken."""

    def __init__(self) -> None:
        self.taken = {"T", "I", "R", "range", *_KEYWORDS}

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Free the names that are taken in the body of ``with``, after it."""
        saved = set(self.taken)
        try:
            yield
        finally:
            self.taken = saved

    def take(self, name: str) -> None:
        """Have a name be taken."""
        self.taken.add(name)

    def new(self, name: str) -> str:
        """Return a name that is not taken, and take it."""
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "x"
        if not name.isidentifier():
            name = f"x{name}"
        result, count = name, 0
        while result in self.taken:
            count += 1
            result = f"{name}_{count}"
        self.taken.add(result)
        return result


_KEYWORDS = frozenset(keyword.kwlist)


class _Dims:
    """Which dimensions of tensors are the same, since structured operations say so.

    Parameters
    ----------
    entry : mlir.ir.Block
    """

    def __init__(self, entry: ir.Block) -> None:
        self._parents: dict[tuple[ir.Value, int], tuple[ir.Value, int]] = {}
        self.variables: dict[tuple[ir.Value, int], Var] = {}
        for op in entry.operations:
            name = op.operation.name
            if name in ("linalg.generic", "linalg.fill"):
                outputs = list(op.operation.operands)[-max(len(op.operation.results), 1) :]
                for result, output in zip(op.operation.results, outputs, strict=False):
                    for axis in range(len(output.type.shape)):
                        self._join((output, axis), (result, axis))
            if name == "linalg.generic":
                self._join_loops(op.operation)
            elif name == "tensor.empty":
                self._join_sizes(op.operation)
            elif name == "tensor.extract_slice":
                self._join_slice(op.operation)
            elif name == "tensor.insert_slice":
                whole = op.operation.operands[1]
                for axis in range(len(whole.type.shape)):
                    self._join((whole, axis), (op.operation.results[0], axis))

    def find(self, dim: tuple[ir.Value, int]) -> tuple[ir.Value, int]:
        """Return the dimension that stands for all that are the same as one."""
        while dim in self._parents:
            dim = self._parents[dim]
        return dim

    def _join(self, a: tuple[ir.Value, int], b: tuple[ir.Value, int]) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self._parents[b] = a

    def _join_loops(self, op: ir.Operation) -> None:
        loops: dict[int, tuple[ir.Value, int]] = {}
        for attr, operand in zip(op.attributes["indexing_maps"], op.operands, strict=True):
            for axis, expr in enumerate(attr.value.results):
                if isinstance(expr, ir.AffineDimExpr):
                    self._join(loops.setdefault(expr.position, (operand, axis)), (operand, axis))

    def _join_slice(self, op: ir.Operation) -> None:
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = list(op.attributes["static_sizes"])
        if len(sizes) != len(op.results[0].type.shape):
            return
        first = 1 + sum(item == dynamic for item in op.attributes["static_offsets"])
        axes = [axis for axis, size in enumerate(sizes) if size == dynamic]
        for axis, size in zip(axes, list(op.operands)[first:], strict=False):
            self._join_size(size, (op.results[0], axis))

    def _join_size(self, size: ir.Value, to: tuple[ir.Value, int]) -> None:
        dim = _is(size, "tensor.dim")
        known = None if dim is None else _constant(dim.operands[1])
        if dim is not None and isinstance(known, int):
            self._join((dim.operands[0], known), to)

    def _join_sizes(self, op: ir.Operation) -> None:
        dynamic = ir.ShapedType.get_dynamic_size()
        axes = [i for i, size in enumerate(op.results[0].type.shape) if size == dynamic]
        for axis, size in zip(axes, op.operands, strict=True):
            self._join_size(size, (op.results[0], axis))


# ---------------------------------------------------------------------------------------------
# Bodies
# ---------------------------------------------------------------------------------------------


class _Body:
    """Raises the operations of one block.

    Parameters
    ----------
    raising : _Raising
    block : mlir.ir.Block
    end : str
        The name of its terminator.
    """

    def __init__(self, raising: _Raising, block: ir.Block, end: str) -> None:
        self.raising = raising
        self.block = block
        self.end = end
        self.stmts: list[st.Stmt] = []
        # Operations that only compute, and are not part of a statement yet.
        self.pending: list[ir.Operation] = []
        self.fills: list[tuple[st.Buffer, PrimExpr]] = []

    def run(self) -> list[st.Stmt]:
        """Return the statements."""
        for op in self.block.operations:
            op = op.operation
            if op.name == self.end:
                result = self.raising.result if op.name == "func.return" else None
                self._name_values(op, [] if result is None else _roots(op))
                if result is not None:
                    returned = _fix(self.raising.value(op.operands[0]), result)
                    self.stmts.append(st.Return(returned))
                    break
                if op.name == "func.return" and self.raising.tensors:
                    break
                if op.name in ("func.return", "scf.yield") and len(op.operands):
                    raise NotRaisableError("results")
                break
            if self._is_pure(op):
                if op.name in ("memref.dim", "tensor.dim"):
                    self.raising.known[op.results[0]] = self._dim_var(op)
                    axis = _owner(op.operands[1])
                    self.pending = [each for each in self.pending if each != axis]
                    continue
                self.pending.append(op)
                continue
            visit = _STATEMENTS.get(op.name)
            if visit is None:
                raise NotRaisableError(f"the operation {op.name}")
            if op.name not in ("linalg.fill", "linalg.generic"):
                self._flush_fills()
            self._name_values(op, _roots(op))
            visit(self, op)
        self._flush_fills()
        return self.stmts

    def _flush_fills(self) -> None:
        """Write the loops that only fill memory."""
        fills, self.fills = self.fills, []
        for buffer, value in fills:
            with self.raising.names.scope():
                self.stmts.append(self._filling(buffer, value))

    def _filling(self, buffer: st.Buffer, value: PrimExpr) -> st.Stmt:
        loops, axes = [], []
        for i, size in enumerate(buffer.shape):
            zero = IntImm(size.dtype, 0)
            loop_var = Var(self.raising.names.new(f"i{i}"), size.dtype)
            var = Var(self.raising.names.new(f"v_i{i}"), size.dtype)
            loops.append(st.For(loop_var, zero, size, []))
            axes.append(st.Axis(var, "spatial", zero, size, loop_var))
        place = tuple(axis.var for axis in axes)
        nest: st.Stmt = st.Block("fill", [], axes, [st.BufferStore(buffer, value, place)])
        for loop in reversed(loops):
            loop.body.append(nest)
            nest = loop
        return nest

    @staticmethod
    def _is_pure(op: ir.Operation) -> bool:
        if op.name == "scf.if":
            return len(op.results) > 0
        return op.name.startswith(_PURE) and op.name not in _STATEMENTS

    def _dim_var(self, op: ir.Operation) -> PrimExpr:
        dim = self.raising._dim(op)
        if isinstance(dim, Var):
            _retype(dim, op.results[0])
        return dim

    def _name_values(self, statement: ir.Operation, roots: Sequence[ir.Value]) -> None:
        """Name the values before a statement that other ones use, or that are computed too early.

        Parameters
        ----------
        statement : mlir.ir.Operation
        roots : sequence of mlir.ir.Value
            What the statement uses, in the order in which it computes it.
        """
        pending, self.pending = self.pending, []
        if not pending:
            return
        roots = [root for root in roots if root not in self.raising.known]
        pending = [op for op in pending if not _is_address(op)]
        roots = [root for root in roots if not isinstance(root.type, llvm.PointerType)]
        positions = {op: i for i, op in enumerate(pending)}
        others = [
            op
            for op in pending
            if self._has_name(op) and self._is_used_elsewhere(op, positions, statement)
        ]
        trace = self._trace(roots, others)
        nodes = [op.results[0] for op in pending if self._has_name(op) and op.results[0] in trace]
        kept = {op.results[0] for op in others}
        known = set(nodes)
        children = {
            value: list(_children(operands, trace, known)) for value, operands in trace.items()
        }
        for value in _segments(nodes, children, roots, kept):
            self._let(_owner(value))

    def _has_name(self, op: ir.Operation) -> bool:
        """Say whether a value can have a name.

        In a function on tensors constants and indices stand once, whoever asks for them.
        """
        is_index = isinstance(op.results[0].type, ir.IndexType)
        return not (self.raising.tensors and (is_index or op.name == "arith.constant"))

    def _is_used_elsewhere(
        self, op: ir.Operation, pending: dict[ir.Operation, int], statement: ir.Operation
    ) -> bool:
        users = [use.owner.operation for use in op.results[0].uses]
        for user in users:
            if user.name.startswith("arith.index_cast") and _is_index_op(op):
                return True  # without a name it is computed as an index
            around = self._around(user)
            if around in pending:
                continue
            if around != statement or user.block != self.block:
                return True
        return not users

    def _trace(
        self, roots: Sequence[ir.Value], others: Sequence[ir.Operation]
    ) -> dict[ir.Value | None, list[ir.Value]]:
        """Return the operands of values, in the order in which they are computed."""
        raising = self.raising
        trace: dict[ir.Value | None, list[ir.Value]] = {}
        saved, raising.trace, raising.under_way = raising.trace, trace, [None]
        try:
            for value in (*(op.results[0] for op in others), *roots):
                if isinstance(value.type, ir.IndexType):
                    raising.index(value)
                else:
                    raising.value(value)
        finally:
            raising.trace = saved
        return trace

    def _around(self, op: ir.Operation) -> ir.Operation:
        """Return the operation of this block that holds another one."""
        op = op.operation
        while op.block != self.block:
            op = op.parent.operation
        return op

    def _let(self, op: ir.Operation | None) -> None:
        assert op is not None
        value = op.results[0]
        if isinstance(value.type, ir.IndexType):
            raise NotRaisableError("an index with a name")
        expr = _close(self.raising.value(value))
        name = next(iter(location_names(op.location)), "x")
        var = Var(self.raising.names.new(name), expr.dtype)
        self.stmts.append(st.Let(var, expr))
        self.raising.known[value] = var

    # -- statements ---------------------------------------------------------------------------

    def _store(self, op: ir.Operation) -> None:
        value, memory, *indices = op.operands
        buffer = self.raising._buffer_of(memory)
        stored = _fix(self.raising.value(value), buffer.dtype)
        self.stmts.append(
            st.BufferStore(buffer, stored, tuple(self.raising.index(index) for index in indices))
        )

    def _for(self, op: ir.Operation) -> None:
        if len(op.results):
            raise NotRaisableError("a loop with results")
        raising = self.raising
        start, stop, step = (raising.index(operand) for operand in op.operands)
        block = op.regions[0].blocks[0]
        induction = block.arguments[0]
        attrs = dict(op.attributes.items())
        attrs.pop("operandSegmentSizes", None)
        kind = attrs.pop(LOOP).value if LOOP in attrs else "serial"
        thread = attrs.pop(THREAD).value if THREAD in attrs else None
        annotations = from_attribute(attrs.pop(ANNOTATIONS)) if ANNOTATIONS in attrs else {}
        if attrs:
            raise NotRaisableError(f"the attributes {', '.join(attrs)} of a loop")
        dtype = _used_dtype(induction) or ("int32" if _small(start, stop) else "int64")
        name = next(iter(location_names(op.location)), "i")
        with raising.names.scope():
            var = Var(raising.names.new(name), dtype)
            raising.known[induction] = var
            body = raising._region(block, "scf.yield")
        one = isinstance(step, IntImm) and step.value == 1
        start, stop = _as_dtype(start, dtype), _as_dtype(stop, dtype)
        self.stmts.append(
            st.For(
                var,
                start,
                stop,
                body,
                kind=kind,
                step=None if one else _as_dtype(step, dtype),
                thread=thread,
                annotations=annotations,
            )
        )

    def _if(self, op: ir.Operation) -> None:
        condition = _close(self.raising.value(op.operands[0]))
        bodies = []
        for region in op.regions:
            with self.raising.names.scope():
                blocks = list(region.blocks)
                bodies.append(self.raising._region(blocks[0], "scf.yield") if blocks else [])
        self.stmts.append(st.IfThenElse(condition, *bodies))

    def _while(self, op: ir.Operation) -> None:
        if len(op.operands) or len(op.results):
            raise NotRaisableError("a loop with results")
        before, after = (region.blocks[0] for region in op.regions)
        *others, end = [each.operation for each in before.operations]
        if end.name != "scf.condition" or not all(self._is_pure(each) for each in others):
            raise NotRaisableError("statements before a condition")
        condition = _close(self.raising.value(end.operands[0]))
        with self.raising.names.scope():
            self.stmts.append(st.While(condition, self.raising._region(after, "scf.yield")))

    def _alloc(self, op: ir.Operation) -> None:
        raising = self.raising
        attrs = dict(op.attributes.items())
        attrs.pop("operandSegmentSizes", None)
        scope = attrs.pop(SCOPE).value if SCOPE in attrs else "global"
        element = attrs.pop(TYPE).value if TYPE in attrs else None
        if attrs:
            raise NotRaisableError(f"the attributes {', '.join(attrs)} of an allocation")
        sizes = [raising.index(size) for size in op.operands]
        name = raising.names.new(next(iter(location_names(op.location)), "buf"))
        buffer = raising._buffer(name, op.results[0].type, None, {}, sizes)
        dtype = buffer.dtype if element is None else dtype_name(element)
        buffer = st.Buffer(name, buffer.shape, dtype, scope)
        raising.buffers[op.results[0]] = buffer
        self.stmts.append(st.Alloc(buffer))

    def _empty(self, op: ir.Operation) -> None:
        raising = self.raising
        if raising.dims is None:
            raise NotRaisableError("a tensor")
        result = op.results[0]
        name = raising.names.new(next(iter(location_names(op.location)), "buf"))
        dtype = dtype_name(result.type.element_type)
        buffer = st.Buffer(name, raising._tensor_shape(result), dtype)
        raising.buffers[result] = buffer
        self.stmts.append(st.Alloc(buffer))

    def _call(self, op: ir.Operation) -> None:
        results = list(op.results)
        if len(results) > 1:
            raise NotRaisableError("a call with several results")
        callee = op.attributes["callee"].value
        is_ours = is_kernel(callee, self.raising.op)
        args: list[PrimExpr] = [KernelName(callee) if is_ours else _expr.StringImm(callee)]
        for operand in op.operands:
            buffer = self._address(operand)
            if buffer is None:
                args.append(_close(self.raising.value(operand)))
            else:
                args.append(buffer.data)
        dtype = "void"
        if results:
            is_pointer = isinstance(results[0].type, llvm.PointerType)
            dtype = "handle" if is_pointer else _scalar_dtype(results[0].type)
        call = Call(dtype, "call_extern", args)
        if not results or not list(results[0].uses):
            self.stmts.append(st.Evaluate(call))
            return
        var = Var(self.raising.names.new(next(iter(location_names(op.location)), "x")), dtype)
        self.stmts.append(st.Let(var, call))
        self.raising.known[results[0]] = var

    def _address(self, value: ir.Value) -> st.Buffer | None:
        """Return the buffer that a value is the address of, or None."""
        pointer = _is(value, "llvm.inttoptr")
        number = None if pointer is None else _is(pointer.operands[0], "arith.index_cast")
        if number is None:
            return None
        address = _is(number.operands[0], "memref.extract_aligned_pointer_as_index")
        return None if address is None else self.raising._buffer_of(address.operands[0])

    def _fill(self, op: ir.Operation) -> None:
        value, memory = op.operands
        buffer = self.raising._buffer_of(memory)
        self.fills.append((buffer, _fix(self.raising.value(value), buffer.dtype)))
        for result in op.results:
            self.raising.buffers[result] = buffer

    def _generic(self, op: ir.Operation) -> None:
        outputs = [self.raising._buffer_of(value) for value in _outputs_of(op)]
        filled = [buffer for buffer, _ in self.fills]
        if len(filled) != len(outputs) or any(
            a is not b for a, b in zip(filled, outputs, strict=True)
        ):
            self._flush_fills()
        fills, self.fills = self.fills, []
        with self.raising.names.scope():
            self.stmts.append(_Generic(self.raising, op, fills).run())

    def _slice(self, op: ir.Operation) -> None:
        raising, result = self.raising, op.results[0]
        source = raising._buffer_of(op.operands[0])
        starts, sizes, strides = self._region(op)
        if any(not isinstance(each, IntImm) or each.value != 1 for each in strides):
            raise NotRaisableError("a part with a step")
        axes = list(range(source.ndim))
        if len(result.type.shape) != source.ndim:
            axes = [axis for axis in axes if not _is_one(sizes[axis])]
        if len(result.type.shape) != len(axes):
            raise NotRaisableError("a part of fewer dimensions")
        region = list(zip(starts, sizes, strict=True))
        self._new_view(op, [sizes[axis] for axis in axes], source, region, axes)

    def _region(self, op: ir.Operation) -> list[list[PrimExpr]]:
        """Return the offsets, sizes and strides of an operation on a slice."""
        names = ("static_offsets", "static_sizes", "static_strides")
        columns = [list(op.attributes[name]) for name in names]
        dynamic = ir.ShapedType.get_dynamic_size()
        count = sum(item == dynamic for column in columns for item in column)
        values = iter(list(op.operands)[len(op.operands) - count :])
        return [
            [
                self.raising.index(next(values)) if item == dynamic else _expr.const(item)
                for item in column
            ]
            for column in columns
        ]

    def _insert(self, op: ir.Operation) -> None:
        part, whole, *_ = op.operands
        view = self.raising.views.get(id(self.raising._buffer_of(part)))
        source = self.raising._buffer_of(whole)
        if view is None or view.source is not source:
            raise NotRaisableError("what is put in another tensor")
        self.raising.buffers[op.results[0]] = source

    def _reshape(self, op: ir.Operation) -> None:
        source = self.raising._buffer_of(op.operands[0])
        rank = len(op.results[0].type.shape)
        if rank == 1 and source.shape:
            shape = [self._count(op.results[0], source)]
        else:
            dynamic = ir.ShapedType.get_dynamic_size()
            values = iter(list(op.operands)[1:])
            shape = [
                self.raising.index(next(values)) if size == dynamic else _expr.const(size)
                for size in op.attributes["static_output_shape"]
            ]
        self._new_view(op, shape, source, None, [])

    def _count(self, value: ir.Value, source: st.Buffer) -> PrimExpr:
        """Return the number of elements: a dimension that is known to be it, or the product."""
        known = value.type.shape[0]
        if known != ir.ShapedType.get_dynamic_size():
            return _expr.const(known)
        dims = self.raising.dims
        variable = None if dims is None else dims.variables.get(dims.find((value, 0)))
        return source.size if variable is None else variable

    def _new_view(
        self,
        op: ir.Operation,
        shape: Sequence[PrimExpr],
        source: st.Buffer,
        region: list[tuple[PrimExpr, PrimExpr]] | None,
        axes: list[int],
    ) -> None:
        raising = self.raising
        name = raising.names.new(next(iter(location_names(op.location)), f"{source.name}_1"))
        buffer = st.Buffer(name, shape, source.dtype, source.scope())
        view = st.View(buffer, source, region, axes)
        raising.buffers[op.results[0]] = buffer
        raising.views[id(buffer)] = view
        self.stmts.append(view)


def _outputs_of(op: ir.Operation) -> list[ir.Value]:
    """Return what a structured operation writes to."""
    count = op.attributes["operandSegmentSizes"][1]
    return list(op.operands)[len(op.operands) - count :]


def _is_one(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1


def _is_address(op: ir.Operation) -> bool:
    """Say whether an operation is one of those that make an address."""
    if op.name == "arith.index_cast":
        owner = _owner(op.operands[0])
        return owner is not None and owner.name == "memref.extract_aligned_pointer_as_index"
    return op.name in ("memref.extract_aligned_pointer_as_index", "llvm.inttoptr")


def _is_index_op(op: ir.Operation) -> bool:
    """Say whether what a number is computed by would be computed as an index."""
    result = op.results[0]
    is_conversion = _match_float_to_int(result) is not None or _match_shift(result) is not None
    return op.name in _INDEX_OPS and not is_conversion


def _roots(op: ir.Operation) -> list[ir.Value]:
    """Return the values that a statement uses, in the order in which it computes them."""
    memory = ir.MemRefType | ir.RankedTensorType
    return [value for value in op.operands if not isinstance(value.type, memory)]


def _children(
    operands: Sequence[ir.Value],
    trace: Mapping[ir.Value | None, Sequence[ir.Value]],
    known: Container[ir.Value],
) -> Iterator[ir.Value]:
    """Yield those operands that are known, and those of the other ones."""
    for operand in operands:
        if operand in known:
            yield operand
        else:
            yield from _children(trace.get(operand, ()), trace, known)


def _segments(
    nodes: Sequence[ir.Value],
    children: dict[ir.Value | None, list[ir.Value]],
    roots: Sequence[ir.Value],
    kept: set[ir.Value],
) -> list[ir.Value]:
    """Return which values have names, so that all are computed in a given order.

    Parameters
    ----------
    nodes : sequence of mlir.ir.Value
        What is computed, in order.
    children : dict of mlir.ir.Value to list of mlir.ir.Value
        The operands, in order.
    roots : sequence of mlir.ir.Value
        What is used in the end, in order.
    kept : set of mlir.ir.Value
        What has to have a name.
    """
    positions = {value: i for i, value in enumerate(nodes)}
    named: list[ir.Value] = []
    end, wanted = len(nodes), list(roots)
    while True:
        start = _first(nodes, positions, children, wanted, kept, end, bool(named))
        if start == 0:
            return named[::-1]
        end = start
        named.append(nodes[end - 1])
        wanted = [nodes[end - 1]]


def _first(
    nodes: Sequence[ir.Value],
    positions: dict[ir.Value, int],
    children: dict[ir.Value | None, list[ir.Value]],
    wanted: Sequence[ir.Value],
    kept: set[ir.Value],
    end: int,
    is_named: bool,
) -> int:
    """Return the least position from which on nodes are what computing `wanted` computes."""
    lowest = max((i + 1 for i in range(end - is_named) if nodes[i] in kept), default=0)
    for start in range(lowest, end):
        if _computes(nodes, positions, children, wanted, start, end):
            return start
    if is_named:
        raise NotRaisableError("values in an order of their own")
    return end


def _computes(
    nodes: Sequence[ir.Value],
    positions: dict[ir.Value, int],
    children: dict[ir.Value | None, list[ir.Value]],
    wanted: Sequence[ir.Value],
    start: int,
    end: int,
) -> bool:
    """Say whether what comes before `start` being known, the nodes up to `end` are computed."""
    place = start
    for root in wanted:
        stack = [(root, iter(children.get(root, ())))]
        while stack:
            value, rest = stack[-1]
            at = positions.get(value)
            if at is None or at < place:
                stack.pop()
                continue
            child = next((each for each in rest if positions.get(each, -1) >= place), None)
            if child is not None:
                stack.append((child, iter(children.get(child, ()))))
                continue
            if at != place:
                return False
            place += 1
            stack.pop()
    return place == end


def _used_dtype(value: ir.Value) -> str | None:
    """Return the data type that an index is used as, or None."""
    dtypes = {
        str(dtype_name(use.owner.operation.results[0].type))
        for use in value.uses
        if use.owner.operation.name == "arith.index_cast"
    }
    return dtypes.pop() if len(dtypes) == 1 else None


def _retype(var: Var, value: ir.Value) -> None:
    dtype = _used_dtype(value)
    if dtype is not None:
        var.dtype = dtype


def _small(*ends: PrimExpr) -> bool:
    return all(isinstance(end, IntImm) and end.dtype == "int32" for end in ends)


def _as_dtype(expr: PrimExpr, dtype: str) -> PrimExpr:
    if isinstance(expr, IntImm):
        return IntImm(dtype, expr.value)
    if expr.dtype == dtype:
        return expr
    if _expr.bits(expr.dtype) > _expr.bits(dtype):
        raise NotRaisableError("an index of two data types")
    return _expr.Cast(dtype, expr)


_STATEMENTS: dict[str, Callable[[_Body, ir.Operation], None]] = {
    "memref.store": _Body._store,
    "memref.alloc": _Body._alloc,
    "memref.alloca": _Body._alloc,
    "scf.for": _Body._for,
    "scf.if": _Body._if,
    "scf.while": _Body._while,
    "memref.collapse_shape": _Body._reshape,
    "memref.expand_shape": _Body._reshape,
    "memref.subview": _Body._slice,
    "tensor.collapse_shape": _Body._reshape,
    "tensor.empty": _Body._empty,
    "tensor.expand_shape": _Body._reshape,
    "tensor.extract_slice": _Body._slice,
    "tensor.insert_slice": _Body._insert,
    "func.call": _Body._call,
    "linalg.fill": _Body._fill,
    "linalg.generic": _Body._generic,
}


# ---------------------------------------------------------------------------------------------
# Structured operations
# ---------------------------------------------------------------------------------------------


class _Generic:
    """Raises a ``linalg.generic`` to a nest of loops with a block.

    Parameters
    ----------
    raising : _Raising
    op : mlir.ir.Operation
    fills : list of (Buffer, PrimExpr)
        What its outputs are filled with before.
    """

    def __init__(
        self, raising: _Raising, op: ir.Operation, fills: list[tuple[st.Buffer, PrimExpr]]
    ) -> None:
        self.raising, self.op, self.fills = raising, op, fills

    def run(self) -> st.Stmt:
        """Return the nest."""
        op, raising = self.op, self.raising
        known = {"indexing_maps", "iterator_types", "operandSegmentSizes"}
        others = set(op.attributes) - known
        if others:
            raise NotRaisableError(f"the attributes {', '.join(others)} of an operation")
        maps = [attr.value for attr in op.attributes["indexing_maps"]]
        kinds = [str(attr) for attr in op.attributes["iterator_types"]]
        buffers = [raising._buffer_of(operand) for operand in op.operands]
        name, *axes = location_names(op.location) or [""]
        extents = self._extents(maps, buffers, len(kinds))
        body = op.regions[0].blocks[0]
        self._read_indices(body)
        loops, iters = [], []
        for i, kind in enumerate(kinds):
            dtype = self.dtypes.get(i) or ("int32" if isinstance(extents[i], IntImm) else "int64")
            iter_name = axes[i] if i < len(axes) else f"v_i{i}"
            extent = _as_dtype(extents[i], dtype)
            zero = IntImm(dtype, 0)
            loop_var = Var(raising.names.new(_loop_name(iter_name)), dtype)
            var = Var(raising.names.new(iter_name), dtype)
            loops.append(st.For(loop_var, zero, extent, []))
            role = "reduce" if "reduction" in kind else "spatial"
            iters.append(st.Axis(var, role, zero, extent, loop_var))
        for op_index, position in self.indices:
            raising.known[op_index] = iters[position].var
        places = [
            tuple(self._place(expr, iters) for expr in affine_map.results) for affine_map in maps
        ]
        for argument, buffer, place in zip(body.arguments, buffers, places, strict=True):
            raising.known[argument] = BufferLoad(buffer, place)
        statements = _Body(raising, body, "linalg.yield")
        block = st.Block("" if name == "_" else name, [], iters)
        outputs = (
            len(op.attributes["operandSegmentSizes"]) and op.attributes["operandSegmentSizes"][1]
        )
        self._init(block, buffers[-outputs:], places[-outputs:])
        block.body = self._stores(statements, buffers[-outputs:], places[-outputs:])
        for result, buffer in zip(op.results, buffers[-outputs:], strict=False):
            raising.buffers[result] = buffer
        nest: st.Stmt = block
        for loop in reversed(loops):
            loop.body.append(nest)
            nest = loop
        return nest

    def _extents(
        self, maps: Sequence[ir.AffineMap], buffers: Sequence[st.Buffer], count: int
    ) -> list[PrimExpr]:
        extents: list[PrimExpr | None] = [None] * count
        for affine_map, buffer in zip(maps, buffers, strict=True):
            for expr, size in zip(affine_map.results, buffer.shape, strict=True):
                if isinstance(expr, ir.AffineDimExpr) and extents[expr.position] is None:
                    extents[expr.position] = size
        found = [extent for extent in extents if extent is not None]
        if len(found) != count:
            raise NotRaisableError("a loop without an extent")
        return found

    def _read_indices(self, body: ir.Block) -> None:
        self.indices: list[tuple[ir.Value, int]] = []
        self.dtypes: dict[int, str] = {}
        for op in body.operations:
            if op.operation.name == "linalg.index":
                position = op.operation.attributes["dim"].value
                self.indices.append((op.operation.results[0], position))
                dtype = _used_dtype(op.operation.results[0])
                if dtype is not None:
                    self.dtypes[position] = dtype

    def _place(self, expr: ir.AffineExpr, iters: Sequence[st.Axis]) -> PrimExpr:
        """Return an affine expression of the axes."""
        if isinstance(expr, ir.AffineDimExpr):
            return iters[expr.position].var
        if isinstance(expr, ir.AffineConstantExpr):
            return _expr.const(expr.value)
        if isinstance(expr, ir.AffineAddExpr):
            return _expr.add(self._place(expr.lhs, iters), self._place(expr.rhs, iters))
        if isinstance(expr, ir.AffineMulExpr):
            return _expr.multiply(self._place(expr.lhs, iters), self._place(expr.rhs, iters))
        raise NotRaisableError(f"the index {expr}")

    def _init(
        self,
        block: st.Block,
        outputs: Sequence[st.Buffer],
        places: Sequence[tuple[PrimExpr, ...]],
    ) -> None:
        if not self.fills:
            return
        block.init = [
            st.BufferStore(buffer, value, place)
            for (buffer, value), place in zip(self.fills, places, strict=True)
        ]

    def _stores(
        self,
        statements: _Body,
        outputs: Sequence[st.Buffer],
        places: Sequence[tuple[PrimExpr, ...]],
    ) -> list[st.Stmt]:
        *others, end = [op.operation for op in statements.block.operations]
        for op in others:
            if not statements._is_pure(op):
                raise NotRaisableError(f"the operation {op.name} in linalg.generic")
            if op.name != "linalg.index":
                statements.pending.append(op)
        statements._name_values(end, list(end.operands))
        for value, buffer, place in zip(end.operands, outputs, places, strict=True):
            stored = _fix(self.raising.value(value), buffer.dtype)
            statements.stmts.append(st.BufferStore(buffer, stored, place))
        return statements.stmts


def _loop_name(axis: str) -> str:
    if axis.startswith("v_") and len(axis) > 2:
        return axis[2:]
    if axis.startswith("v") and len(axis) > 1 and axis[1:].isidentifier():
        return axis[1:]
    return f"{axis}_0"
