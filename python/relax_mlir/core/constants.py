# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers and arrays as attributes of MLIR, of any data type."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.arrays import NO_MASK
from relax_runtime.small_types import bits_of, is_int4_name, unpacked

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from .dtypes import dtype_name, element_type, has_numbers, is_numpy

# Data types of Python numbers, as in TVM.
_PYTHON_DEFAULTS = {"int64": "int32", "float64": "float32"}


def fits(numbers: np.ndarray, name: str) -> bool:
    """Say whether numbers may become ones of data type `name` without a change of kind."""
    if name == "bool":
        return numbers.dtype.kind == "b"
    if name.startswith(("int", "uint")):
        least, most = (-8, 7) if name == "int4" else (0, 15)
        if not is_int4_name(name):
            least, most = np.iinfo(name).min, np.iinfo(name).max
        is_within = (least <= numbers) & (numbers <= most)
        return numbers.dtype.kind in "iu" and bool(np.all(is_within))
    return has_numbers(numbers)


def _bfloat16_bits(array: np.ndarray) -> np.ndarray:
    """Round to the nearest bfloat16, ties to even."""
    numbers = array.astype(np.float32)
    bits = numbers.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16)


def _elements(array: np.ndarray, name: str) -> ir.Attribute:
    element = element_type(name)
    shape = list(array.shape)
    if is_int4_name(name):  # a byte each, as MLIR has them
        array = array.astype(np.int64).astype(np.uint8) & 15
    elif array.dtype.name == name and not is_numpy(name):  # of ml_dtypes
        array = array.view(f"uint{8 * array.itemsize}")
    elif name == "bfloat16":
        array = _bfloat16_bits(array)
    elif not is_numpy(name):
        numbers: Any = [ir.FloatAttr.get(element, float(number)) for number in array.flat]
        return ir.DenseElementsAttr.get(numbers, ir.RankedTensorType.get(shape, element))
    else:
        array = array.astype(name, copy=False)
    array = np.asarray(array, order="C")
    if name == "bool":  # packed into bits
        return ir.DenseElementsAttr.get(array)
    return ir.DenseElementsAttr.get(array, type=element, shape=shape)


def _overflows(number: np.ndarray, name: str) -> bool:
    """Say whether a number that is finite is none as a float of a data type."""
    if name not in ("float16", "float32") or not np.isfinite(number):
        return False
    with np.errstate(over="ignore"):
        return not np.isfinite(number.astype(name))


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(NO_MASK)
    try:
        return np.asarray(value)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"expected sequences of equal lengths, but got {shown(value)}"
            ) from None
        if "maximum number of dimension" in str(error):
            raise ValueError(
                "expected numbers, but got a list that is nested too deep, or holds itself"
            ) from None
        raise


def elements_attr(value: Any, dtype: Any = None) -> ir.Attribute:
    """Return the elements of a constant tensor; `relax_mlir.op.const` says which."""
    is_array = isinstance(value, (np.ndarray, np.generic))
    array = _as_array(value)
    if not has_numbers(array):
        raise TypeError(f"expected numbers, but got {shown(value)}")
    if dtype is None:
        name = array.dtype.name
        dtype = name if is_array else _PYTHON_DEFAULTS.get(name, name)
    name = dtype_name(dtype)
    is_number = array.ndim == 0 or (isinstance(value, (list, tuple)) and array.size > 0)
    if is_number and array.dtype.name != name and not fits(array, name):
        raise ValueError(f"expected a value of type {name}, but got {shown(value)}")
    if array.ndim == 0 and array.dtype.kind == "f" and _overflows(array, name):
        raise ValueError(f"expected a value of type {name}, but got {value!r}")
    with ir.Location.unknown(element_type(name).context), np.errstate(over="ignore"):
        return _elements(array, name)


def bits_attr(bits: np.ndarray, dtype: Any) -> ir.Attribute:
    """Return elements of a data type that NumPy lacks, such as bfloat16, given by their bits."""
    element = element_type(dtype_name(dtype))
    with ir.Location.unknown(element.context):
        return ir.DenseElementsAttr.get(bits, type=element, shape=list(bits.shape))


def stored_as(dtype: str) -> str:
    """Return what NumPy has elements of a data type as: integers where it lacks the floats."""
    if is_numpy(dtype):
        return dtype
    return "uint16" if dtype == "bfloat16" else "uint8"


def tensor_attr(tensor: Any) -> ir.Attribute:
    """Return the elements of a `tvm_ffi.Tensor` of the host, of any data type."""
    dtype = dtype_name(str(tensor.dtype))
    if is_numpy(dtype):
        return elements_attr(np.from_dlpack(tensor))
    if is_int4_name(dtype):
        return elements_attr(unpacked(bits_of(tensor), tensor.shape, dtype), dtype)
    stored, shape = np.dtype(stored_as(dtype)), tuple(tensor.shape)
    steps = [step * stored.itemsize for step in tensor.strides]
    reach = sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
    size = reach + stored.itemsize if 0 not in shape else 0
    data = ctypes.string_at(tensor.data_ptr(), size) if size else b""
    bits = np.ndarray(shape, stored, data, 0, steps)
    return bits_attr(np.asarray(bits, order="C"), dtype)


def bytes_of(attr: ir.Attribute) -> bytes:
    """Return a copy of the memory of the elements of a constant, in row-major order."""
    with attr.context, ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["relax.constants"] = ir.ArrayAttr.get([attr])
        ((_, _, address, size, data),) = _ext.constants(module)
        return ctypes.string_at(address, size) if data is None else bytes(data)


def scalar_attr(value: Any, dtype: Any = None) -> ir.Attribute:
    """Return a number as an attribute; `relax_mlir.op.prim_value` says of which data type."""
    scalar = value.item() if isinstance(value, np.generic) else value
    if type(scalar) not in (bool, int, float):
        raise TypeError(f"expected a number, but got {value!r}")
    if dtype is None:
        dtype = value.dtype if isinstance(value, np.generic) else type(scalar)
    name = dtype_name(dtype)
    if not fits(np.asarray(scalar), name):
        raise ValueError(f"expected a value of type {name}, but got {value!r}")
    element = element_type(name)
    kind = ir.FloatAttr if name.startswith(("float", "bfloat")) else ir.IntegerAttr
    with ir.Location.unknown(element.context):
        return kind.get(element, scalar)
