# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has kernels take their arguments as calls pass them.

``relax.call_tir`` passes tensors, then integers, then outputs. TVM's tensor programs take integers
last, which only a call can tell from the other order, and may take a tensor without saying of which
shape and data type.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import func

from ..core.ir import ShapeStructInfo, TensorStructInfo, TupleStructInfo
from ..core.variables import walk
from .emit import kernel_type
from .kernel import HANDLE

_CALLS = ("relax.call_tir", "relax.call_tir_inplace")


def fit_kernels(module: ir.Module) -> None:
    """Reorder and type the parameters of kernels, as calls in the module pass arguments.

    Kernels that no call fits stay as they are, for verification to report.

    Parameters
    ----------
    module : mlir.ir.Module
    """
    kernels = {
        op.operation.attributes["sym_name"].value: op
        for op in module.body.operations
        if isinstance(op, func.FuncOp)
    }
    fitted: set[str] = set()
    for call in walk(module.operation, skip=lambda op: op.name == "func.func"):
        if call.name not in _CALLS:
            continue
        name = call.attributes["callee"].value
        kernel = kernels.get(name)
        if kernel is None or name in fitted or not list(kernel.regions[0].blocks):
            continue
        fitted.add(name)
        with module.context:
            _fit(kernel, call)


def _tensors(types: Sequence[ir.Type]) -> list[ir.Type]:
    """Return types with the fields of tuples in their place."""
    tensors = []
    for type_ in types:
        tensors += _tensors(type_.fields) if isinstance(type_, TupleStructInfo) else [type_]
    return tensors


def _fit(kernel: func.FuncOp, call: ir.Operation) -> None:
    view = call.opview
    inputs = _tensors([arg.type for arg in view.args])
    integers = view.packed_ints
    count = 0
    if integers is not None:
        if not isinstance(integers.type, ShapeStructInfo) or integers.type.ndim < 0:
            return
        count = integers.type.ndim
    outputs = _tensors([view.result.type])
    if call.name == "relax.call_tir_inplace":
        outputs = [
            type_ for type_, i in zip(outputs, view.inplace_indices, strict=False) if i == -1
        ]
    block = kernel.regions[0].blocks[0]
    if len(block.arguments) != len(inputs) + count + len(outputs):
        return
    if count and outputs and _integers_last(block, count, len(inputs)):
        first, last = len(inputs), len(inputs) + len(outputs)
        order = [*range(first), *range(last, last + count), *range(first, last)]
        _reorder(kernel, order)
    _set_types(kernel, [*inputs, *[None] * count, *outputs])


def _integers_last(block: ir.Block, count: int, inputs: int) -> bool:
    """Say whether integers come after all buffers, and not where a call passes them."""
    types = [argument.type for argument in block.arguments]
    last = types[len(types) - count :]
    others = types[: len(types) - count]
    return all(isinstance(type_, ir.IntegerType) for type_ in last) and not any(
        isinstance(type_, ir.IntegerType) for type_ in others[inputs:]
    )


def _reorder(kernel: func.FuncOp, order: Sequence[int]) -> None:
    """Put parameters in another order."""
    block = kernel.regions[0].blocks[0]
    old = list(block.arguments)
    for position in order:
        argument = block.add_argument(old[position].type, old[position].location)
        old[position].replace_all_uses_with(argument)
    for _ in old:
        block.erase_argument(0)
    if "arg_attrs" in kernel.attributes:
        attrs = kernel.attributes["arg_attrs"]
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([attrs[i] for i in order])
    _update_type(kernel)


def _set_types(kernel: func.FuncOp, types: Sequence[ir.Type | None]) -> None:
    """Give the parameters that no buffer is matched with the types of tensors that are passed."""
    block = kernel.regions[0].blocks[0]
    for argument, type_ in zip(block.arguments, types, strict=True):
        if str(argument.type) != HANDLE or not isinstance(type_, TensorStructInfo):
            continue
        if type_.shape is None or type_.dtype is None:
            continue
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [dynamic if dim.value is None else dim.value for dim in type_.shape.dims]
        argument.set_type(ir.MemRefType.get(sizes, kernel_type(type_.dtype), loc=argument.location))
    _update_type(kernel)


def _update_type(kernel: func.FuncOp) -> None:
    inputs = [argument.type for argument in kernel.regions[0].blocks[0].arguments]
    results = list(kernel.attributes["function_type"].value.results)
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
