# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers in attributes: constants of any data type."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.small_types import is_int4_name, unpacked

from ..core.constants import bytes_of
from ..core.dtypes import dtype_name, is_numpy
from .tensor import FORMATS, Array, decode, storage_dtype


def elements(attr: Any) -> Array:
    """Return the elements of a constant tensor, as NumPy holds them.

    Examples
    --------
    >>> from relax_mlir.core.constants import elements_attr
    >>> elements(elements_attr(np.array([1.5, -2.0]), "bfloat16"))
    array([ 1.5, -2. ], dtype=float32)
    """
    element = attr.type.element_type
    dtype = "int64" if isinstance(element, ir.IndexType) else dtype_name(element)
    shape = tuple(attr.type.shape)
    if getattr(attr, "is_splat", False):
        return np.full(shape, attr.get_splat_value().value, storage_dtype(dtype))
    if is_numpy(dtype) and isinstance(attr, ir.DenseElementsAttr):
        return np.array(attr).astype(dtype).reshape(shape)
    return _from_bytes(attr, dtype, shape).reshape(shape)


def _from_bytes(attr: Any, dtype: str, shape: tuple[int, ...]) -> Array:
    memory = bytes_of(attr)
    if is_int4_name(dtype):
        return unpacked(np.frombuffer(memory, np.uint8), shape, dtype)
    if is_numpy(dtype):
        return np.frombuffer(memory, dtype).copy()
    return decode(np.frombuffer(memory, f"uint{FORMATS[dtype].bits}"), dtype)
