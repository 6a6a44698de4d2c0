# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reverse-mode automatic differentiation of a function of a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from ..._arguments import require_str
from ..._mlir_libs import _relax_mlir as _ext
from ...core.functions import all_global_vars
from ...core.ir import TupleStructInfo
from ...core.ir_module import IRModule
from ...core.variables import walk
from ...dialects import relax as _ops
from ..pass_context import PassContext
from ..python_pass import module_pass
from ..registry import PASSES
from .functions import Functions, has_closures, set_result
from .shapes import is_float
from .structure import as_value
from .sweep import erase_unused, flatten
from .wanted import Place, find_wanted, mark_wanted, take_wanted


@module_pass(opt_level=0)
class Gradient:
    """Add the function that computes a function and its gradients.

    For a function ``main`` it is ``main_adjoint``, with the same parameters. It returns a tuple of
    what ``main`` returns, and of a tuple of the gradients of the parameters.

    The function may have branches, closures, dataflow blocks and calls of other functions of the
    module, also recursive ones. Branches and functions that are called are computed again where
    their gradients are; so is what is between `relax_mlir.op.grad.start_checkpoint` and
    `end_checkpoint`. No gradient flows through `relax_mlir.op.grad.no_grad`. A gradient of an
    operand that was broadcast is summed to its shape, also a symbolic one.

    Parameters
    ----------
    func_name : str
    require_grads : Var, value, str, or sequence of them, optional
        The parameters whose gradients are wanted, or their names; by default all. Values that the
        function computes outside of branches may be among them.
    target_index : int
        Which of the results is differentiated, where the function returns a tuple. It is a tensor
        of rank 0.

    Raises
    ------
    ValueError
        If there is no such function or parameter, if the target is not a float of rank 0, or if
        an operator that the target depends on has no gradient.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     with bb.dataflow():
    ...         y = bb.emit_output(relax.op.sum(relax.op.square(x)))
    ...     _ = bb.emit_func_output(y)
    >>> mod = relax.transform.Gradient("main")(bb.get())
    >>> vm = relax.VirtualMachine(relax.compile(mod))
    >>> value, (gradient,) = vm["main_adjoint"](np.array([1, 2, 3], "float32"))
    >>> print(value.numpy(), gradient.numpy())
    14.0 [2. 4. 6.]
    """

    def __init__(self, func_name: str, require_grads: Any = None, target_index: int = 0) -> None:
        require_str("func_name", func_name)
        self._func_name = func_name
        self._require_grads = require_grads
        self._target_index = target_index

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Add the adjoint of the function."""
        function = mod.functions.get(self._func_name)
        if not isinstance(function, _ops.FuncOp):
            raise ValueError(
                f"Gradient: expected the name of a Relax function, but got {self._func_name!r}"
            )
        wanted = find_wanted(function.operation, self._require_grads)
        functions = Functions(mod)
        adjoint = functions.copy(function, f"{self._func_name}_adjoint")
        mark_wanted(adjoint, wanted)
        adjoint.move_after(function.operation)
        adjoint = _without_closures(mod, adjoint)
        _differentiate(functions, adjoint, wanted, self._target_index)
        return mod


# ------------------------------------------------------------------------------
# What is differentiated
# ------------------------------------------------------------------------------


def _target(result: Any, index: int) -> tuple[Any, Any]:
    """Return the result that is differentiated, and its place in the tuple, if there is one."""
    type_ = result.type
    place = None
    if isinstance(type_, TupleStructInfo):
        if not 0 <= index < len(type_.fields):
            raise ValueError(
                f"Gradient: expected target_index from 0 to {len(type_.fields) - 1}, "
                f"but got {index}"
            )
        place, type_ = index, type_.fields[index]
    elif index != 0:
        raise ValueError(
            f"Gradient: expected target_index 0 for a function of one result, but got {index}"
        )
    if not is_float(type_) or type_.ndim != 0:
        raise ValueError(
            "Gradient: expected a target that is a float tensor of rank 0, such as a loss, but "
            f"got one of type {type_}"
        )
    return type_, place


# ------------------------------------------------------------------------------
# Writing the adjoint
# ------------------------------------------------------------------------------


def _differentiate(
    functions: Functions, adjoint: ir.Operation, wanted: Sequence[Place], target_index: int
) -> None:
    block = adjoint.regions[0].blocks[0]
    was_dataflow = any(isinstance(each, _ops.DataflowOp) for each in block.operations)
    flatten(block)
    *body, end = (each.operation for each in block.operations)
    result = end.operands[0]
    type_, place = _target(result, target_index)
    sources = take_wanted(adjoint, wanted)
    sweep = functions.sweep(sources)
    sweep.mark(body)
    with ir.InsertionPoint(end), adjoint.location:
        seed: Any = op.ones((), type_.dtype)
        if place is not None:
            seed = [seed if i == place else None for i in range(len(result.type.fields))]
        sweep.add(result, seed)
        sweep.run(body)
        gradients = [as_value(sweep.adjoint(value), value) for value in sources]
        if was_dataflow:
            result, gradients = _outputs(block, result, gradients)
        end.operands[0] = op.tuple(result, op.tuple(*gradients))
    _drop_marks(adjoint)
    erase_unused(block, _ext.is_pure)
    set_result(adjoint, end.operands[0].type)


def _drop_marks(adjoint: ir.Operation) -> None:
    """Remove what only says how a function is differentiated."""
    for each in list(walk(adjoint)):
        for name in ("te_grad_name", "te_grad_kwargs"):
            if name in each.attributes:
                del each.attributes[name]
        if each.name in ("relax.start_checkpoint", "relax.end_checkpoint"):
            each.results[0].replace_all_uses_with(each.operands[0])
            each.erase()


def _outputs(block: ir.Block, result: Any, gradients: list[Any]) -> tuple[Any, list[Any]]:
    """Put the operations of a block into a dataflow block, if they may be in one."""
    operations = [each.operation for each in block.operations][:-1]
    may_be = all(
        _ext.is_pure(each) or each.name == "relax.match_cast" for each in operations
    ) and not any(each.name in ("relax.if", "relax.call") for each in operations)
    if not may_be or not operations:
        return result, gradients
    inside = {value for each in operations for value in each.results}
    leaving = [value for value in dict.fromkeys([result, *gradients]) if value in inside]
    made = _ops.DataflowOp([value.type for value in leaving])
    body = made.operation.regions[0].blocks.append()
    with ir.InsertionPoint(body):
        output = _ops.OutputOp(leaving)
    for each in operations:
        each.move_before(output.operation)
    outside = dict(zip(leaving, made.operation.results, strict=True))
    return outside.get(result, result), [outside.get(value, value) for value in gradients]


# ------------------------------------------------------------------------------
# Closures
# ------------------------------------------------------------------------------


def _without_closures(mod: IRModule, adjoint: ir.Operation) -> ir.Operation:
    """Make closures that a function writes or calls functions of the module; return it."""
    name = adjoint.attributes["sym_name"].value
    functions = mod.functions
    reached = _reached(mod, name)
    if not any(has_closures(functions[each].operation) for each in reached):
        return adjoint
    lifted = PASSES["LambdaLift"]()(mod.clone())
    before = set(functions)
    for each in _reached(lifted, name):
        if each == name or each not in before or has_closures(functions[each].operation):
            mod[each] = lifted[each]
    made: ir.Operation = mod[name].operation
    return made


def _reached(mod: IRModule, name: str) -> list[str]:
    """Return the Relax functions that a function refers to, and itself."""
    functions = mod.functions
    found, work = {name: None}, [name]
    while work:
        for each in all_global_vars(functions[work.pop()].operation):
            function = functions.get(each.name)
            if each.name not in found and isinstance(function, _ops.FuncOp):
                found[each.name] = None
                work.append(each.name)
    return list(found)
