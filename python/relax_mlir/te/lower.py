# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions as kernels: functions of linalg on tensors, in destination-passing style.

Each operation becomes one ``linalg.generic``. An element that is loaded at an affine function of
the loops is an operand, so that the operation fuses and tiles; any other one is extracted in the
body.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir
from mlir.dialects import arith, func, scf, tensor

from .._mlir_libs import _relax_mlir as _ext
from ..core.context import current_context
from ..tir import expr as _expr
from ..tir.dims import same_dim
from ..tir.emit import Emitter, kernel_type
from ..tir.expr import IntImm, IterVar, PrimExpr, Reduce, Var, is_zero
from ..tir.generic import bounded_loops, build_generic, linalg, loads, used_vars
from .body_emitter import BodyEmitter
from .loops import Loops, guard_selects
from .operation import kernel_name
from .tensor import ComputeOp, Operation, PlaceholderOp, ScanOp, Tensor, free_vars, loads_of


class Kernel:
    """A kernel that is being written."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        ints: Sequence[Var],
        outputs: Sequence[Tensor],
        by_name: bool,
    ) -> None:
        self._by_name = by_name
        self.inputs, self.ints, self.outputs = list(inputs), list(ints), list(outputs)
        self._values: dict[tuple[int, int], ir.Value] = {}
        self._destinations: dict[tuple[int, int], ir.Value] = {}
        self._dims: dict[Any, tuple[ir.Value, int | None]] = {}
        self._variables: dict[Any, ir.Value] = {}
        self._names: dict[Var, str] = {}
        self._numbers: dict[Any, int] = {}
        self._emitter = Emitter(resolve=self.variable)
        self._arguments: list[ir.Value] = []

    # -- the function -------------------------------------------------------------------------

    def build(self, name: str) -> func.FuncOp:
        """Write the function at the current insertion point."""
        ops = _sorted(self.outputs)
        self._check(ops)
        types = [
            *(self.type_of(each) for each in self.inputs),
            *(ir.IntegerType.get_signless(64) for _ in self.ints),
            *(self.type_of(each) for each in self.outputs),
        ]
        results = types[len(self.inputs) + len(self.ints) :]
        function = func.FuncOp(name, ir.FunctionType.get(types, results))
        with ir.InsertionPoint(function.add_entry_block()):
            self._bind(function.entry_block)
            for op in ops:
                with _named(op.name):
                    self._write(op)
            func.ReturnOp([self._result(index) for index in range(len(self.outputs))])
        return function

    def _check(self, ops: Sequence[Operation]) -> None:
        known = {id(each.op) for each in self.inputs}
        for each in self.inputs:
            if not isinstance(each.op, PlaceholderOp):
                raise ValueError(f"expected a placeholder as input, but got {each}")
        for op in ops:
            if isinstance(op, PlaceholderOp) and id(op) not in known:
                raise ValueError(
                    f"expected the placeholder '{op.name}' to be an input, since it is read"
                )

    def type_of(self, each: Tensor) -> ir.Type:
        """Return the type of a tensor in kernels."""
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [dim.value if isinstance(dim, IntImm) else dynamic for dim in each.shape]
        return ir.RankedTensorType.get(sizes, kernel_type(each.dtype))

    def _bind(self, block: ir.Block) -> None:
        self._block = block
        self._arguments = list(block.arguments)
        end = len(self.inputs)
        for each, argument in zip(self.inputs, self._arguments, strict=False):
            self._values[id(each.op), each.value_index] = argument
            for axis, dim in enumerate(each.shape):
                if isinstance(dim, Var):
                    self._dims.setdefault(self._key(dim), (argument, axis))
        for variable, argument in zip(self.ints, self._arguments[end:], strict=False):
            self._dims.setdefault(self._key(variable), (argument, None))
        for index, each in enumerate(self.outputs):
            argument = self._arguments[end + len(self.ints) + index]
            self._destinations.setdefault((id(each.op), each.value_index), argument)

    def _key(self, variable: Var) -> Any:
        """Return the key that is equal for variables that are the same one."""
        return variable.name if self._by_name else id(variable)

    def variable(self, variable: Var) -> ir.Value | None:
        """Return the value of a dimension, as an index, computed at the start of the function."""
        key = self._key(variable)
        if key not in self._variables and key in self._dims:
            argument, axis = self._dims[key]
            with ir.InsertionPoint.at_block_begin(self._block):
                if axis is None:
                    value = arith.IndexCastOp(ir.IndexType.get(), argument).result
                else:
                    value = tensor.DimOp(argument, _index(axis)).result
            self._variables[key] = value
        return self._variables.get(key)

    def same(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Say whether two dimensions are proven to be equal."""
        for variable in [*_expr.undefined_vars(a), *_expr.undefined_vars(b)]:
            number = self._numbers.setdefault(self._key(variable), len(self._numbers))
            self._names[variable] = f"v{number}"
        return same_dim(a, b, self._names)

    # -- tensors ------------------------------------------------------------------------------

    def value_of(self, each: Tensor) -> ir.Value:
        """Return the value of a tensor that is written already."""
        return self._values[id(each.op), each.value_index]

    def destination(self, each: Tensor) -> ir.Value:
        """Return the tensor that another one is written into."""
        given = self._destinations.get((id(each.op), each.value_index))
        return self._empty(each) if given is None else given

    def _empty(self, each: Tensor, dtype: ir.Type | None = None) -> ir.Value:
        sizes = [self._emitter.size(dim) for dim in each.shape]
        return tensor.EmptyOp(sizes, dtype or kernel_type(each.dtype)).result

    def size(self, dim: PrimExpr) -> ir.Value:
        """Return a dimension as an index."""
        return self._emitter.index(dim)

    def _result(self, index: int) -> ir.Value:
        """Return the result for an output: the tensor written into it, or a copy."""
        each = self.outputs[index]
        key = id(each.op), each.value_index
        argument = self._arguments[len(self.inputs) + len(self.ints) + index]
        is_written = self._destinations.get(key) == argument
        if is_written and not isinstance(each.op, PlaceholderOp):
            return self._values[key]
        return linalg().copy(self._values[key], outs=[argument])

    # -- operations ---------------------------------------------------------------------------

    def _write(self, op: Operation) -> None:
        if isinstance(op, PlaceholderOp):
            return
        if isinstance(op, ScanOp):
            results = self._scan(op)
        elif isinstance(op, ComputeOp):
            results = self._compute(op)
        else:
            raise ValueError(f"expected placeholder, compute or scan, but got '{op.name}'")
        for index, result in enumerate(results):
            self._values[id(op), index] = result

    def _compute(self, op: ComputeOp) -> list[ir.Value]:
        loops = Loops([*op.axis, *op.reduce_axis], self.same)
        body = [guard_selects(expr, loops.is_inside) for expr in op.body]
        reductions = [expr for expr in body if isinstance(expr, Reduce)]
        own = {id(axis.var) for axis in op.axis}
        if not reductions or _depends(reductions[0].axis, own):
            destinations = [self.destination(each) for each in op.outputs]
            return self._generic(op.axis, [], body, destinations)
        reduction = reductions[0]
        outputs = self._starts(op, reduction)
        results = self._generic(op.axis, reduction.axis, body, outputs)
        return [
            self._rounded(each, result) for each, result in zip(op.outputs, results, strict=True)
        ]

    def _starts(self, op: ComputeOp, reduction: Reduce) -> list[ir.Value]:
        """Return the outputs of a reduction, filled with what it starts with."""
        starts = reduction.init or reduction.combiner.identity_element
        filled = []
        for each, start, result in zip(op.outputs, starts, reduction.combiner.result, strict=True):
            wide = ir.F32Type.get() if _is_summed(each.dtype, result) else None
            output = self.destination(each) if wide is None else self._empty(each, wide)
            if isinstance(start, (IntImm, _expr.FloatImm)):
                value = Emitter().value(start if wide is None else _expr.cast("float32", start))
                filled.append(linalg().fill(value, outs=[output]))
            else:
                filled += self._generic(op.axis, [], [start], [output])
        return filled

    def _rounded(self, each: Tensor, result: ir.Value) -> ir.Value:
        """Return a sum, computed with f32, as a tensor of its own data type."""
        type_ = kernel_type(each.dtype)
        if ir.RankedTensorType(result.type).element_type == type_:
            return result
        identity = ir.AffineMap.get_identity(each.ndim)
        destination = self.destination(each)

        def body(elements: Sequence[ir.Value]) -> list[ir.Value]:
            return [arith.TruncFOp(type_, elements[0]).result]

        kinds = ["parallel"] * each.ndim
        return build_generic([result], [destination], [identity] * 2, kinds, body)[0]

    def _generic(
        self,
        axes: Sequence[IterVar],
        reduced: Sequence[IterVar],
        body: Sequence[PrimExpr],
        outputs: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Write one operation of linalg."""
        loops = Loops([*axes, *reduced], self.same)
        operands: list[tuple[ir.Value, ir.AffineMap]] = []
        uses: dict[int, int] = {}
        in_body = bool(body) and isinstance(body[0], Reduce) and not reduced
        for load, guarded in loads([] if in_body else _parts(body), selects=False):
            map_ = None if guarded else loops.operand_map(load)
            if map_ is None:
                continue
            operand = (self.value_of(load.producer), map_)
            if operand not in operands:
                operands.append(operand)
            uses[id(load)] = operands.index(operand)
        identity = ir.AffineMap.get(
            len(loops.axes), 0, [ir.AffineExpr.get_dim(loop) for loop in range(len(axes))]
        )
        operands += self._window(loops, [*(map_ for _, map_ in operands), identity])
        used = used_vars(body, lambda load: id(load) in uses)

        def write(elements: Sequence[ir.Value]) -> list[ir.Value]:
            emitter = BodyEmitter(self, {load: elements[i] for load, i in uses.items()})
            for loop, axis in enumerate(loops.axes):
                if id(axis.var) in used:
                    index = linalg().IndexOp(loop).result
                    if not is_zero(axis.dom.min):
                        index = arith.AddIOp(index, self.size(axis.dom.min)).result
                    emitter.bind(axis.var, index)
            return self._elements(emitter, body, elements[len(operands) :], bool(reduced))

        inputs, maps = [value for value, _ in operands], [map_ for _, map_ in operands]
        kinds = ["parallel"] * len(axes) + ["reduction"] * len(reduced)
        return build_generic(inputs, outputs, [*maps, *[identity] * len(outputs)], kinds, write)

    def _elements(
        self,
        emitter: BodyEmitter,
        body: Sequence[PrimExpr],
        old: Sequence[ir.Value],
        is_reduced: bool,
    ) -> list[ir.Value]:
        """Return the new elements of the outputs."""
        reductions = [expr for expr in body if isinstance(expr, Reduce)]
        if not reductions:
            return [
                _as_type(emitter.value(expr), element.type)
                for expr, element in zip(body, old, strict=True)
            ]
        first = reductions[0]
        values = emitter.combine(first, old) if is_reduced else emitter.reduce(reductions)
        return [_as_type(value, element.type) for value, element in zip(values, old, strict=True)]

    def _window(
        self, loops: Loops, maps: Sequence[ir.AffineMap]
    ) -> list[tuple[ir.Value, ir.AffineMap]]:
        """Return an operand that is not read, if there are loops whose bounds no other one says."""
        missing = sorted(set(range(len(loops.axes))) - bounded_loops(maps))
        if not missing:
            return []
        sizes = [self._emitter.size(loops.extents[loop]) for loop in missing]
        exprs = [ir.AffineExpr.get_dim(loop) for loop in missing]
        window = tensor.EmptyOp(sizes, ir.F32Type.get()).result
        return [(window, ir.AffineMap.get(len(loops.axes), 0, exprs))]

    # -- scans --------------------------------------------------------------------------------

    def _scan(self, op: ScanOp) -> list[ir.Value]:
        """Write loops over the rows, and in a row over its elements."""
        states = [self.destination(each) for each in op.outputs]
        one = _index(1)
        begin = self.size(op.scan_axis.dom.min)
        end = arith.AddIOp(begin, self.size(op.scan_axis.dom.extent)).result
        for index, first in enumerate(op.init):
            sizes = [self.size(dim) for dim in first.shape]
            copied = functools.partial(_extract, self.value_of(first))
            states[index] = _nest(sizes, one, states[index], copied)
        sizes_of = [[self.size(dim) for dim in update.shape[1:]] for update in op.update]
        loop = scf.ForOp(begin, end, one, states)
        with ir.InsertionPoint(loop.body):
            rows = list(loop.inner_iter_args)
            for index, sizes in enumerate(sizes_of):
                row = [loop.induction_variable]

                def cell(
                    indices: Sequence[ir.Value],
                    state: ir.Value,
                    index: int = index,
                    row: list[ir.Value] = row,
                ) -> ir.Value:
                    states = [*rows[:index], state, *rows[index + 1 :]]
                    return self._cell(op, index, [*row, *indices], states)

                rows[index] = _nest(sizes, one, rows[index], cell, row)
            scf.YieldOp(rows)
        return list(loop.results)

    def _cell(
        self, op: ScanOp, index: int, indices: list[ir.Value], states: list[ir.Value]
    ) -> ir.Value:
        """Return an element of a row."""
        emitter = BodyEmitter(self)
        emitter.inlined = op.inlined()
        emitter.states = {
            id(each): state for each, state in zip(op.state_placeholder, states, strict=True)
        }
        update = op.update[index]
        variables = []
        for axis, place in zip(update.op.axis, indices, strict=True):  # type: ignore[attr-defined]
            variables.append(axis.var)
            emitter.bind(axis.var, place)
        return emitter.element(update, variables)


def _nest(
    sizes: Sequence[ir.Value],
    one: ir.Value,
    output: ir.Value,
    element: Callable[[Sequence[ir.Value], ir.Value], ir.Value],
    outer: Sequence[ir.Value] = (),
    indices: Sequence[ir.Value] = (),
) -> ir.Value:
    """Write loops that insert elements into a tensor, at the outer and their own indices."""
    if not sizes:
        return tensor.InsertOp(element(indices, output), output, [*outer, *indices]).result
    loop = scf.ForOp(_index(0), sizes[0], one, [output])
    with ir.InsertionPoint(loop.body):
        inner = [*indices, loop.induction_variable]
        scf.YieldOp([_nest(sizes[1:], one, loop.inner_iter_args[0], element, outer, inner)])
    return loop.results[0]


def _extract(source: ir.Value, indices: Sequence[ir.Value], _: ir.Value) -> ir.Value:
    return tensor.ExtractOp(source, list(indices)).result


def _index(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), value).result


def _is_summed(dtype: str, result: PrimExpr) -> bool:
    """Say whether floats of 16 bits are rounded with each element of a reduction."""
    if not _expr.is_float(dtype) or _expr.bits(dtype) != 16:
        return False
    return not isinstance(result, (_expr.Min, _expr.Max, Var))


def _depends(axes: Sequence[IterVar], variables: set[int]) -> bool:
    ends = [end for axis in axes for end in (axis.dom.min, axis.dom.extent)]
    return any(
        id(variable) in variables or next(loads_of([end]), None) is not None
        for end in ends
        for variable in [*_expr.undefined_vars(end), Var("none")]
    )


def _parts(body: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return the expressions for each element, without those that count under a condition only."""
    parts: list[PrimExpr] = []
    for expr in body:
        if isinstance(expr, Reduce):
            certain = isinstance(expr.condition, IntImm) and bool(expr.condition)
            parts += expr.source if certain else ()
            parts.append(expr.condition)
        else:
            parts.append(expr)
    return parts


def _as_type(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Return a float, as it is computed with, as one of the type that holds it."""
    if value.type == type_:
        return value
    op = arith.TruncFOp if value.type.width > type_.width else arith.ExtFOp
    return op(type_, value).result


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    location = ir.Location.current
    with ir.Location.name(name, childLoc=location):
        yield


def _reach(each: Tensor) -> list[Tensor]:
    """Return the tensors that a tensor is computed from, with itself."""
    return [tensor_ for op in _sorted([each]) for tensor_ in op.outputs]


def _sorted(tensors: Sequence[Tensor]) -> list[Operation]:
    """Return the operations that tensors come from, each after those that it reads."""
    done: dict[int, Operation] = {}
    stack = [(each.op, False) for each in reversed(tensors)]
    while stack:
        op, is_ready = stack.pop()
        if id(op) in done:
            continue
        if is_ready:
            done[id(op)] = op
        else:
            stack.append((op, True))
            stack.extend((each.op, False) for each in reversed(op.input_tensors))
    return list(done.values())


def unbound_vars(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], by_name: bool = False
) -> list[Var]:
    """Return the variables that are no dimension of an input: those that a kernel has to be given.

    Parameters
    ----------
    inputs, outputs : sequence of Tensor
    by_name : bool
        Whether two variables of one name are the same.
    """

    def key(variable: Var) -> Any:
        return variable.name if by_name else id(variable)

    bound = {key(dim) for each in inputs for dim in each.shape if isinstance(dim, Var)}
    reached = [each for output in outputs for each in _reach(output)]
    for op in _sorted(outputs):
        if isinstance(op, ScanOp):
            reached += [each for update in op.update for each in _reach(update)]
    found: dict[Any, Var] = {}
    for variable in free_vars([*inputs, *reached]):
        if key(variable) not in bound:
            found.setdefault(key(variable), variable)
    return list(found.values())


def build_kernel(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    name: str,
    ints: Sequence[Var] | None = None,
    attrs: Mapping[str, ir.Attribute] | None = None,
    by_name: bool = False,
) -> func.FuncOp:
    """Return tensors as a kernel, outside of any module.

    Parameters
    ----------
    inputs : sequence of Tensor
        The placeholders.
    outputs : sequence of Tensor
    name : str
    ints : sequence of Var, optional
        The integers that the kernel is given; by default `unbound_vars`.
    attrs : mapping of str to mlir.ir.Attribute, optional
    by_name : bool
        Whether two variables of one name are the same.

    Returns
    -------
    mlir.dialects.func.FuncOp
        Its parameters are the inputs, the integers as i64 and the outputs; it returns the outputs.

    Raises
    ------
    ValueError
        If a placeholder is missing, or what is computed cannot be a kernel.
    """
    given = unbound_vars(inputs, outputs, by_name) if ints is None else list(ints)
    location = ir.Location.unknown(current_context())
    with current_context(), location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = Kernel(inputs, given, outputs, by_name).build(kernel_name(name))
        for key, value in (attrs or {}).items():
            function.attributes[key] = value
        try:
            module.operation.verify()
        except ir.MLIRError as error:
            reason = "; ".join(each.message for each in error.error_diagnostics)
            raise ValueError(f"expected '{name}' to be a kernel, but {reason}") from None
        _ext.tidy_kernel(function.operation)
        # The module goes with the last reference to it.
        function.operation.detach_from_parent()
    return function


def create_prim_func(
    ops: Sequence[Any], index_dtype_override: str | None = None, name: str = "main"
) -> func.FuncOp:
    """Return tensors as a kernel.

    Parameters
    ----------
    ops : sequence of Tensor and Var
        Placeholders, the tensors that are the results, and variables that no input gives.
    index_dtype_override : str, optional
        Not needed: indices are of type index.
    name : str

    Returns
    -------
    mlir.dialects.func.FuncOp
        Its parameters are the placeholders, the variables as i64 and the results; it returns the
        results. `BlockBuilder.add_func` takes it.

    Examples
    --------
    >>> from relax_mlir import te
    >>> A = te.placeholder(("n",), name="A")
    >>> B = te.compute(A.shape, lambda i: A[i] + 1, name="B")
    >>> kernel = te.create_prim_func([A, B], name="add_one")
    >>> print(kernel.type)
    (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    """
    tensors = [each for each in ops if isinstance(each, Tensor)]
    ints = [each for each in ops if isinstance(each, Var)]
    others: list[Any] = [each for each in ops if not isinstance(each, (Tensor, Var))]
    if others:
        raise TypeError(f"expected tensors and variables, but got {others[0]!r}")
    inputs = [each for each in tensors if isinstance(each.op, PlaceholderOp)]
    outputs = [each for each in tensors if not isinstance(each.op, PlaceholderOp)]
    if not outputs:
        raise ValueError("expected at least one computed tensor, the result")
    known = {id(variable) for variable in ints}
    for variable in unbound_vars(inputs, outputs):
        if id(variable) not in known:
            raise ValueError(
                f"expected '{variable.name}' in the list, since it is no dimension of an input"
            )
    return build_kernel(inputs, outputs, name, ints)


__all__ = ["build_kernel", "create_prim_func", "unbound_vars"]
