# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor programs as ``func.func`` on memrefs, in destination-passing style.

A structured block, where each axis is a loop and each element that is stored is found by the
spatial axes, becomes ``linalg.generic``, after ``linalg.fill`` where it has a constant ``T.init``.
Everything else becomes loops of scf with loads and stores.

Names of buffers, loops and blocks are kept in locations, and what the types of MLIR do not say
of a buffer (symbolic dimensions, unsigned integers) in the attribute `TYPE` of the argument.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from mlir import ir
from mlir.dialects import arith, func, memref, scf, tensor

from .._mlir_libs import _relax_mlir as _ext
from ..core.dtypes import element_type
from ..core.ir import PrimStructInfo, TensorStructInfo
from . import expr as _expr
from . import stmt as st
from .dims import to_dim
from .emit import kernel_type
from .expr import BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var
from .generic import bare, build_generic, linalg, loads, used_vars
from .index_bounds import out_of_bounds
from .jumps import without_jumps
from .kernel import HANDLE, Kernel
from .locations import location_of, to_attribute
from .structure import EFFECTS, Generic, Structure, find_structure, only_fills, same_load

TYPE = "relax.struct_info"
"""The attribute of an argument, and of an allocation, for what its type does not say."""


LOOP, THREAD, ANNOTATIONS, SCOPE = "relax.loop", "relax.thread", "relax.annotations", "relax.scope"


# Buffers up to that many bytes lie on the stack.
STACK_BYTES = 1024


_RESERVED = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs", "no_inline")


class LoweringError(ValueError):
    """A program cannot become a ``func.func``.

    Attributes
    ----------
    span : Span or None
        Where it is wrong.
    """

    def __init__(self, span: st.Span | None, message: str) -> None:
        super().__init__(message)
        self.span = span


def lower(function: st.PrimFunc) -> ir.Operation:
    """Emit a function at the insertion point of the current context.

    Parameters
    ----------
    function : PrimFunc

    Returns
    -------
    mlir.ir.Operation
        The ``func.func``.

    Raises
    ------
    LoweringError
        If it uses what has no counterpart, or an index is certain to be out of bounds.
    """
    for span, message in out_of_bounds(function):
        raise LoweringError(span, message)
    return _Lowering(without_jumps(function)).run()


class _Lowering:
    """Emits one function."""

    def __init__(self, function: st.PrimFunc) -> None:
        self.function = function
        self.kernel = Kernel()
        self.last_alloca: ir.Operation | None = None
        # The parts of buffers, and where they are.
        self.views: dict[int, tuple[st.View, list[Any], list[Any]]] = {}
        # Variables that are dimensions of tensors and have no value yet.
        self.later: dict[int, tuple[Var, ir.Value, int]] = {}

    @contextlib.contextmanager
    def _at(self, span: st.Span | None, *names: str) -> Iterator[None]:
        """Emit at a place of the source; what goes wrong, goes wrong there."""
        with location_of(span, *names):
            try:
                yield
            except (LoweringError, ir.MLIRError):
                raise
            except (ValueError, TypeError) as error:
                raise LoweringError(span, str(error)) from error

    def run(self) -> ir.Operation:
        """Emit the function."""
        function = self.function
        with self._at(function.span):
            op = self._head()
            if function.declared:
                return op.operation
            locs = [location_of(function.span, param.name) for param in function.params]
            block = op.add_entry_block(locs)
        self.entry = block
        try:
            with ir.InsertionPoint(block):
                self._bind_params(block)
                self._body(function.body)
                with self._at(function.span):
                    if function.result is None:
                        func.ReturnOp([self._buffer(buffer) for buffer in self._outputs()])
                    elif not function.body or not isinstance(function.body[-1], st.Return):
                        raise ValueError("expected a return statement at the end")
            self._drop_unused()
        except BaseException:
            op.erase()
            raise
        if function.tensors:
            _ext.tidy_kernel(op.operation)
        return op.operation

    def _head(self) -> func.FuncOp:
        """Emit the function without its body."""
        function = self.function
        if function.declared and not function.private:
            raise ValueError("expected private=True in the decorator of a declaration")
        types = [self._param_type(param) for param in function.params]
        results = [self._buffer_type(buffer) for buffer in self._outputs()]
        if function.result is not None:
            if results:
                raise ValueError("expected no result of a function on tensors but its outputs")
            results = [kernel_type(function.result)]
        op = func.FuncOp(function.name, ir.FunctionType.get(types, results))
        if function.private:
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for name, value in function.attrs.items():
            if name in _RESERVED:
                raise LoweringError(function.span, f"expected another name than '{name}'")
            op.attributes[name] = to_attribute(value)
        attrs = [self._param_attrs(param) for param in function.params]
        if any(len(each) for each in attrs):
            op.arg_attrs = ir.ArrayAttr.get(attrs)
        if function.result is not None and _expr.is_uint(function.result):
            type_ = ir.TypeAttr.get(PrimStructInfo(function.result))
            op.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({TYPE: type_})])
        return op

    # -- parameters ---------------------------------------------------------------------------

    def _outputs(self) -> list[st.Buffer]:
        """Return the results of a function on tensors: the parameters that it updates."""
        if not self.function.tensors:
            return []
        stmts = list(st.walk(self.function.body))
        stored = {id(stmt.buffer) for stmt in stmts if isinstance(stmt, st.BufferStore)}
        for stmt in reversed(stmts):
            if isinstance(stmt, st.View) and id(stmt.buffer) in stored:
                stored.add(id(stmt.source))
        buffers = [param for param in self.function.params if isinstance(param, st.Buffer)]
        if self.function.declared:
            return buffers[-1:]
        return [buffer for buffer in buffers if id(buffer) in stored]

    def _buffer_type(self, buffer: st.Buffer) -> Any:
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [dim.value if isinstance(dim, IntImm) else dynamic for dim in buffer.shape]
        if self.function.tensors:
            return ir.RankedTensorType.get(sizes, kernel_type(buffer.dtype))
        return ir.MemRefType.get(sizes, kernel_type(buffer.dtype))

    def _param_type(self, param: st.Param) -> ir.Type:
        if isinstance(param, st.Buffer):
            return self._buffer_type(param)
        if param.dtype == "handle":
            return ir.Type.parse(HANDLE)
        return kernel_type(param.dtype)

    def _param_attrs(self, param: st.Param) -> ir.DictAttr:
        if self.function.tensors:
            return ir.DictAttr.get({})
        if isinstance(param, st.Buffer):
            says_more = _expr.is_uint(param.dtype) or any(
                not isinstance(dim, IntImm) and self._dim_count(dim) != 1 for dim in param.shape
            )
            if not says_more:
                return ir.DictAttr.get({})
            try:
                type_: ir.Type = TensorStructInfo([to_dim(dim) for dim in param.shape], param.dtype)
            except TypeError as error:
                raise LoweringError(self.function.span, str(error)) from None
        elif _expr.is_uint(param.dtype):
            type_ = PrimStructInfo(param.dtype)
        elif param.dtype == "int64" and self._dim_count(param) > 1:
            type_ = PrimStructInfo(param.dtype, to_dim(param))
        else:
            return ir.DictAttr.get({})
        return ir.DictAttr.get({TYPE: ir.TypeAttr.get(type_)})

    def _dim_count(self, dim: PrimExpr) -> int:
        """Return the number of dimensions that use a variable; 0 for another dimension."""
        if not isinstance(dim, Var):
            return 0
        return sum(
            var is dim
            for param in self.function.params
            for other in ((param,) if isinstance(param, Var) else param.shape)
            for var in _expr.undefined_vars(other)
        )

    def _bind_params(self, block: ir.Block) -> None:
        """Give parameters and the variables of their shapes their values."""
        self.dims: list[ir.Operation] = []
        with self._at(self.function.span):
            for param, value in zip(self.function.params, block.arguments, strict=True):
                if isinstance(param, Var) and param.dtype != "handle":
                    self.kernel.bind(param, value)
            for param, value in zip(self.function.params, block.arguments, strict=True):
                if not isinstance(param, st.Buffer):
                    continue
                self.kernel.bind_source(param, value)
                for axis, dim in enumerate(param.shape):
                    if not isinstance(dim, Var) or self.kernel.known(dim):
                        continue
                    if self.function.tensors:
                        self.later.setdefault(id(dim), (dim, value, axis))
                    else:
                        self._bind_dim(dim, value, axis)

    def _bind_dim(self, dim: Var, value: ir.Value, axis: int) -> None:
        position = arith.ConstantOp.create_index(axis)
        make = tensor.DimOp if self.function.tensors else memref.DimOp
        op = make(value, position)
        self.dims += [op.operation, position.operation]
        self.kernel.bind(dim, op.result)

    def _bind_dims_of(self, exprs: Sequence[PrimExpr]) -> None:
        """Give variables their values that are dimensions of tensors, where they are first used."""
        for expr in exprs:
            for var in _expr.undefined_vars(expr):
                if id(var) in self.later:
                    self._bind_dim(*self.later.pop(id(var)))

    def _drop_unused(self) -> None:
        for op in self.dims:
            if not any(True for _ in op.results[0].uses):
                op.erase()

    # -- statements ---------------------------------------------------------------------------

    def _body(self, stmts: Sequence[st.Stmt]) -> None:
        self.kernel.forget()
        for stmt in stmts:
            self._stmt(stmt)
            if not isinstance(stmt, st.Let):
                self.kernel.forget()

    def _stmt(self, stmt: st.Stmt) -> None:
        if isinstance(stmt, st.For | st.Block):
            structure = find_structure(stmt, self.function.tensors)
            if structure is not None:
                self._structured(structure)
                return
        if self.function.tensors and not isinstance(stmt, st.Alloc | st.Let | st.View):
            raise LoweringError(
                stmt.span, "expected structured blocks only in a function on tensors"
            )
        getattr(self, f"_{type(stmt).__name__.lower()}")(stmt)

    def _bufferstore(self, stmt: st.BufferStore) -> None:
        with self._at(stmt.span):
            value = self.kernel.value(stmt.value)
            indices = [self.kernel.index(index) for index in stmt.indices]
            memref.StoreOp(value, self._buffer(stmt.buffer), indices)

    def _return(self, stmt: st.Return) -> None:
        if stmt.value is not None:  # it is at the end anyway
            with self._at(stmt.span):
                func.ReturnOp([self.kernel.value(stmt.value)])

    def _buffer(self, buffer: st.Buffer) -> ir.Value:
        known = self.kernel._sources.get(id(buffer))
        if known is None:
            raise ValueError(f"expected buffer '{buffer.name}' to be allocated here")
        return known[1]

    def _for(self, stmt: st.For) -> None:
        with self._at(stmt.span, stmt.var.name):
            start = self.kernel.index(stmt.min)
            stop = self.kernel.index(stmt.stop)
            step = self.kernel.index(
                _expr.const(1, stmt.var.dtype) if stmt.step is None else stmt.step
            )
            loop = scf.ForOp(start, stop, step)
            if stmt.kind != "serial":
                loop.attributes[LOOP] = ir.StringAttr.get(stmt.kind)
            if stmt.thread is not None:
                loop.attributes[THREAD] = ir.StringAttr.get(stmt.thread)
            if stmt.annotations:
                loop.attributes[ANNOTATIONS] = to_attribute(stmt.annotations)
        self.kernel.bind(stmt.var, loop.induction_variable)
        outside = self.entry, self.last_alloca
        if stmt.kind == "parallel":
            self.entry, self.last_alloca = loop.body, None
        with ir.InsertionPoint(loop.body):
            self._body(stmt.body)
            with self._at(stmt.span):
                scf.YieldOp([])
        if stmt.kind == "parallel":
            self.entry, self.last_alloca = outside

    def _while(self, stmt: st.While) -> None:
        with self._at(stmt.span):
            loop = scf.WhileOp([], [])
            before, after = (region.blocks.append() for region in loop.regions)
            self.kernel.forget()
            with ir.InsertionPoint(before):
                scf.ConditionOp(self.kernel.value(stmt.condition), [])
        with ir.InsertionPoint(after):
            self._body(stmt.body)
            with self._at(stmt.span):
                scf.YieldOp([])

    def _ifthenelse(self, stmt: st.IfThenElse) -> None:
        with self._at(stmt.span):
            branch = scf.IfOp(self.kernel.value(stmt.condition), has_else=bool(stmt.else_body))
        self._branch(branch.then_block, stmt.then_body, stmt.span)
        if stmt.else_body:
            self._branch(branch.else_block, stmt.else_body, stmt.span)

    def _branch(self, block: ir.Block, body: Sequence[st.Stmt], span: st.Span | None) -> None:
        with ir.InsertionPoint(block):
            self._body(body)
            with self._at(span):
                scf.YieldOp([])

    def _let(self, stmt: st.Let) -> None:
        with self._at(stmt.span, stmt.var.name):
            if self.function.tensors:
                self._bind_dims_of([stmt.value])
            self.kernel.bind(stmt.var, self.kernel.value(stmt.value))

    def _alloc(self, stmt: st.Alloc) -> None:
        buffer = stmt.buffer
        with self._at(stmt.span, buffer.name):
            type_ = self._buffer_type(buffer)
            if self.function.tensors:
                self._bind_dims_of(buffer.shape)
                sizes = [self.kernel.size(dim) for dim in buffer.shape]
                empty = tensor.EmptyOp(sizes, kernel_type(buffer.dtype))
                self.kernel.bind_source(buffer, empty.result)
                return
            size = buffer.itemsize * math.prod(type_.shape)
            if type_.has_static_shape and size <= STACK_BYTES:
                with self._entry():
                    op: Any = memref.AllocaOp(type_, [], [])
                self.last_alloca = op.operation
            else:
                dims = [dim for dim in buffer.shape if not isinstance(dim, IntImm)]
                op = memref.AllocOp(type_, [self.kernel.index(dim) for dim in dims], [])
            if buffer.scope() != "global":
                op.attributes[SCOPE] = ir.StringAttr.get(buffer.scope())
            if _expr.is_uint(buffer.dtype):
                op.attributes[TYPE] = ir.TypeAttr.get(element_type(buffer.dtype))
        self.kernel.bind_source(buffer, op.result)

    @contextlib.contextmanager
    def _entry(self) -> Iterator[None]:
        """Emit where the function starts, so that the stack grows once.

        Iterations of a parallel loop, which threads run, have memory of their own.
        """
        if self.last_alloca is None:
            point = ir.InsertionPoint.at_block_begin(self.entry)
        else:
            point = ir.InsertionPoint.after(self.last_alloca)
        with point:
            yield

    def _view(self, stmt: st.View) -> None:
        with self._at(stmt.span, stmt.buffer.name):
            source = self._buffer(stmt.source)
            if self.function.tensors:
                ends = [end for part in stmt.region or () for end in part]
                self._bind_dims_of([*ends, *stmt.buffer.shape])
            if stmt.region is None:
                value = self._reshaped(stmt, source)
            else:
                starts, sizes = ([self.kernel.size(end) for end in ends] for ends in _columns(stmt))
                value = self._part(stmt, source, starts, sizes)
                self.views[id(stmt.buffer)] = stmt, starts, sizes
        self.kernel.bind_source(stmt.buffer, value)

    def _part(
        self,
        stmt: st.View,
        source: ir.Value,
        starts: Sequence[int | ir.Value],
        sizes: Sequence[int | ir.Value],
    ) -> ir.Value:
        dynamic = ir.ShapedType.get_dynamic_size()
        shape = [size if isinstance(size, int) else dynamic for size in sizes]
        kept = [shape[axis] for axis in stmt.axes]
        element = source.type.element_type
        if self.function.tensors:
            type_: ir.Type = ir.RankedTensorType.get(kept, element)
            return tensor.extract_slice(type_, source, *_slices(starts, sizes))
        strides, offset = source.type.get_strides_and_offset()
        for start, stride in zip(starts, strides, strict=True):
            if not isinstance(start, int) or (dynamic in (offset, stride) and start):
                offset = dynamic
            elif offset != dynamic:
                offset += start * stride
        layout = ir.StridedLayoutAttr.get(offset, [strides[axis] for axis in stmt.axes])
        type_ = ir.MemRefType.get(kept, element, layout)
        return memref.subview(
            source, list(starts), list(sizes), [1] * len(sizes), result_type=type_
        )

    def _reshaped(self, stmt: st.View, source: ir.Value) -> ir.Value:
        type_ = self._buffer_type(stmt.buffer)
        if self.function.tensors:
            collapse, expand = tensor.CollapseShapeOp, tensor.ExpandShapeOp
        else:
            collapse, expand = memref.CollapseShapeOp, memref.ExpandShapeOp
        rank, old = stmt.buffer.ndim, stmt.source.ndim
        if rank == 1 and old > 0:
            if old == 1:
                return source
            return collapse(type_, source, [list(range(old))]).result
        sizes = [self.kernel.size(size) for size in stmt.buffer.shape]
        dynamic = ir.ShapedType.get_dynamic_size()
        known = [size if isinstance(size, int) else dynamic for size in sizes]
        values = [size for size in sizes if not isinstance(size, int)]
        groups = [list(range(rank))] if old else []
        return expand(type_, source, groups, values, known).result

    def _write_back(self, buffer: st.Buffer) -> None:
        """Have a tensor hold what was stored to a part of it."""
        known = self.views.get(id(buffer))
        if known is None or not self.function.tensors:
            return
        stmt, starts, sizes = known
        whole = tensor.insert_slice(
            self._buffer(buffer), self._buffer(stmt.source), *_slices(starts, sizes)
        )
        self.kernel.bind_source(stmt.source, whole)
        self._write_back(stmt.source)

    def _evaluate(self, stmt: st.Evaluate) -> None:
        with self._at(stmt.span):
            value = stmt.value
            if isinstance(value, Call) and value.op in EFFECTS:
                self.kernel.effect(value)
                return
            if isinstance(value, IntImm | FloatImm):
                return  # T.evaluate(0) stands for nothing
            self.kernel.value(value)

    def _block(self, stmt: st.Block) -> None:
        """Emit a block that is not structured: axes are names for what they are bound to."""
        first = []
        for axis in stmt.axes:
            with self._at(stmt.span, axis.var.name):
                self.kernel.bind(axis.var, self._axis(axis))
            if axis.kind == "reduce":
                first.append(_expr.compare(_expr.EQ, axis.var, axis.min))
        with contextlib.ExitStack() as stack:
            for predicate in stmt.predicates:
                self._guard(stack, predicate, stmt.span)
            if stmt.init:
                self._init(first, stmt)
            self._body(stmt.body)

    def _axis(self, axis: st.Axis) -> ir.Value:
        binding = bare(axis.binding)
        known = self.kernel._bound.get(id(binding))
        return self.kernel.value(axis.binding) if known is None else known[1]

    def _guard(
        self, stack: contextlib.ExitStack, condition: PrimExpr, span: st.Span | None
    ) -> None:
        with self._at(span):
            branch = scf.IfOp(self.kernel.value(condition))
            with ir.InsertionPoint(branch.then_block):
                scf.YieldOp([])
            terminator = branch.then_block.operations[0]
        stack.enter_context(ir.InsertionPoint(terminator))

    def _init(self, first: Sequence[PrimExpr], stmt: st.Block) -> None:
        if not first:
            self._body(stmt.init)
            return
        condition = first[0]
        for other in first[1:]:
            condition = _expr.logical_and(condition, other)
        self._ifthenelse(st.IfThenElse(condition, stmt.init, span=stmt.span))

    # -- structured blocks --------------------------------------------------------------------

    def _structured(self, structure: Structure) -> None:
        block, generic = structure.block, structure.generic
        for init in structure.init:
            with self._at(init.span, block.name + "_init"):
                self._initial(structure, init)
        if only_fills(block):
            return
        with self._at(block.span, block.name or "_", *(var.name for var in generic.iters)):
            self._generic(generic, structure.constants)
            for store in generic.stores:
                self._write_back(store.buffer)

    def _initial(self, structure: Structure, init: st.BufferStore) -> None:
        if _expr.undefined_vars(init.value) or any(loads([init.value])):
            self._generic(structure.initial(init), structure.constants)
        else:
            filled = linalg().fill(self.kernel.value(init.value), outs=[self._buffer(init.buffer)])
            if self.function.tensors:
                self.kernel.bind_source(init.buffer, filled)
        if only_fills(structure.block):
            self._write_back(init.buffer)

    def _generic(self, generic: Generic, constants: Sequence[Var]) -> None:
        kernel, stores = self.kernel, generic.stores
        exprs = [stmt.value for stmt in generic.statements]
        self._bind_dims_of(exprs)
        known = [*generic.inputs, *(BufferLoad(store.buffer, store.indices) for store in stores)]
        used = used_vars(exprs, lambda load: any(same_load(load, each) for each in known))

        def write(elements: Sequence[ir.Value]) -> list[ir.Value]:
            kernel.forget()
            kernel.elements = list(zip(known, elements, strict=True))
            for loop, var in enumerate(generic.iters):
                if id(var) in used:
                    kernel.bind(var, linalg().IndexOp(loop).result)
            for var in constants:
                if id(var) in used:
                    kernel.bind(var, arith.ConstantOp.create_index(0).result)
            for let in generic.lets:
                kernel.bind(let.var, kernel.value(let.value))
            values = [kernel.value(store.value) for store in stores]
            kernel.elements = []
            return values

        operands = [self._buffer(load.buffer) for load in known]
        inputs, outputs = operands[: len(generic.inputs)], operands[len(generic.inputs) :]
        results = build_generic(inputs, outputs, generic.maps, generic.kinds, write)
        for store, result in zip(stores, results, strict=False):
            kernel.bind_source(store.buffer, result)


def _columns(stmt: st.View) -> tuple[list[PrimExpr], list[PrimExpr]]:
    """Return where a part of a buffer begins, and how long it is."""
    region = stmt.region or []
    return [start for start, _ in region], [length for _, length in region]


def _slices(starts: Sequence[int | ir.Value], sizes: Sequence[int | ir.Value]) -> list[Any]:
    """Return the operands and attributes of an operation on a slice."""
    dynamic = ir.ShapedType.get_dynamic_size()
    columns = [starts, sizes, [1] * len(starts)]
    values = [[item for item in column if not isinstance(item, int)] for column in columns]
    known = [[item if isinstance(item, int) else dynamic for item in column] for column in columns]
    return [*values, *known]
