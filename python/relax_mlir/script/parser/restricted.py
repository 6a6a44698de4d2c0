# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names for programs that are read from files and must not run as Python.

The parser evaluates expressions of a program. Here they see the operators of TVMScript and
harmless functions of Python alone, and reach no module, no hidden attribute and no method that does
more than read a value.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Mapping
from typing import Any

from .environment import Environment
from .source import Source

# The functions of Python that only compute.
_PYTHON = (
    *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "isinstance"),
    *("len", "list", "max", "min", "pow", "range", "reversed", "round", "set", "slice", "sorted"),
    *("str", "sum", "tuple", "zip"),
)
_SAFE_BUILTINS = {name: getattr(builtins, name) for name in _PYTHON}

# The modules with the names of TVMScript, and the packages whose functions those are.
_NAMESPACES = ("relax_mlir.script.ir", "relax_mlir.script.relax", "relax_mlir.script.tir")
_OPERATORS = "relax_mlir.op"
_PACKAGES = ("relax_mlir.op", "relax_mlir.script", "relax_mlir.tir", "relax_mlir.core")
# What parses again, and what prints.
_REFUSED_PACKAGES = ("relax_mlir.script.parser.entry", "relax_mlir.script.printer")

# Attributes of values of MLIR and NumPy that only read.
_READ = frozenset({"astype", "dtype", "item", "ndim", "shape", "size", "struct_info", "tolist"})
_FOREIGN = ("mlir", "numpy")
# Methods of texts that look up attributes.
_FORMATS = frozenset({"format", "format_map"})


class RestrictedEnvironment(Environment):
    """An environment whose programs only compute.

    Parameters
    ----------
    *around : mapping of str to value
        As of `Environment`.

    Examples
    --------
    >>> names = RestrictedEnvironment({})
    >>> "len" in names, "open" in names
    (True, False)
    >>> names.member([], "__class__")
    Traceback (most recent call last):
    ...
    ValueError: expected a name of TVMScript, but got '__class__', which the text of a file cannot use
    """  # noqa: E501 (the line of the message)

    python: Mapping[str, Any] = _SAFE_BUILTINS

    def member(self, base: Any, name: str) -> Any:
        """Return an attribute of a value, where reading it is all that it allows.

        Raises
        ------
        ValueError
            If the attribute leads out of TVMScript.
        """
        if name.startswith("_") or not _may_read(base, name):
            raise _refusal(name)
        value = super().member(base, name)
        if isinstance(value, types.ModuleType) and not _is_namespace(value):
            raise _refusal(name)
        if isinstance(base, types.ModuleType) and not _is_of_script(value):
            raise _refusal(name)
        return value


def _refusal(name: str) -> ValueError:
    return ValueError(
        f"expected a name of TVMScript, but got '{name}', which the text of a file cannot use"
    )


def _is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in packages)


def _may_read(base: Any, name: str) -> bool:
    if isinstance(base, str) and name in _FORMATS:
        return False
    is_foreign = any(_is_within(cls.__module__, _FOREIGN) for cls in type(base).__mro__)
    return not is_foreign or name in _READ


def _is_namespace(module: types.ModuleType) -> bool:
    return module.__name__ in _NAMESPACES or _is_within(module.__name__, (_OPERATORS,))


def _is_of_script(value: Any) -> bool:
    """Say whether a member of a module is one of TVMScript: no import of that module."""
    if isinstance(value, types.ModuleType) or not callable(value):
        return True
    module = str(getattr(value, "__module__", None) or type(value).__module__)
    return _is_within(module, _PACKAGES) and not _is_within(module, _REFUSED_PACKAGES)


def bind_statement(
    source: Source, node: ast.stmt, names: dict[str, Any], default: Mapping[str, Any]
) -> None:
    """Bind the names of a statement around a program that does not run as Python.

    Parameters
    ----------
    source : Source
    node : ast.stmt
    names : dict
        The names of the program, which get those of the statement.
    default : mapping of str to value
        The namespaces by their usual names, ``I``, ``R`` and ``T``.

    Raises
    ------
    ScriptError
        If it is neither an import of TVMScript's namespaces nor a text.
    """
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.ImportFrom) and node.module in ("tvm.script", "relax_mlir.script"):
        known = {"ir": "I", "relax": "R", "tir": "T"}
        for alias in node.names:
            if alias.name not in known and alias.name not in known.values():
                raise source.error(node, f"expected ir, relax or tir, but got '{alias.name}'")
            key = known.get(alias.name, alias.name)
            names[alias.asname or alias.name] = default[key]
        return
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return
    if isinstance(node, ast.Import) and all(one.name.startswith("tvm") for one in node.names):
        return
    raise source.error(
        node,
        "expected imports of tvm.script or relax_mlir.script, metadata and one program, as the "
        "file does not run as Python; use relax_mlir.script.from_source for one that does",
    )
