# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matching: a search that goes back to the last choice where something does not fit.

It is exact: where there is a match it finds one, the first one in the order of alternatives. It is
not exponential where parts of a pattern do not depend on each other. A part is *closed* if nothing
in it occurs elsewhere in the pattern; whether it matches a value is found out once, and a match of
it is never taken back, as nothing else depends on which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from ..core.ir import Dim, DimLike, Facts, ShapeExpr
from ..core.struct_info import _dimensions, facts_at, get_shape_var_mapping, is_subtype, substitute
from .expressions import Definitions, Expression, Scope
from .pattern import DFPattern, Goal
from .restriction import VARIABLE_PREFIX, StructInfoPattern


class PatternSet:
    """Patterns, with their properties that hold before any match.

    Parameters
    ----------
    roots : sequence of DFPattern
        The patterns that are matched, with what they consist of.
    """

    def __init__(self, roots: Sequence[DFPattern]) -> None:
        self.roots = list(dict.fromkeys(roots))
        self.patterns = self._collect()
        self.closed = self._find_closed()

    def _collect(self) -> dict[DFPattern, tuple[DFPattern, ...]]:
        """Return the children of each pattern."""
        found: dict[DFPattern, tuple[DFPattern, ...]] = {}
        work = list(self.roots)
        while work:
            pattern = work.pop()
            if pattern not in found:
                found[pattern] = tuple(pattern.children())
                work.extend(found[pattern])
        return found

    def _find_closed(self) -> set[DFPattern]:
        """Return the patterns with parts that do not occur outside of them."""
        parents: dict[Any, set[DFPattern]] = {}
        for pattern, children in self.patterns.items():
            for child in children:
                parents.setdefault(child, set()).add(pattern)
            for name in pattern.variables if isinstance(pattern, StructInfoPattern) else ():
                parents.setdefault(name, set()).add(pattern)
        roots = set(self.roots)
        closed: set[DFPattern] = set()
        # Children first, most often: what is made of closed parts needs no walk.
        for pattern in reversed(self.patterns):
            if not self.patterns[pattern]:
                continue
            if self._has_own_parts(pattern, parents, roots, closed) or self._is_closed(
                pattern, parents, roots
            ):
                closed.add(pattern)
        # A side of a choice is asked for only where the choice is: what that remembers is enough.
        return {
            pattern
            for pattern in closed
            if not any(each.is_choice and each in closed for each in parents.get(pattern, ()))
            or len(parents[pattern]) > 1
        }

    def _has_own_parts(
        self,
        pattern: DFPattern,
        parents: Mapping[Any, set[DFPattern]],
        roots: set[DFPattern],
        closed: set[DFPattern],
    ) -> bool:
        """Say whether a pattern alone has its children, each of which is closed or has none."""
        return not isinstance(pattern, StructInfoPattern) and all(
            child not in roots
            and len(parents[child]) == 1
            and (child in closed or not self.patterns[child])
            for child in self.patterns[pattern]
        )

    def _is_closed(
        self, top: DFPattern, parents: Mapping[Any, set[DFPattern]], roots: set[DFPattern]
    ) -> bool:
        inside = {top}
        work = [top]
        names: set[str] = set()
        while work:
            pattern = work.pop()
            if isinstance(pattern, StructInfoPattern):
                names.update(pattern.variables)
            for child in self.patterns[pattern]:
                if child in roots:
                    return False
                if child not in inside:
                    inside.add(child)
                    work.append(child)
        return all(parents[part] <= inside for part in (*(inside - {top}), *names))


class _Cut:
    """The end of a closed part: its choices are final."""

    def __init__(self, key: Any, height: int, mark: int) -> None:
        self.key, self.height, self.mark = key, height, mark


class _Bind:
    """The end of a pattern: it stands for an expression."""

    def __init__(self, pattern: DFPattern, expr: Expression) -> None:
        self.pattern, self.expr = pattern, expr


class _Choice:
    """Alternatives that are left, and what comes after them."""

    def __init__(self, pattern: Any, alternatives: Iterator[Any], rest: Any, mark: int) -> None:
        self.pattern, self.alternatives, self.rest, self.mark = pattern, alternatives, rest, mark
        self.key: Any = None


class Matcher:
    """The state of a match so far, and the search for the rest.

    Parameters
    ----------
    patterns : PatternSet
    scope : callable, optional
        Says whether the operation that makes a value may be looked at.
    place : mlir.ir.Operation, optional
        Where what is known of shape variables holds.
    renamed : mapping of mlir.ir.Value to mlir.ir.Value, optional
        The values that stand for those in patterns.
    """

    def __init__(
        self,
        patterns: PatternSet,
        *,
        scope: Scope | None = None,
        place: ir.Operation | None = None,
        renamed: Mapping[ir.Value, ir.Value] | None = None,
    ) -> None:
        self.definitions = Definitions(scope)
        self.assigned: dict[Any, Expression] = {}
        self._patterns = patterns
        self._place = place
        self._renamed = renamed or {}
        self._dims: dict[str, Any] = {}
        self._trail: list[Any] = []
        self._memo: dict[Any, list[tuple[Any, Any, Any]] | None] = {}
        self._known_facts: Facts | None = None

    # -- the search ----------------------------------------------------------------------------

    def first(self, goals: Sequence[Goal]) -> dict[DFPattern, Expression] | None:
        """Return the first match, or None. Earlier matches stay."""
        for _ in self.solutions(goals):
            return {
                pattern: expr
                for pattern, expr in self.assigned.items()
                if pattern in self._patterns.patterns
            }
        return None

    def solutions(self, goals: Sequence[Goal]) -> Iterator[None]:
        """Yield for each match, with `assigned` as it is in it."""
        base = len(self._trail)
        choices: list[_Choice] = []
        stack: Any = ()
        for goal in reversed(goals):
            stack = (goal, stack)
        try:
            while stack is not None:
                if stack == ():
                    yield
                    stack = self._retry(choices)
                else:
                    goal, rest = stack
                    stack = self._step(goal, rest, choices)
                    if stack is None:
                        stack = self._retry(choices)
        finally:
            self._undo(base)

    def _step(self, goal: Any, rest: Any, choices: list[_Choice]) -> Any:
        """Return the goals that remain after one, or None if it fails."""
        if isinstance(goal, _Bind):
            self._set(self.assigned, goal.pattern, goal.expr)
            return rest
        if isinstance(goal, _Cut):
            del choices[goal.height :]
            self._memo[goal.key] = [
                (table, key, table[key]) for table, key in self._trail[goal.mark :]
            ]
            return rest
        if callable(goal) and not isinstance(goal, tuple):
            return rest if goal() else None
        pattern, expr = goal
        return self._match(pattern, expr, rest, choices)

    def _match(
        self, pattern: DFPattern, expr: Expression, rest: Any, choices: list[_Choice]
    ) -> Any:
        if pattern in self.assigned:
            return rest if self.definitions.same(self.assigned[pattern], expr) else None
        mark = len(self._trail)
        if pattern in self._patterns.closed:
            key = (pattern, expr)
            if key in self._memo:
                return rest if self._replay(self._memo[key]) else None
            rest = (_Cut(key, len(choices), mark), rest)
            failure = _Choice(None, iter(()), None, mark)
            failure.key = key
            choices.append(failure)
        alternatives = iter(pattern.expand(expr, self))
        choices.append(_Choice(pattern, alternatives, rest, mark))
        return self._retry(choices)

    def _replay(self, bindings: Any) -> bool:
        for table, key, value in bindings or ():
            self._set(table, key, value)
        return bindings is not None

    def _retry(self, choices: list[_Choice]) -> Any:
        """Return the goals that remain after the next alternative, or None if there is none."""
        while choices:
            choice = choices[-1]
            self._undo(choice.mark)
            alternative = next(choice.alternatives, None)
            if alternative is None:
                choices.pop()
                if choice.key is not None:
                    self._memo[choice.key] = None
                continue
            expr, goals = alternative
            stack: Any = (_Bind(choice.pattern, expr), choice.rest)
            for goal in reversed(goals):
                stack = (goal, stack)
            return stack
        return None

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if key not in table:
            table[key] = value
            self._trail.append((table, key))

    def _undo(self, mark: int) -> None:
        while len(self._trail) > mark:
            table, key = self._trail.pop()
            del table[key]

    # -- what patterns ask for -----------------------------------------------------------------

    def definition(self, expr: Expression, *names: str) -> ir.Operation | None:
        """Return the operation that computes an expression, if it may be seen.

        Parameters
        ----------
        expr : expression
        *names : str
            The operations that are looked for; any by default.
        """
        if not isinstance(expr, ir.Value):
            return None
        op = self.definitions.op(self.definitions.resolve(expr))
        return None if op is None or (names and op.name not in names) else op

    def renamed(self, expr: Expression) -> Expression:
        """Return the value that an expression of a pattern stands for."""
        return self._renamed.get(expr, expr) if isinstance(expr, ir.Value) else expr

    def _facts(self) -> Facts:
        if self._known_facts is None:
            self._known_facts = Facts() if self._place is None else facts_at(self._place)
        return self._known_facts

    def same_dims(self, lhs: ShapeExpr | None, rhs: ShapeExpr | None) -> bool:
        """Say whether two shapes are known and proven to be the same."""
        if lhs is None or rhs is None or len(lhs) != len(rhs):
            return False
        if lhs.context is not rhs.context:
            rhs = _in_context(rhs, lhs.context)
        return all(map(self._same_dim, lhs.dims, rhs.dims))

    def _same_dim(self, lhs: Dim, rhs: Dim) -> bool:
        answer = lhs.prove_equal(rhs)
        return bool(lhs.prove_equal(rhs, self._facts()) if answer is None else answer)

    def unify(self, formal: ir.Type, actual: ir.Type | None) -> bool:
        """Say whether a type is of the type of a pattern, and bind the pattern's variables."""
        if actual is None:
            return False
        if formal.context is not actual.context:
            formal = _in_context(formal, actual.context)
        known = formal
        while True:
            known = substitute(formal, self._dims)
            new = {
                name: value
                for name, value in _bindings(known, actual).items()
                if name.startswith(VARIABLE_PREFIX) and name not in self._dims
            }
            if not new:
                break
            for name, value in new.items():
                self._set(self._dims, name, value)
        answer = is_subtype(actual, known)
        return bool(is_subtype(actual, known, self._facts()) if answer is None else answer)


def _in_context(subject: Any, context: ir.Context) -> Any:
    """Return a type or attribute in another context."""
    parse: Callable[..., Any] = (
        ir.Type.parse if isinstance(subject, ir.Type) else ir.Attribute.parse
    )
    return parse(str(subject), context)


def _bindings(formal: ir.Type, actual: ir.Type) -> Mapping[str, DimLike | ShapeExpr]:
    """Return the values of variables of a type for which it equals another one."""
    found = get_shape_var_mapping(formal, actual)
    if found:
        return found
    lhs, rhs = list(_dimensions(formal, values=True)), list(_dimensions(actual, values=True))
    for left, right in zip(lhs, rhs, strict=True) if len(lhs) == len(rhs) else ():
        names = [name for name in left.variables if name.startswith(VARIABLE_PREFIX)]
        value = _solve(left, names[0], right) if len(names) == 1 else None
        if value is not None:
            return {names[0]: value}
    return {}


def _solve(left: Dim, name: str, right: Dim) -> Dim | None:
    """Return the value of a variable with which ``factor * variable + rest`` is `right`."""
    rest = left.substitute({name: 0})
    factor = (left.substitute({name: 1}) - rest).value
    if not factor:
        return None
    value = (right - rest) // factor
    return value if left.substitute({name: value}).prove_equal(right) else None
