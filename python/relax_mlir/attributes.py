# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python values as attributes of functions and modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mlir import ir

from .context import current_context


def attribute(name: str, value: Any) -> ir.Attribute:
    """Return a Python value as an attribute.

    Parameters
    ----------
    name : str
        For messages.
    value : bool, int, float, str, None, mlir.ir.Attribute, mlir.ir.Type, or list, tuple or dict

    Raises
    ------
    TypeError
        If there is no such attribute.

    Examples
    --------
    >>> print(attribute("tile", [8, 4]), attribute("options", {"fast": True}))
    [8, 4] {fast = true}
    """
    with current_context():
        return _attribute(name, value)


def _attribute(name: str, value: Any) -> ir.Attribute:
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, ir.Type):
        return ir.TypeAttr.get(value)
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, (bool, np.bool_)):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, (int, np.integer)):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))
    if isinstance(value, (float, np.floating)):
        return ir.FloatAttr.get_f64(float(value))
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, (list, tuple)):
        return ir.ArrayAttr.get([_attribute(name, each) for each in value])
    if isinstance(value, Mapping):
        return ir.DictAttr.get({str(k): _attribute(name, each) for k, each in value.items()})
    raise TypeError(
        f"expected a bool, int, float, str, list, dict or Attribute as '{name}', but got {value!r}"
    )
