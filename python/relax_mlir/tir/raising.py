# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``func.func`` on memrefs as tensor programs: the way back of `relax_mlir.tir.lower`.

The meaning of operations is recognized from their shape alone, so the result is a program that
they may have been made from. A caller that needs to be sure lowers it again, and compares.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mlir import ir

from ..core.ir import PrimStructInfo, TensorStructInfo
from . import expr as _expr
from . import stmt as st
from .dims import from_dim
from .expr import BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var
from .idioms import (
    constant_of,
    made_by,
    match_div,
    match_float_to_int,
    match_floor_div,
    match_floor_mod,
    match_rem,
    match_shift,
    match_sigmoid,
    owner_of,
)
from .kernel import HANDLE
from .locations import location_names
from .lower import TYPE
from .raised_values import (
    NotRaisableError,
    Open,
    close,
    element_dtype,
    fix,
    from_attribute,
    is_natural,
    join,
    rounded_down,
    scalar_dtype,
    signed_dtype,
)
from .raising_bodies import Body
from .tensor_dims import Dims, FreeNames

# Operations in expressions of one function, counted as often as they are written.
MOST_NODES = 100_000


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
    return Raising(op, dim_dtype).run()


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


class Raising:
    """Raises one function.

    Parameters
    ----------
    op : mlir.ir.Operation
    dim_dtype : str
    """

    def __init__(self, op: ir.Operation, dim_dtype: str) -> None:
        self.op = op
        self.dim_dtype = dim_dtype
        self.names = FreeNames()
        # The expressions of values: variables, and elements of regions.
        self.known: dict[ir.Value, PrimExpr] = {}
        self.buffers: dict[ir.Value, st.Buffer] = {}
        self.views: dict[int, st.View] = {}
        # The number of operations left for expressions; each is written where it is used.
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
        self.dims = Dims(entry) if self.tensors else None
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
        dtype: Any = said.dtype if isinstance(said, PrimStructInfo) else scalar_dtype(results[0])
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
            buffer = st.Buffer(
                name, self._tensor_shape(value), element_dtype(value.type.element_type)
            )
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
        dtype = type_.dtype if isinstance(type_, PrimStructInfo) else scalar_dtype(value.type)
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
        dtype = (
            info.dtype if isinstance(info, TensorStructInfo) else element_dtype(type_.element_type)
        )
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
        return Body(self, block, end).run()

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
        number = constant_of(value)
        if number is not None:
            return _expr.const(int(number))
        for match, node in (
            (match_floor_div, _expr.FloorDiv),
            (match_floor_mod, _expr.FloorMod),
            (match_div, _expr.Div),
            (match_rem, _expr.Mod),
        ):
            operands = match(value)
            if operands is not None:
                made = rounded_down(node) if operands[2] else node
                return made(*_expr.match_types(*(self.index(operand) for operand in operands[:2])))
        op = owner_of(value)
        if op is None:
            raise NotRaisableError(f"the value {value}")
        if op.name in _BINARY:
            node, _ = _BINARY[op.name]
            return node(*_expr.match_types(*(self.index(operand) for operand in op.operands)))
        if op.name == "arith.select":
            a, b = _expr.match_types(self.index(op.operands[1]), self.index(op.operands[2]))
            return _expr.Select(close(self.value(op.operands[0])), a, b)
        if op.name in ("arith.index_cast", "arith.index_castui"):
            inner = close(self.value(op.operands[0]))
            sign = "signed" if op.name == "arith.index_cast" else "unsigned"
            return fix(inner, signed_dtype(inner.dtype, sign))
        if op.name in ("memref.dim", "tensor.dim"):
            return self._dim(op)
        raise NotRaisableError(f"the operation {op.name}")

    def _dim(self, op: ir.Operation) -> PrimExpr:
        axis = constant_of(op.operands[1])
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
        op = owner_of(value)
        if op is None:
            raise NotRaisableError(f"the value {value}")
        number = constant_of(value)
        if number is not None:
            if isinstance(value.type, ir.IntegerType) and value.type.width == 1:
                return IntImm("bool", int(number) & 1)
            return Open(number, scalar_dtype(value.type))
        self.size -= 1
        if self.size < 0:
            raise NotRaisableError("expressions that are too long")
        idiom = self._idiom(value)
        if idiom is not None:
            return idiom
        return self._operation(op)

    def _idiom(self, value: ir.Value) -> PrimExpr | None:
        """Return the expression that several operations together stand for."""
        for match, node in (
            (match_floor_div, _expr.FloorDiv),
            (match_floor_mod, _expr.FloorMod),
            (match_div, _expr.Div),
            (match_rem, _expr.Mod),
        ):
            operands = match(value)
            if operands is None:
                continue
            *pair, unsigned = operands
            a, b = (self.value(operand) for operand in pair)
            if unsigned:  # unsigned integers, or ones that cannot be negative
                natural = all(map(is_natural, (a, b)))
                return rounded_down(node)(*join(a, b, "any" if natural else "unsigned"))
            return node(*join(a, b, "signed"))
        converted = match_float_to_int(value)
        if converted is not None:
            source, signed = converted
            dtype = scalar_dtype(value.type)
            return _expr.Cast(
                signed_dtype(dtype, "signed" if signed else "unsigned"), close(self.value(source))
            )
        argument = match_sigmoid(value)
        if argument is not None:
            return self._call("sigmoid", [argument])
        shift = match_shift(value)
        if shift is not None:
            name, x, amount = shift
            a, b = join(self.value(x), self.value(amount))
            return Call(a.dtype, name, (a, b))
        return None

    def _call(self, name: str, operands: Sequence[ir.Value]) -> PrimExpr:
        args = [self.value(operand) for operand in operands]
        if len(args) == 2:
            args = list(join(args[0], args[1]))
        args = [close(arg) for arg in args]
        if name in ("isnan", "isinf", "isfinite"):
            return Call("bool", name, args)
        return Call(args[0].dtype, name, args)

    def _operation(self, op: ir.Operation) -> PrimExpr:
        name = op.name
        if name in _BINARY:
            node, sign = _BINARY[name]
            return node(*join(self.value(op.operands[0]), self.value(op.operands[1]), sign))
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
            return kind(*join(self.value(op.operands[0]), self.value(op.operands[1])))
        if name in _BITWISE:
            return self._bitwise(op)
        if name in _SHIFTS:
            called, sign = _SHIFTS[name]
            a, b = join(self.value(op.operands[0]), self.value(op.operands[1]), sign)
            return Call(a.dtype, called, (a, b))
        if name == "arith.select":
            condition = close(self.value(op.operands[0]))
            a, b = join(self.value(op.operands[1]), self.value(op.operands[2]))
            return _expr.Select(condition, a, b)
        if name == "scf.if":
            return self._if_then_else(op)
        if name == "arith.bitcast":
            source = close(self.value(op.operands[0]))
            return Call(scalar_dtype(op.results[0].type), "reinterpret", (source,))
        return self._conversion(op)

    def _compare(self, op: ir.Operation) -> PrimExpr:
        node, sign = _COMPARE[op.attributes["predicate"].value]
        if isinstance(op.operands[0].type, ir.IndexType):
            raise NotRaisableError("a comparison of indices")
        a, b = join(self.value(op.operands[0]), self.value(op.operands[1]))
        if a.dtype != "bool":
            a, b = join(a, b, sign)
        return node(a, b)

    def _bitwise(self, op: ir.Operation) -> PrimExpr:
        name, logical = _BITWISE[op.name]
        a, b = join(self.value(op.operands[0]), self.value(op.operands[1]))
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
        condition = close(self.value(op.operands[0]))
        values = []
        for region in op.regions:
            *_, end = region.blocks[0].operations
            values.append(self.value(end.operands[0]))
        a, b = join(values[0], values[1])
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
        x = close(self.value(source))
        return _expr.Sub(FloatImm(x.dtype, -0.0), x)

    def _extend(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        inner = None if source in self.known else made_by(source, "arith.truncf")
        if inner is not None and inner.operands[0].type == to:
            # Rounded, and computed with further.
            return _expr.Cast(scalar_dtype(source.type), close(self.value(inner.operands[0])))
        x = close(self.value(source))
        if isinstance(source.type, ir.F16Type | ir.BF16Type) and isinstance(to, ir.F32Type):
            return x  # held as f32
        return _expr.Cast(scalar_dtype(to), x)

    def _truncate(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x, dtype = self.value(source), scalar_dtype(to)
        if not isinstance(to, ir.F16Type | ir.BF16Type):
            return _expr.Cast(dtype, close(x))
        # The end of a computation.
        if isinstance(x, Open) or x.dtype == dtype:
            return fix(x, dtype)
        if x.dtype in ("float32", "float64"):
            return _expr.Cast(dtype, x)
        raise NotRaisableError("a float that is rounded in its computation")

    def _from_int(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        sign = "signed" if name in ("arith.sitofp", "arith.extsi") else "unsigned"
        x = close(self.value(source))
        if x.dtype != "bool":
            x = fix(x, signed_dtype(x.dtype, sign))
        return _expr.Cast(scalar_dtype(to), x)

    def _narrow_int(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x = close(self.value(source))
        sign = "unsigned" if _expr.is_uint(x.dtype) else "signed"
        return _expr.Cast(signed_dtype(scalar_dtype(to), sign), x)

    def _from_index(self, name: str, source: ir.Value, to: ir.Type) -> PrimExpr:
        x = self.known.get(source)
        if not isinstance(x, Var):
            raise NotRaisableError("an index as a number")
        if x.dtype != scalar_dtype(to):
            raise NotRaisableError("an index of two data types")
        return x


_CONVERSIONS: dict[str, Callable[[Raising, str, ir.Value, ir.Type], PrimExpr]] = {
    "arith.extf": Raising._extend,
    "arith.truncf": Raising._truncate,
    "arith.sitofp": Raising._from_int,
    "arith.uitofp": Raising._from_int,
    "arith.extsi": Raising._from_int,
    "arith.extui": Raising._from_int,
    "arith.trunci": Raising._narrow_int,
    "arith.index_cast": Raising._from_index,
    "arith.negf": Raising._negate,
}


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"A{i}"


def _identity(rank: int) -> ir.AffineMapAttr:
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
