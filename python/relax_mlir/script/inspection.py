# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of tensors in a program, such as ``x.shape[0]``: calls of ``R.inspect``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlir import ir

from .. import op as _op
from ..core.ir import TensorStructInfo
from .operators import argument


class _Dims:
    """``x.shape`` or ``x.strides``, of which a program takes one by its index."""

    def __init__(self, name: str, tensor: ir.Value, read: Callable[..., ir.Value]) -> None:
        self._name, self._tensor, self._read = name, tensor, read

    def __getitem__(self, axis: Any) -> ir.Value:
        return self._read(self._tensor, argument(axis))

    __iter__ = None  # it is no list of dimensions

    def __repr__(self) -> str:
        whole = ", or R.shape_of(x)" if self._name == "shape" else ""
        return f"x.{self._name} as a whole; write x.{self._name}[i]{whole}"


class _DType:
    """``x.dtype``, of which a program takes the parts."""

    def __init__(self, tensor: ir.Value) -> None:
        self._tensor = tensor

    def __getattr__(self, name: str) -> ir.Value:
        read = _PARTS.get(name)
        if read is None:
            raise AttributeError(
                f"expected x.dtype.{', x.dtype.'.join(_PARTS)} of a tensor, but got x.dtype.{name}"
            )
        return read(self._tensor)

    def __repr__(self) -> str:
        return "x.dtype as a whole; write x.dtype.bits"


_PARTS = {
    "code": _op.inspect.tensor_dtype_code,
    "bits": _op.inspect.tensor_dtype_bits,
    "lanes": _op.inspect.tensor_dtype_lanes,
}

_MEMBERS: dict[str, Callable[[ir.Value], Any]] = {
    "byte_offset": _op.inspect.tensor_byte_offset,
    "dtype": _DType,
    "elem_offset": _op.inspect.tensor_elem_offset,
    "ndim": _op.inspect.tensor_ndim,
    "shape": lambda x: _Dims("shape", x, _op.inspect.tensor_shape_i),
    "strides": lambda x: _Dims("strides", x, _op.inspect.tensor_stride_i),
}


def inspector(value: Any, name: str) -> Callable[[ir.Value], Any] | None:
    """Return what reads an attribute of a value of a program; None where it has no such one."""
    is_tensor = isinstance(value, ir.Value) and isinstance(value.type, TensorStructInfo)
    return _MEMBERS.get(name) if is_tensor else None
