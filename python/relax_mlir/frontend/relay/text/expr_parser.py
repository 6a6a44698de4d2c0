# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions in text of Relay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_runtime.near_misses import did_you_mean

from .. import ast
from . import literals
from .binder_parser import BinderParser
from .lexer import Token

# Operators with their precedence; all associate to the left.
_INFIX = {
    "*": (12, "multiply"), "/": (12, "divide"), "+": (10, "add"), "-": (10, "subtract"),
    "<": (8, "less"), "<=": (8, "less_equal"), ">": (8, "greater"), ">=": (8, "greater_equal"),
    "==": (7, "equal"), "!=": (7, "not_equal"),
}  # fmt: skip
# Other names of operators, which are in texts about Relay.
_ALIASES = {"mul": "multiply", "sub": "subtract", "div": "divide"}
_PLAIN = ("local", "graph", "number", "bool")
_Binding = tuple[ast.Var, ast.Expr, ast.Span]


class ExprParser(BinderParser):
    """Reads expressions.

    Parameters
    ----------
    *args, **kwargs
        See `TypeParser`.
    """

    # -- sequences of bindings ------------------------------------------------------------------

    def expr(self) -> ast.Expr:
        """Read bindings, and what they are for."""
        bindings: list[_Binding] = []
        with self.scope():
            while True:
                if self.at("let"):
                    bindings.append(self._let())
                elif self.at("graph") and self.after().kind == "=":
                    self._node()
                elif self.accept("free_var"):
                    self._free_var()
                else:
                    span, value = self.span(), self.infix()
                    if not self.accept(";", ";;"):
                        break
                    bindings.append((ast.Var("", span=span), value, span))
        for var, bound, span in reversed(bindings):
            value = ast.Let(var, bound, value, span=span)
        return value

    def _let(self) -> _Binding:
        span = self.span(self.advance())
        var = self.variable("a variable, such as '%x'")
        self.expect("=")
        # A function sees its own name; other values see the one that it hides.
        sees_itself = self.at("fn") or self.variables.find(var.name) is None
        if sees_itself:
            self.variables.bind(var.name, var)
            self.unfinished[id(var)] = self.depth
        value = self.infix()
        self.unfinished.pop(id(var), None)
        if not sees_itself:
            self.variables.bind(var.name, var)
        self._end_of_binding()
        return var, value, span

    def _node(self) -> None:
        name = self.advance().text
        self.expect("=")
        value = self.infix()
        self._end_of_binding()
        self.nodes.bind(name, value)

    def _free_var(self) -> None:
        var = self.variable("the name of a free variable, such as '%x'")
        self._end_of_binding()
        self.variables.bind_outside(var.name, var)

    def _end_of_binding(self) -> None:
        """Take the semicolon, which the end of a line may stand for."""
        if not self.accept(";") and not self._may_end():
            self.fail("';' after a binding")

    # -- operators and calls --------------------------------------------------------------------

    def infix(self) -> ast.Expr:
        """Read calls with operators between them."""
        operands, operators = [self.postfix()], list[tuple[int, str, ast.Span]]()
        while self.token.kind in _INFIX:
            precedence, name = _INFIX[self.token.kind]
            while operators and operators[-1][0] >= precedence:
                self._reduce(operands, operators)
            operators.append((precedence, name, self.span(self.advance())))
            operands.append(self.postfix())
        while operators:
            self._reduce(operands, operators)
        return operands[0]

    def _reduce(self, operands: list[ast.Expr], operators: list[tuple[int, str, ast.Span]]) -> None:
        _, name, span = operators.pop()
        right, left = operands.pop(), operands.pop()
        operands.append(ast.Call(ast.OpRef(name, span=span), [left, right], span=left.span))

    def postfix(self) -> ast.Expr:
        """Read an expression with the calls and projections after it."""
        expr = head = self.atom()
        while True:
            if self.at("(") and (isinstance(expr, _NAMED) or not self._may_end()):
                expr = self._call(expr, ())
            elif self.at("[") and isinstance(expr, _CALLABLE):
                types = self.sequence("[", "]", self.type)
                expr = self._call(expr, types)
            elif self.accept("."):
                expr = self._field(expr)
            else:
                break
        if expr is head and isinstance(expr, ast.ConstructorRef) and not expr.constructor.fields:
            return ast.Call(expr, [], span=expr.span)
        return expr

    def _may_end(self) -> bool:
        """Say whether the line before may have been a binding, and the next token starts anew."""
        return self.lines_end and self.starts_line()

    def _field(self, expr: ast.Expr) -> ast.Expr:
        token = self.expect("number", "the number of a field of a tuple")
        if not token.text.isdecimal():
            raise self.error(f"expected the number of a field of a tuple, but got {token}", token)
        return ast.TupleGetItem(expr, int(token.text), span=expr.span)

    def _call(self, op: ast.Expr, types: Sequence[ast.Type]) -> ast.Expr:
        args: list[ast.Expr] = []
        attrs: dict[str, Any] = {}
        self.sequence("(", ")", lambda: self._argument(args, attrs))
        if isinstance(op, ast.ConstructorRef):
            self.check_fields(op, len(args))
        return ast.Call(op, args, attrs, tuple(types), span=op.span)

    def _argument(self, args: list[ast.Expr], attrs: dict[str, Any]) -> None:
        """Read an argument or an attribute; attributes come last."""
        if self.at_attribute():
            self.attribute(attrs)
        elif self.token.kind in _PLAIN and self.after().kind in (",", ")") and not attrs:
            args.append(self.atom())  # most arguments, without scopes and operators
        elif attrs:
            self.fail("an attribute after an attribute, such as 'axis=1'")
        elif self.at("meta") and self.after().kind in (")", ","):
            self._meta_argument(args, attrs)
        else:
            args.append(self.expr())

    def _meta_argument(self, args: list[ast.Expr], attrs: dict[str, Any]) -> None:
        token = self.token
        value = self.meta_object()
        if isinstance(value, Mapping):
            attrs.update(value)
        else:
            args.append(self._as_expr(value, token))

    def _as_expr(self, value: Any, token: Token) -> ast.Expr:
        if not isinstance(value, ast.Expr):
            raise self.error(f"expected an expression, but got {token}, which is {value!r}", token)
        value.span = value.span or self.span(token)
        return value

    # -- atoms ----------------------------------------------------------------------------------

    def atom(self) -> ast.Expr:
        """Read an expression that needs no parentheses around it."""
        read = self._ATOMS.get(self.token.kind)
        if read is None:
            self.fail("an expression")
        return read(self)

    def _constant(self) -> ast.Expr:
        token = self.advance()
        try:
            data = literals.scalar(token.text)
        except ValueError as error:
            raise self.error(str(error), token) from None
        return ast.Constant(data, span=self.span(token))

    def _bool(self) -> ast.Expr:
        token = self.advance()
        return ast.Constant(literals.boolean(token.text == "True"), span=self.span(token))

    def _local(self) -> ast.Expr:
        """Read a variable; fields of it may be part of the token, since names may have dots."""
        token = self.advance()
        name, fields = token.text, list[str]()
        while (var := self.variables.find(name)) is None:
            name, dot, field = name.rpartition(".")
            if not dot or not field.isdecimal():
                raise self._unbound(token)
            fields.insert(0, field)
        if self.unfinished.get(id(var)) == self.depth:
            raise self.error(f"expected {token} to be used by functions in its own value", token)
        expr: ast.Expr = var
        for field in fields:
            expr = ast.TupleGetItem(expr, int(field), span=self.span(token))
        return expr

    def _unbound(self, token: Token) -> ast.RelayError:
        hint = did_you_mean(token.text, self.variables.names())
        return self.error(
            f"expected a variable that is bound here, but got {token}"
            + (hint.replace("'", "'%", 1) or f"; 'free_var {str(token)[1:-1]};' declares it"),
            token,
        )

    def _graph(self) -> ast.Expr:
        token = self.advance()
        node = self.nodes.find(token.text)
        if node is None:
            raise self.error(
                f"expected a node that is bound above, but got {token}"
                + did_you_mean(token.text, self.nodes.names()).replace("'", "'%", 1),
                token,
            )
        return node

    def _global(self) -> ast.Expr:
        token = self.advance()
        self.calls_of_functions.append(token)
        return ast.GlobalVar(token.text, span=self.span(token))

    def _identifier(self) -> ast.Expr:
        """Read a constructor, or else an operator."""
        token = self.advance()
        constructor = self.constructors.get(token.text)
        if constructor is not None:
            return ast.ConstructorRef(constructor, span=self.span(token))
        if token.text[0].isupper() and "." not in token.text:
            raise self.unknown_constructor(token, "a constructor or an operator")
        return ast.OpRef(_ALIASES.get(token.text, token.text), span=self.span(token))

    def _meta(self) -> ast.Expr:
        token = self.token
        return self._as_expr(self.meta_object(), token)

    def _parenthesized(self) -> ast.Expr:
        """Read a tuple, or an expression in parentheses."""
        span = self.span()
        fields = self.sequence("(", ")", self.expr)
        comma = self.tokens[self.position - 2].kind == ","
        return fields[0] if len(fields) == 1 and not comma else ast.Tuple(fields, span=span)

    def block(self) -> ast.Expr:
        """Read an expression in braces."""
        self.expect("{")
        lines_end, self.lines_end = self.lines_end, True
        body = self.expr()
        self.lines_end = lines_end
        self.expect("}")
        return body

    def _negative(self) -> ast.Expr:
        """Read a minus before an expression, as version 0.0.4 has it."""
        span = self.span(self.advance())
        return ast.Call(ast.OpRef("negative", span=span), [self.postfix()], span=span)

    def _if(self) -> ast.Expr:
        span = self.span(self.advance())
        self.expect("(")
        condition = self.expr()
        self.expect(")")
        then = self.block()
        self.expect("else", "'else', since both branches have a value")
        return ast.If(condition, then, self.block(), span=span)

    def _ref_create(self) -> ast.Expr:
        span = self.span(self.advance())
        (value,) = self._operands(1)
        return ast.RefCreate(value, span=span)

    def _ref_read(self) -> ast.Expr:
        span = self.span(self.advance())
        (ref,) = self._operands(1)
        return ast.RefRead(ref, span=span)

    def _ref_write(self) -> ast.Expr:
        span = self.span(self.advance())
        ref, value = self._operands(2)
        return ast.RefWrite(ref, value, span=span)

    def _operands(self, count: int) -> list[ast.Expr]:
        token = self.token
        operands = self.sequence("(", ")", self.expr)
        if len(operands) != count:
            raise self.error(f"expected {count} operands, but got {len(operands)}", token)
        return operands

    # -- functions ------------------------------------------------------------------------------

    def _fn(self) -> ast.Expr:
        token = self.advance()
        return self.function(token)

    def function(self, token: Token) -> ast.Function:
        """Read a function from its type parameters on.

        Parameters
        ----------
        token : Token
            Where it begins.
        """
        params: list[ast.Var] = []
        attrs: dict[str, Any] = {}
        self.depth += 1
        with self.scope(), self.type_vars.scope():
            type_params = self.type_params()
            self.sequence("(", ")", lambda: self._param(params, attrs))
            result = self.type() if self.accept("->") else None
            body = self.block()
        self.depth -= 1
        return ast.Function(params, body, result, type_params, attrs, span=self.span(token))

    def _param(self, params: list[ast.Var], attrs: dict[str, Any]) -> None:
        if self.at_attribute():
            self.attribute(attrs)
            return
        var = self.variable("a parameter, such as '%x', or an attribute, such as 'Primitive=1'")
        if any(var.name == other.name for other in params):
            message = f"expected parameters of different names, but got two '%{var.name}'"
            raise ast.RelayError(message, var.span)
        self.variables.bind(var.name, var)
        params.append(var)

    # -- matching -------------------------------------------------------------------------------

    def _match(self) -> ast.Expr:
        token = self.advance()
        value = self.postfix()
        clauses = self.sequence("{", "}", self._clause)
        return ast.Match(value, clauses, token.kind == "match", span=self.span(token))

    def _clause(self) -> ast.Clause:
        with self.scope():
            pattern = self.pattern()
            self.expect("=>")
            return ast.Clause(pattern, self.expr())

    _ATOMS: Mapping[str, Callable[[ExprParser], ast.Expr]] = {
        "number": _constant, "bool": _bool, "local": _local, "graph": _graph, "global": _global,
        "ident": _identifier, "meta": _meta, "(": _parenthesized, "{": block, "-": _negative,
        "if": _if, "fn": _fn, "match": _match, "match?": _match, "ref": _ref_create,
        "ref_read": _ref_read, "ref_write": _ref_write,
    }  # fmt: skip


# A line that ends with one of these is not complete: they are called on the next one.
_NAMED = (ast.GlobalVar, ast.OpRef, ast.ConstructorRef)
_CALLABLE = (*_NAMED, ast.Var)
