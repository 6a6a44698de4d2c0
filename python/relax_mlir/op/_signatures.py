# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that make operations, and the defaults of their attributes."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .. import op as _namespace
from ..core.context import current_context
from ._builtin_ops_gen import __all__ as _builtin
from ._ccl_ops_gen import __all__ as _ccl
from ._dist_ops_gen import __all__ as _dist
from ._grad_ops_gen import __all__ as _grad
from ._nn_ops_gen import __all__ as _nn
from ._ops_gen import __all__ as _names

# The operators that ODS defines.
_DEFINED: dict[str, list[str]] = {
    "": _names,
    "builtin": _builtin,
    "ccl": _ccl,
    "dist": _dist,
    "grad": _grad,
    "nn": _nn,
}
# Namespaces with operators whose names in the dialect do not say so.
_NAMESPACES = ("nn", "image", "vision", "grad", "ccl", "dist", "builtin", "memory", "vm")
_PREFIX = "relax."


def find_operation(name: str) -> str:
    """Return the name of the operation that an operator is, by its name here or in TVM.

    Raises
    ------
    ValueError
        If the dialect has none.

    Examples
    --------
    >>> find_operation("relax.add"), find_operation("relax.nn.relu")
    ('relax.add', 'relax.relu')
    >>> find_operation("relax.memory.alloc_tensor")
    'relax.builtin.alloc_tensor'
    """
    context = current_context()
    space, _, last = name.rpartition(".")
    inner = "relax.builtin" if space in ("relax.memory", "relax.vm") else "relax"
    for candidate in (name, f"{inner}.{last}"):
        if name.startswith("relax.") or candidate == name:
            known = "." in candidate and context.is_registered_operation(candidate)
            if known:
                return candidate
    short = name.removeprefix("relax.")
    hint = did_you_mean(short, defined_operators(), owner="relax", cutoff=0.75)
    raise ValueError(
        f"expected the name of an operator such as 'relax.add', but got {name!r}{hint}"
    )


def defined_operators() -> dict[str, tuple[str, ...]]:
    """Return the parameters of the operators that ODS defines, by the name after ``R.``.

    Examples
    --------
    >>> defined_operators()["nn.softmax"]
    ('x', 'axis')
    """
    operators = {}
    for prefix, names in _DEFINED.items():
        namespace = getattr(_namespace, prefix) if prefix else _namespace
        for name in names:
            params = inspect.signature(getattr(namespace, name)).parameters
            operators[f"{prefix}.{name}" if prefix else name] = tuple(params)
    return operators


@functools.cache
def operator_path(name: str) -> tuple[str, inspect.Signature] | None:
    """Return the function of R for an operator, and what it takes.

    Examples
    --------
    >>> operator_path("relax.softmax")[0]
    'R.nn.softmax'
    """
    if not name.startswith(_PREFIX):
        return None
    path = name.removeprefix(_PREFIX).split(".")
    for prefix in ([], *([space] for space in _NAMESPACES)):
        found: Any = _namespace
        for part in [*prefix, *path]:
            found = _member(found, part)
        if callable(found):
            return "R." + ".".join([*prefix, *path]), inspect.signature(found)
    return None


@functools.cache
def default_arguments(name: str) -> dict[str, Any]:
    """Return the default attributes of an operator, as Python values.

    Examples
    --------
    >>> default_arguments("relax.sum")
    {'keepdims': False}
    """
    found = operator_path(name)
    if found is None:
        return {}
    return {
        param.name: param.default
        for param in found[1].parameters.values()
        if param.default is not param.empty and param.default is not None
    }


def is_default(op_name: str, name: str, attr: ir.Attribute) -> bool:
    """Say whether an attribute of an operator is what leaving it out means."""
    default = default_arguments(op_name).get(name)
    if default is None:
        return False
    value = getattr(attr, "value", None)
    return type(value) is type(default) and value == default


def _member(namespace: Any, name: str) -> Any:
    """Return the member that a namespace exports under a name."""
    names = getattr(namespace, "__all__", None)
    if namespace is None or (names is not None and name not in names):
        return None
    return getattr(namespace, name, None)
