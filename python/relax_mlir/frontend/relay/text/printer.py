# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay as text."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import ast
from .names import Names
from .type_printer import TypePrinter, digits, tuple_text

_HEADER = '#[version = "0.0.5"]\n'
_SUFFIXES = {"int16": "i16", "int32": "", "int64": "i64"}
_FLOAT_SUFFIXES = {"float16": "f16", "float32": "f", "float64": "f64"}
_LEAVES = (ast.Var, ast.GlobalVar, ast.OpRef, ast.ConstructorRef, ast.Constant)


def to_text(program: ast.Module | ast.Expr) -> str:
    """Return a program as text of version 0.0.5, as TVM prints it.

    A node that is used several times is bound once, and constants other than scalars stand in a
    metadata section, so that `parse` and `parse_expr` give the same program again.

    Parameters
    ----------
    program : Module or Expr

    Raises
    ------
    RelayError
        If a variable is used outside of its scope.
    NotImplementedError
        If text has no words for an attribute.

    Examples
    --------
    >>> x = ast.Var("x", ast.TensorType((2, 3), "float32"))
    >>> square = ast.Call(ast.OpRef("multiply"), [x, x])
    >>> double = ast.Call(ast.OpRef("add"), [square, square])
    >>> print(to_text(ast.Module({"main": ast.Function([x], double)})))
    #[version = "0.0.5"]
    def @main(%x: Tensor[(2, 3), float32]) {
      %0 = multiply(%x, %x);
      add(%0, %0)
    }
    <BLANKLINE>
    """
    printer = _Printer()
    try:
        if isinstance(program, ast.Module):
            text = printer.module(program)
        else:
            text = printer.expression(program)
    except RecursionError:
        raise ast.RelayError("expected a program that is nested less deeply") from None
    meta = printer.meta.text()
    return f"{_HEADER}{text}\n" + (f"\n#[metadata]\n{meta}\n" if meta else "")


class _Printer(TypePrinter):
    """Writes expressions, as a list of lines for each scope."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.names = Names()
        # What stands for an expression, what it says, and how often it is used.
        self.texts: dict[int, str] = {}
        self.written: dict[int, str] = {}
        self.uses: collections.Counter[int] = collections.Counter()
        self.lines: list[list[str]] = []
        # The variables of the scopes that are open, and of those that are closed.
        self.bound: list[int] = []
        self.closed: set[int] = set()

    def module(self, module: ast.Module) -> str:
        """Return definitions in alphabetical order, as TVM has them."""
        types = [self._type_def(module.types[name]) for name in sorted(module.types)]
        functions = []
        for name in sorted(module.functions):
            self.names = Names()
            self._count_uses(module.functions[name])
            functions.append(self._function(f"def @{name}", module.functions[name]))
        return "\n\n".join(types + functions)

    def expression(self, expr: ast.Expr) -> str:
        """Return an expression."""
        self._count_uses(expr)
        return self._block(expr)

    def _count_uses(self, root: ast.Expr) -> None:
        for expr in ast.post_order(root):
            self.uses.update(id(child) for child in ast.children(expr))

    def _type_def(self, definition: ast.TypeDef) -> str:
        head = f"type {definition.name}{self.type_params(definition.params)}"
        if definition.is_extern:
            return f"extern {head}"
        lines = [f"  {self._constructor(each)},\n" for each in definition.constructors]
        return f"{head} {{\n{''.join(lines)}}}"

    def _constructor(self, constructor: ast.Constructor) -> str:
        fields = ", ".join(map(self.type, constructor.fields))
        return f"{constructor.name}({fields})" if fields else constructor.name

    # -- scopes ---------------------------------------------------------------------------------

    def _block(self, root: ast.Expr, is_open: bool = False) -> str:
        """Return the lines of a scope, whose first binding may be one that has a name."""
        lines: list[str] = []
        self.lines.append(lines)
        with self._scope():
            while isinstance(root, ast.Let) and (is_open or self._is_inline(root)):
                is_open = False
                # A function sees its own name.
                name = self._bind(root.var)
                lines.append(f"let {name} = {self._value(root.value)};")
                root = root.body
            lines.append(self._value(root))
        self.lines.pop()
        return "\n".join(lines)

    @contextlib.contextmanager
    def _scope(self) -> Iterator[None]:
        """Open a scope of variables, and close it."""
        start = len(self.bound)
        yield
        self.closed.update(self.bound[start:])
        del self.bound[start:]

    def _braces(self, root: ast.Expr) -> str:
        return f"{{\n{_indented(self._block(root))}\n}}"

    def _is_inline(self, expr: ast.Expr) -> bool:
        """Say whether an expression needs no name: nothing else uses it."""
        return self.uses[id(expr)] <= 1 and id(expr) not in self.texts

    def _value(self, root: ast.Expr) -> str:
        """Return an expression, after lines for what it is computed from."""
        stack = [(root, False)]
        while stack:
            expr, is_done = stack.pop()
            if id(expr) in self.written or isinstance(expr, _LEAVES):
                continue
            if is_done:
                # TVM gives names not before they are needed.
                for operand in _operands(expr):
                    self._name(operand)
                self.written[id(expr)] = self._written(expr)
            else:
                stack.append((expr, True))
                stack.extend((operand, False) for operand in reversed(_operands(expr)))
        if not isinstance(root, _LEAVES) and self._is_inline(root):
            return self.written[id(root)]
        return self._name(root)

    def _name(self, expr: ast.Expr) -> str:
        """Return what stands for an expression, and bind it in the current scope if it is new."""
        if id(expr) in self.closed:
            assert isinstance(expr, ast.Var)
            raise ast.RelayError(f"expected '%{expr.name}' to be used in its scope", expr.span)
        if id(expr) in self.texts:
            return self.texts[id(expr)]
        if isinstance(expr, _LEAVES):
            text = self._leaf(expr)
        else:
            text = f"%{self.count}"
            self.count += 1
            self.lines[-1].append(f"{text} = {self.written[id(expr)]};")
        self.texts[id(expr)] = text
        return text

    def _bind(self, var: ast.Var) -> str:
        """Return a variable where it is bound, with its type."""
        text = self._variable(var)
        self.bound.append(id(var))
        return text

    def _variable(self, var: ast.Var) -> str:
        """Return a variable with its type, where its name stands first."""
        if id(var) in self.texts:
            raise ast.RelayError(
                f"expected '%{var.name}' to be bound once, before its uses", var.span
            )
        name = f"%{self.names.unique(var.name)}"
        self.texts[id(var)] = name
        return name if var.type is None else f"{name}: {self.type(var.type)}"

    # -- expressions ----------------------------------------------------------------------------

    def _written(self, expr: ast.Expr) -> str:
        """Return an expression whose operands have been written."""
        if isinstance(expr, ast.Call):
            return self._call(expr)
        if isinstance(expr, ast.Function):
            return self._function("fn ", expr)
        if isinstance(expr, ast.Let):
            return f"(\n{_indented(self._block(expr, is_open=True))}\n)"
        if isinstance(expr, ast.Match):
            return self._match(expr)
        if isinstance(expr, ast.If):
            then, otherwise = self._braces(expr.then), self._braces(expr.otherwise)
            return f"if ({self._text(expr.condition)}) {then} else {otherwise}"
        if isinstance(expr, ast.Tuple):
            return tuple_text([self._text(field) for field in expr.fields])
        if isinstance(expr, ast.TupleGetItem):
            return f"{self._text(expr.tuple_value)}.{expr.index}"
        if isinstance(expr, ast.RefCreate):
            return f"ref({self._text(expr.value)})"
        if isinstance(expr, ast.RefRead):
            return f"ref_read({self._text(expr.ref)})"
        if isinstance(expr, ast.RefWrite):
            return f"ref_write({self._text(expr.ref)}, {self._text(expr.value)})"
        return self._leaf(expr)

    def _text(self, expr: ast.Expr) -> str:
        return self.texts[id(expr)]

    def _leaf(self, expr: ast.Expr) -> str:
        if isinstance(expr, ast.Var):
            self.lines[-1].append(f"free_var {self._variable(expr)};")
            return self._text(expr)
        if isinstance(expr, ast.Constant):
            return _scalar(expr.data) or self.meta.reference(expr)
        if isinstance(expr, ast.GlobalVar):
            return f"@{expr.name}"
        if isinstance(expr, ast.ConstructorRef):
            return expr.constructor.name
        assert isinstance(expr, ast.OpRef), expr
        return expr.name

    def _call(self, call: ast.Call) -> str:
        name = call.op.name if isinstance(call.op, ast.OpRef) else ""
        args = [self._text(arg) for arg in call.args] + self.attrs(call.attrs, name)
        if isinstance(call.op, ast.ConstructorRef) and not args:
            return self._text(call.op)
        # TVM infers those of operators, and leaves them out.
        types = "" if name else self.type_args(call.type_args)
        return f"{self._text(call.op)}{types}({', '.join(args)})"

    def _function(self, prefix: str, function: ast.Function) -> str:
        type_params = self.type_params(function.type_params)
        with self._scope():
            params = [self._bind(param) for param in function.params]
            params += self.attrs(function.attrs)
            result = f"-> {self.type(function.result)} " if function.result else ""
            head = f"{prefix}{type_params}({', '.join(params)}) {result}"
            return head + self._braces(function.body)

    # -- matching -------------------------------------------------------------------------------

    def _match(self, match: ast.Match) -> str:
        clauses = [self._clause(clause) for clause in match.clauses]
        keyword = "match" if match.complete else "match?"
        body = _indented("".join(clauses).rstrip("\n"))
        return f"{keyword} ({self._text(match.value)}) {{\n{body}\n}}"

    def _clause(self, clause: ast.Clause) -> str:
        with self._scope():
            return f"{self._pattern(clause.pattern)} => {self._braces(clause.body)},\n"

    def _pattern(self, pattern: ast.Pattern) -> str:
        if isinstance(pattern, ast.VarPattern):
            return self._bind(pattern.var)
        if isinstance(pattern, ast.WildcardPattern):
            return "_"
        assert isinstance(pattern, ast.TuplePattern | ast.ConstructorPattern), pattern
        parts = ", ".join(map(self._pattern, pattern.patterns))
        if isinstance(pattern, ast.TuplePattern):
            return f"({parts})"
        return f"{pattern.constructor.name}({parts})" if parts else pattern.constructor.name


def _operands(expr: ast.Expr) -> Sequence[ast.Expr]:
    """Return what is written before an expression, in TVM's order."""
    if isinstance(expr, ast.Call):
        return (*expr.args, expr.op)
    if isinstance(expr, ast.If):
        return (expr.condition,)
    if isinstance(expr, ast.Match):
        return (expr.value,)
    return () if isinstance(expr, ast.Function | ast.Let) else ast.children(expr)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _scalar(data: np.ndarray[Any, Any]) -> str:
    """Return a constant in words, "" where the text has none."""
    name = data.dtype.name
    if data.ndim:
        return ""
    if name == "bool":
        return str(bool(data))
    if name in _SUFFIXES:
        return f"{int(data)}{_SUFFIXES[name]}"
    if name in _FLOAT_SUFFIXES and not np.isnan(data):
        return digits(data.flat[0]) + _FLOAT_SUFFIXES[name]
    return ""
