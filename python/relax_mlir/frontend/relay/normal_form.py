# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A-normal form: each computation is bound by a let, in the scope where it is evaluated.

In the graph form an expression that is used several times is evaluated once, and nothing says
where. Here it is evaluated in the innermost scope around all of its uses: that is where the value
is needed whichever way branches go, and it is outside of no function that it may depend on.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

from .ast import (
    Call,
    Clause,
    Constant,
    ConstructorRef,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    OpRef,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    bound_vars,
    children,
    post_order,
)

# What needs no name, since nothing is evaluated.
ATOMS = (Constant, ConstructorRef, GlobalVar, OpRef, Var)


@dataclasses.dataclass(eq=False)
class _Scope:
    """Where expressions are evaluated: a function body, a branch, a clause or the body of a let."""

    parent: _Scope | None = None
    depth: int = 0
    bindings: list[tuple[Var, Expr]] = dataclasses.field(default_factory=list)

    def inner(self) -> _Scope:
        return _Scope(self, self.depth + 1)


def _common(first: _Scope | None, second: _Scope) -> _Scope:
    """Return the innermost scope around two."""
    if first is None:
        return second
    one, other = first, second
    while one is not other:
        if one.depth < other.depth:
            one, other = other, one
        assert one.parent is not None
        one = one.parent
    return one


def to_a_normal_form(program: Expr) -> Expr:
    """Return an expression in A-normal form.

    Operands are variables, constants and names; each computation is bound by a `Let`, in the
    innermost scope around all of its uses. Variables of the program are kept, those that are added
    have names of their own. The types that variables state stay.

    Parameters
    ----------
    program : Expr
        Of any depth. It is not changed.

    Returns
    -------
    Expr
        A function stays a function; its body is in A-normal form.

    Examples
    --------
    >>> from relax_mlir.frontend.relay import ast
    >>> x = ast.Var("x")
    >>> double = ast.Call(ast.OpRef("add"), [x, x])
    >>> form = to_a_normal_form(ast.Call(ast.OpRef("multiply"), [double, double]))
    >>> form.value is not double and form.body.value.args[0] is form.var
    True
    """
    return _Normalizer(program).run()


def normalized(module: Module) -> Module:
    """Return a module, the functions of which are in A-normal form."""
    functions = {}
    for name, function in module.functions.items():
        form = to_a_normal_form(function)
        assert isinstance(form, Function)
        functions[name] = form
    return Module(functions, module.types)


class _Normalizer:
    """Puts one expression in A-normal form.

    Parameters
    ----------
    root : Expr
    """

    def __init__(self, root: Expr) -> None:
        self._root = root
        self._order = list(post_order(root))
        self._scopes: dict[int, _Scope] = {}
        # The scopes of the bodies that belong to an expression.
        self._bodies: dict[int, list[_Scope]] = {}
        self._lets: dict[int, Var] = {}
        self._atoms: dict[int, Expr] = {}
        used = {var.name for expr in self._order for var in bound_vars(expr)}
        used |= {expr.name for expr in self._order if isinstance(expr, Var)}
        self._names = (name for i in itertools.count() if (name := f"v{i}") not in used)

    def run(self) -> Expr:
        self._place()
        for expr in self._order:
            self._atoms[id(expr)] = self._atom(expr)
        scope, result = self._scopes[id(self._root)], self._atoms[id(self._root)]
        if isinstance(self._root, Function) and isinstance(result, Var):
            return scope.bindings[-1][1]
        return _sequence(scope, result)

    def _place(self) -> None:
        """Find the scope of each expression, users first."""
        self._scopes[id(self._root)] = _Scope()
        for expr in reversed(self._order):
            scope = self._scopes[id(expr)]
            for child, inner in self._edges(expr, scope):
                self._scopes[id(child)] = _common(self._scopes.get(id(child)), inner)
        for expr in self._order:
            if isinstance(expr, Let) and self._is_evaluated_by(expr):
                self._lets.setdefault(id(expr.value), expr.var)

    def _is_evaluated_by(self, let: Let) -> bool:
        is_here = self._scopes[id(let.value)] is self._scopes[id(let)]
        return is_here and not isinstance(let.value, (*ATOMS, Let))

    def _edges(self, expr: Expr, scope: _Scope) -> list[tuple[Expr, _Scope]]:
        """Return what an expression is made of, with the scope of each."""
        parts = children(expr)
        if isinstance(expr, Function):
            outside = 0
        elif isinstance(expr, If | Match | Let):
            outside = 1
        else:
            return [(part, scope) for part in parts]
        inner = [scope.inner() for _ in parts[outside:]]
        self._bodies[id(expr)] = inner
        return list(zip(parts, [scope] * outside + inner, strict=True))

    def _atom(self, expr: Expr) -> Expr:
        """Bind an expression in its scope, and return what stands for it."""
        if isinstance(expr, ATOMS):
            return expr
        scope = self._scopes[id(expr)]
        if isinstance(expr, Let):
            value = self._atoms[id(expr.value)]
            if value is not expr.var:
                scope.bindings.append((expr.var, value))
            scope.bindings.extend(self._bodies[id(expr)][0].bindings)
            return self._atoms[id(expr.body)]
        var = self._lets.get(id(expr)) or Var(next(self._names), span=expr.span)
        scope.bindings.append((var, self._rebuilt(expr)))
        return var

    def _rebuilt(self, expr: Expr) -> Expr:
        """Return an expression, the operands of which are atoms."""
        return _with_children(expr, self._atoms.__getitem__, lambda i: self._body(expr, i))

    def _body(self, expr: Expr, index: int) -> Expr:
        """Return a body that belongs to an expression."""
        bodies = [clause.body for clause in expr.clauses] if isinstance(expr, Match) else []
        if isinstance(expr, If):
            bodies = [expr.then, expr.otherwise]
        elif isinstance(expr, Function):
            bodies = [expr.body]
        return _sequence(self._bodies[id(expr)][index], self._atoms[id(bodies[index])])


def _sequence(scope: _Scope, result: Expr) -> Expr:
    """Return the bindings of a scope as lets around its result."""
    result = _used(result)
    for var, value in reversed(scope.bindings):
        result = Let(var, _used(value), result, span=value.span)
    return result


def _used(atom: Expr) -> Expr:
    """Return a name as an object for this use, which may have type arguments of its own."""
    return dataclasses.replace(atom) if isinstance(atom, (GlobalVar, ConstructorRef)) else atom


def _with_children(expr: Expr, atom: Callable[[int], Expr], body: Callable[[int], Expr]) -> Expr:
    """Return an expression with other operands and bodies."""

    def of(part: Expr) -> Expr:
        return _used(atom(id(part)))

    if isinstance(expr, Tuple):
        return Tuple([of(field) for field in expr.fields], span=expr.span)
    if isinstance(expr, TupleGetItem):
        return TupleGetItem(of(expr.tuple_value), expr.index, span=expr.span)
    if isinstance(expr, Call):
        args = [of(arg) for arg in expr.args]
        return Call(of(expr.op), args, expr.attrs, expr.type_args, span=expr.span)
    if isinstance(expr, If):
        return If(of(expr.condition), body(0), body(1), span=expr.span)
    if isinstance(expr, Function):
        return dataclasses.replace(expr, body=body(0))
    if isinstance(expr, Match):
        clauses = [Clause(one.pattern, body(i)) for i, one in enumerate(expr.clauses)]
        return Match(of(expr.value), clauses, expr.complete, span=expr.span)
    if isinstance(expr, RefCreate):
        return RefCreate(of(expr.value), span=expr.span)
    if isinstance(expr, RefRead):
        return RefRead(of(expr.ref), span=expr.span)
    assert isinstance(expr, RefWrite)
    return RefWrite(of(expr.ref), of(expr.value), span=expr.span)
