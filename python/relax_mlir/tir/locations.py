# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places and names of tensor programs as locations, and what they say as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..core.dtypes import element_type
from . import stmt as st
from .expr import FloatImm, IntImm, StringImm


def location_of(span: st.Span | None, *names: str) -> ir.Location:
    """Return a place in the source as a location with names."""
    loc = (
        ir.Location.unknown()
        if span is None
        else ir.Location.file(span.file, span.line, span.column)
    )
    for name in reversed(names):
        if name:
            loc = ir.Location.name(name, childLoc=loc)
    return loc


def location_names(loc: ir.Location) -> list[str]:
    """Return the names in a location, outermost first.

    Examples
    --------
    >>> from mlir import ir
    >>> with ir.Context():
    ...     location_names(location_of(None, "C", "i"))
    ['C', 'i']
    """
    names = []
    while loc.is_a_name():
        names.append(loc.name_str)
        loc = loc.child_loc
    return names


def to_attribute(value: Any) -> ir.Attribute:
    """Return a value of ``T.func_attr`` as an attribute.

    Raises
    ------
    TypeError
        If there is no such attribute.
    """
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f64(value)
    if isinstance(value, str | StringImm):
        return ir.StringAttr.get(value if isinstance(value, str) else value.value)
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, IntImm) and value.dtype == "bool":
        return ir.BoolAttr.get(bool(value.value))
    if isinstance(value, IntImm):
        return ir.IntegerAttr.get(element_type(value.dtype), value.value)
    if isinstance(value, FloatImm):
        return ir.FloatAttr.get(element_type(value.dtype), value.value)
    if isinstance(value, list | tuple):
        return ir.ArrayAttr.get([to_attribute(element) for element in value])
    if isinstance(value, Mapping):
        return ir.DictAttr.get({str(key): to_attribute(item) for key, item in value.items()})
    raise TypeError(f"expected a number, a string, a list or a dictionary, but got {value!r}")
