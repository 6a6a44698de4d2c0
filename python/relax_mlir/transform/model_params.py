# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of a model as one parameter: a tuple."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from .._arguments import shown
from ..core.expr import tuple as tuple_
from ..core.ir import TupleStructInfo
from ..core.ir_module import IRModule
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import (
    calls_of,
    erase_params,
    insert_param,
    is_value,
    name_of,
    num_input,
    param_names,
    params_of,
    relax_functions,
    replace_call,
    set_signature,
    unique_name,
)


@module_pass(opt_level=1)
class BundleModelParams:
    """Take the weights of a model as one parameter: a tuple.

    Changes functions with the attribute ``num_input``, which says how many of the first parameters
    are inputs; the others are weights. The calls of such a function in the module pass a tuple. A
    function that is used as a value stays as it is.

    Parameters
    ----------
    param_tuple_name : str, optional
        The name of the parameter, by default "model_params".

    Examples
    --------
    >>> from relax_mlir.transform import BundleModelParams
    >>> mod = BundleModelParams()('''
    ... relax.func @main(%x: !relax.object, %v: !relax.object, %w: !relax.object) -> !relax.object
    ...     attributes {num_input = 1 : i64} {
    ...   relax.return %w : !relax.object
    ... }''')
    >>> [str(param.struct_info) for param in mod["main"].params]
    ['!relax.object', '!relax.tuple<!relax.object, !relax.object>']
    """

    def __init__(self, param_tuple_name: str | None = None) -> None:
        if param_tuple_name is not None and not isinstance(param_tuple_name, str):
            raise TypeError(f"expected the name of a parameter, but got {shown(param_tuple_name)}")
        self._name = param_tuple_name or "model_params"

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions and their calls."""
        for function in relax_functions(mod.module):
            inputs = num_input(function)
            if inputs is None or is_value(mod.module, name_of(function)):
                continue
            bundle_params(function, inputs, self._name)
            for call in calls_of(mod.module, name_of(function)):
                arguments = list(call.operands)
                with ir.InsertionPoint(call), call.location:
                    bundled = tuple_(*arguments[inputs:])
                replace_call(call, [*arguments[:inputs], bundled])
        return mod


def bundle_params(function: ir.Operation, inputs: int, name: str) -> None:
    """Take the parameters behind the first ones as a tuple.

    Parameters
    ----------
    function : mlir.ir.Operation
        Its calls stay as they are.
    inputs : int
        The number of parameters that stay.
    name : str
        The name of the tuple, which gets a number where it is taken.
    """
    names = param_names(function)
    weights = params_of(function)[inputs:]
    kept = names[:inputs]
    unique = unique_name(name, kept)
    type_ = TupleStructInfo([weight.type for weight in weights])
    bundle = insert_param(function, unique, type_)
    for place, weight in enumerate(params_of(function)[inputs:-1]):
        take_item(weight, bundle, place, names[inputs + place])
    erase_params(function, range(inputs, len(names)))
    set_signature(function, [*kept, unique])


def take_item(value: ir.Value, bundle: ir.Value, place: int, name: str) -> None:
    """Use a field of a tuple in the place of a value, taken before its first use."""
    first = common_place(use.owner.operation for use in value.uses)
    if first is None:
        return
    loc = ir.Location.name(name, childLoc=first.location) if name else first.location
    with ir.InsertionPoint(first), loc:
        value.replace_all_uses_with(_ops.GetItemOp(bundle, place).result)


def common_place(ops: Iterable[ir.Operation]) -> ir.Operation | None:
    """Return the operation before which something is made that some operations use.

    Parameters
    ----------
    ops : iterable of mlir.ir.Operation

    Returns
    -------
    mlir.ir.Operation or None
        The first of them, or what holds it, in the innermost block that is around all of them.
        None where there are none.
    """
    paths = [_path(op) for op in ops]
    if not paths:
        return None
    depth = 0
    while all(len(path) > depth + 1 for path in paths) and _is_one_block(paths, depth + 1):
        depth += 1
    # A closure captures nothing of the dataflow block that it is in.
    while depth > 0 and _is_captured(paths, depth):
        depth -= 1
    first: ir.Operation = paths[0][depth]
    for path in paths[1:]:
        if path[depth] != first and path[depth].is_before_in_block(first):
            first = path[depth]
    return first


def _is_one_block(paths: list[list[ir.Operation]], depth: int) -> bool:
    return all(path[depth].block == paths[0][depth].block for path in paths)


def _is_captured(paths: list[list[ir.Operation]], depth: int) -> bool:
    """Say whether what is made in a dataflow block would be used by closures in it."""
    is_dataflow = paths[0][depth - 1].name == "relax.dataflow"
    return is_dataflow and any(
        op.name == "relax.closure" for path in paths for op in path[depth:-1]
    )


def _path(op: ir.Operation) -> list[ir.Operation]:
    """Return the operations around an operation, from its function inwards, and itself."""
    path = [op]
    while path[-1].parent.operation.name != "relax.func":
        path.append(path[-1].parent.operation)
    return path[::-1]
