# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop that rewrites functions until no rule applies any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from .._warnings import warn
from ..core.expr import as_value
from ..core.struct_info import facts_at, is_subtype
from ..core.values import Expr
from ..core.variables import defining_op, unnamed, walk
from ..core.violations import _place
from ..core.visibility import require_visible
from .expressions import Expression
from .matcher import Matcher, PatternSet
from .pattern import Alternative, DFPattern
from .segments import (
    blocks_inside,
    erase_unused,
    is_barrier,
    key_of,
    move,
    operations,
    scope_after,
    segments,
    sorted_segment,
)

Matchings: TypeAlias = dict[DFPattern, Expression]
# Of a match, the values that are replaced; None where the rule says that later.
Match: TypeAlias = "tuple[Matchings, tuple[ir.Value, ...] | None]"

_NO_ROOTS = ("relax.match_cast", "relax.dataflow", "relax.if", "relax.seq")
# The greatest length of chains of rewrites of rewritten code, besides the size of the function.
_LIMIT = 64


class RewriteError(ValueError):
    """A replacement cannot stand for what it replaces, or rewriting does not end."""


class RewriteWarning(UserWarning):
    """A match is left out, since what replaces its values would depend on itself."""


class ExprRule:
    """A pattern of one value, and what makes its replacement.

    Parameters
    ----------
    pattern : DFPattern
    func : callable
        ``(value, matchings)`` to a value, or None.
    others : sequence of DFPattern
        Patterns around that stand for the same value.
    """

    def __init__(
        self, pattern: DFPattern, func: Callable[..., Any], others: Sequence[DFPattern] = ()
    ) -> None:
        self.pattern, self.func, self.others = pattern, func, tuple(others)
        self.names = pattern.root_ops()
        self.patterns = PatternSet([pattern])

    def match(self, value: ir.Value, matcher: Matcher) -> Matchings | None:
        """Return the parts of a match of a value."""
        found = matcher.first([(self.pattern, value)])
        return None if found is None else {**found, **dict.fromkeys(self.others, value)}


class TupleRule:
    """Patterns of values that need not be in a tuple, and what makes a tuple in place of them.

    Parameters
    ----------
    fields : sequence of DFPattern
    func : callable
        ``(values, matchings)`` to a tuple, or None.
    others : sequence of DFPattern
        Patterns that stand for the tuple of the values.
    """

    def __init__(
        self,
        fields: Sequence[DFPattern],
        func: Callable[..., Any],
        others: Sequence[DFPattern] = (),
    ) -> None:
        self.fields, self.func, self.others = tuple(fields), func, tuple(others)
        self.patterns = PatternSet(self.fields)

    def matches(
        self, segment: Sequence[ir.Operation], matcher: Matcher, renamed: Any
    ) -> Iterator[Match]:
        """Yield the matches in a part of a block."""
        roots = [op for op in segment if len(op.results) == 1 and op.name not in _NO_ROOTS]
        for _ in matcher.solutions([(_Pick(self.fields, roots), ())]):
            values = tuple(matcher.assigned[field] for field in self.fields)
            given = {p: e for p, e in matcher.assigned.items() if p in self.patterns.patterns}
            yield {**given, **dict.fromkeys(self.others, values)}, values

    def replacements(self, match: Match, segment: Sequence[ir.Operation]) -> Any:
        """Return the replacement of each value, or None."""
        matchings, values = match
        assert values is not None
        made = self.func(values, matchings)
        if made is None or made is values:
            return None
        if isinstance(made, ir.Value):
            made = [made[index] for index in range(len(values))]
        if len(made) != len(values):
            raise RewriteError(f"expected a tuple of {len(values)} values, but got {len(made)}")
        return dict(zip(values, made, strict=True))


class _Pick(DFPattern):
    """The rest of the patterns of a `TupleRule`: it matches the values that are taken already."""

    def __init__(self, fields: Sequence[DFPattern], ops: Sequence[ir.Operation]) -> None:
        self._fields, self._ops = fields, ops

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        taken: tuple[ir.Value, ...] = expr
        if len(taken) == len(self._fields):
            yield expr, ()
            return
        field = self._fields[len(taken)]
        names = field.root_ops()
        for op in self._ops:
            if (names is None or op.name in names) and op.results[0] not in taken:
                rest = (_Pick(self._fields, self._ops), (*taken, op.results[0]))
                yield expr, ((field, op.results[0]), rest)


class GraphRule:
    """The patterns of a context, and what makes the replacements of values.

    Parameters
    ----------
    graph : Graph
    func : callable
        ``(matchings, bindings)`` to a mapping of values to values; empty for none.
    """

    def __init__(self, graph: Any, func: Callable[..., Any]) -> None:
        self.graph, self.func = graph, func
        self.patterns = graph.patterns

    def matches(
        self, segment: Sequence[ir.Operation], matcher: Matcher, renamed: Any
    ) -> Iterator[Match]:
        """Yield the matches in a part of a block."""
        for matchings in self.graph.matches_with(matcher, segment):
            yield matchings, None

    def replacements(self, match: Match, segment: Sequence[ir.Operation]) -> Any:
        """Return the replacement of each value, or None."""
        bindings = {result: op.opview for op in segment for result in op.results}
        made = self.func(match[0], bindings)
        if made is not None and not isinstance(made, Mapping):
            raise TypeError(f"expected a mapping of values to values, but got {made!r}")
        return made or None


Rule: TypeAlias = "ExprRule | TupleRule | GraphRule"


class Driver:
    """Applies rules to functions.

    Parameters
    ----------
    rules : sequence of rule
        Of two that apply to a value, the first one does.
    renamed : mapping of mlir.ir.Value to mlir.ir.Value
        The values that stand for those in patterns.
    """

    def __init__(self, rules: Sequence[Rule], renamed: Mapping[ir.Value, ir.Value]) -> None:
        self._single = [rule for rule in rules if isinstance(rule, ExprRule)]
        self._groups = [rule for rule in rules if not isinstance(rule, ExprRule)]
        self._renamed = renamed
        self._generation: dict[int, int] = {}
        self._done: set[int] = set()
        # While a block is visited, its operations by their keys.
        self._present: dict[int, ir.Operation] = {}
        self._warned: set[str] = set()
        self._limit = _LIMIT

    def run(self, func: ir.Operation) -> bool:
        """Rewrite a function, and say whether anything changed."""
        self._limit = _LIMIT + sum(1 for _ in walk(func))
        changed = False
        while True:
            again = False
            for block in list(blocks_inside(func)):
                again |= self._block(block)
            if not again:
                return changed
            changed = True

    def _block(self, block: ir.Block) -> bool:
        changed = False
        while True:
            changed |= self._scan(block)
            if not self._rewrite_groups(block):
                return changed
            changed = True

    # -- one value at a time -------------------------------------------------------------------

    def _scan(self, block: ir.Block) -> bool:
        """Apply the rules of one value from the start to the end of a block."""
        if not self._single:
            return False
        # Operations to visit, last first. An operation that is erased may leave its key to
        # another one.
        work = [(key_of(op), op) for op in reversed(operations(block))]
        self._present = dict(work)
        barrier, changed = None, False
        while work:
            key, op = work.pop()
            if self._present.get(key) is not op:
                continue
            if is_barrier(op):
                barrier = op
            made = self._rewrite(op, barrier) if self._is_root(op) else None
            if made is None:
                continue
            changed = True
            again = [(key_of(new), new) for new in made]
            self._present.update(again)
            work += reversed(again)
        self._present = {}
        return changed

    def _is_root(self, op: ir.Operation) -> bool:
        return len(op.results) == 1 and op.name not in _NO_ROOTS and key_of(op) not in self._done

    def _rewrite(self, op: ir.Operation, barrier: ir.Operation | None) -> list[ir.Operation] | None:
        """Apply the first rule that does; return what is left of what it made."""
        scope = scope_after(op.block, barrier)
        value = op.results[0]
        for rule in self._single:
            if rule.names is not None and op.name not in rule.names:
                continue
            matcher = Matcher(rule.patterns, scope=scope, place=op, renamed=self._renamed)
            if rule.names is None and matcher.definitions.inner(value) is not None:
                continue  # another name of a value
            matchings = rule.match(value, matcher)
            if matchings is None:
                continue
            found, made = self._make(op, rule.func, value, matchings)
            if found is None or self._is_same(found, value, made):
                erase_unused(reversed(made), set(map(key_of, made)), self._forget)
                continue
            if any(value in list(inner.operands) for new in made for inner in walk(new)):
                op.move_before(made[0])  # it goes on as a part of its replacement
            pairs = [(key_of(new), new) for new in made]
            self._present.update(pairs)
            self._apply({value: found}, matchings, made)
            return [new for key, new in pairs if self._present.get(key) is new]
        return None

    def _is_same(self, found: Any, value: ir.Value, made: Sequence[ir.Operation]) -> bool:
        """Say whether what replaces a value is that value, or computed alike."""
        if found == value:
            return True
        new, old = defining_op(found), defining_op(value)
        assert old is not None
        return (
            new is not None
            and any(new == op for op in made)
            and new.name == old.name
            and list(new.operands) == list(old.operands)
            and dict(new.attributes.items()) == dict(old.attributes.items())
            and len(new.regions) == 0
            and found.type == value.type
        )

    # -- several values at a time --------------------------------------------------------------

    def _rewrite_groups(self, block: ir.Block) -> bool:
        """Apply a rule of several values once."""
        for segment in segments(block) if self._groups else ():
            for rule in self._groups:
                matcher = Matcher(
                    rule.patterns,
                    scope=_members(segment),
                    place=segment[-1],
                    renamed=self._renamed,
                )
                for match in rule.matches(segment, matcher, self._renamed):
                    if self._rewrite_group(block, segment, rule, match):
                        return True
        return False

    def _rewrite_group(
        self, block: ir.Block, segment: Sequence[ir.Operation], rule: Any, match: Match
    ) -> bool:
        place = {key_of(op): index for index, op in enumerate(segment)}
        matched = [place[key] for key in _keys(match[0].values()) if key in place]
        if not matched or any(
            key_of(op) in self._done
            for value in match[1] or ()
            for op in [defining_op(value)]
            if op
        ):
            return False
        anchor = segment[max(matched)]
        after = _ext.next_operation(anchor)
        assert after is not None  # at least the end of the block
        found, made = self._make(after, rule.replacements, match, segment)
        part = [*segment]
        part[place[key_of(anchor)] + 1 : place[key_of(anchor)] + 1] = made
        accepted = found is not None and self._are_replaceable(found, place)
        new = set(map(key_of, made))
        order = sorted_segment(part, new, found) if accepted else None
        if found is None or order is None:
            if found is not None and accepted:
                self._warn_of_cycle(anchor, found)
            erase_unused(reversed(made), new, self._forget)
            return False
        for old, value in found.items():
            self._check_type(old, value)
        move(part, order)
        self._apply(found, match[0], made)
        return True

    def _warn_of_cycle(self, anchor: ir.Operation, found: Mapping[ir.Value, ir.Value]) -> None:
        """Say, once for each place, that a match is left out."""
        names = ", ".join(f"'{op.name}'" for op in map(defining_op, found) if op is not None)
        message = (
            f"{_place(anchor.location)}: a match that ends here is left out, since what stands "
            f"in place of {names} then would depend on itself"
        )
        if message not in self._warned:
            self._warned.add(message)
            warn(message, RewriteWarning)

    def _are_replaceable(
        self, found: Mapping[ir.Value, ir.Value], place: Mapping[int, int]
    ) -> bool:
        """Say whether none of some values was replaced already, and still is in use."""
        for value in found:
            op = defining_op(value) if isinstance(value, ir.Value) else None
            if op is None or key_of(op) not in place:
                raise RewriteError(
                    f"expected values of the matched part of the block to replace, but got {value}"
                )
            if key_of(op) in self._done:
                return False
        return True

    # -- both ----------------------------------------------------------------------------------

    def _make(
        self, op: ir.Operation, func: Callable[..., Any], *args: Any
    ) -> tuple[Any, list[ir.Operation]]:
        """Call what makes a replacement before an operation; return it with what it inserts."""
        point = ir.InsertionPoint(op)
        start = ir.Operation.create("builtin.unrealized_conversion_cast", loc=op.location, ip=point)
        try:
            with op.context, point, unnamed(op.location):
                found = func(*args)
                if isinstance(found, Mapping):
                    found = {old: as_value(new) for old, new in found.items()}
                elif found is not None:
                    found = as_value(found)
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"in the replacement of '{op.name}' at {_place(op.location)}")
            raise
        finally:
            made = list(_between(start, op))
            start.erase()
        self._check_visible(op, found)
        return found, made

    def _check_visible(self, op: ir.Operation, found: Any) -> None:
        values = list(found.values()) if isinstance(found, Mapping) else [found]
        try:
            require_visible("a replacement", values, op.block)
        except ValueError as error:
            raise RewriteError(f"{_place(op.location)}: {error}") from None

    def _check_type(self, old: ir.Value, new: ir.Value) -> None:
        op = defining_op(old)
        assert op is not None
        if new.type == old.type or is_subtype(new.type, old.type):
            return
        if is_subtype(new.type, old.type, facts_at(op)):
            return
        raise RewriteError(
            f"{_place(op.location)}: expected a replacement of the type of '{op.name}', "
            f"{old.type}, or a subtype of it, but got {new.type}; relax_mlir.op.match_cast checks "
            "at run time what is not known"
        )

    def _apply(
        self,
        replacements: Mapping[ir.Value, ir.Value],
        matchings: Matchings,
        made: Sequence[ir.Operation],
    ) -> None:
        """Replace values."""
        olds = [op for op in map(defining_op, replacements) if op is not None]
        generation = 1 + max(self._generation.get(key_of(op), 0) for op in olds)
        if generation > self._limit:
            raise RewriteError(
                f"{_place(olds[0].location)}: expected rewriting to end, but '{olds[0].name}' was "
                f"made by {generation - 1} rewrites of what rewrites have made"
            )
        keys = list(map(key_of, made))
        self._done.difference_update(keys)
        self._generation.update(dict.fromkeys(keys, generation))
        own = {key_of(op) for new in made for op in walk(new)}
        replaced = set(_keys(matchings.values()))
        uses = []
        for old, new in replacements.items():
            self._check_type(old, new)
            self._name_after(old, new, keys)
            uses += [(use.owner.operation, use.operand_number, new) for use in old.uses]
        for user, number, new in uses:
            if key_of(user) not in own:
                user.operands[number] = new
        self._done.update(map(key_of, olds))
        unused = [*made, *olds, *_fold_fields(replacements.values())]
        known = replaced | set(keys) | set(map(key_of, olds))
        erase_unused(unused, known, self._forget, _held([*replacements, *matchings.values()]))

    def _name_after(self, old: ir.Value, new: ir.Value, keys: Sequence[int]) -> None:
        """Give what replaces a value the name of it."""
        made, replaced = defining_op(new), defining_op(old)
        if made is not None and replaced is not None and key_of(made) in keys:
            name = replaced.location
            replaced.location = unnamed(name)  # where it stays, it is another value
            made.location = name

    def _forget(self, key: int) -> None:
        self._generation.pop(key, None)
        self._done.discard(key)
        self._present.pop(key, None)


def _between(start: ir.Operation, end: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations after one, up to another one of its block."""
    op = _ext.next_operation(start)
    while op is not None and op != end:
        yield op
        op = _ext.next_operation(op)


def _members(segment: Sequence[ir.Operation]) -> Callable[[ir.Operation], bool]:
    known = set(map(key_of, segment))
    return lambda op: key_of(op) in known


def _keys(exprs: Any) -> Iterator[int]:
    """Yield the keys of the operations that make some expressions."""
    for expr in exprs:
        if isinstance(expr, tuple):
            yield from _keys(expr)
        elif isinstance(expr, ir.Value):
            op = defining_op(expr)
            if op is not None:
                yield key_of(op)


def _held(exprs: Sequence[Any]) -> dict[int, list[Expr]]:
    """Return values that a rewriter was given, by the keys of the operations that make them."""
    held: dict[int, list[Expr]] = {}
    for expr in exprs:
        if isinstance(expr, tuple):
            for key, values in _held(expr).items():
                held.setdefault(key, []).extend(values)
        elif isinstance(expr, Expr) and (op := defining_op(expr)) is not None:
            held.setdefault(key_of(op), []).append(expr)
    return held


def _fold_fields(values: Any) -> list[ir.Operation]:
    """Use what was put into tuples in place of fields taken from them."""
    unused = []
    for value in values:
        op = defining_op(value)
        if op is None or op.name != "relax.tuple":
            continue
        for user in [use.owner.operation for use in value.uses]:
            if user.name == "relax.get_item":
                field = op.operands[user.attributes["index"].value]
                user.results[0].replace_all_uses_with(field)
                unused.append(user)
    return unused
