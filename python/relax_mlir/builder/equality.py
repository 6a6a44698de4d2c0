# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equality of modules apart from how they are written."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from ..core.ir_module import ModuleLike, as_module
from ..core.variables import walk
from ..op._signatures import is_default

# Attributes that only hold names of values.
_NAMES = ("arg_names",)


def _structure(mod: ModuleLike) -> tuple[dict[str, str], dict[str, str]]:
    """Return the structure of a module, without names of values, places and order."""
    copy = as_module(mod).clone()
    for op in walk(copy.operation):
        for name in list(op.attributes):
            if name in _NAMES or is_default(op.name, name, op.attributes[name]):
                del op.attributes[name]
    texts = {
        name: op.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
        for name, op in copy.functions.items()
    }
    attributes = copy.operation.attributes
    return {name: str(attributes[name]) for name in attributes}, texts


def structural_equal(lhs: ModuleLike, rhs: ModuleLike) -> bool:
    """Say whether two modules are the same apart from how they are written.

    Parameters
    ----------
    lhs, rhs : module

    Returns
    -------
    bool
        Names of values and parameters, places in files and the order of functions do not matter,
        nor whether an attribute that has its default value is stated.
        Names of functions and of shape variables do.

    Examples
    --------
    >>> text = '''relax.func @f(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }'''
    >>> structural_equal(text, text.replace("%x", "%y"))
    True
    >>> structural_equal(text, text.replace("@f", "@g"))
    False
    """
    return _structure(lhs) == _structure(rhs)


def assert_structural_equal(lhs: ModuleLike, rhs: ModuleLike) -> None:
    """Raise AssertionError with the difference if two modules are not the same.

    Parameters
    ----------
    lhs, rhs : module
        As of `structural_equal`.
    """
    left, right = _structure(lhs), _structure(rhs)
    if left == right:
        return
    difference = difflib.unified_diff(_lines(*left), _lines(*right), "lhs", "rhs", lineterm="", n=1)
    text = "\n".join(difference)
    raise AssertionError(f"expected the same module, but got\n{text}")


def _lines(attrs: Mapping[str, str], functions: Mapping[str, str]) -> list[str]:
    return [
        *(f"{name} = {attr}" for name, attr in sorted(attrs.items())),
        *(line for _, text in sorted(functions.items()) for line in text.splitlines()),
    ]
