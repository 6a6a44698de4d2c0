# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loss behind a model, and gradients of kernels."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from .._arguments import require_str, shown
from ..core.expr import GlobalVar
from ..core.function import Function
from ..core.ir import TupleStructInfo
from ..core.ir_module import FreeFunction, IRModule
from ..core.struct_info import definable_tir_vars_in_struct_info
from ..core.variables import walk
from ..dialects import relax as _ops
from ..transform.gradient import register_te_gradient as register_te_gradient
from ..transform.pass_context import PassContext
from ..transform.python_pass import module_pass


@module_pass(opt_level=0)
class AppendLoss:
    """Add a function that computes a model and then a loss of its results.

    It takes the parameters of the model, then those of the loss that are no results of the model.
    It returns the loss; where the model has more results than the loss takes, such as new states,
    a tuple of the loss and of these.

    Parameters
    ----------
    func_name : str
        The function of the model.
    loss_function : Function or relax.FuncOp
        Its first parameters are the first results of the model.
    num_backbone_outputs : int
        How many of them.
    new_func_name : str, optional
        By default `func_name` with ``_loss``.

    Raises
    ------
    ValueError
        If there is no such function, or its results are none that the loss takes.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from relax_mlir.training import AppendLoss, loss
    >>> pair = relax.TensorStructInfo(("n", 2), "float32")
    >>> x = relax.Var("x", pair)
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("predict", [x]):
    ...     _ = bb.emit_func_output(relax.op.tanh(x))
    >>> mod = AppendLoss("predict", loss.MSELoss()(pair, pair))(bb.get())
    >>> print(mod["predict_loss"].function_type.value)
    (!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[], f32>
    """

    def __init__(
        self,
        func_name: str,
        loss_function: Any,
        num_backbone_outputs: int = 1,
        new_func_name: str | None = None,
    ) -> None:
        require_str("func_name", func_name)
        if not isinstance(loss_function, Function):
            raise TypeError(f"expected a function as loss, but got {shown(loss_function)}")
        self._func_name = func_name
        self._loss = loss_function
        self._count = num_backbone_outputs
        self._new_name = new_func_name or f"{func_name}_loss"

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Add the function."""
        model = mod.functions.get(self._func_name)
        if not isinstance(model, _ops.FuncOp):
            raise ValueError(
                f"AppendLoss: expected the name of a Relax function, but got {self._func_name!r}"
            )
        if self._new_name in mod:
            raise ValueError(
                f"AppendLoss: expected a new name for the function, but got {self._new_name!r}"
            )
        own_name = self._loss.name if isinstance(self._loss, FreeFunction) else "loss"
        name = own_name if own_name not in mod else f"{self._new_name}.{own_name}"
        mod[name] = self._loss
        mod[name].operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        mod[self._new_name] = model
        _append(mod, self._new_name, name, self._count)
        return mod


def _append(mod: IRModule, name: str, loss_name: str, count: int) -> None:
    """Append a loss of the module to a function, and erase it where its body was put there."""
    function, loss = mod[name].operation, mod[loss_name].operation
    if "global_symbol" in function.attributes:
        function.attributes["global_symbol"] = ir.StringAttr.get(name)
    block = function.regions[0].blocks[0]
    *_, end = (each.operation for each in block.operations)
    with ir.InsertionPoint(end), function.location:
        outputs, states = _results(end.operands[0], count)
        params = list(loss.regions[0].blocks[0].arguments)
        if len(params) < count:
            raise ValueError(
                f"AppendLoss: expected a loss of at least {count} parameters, but got {len(params)}"
            )
        targets = [block.add_argument(each.type, function.location) for each in params[count:]]
        _extend_signature(function, loss, count)
        if _may_be_inlined(function, params, outputs):
            value = _inlined(loss, [*outputs, *targets])
            loss.erase()
        else:
            value = op.call(GlobalVar(loss_name), *outputs, *targets)
        end.operands[0] = op.tuple(value, *states) if states else value
    _set_result(function, end.operands[0].type)


def _results(result: Any, count: int) -> tuple[list[Any], list[Any]]:
    """Return the results of a model that a loss takes, and the others."""
    if not isinstance(result.type, TupleStructInfo):
        if count != 1:
            raise ValueError(f"AppendLoss: expected {count} results of the model, but got one")
        return [result], []
    fields = [op.get_item(result, i) for i in range(len(result.type.fields))]
    if len(fields) < count:
        raise ValueError(
            f"AppendLoss: expected at least {count} results of the model, but got {len(fields)}"
        )
    return fields[:count], fields[count:]


def _may_be_inlined(function: ir.Operation, params: list[Any], outputs: list[Any]) -> bool:
    """Say whether the shape variables of a loss mean the same in the function."""
    given = zip(params, outputs, strict=False)
    if any(param.type != output.type for param, output in given):
        return False
    shared = _variables([output.type for output in outputs])
    others = _variables([each.type for each in params]) - shared
    block = function.regions[0].blocks[0]
    own = list(block.arguments)[: len(block.arguments) - len(params) + len(outputs)]
    return not others & _variables([each.type for each in own])


def _variables(types: list[ir.Type]) -> set[str]:
    return {var.name or "" for type_ in types for var in definable_tir_vars_in_struct_info(type_)}


def _inlined(function: ir.Operation, values: list[Any]) -> Any:
    """Insert the body of a function for arguments, and return its result."""
    block = function.regions[0].blocks[0]
    copies: dict[Any, Any] = dict(zip(block.arguments, values, strict=True))
    *body, end = (each.operation for each in block.operations)
    for operation in body:
        made = operation.clone().operation
        for inner in walk(made):
            for i, operand in enumerate(inner.operands):
                if operand in copies:
                    inner.operands[i] = copies[operand]
        copies.update(zip(operation.results, made.results, strict=True))
    return copies[end.operands[0]]


def _extend_signature(function: ir.Operation, loss: ir.Operation, count: int) -> None:
    """Add the parameters of a loss, without its first ones, to the signature of a function."""
    own, other = function.attributes, loss.attributes
    signature = own["function_type"].value
    inputs = [*signature.inputs, *other["function_type"].value.inputs[count:]]
    own["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, list(signature.results)))
    number = len(inputs)
    names = [each.value for each in own["arg_names"]] if "arg_names" in own else []
    if names:
        added = [each.value for each in other["arg_names"]][count:]
        names += [each if each not in names else f"{each}_loss" for each in added]
        own["arg_names"] = ir.ArrayAttr.get([ir.StringAttr.get(each) for each in names[:number]])
    if "arg_dicts" in own:
        kept = [*own["arg_dicts"]]
        kept += [ir.DictAttr.get({})] * (number - len(kept))
        own["arg_dicts"] = ir.ArrayAttr.get(kept)


def _set_result(function: ir.Operation, type_: ir.Type) -> None:
    attributes = function.attributes
    signature = attributes["function_type"].value
    made = ir.FunctionType.get(list(signature.inputs), [type_])
    attributes["function_type"] = ir.TypeAttr.get(made)
