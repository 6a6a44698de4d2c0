# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that compute the places of elements.

Examples
--------
>>> import numpy as np
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> i = Var("i", TensorStructInfo(("k", 1), "int64"))
>>> with bb.function("main", [x, i]):
...     rows = gather_nd(x, i)
...     sums = scatter_nd(flip(x, 1), i, rows, reduction="add")
...     both = stack([tile(x, (2, 1)), repeat(x, 2, axis=0)])
...     hot = one_hot(i, np.float32(1), np.float32(0), depth=8)
...     small = quantize(x, np.float32(0.5), np.int8(0))
...     _ = bb.emit_func_output([rows, sums, both, hot, small])
>>> for value in (rows, sums, both, hot, small):
...     print(value.type)
!relax.tensor<[k, 4], f32>
!relax.tensor<[n, 4], f32>
!relax.tensor<[2, n * 2, 4], f32>
!relax.tensor<[k, 1, 8], f32>
!relax.tensor<[n, 4], i8>
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir

from ..core.constants import scalar_attr
from ..core.dtypes import element_type
from ..core.expr import TensorLike, as_prim, as_tensor, as_tensors, build, tensor_type
from ..dialects import relax as _ops

__all__ = [
    "dequantize",
    "flip",
    "gather_elements",
    "gather_nd",
    "layout_transform",
    "one_hot",
    "quantize",
    "repeat",
    "scatter_elements",
    "scatter_nd",
    "stack",
    "tile",
]


def flip(data: TensorLike, axis: int) -> ir.Value:
    """Return the elements in the opposite order along an axis.

    Parameters
    ----------
    data : tensor
    axis : int
    """
    return build(_ops.FlipOp, as_tensor(data), axis=axis)


def repeat(data: TensorLike, repeats: int, axis: int | None = None) -> ir.Value:
    """Return each element several times, one after the other.

    Parameters
    ----------
    data : tensor
    repeats : int
    axis : int, optional
        By default the elements are taken as a vector.
    """
    return build(_ops.RepeatOp, as_tensor(data), repeats, axis=axis)


def tile(data: TensorLike, repeats: int | Sequence[int]) -> ir.Value:
    """Return a tensor several times, one beside the other.

    Parameters
    ----------
    data : tensor
    repeats : int or sequence of int
        For each dimension; the last ones, or ones that are new before the first.
    """
    given = [repeats] if isinstance(repeats, int) else [int(count) for count in repeats]
    return build(_ops.TileOp, as_tensor(data), given)


def stack(tensors: Sequence[TensorLike], axis: int = 0) -> ir.Value:
    """Return tensors of the same shape along a new axis.

    Parameters
    ----------
    tensors : sequence of tensor
    axis : int
        Where it is in the result.
    """
    return build(_ops.StackOp, as_tensors(*tensors), axis=axis)


def one_hot(
    indices: TensorLike, on_value: Any, off_value: Any, depth: int, axis: int = -1
) -> ir.Value:
    """Return vectors that have `on_value` at an index, else `off_value`.

    Parameters
    ----------
    indices : tensor or array of integers
    on_value, off_value : number or primitive value
        Of the same data type.
    depth : int
        The size of the vectors.
    axis : int
        Where they are in the result.
    """
    return build(
        _ops.OneHotOp,
        as_tensor(indices),
        as_prim(on_value),
        as_prim(off_value),
        depth,
        axis=axis,
    )


def gather_elements(data: TensorLike, indices: TensorLike, axis: int = 0) -> ir.Value:
    """Return elements at given indices along an axis, place by place.

    Parameters
    ----------
    data : tensor
    indices : tensor or array of integers
        Of the rank of `data`. Negative ones count from the end.
    axis : int
    """
    return build(_ops.GatherElementsOp, as_tensor(data), as_tensor(indices), axis=axis)


def gather_nd(data: TensorLike, indices: TensorLike, batch_dims: int = 0) -> ir.Value:
    """Return parts of a tensor at given places.

    Parameters
    ----------
    data : tensor
    indices : tensor or array of integers
        The last dimension holds places.
    batch_dims : int
        The number of first dimensions that both have in common.
    """
    return build(_ops.GatherNDOp, as_tensor(data), as_tensor(indices), batch_dims=batch_dims)


def scatter_elements(
    data: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    axis: int = 0,
    reduction: str = "update",
) -> ir.Value:
    """Return a tensor with elements updated at given indices along an axis.

    Parameters
    ----------
    data : tensor
    indices : tensor or array of integers
        Of the rank of `data`. Negative ones count from the end.
    updates : tensor
        Of the shape of `indices`.
    axis : int
    reduction : str
        How an element is combined with an update: "update", "add", "mul", "min", "max" or "mean".
    """
    return build(
        _ops.ScatterElementsOp,
        as_tensor(data),
        as_tensor(indices),
        as_tensor(updates, tensor_type(as_tensor(data)).dtype),
        axis=axis,
        reduction=reduction,
    )


def scatter_nd(
    data: TensorLike, indices: TensorLike, updates: TensorLike, reduction: str = "update"
) -> ir.Value:
    """Return a tensor with parts updated at given places.

    Parameters
    ----------
    data : tensor
    indices : tensor or array of integers
        The last dimension holds places in the first dimensions of `data`.
    updates : tensor
    reduction : str
        How an element is combined with an update: "update", "add", "mul", "min" or "max".
    """
    return build(
        _ops.ScatterNDOp,
        as_tensor(data),
        as_tensor(indices),
        as_tensor(updates, tensor_type(as_tensor(data)).dtype),
        reduction=reduction,
    )


class _Index:
    """An index, or an expression over indices, as a function of Python computes with it."""

    def __init__(self, expr: ir.AffineExpr) -> None:
        self.expr = expr

    def __add__(self, other: Any) -> _Index:
        return _Index(self.expr + _affine(other))

    def __radd__(self, other: Any) -> _Index:
        return _Index(_affine(other) + self.expr)

    def __sub__(self, other: Any) -> _Index:
        return _Index(self.expr - _affine(other))

    def __rsub__(self, other: Any) -> _Index:
        return _Index(_affine(other) - self.expr)

    def __mul__(self, other: Any) -> _Index:
        return _Index(self.expr * _affine(other))

    def __rmul__(self, other: Any) -> _Index:
        return _Index(_affine(other) * self.expr)

    def __floordiv__(self, other: Any) -> _Index:
        return _Index(ir.AffineExpr.get_floor_div(self.expr, _divisor(other)))

    def __mod__(self, other: Any) -> _Index:
        return _Index(ir.AffineExpr.get_mod(self.expr, _divisor(other)))


def _affine(value: Any) -> ir.AffineExpr:
    if isinstance(value, _Index):
        return value.expr
    return ir.AffineExpr.get_constant(int(getattr(value, "value", value)))


def _divisor(value: Any) -> ir.AffineExpr:
    number = None if isinstance(value, _Index) else int(getattr(value, "value", value))
    if number is None or number <= 0:
        raise ValueError(f"expected a positive number as a divisor of indices, but got {number}")
    return ir.AffineExpr.get_constant(number)


def _affine_map(function: Callable[..., Any], ndim: int | None) -> ir.AffineMap:
    """Return a function of indices as a map."""
    params = inspect.signature(function).parameters.values()
    if any(param.kind is param.VAR_POSITIONAL for param in params):
        if ndim is None:
            raise ValueError("relax.layout_transform: expected a tensor of known rank")
        count = ndim
    else:
        count = len(params)
    result = function(*(_Index(ir.AffineExpr.get_dim(i)) for i in range(count)))
    results = result if isinstance(result, (tuple, list)) else [result]
    return ir.AffineMap.get(count, 0, [_affine(expr) for expr in results])


def layout_transform(
    x: TensorLike,
    index_map: Callable[..., Any] | ir.AffineMap | ir.AffineMapAttr,
    pad_value: Any = None,
    axis_separators: Sequence[int] | None = None,
    input_axis_separators: Sequence[int] | None = None,
) -> ir.Value:
    """Return a tensor with elements at the places that a map computes.

    Parameters
    ----------
    x : tensor
    index_map : function or mlir.ir.AffineMap
        From the indices of an element to those that it has in the result. A function computes
        with ``+``, ``-``, ``*``, ``//`` and ``%``.
    pad_value : number, optional
        The value of elements that nothing is moved to, by default 0.
    axis_separators, input_axis_separators : sequence of int, optional
        Where dimensions are separated in physical memory, of the result and of `x`.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 16), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = layout_transform(x, lambda i, j: (j // 4, i, j % 4))
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[4, n, 4], f32>
    """
    tensor = as_tensor(x)
    type_ = tensor_type(tensor)
    with tensor.context:
        if isinstance(index_map, ir.AffineMapAttr):
            attr = index_map
        elif isinstance(index_map, ir.AffineMap):
            attr = ir.AffineMapAttr.get(index_map)
        else:
            ndim = type_.ndim if type_.ndim >= 0 else None
            attr = ir.AffineMapAttr.get(_affine_map(index_map, ndim))
    if isinstance(pad_value, ir.Value):
        pad_value = getattr(pad_value.owner, "value", None)
        if not isinstance(pad_value, (ir.IntegerAttr, ir.FloatAttr)):
            raise ValueError("relax.layout_transform: expected a pad_value that is known")
    elif pad_value is not None and not isinstance(pad_value, ir.Attribute):
        pad_value = scalar_attr(getattr(pad_value, "value", pad_value), type_.dtype)
    return build(
        _ops.LayoutTransformOp,
        tensor,
        attr,
        pad_value=pad_value,
        axis_separators=list(axis_separators) if axis_separators else None,
        input_axis_separators=list(input_axis_separators) if input_axis_separators else None,
    )


def _quantization(op_class: Any, default: str, meaning: str) -> Callable[..., ir.Value]:
    def function(
        data: TensorLike,
        scale: TensorLike,
        zero_point: TensorLike,
        axis: int = -1,
        out_dtype: Any = default,
    ) -> ir.Value:
        return build(
            op_class,
            as_tensor(data),
            as_tensor(scale),
            as_tensor(zero_point),
            ir.TypeAttr.get(element_type(out_dtype)),
            axis=axis,
        )

    function.__name__ = function.__qualname__ = op_class.OPERATION_NAME.removeprefix("relax.")
    function.__doc__ = f"""Return {meaning}.

    Parameters
    ----------
    data : tensor
    scale, zero_point : tensor
        Scalars, or vectors that have an element for each index of `axis`.
    axis : int
    out_dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type

    Returns
    -------
    mlir.ir.Value
    """
    return function


quantize = _quantization(
    _ops.QuantizeOp, "int8", "round(data / scale) + zero_point, saturated to the data type"
)
dequantize = _quantization(_ops.DequantizeOp, "float32", "(data - zero_point) * scale")
