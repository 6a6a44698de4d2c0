# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two programs of Relay are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import ast
from .converters.registry import CONVERTERS
from .text.type_printer import arrays_equal, attributes_equal


def structurally_equal(first: ast.Module | ast.Expr, second: ast.Module | ast.Expr) -> bool:
    """Say whether two programs are the same but for names of variables and places.

    Nodes that one program shares, the other has to share as well: ``f(a, a)`` is not ``f(a, b)``
    even if ``b`` says what ``a`` says. Attributes that are left out are the operator's defaults.

    Parameters
    ----------
    first, second : Module or Expr

    Examples
    --------
    >>> from relax_mlir.frontend.relay import parse_expr
    >>> structurally_equal(parse_expr("fn (%x) { %x + 1f }"), parse_expr("fn (%y) { %y + 1f }"))
    True
    >>> shared = parse_expr("fn (%x) { %0 = exp(%x); %0 + %0 }")
    >>> structurally_equal(shared, parse_expr("fn (%x) { exp(%x) + exp(%x) }"))
    False
    """
    comparison = _Comparison()
    if isinstance(first, ast.Module) and isinstance(second, ast.Module):
        return comparison.modules(first, second)
    if isinstance(first, ast.Module) or isinstance(second, ast.Module):
        return False
    return comparison.exprs(first, second)


class _Bijection:
    """Objects of two programs that stand for each other."""

    def __init__(self) -> None:
        self._first: dict[int, Any] = {}
        self._second: dict[int, Any] = {}

    def known(self, first: object, second: object) -> bool | None:
        """Say whether two objects stand for each other; None if neither has been seen."""
        if id(first) not in self._first and id(second) not in self._second:
            return None
        return self._first.get(id(first)) is second and self._second.get(id(second)) is first

    def add(self, first: object, second: object) -> None:
        """Have two objects stand for each other."""
        self._first[id(first)], self._second[id(second)] = second, first


class _Comparison:
    def __init__(self) -> None:
        self.nodes, self.vars, self.type_vars = _Bijection(), _Bijection(), _Bijection()

    def modules(self, first: ast.Module, second: ast.Module) -> bool:
        """Say whether two modules are the same."""
        if first.types.keys() != second.types.keys():
            return False
        if first.functions.keys() != second.functions.keys():
            return False
        types = [(first.types[name], second.types[name]) for name in first.types]
        functions = [(first.functions[name], second.functions[name]) for name in first.functions]
        return all(self._type_defs(*pair) for pair in types) and all(
            self.exprs(*pair) for pair in functions
        )

    def exprs(self, first: ast.Expr, second: ast.Expr) -> bool:
        """Say whether two expressions are the same."""
        stack = [(first, second)]
        while stack:
            one, other = stack.pop()
            if type(one) is not type(other):
                return False
            if isinstance(one, _LEAVES):
                if not self._leaves(one, other):
                    return False
                continue
            known = self.nodes.known(one, other)
            if known is False or (known is None and not self._parts(one, other)):
                return False
            if known is None:
                self.nodes.add(one, other)
                stack.extend(zip(ast.children(one), ast.children(other), strict=True))
        return True

    def _leaves(self, first: Any, second: Any) -> bool:
        if isinstance(first, ast.Var):
            return self._same_vars(first, second)
        if isinstance(first, ast.Constant):
            return arrays_equal(first.data, second.data)
        if isinstance(first, ast.ConstructorRef):
            return _same_constructors(first.constructor, second.constructor)
        return bool(first.name == second.name)

    def _parts(self, first: Any, second: Any) -> bool:
        """Say whether two nodes are the same but for their children."""
        compare = self._PARTS.get(type(first))
        same_number = len(ast.children(first)) == len(ast.children(second))
        return same_number and (compare is None or compare(self, first, second))

    def _calls(self, first: ast.Call, second: ast.Call) -> bool:
        name = first.op.name if isinstance(first.op, ast.OpRef) else ""
        types = name != "" or self._all_types(first.type_args, second.type_args)
        return types and attributes_equal(_all_attrs(name, first), _all_attrs(name, second))

    def _functions(self, first: ast.Function, second: ast.Function) -> bool:
        return (
            self._all_types(first.type_params, second.type_params)
            and self._all_vars(first.params, second.params)
            and self._types(first.result, second.result)
            and attributes_equal(first.attrs, second.attrs)
        )

    def _lets(self, first: ast.Let, second: ast.Let) -> bool:
        return self._same_vars(first.var, second.var)

    def _fields(self, first: ast.TupleGetItem, second: ast.TupleGetItem) -> bool:
        return first.index == second.index

    def _matches(self, first: ast.Match, second: ast.Match) -> bool:
        pairs = zip(first.clauses, second.clauses, strict=True)
        return first.complete == second.complete and all(
            self._patterns(one.pattern, other.pattern) for one, other in pairs
        )

    _PARTS: Mapping[type, Callable[[_Comparison, Any, Any], bool]] = {
        ast.Call: _calls, ast.Function: _functions, ast.Let: _lets, ast.Match: _matches,
        ast.TupleGetItem: _fields,
    }  # fmt: skip

    # -- variables and patterns -----------------------------------------------------------------

    def _same_vars(self, first: ast.Var, second: ast.Var) -> bool:
        known = self.vars.known(first, second)
        if known is None:
            self.vars.add(first, second)
            return self._types(first.type, second.type)
        return known

    def _all_vars(self, first: Sequence[ast.Var], second: Sequence[ast.Var]) -> bool:
        return len(first) == len(second) and all(map(self._same_vars, first, second))

    def _patterns(self, first: Any, second: Any) -> bool:
        if type(first) is not type(second):
            return False
        if isinstance(first, ast.VarPattern):
            return self._same_vars(first.var, second.var)
        if isinstance(first, ast.WildcardPattern):
            return True
        if isinstance(first, ast.ConstructorPattern) and not _same_constructors(
            first.constructor, second.constructor
        ):
            return False
        same_number = len(first.patterns) == len(second.patterns)
        return same_number and all(map(self._patterns, first.patterns, second.patterns))

    # -- types ----------------------------------------------------------------------------------

    def _types(self, first: Any, second: Any) -> bool:
        """Say whether two types are the same; one that is left out is `IncompleteType`."""
        first, second = first or ast.IncompleteType(), second or ast.IncompleteType()
        if isinstance(first, ast.TypeVar) and isinstance(second, ast.TypeVar):
            known = self.type_vars.known(first, second)
            if known is None:
                self.type_vars.add(first, second)
            return known is not False
        if type(first) is not type(second):
            return False
        if isinstance(first, ast.TensorType):
            same = first.dtype == second.dtype and len(first.shape) == len(second.shape)
            return same and all(map(self._dims, first.shape, second.shape))
        if isinstance(first, ast.FuncType):
            ends = (*first.params, first.result), (*second.params, second.result)
            type_params = self._all_types(first.type_params, second.type_params)
            return type_params and self._all_types(*ends)
        if isinstance(first, ast.TupleType):
            return self._all_types(first.fields, second.fields)
        if isinstance(first, ast.DataType):
            return first.name == second.name and self._all_types(first.args, second.args)
        return not isinstance(first, ast.RefType) or self._types(first.value, second.value)

    def _all_types(self, first: Sequence[ast.Type], second: Sequence[ast.Type]) -> bool:
        return len(first) == len(second) and all(map(self._types, first, second))

    def _dims(self, first: Any, second: Any) -> bool:
        if isinstance(first, ast.TypeVar) and isinstance(second, ast.TypeVar):
            return self._types(first, second)
        return bool(first == second)

    def _type_defs(self, first: ast.TypeDef, second: ast.TypeDef) -> bool:
        if len(first.constructors) != len(second.constructors):
            return False
        pairs = zip(first.constructors, second.constructors, strict=True)
        return self._all_types(first.params, second.params) and all(
            one.name == other.name and self._all_types(one.fields, other.fields)
            for one, other in pairs
        )


_LEAVES = (ast.Var, ast.GlobalVar, ast.OpRef, ast.ConstructorRef, ast.Constant)


def _same_constructors(first: ast.Constructor, second: ast.Constructor) -> bool:
    return (first.name, first.type_name) == (second.name, second.type_name)


def _all_attrs(name: str, call: ast.Call) -> dict[str, Any]:
    """Return the attributes of a call with those that are left out."""
    converter = CONVERTERS.get(name)
    return {**(converter.attrs if converter else {}), **call.attrs}
