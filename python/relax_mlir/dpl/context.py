# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of patterns: which value uses which, and matching with a dataflow block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from mlir import ir
from relax_runtime.bounds import INT64, between

from ..core.ir import ShapeExpr, ShapeStructInfo, TensorStructInfo
from ..core.variables import defining_op
from .expressions import Expression, arguments_of, type_of
from .matcher import Matcher, PatternSet
from .pattern import Alternative, DFPattern, as_patterns


@dataclass(frozen=True)
class PairCons:
    """A constraint on how one pattern's match is used by that of another one.

    Attributes
    ----------
    only : bool
        Whether nothing else uses it.
    index : int
        The position among the arguments, -1 for any.
    is_argument : bool
        Whether the patterns are a call and its argument, so that matching the call says it all.
    """

    only: bool
    index: int = -1
    is_argument: bool = False

    def __post_init__(self) -> None:
        between("index", self.index, -1, INT64)


class SameShapeConstraint:
    """The requirement that what some patterns match is of the same shape.

    The shapes have to be known and proven to be the same. Patterns may match tensors or shapes.

    Parameters
    ----------
    *args : DFPattern
        The current `PatternContext` holds the constraint, and has to have these patterns.
    """

    def __init__(self, *args: DFPattern) -> None:
        self.args = as_patterns(args, "the arguments of SameShapeConstraint")
        context = _current()
        if context is not None:
            context._same_shapes.append(self)

    def holds(self, matcher: Matcher) -> bool:
        """Say whether it holds of what has matched so far."""
        known = [matcher.assigned[arg] for arg in self.args if arg in matcher.assigned]
        shapes = [_shape_of(expr) for expr in known]
        return all(
            matcher.same_dims(first, second)
            for first, second in zip(shapes, shapes[1:] or shapes, strict=False)
        )

    def __repr__(self) -> str:
        return f"SameShapeConstraint{self.args!r}"


def _shape_of(expr: Expression) -> ShapeExpr | None:
    type_ = type_of(expr)
    if isinstance(type_, TensorStructInfo):
        return type_.shape
    return type_.values if isinstance(type_, ShapeStructInfo) else None


class PatternSeq:
    """Patterns of which each is used by the next one.

    Parameters
    ----------
    patterns : sequence of DFPattern
    only_use : bool
        Whether nothing else uses them.
    """

    def __init__(self, patterns: Sequence[DFPattern], only_use: bool = False) -> None:
        self.patterns = as_patterns(patterns, "a sequence")
        if not self.patterns:
            raise ValueError("expected at least one pattern in a sequence, but got none")
        self.pair_constraints = [PairCons(only_use)] * (len(self.patterns) - 1)
        for first, second, cons in self._pairs():
            _add_edge(first, second, cons)

    def _pairs(self) -> Iterator[tuple[DFPattern, DFPattern, PairCons]]:
        return zip(self.patterns, self.patterns[1:], self.pair_constraints, strict=False)

    def _chain(self, other: DFPattern | PatternSeq, cons: PairCons) -> PatternSeq:
        following = other if isinstance(other, PatternSeq) else _single(other)
        _add_edge(self.patterns[-1], following.patterns[0], cons)
        chain = _single(self.patterns[0])
        chain.patterns = (*self.patterns, *following.patterns)
        chain.pair_constraints = [*self.pair_constraints, cons, *following.pair_constraints]
        return chain

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that the last pattern is used by `other`, or by the first one in it."""
        return self._chain(other, PairCons(False, index))

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        """Return ``self.used_by(other)``."""
        return self.used_by(other)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require as `used_by` does, and that nothing else uses it."""
        return self._chain(other, PairCons(True, index))

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        """Return ``self.only_used_by(other)``."""
        return self.only_used_by(other)

    def __getitem__(self, index: int) -> DFPattern:
        """Return a pattern."""
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def dup(self) -> PatternSeq:
        """Return a copy, which may match something else, with the same constraints."""
        chain = _single(self.patterns[0].dup())
        chain.patterns = (chain.patterns[0], *(pattern.dup() for pattern in self.patterns[1:]))
        chain.pair_constraints = list(self.pair_constraints)
        for first, second, cons in chain._pairs():
            _add_edge(first, second, cons)
        return chain

    def __repr__(self) -> str:
        text = repr(self.patterns[0])
        for _, second, cons in self._pairs():
            text += f" {'>>' if cons.only else '^'} {second!r}"
        return f"[{text}]"


def _single(pattern: DFPattern) -> PatternSeq:
    return PatternSeq([pattern])


# ---------------------------------------------------------------------------------------------
# Contexts
# ---------------------------------------------------------------------------------------------


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[PatternContext] = []


_STACK = _Stack()


def _current() -> PatternContext | None:
    return _STACK.contexts[-1] if _STACK.contexts else None


def _add_edge(producer: DFPattern, consumer: DFPattern, cons: PairCons) -> None:
    context = _current()
    if context is not None:
        context._add_edge(producer, consumer, cons)


def add_argument(arg: DFPattern, call: DFPattern) -> None:
    """Hold in the current context, if there is one, that a pattern is an argument of a call."""
    _add_edge(arg, call, PairCons(False, is_argument=True))


class PatternContext:
    """Patterns with constraints, which are matched all together with a dataflow block.

    In the body of a ``with`` statement it holds the constraints that are made: by `used_by`,
    `only_used_by`, `fork_to`, `same_shape_as`, and by calls of patterns with arguments. Each
    pattern that has such a constraint matches a value of the block, two of them never the same
    one, unless one of them only says more of what the other one matches.

    Parameters
    ----------
    incremental : bool
        Whether it begins with the constraints of the context around it.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op
    >>> from relax_mlir.script import from_source
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor(("n",), "float32")):
    ...     with R.dataflow():
    ...         a = R.exp(x)
    ...         b = R.negative(a)
    ...         c = R.add(a, b)
    ...         R.output(c)
    ...     return c
    ... ''')
    >>> block = func.op.body.blocks[0].operations[0]
    >>> exp = is_op("relax.exp")(varg_default_wildcard=True)
    >>> negative = is_op("relax.negative")(varg_default_wildcard=True)
    >>> with PatternContext() as used:
    ...     _ = exp ^ negative
    >>> with PatternContext() as only_used:
    ...     _ = exp >> negative
    >>> used.match_dfb(block)[exp].owner.name, only_used.match_dfb(block)
    ('relax.exp', None)
    """

    def __init__(self, incremental: bool = False) -> None:
        self._edges: dict[tuple[DFPattern, DFPattern], list[PairCons]] = {}
        self._nodes: dict[DFPattern, None] = {}
        self._same_shapes: list[SameShapeConstraint] = []
        if incremental:
            around = _current()
            if around is None:
                raise ValueError("expected an incremental PatternContext inside of another one")
            self._edges = {pair: list(cons) for pair, cons in around._edges.items()}
            self._nodes = dict(around._nodes)
            self._same_shapes = list(around._same_shapes)

    def __enter__(self) -> PatternContext:
        """Hold the constraints that are made from now on."""
        _STACK.contexts.append(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Go back to the context around."""
        if self not in _STACK.contexts:
            raise RuntimeError("expected PatternContext.__enter__ before __exit__: write 'with'")
        _STACK.contexts.pop()

    @staticmethod
    def current() -> PatternContext:
        """Return the context of the innermost ``with`` statement.

        Raises
        ------
        ValueError
            If there is none.
        """
        found = _current()
        if found is None:
            raise ValueError("expected a PatternContext in a with statement, but there is none")
        return found

    def _add_edge(self, producer: DFPattern, consumer: DFPattern, cons: PairCons) -> None:
        self._nodes.setdefault(producer)
        self._nodes.setdefault(consumer)
        held = self._edges.setdefault((producer, consumer), [])
        if cons not in held:
            held.append(cons)

    def match_dfb(self, dfb: Any) -> dict[DFPattern, Expression] | None:
        """Match a dataflow block.

        Patterns that name an operator come first, then in the order in which they were made;
        values in the order of the block.

        Parameters
        ----------
        dfb : relax.DataflowOp, or mlir.ir.Block
            Values that come from outside of it match, too, but how they are made is not seen.

        Returns
        -------
        dict of DFPattern to expression, or None
            The first match: what each pattern matched, those without constraints among them.

        Raises
        ------
        ValueError
            If there are no constraints, or one is on a pattern that the others do not have.
        """
        block = _block_of(dfb)
        *ops, _ = (op.operation for op in block.operations)
        graph = Graph(self)
        known = set(ops)
        return next(graph.matches(ops, lambda op: op in known), None)


def _block_of(dfb: Any) -> ir.Block:
    if isinstance(dfb, ir.Block):
        return dfb
    operation = getattr(dfb, "operation", None)
    if isinstance(operation, ir.Operation) and operation.name == "relax.dataflow":
        return operation.regions[0].blocks[0]
    raise TypeError(f"expected a dataflow block, but got {dfb!r}")


# ---------------------------------------------------------------------------------------------
# Matching
# ---------------------------------------------------------------------------------------------


class Graph:
    """The patterns of a context in the form that matching needs.

    Parameters
    ----------
    context : PatternContext
    """

    def __init__(self, context: PatternContext) -> None:
        if not context._nodes:
            raise ValueError(
                "expected constraints in the PatternContext, such as `a ^ b` or a call of a "
                "pattern with arguments, but there are none"
            )
        self.edges = context._edges
        self.nodes = sorted(context._nodes, key=lambda node: node.root_ops() is None)
        self.same_shapes = context._same_shapes
        self.patterns = PatternSet(self.nodes)
        self.groups = _groups(self.nodes)
        for constraint in self.same_shapes:
            for arg in constraint.args:
                if arg not in self.patterns.patterns:
                    raise ValueError(
                        f"expected the patterns of {constraint} in the PatternContext, but {arg!r} "
                        "has no constraint there"
                    )

    def matches(
        self,
        ops: Sequence[ir.Operation],
        scope: Callable[[ir.Operation], bool],
        renamed: dict[ir.Value, ir.Value] | None = None,
    ) -> Iterator[dict[DFPattern, Expression]]:
        """Yield the matches with operations of a block, in order."""
        if not ops:
            return
        matcher = Matcher(self.patterns, scope=scope, place=ops[-1], renamed=renamed)
        yield from self.matches_with(matcher, ops)

    def matches_with(
        self, matcher: Matcher, ops: Sequence[ir.Operation]
    ) -> Iterator[dict[DFPattern, Expression]]:
        """Yield the matches that a matcher finds."""
        values: dict[ir.Value, None] = {}
        for op in ops:
            values.update(dict.fromkeys((*op.operands, *op.results)))
        step = _Step(self, {value: place for place, value in enumerate(values)})
        for _ in matcher.solutions([(step, ())]):
            yield {
                pattern: expr
                for pattern, expr in matcher.assigned.items()
                if pattern in self.patterns.patterns
            }

    def holds(self, matcher: Matcher, before: set[DFPattern]) -> bool:
        """Say whether the constraints hold that speak of what has matched since before."""
        known = {node: matcher.assigned[node] for node in self.nodes if node in matcher.assigned}
        owners: dict[Expression, DFPattern] = {}
        for node, expr in known.items():
            if self.groups[owners.setdefault(expr, node)] is not self.groups[node]:
                return False
        for (producer, consumer), constraints in self.edges.items():
            if producer not in known or consumer not in known:
                continue
            if producer in before and consumer in before:
                continue
            pair = known[producer], known[consumer]
            if not all(_is_used(*pair, cons, matcher) for cons in constraints):
                return False
        return all(constraint.holds(matcher) for constraint in self.same_shapes)

    def candidates(
        self, node: DFPattern, matcher: Matcher, places: Mapping[ir.Value, int]
    ) -> Iterator[ir.Value]:
        """Yield the values that a pattern may match, as those that it uses have it, in order."""
        names = node.root_ops()
        found: Iterable[ir.Value] = places
        for producer, consumer in self.edges:
            if consumer is node and isinstance(matcher.assigned.get(producer), ir.Value):
                users = _users(matcher.assigned[producer]) & places.keys()
                found = sorted(users.intersection(found), key=places.__getitem__)
        for value in found:
            op = defining_op(value)
            if names is None or (op is not None and op.name in names):
                yield value


def _groups(nodes: Iterable[DFPattern]) -> dict[DFPattern, DFPattern]:
    """Return for each pattern one of those that say something of the same value."""
    groups: dict[DFPattern, DFPattern] = {}

    def join(pattern: DFPattern, group: DFPattern) -> None:
        group = groups.get(pattern, group)
        work = [pattern]
        while work:
            part = work.pop()
            old = groups.get(part)
            if old is not None and old is not group:
                for other in [other for other, found in groups.items() if found is old]:
                    groups[other] = group
            groups[part] = group
            if old is not group:
                work.extend(part.parts_of_same_value())

    for node in nodes:
        join(node, node)
    return groups


class _Step(DFPattern):
    """The next pattern of a graph that has not matched yet."""

    def __init__(self, graph: Graph, places: Mapping[ir.Value, int]) -> None:
        self._graph, self._places = graph, places

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        graph = self._graph
        before = {node for node in graph.nodes if node in matcher.assigned}
        node = self._next(before)
        if node is None:
            yield expr, ()
            return
        for value in list(graph.candidates(node, matcher, self._places)):
            following = _Step(graph, self._places)
            yield expr, ((node, value), lambda: graph.holds(matcher, before), (following, ()))

    def _next(self, known: set[DFPattern]) -> DFPattern | None:
        """Return a pattern next to those that have matched, or else the first one."""
        left = [node for node in self._graph.nodes if node not in known]
        near = {
            node
            for producer, consumer in self._graph.edges
            for node, other in ((producer, consumer), (consumer, producer))
            if other in known
        }
        return next((node for node in left if node in near), left[0] if left else None)


def _users(value: ir.Value) -> set[ir.Value]:
    """Return the values computed from a value, under whichever of its names."""
    found: set[ir.Value] = set()
    work = [value]
    while work:
        for use in work.pop().uses:
            for result in use.owner.operation.results:
                if result not in found:
                    found.add(result)
                    if (
                        use.owner.operation.name in ("relax.match_cast", "relax.tuple")
                        or use.owner.operation.name == "relax.get_item"
                    ):
                        work.append(result)
    return found


def _is_used(producer: Expression, consumer: Expression, cons: PairCons, matcher: Matcher) -> bool:
    """Say whether a value uses another one as a constraint says."""
    if cons.is_argument:  # what the call matched says so
        return True
    if not isinstance(producer, ir.Value) or not isinstance(consumer, ir.Value):
        return False
    op = defining_op(consumer)
    if op is None:
        return False
    arguments = arguments_of(op)
    if cons.index >= 0:
        arguments = arguments[cons.index : cons.index + 1]
    if not any(matcher.definitions.same(producer, argument) for argument in arguments):
        return False
    return not cons.only or all(use.owner.operation == op for use in producer.uses)
