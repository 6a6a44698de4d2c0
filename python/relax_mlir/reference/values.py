# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values of the language, besides tensors, and how errors describe them.

=============== ============================================================================
kind            in the interpreter
=============== ============================================================================
tensor          `Tensor`
tuple           ``tuple``
shape           `Shape`
primitive value ``bool``, ``int`` or ``float``
closure         `Closure`
packed function ``tvm_ffi.Function``
string          ``str``
data type       `DataType`
null object     ``None``
other objects   what tvm-ffi has, passed on as they are
=============== ============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from mlir import ir

from .tensor import Tensor


class Shape(tuple[int, ...]):
    """A shape: an immutable tuple of dimensions, and no tuple of the language."""

    __slots__ = ()


class DataType(str):
    """A data type as a value: its name."""

    __slots__ = ()


@dataclass(eq=False)
class Closure:
    """A function with what it captured (SE03).

    Attributes
    ----------
    name : str
        For errors: that of the function around it comes first.
    op : mlir.ir.OpView
        A ``relax.func``, ``relax.closure`` or kernel.
    info : FuncStructInfo, or None
        Its type at run time, with captured dimensions as numbers (MC06).
    values : mapping
        The captured values.
    dims : mapping
        The captured shape variables.
    """

    name: str
    op: Any
    info: Any
    values: Mapping[ir.Value, Any] = field(default_factory=dict, repr=False)
    dims: Mapping[str, Any] = field(default_factory=dict, repr=False)
    interpreter: Any = field(default=None, repr=False)

    def __call__(self, *args: Any) -> Any:
        """Call it from Python, with values of the interpreter."""
        return self.interpreter.call(self, list(args))


def count(number: int, noun: str) -> str:
    """Return "1 field", "2 fields".

    Examples
    --------
    >>> count(2, "field")
    '2 fields'
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def describe(value: Any) -> str:
    """Return a description of a value, for an error.

    Examples
    --------
    >>> describe(3), describe(Shape((2,))), describe((1, 2))
    ('the integer 3', 'a shape of rank 1, (2,)', 'a tuple of 2 fields')
    """
    for kind, text in _DESCRIPTIONS:
        if isinstance(value, kind):
            return text(value)
    return f"an object of type {type(value).__name__}"


_DESCRIPTIONS: list[tuple[Any, Any]] = [
    (Tensor, lambda v: f"a tensor of rank {v.data.ndim}, {v.dtype}, shape {v.shape}"),
    (bool, lambda v: f"the Boolean {v}"),
    (int, lambda v: f"the integer {v}" if -(2**63) <= v < 2**63 else "an integer beyond int64"),
    (float, lambda v: f"the float {v:f}"),
    (Shape, lambda v: f"a shape of rank {len(v)}, {tuple(v)}"),
    (tuple, lambda v: f"a tuple of {count(len(v), 'field')}"),
    (DataType, lambda v: "a data type"),
    (str, lambda v: "a string"),
    (type(None), lambda v: "None"),
    ((Closure, tvm_ffi.Function), lambda v: "a function"),
]
