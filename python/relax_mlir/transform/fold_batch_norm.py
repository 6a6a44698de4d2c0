# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalization after a convolution becomes part of its weights."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.dtypes import is_numpy
from ..core.expr import const
from ..core.ir import TensorStructInfo
from ..core.ir_module import IRModule
from ..core.variables import defining_op, walk
from ..dialects import relax as _ops
from .fold_constant import is_computed_of_constants
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import has_one_use


@module_pass(opt_level=0)
class FoldBatchnormToConv2D:
    """Scale the weights of a convolution instead of the channels of its result.

    This is so for `batch_norm` with ``training=False``, and for products with one number for each
    channel, which is what batch normalization is in programs of PyTorch, where everything but the
    data depends on constants alone. What is added to channels stays: it is a bias then. The
    weights are computed when constants are folded, see `FoldConstant`.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import FoldBatchnormToConv2D
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 3, 8, 8), "float32"))
    >>> weight, ones = np.ones((4, 3, 3, 3), "float32"), np.ones(4, "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = relax.op.nn.conv2d(x, relax.op.const(weight))
    ...     norm = relax.op.nn.batch_norm(y, ones, ones, ones, ones, axis=1, training=False)
    ...     _ = bb.emit_func_output(norm[0])
    >>> "batch_norm" in str(FoldBatchnormToConv2D()(bb.get()))
    False
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Fold in each function of the module."""
        fold_batch_norms(mod.module)
        return mod


def fold_batch_norms(module: ir.Module) -> None:
    """Fold the batch normalization in a module, which is changed.

    Parameters
    ----------
    module : mlir.ir.Module
    """
    for function in module.body.operations:
        if not isinstance(function, _ops.FuncOp):
            continue
        for found in list(walk(function.operation)):
            if found.name == "relax.batch_norm":
                _fold_batch_norm(found.opview)
            elif found.name == "relax.multiply":
                _fold_product(found.opview)


class _Convolution:
    """A convolution by constants whose result has one use, and what is added to its channels."""

    def __init__(self, conv: Any, bias: ir.Value | None, channel: int, last: ir.Operation) -> None:
        self.conv, self.bias, self.channel, self.last = conv, bias, channel, last

    @staticmethod
    def find(value: ir.Value) -> _Convolution | None:
        """Return the operation that computes a value; None where it is anything else."""
        owner = defining_op(value)
        if owner is None or not has_one_use(value):
            return None
        if owner.name == "relax.conv2d":
            conv = owner.opview
            data_layout = _attribute(conv, "data_layout", "NCHW")
            type_ = value.type
            if (
                not _is_float(type_)
                or conv.weight.type.dtype != type_.dtype
                or conv.data.type.dtype != type_.dtype
                or not is_computed_of_constants(conv.weight)
            ):
                return None
            channel = _attribute(conv, "out_layout", data_layout).index("C")
            return _Convolution(conv, None, channel, owner)
        if owner.name != "relax.add":
            return None
        for this, other in ((0, 1), (1, 0)):
            inner = _Convolution.find(owner.operands[this])
            bias = owner.operands[other]
            if inner and inner.bias is None and inner.is_of_channels(bias):
                return _Convolution(inner.conv, bias, inner.channel, owner)
        return None

    @property
    def channels(self) -> int | None:
        layout = _attribute(self.conv, "kernel_layout", "OIHW")
        size: int | None = self.conv.weight.type.shape[layout.index("O")].value
        return size

    def is_of_channels(self, value: ir.Value) -> bool:
        """Tell whether a value has one number for each channel, and is computed of constants."""
        type_ = value.type
        if not _is_float(type_) or type_.dtype != self.conv.result.type.dtype:
            return False
        if type_.shape is None or not is_computed_of_constants(value):
            return False
        dims = [1] * (4 - len(type_.shape)) + [dim.value for dim in type_.shape]
        wanted: list[int | None] = [1, 1, 1, 1]
        wanted[self.channel] = self.channels
        return dims == wanted

    def scaled(self, scale: ir.Value) -> ir.Value:
        """Return the value that it has with `scale`, a number for each channel."""
        layout = _attribute(self.conv, "kernel_layout", "OIHW")
        dims = [1, 1, 1, 1]
        dims[layout.index("O")] = -1
        weight = op.multiply(self.conv.weight, op.reshape(scale, dims))
        conv = self.conv.operation.clone()
        conv.operands[1] = weight
        result: ir.Value = conv.results[0]
        if self.bias is None:
            return result
        dims = [1, 1, 1, 1]
        dims[self.channel] = -1
        return op.add(result, op.reshape(op.multiply(op.reshape(self.bias, [-1]), scale), dims))


def _fold_batch_norm(norm: Any) -> None:
    uses = [use.owner for use in norm.result.uses]
    conv = _Convolution.find(norm.data)
    parameters = list(norm.operation.operands)[1:]
    if (
        _attribute(norm, "training", True)
        or conv is None
        or norm.axis.value % 4 != conv.channel
        or not all(map(is_computed_of_constants, parameters))
        or not all(_is_float(value.type) for value in parameters)
        or any(value.type.dtype != norm.data.type.dtype for value in parameters)
        or any(use.name != "relax.get_item" for use in uses)
    ):
        return
    gamma, beta, mean, variance = parameters
    dims = [1, 1, 1, 1]
    dims[conv.channel] = -1
    with ir.InsertionPoint(norm), norm.location:
        epsilon = const(_attribute(norm, "epsilon", 1e-5), variance.type.dtype)
        scale = op.rsqrt(op.add(variance, epsilon))
        if _attribute(norm, "scale", True):
            scale = op.multiply(scale, gamma)
        shift = op.negative(op.multiply(mean, scale))
        if _attribute(norm, "center", True):
            shift = op.add(shift, beta)
        scaled = conv.scaled(scale)
        results = [op.add(scaled, op.reshape(shift, dims)), mean, variance]
    for use in uses:
        use.results[0].replace_all_uses_with(results[use.opview.index.value])
        use.erase()
    norm.operation.erase()
    _erase_unused(conv)


def _fold_product(product: Any) -> None:
    for this, other in ((0, 1), (1, 0)):
        conv = _Convolution.find(product.operands[this])
        scale = product.operands[other]
        if conv is None or not conv.is_of_channels(scale):
            continue
        with ir.InsertionPoint(product), product.location:
            result = conv.scaled(op.reshape(scale, [-1]))
        product.result.replace_all_uses_with(result)
        product.operation.erase()
        _erase_unused(conv)
        return


def _erase_unused(conv: _Convolution) -> None:
    if conv.bias is not None:
        conv.last.erase()
    conv.conv.operation.erase()


def _is_float(type_: ir.Type) -> bool:
    return (
        isinstance(type_, TensorStructInfo)
        and type_.dtype is not None
        and is_numpy(type_.dtype)
        and type_.dtype.startswith("float")
    )


def _attribute(found: Any, name: str, default: Any) -> Any:
    """Return the value of an attribute, or what it is where there is none."""
    attributes = found.operation.attributes
    return attributes[name].value if name in attributes else default
