# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of a program, evaluated as Python does, with each error at its place."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

from mlir import ir

from ...core.expr import GlobalVar
from ..calls import call
from ..state import SpecialForm
from .diagnostics import ScriptError
from .environment import Environment
from .source import Source

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
# Syntax that Python has no method for, with its replacement.
_INSTEAD: dict[type[ast.AST], str] = {
    ast.MatMult: "R.matmul in place of the operator @",
    ast.Eq: "R.equal in place of ==",
    ast.NotEq: "R.not_equal in place of !=",
    ast.Not: "R.logical_not in place of not",
    ast.And: "R.logical_and in place of and",
    ast.Or: "R.logical_or in place of or",
    ast.IfExp: "an if statement in place of a conditional expression",
}


class Evaluator:
    """Evaluates expressions.

    Parameters
    ----------
    source : Source
    env : Environment
    """

    def __init__(self, source: Source, env: Environment) -> None:
        self.source = source
        self.env = env
        # The lookup of names that are not bound, where that is allowed.
        self._implicit: Callable[[str], Any] | None = None

    def error(self, node: ast.AST | None, message: str) -> ScriptError:
        """Return the error that something is wrong at a node."""
        return self.source.error(node, message)

    @contextlib.contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Make operations at a node, and report what goes wrong there."""
        try:
            if ir.Context.current is None:
                yield
                return
            with self.source.location(node):
                yield
        except ScriptError:
            raise
        except Exception as error:
            raise self.error(node, describe(error)) from error

    @contextlib.contextmanager
    def implicit(self, unbound: Callable[[str], Any] | None) -> Iterator[None]:
        """Have names that are not bound stand for something."""
        saved, self._implicit = self._implicit, unbound
        try:
            yield
        finally:
            self._implicit = saved

    def eval(self, node: ast.AST) -> Any:
        """Return the value of an expression.

        Raises
        ------
        ScriptError
            If anything is wrong in it, with the innermost place.
        """
        method = getattr(self, f"_eval_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, f"expected an expression, but got {type(node).__name__}")
        return method(node)

    # -- leaves -------------------------------------------------------------------------------

    def _eval_constant(self, node: ast.Constant) -> Any:
        return node.value

    def _eval_name(self, node: ast.Name) -> Any:
        if self._implicit is not None and (node.id not in self.env):
            return self._implicit(node.id)
        with self.at(node):
            return self.env[node.id]

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        base = self.eval(node.value)
        with self.at(node):
            return getattr(base, node.attr)

    # -- containers ---------------------------------------------------------------------------

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.eval(node.value)
                with self.at(node):
                    items.extend(value)
            else:
                items.append(self.eval(node))
        return items

    def _eval_tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._items(node.elts))

    def _eval_list(self, node: ast.List) -> Any:
        return self._items(node.elts)

    def _eval_set(self, node: ast.Set) -> Any:
        return set(self._items(node.elts))

    def _eval_dict(self, node: ast.Dict) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.eval(value))
            else:
                result[self.eval(key)] = self.eval(value)
        return result

    def _eval_slice(self, node: ast.Slice) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.eval(part) for part in parts))

    def _eval_subscript(self, node: ast.Subscript) -> Any:
        base, index = self.eval(node.value), self.eval(node.slice)
        with self.at(node):
            return base[index]

    # -- operators ----------------------------------------------------------------------------

    def _refuse(self, node: ast.AST, kind: type[ast.AST], *values: Any) -> None:
        """Raise an error if an operator means nothing for values of a program."""
        if kind in _INSTEAD and any(isinstance(value, ir.Value) for value in values):
            raise self.error(node, f"expected {_INSTEAD[kind]} for values of a Relax function")

    def _eval_binop(self, node: ast.BinOp) -> Any:
        lhs, rhs = self.eval(node.left), self.eval(node.right)
        self._refuse(node, type(node.op), lhs, rhs)
        with self.at(node):
            return _BINARY[type(node.op)](lhs, rhs)

    def _eval_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.eval(node.operand)
        self._refuse(node, type(node.op), value)
        with self.at(node):
            return _UNARY[type(node.op)](value)

    def _eval_compare(self, node: ast.Compare) -> Any:
        lhs = self.eval(node.left)
        result: Any = True
        for op, right in zip(node.ops, node.comparators, strict=True):
            rhs = self.eval(right)
            self._refuse(node, type(op), lhs, rhs)
            with self.at(node):
                result = _COMPARE[type(op)](lhs, rhs)
            if len(node.ops) > 1:
                self._refuse(node, ast.And, result)
                if not result:
                    return result
            lhs = rhs
        return result

    def _eval_boolop(self, node: ast.BoolOp) -> Any:
        stop = isinstance(node.op, ast.Or)
        value: Any = None
        for item in node.values:
            value = self.eval(item)
            self._refuse(node, type(node.op), value)
            if bool(value) is stop:
                break
        return value

    def _eval_ifexp(self, node: ast.IfExp) -> Any:
        test = self.eval(node.test)
        self._refuse(node, ast.IfExp, test)
        return self.eval(node.body if test else node.orelse)

    # -- calls --------------------------------------------------------------------------------

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call."""
        keywords: dict[str, Any] = {}
        args = self._items(node.args)
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is None:
                keywords.update(value)
            else:
                keywords[keyword.arg] = value
        return args, keywords

    def _eval_call(self, node: ast.Call) -> Any:
        function = self.eval(node.func)
        if isinstance(function, SpecialForm):
            return function.evaluate(self, node)
        args, keywords = self.arguments(node)
        return self.call(node, function, args, keywords)

    def call(self, node: ast.AST, function: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Call something; a macro or a function of the module too."""
        with self.at(node):
            if isinstance(function, (GlobalVar, ir.Value)):
                return call(function, *args, **keywords)
            if not callable(function):
                raise TypeError(f"expected a function, but got {function!r}")
            return function(*args, **keywords)

    # -- functions of Python ------------------------------------------------------------------

    def _eval_lambda(self, node: ast.Lambda) -> Any:
        names = [arg.arg for arg in node.args.args]
        defaults = [self.eval(default) for default in node.args.defaults]
        optional = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        rest = node.args.vararg
        visible = self.env.flat()

        def function(*args: Any, **keywords: Any) -> Any:
            with self.env.scope() as scope:
                scope.update({**visible, **optional})
                scope.update(zip(names, args, strict=False))
                scope.update(keywords)
                if rest is not None:
                    scope[rest.arg] = args[len(names) :]
                return self.eval(node.body)

        return function

    def _eval_joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.eval(value)) for value in node.values)

    def _eval_formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.eval(node.value)
        conversion: Any = {-1: str, 115: str, 114: repr, 97: ascii}[node.conversion]
        with self.at(node):
            spec = "" if node.format_spec is None else self.eval(node.format_spec)
            return format(value if node.conversion == -1 else conversion(value), spec)

    def _comprehend(
        self, generators: list[ast.comprehension], body: Callable[[], Any]
    ) -> Iterator[Any]:
        if not generators:
            yield body()
            return
        first, *others = generators
        items = self.eval(first.iter)
        with self.at(first.iter):
            iterator = iter(items)
        for item in iterator:
            with self.env.scope():
                self.assign(first.target, item, self.env.bind)
                if all(self.eval(test) for test in first.ifs):
                    yield from self._comprehend(others, body)

    def assign(self, target: ast.AST, value: Any, bind: Callable[[str, Any], None]) -> None:
        """Bind the names of a target to what is in a value."""
        if isinstance(target, ast.Name):
            bind(target.id, value)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.error(target, "expected a name, or names separated by commas")
        with self.at(target):
            items = list(value)
            names = target.elts
            stars = [i for i, name in enumerate(names) if isinstance(name, ast.Starred)]
            if stars:
                first, after = stars[0], len(names) - stars[0] - 1
                items[first : len(items) - after] = [items[first : len(items) - after]]
            if len(items) != len(names):
                raise ValueError(f"expected {len(names)} values, but got {len(items)}")
        for name, item in zip(names, items, strict=True):
            self.assign(name.value if isinstance(name, ast.Starred) else name, item, bind)

    def _eval_listcomp(self, node: ast.ListComp) -> Any:
        return list(self._comprehend(node.generators, lambda: self.eval(node.elt)))

    def _eval_generatorexp(self, node: ast.GeneratorExp) -> Any:
        return self._eval_listcomp(node)  # type: ignore[arg-type]

    def _eval_setcomp(self, node: ast.SetComp) -> Any:
        return set(self._comprehend(node.generators, lambda: self.eval(node.elt)))

    def _eval_dictcomp(self, node: ast.DictComp) -> Any:
        def pair() -> tuple[Any, Any]:
            return self.eval(node.key), self.eval(node.value)

        return dict(self._comprehend(node.generators, pair))


def describe(error: BaseException) -> str:
    """Return a description of the error."""
    if isinstance(error, ir.MLIRError):
        messages = [diagnostic.message for diagnostic in error.error_diagnostics]
        return "; ".join(messages) or error.message
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, (ValueError, TypeError, NameError, AttributeError)) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
