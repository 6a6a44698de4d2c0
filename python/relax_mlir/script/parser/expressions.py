# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of a program, evaluated as Python does, with each error at its place.

This is the one evaluator of Python's syntax. Where values of a program are not known yet, Python's
meaning of an operator is not enough: `relax_expressions` and `tir.expressions` override the methods
that say what is done with values (`apply`, `combine`, `choose`, ...), not those that read syntax.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from mlir import ir

from ...core.diagnostics import reason
from .diagnostics import ScriptError
from .environment import Environment
from .source import TOO_DEEP, Source

# Computes a value when it is needed.
Later = Callable[[], Any]

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


class Evaluator:
    """Evaluates expressions.

    Parameters
    ----------
    source : Source
    env : Environment
    """

    # What is expected at its place, for messages.
    what = "an expression"

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
            with self.location(node):
                yield
        except ScriptError:
            raise
        except Exception as error:
            raise self.error(node, describe(error)) from error

    def location(self, node: ast.AST) -> contextlib.AbstractContextManager[Any]:
        """Return the location of the operations that are made at a node."""
        if ir.Context.current is None:
            return contextlib.nullcontext()
        return self.source.location(node)

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
            raise self.error(node, f"expected {self.what}, but got {kind_of(node)}")
        try:
            return method(node)
        except RecursionError:
            raise self.error(node, TOO_DEEP) from None

    def parse_text(self, text: str, node: ast.AST, what: str = "an expression") -> ast.expr:
        """Return the expression that a text at a node is."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise self.error(node, f"expected {what}, but got {text!r}: {error.msg}") from None
        for child in ast.walk(tree):
            ast.copy_location(child, node)
        return tree

    # -- what is done with values -------------------------------------------------------------

    def apply(self, node: ast.AST, function: Any, /, *args: Any, **keywords: Any) -> Any:
        """Call a function, or apply an operator, at a node."""
        with self.at(node):
            return function(*args, **keywords)

    def operand(self, node: ast.AST) -> Any:
        """Return the value of an operand."""
        return self.eval(node)

    def refuse(self, node: ast.AST, operation: type[ast.AST], *values: Any) -> None:
        """Raise an error if an operation means nothing for values of a program."""

    def member(self, node: ast.Attribute, base: Any) -> Any:
        """Return the attribute of a value that a node names."""
        return self.env.member(base, node.attr)

    def element(self, node: ast.Subscript, base: Any) -> Any:
        """Return the element of a value that a node names."""
        return self.apply(node, operator.getitem, base, self.eval(node.slice))

    def unary(self, node: ast.UnaryOp, value: Any) -> Any:
        """Return the result of an operator of one operand."""
        self.refuse(node, type(node.op), value)
        return self.apply(node, _UNARY[type(node.op)], value)

    def binary(self, node: ast.BinOp | ast.AugAssign, lhs: Any, rhs: Any) -> Any:
        """Return the result of an operator of two operands."""
        self.refuse(node, type(node.op), lhs, rhs)
        return self.apply(node, _BINARY[type(node.op)], lhs, rhs)

    def combine(
        self, node: ast.AST, kind: type[ast.boolop], lhs: Any, right: ast.AST, rhs: Later
    ) -> Any:
        """Return ``lhs and rhs`` or ``lhs or rhs``; `rhs` computes what is at `right` if needed."""
        self.refuse(node, kind, lhs)
        with self.at(node):
            if bool(lhs) is (kind is ast.Or):
                return lhs
        value = rhs()
        self.refuse(node, kind, value)
        return value

    def choose(self, node: ast.IfExp, test: Any) -> Any:
        """Return the value of a conditional expression."""
        self.refuse(node, ast.IfExp, test)
        return self.eval(node.body if test else node.orelse)

    def call(self, node: ast.Call, function: Any) -> Any:
        """Call something with the arguments of a node."""
        args, keywords = self.arguments(node)
        if not callable(function):
            raise self.error(node, f"expected a function, but got {function!r}")
        return self.apply(node, function, *args, **keywords)

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
            return self.member(node, base)

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
        return self.element(node, self.eval(node.value))

    # -- operators ----------------------------------------------------------------------------

    def _eval_binop(self, node: ast.BinOp) -> Any:
        return self.binary(node, self.operand(node.left), self.operand(node.right))

    def _eval_unaryop(self, node: ast.UnaryOp) -> Any:
        return self.unary(node, self.operand(node.operand))

    def _eval_compare(self, node: ast.Compare) -> Any:
        results = self._comparisons(node)
        result = next(results)
        for right in node.comparators[1:]:
            result = self.combine(node, ast.And, result, right, lambda: next(results))
        return result

    def _comparisons(self, node: ast.Compare) -> Iterator[Any]:
        """Yield ``a < b``, then ``b < c``, ... of ``a < b < c ...``; ``b`` is computed once."""
        lhs = self.operand(node.left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            rhs = self.operand(right)
            self.refuse(node, type(op), lhs, rhs)
            yield self.apply(node, _COMPARE[type(op)], lhs, rhs)
            lhs = rhs

    def _eval_boolop(self, node: ast.BoolOp) -> Any:
        first, *others = node.values
        result = self.operand(first)
        for right in others:
            later = functools.partial(self.operand, right)
            result = self.combine(node, type(node.op), result, right, later)
        return result

    def _eval_ifexp(self, node: ast.IfExp) -> Any:
        return self.choose(node, self.operand(node.test))

    # -- calls --------------------------------------------------------------------------------

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call."""
        keywords: dict[str, Any] = {}
        args = self._items(node.args)
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is None:
                keywords.update(value)
            elif keyword.arg in keywords:
                raise self.error(keyword, f"expected the argument '{keyword.arg}' once")
            else:
                keywords[keyword.arg] = value
        return args, keywords

    def _eval_call(self, node: ast.Call) -> Any:
        return self.call(node, self.eval(node.func))

    # -- functions of Python ------------------------------------------------------------------

    def _eval_lambda(self, node: ast.Lambda) -> Any:
        names = [arg.arg for arg in node.args.args]
        defaults = [self.eval(default) for default in node.args.defaults]
        optional = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        rest = node.args.vararg
        visible = self.env.flat()

        def function(*args: Any, **keywords: Any) -> Any:
            given = {**optional, **dict(zip(names, args, strict=False)), **keywords}
            is_more = len(args) > len(names) and rest is None
            if is_more or any(name not in given for name in names):
                raise TypeError(f"expected {len(names)} arguments, but got {len(args)}")
            with self.env.scope() as scope:
                scope.update({**visible, **given})
                if rest is not None:
                    scope[rest.arg] = args[len(names) :]
                return self.eval(node.body)

        return function

    def _eval_joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.eval(value)) for value in node.values)

    def _eval_formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.eval(node.value)
        if isinstance(value, ir.Value):
            raise self.error(
                node.value,
                "expected a value that is known when the program is read, but got one of the "
                f"program, of type {value.type}",
            )
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
            pairs = unpack(target, value)
        for element, item in pairs:
            name = element.value if isinstance(element, ast.Starred) else element
            self.assign(name, item, bind)

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


def unpack(target: ast.Tuple | ast.List, value: Any) -> list[tuple[ast.expr, Any]]:
    """Return the parts of a target with what is assigned to them: a list to one with a star.

    Raises
    ------
    ValueError
        If a value has not as many parts.
    """
    items, names = list(value), target.elts
    stars = [i for i, name in enumerate(names) if isinstance(name, ast.Starred)]
    if len(stars) > 1:
        raise ValueError(f"expected one name with a star, but got {len(stars)}")
    if stars and len(items) >= len(names) - 1:
        first, last = stars[0], len(items) - (len(names) - stars[0] - 1)
        items[first:last] = [items[first:last]]
    if len(items) != len(names):
        raise ValueError(f"expected {len(names)} values, but got {len(items)}")
    return list(zip(names, items, strict=True))


# Kinds of nodes of the syntax tree, as programmers call them.
_KINDS = {
    "AsyncFor": "an asynchronous loop",
    "Await": "await",
    "ClassDef": "a class",
    "Delete": "del",
    "FunctionDef": "a function",
    "Import": "import",
    "ImportFrom": "import",
    "NamedExpr": "an assignment",
    "Raise": "raise",
    "Try": "try",
    "Yield": "yield",
}


def kind_of(node: ast.AST) -> str:
    """Return how a kind of node of the syntax tree is called."""
    return _KINDS.get(type(node).__name__, type(node).__name__)


def constant_of(node: ast.stmt) -> Any:
    """Return the constant that a statement consists of, such as ``...``, or None."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value
    return None


def describe(error: BaseException) -> str:
    """Return a description of the error."""
    if isinstance(error, ir.MLIRError):
        return reason(error)
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    is_said = isinstance(error, (ValueError, TypeError, NameError, AttributeError))
    if text and (is_said or text.startswith("expected ")):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
