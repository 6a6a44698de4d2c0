# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions about structural information, under the names of the specification.

An answer is True, False, or None where it depends on the values of shape variables.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from ._mlir_libs import _relax_mlir as _ext

__all__ = [
    "binding_vars",
    "check_compatibility",
    "derive_call_result",
    "erase_dims",
    "erase_to_well_defined",
    "is_subtype",
    "unify",
]


def is_subtype(sub: ir.Type, super_: ir.Type) -> bool | None:
    """Say whether each value of type `sub` is of type `super_`.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> matrix = TensorStructInfo(("n", 4), "float32")
    >>> is_subtype(matrix, TensorStructInfo(ndim=2))
    True
    >>> is_subtype(matrix, TensorStructInfo(("n", 5), "float32"))
    False
    >>> is_subtype(matrix, TensorStructInfo(("m", 4), "float32")) is None
    True
    """
    return _ext.is_subtype(sub, super_)


def check_compatibility(actual: ir.Type, expected: ir.Type) -> bool | None:
    """Say whether a value of type `actual` may be used where `expected` is.

    Returns
    -------
    bool or None
        None: possibly, which is checked at run time.
    """
    return _ext.check_compatibility(actual, expected)


def unify(lhs: ir.Type, rhs: ir.Type) -> ir.Type:
    """Return the least upper bound of two types.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> print(unify(TensorStructInfo(("n", 4)), TensorStructInfo(("m", 4))))
    !relax.tensor<ndim = 2>
    """
    return _ext.unify(lhs, rhs)


def erase_dims(type_: ir.Type) -> ir.Type:
    """Return the type without dimensions; rank, data type and structure stay."""
    return _ext.erase_dims(type_)


def erase_to_well_defined(type_: ir.Type, names: Iterable[str]) -> ir.Type:
    """Return the type without the dimensions that use other variables than `names`.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> print(erase_to_well_defined(TensorStructInfo(("n", "m"), "float32"), ["n"]))
    !relax.tensor<ndim = 2, f32>
    """
    return _ext.erase_to_well_defined(type_, list(names))


def binding_vars(type_: ir.Type) -> list[str]:
    """Return the variables that stand alone in a dimension: those that the type may bind.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> binding_vars(TensorStructInfo(("n", "m * 4")))
    ['n']
    """
    return _ext.binding_vars(type_)


def derive_call_result(callee: ir.Type, arguments: Iterable[ir.Type]) -> ir.Type:
    """Return the type of a call of a function with arguments of these types.

    Raises
    ------
    ValueError
        If the number of arguments is not that of the parameters.
    """
    return _ext.derive_call_result(callee, list(arguments))
