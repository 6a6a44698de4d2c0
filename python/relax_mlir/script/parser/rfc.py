# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The spelling of the RFC, which has no purity of functions."""

from __future__ import annotations

import ast

_NAMES = ("outputs", "match_shape", "dot", "func", "read_tensor_from_file")
_EFFECTS = ("call_packed", "read_tensor_from_file")


def is_spelling(node: ast.FunctionDef) -> bool:
    """Say whether a function has something that only the RFC's spelling has.

    Examples
    --------
    >>> tree = ast.parse("def f(x: R.Tensor[(n,), 'float32']): return x")
    >>> is_spelling(tree.body[0])
    True
    """
    return any(_is_rfc(child) for child in ast.walk(node))


def _is_rfc(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr in ("Tensor", "Shape")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        keywords = {keyword.arg for keyword in node.keywords}
        is_call = node.func.attr in ("call_tir", "call_dps_packed")
        return node.func.attr in _NAMES or (is_call and not keywords.isdisjoint({"dtype"}))
    return False


def has_effects(node: ast.FunctionDef) -> bool:
    """Say whether a function calls a packed function outside of its dataflow blocks."""
    return any(_has_effects(statement) for statement in node.body)


def _has_effects(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return False
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _EFFECTS:
        return True
    return any(_has_effects(child) for child in ast.iter_child_nodes(node))
