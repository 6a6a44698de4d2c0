# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of neural networks that others compose, in `relax_mlir.op.nn`.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 8, "h", "w"), "float32"))
>>> weight = Var("weight", TensorStructInfo((8, 4, 2, 2), "float32"))
>>> with bb.function("main", [x, weight]):
...     y = op.nn.conv2d_transpose(x, weight, strides=2)
...     _ = bb.emit_func_output(y)
>>> print(y.type)
!relax.tensor<[n, 4, h * 2, w * 2], f32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .. import op
from ..core.expr import TensorLike, as_tensor
from .attention import attention_var_len
from .convolution import Convolution, numbers, padding_numbers, transposed
from .layouts import SPATIAL, data_letters, of_layout, packed, unpacked
from .recurrent import gru, lstm, rnn
from .tensors import cast, number, product, rank_of, shape_of, size_tensor

__all__ = [
    "attention_var_len",
    "batch_flatten",
    "conv1d_transpose",
    "conv2d_transpose",
    "conv3d_transpose",
    "cross_entropy_with_logits",
    "dropout",
    "gru",
    "lstm",
    "nll_loss",
    "rnn",
]

_REDUCTIONS = ("mean", "sum", "none")


def _transpose(
    data: TensorLike, weight: TensorLike, how: Convolution, layouts: Sequence[str | None],
    dtype: str | None,
) -> ir.Value:  # fmt: skip
    x, kernel = as_tensor(data), as_tensor(weight)
    count = len(how.strides)
    letters = data_letters(count)
    data_layout, kernel_layout, out_layout = layouts
    assert data_layout is not None
    assert kernel_layout is not None
    plain = unpacked(of_layout(x, data_layout), data_layout, letters)
    turned = unpacked(of_layout(kernel, kernel_layout), kernel_layout, f"IO{SPATIAL[count]}")
    inputs, channels = shape_of(turned)[0], shape_of(plain)[1]
    if isinstance(inputs, int) and isinstance(channels, int) and inputs != channels:
        raise ValueError(f"expected a weight for {channels} channels, but got one for {inputs}")
    wanted = x.type.dtype if dtype in (None, "", "void") else str(dtype)
    return packed(transposed(plain, turned, how, wanted), letters, out_layout or data_layout)


def _how(
    count: int, strides: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
) -> Convolution:
    return Convolution(
        numbers(strides, count, "strides"),
        padding_numbers(padding, count),
        numbers(dilation, count, "dilation"),
        int(groups),
        numbers(output_padding, count, "output_padding"),
    )


def conv1d_transpose(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> ir.Value:
    """Return the transposed convolution of rows, with arguments as for `conv2d_transpose`."""
    how = _how(1, strides, padding, output_padding, dilation, groups)
    return _transpose(data, weight, how, (data_layout, kernel_layout, out_layout), out_dtype)


def conv2d_transpose(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> ir.Value:
    """Return the transposed convolution of images: the gradient of `conv2d` for its input.

    Parameters
    ----------
    data : tensor, number or array
        Images, whose dimensions `data_layout` names.
    weight : tensor, number or array
        Of known size: of input channels, output channels of a group, and the window.
    strides, dilation : int or sequence of int
        The distances of windows in the result, and of elements in a window.
    padding : int or sequence of int
        How many elements are left out at the sides of the result: for all sides, for each
        dimension, or before each dimension and then after each.
    output_padding : int or sequence of int
        How many elements more the result has at the end of each dimension.
    groups : int
        Into how many groups channels are divided.
    data_layout, kernel_layout, out_layout : str
        The result has the layout of `data` by default.
    out_dtype : str, optional
        By default the data type of `data`.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    NotImplementedError
        If a dimension of the weight is not known.
    ValueError
        If the arguments do not fit each other.
    """
    how = _how(2, strides, padding, output_padding, dilation, groups)
    return _transpose(data, weight, how, (data_layout, kernel_layout, out_layout), out_dtype)


def conv3d_transpose(
    data: TensorLike,
    weight: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "IODHW",
    out_layout: str | None = None,
    out_dtype: str | None = None,
) -> ir.Value:
    """Return the transposed convolution of volumes, with arguments as for `conv2d_transpose`."""
    how = _how(3, strides, padding, output_padding, dilation, groups)
    return _transpose(data, weight, how, (data_layout, kernel_layout, out_layout), out_dtype)


def batch_flatten(data: TensorLike) -> ir.Value:
    """Return a tensor with all dimensions but the first one as one.

    Parameters
    ----------
    data : tensor, number or array
    """
    x = as_tensor(data)
    first, *rest = shape_of(x)
    return op.reshape(x, [first, product(rest)])


def dropout(data: TensorLike, rate: float = 0.5) -> ir.Value:
    """Return a tensor as it is, and ones: nothing is dropped where a program is not trained.

    Parameters
    ----------
    data : tensor, number or array
    rate : float
        The share of elements that training would drop, from 0 to 1.

    Returns
    -------
    mlir.ir.Value
        A tuple of the tensor and of a mask.

    Raises
    ------
    ValueError
        If `rate` is not from 0 to 1.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"expected rate to be at least 0 and less than 1, but got {rate}")
    x = as_tensor(data)
    return op.tuple(x, op.ones_like(x))


def cross_entropy_with_logits(predictions: TensorLike, labels: TensorLike) -> ir.Value:
    """Return the cross entropy of labels and of logarithms of probabilities, its mean over a batch.

    Parameters
    ----------
    predictions : tensor, number or array
        Logarithms of probabilities. From two dimensions on, the first one is the batch.
    labels : tensor, number or array
        Probabilities, of the same shape.

    Returns
    -------
    mlir.ir.Value
        Of rank 0: the negative of the sum of the products, divided by the size of the batch.

    Raises
    ------
    ValueError
        If the ranks differ.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x, y = (Var(name, TensorStructInfo(("n", 10), "float32")) for name in "xy")
    >>> with bb.function("main", [x, y]):
    ...     loss = op.nn.cross_entropy_with_logits(op.nn.log_softmax(x), y)
    ...     _ = bb.emit_func_output(loss)
    >>> print(loss.type)
    !relax.tensor<[], f32>
    """
    x, y = as_tensor(predictions), as_tensor(labels)
    if rank_of(x) != rank_of(y):
        raise ValueError(f"expected labels of rank {rank_of(x)}, but got rank {rank_of(y)}")
    loss = op.negative(op.sum(op.multiply(x, y)))
    if rank_of(x) < 2:
        return loss
    return op.divide(loss, size_tensor(shape_of(x)[0], x.type.dtype))


def nll_loss(
    predictions: TensorLike,
    targets: TensorLike,
    weights: TensorLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> ir.Value:
    """Return the negative of the predictions for the classes that were to be found.

    Parameters
    ----------
    predictions : tensor, number or array
        Logarithms of probabilities: of the dimensions batch, class, and any others; or class alone.
    targets : tensor, number or array
        The classes, of integers: of the dimensions batch and these others, or none.
    weights : tensor, number or array, optional
        A factor for each class.
    reduction : str
        ``mean``, weighted, ``sum`` or ``none``.
    ignore_index : int
        A class that counts for nothing.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If an argument is none of these.
    """
    parts = negative_log_likelihood(predictions, targets, weights, reduction, ignore_index)
    axis, places = parts.axis, op.expand_dims(parts.classes, parts.axis)
    taken = op.squeeze(op.gather_elements(parts.predictions, places, axis), [axis])
    loss = op.negative(op.multiply(taken, parts.factor))
    if reduction == "none":
        return loss
    total = op.sum(loss)
    return op.divide(total, op.sum(parts.factor)) if reduction == "mean" else total


@dataclass(frozen=True)
class LossParts:
    """What `nll_loss` and its gradient are computed from.

    Attributes
    ----------
    predictions : mlir.ir.Value
    axis : int
        The dimension of the classes.
    counts : mlir.ir.Value
        Whether a target is not the class that is ignored.
    classes : mlir.ir.Value
        The targets, 0 for those that are ignored, as int64.
    factor : mlir.ir.Value
        The weight of each target, 0 for those that are ignored.
    """

    predictions: ir.Value
    axis: int
    counts: ir.Value
    classes: ir.Value
    factor: ir.Value


def negative_log_likelihood(
    predictions: TensorLike,
    targets: TensorLike,
    weights: TensorLike | None,
    reduction: str,
    ignore_index: int,
) -> LossParts:
    """Return what `nll_loss` of these arguments is computed from, and check them."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"expected reduction {', '.join(_REDUCTIONS)}, but got '{reduction}'")
    x, classes = as_tensor(predictions), cast(as_tensor(targets), "int64")
    dtype, axis = x.type.dtype, min(rank_of(x) - 1, 1)
    if rank_of(classes) != rank_of(x) - 1:
        raise ValueError(
            f"expected targets of rank {rank_of(x) - 1}, but got rank {rank_of(classes)}"
        )
    counts = op.not_equal(classes, number(ignore_index, "int64"))
    known = op.where(counts, classes, number(0, "int64"))
    if weights is None:
        factor = op.ones(shape_of(known), dtype)
    else:
        factor = cast(op.take(as_tensor(weights), known, 0), dtype)
    factor = op.where(counts, factor, number(0, dtype))
    return LossParts(x, axis, counts, known, factor)
