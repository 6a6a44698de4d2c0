# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.dtypes import dtype_name, element_type
from ..core.expr import ShapeLike, TensorLike, as_prim, as_shape, as_tensor, build, tensor_type
from ..dialects import relax as _ops

__all__ = [
    "arange",
    "eye",
    "eye_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def _type_attr(dtype: Any) -> ir.Attribute:
    return ir.TypeAttr.get(element_type(dtype))


def full(shape: ShapeLike, fill_value: TensorLike, dtype: Any = None) -> ir.Value:
    """Return a tensor filled with a scalar.

    Parameters
    ----------
    shape : shape, or sequence of int, str or PrimExpr
    fill_value : tensor of rank 0, or number
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `fill_value`.

    Returns
    -------
    mlir.ir.Value
    """
    attr = _optional_type(dtype)
    fill = as_tensor(fill_value, None if attr is None else dtype_name(dtype))
    return build(_ops.FullOp, as_shape(shape), fill, dtype=attr)


def zeros(shape: ShapeLike, dtype: Any = "float32") -> ir.Value:
    """Return a tensor of zeros.

    Parameters
    ----------
    shape : shape, or sequence of int, str or PrimExpr
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
    """
    return build(_ops.ZerosOp, as_shape(shape), _type_attr(dtype))


def ones(shape: ShapeLike, dtype: Any = "float32") -> ir.Value:
    """Return a tensor of ones.

    Parameters
    ----------
    shape : shape, or sequence of int, str or PrimExpr
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
    """
    return build(_ops.OnesOp, as_shape(shape), _type_attr(dtype))


def _optional_type(dtype: Any) -> ir.Attribute | None:
    return None if dtype in (None, "", "void") else _type_attr(dtype)


def full_like(x: TensorLike, fill_value: TensorLike, dtype: Any = None) -> ir.Value:
    """Return a tensor of the shape of another one, filled with a scalar.

    Parameters
    ----------
    x : tensor
    fill_value : tensor of rank 0, or number
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `x`.

    Returns
    -------
    mlir.ir.Value
    """
    tensor, attr = as_tensor(x), _optional_type(dtype)
    wanted = tensor_type(tensor).dtype if attr is None else dtype_name(dtype)
    return build(_ops.FullLikeOp, tensor, as_tensor(fill_value, wanted), dtype=attr)


def ones_like(x: TensorLike, dtype: Any = None) -> ir.Value:
    """Return a tensor of ones of the shape of another one.

    Parameters
    ----------
    x : tensor
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `x`.
    """
    return build(_ops.OnesLikeOp, as_tensor(x), dtype=_optional_type(dtype))


def zeros_like(x: TensorLike, dtype: Any = None) -> ir.Value:
    """Return a tensor of zeros of the shape of another one.

    Parameters
    ----------
    x : tensor
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `x`.
    """
    return build(_ops.ZerosLikeOp, as_tensor(x), dtype=_optional_type(dtype))


def _is_float(value: ir.Value) -> bool:
    return str(value.type.dtype).startswith("float")


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> ir.Value:
    """Return the numbers from `start`, by `step`, up to but without `end`.

    Parameters
    ----------
    start, end : number, PrimExpr or primitive value
        Without `end` it is `start`, and the numbers begin with 0.
    step : number, PrimExpr or primitive value
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default int64, or float32 if one of the others is a float.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, ShapeStructInfo, Var
    >>> bb = BlockBuilder()
    >>> s = Var("s", ShapeStructInfo(("n",)))
    >>> with bb.function("main", [s]):
    ...     y = arange(0, "n", 2)
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[(n + 1) floordiv 2], i64>
    """
    given = (0, start) if end is None else (start, end)
    numbers = [as_prim(value) for value in (*given, step)]
    is_float = any(_is_float(value) for value in numbers)
    if is_float:
        numbers = [_as_float(value) for value in numbers]
    wanted = dtype or ("float32" if is_float else "int64")
    return build(_ops.ArangeOp, *numbers, _type_attr(wanted))


def _as_float(value: ir.Value) -> ir.Value:
    """Return a number as a float of 64 bits."""
    if value.type.dtype == "float64":
        return value
    number = getattr(getattr(value.owner, "value", None), "value", None)
    if number is None:
        raise ValueError(
            f"relax.arange: expected numbers of one data type, but got floats and {value.type}"
        )
    return as_prim(float(number))


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = "float32") -> ir.Value:
    """Return a matrix with ones in a diagonal, else zeros.

    Parameters
    ----------
    n, m : int, PrimExpr or primitive value
        The numbers of rows and columns; `m` is `n` by default.
    k : int, PrimExpr or primitive value
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
    """
    columns = n if m is None else m
    return build(_ops.EyeOp, as_prim(n), as_prim(columns), as_prim(k), _type_attr(dtype))


def eye_like(x: TensorLike, k: Any = 0, dtype: Any = None) -> ir.Value:
    """Return a matrix of the shape of another one with ones in a diagonal, else zeros.

    Parameters
    ----------
    x : tensor of rank 2
    k : int, PrimExpr or primitive value
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `x`.
    """
    return build(_ops.EyeLikeOp, as_tensor(x), as_prim(k), dtype=_optional_type(dtype))


def tril(x: TensorLike, k: Any = 0) -> ir.Value:
    """Return matrices with zeros above a diagonal.

    Parameters
    ----------
    x : tensor of rank 2 or more
        Its last two dimensions are those of matrices.
    k : int, PrimExpr or primitive value
        The diagonal: 0 is the main one, positive ones are above it.
    """
    return build(_ops.TrilOp, as_tensor(x), as_prim(k))


def triu(x: TensorLike, k: Any = 0) -> ir.Value:
    """Return matrices with zeros below a diagonal.

    Parameters
    ----------
    x : tensor of rank 2 or more
        Its last two dimensions are those of matrices.
    k : int, PrimExpr or primitive value
        The diagonal: 0 is the main one, positive ones are above it.
    """
    return build(_ops.TriuOp, as_tensor(x), as_prim(k))
