# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a tensor is: its dimensions, its data type, and where it lies in memory.

What the type of the tensor says is the result; the rest is read when the program runs. TVMScript
has short forms: ``x.ndim``, ``x.shape[i]``, ``x.strides[i]``, ``x.dtype.bits``, ``x.byte_offset``.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     rows, bits = op.inspect.tensor_shape_i(x, 0), op.inspect.tensor_dtype_bits(x)
...     _ = bb.emit_func_output([rows, bits])
>>> print(rows.type, bits.type)
!relax.prim<i64, n> !relax.prim<ui8, 32>
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from mlir import ir

from ..core.expr import TensorLike, as_tensor, known_number, prim_value, tensor_type
from ..core.ir import PrimStructInfo, TensorStructInfo
from ..dialects import relax as _ops
from .call import call_pure_packed

__all__ = [
    "tensor_byte_offset",
    "tensor_dtype_bits",
    "tensor_dtype_code",
    "tensor_dtype_lanes",
    "tensor_elem_offset",
    "tensor_ndim",
    "tensor_shape_i",
    "tensor_stride_i",
]

# The packed function that reads them.
_INSPECT = "relax_mlir.run.inspect"


def _read(tensor: ir.Value, field: str, dtype: str, axis: Any = -1) -> ir.Value:
    """Return a field of a tensor that is read when the program runs."""
    return call_pure_packed(_INSPECT, tensor, field, axis, sinfo_args=PrimStructInfo(dtype))


def _axis(x: TensorStructInfo, axis: Any) -> Any:
    """Return the number of a dimension; the value itself where the program computes it.

    Raises
    ------
    ValueError
        If there is no such dimension.
    """
    if isinstance(axis, ir.Value) and not isinstance(axis.owner, _ops.PrimValueOp):
        if not isinstance(axis.type, PrimStructInfo):
            raise TypeError(f"expected a dimension as an integer, but got one of type {axis.type}")
        return axis
    number = known_number(axis, "a dimension")
    if number < 0 or (x.ndim != -1 and number >= x.ndim):
        known = "a dimension from 0 on" if x.ndim == -1 else f"one of the {x.ndim} dimensions"
        raise ValueError(f"expected {known} of {x}, but got {number}")
    return int(number)


def tensor_shape_i(tensor: TensorLike, axis: int) -> ir.Value:
    """Return a dimension of a tensor, as an int64.

    Parameters
    ----------
    tensor : tensor
    axis : int
        From 0; it may be a value.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such dimension.
    """
    value = as_tensor(tensor)
    x = tensor_type(value)
    number = _axis(x, axis)
    if isinstance(number, int) and x.shape is not None:
        dim = x.shape[number]
        return prim_value(dim if dim.value is None else dim.value)
    return _read(value, "shape_i", "int64", number)


def tensor_stride_i(tensor: TensorLike, axis: int) -> ir.Value:
    """Return by how many elements neighbours along a dimension are apart, as an int64.

    It is read when the program runs, as arguments need not be compact.

    Parameters
    ----------
    tensor : tensor
    axis : int
        From 0; it may be a value.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such dimension.
    """
    value = as_tensor(tensor)
    return _read(value, "stride_i", "int64", _axis(tensor_type(value), axis))


def tensor_ndim(tensor: TensorLike) -> ir.Value:
    """Return how many dimensions a tensor has, as an int32.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    mlir.ir.Value
    """
    value = as_tensor(tensor)
    ndim = tensor_type(value).ndim
    return _read(value, "ndim", "int32") if ndim == -1 else prim_value(ndim, "int32")


def tensor_byte_offset(tensor: TensorLike) -> ir.Value:
    """Return how many bytes after its memory the elements of a tensor begin, as a uint64.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    mlir.ir.Value
    """
    return _read(as_tensor(tensor), "byte_offset", "uint64")


def tensor_elem_offset(tensor: TensorLike) -> ir.Value:
    """Return `tensor_byte_offset` counted in elements, as a uint64.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    mlir.ir.Value
    """
    return _read(as_tensor(tensor), "elem_offset", "uint64")


def _of_dtype(tensor: TensorLike, field: str, attribute: str, result: str) -> ir.Value:
    value = as_tensor(tensor)
    name = tensor_type(value).dtype
    if name is None:
        return _read(value, field, result)
    return prim_value(int(getattr(tvm_ffi.dtype(name), attribute)), result)


def tensor_dtype_code(tensor: TensorLike) -> ir.Value:
    """Return the kind of the data type of a tensor as DLPack numbers it, as a uint8.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    mlir.ir.Value
    """
    return _of_dtype(tensor, "dtype_code", "type_code", "uint8")


def tensor_dtype_bits(tensor: TensorLike) -> ir.Value:
    """Return how many bits an element of a tensor has, as a uint8.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    mlir.ir.Value
    """
    return _of_dtype(tensor, "dtype_bits", "bits", "uint8")


def tensor_dtype_lanes(tensor: TensorLike) -> ir.Value:
    """Return how many numbers an element of a tensor has, as a uint16.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    mlir.ir.Value
    """
    return _of_dtype(tensor, "dtype_lanes", "lanes", "uint16")
