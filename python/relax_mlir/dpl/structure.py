# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns that consist of others: calls, functions, tuples and logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from mlir import ir

from .context import add_argument
from .expressions import Expression, Op, call_of, parts_of_function, require_arguments
from .pattern import (
    Alternative,
    ConstantPattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    as_patterns,
)

if TYPE_CHECKING:
    from .matcher import Matcher

# Operators of two operands that may come in either order.
COMMUTATIVE = frozenset({"relax.add", "relax.multiply"})


class CallPattern(DFPattern):
    """A call.

    The arguments are those that TVM has. ``call_tir`` and ``call_dps_packed`` call their operator,
    with the function and a tuple as arguments; ``concat`` has a tuple as its only argument.
    Attributes are no arguments. The operands of ``add`` and ``multiply`` match in either order.

    Parameters
    ----------
    op : DFPattern
        The callee.
    args : sequence of DFPattern
    varg_default_wildcard : bool
        Whether there may be more arguments.
    add_constraint : bool
        Whether the current `PatternContext` holds that the arguments are used by the call, which
        makes them part of the graph that it matches.

    Raises
    ------
    ValueError
        If the operator that is called has fewer parameters.
    """

    def __init__(
        self,
        op: DFPattern,
        args: Sequence[DFPattern],
        varg_default_wildcard: bool = False,
        add_constraint: bool = True,
    ) -> None:
        (self.op,) = as_patterns([op], "what is called")
        if isinstance(op, ConstantPattern):
            raise TypeError("expected the pattern of what can be called, but got one of constants")
        self.args = as_patterns(args, "arguments of a call")
        if isinstance(op, ExprPattern) and isinstance(op.expr, Op):
            require_arguments(op.expr, len(self.args))
        self.varg_default_wildcard = varg_default_wildcard
        self.add_constraint = add_constraint
        if add_constraint:
            for arg in self.args:
                add_argument(arg, self)

    def children(self) -> Sequence[DFPattern]:
        """Return the callee and the arguments."""
        return (self.op, *self.args)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match the operands in their order, then in the other one."""
        op = matcher.definition(expr)
        call = None if op is None else call_of(op)
        if op is None or call is None:
            return
        callee, args = call
        missing = len(args) - len(self.args)
        if missing < 0 or (missing > 0 and not self.varg_default_wildcard):
            return
        value = op.results[0]
        yield value, ((self.op, callee), *zip(self.args, args, strict=False))
        if op.name in COMMUTATIVE and len(args) == 2 and self.args:
            yield value, ((self.op, callee), *zip(self.args, args[::-1], strict=False))

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return the pattern of another such call."""
        args = [dup(arg) for arg in self.args]
        return CallPattern(dup(self.op), args, self.varg_default_wildcard, self.add_constraint)

    def root_ops(self) -> frozenset[str] | None:
        """Return the operations of these calls."""
        return _callees(self.op)

    def __repr__(self) -> str:
        args = [*map(repr, self.args), *(["..."] if self.varg_default_wildcard else [])]
        return f"{self.op!r}({', '.join(args)})"


def _callees(pattern: DFPattern) -> frozenset[str] | None:
    """Return the operations that call what a pattern matches; None for any."""
    if isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Op):
        return frozenset({str(pattern.expr.name)})
    if isinstance(pattern, ExternFuncPattern):
        return frozenset({"relax.call", "relax.call_packed"})
    if isinstance(pattern, GlobalVarPattern):
        return frozenset({"relax.call"})
    if isinstance(pattern, OrPattern):
        left, right = _callees(pattern.left), _callees(pattern.right)
        return None if left is None or right is None else left | right
    return None


class FunctionPattern(DFPattern):
    """A function: a ``relax.func``, or a closure.

    Parameters
    ----------
    params : sequence of DFPattern or None
        None for any.
    body : DFPattern
        The result of the function.
    """

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params = None if params is None else as_patterns(params, "parameters")
        (self.body,) = as_patterns([body], "the body")

    def children(self) -> Sequence[DFPattern]:
        """Return the parameters and the body."""
        return (*(self.params or ()), self.body)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match the parameters and what is returned."""
        parts = parts_of_function(expr, matcher.definitions)
        if parts is None:
            return
        op, params, body = parts
        if self.params is not None and len(self.params) != len(params):
            return
        value = op.results[0] if len(op.results) > 0 else op
        given = () if self.params is None else zip(self.params, params, strict=True)
        yield value, (*given, (self.body, body))

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return the pattern of another such function."""
        params = None if self.params is None else [dup(param) for param in self.params]
        return FunctionPattern(params, dup(self.body))

    def root_ops(self) -> frozenset[str]:
        """Return the operations of functions."""
        return frozenset({"relax.func", "relax.closure"})

    def __repr__(self) -> str:
        return f"FunctionPattern({self.params!r}, {self.body!r})"


def _fields(expr: Expression, matcher: Matcher) -> tuple[Expression, Sequence[Expression]] | None:
    """Return a tuple that the program makes, and its fields."""
    if isinstance(expr, tuple):
        return expr, expr
    op = matcher.definition(expr, "relax.tuple")
    return None if op is None else (op.results[0], list(op.operands))


class TuplePattern(DFPattern):
    """A tuple that the program makes.

    ``pattern[i]`` is the pattern of a field that is taken from it; ``pattern[None]`` that of any.

    Parameters
    ----------
    fields : sequence of DFPattern
    """

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        self.fields = as_patterns(fields, "fields")

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        """Return the pattern of a field, counted from the end where it is negative."""
        if index is None:
            return TupleGetItemPattern(self)
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"expected the index of one of {len(self)} fields of the tuple, but got {index}"
            )
        return TupleGetItemPattern(self, index % len(self))

    def __len__(self) -> int:
        return len(self.fields)

    def children(self) -> Sequence[DFPattern]:
        """Return the fields."""
        return self.fields

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match each field."""
        found = _fields(expr, matcher)
        if found is not None and len(found[1]) == len(self.fields):
            yield found[0], tuple(zip(self.fields, found[1], strict=True))

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return the pattern of another such tuple."""
        return type(self)([dup(field) for field in self.fields])

    def root_ops(self) -> frozenset[str]:
        """Return the operation of tuples."""
        return frozenset({"relax.tuple"})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.fields)!r})"


class UnorderedTuplePattern(TuplePattern):
    """A tuple that the program makes, with its fields in any order.

    Parameters
    ----------
    fields : sequence of DFPattern
    """

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        """Raise TypeError: the fields have no order."""
        raise TypeError("expected a TuplePattern, as the fields of this one have no order")

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match each pattern with a field that no other one has."""
        found = _fields(expr, matcher)
        if found is None or len(found[1]) != len(self.fields):
            return
        step = _Assignment(self.fields, tuple(found[1]))
        yield found[0], ((step, ()),)


class _Assignment(DFPattern):
    """The rest of an unordered tuple: it matches the fields that are taken already."""

    def __init__(self, patterns: Sequence[DFPattern], fields: tuple[Expression, ...]) -> None:
        self._patterns, self._fields = patterns, fields

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Yield each field that is left for the next pattern."""
        taken: tuple[int, ...] = expr
        if len(taken) == len(self._patterns):
            yield expr, ()
            return
        left = [index for index in range(len(self._fields)) if index not in taken]
        fitting = [
            [index for index in left if matcher.first([(pattern, self._fields[index])]) is not None]
            for pattern in self._patterns[len(taken) :]
        ]
        for index in fitting[0]:
            others = [[other for other in row if other != index] for row in fitting[1:]]
            if _is_assignable(others):
                rest = _Assignment(self._patterns, self._fields)
                chosen = (self._patterns[len(taken)], self._fields[index])
                yield expr, (chosen, (rest, (*taken, index)))


def _is_assignable(choices: Sequence[Sequence[int]]) -> bool:
    """Say whether each can have one of its choices that no other one has: augmenting paths."""
    owner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for choice in choices[row]:
            if choice in seen:
                continue
            seen.add(choice)
            if choice not in owner or place(owner[choice], seen):
                owner[choice] = row
                return True
        return False

    return all(place(row, set()) for row in range(len(choices)))


class TupleGetItemPattern(DFPattern):
    """A field that is taken from a tuple.

    Parameters
    ----------
    tuple_value : DFPattern
    index : int, optional
        Any by default.
    """

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        (self.tuple,) = as_patterns([tuple_value], "a tuple")
        if index is not None and index < 0:
            raise ValueError(f"expected the index of a field, from 0 on, but got {index}")
        self.index = index

    def children(self) -> Sequence[DFPattern]:
        """Return the tuple."""
        return (self.tuple,)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match the tuple."""
        for view in matcher.definitions.views(expr) if isinstance(expr, ir.Value) else ():
            op = matcher.definitions.op(view)
            if op is None or op.name != "relax.get_item":
                continue
            if self.index in (None, op.attributes["index"].value):
                yield view, ((self.tuple, op.operands[0]),)

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return the pattern of another such field."""
        return TupleGetItemPattern(dup(self.tuple), self.index)

    def root_ops(self) -> frozenset[str]:
        """Return the operation of fields."""
        return frozenset({"relax.get_item"})

    def __repr__(self) -> str:
        return f"TupleGetItemPattern({self.tuple!r}, {self.index})"


# ---------------------------------------------------------------------------------------------
# Logic
# ---------------------------------------------------------------------------------------------


class _Pair(DFPattern):
    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = as_patterns([left, right], "both sides")

    def children(self) -> Sequence[DFPattern]:
        """Return both sides."""
        return (self.left, self.right)

    def parts_of_same_value(self) -> Sequence[DFPattern]:
        """Return both sides."""
        return (self.left, self.right)

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return type(self)(dup(self.left), dup(self.right))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.left!r}, {self.right!r})"


class OrPattern(_Pair):
    """A pattern that matches where one of two patterns does. The left one is tried first.

    If what follows does not match with the left one, the right one is tried.

    Parameters
    ----------
    left, right : DFPattern
    """

    is_choice = True

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match one side."""
        yield expr, ((self.left, expr),)
        yield expr, ((self.right, expr),)

    def root_ops(self) -> frozenset[str] | None:
        """Return those of both sides."""
        left, right = self.left.root_ops(), self.right.root_ops()
        return None if left is None or right is None else left | right


class AndPattern(_Pair):
    """A pattern that matches where two patterns do.

    Parameters
    ----------
    left, right : DFPattern
    """

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match both sides."""
        yield expr, ((self.left, expr), (self.right, expr))

    def root_ops(self) -> frozenset[str] | None:
        """Return those of one side."""
        left = self.left.root_ops()
        return self.right.root_ops() if left is None else left


class NotPattern(DFPattern):
    """A pattern that matches where another one does not.

    Parts of the pattern that have matched already stand for what they matched.

    Parameters
    ----------
    reject : DFPattern
    """

    def __init__(self, reject: DFPattern) -> None:
        (self.reject,) = as_patterns([reject], "what is rejected")

    def children(self) -> Sequence[DFPattern]:
        """Return the rejected pattern."""
        return (self.reject,)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match if the other pattern does not."""
        if matcher.first([(self.reject, expr)]) is None:
            yield expr, ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return NotPattern(dup(self.reject))

    def __repr__(self) -> str:
        return f"~{self.reject!r}"
