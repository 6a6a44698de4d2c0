# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding: what depends on constants alone is computed once, by the program itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..builder.block_builder import BlockBuilder
from ..core.constants import stored_as, tensor_attr
from ..core.expr import build
from ..core.expr import tuple as tuple_
from ..core.ir import TensorStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from ..op._ops_gen import CONVOLUTIONS
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import symbol

# Compiles a module and calls a function of it: `relax_mlir.driver`, which runs passes, sets it.
compile_and_call: Any = None

# A result may be twice as large as what it is computed of, as integers of 16 bits made of 8 are,
# and larger by this many bytes: a broadcast of one number to the size of a model is better done
# when the program runs.
MAX_GROWTH = 4096

# The function that computes the constants, which has the name of no kernel.
_FOLDED = "folded.constants"
_CALL_TIR = "relax.call_tir"
# Pure operations that are not computations on tensors, besides that one.
_NOT_COMPUTED = (
    "relax.call",
    "relax.builtin.",
    "relax.hint_on_device",
    "relax.to_vdevice",
    # What workers exchange is known when they run.
    "relax.allgather",
    "relax.allreduce",
    "relax.annotate_sharding",
    "relax.broadcast_from_worker0",
    "relax.redistribute",
    "relax.redistribute_replica_to_shard",
    "relax.scatter_from_worker0",
)


@module_pass(opt_level=0)
class FoldConstant:
    """Compute what depends on constants alone, and put constants in its place.

    Folded operations are compiled and run, so they have the values that the program would compute.
    Results that are more than twice as large as what they are computed of, and by more than 4 KiB,
    are left alone, and so are calls, but for `call_tir` of a kernel with one result.

    Examples
    --------
    >>> from relax_mlir.transform import FoldConstant
    >>> mod = FoldConstant()('''
    ... relax.func @main(%x: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 3], f32> {
    ...   %0 = relax.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
    ...   %1 = relax.permute_dims %0 : (!relax.tensor<[3, 2], f32>) -> !relax.tensor<[2, 3], f32>
    ...   %2 = relax.matmul %x, %1 : (!relax.tensor<[n, 2], f32>, !relax.tensor<[2, 3], f32>) -> !relax.tensor<[n, 3], f32>
    ...   relax.return %2 : !relax.tensor<[n, 3], f32>
    ... }''')
    >>> "permute_dims" in str(mod)
    False
    """  # noqa: E501 (the lines of MLIR)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Fold in each function of the module."""
        fold_constants(mod.module)
        return mod


def fold_constants(module: ir.Module) -> None:
    """Fold the constants of a module, which is changed.

    Parameters
    ----------
    module : mlir.ir.Module
    """
    found = [
        group
        for op in module.body.operations
        if isinstance(op, _ops.FuncOp)
        for group in [_Group(op.operation)]
        if group.results
    ]
    if not found:
        return
    values = iter(_compute(module.context, found))
    for group in found:
        group.replace(values)


def constant_values(values: Iterable[ir.Value]) -> dict[ir.Value, np.ndarray]:
    """Return the elements of values that are computed of constants; nothing is changed.

    Parameters
    ----------
    values : iterable of mlir.ir.Value
        Tensors of data types that NumPy has. `is_computed_of_constants` holds of each.
    """
    wanted = list(dict.fromkeys(values))
    if not wanted:
        return {}
    computed = _compute(wanted[0].context, [_Computation(wanted)])
    return {value: np.from_dlpack(found) for value, found in zip(wanted, computed, strict=True)}


class _Computation:
    """The operations that values are computed by.

    Attributes
    ----------
    ops : list of mlir.ir.Operation
        The operations to compute, constants too, in order.
    results : list of mlir.ir.Value
    """

    def __init__(self, results: Sequence[ir.Value]) -> None:
        self.results = list(results)
        self.ops = list(self._needed())

    def _needed(self) -> Iterator[ir.Operation]:
        seen: set[ir.Value] = set()

        def visit(value: ir.Value) -> Iterator[ir.Operation]:
            if value not in seen:
                seen.add(value)
                op = value.owner
                for operand in op.operands:
                    yield from visit(operand)
                yield op

        for result in self.results:
            yield from visit(result)


class _Group(_Computation):
    """The operations of a function that are folded; the results are those that others use."""

    def __init__(self, function: ir.Operation) -> None:
        self._known: set[ir.Value] = set()
        self._folded: list[ir.Operation] = []
        for op in walk(function):
            if _is_constant(op):
                self._known.add(op.results[0])
            elif all(operand in self._known for operand in op.operands) and _is_foldable(op):
                self._known.add(op.results[0])
                self._folded.append(op)
        folded = {op.results[0] for op in self._folded}
        super().__init__(
            [
                op.results[0]
                for op in self._folded
                if any(not _defines(use.owner, folded) for use in op.results[0].uses)
            ]
        )

    def replace(self, values: Iterator[Any]) -> None:
        """Put constants in the place of the results; erase what nobody uses then."""
        for result in self.results:
            with ir.InsertionPoint(result.owner), result.owner.location:
                result.replace_all_uses_with(build(_ops.ConstantOp, tensor_attr(next(values))))
        for op in reversed(self.ops):
            if not list(op.results[0].uses):
                op.erase()


def _is_constant(op: ir.Operation) -> bool:
    if op.name == "relax.shape":
        values = op.results[0].type.values
        return values is not None and all(value.value is not None for value in values)
    if op.name == "relax.prim_value":  # a number, or an expression over shape variables
        return isinstance(op.attributes["value"], (ir.IntegerAttr, ir.FloatAttr))
    return op.name == "relax.constant"


def _byte_size(type_: ir.Type) -> int | None:
    """Return the size of a tensor; None where it is not known, or not a tensor."""
    if not isinstance(type_, TensorStructInfo) or type_.shape is None or type_.dtype is None:
        return None
    dims = [dim.value for dim in type_.shape if dim.value is not None]
    if len(dims) < len(type_.shape):
        return None
    return int(np.prod(dims, dtype=np.int64)) * np.dtype(stored_as(type_.dtype)).itemsize


def _is_foldable(op: ir.Operation) -> bool:
    if len(op.results) != 1 or len(op.regions) or not op.name.startswith("relax."):
        return False
    if op.name == _CALL_TIR:
        if not _calls_known_kernel(op):
            return False
    elif op.name.startswith(_NOT_COMPUTED):
        return False
    if not _ext.is_pure(op):
        return False
    size = _byte_size(op.results[0].type)
    given = [_byte_size(operand.type) for operand in op.operands]
    known = [bytes_ for bytes_ in given if bytes_ is not None]
    most = math.inf if _is_unpacked(op) else 2 * sum(known) + MAX_GROWTH
    return size is not None and bool(known) and size <= most


def _is_unpacked(op: ir.Operation) -> bool:
    """Say whether an operation makes floats of weights that only convolutions read.

    Their kernels want weights in another layout, and do not unpack any.
    """
    return op.name == "relax.dequantize" and all(
        use.owner.operation.name in CONVOLUTIONS for use in op.results[0].uses
    )


def _calls_known_kernel(call: ir.Operation) -> bool:
    """Say whether the kernel that a `call_tir` calls is known, and calls no others."""
    kernel = symbol(call, call.attributes["callee"].value)
    if kernel is None or not list(kernel.regions[0].blocks):
        return False
    return all(inner.name != "func.call" for inner in walk(kernel))


def is_computed_of_constants(value: ir.Value) -> bool:
    """Say whether a value is a constant or can be folded into one.

    Parameters
    ----------
    value : mlir.ir.Value
    """
    op = value.owner
    if not isinstance(op, (ir.Operation, ir.OpView)):
        return False
    op = op.operation
    if _is_constant(op):
        return True
    return all(map(is_computed_of_constants, op.operands)) and _is_foldable(op)


def _defines(op: Any, values: set[ir.Value]) -> bool:
    return len(op.results) == 1 and op.results[0] in values


def _compute(context: ir.Context, groups: Sequence[_Computation]) -> list[Any]:
    """Compile a function that returns all the results, and call it."""
    with context:
        builder = BlockBuilder(context)
        calls = (op for group in groups for op in group.ops if op.name == _CALL_TIR)
        for name, call in {call.attributes["callee"].value: call for call in calls}.items():
            builder.add_func(symbol(call, name), name)
        with builder.function(_FOLDED, []):
            copies: dict[ir.Value, ir.Value] = {}
            results = []
            for group in groups:
                for op in group.ops:
                    copy = op.clone()
                    for i, operand in enumerate(op.operands):
                        copy.operands[i] = copies[operand]
                    copies[op.results[0]] = copy.results[0]
                results += [copies[result] for result in group.results]
            builder.emit_func_output(tuple_(*results))
        with PassContext():  # whoever watches passes has no interest in these
            return list(compile_and_call(builder.get(), _FOLDED))
