# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of operations compared with values of Python."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from mlir import ir

from ..core.dtypes import dtype_name, element_type
from ..core.ir import Dim, ShapeExpr
from ..op._signatures import default_arguments, is_default

_MISSING: Any = object()
# Attributes that say how operands are grouped, or are compared apart.
_STRUCTURAL = ("operandSegmentSizes", "resultSegmentSizes", "callee", "sinfo_args", "name")


def as_python(attr: ir.Attribute) -> Any:
    """Return an attribute as a value of Python, as far as there is one.

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> as_python(ir.Attribute.parse("[1, true, array<i64: 1, 2>]", default_context()))
    [1, True, [1, 2]]
    """
    if isinstance(attr, ir.UnitAttr):
        return True
    if isinstance(attr, ir.DictAttr):
        return {named.name: as_python(named.attr) for named in attr}
    if isinstance(attr, ShapeExpr):
        return [as_python(dim) for dim in attr.dims]
    if isinstance(attr, Dim):
        return attr if attr.value is None else attr.value
    if isinstance(attr, ir.ArrayAttr):
        return [as_python(item) for item in attr]
    if isinstance(attr, (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseBoolArrayAttr)):
        return list(attr)
    return getattr(attr, "value", attr)


def equals(wanted: Any, attr: Any) -> bool:
    """Say whether an attribute, or its value in Python, is what a pattern wants.

    Parameters
    ----------
    wanted : bool, int, float, str, sequence, mapping, data type, Dim or mlir.ir.Attribute
    attr : mlir.ir.Attribute, or what `as_python` gives

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> axes = ir.Attribute.parse("array<i64: 0, 2>", default_context())
    >>> equals([0, 2], axes), equals((0, 1), axes), equals("0, 2", axes)
    (True, False, False)
    """
    if isinstance(wanted, ir.Attribute) and not isinstance(wanted, (Dim, ShapeExpr)):
        if wanted == attr:
            return True
        wanted = as_python(wanted)
    actual = as_python(attr) if isinstance(attr, ir.Attribute) else attr
    if isinstance(actual, ir.Type):
        return _same_dtype(wanted, actual)
    if isinstance(wanted, (Dim, ShapeExpr)):
        wanted = as_python(wanted)
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(actual, list)
            and len(wanted) == len(actual)
            and all(map(equals, wanted, actual))
        )
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and (
            wanted.keys() == actual.keys()
            and all(equals(wanted[key], actual[key]) for key in wanted)
        )
    return _same_scalar(wanted, actual)


def _same_dtype(wanted: Any, actual: ir.Type) -> bool:
    if isinstance(wanted, ir.Type):
        return bool(wanted == actual)
    try:
        return dtype_name(element_type(wanted)) == dtype_name(actual)
    except (TypeError, ValueError):
        return False


def _same_scalar(wanted: Any, actual: Any) -> bool:
    is_bool = isinstance(wanted, (bool, np.bool_))
    if is_bool or isinstance(actual, bool):
        return is_bool and isinstance(actual, bool) and bool(wanted == actual)
    if isinstance(wanted, (str, float)) or isinstance(actual, (str, float)):
        return bool(isinstance(wanted, str) == isinstance(actual, str) and wanted == actual)
    try:
        wanted = operator.index(wanted)
    except TypeError:
        wanted = getattr(wanted, "value", wanted)
    return bool(wanted == actual)


def attribute_of(op: ir.Operation, name: str) -> Any:
    """Return an attribute of an operation, or the value that it has where it is left out.

    Parameters
    ----------
    op : mlir.ir.Operation
    name : str
        The name here or in TVM; one of the dialect may be without ``relax.``.

    Returns
    -------
    mlir.ir.Attribute, or a value of Python, or None
    """
    names = [name, f"relax.{name}"]
    if name == "indices_or_sections":
        names += ["sections", "indices"]
    for known in names:
        if known in op.attributes:
            return op.attributes[known]
    return default_arguments(op.name).get(name)


def has_attributes(op: ir.Operation, wanted: dict[str, Any]) -> bool:
    """Say whether an operation has these attributes; None stands for one that is left out."""
    for name, value in wanted.items():
        actual = attribute_of(op, name)
        if actual is None or value is None:
            if actual is not value:
                return False
        elif not equals(value, actual):
            return False
    return True


def stated_attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """Return the attributes that say what an operation does, without those that are default."""
    return {
        name: attr
        for name, attr in op.attributes.items()
        if name not in _STRUCTURAL and not is_default(op.name, name, attr)
    }
