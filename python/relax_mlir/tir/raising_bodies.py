# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of blocks of a kernel as statements."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import llvm

from ..core.dtypes import dtype_name
from . import expr as _expr
from . import stmt as st
from .expr import BufferLoad, Call, IntImm, PrimExpr, Var, is_one
from .idioms import made_by, match_float_to_int, match_shift, owner_of
from .locations import location_names
from .lower import ANNOTATIONS, LOOP, SCOPE, THREAD, TYPE
from .order import children_of, segments
from .raised_values import (
    KernelName,
    NotRaisableError,
    close,
    element_dtype,
    fix,
    from_attribute,
    is_kernel,
    scalar_dtype,
)

if TYPE_CHECKING:
    from .raising import Raising


# Operations that are computed as an index where one is wanted.
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


class Body:
    """Raises the operations of one block.

    Parameters
    ----------
    raising : Raising
    block : mlir.ir.Block
    end : str
        The name of its terminator.
    """

    def __init__(self, raising: Raising, block: ir.Block, end: str) -> None:
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
                    returned = fix(self.raising.value(op.operands[0]), result)
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
                    axis = owner_of(op.operands[1])
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
            The operands of the statement, in the order in which it computes them.
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
            value: list(children_of(operands, trace, known)) for value, operands in trace.items()
        }
        for value in segments(nodes, children, roots, kept):
            self._let(owner_of(value))

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
        expr = close(self.raising.value(value))
        name = next(iter(location_names(op.location)), "x")
        var = Var(self.raising.names.new(name), expr.dtype)
        self.stmts.append(st.Let(var, expr))
        self.raising.known[value] = var

    # -- statements ---------------------------------------------------------------------------

    def _store(self, op: ir.Operation) -> None:
        value, memory, *indices = op.operands
        buffer = self.raising._buffer_of(memory)
        stored = fix(self.raising.value(value), buffer.dtype)
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
        dtype = used_dtype(induction) or ("int32" if _small(start, stop) else "int64")
        name = next(iter(location_names(op.location)), "i")
        with raising.names.scope():
            var = Var(raising.names.new(name), dtype)
            raising.known[induction] = var
            body = raising._region(block, "scf.yield")
        start, stop = _as_dtype(start, dtype), _as_dtype(stop, dtype)
        self.stmts.append(
            st.For(
                var,
                start,
                stop,
                body,
                kind=kind,
                step=None if is_one(step) else _as_dtype(step, dtype),
                thread=thread,
                annotations=annotations,
            )
        )

    def _if(self, op: ir.Operation) -> None:
        condition = close(self.raising.value(op.operands[0]))
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
        condition = close(self.raising.value(end.operands[0]))
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
        dtype = element_dtype(result.type.element_type)
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
                args.append(close(self.raising.value(operand)))
            else:
                args.append(buffer.data)
        dtype = "void"
        if results:
            is_pointer = isinstance(results[0].type, llvm.PointerType)
            dtype = "handle" if is_pointer else scalar_dtype(results[0].type)
        call = Call(dtype, "call_extern", args)
        if not results or not list(results[0].uses):
            self.stmts.append(st.Evaluate(call))
            return
        var = Var(self.raising.names.new(next(iter(location_names(op.location)), "x")), dtype)
        self.stmts.append(st.Let(var, call))
        self.raising.known[results[0]] = var

    def _prefetch(self, op: ir.Operation) -> None:
        memory, *indices = op.operands
        place = tuple(self.raising.index(index) for index in indices)
        load = BufferLoad(self.raising._buffer_of(memory), place)
        names = ("isWrite", "localityHint", "isDataCache")
        hints = [_expr.const(int(op.attributes[name].value)) for name in names]
        address = Call("handle", "address_of", (load,))
        self.stmts.append(st.Evaluate(Call("void", "prefetch", (address, *hints))))

    def _address(self, value: ir.Value) -> st.Buffer | None:
        """Return the buffer that a value is the address of, or None."""
        pointer = made_by(value, "llvm.inttoptr")
        number = None if pointer is None else made_by(pointer.operands[0], "arith.index_cast")
        if number is None:
            return None
        address = made_by(number.operands[0], "memref.extract_aligned_pointer_as_index")
        return None if address is None else self.raising._buffer_of(address.operands[0])

    def _fill(self, op: ir.Operation) -> None:
        value, memory = op.operands
        buffer = self.raising._buffer_of(memory)
        self.fills.append((buffer, fix(self.raising.value(value), buffer.dtype)))
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
        if not all(map(is_one, strides)):
            raise NotRaisableError("a part with a step")
        axes = list(range(source.ndim))
        if len(result.type.shape) != source.ndim:
            axes = [axis for axis in axes if not is_one(sizes[axis])]
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
        if op.name.endswith(".collapse_shape"):
            groups = [[item.value for item in group] for group in op.attributes["reassociation"]]
            shape = [
                self._count(op.results[0], axis, [source.shape[i] for i in group])
                for axis, group in enumerate(groups)
            ]
        else:
            dynamic = ir.ShapedType.get_dynamic_size()
            values = iter(list(op.operands)[1:])
            shape = [
                self.raising.index(next(values)) if size == dynamic else _expr.const(size)
                for size in op.attributes["static_output_shape"]
            ]
        self._new_view(op, shape, source, None, [])

    def _count(self, value: ir.Value, axis: int, sizes: Sequence[PrimExpr]) -> PrimExpr:
        """Return a dimension that is the product of others: what is known to be it, or the product.

        Parameters
        ----------
        value : mlir.ir.Value
        axis : int
        sizes : sequence of PrimExpr
        """
        known = value.type.shape[axis]
        if known != ir.ShapedType.get_dynamic_size():
            return _expr.const(known)
        dims = self.raising.dims
        variable = None if dims is None else dims.variables.get(dims.find((value, axis)))
        return functools.reduce(operator.mul, sizes) if variable is None else variable

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
    """Return the outputs that a structured operation writes to."""
    count = op.attributes["operandSegmentSizes"][1]
    return list(op.operands)[len(op.operands) - count :]


def _is_address(op: ir.Operation) -> bool:
    """Say whether an operation is one of those that make an address."""
    if op.name == "arith.index_cast":
        owner = owner_of(op.operands[0])
        return owner is not None and owner.name == "memref.extract_aligned_pointer_as_index"
    return op.name in ("memref.extract_aligned_pointer_as_index", "llvm.inttoptr")


def _is_index_op(op: ir.Operation) -> bool:
    """Say whether what a number is computed by would be computed as an index."""
    result = op.results[0]
    is_conversion = match_float_to_int(result) is not None or match_shift(result) is not None
    return op.name in _INDEX_OPS and not is_conversion


def _roots(op: ir.Operation) -> list[ir.Value]:
    """Return the values that a statement uses, in the order in which it computes them."""
    memory = ir.MemRefType | ir.RankedTensorType
    return [value for value in op.operands if not isinstance(value.type, memory)]


def used_dtype(value: ir.Value) -> str | None:
    """Return the data type that an index is used as, or None."""
    dtypes = {
        str(dtype_name(use.owner.operation.results[0].type))
        for use in value.uses
        if use.owner.operation.name == "arith.index_cast"
    }
    return dtypes.pop() if len(dtypes) == 1 else None


def _retype(var: Var, value: ir.Value) -> None:
    dtype = used_dtype(value)
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


_STATEMENTS: dict[str, Callable[[Body, ir.Operation], None]] = {
    "memref.store": Body._store,
    "memref.alloc": Body._alloc,
    "memref.alloca": Body._alloc,
    "scf.for": Body._for,
    "scf.if": Body._if,
    "scf.while": Body._while,
    "memref.collapse_shape": Body._reshape,
    "memref.expand_shape": Body._reshape,
    "memref.prefetch": Body._prefetch,
    "memref.subview": Body._slice,
    "tensor.collapse_shape": Body._reshape,
    "tensor.empty": Body._empty,
    "tensor.expand_shape": Body._reshape,
    "tensor.extract_slice": Body._slice,
    "tensor.insert_slice": Body._insert,
    "func.call": Body._call,
    "linalg.fill": Body._fill,
    "linalg.generic": Body._generic,
}


class _Generic:
    """Raises a ``linalg.generic`` to a nest of loops with a block.

    Parameters
    ----------
    raising : Raising
    op : mlir.ir.Operation
    fills : list of (Buffer, PrimExpr)
        The initial values of its outputs.
    """

    def __init__(
        self, raising: Raising, op: ir.Operation, fills: list[tuple[st.Buffer, PrimExpr]]
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
        statements = Body(raising, body, "linalg.yield")
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
                dtype = used_dtype(op.operation.results[0])
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
        statements: Body,
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
            stored = fix(self.raising.value(value), buffer.dtype)
            statements.stmts.append(st.BufferStore(buffer, stored, place))
        return statements.stmts


def _loop_name(axis: str) -> str:
    if axis.startswith("v_") and len(axis) > 2:
        return axis[2:]
    if axis.startswith("v") and len(axis) > 1 and axis[1:].isidentifier():
        return axis[1:]
    return f"{axis}_0"
