# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definitions of programs: their decorators, and which ones use each other."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from relax_runtime.near_misses import did_you_mean

# Names of decorators, in any namespace.
KINDS = {
    "function": "function",
    "func": "function",
    "prim_func": "prim_func",
    "ir_module": "ir_module",
    "macro": "macro",
    "pyfunc": "pyfunc",
    "py_func": "pyfunc",
    "rewriter": "rewriter",
}


_FLAGS = ("check_well_formed", "private", "pure", "s_tir", "tensors")
# The options of each, those of TVM among them; others take what they like.
OPTIONS = {
    "function": ("check_well_formed", "name", "private", "pure"),
    "prim_func": ("check_well_formed", "name", "private", "s_tir", "tensors"),
    "ir_module": ("check_well_formed", "s_tir"),
}


@dataclasses.dataclass
class Decorator:
    """The decorator of a definition: its kind, its options and its text."""

    name: str
    options: dict[str, Any]
    text: str


def find_decorator(node: Any) -> tuple[str, ast.expr, list[ast.keyword]] | None:
    """Return the kind, the name and the options of the known decorator of a definition."""
    for decorator in node.decorator_list:
        is_call = isinstance(decorator, ast.Call)
        target = decorator.func if is_call else decorator
        name = getattr(target, "attr", getattr(target, "id", ""))
        if name in KINDS:
            return KINDS[name], target, decorator.keywords if is_call else []
    return None


def check_option(kind: str, text: str, name: str, value: Any) -> None:
    """Raise an error if a decorator has no option of a name, or it is no value of it.

    Parameters
    ----------
    kind : str
        One of the values of `KINDS`.
    text : str
        The decorator, for the message.
    name : str
    value : object
    """
    known = OPTIONS.get(kind)
    if known is not None and name not in known:
        hint = did_you_mean(name, known)
        raise ValueError(f"expected options of {text}, {', '.join(known)}, but got '{name}'{hint}")
    if name in _FLAGS and value is not None and not isinstance(value, bool):
        raise TypeError(f"expected {name} to be True or False, but got {value!r}")


def in_order(nodes: dict[str, ast.FunctionDef]) -> list[ast.FunctionDef]:
    """Return functions with those that they call first, as far as that is possible."""
    order: list[ast.FunctionDef] = []
    seen: set[str] = set()
    for start in nodes.values():
        stack = [(start, iter(uses_of(start, nodes)))]
        if start.name in seen:
            continue
        seen.add(start.name)
        while stack:
            node, rest = stack[-1]
            name = next((name for name in rest if name not in seen), None)
            if name is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(name)
                stack.append((nodes[name], iter(uses_of(nodes[name], nodes))))
    return order


def is_recursive(node: ast.FunctionDef, nodes: dict[str, ast.FunctionDef]) -> bool:
    """Say whether a function calls itself, also by way of others."""
    seen: set[str] = set()
    stack = uses_of(node, nodes)
    while stack:
        name = stack.pop()
        if name == node.name:
            return True
        if name not in seen:
            seen.add(name)
            stack += uses_of(nodes[name], nodes)
    return False


def uses_of(node: ast.FunctionDef, nodes: dict[str, Any]) -> list[str]:
    """Return the names of functions that a function mentions."""
    names = []
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and child.attr in nodes:
            names.append(child.attr)
        elif isinstance(child, ast.Name) and child.id in nodes:
            names.append(child.id)
        elif isinstance(child, ast.Subscript) and isinstance(child.slice, ast.Constant):
            names += [child.slice.value] if child.slice.value in nodes else []
    return list(dict.fromkeys(names))
