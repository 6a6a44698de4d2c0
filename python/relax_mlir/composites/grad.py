# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients as operators, in `relax_mlir.op.grad`.

Each returns the gradient of an operand of another operator, given the gradient of its result.
`relax_mlir.transform.Gradient` computes the same.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 3, "h * 2", "w * 2"), "float32"))
>>> g = Var("g", TensorStructInfo(("n", 3, "h", "w"), "float32"))
>>> with bb.function("main", [x, g]):
...     y = op.grad.max_pool2d_backward(g, x, pool_size=(2, 2), strides=(2, 2))
...     _ = bb.emit_func_output(y)
>>> print(y.type)
!relax.tensor<[n, 3, h * 2, w * 2], f32>
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .. import op
from ..core.expr import TensorLike, as_tensor
from ..op._arguments import padding_of, spatial
from .kernels import call_te
from .layouts import packed, unpacked
from .nn import negative_log_likelihood
from .pool_gradients import PoolWindow, avg_pool_gradient, max_pool_gradient
from .take_gradient import take_gradient
from .tensors import cast, matched, normal_axis, number, rank_of, shape_of

__all__ = [
    "avg_pool2d_backward",
    "max_pool2d_backward",
    "nll_loss_backward",
    "take_backward",
]


def _window(
    pool_size: int | Sequence[int], strides: int | Sequence[int],
    padding: int | Sequence[int], dilation: int | Sequence[int],
) -> PoolWindow:  # fmt: skip
    around = padding_of(padding, 2) or [0] * 4
    kernel, steps, holes = (spatial(each, 2) or [] for each in (pool_size, strides, dilation))
    return PoolWindow(kernel, steps, holes, around[:2], around[2:])


def max_pool2d_backward(
    output_grad: TensorLike,
    data: TensorLike,
    pool_size: int | Sequence[int] = (1, 1),
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0, 0, 0),
    dilation: int | Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> ir.Value:
    """Return the gradient of the data of `op.nn.max_pool2d`.

    Of several elements of a window that are the largest, the first one has its gradient.

    Parameters
    ----------
    output_grad : tensor, number or array
        The gradient of the result.
    data : tensor, number or array
    pool_size, strides, padding, dilation, ceil_mode, layout, out_layout
        As for `op.nn.max_pool2d`.
    count_include_pad : bool
        Without meaning for a largest element.

    Returns
    -------
    mlir.ir.Value
        Of the shape and layout of `data`.

    Raises
    ------
    ValueError
        If `output_grad` does not have the shape of the result.
    """
    x = unpacked(as_tensor(data), layout, "NCHW")
    g = unpacked(as_tensor(output_grad), out_layout or layout, "NCHW")
    y = op.nn.max_pool2d(x, pool_size, strides, padding, dilation, ceil_mode)
    g = matched(g, shape_of(y))
    made = max_pool_gradient(call_te, x, y, g, _window(pool_size, strides, padding, dilation))
    return packed(made, "NCHW", layout)


def avg_pool2d_backward(
    output_grad: TensorLike,
    data: TensorLike,
    pool_size: int | Sequence[int] = (1, 1),
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0, 0, 0),
    dilation: int | Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> ir.Value:
    """Return the gradient of the data of `op.nn.avg_pool2d`.

    Parameters
    ----------
    output_grad : tensor, number or array
        The gradient of the result.
    data : tensor, number or array
        Its shape alone matters.
    pool_size, strides, padding, dilation, ceil_mode, count_include_pad, layout, out_layout
        As for `op.nn.avg_pool2d`.

    Returns
    -------
    mlir.ir.Value
        Of the shape and layout of `data`.

    Raises
    ------
    ValueError
        If `output_grad` does not have the shape of the result.
    """
    x = unpacked(as_tensor(data), layout, "NCHW")
    g = unpacked(as_tensor(output_grad), out_layout or layout, "NCHW")
    y = op.nn.avg_pool2d(x, pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    g = matched(g, shape_of(y))
    y.owner.operation.erase()  # its type alone was wanted
    window = _window(pool_size, strides, padding, dilation)
    return packed(avg_pool_gradient(call_te, x, g, window, count_include_pad), "NCHW", layout)


def nll_loss_backward(
    output_grad: TensorLike,
    predictions: TensorLike,
    targets: TensorLike,
    weights: TensorLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> ir.Value:
    """Return the gradient of the predictions of `op.nn.nll_loss`.

    Parameters
    ----------
    output_grad : tensor, number or array
        The gradient of the loss: of rank 0, or without a reduction of the shape of `targets`.
    predictions, targets, weights, reduction, ignore_index
        As for `op.nn.nll_loss`.

    Returns
    -------
    mlir.ir.Value
        Of the shape and data type of `predictions`. It is 0 for all classes of a place whose
        target is `ignore_index`.

    Raises
    ------
    ValueError
        If an argument is none of these.
    """
    parts = negative_log_likelihood(predictions, targets, weights, reduction, ignore_index)
    x, axis = parts.predictions, parts.axis
    zero = number(0, x.type.dtype)
    g = as_tensor(output_grad)
    wanted = shape_of(parts.classes) if reduction == "none" else []
    if rank_of(g) != len(wanted):
        raise ValueError(
            f"expected output_grad of rank {len(wanted)} for reduction '{reduction}', but got "
            f"rank {rank_of(g)}"
        )
    g = matched(g, wanted)
    if reduction == "mean":
        g = op.divide(g, op.sum(parts.factor))
    slope = op.negative(op.multiply(parts.factor, g))
    order = op.arange(0, shape_of(x)[axis], 1, "int64")
    order = op.reshape(order, [shape_of(x)[axis], *[1] * (rank_of(x) - axis - 1)])
    is_target = op.equal(order, op.expand_dims(parts.classes, axis))
    is_target = op.logical_and(is_target, op.expand_dims(parts.counts, axis))
    return op.where(is_target, op.expand_dims(slope, axis), zero)


def take_backward(
    output_grad: TensorLike, x: TensorLike, indices: TensorLike, axis: int | None = None
) -> ir.Value:
    """Return the gradient of the tensor that `op.take` takes elements of.

    Parameters
    ----------
    output_grad : tensor, number or array
        The gradient of the result.
    x : tensor, number or array
        Its shape alone matters.
    indices : tensor, number or array
        Of integers; those out of range mean the nearest one in range.
    axis : int, optional
        Without it `x` is a vector.

    Returns
    -------
    mlir.ir.Value
        Of the shape and data type of `x`.

    Raises
    ------
    ValueError
        If `output_grad` does not have the shape of the result, or `x` has no such axis.
    """
    data, places, g = as_tensor(x), as_tensor(indices), as_tensor(output_grad)
    dims = shape_of(data)
    if axis is None and len(dims) != 1:
        raise ValueError(f"expected an axis, as x has rank {len(dims)}")
    at = normal_axis(0 if axis is None else axis, len(dims))
    wanted = [*dims[:at], *shape_of(places), *dims[at + 1 :]]
    if rank_of(g) != len(wanted):
        raise ValueError(f"expected output_grad of rank {len(wanted)}, but got rank {rank_of(g)}")
    found = take_gradient(matched(g, wanted), places, at, dims[at])
    return cast(found, data.type.dtype)
