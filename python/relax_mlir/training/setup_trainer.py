# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module that trains, made of one that predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..core.constants import elements_attr
from ..core.expr import Var
from ..core.ir import TupleStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from ..transform.gradient import Gradient
from ..transform.pass_context import PassContext
from ..transform.python_pass import module_pass
from ..transform.registry import PASSES
from ..transform.signatures import param_names, params_of
from .loss import Loss
from .optimizer import Optimizer
from .utils import AppendLoss

# The functions of a module that trains.
BACKBONE_FUNC = "backbone"
BACKBONE_LOSS_FUNC = "backbone_loss"
ADJOINT_FUNC = "backbone_loss_adjoint"
OPTIMIZER_FUNC = "optimizer"


@module_pass(opt_level=0)
class SetupTrainer:
    """Add to a module with a function ``backbone`` all that `Trainer` needs.

    The parameters of ``backbone`` are the instances, then the parameters that are trained, then
    states such as the moving means of `batch_norm`. The attributes ``param_num`` and ``state_num``
    of the module say how many. It returns the predictions, and after them the new states.

    The module gets

    - ``backbone_loss``: the parameters of ``backbone``, then the targets, to the loss, and the
      states;
    - ``backbone_loss_adjoint``: the same parameters, to the results of ``backbone_loss`` and the
      gradients of the parameters that are trained;
    - ``optimizer``: parameters, gradients and the state of the optimizer, to new parameters and a
      new state;
    - the attributes ``input_num``, and ``optim_state``: the state before the first step.

    In ``backbone``, `batch_norm` uses the moving means, in the others those of the batch.

    Parameters
    ----------
    loss : Loss
    optimizer : Optimizer
    loss_args : sequence of StructInfo
        The types of predictions and targets.
    legalize : bool
        Whether operators become kernels at once. They do when the module is compiled.

    Raises
    ------
    ValueError
        If the module is none as described.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from mlir import ir
    >>> from relax_mlir.training import SetupTrainer, loss, optimizer
    >>> bb = relax.BlockBuilder()
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    >>> w = relax.Var("w", relax.TensorStructInfo((4, 2), "float32"))
    >>> with bb.function("backbone", [x, w]):
    ...     _ = bb.emit_func_output(relax.op.matmul(x, w))
    >>> mod = bb.get()
    >>> for name, number in {"param_num": 1, "state_num": 0}.items():
    ...     mod.set_attr(name, ir.Attribute.parse(f"{number} : i64", mod.context))
    >>> pair = relax.TensorStructInfo(("n", 2), "float32")
    >>> made = SetupTrainer(loss.MSELoss(), optimizer.SGD(0.1), [pair, pair], legalize=False)(mod)
    >>> list(made)
    ['backbone', 'backbone_loss', 'backbone_loss_adjoint', 'number_of_elements', 'optimizer']
    """

    def __init__(
        self, loss: Loss, optimizer: Optimizer, loss_args: Sequence[Any], legalize: bool = True
    ) -> None:
        for what, value, class_ in (("loss", loss, Loss), ("optimizer", optimizer, Optimizer)):
            if not isinstance(value, class_):
                raise TypeError(f"expected {what} to be of {class_.__name__}, but got {value!r}")
        if not isinstance(loss_args, (list, tuple)):
            raise TypeError(f"expected a list of types as loss_args, but got {loss_args!r}")
        self._loss = loss
        self._optimizer = optimizer
        self._loss_args = loss_args
        self._legalize = legalize

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Add the functions and attributes."""
        param_num, state_num = _numbers(mod)
        loss: Any = self._loss
        append_loss: Any = AppendLoss(
            BACKBONE_FUNC,
            loss(*self._loss_args),
            loss.num_backbone_outputs,
            BACKBONE_LOSS_FUNC,
        )
        mod = append_loss(mod)
        _set_training(mod[BACKBONE_FUNC].operation, False)
        _set_training(mod[BACKBONE_LOSS_FUNC].operation, True)
        trained = mod[BACKBONE_LOSS_FUNC].operation
        params = params_of(mod[BACKBONE_FUNC].operation)
        input_num = len(params) - param_num - state_num
        names = param_names(trained)
        variables = [Var(names[i], params[i].type) for i in range(input_num, input_num + param_num)]
        gradient: Any = Gradient(BACKBONE_LOSS_FUNC, variables)
        mod = gradient(mod)
        mod[OPTIMIZER_FUNC] = self._optimizer.init(variables).get_function()
        integer = ir.IntegerType.get_signless(64)
        mod.set_attr("input_num", ir.IntegerAttr.get(integer, input_num))
        state = [elements_attr(each) for each in self._optimizer.state]
        mod.set_attr("optim_state", ir.ArrayAttr.get(state))
        return PASSES["LegalizeOps"]()(mod) if self._legalize else mod


def _numbers(mod: IRModule) -> tuple[int, int]:
    """Return how many parameters and states the model has."""
    model = mod.functions.get(BACKBONE_FUNC)
    if not isinstance(model, _ops.FuncOp):
        known = ", ".join(mod) or "none"
        raise ValueError(
            f"SetupTrainer: expected a function named 'backbone' in the module, but got {known}"
        )
    param_num, state_num = (_number(mod, key) for key in ("param_num", "state_num"))
    operation = model.operation
    count = len(operation.regions[0].blocks[0].arguments)
    if param_num + state_num > count:
        raise ValueError(
            f"SetupTrainer: expected at least {param_num + state_num} parameters of 'backbone', "
            f"as param_num and state_num say, but got {count}"
        )
    result = operation.attributes["function_type"].value.results[0]
    fields = len(result.fields) if isinstance(result, TupleStructInfo) else 1
    if state_num and fields <= state_num:
        raise ValueError(
            f"SetupTrainer: expected 'backbone' to return predictions and {state_num} states, but "
            f"it returns {result}"
        )
    return param_num, state_num


def _number(mod: IRModule, key: str) -> int:
    attribute = mod.attrs.get(key)
    if not isinstance(attribute, ir.IntegerAttr) or attribute.value < 0:
        raise ValueError(
            f"SetupTrainer: expected the integer attribute '{key}' of the module, but got "
            f"{attribute}; set it by IRModule.set_attr"
        )
    return int(attribute.value)


def _set_training(function: ir.Operation, is_training: bool) -> None:
    """Have batch normalization use the means of the batch, or else the moving ones."""
    for each in walk(function):
        if each.name == "relax.batch_norm":
            each.attributes["training"] = ir.BoolAttr.get(is_training)
