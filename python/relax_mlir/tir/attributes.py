# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of functions and modules, from the values that a program gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mlir import ir

from ..core import function
from ..core.context import current_context
from .expr import FloatImm, IntImm, StringImm


def attribute(name: str, value: Any) -> ir.Attribute:
    """Return a Python value as an attribute, in the current context.

    Parameters
    ----------
    name : str
        For messages.
    value : None, bool, int, float, str, sequence, mapping, constant, mlir.ir.Attribute or Type
        None is the unit attribute; integers become 64-bit ones and floats doubles. An attribute,
        such as a dimension, stays as it is.

    Returns
    -------
    mlir.ir.Attribute

    Raises
    ------
    TypeError
        If it is anything else.

    Examples
    --------
    >>> print(attribute("tile", [8, 4]), attribute("options", {"fast": True}))
    [8, 4] {fast = true}
    """
    with current_context():
        return _attribute(name, value)


def _attribute(name: str, value: Any) -> ir.Attribute:
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(name, value)
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return _attribute(name, value.value)
    if hasattr(value, "__index__"):
        return _attribute(name, int(value))
    raise TypeError(
        f"expected a bool, int, float, str, list, dict or Attribute as '{name}', but got {value!r}"
    )


def _items(name: str, values: Any) -> ir.Attribute:
    return ir.ArrayAttr.get([_attribute(name, value) for value in values])


def _entries(name: str, values: Any) -> ir.Attribute:
    return ir.DictAttr.get({str(key): _attribute(name, value) for key, value in values.items()})


_CONVERSIONS: tuple[tuple[Any, Any], ...] = (
    (ir.Attribute, lambda name, value: value),
    (ir.Type, lambda name, value: ir.TypeAttr.get(value)),
    (type(None), lambda name, value: ir.UnitAttr.get()),
    ((bool, np.bool_), lambda name, value: ir.BoolAttr.get(bool(value))),
    (
        (int, np.integer),
        lambda name, value: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value)),
    ),
    ((float, np.floating), lambda name, value: ir.FloatAttr.get_f64(float(value))),
    (str, lambda name, value: ir.StringAttr.get(value)),
    ((list, tuple), _items),
    (Mapping, _entries),
)

function.make_attribute = attribute
