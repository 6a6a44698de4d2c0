# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that calls return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import tvm_ffi
from tvm_ffi import core

from .small_types import array_of, exported, is_small, is_small_name

_T = TypeVar("_T")

try:
    from ._calls import uncollected
except ImportError:  # another Python than CPython, or built without its headers

    def uncollected(cls: type[_T]) -> type[_T]:
        """Return the class itself."""
        return cls


@uncollected
class Tensor(tvm_ffi.Tensor):
    """A tensor that a compiled function returned.

    It is a ``tvm_ffi.Tensor`` that behaves like an array where it is read: it has a length and
    elements, prints its values, and NumPy functions take it. Nothing is copied, but integers of 4
    bits; a view keeps the memory alive. ``torch.from_dlpack`` and any other consumer of DLPack view
    it as well.

    Raises
    ------
    TypeError
        Where values are read: if the memory is not that of the host; or if NumPy lacks the data
        type (bfloat16, floats of 8 bits, integers of 4 bits) and the package ml_dtypes is not
        installed.

    Examples
    --------
    >>> from relax_mlir import VirtualMachine, compile
    >>> vm = VirtualMachine(compile('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }'''))
    >>> y = vm["main"](np.array([0, 1], "float32"))
    >>> y
    Tensor([1.       , 2.7182817], dtype=float32)
    >>> y.shape, len(y), float(y[0])
    ((2,), 2, 1.0)
    >>> np.log(y)
    array([0., 1.], dtype=float32)
    """

    __slots__ = ()

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a view of the elements, without a copy.

        What NumPy lacks (bfloat16, floats of 8 bits, integers of 4 bits) has data types of the
        package ml_dtypes, where it is installed. Integers of 4 bits are copied: they take a byte
        each in an array, which cannot be written.
        """
        if self.device.type != "cpu":
            raise TypeError(
                f"expected a tensor in host memory, but it is on {self.device}: copy it first"
            )
        try:
            is_small = is_small_name(str(self.dtype))
            return array_of(self) if is_small else np.from_dlpack(self)
        except (BufferError, ImportError, RuntimeError, TypeError) as error:
            raise TypeError(
                f"NumPy has no data type {self.dtype}: install ml_dtypes, use torch.from_dlpack, "
                "or cast the result in the model"
            ) from error

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"expected to copy {array.dtype} to {np.dtype(dtype)}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __reduce__(self) -> Any:
        return _restored, (self.numpy(),)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return self.numpy()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __index__(self) -> int:
        return self.numpy().__index__()

    def __float__(self) -> float:
        return float(self.numpy())

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self.numpy().item()

    def tolist(self) -> Any:
        """Return nested lists of Python numbers; a number where there is no dimension."""
        return self.numpy().tolist()

    def __repr__(self) -> str:
        try:
            array = self.numpy()
        except TypeError:
            return f"Tensor(shape={self.shape}, dtype={self.dtype}, device={self.device})"
        values = np.array2string(array, separator=", ", prefix="Tensor(")
        return f"Tensor({values}, dtype={array.dtype})"


def _restored(array: np.ndarray[Any, Any]) -> Any:
    """Return what was copied or stored; another tensor than that."""
    copied = array.copy()
    return tvm_ffi.from_dlpack(exported(copied) if is_small(copied.dtype) else copied)


def install() -> None:
    """Let functions return `Tensor`, unless another package has set a class before.

    TVM, which shares tvm-ffi with this package in one process, sets its own, whose interface is
    the same.
    """
    if core._CLASS_TENSOR is tvm_ffi.Tensor:
        core._set_class_tensor(Tensor)
