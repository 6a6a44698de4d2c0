# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The data types of the namespace ``T``."""

from __future__ import annotations

from typing import Any

from ..tir import expr as _expr
from ..tir.expr import FloatImm, PrimExpr, Var

__all__ = [
    "DType",
    "bfloat16",
    "bool",
    "boolean",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "handle",
    "index",
    "int8",
    "int16",
    "int32",
    "int64",
    "let",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "var",
    "void",
]


class DType:
    """A data type. It annotates parameters, and makes variables, constants and casts.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> T_int64 = DType("int64")
    >>> T_int64(3), T_int64(Var("x", "int32"))
    (int64(3), Cast('int64', x))
    """

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    @property
    def dtype(self) -> str:
        """The name."""
        return self.name

    def __call__(self, value: Any = None, is_size_var: Any = False) -> PrimExpr:
        """Return a new variable, or a value as one of the data type."""
        if value is None:
            return _expr.SizeVar("", self.name) if is_size_var else Var("", self.name)
        if self.name == "handle":
            return Var("", "handle")
        if isinstance(value, str):
            if _expr.is_float(self.name):
                return FloatImm(self.name, float(value))
            raise TypeError(f"expected a number, but got {value!r}")
        return _expr.cast(self.name, value)

    def __repr__(self) -> str:
        return f"T.{self.name}"


bool = DType("bool")  # noqa: A001 (TVM's name)
boolean = bool
int8, int16, int32, int64 = (DType(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (DType(f"float{bits}") for bits in (16, 32, 64))
bfloat16 = DType("bfloat16")
float8_e4m3fn, float8_e5m2 = DType("float8_e4m3fn"), DType("float8_e5m2")
handle = DType("handle")
void = DType("void")


def var(dtype: Any, name: str = "") -> Var:
    """Return a new variable."""
    return Var(name, dtype)


def index(value: Any = None) -> PrimExpr:
    """Return a variable or a constant of the type of indices, int64."""
    return int64(value)


class LetType:
    """``T.let`` and ``T.let[T.int32]``: the annotation of a name for a value.

    Parameters
    ----------
    dtype : str, optional
    """

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = dtype

    def __getitem__(self, dtype: Any) -> LetType:
        return LetType(_dtype(dtype))


let = LetType()


def _dtype(dtype: Any) -> str:
    return dtype.name if isinstance(dtype, DType) else _expr.dtype_of(dtype)
