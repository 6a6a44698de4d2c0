# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of functions and modules, from the values that a program gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import tir
from ...ir import PrimExpr


def attribute(name: str, value: Any) -> ir.Attribute:
    """Return a value as an attribute.

    Parameters
    ----------
    name : str
        For the message of an error.
    value : None, bool, int, float, str, sequence, mapping, PrimExpr or mlir.ir.Attribute

    Returns
    -------
    mlir.ir.Attribute

    Raises
    ------
    TypeError
        If it is anything else.

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> with default_context():
    ...     print(attribute("sizes", {"n": [1, 2]}))
    {n = [1, 2]}
    """
    if isinstance(value, PrimExpr) and value.value is not None:
        value = value.value
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(name, value)
    if isinstance(value, (tir.IntImm, tir.FloatImm, tir.StringImm)):
        return attribute(name, value.value)
    if hasattr(value, "__index__"):
        return attribute(name, int(value))
    raise TypeError(
        f"expected a bool, int, float, str, list or dict as attribute '{name}', but got {value!r}"
    )


def _items(name: str, values: Any) -> ir.Attribute:
    return ir.ArrayAttr.get([attribute(name, value) for value in values])


def _entries(name: str, values: Any) -> ir.Attribute:
    return ir.DictAttr.get({str(key): attribute(name, value) for key, value in values.items()})


_CONVERSIONS: tuple[tuple[Any, Any], ...] = (
    (ir.Attribute, lambda name, value: value),
    (type(None), lambda name, value: ir.UnitAttr.get()),
    ((bool, np.bool_), lambda name, value: ir.BoolAttr.get(bool(value))),
    (
        (int, np.integer),
        lambda name, value: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value)),
    ),
    ((float, np.floating), lambda name, value: ir.FloatAttr.get_f64(float(value))),
    (str, lambda name, value: ir.StringAttr.get(value)),
    ((list, tuple), _items),
    (dict, _entries),
)
