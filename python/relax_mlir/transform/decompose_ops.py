# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations as elementwise operations and means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir_module import IRModule
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dims_of, dtype_of, rewrite_operations

_Decompose = Callable[[ir.Operation], "ir.Value | None"]


@module_pass(opt_level=0)
class DecomposeOpsForInference:
    """Compute `batch_norm` by elementwise operations, of the moving mean and variance.

    That is what it means once a model is trained, so ``training`` is ignored; the moving
    statistics stay as they are.

    Parameters
    ----------
    func_name : str, optional
        The function to do that in; by default all of the module.

    Raises
    ------
    ValueError
        If the module has no such function.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import DecomposeOpsForInference
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> one = np.ones(2, "float32")
    >>> with bb.function("main", [x]):
    ...     y = relax.op.nn.batch_norm(x, one, one, one, one, axis=1)
    ...     _ = bb.emit_func_output(y[0])
    >>> mod = DecomposeOpsForInference("main")(bb.get())
    >>> "relax.batch_norm" in str(mod), "relax.sqrt" in str(mod)
    (False, True)
    """

    def __init__(self, func_name: str | None = None) -> None:
        self._func_name = func_name

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Decompose the operations of the function, or of all."""
        _decompose(mod, self._func_name, {"relax.batch_norm": _batch_norm_of_moving})
        return mod


@module_pass(opt_level=0)
class DecomposeOpsForTraining:
    """Compute `batch_norm` and `layer_norm` by elementwise operations, means and variances.

    All of these have gradients. A `batch_norm` has the mean and variance of its data, and makes
    new moving ones, but with ``training=False`` those that it is given.

    Parameters
    ----------
    func_name : str, optional
        The function to do that in; by default all of the module.

    Raises
    ------
    ValueError
        If the module has no such function.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import DecomposeOpsForTraining
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> one = np.ones(2, "float32")
    >>> with bb.function("main", [x]):
    ...     y = relax.op.nn.layer_norm(x, one, one, axes=-1)
    ...     _ = bb.emit_func_output(y)
    >>> mod = DecomposeOpsForTraining()(bb.get())
    >>> "relax.layer_norm" in str(mod), "relax.variance" in str(mod)
    (False, True)
    """

    def __init__(self, func_name: str | None = None) -> None:
        self._func_name = func_name

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Decompose the operations of the function, or of all."""
        rules = {"relax.batch_norm": _batch_norm_for_training, "relax.layer_norm": _layer_norm}
        _decompose(mod, self._func_name, rules)
        return mod


def _decompose(mod: IRModule, func_name: str | None, rules: Mapping[str, _Decompose]) -> None:
    functions = {
        name: function.operation
        for name, function in mod.functions.items()
        if isinstance(function, _ops.FuncOp)
    }
    if func_name is not None and func_name not in functions:
        known = ", ".join(functions) or "none"
        raise ValueError(
            f"expected the name of a Relax function of the module ({known}), but got {func_name!r}"
        )
    for function in functions.values() if func_name is None else [functions[func_name]]:
        rewrite_operations(function, rules, lambda found: rules[found.name](found))


def _batch_norm_of_moving(norm: ir.Operation) -> ir.Value | None:
    _, _, _, mean, variance = norm.operands
    result = _normalized_over(norm, [_axis(norm)], mean, variance)
    return None if result is None else op.tuple(result, mean, variance)


def _batch_norm_for_training(norm: ir.Operation) -> ir.Value | None:
    if not _attribute(norm, "training", True):
        return _batch_norm_of_moving(norm)
    data, _, _, old_mean, old_variance = norm.operands
    dims, dtype = dims_of(data), dtype_of(data)
    if dims is None or dtype is None:
        return None
    axes = [axis for axis in range(len(dims)) if axis != _axis(norm)]
    mean, variance = op.mean(data, axes), op.variance(data, axes)
    result = _normalized_over(norm, [_axis(norm)], mean, variance)
    momentum = _attribute(norm, "momentum", 0.1)

    def moved(old: ir.Value, new: ir.Value) -> ir.Value:
        kept = op.multiply(const(1 - momentum, dtype), old)
        return op.add(kept, op.multiply(const(momentum, dtype), new))

    return op.tuple(result, moved(old_mean, mean), moved(old_variance, variance))


def _normalized_over(
    norm: ir.Operation, axes: list[int], mean: ir.Value, variance: ir.Value
) -> ir.Value | None:
    """Return data that are normalized by vectors along some axes; None where they are unknown."""
    dims = dims_of(norm.operands[0])
    if dims is None or dtype_of(norm.operands[0]) is None:
        return None
    others = [axis for axis in range(len(dims)) if axis not in axes]

    def along(vector: ir.Value) -> ir.Value:
        return op.expand_dims(vector, others) if others else vector

    return _normalized(norm, lambda: along(mean), lambda: along(variance), along)


def _layer_norm(norm: ir.Operation) -> ir.Value | None:
    data = norm.operands[0]
    if dims_of(data) is None or dtype_of(data) is None:
        return None
    axes = list(norm.attributes["axes"])
    return _normalized(
        norm,
        lambda: op.mean(data, axes, keepdims=True),
        lambda: op.variance(data, axes, keepdims=True),
        lambda weight: weight,
    )


def _normalized(
    norm: ir.Operation,
    mean: Callable[[], ir.Value],
    variance: Callable[[], ir.Value],
    broadcast: Callable[[ir.Value], ir.Value],
) -> ir.Value:
    """Write ``(data - mean) / sqrt(variance + epsilon) * gamma + beta``, in this order."""
    data, gamma, beta = list(norm.operands)[:3]
    result = op.subtract(data, mean())
    spread = op.add(variance(), const(_attribute(norm, "epsilon", 1e-5), dtype_of(data)))
    result = op.divide(result, op.sqrt(spread))
    if _attribute(norm, "scale", True):
        result = op.multiply(result, broadcast(gamma))
    return op.add(result, broadcast(beta)) if _attribute(norm, "center", True) else result


def _axis(norm: ir.Operation) -> int:
    axis: int = norm.attributes["axis"].value
    return axis % len(dims_of(norm.operands[0]) or (None,))


def _attribute(found: ir.Operation, name: str, default: Any) -> Any:
    return found.attributes[name].value if name in found.attributes else default
