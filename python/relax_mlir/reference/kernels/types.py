# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of scalars in kernels."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlir import ir

from ...core.dtypes import dtype_name, is_numpy
from ..tensor import Array, is_float, round_float, storage_dtype


@dataclass(frozen=True)
class ScalarType:
    """The type of a scalar, or of the elements of a tensor.

    Attributes
    ----------
    name : str
        The data type; "int64" for ``index``.
    dtype : numpy.dtype
        The data type of NumPy that holds it.
    """

    name: str
    dtype: np.dtype[Any]

    def constant(self, value: Any) -> Any:
        """Return a number as a scalar of this type; integers wrap around."""
        if self.dtype.kind in "iu":
            bits = 8 * self.dtype.itemsize
            wrapped = int(value) & ((1 << bits) - 1)
            if self.dtype.kind == "i" and wrapped >> (bits - 1):
                wrapped -= 1 << bits
            return self.dtype.type(wrapped)
        return self.round(np.float64(value)) if self.dtype.kind == "f" else np.bool_(value)

    def round(self, data: Any) -> Any:
        """Return floats rounded to this type."""
        if is_numpy(self.name):
            return data.astype(self.dtype, copy=False)
        return round_float(data, self.name)[()]

    def undefined(self, shape: tuple[int, ...]) -> Array:
        """Return an array whose elements nobody should read: NaN, or as large as can be."""
        if self.dtype.kind == "f":
            return np.full(shape, np.nan, self.dtype)
        fill = True if self.dtype.kind == "b" else np.iinfo(self.dtype).max
        return np.full(shape, fill, self.dtype)

    @property
    def is_float(self) -> bool:
        """Whether it is a type of floats."""
        return is_float(self.name)

    @property
    def needs_rounding(self) -> bool:
        """Whether NumPy computes with more digits than the type has."""
        return not is_numpy(self.name)


@functools.cache
def _named(name: str) -> ScalarType:
    return ScalarType(name, np.dtype(storage_dtype(name)))


def scalar_type(type_: ir.Type) -> ScalarType:
    """Return the type of a scalar, or of the elements of a memref or tensor.

    Examples
    --------
    >>> with ir.Context():
    ...     scalar_type(ir.Type.parse("bf16")).dtype.name
    'float32'
    """
    if isinstance(type_, ir.ShapedType):
        type_ = type_.element_type
    if isinstance(type_, ir.IndexType):
        return _named("int64")
    return _named(dtype_name(type_))
