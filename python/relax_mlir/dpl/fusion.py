# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matches for `relax_mlir.transform.FuseOpsByPattern`: which operations become a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir import ir

from ..core.lifetimes import key_of
from ..core.variables import defining_op
from ..transform import fuse_ops_by_pattern
from .expressions import Expression, Scope, call_of
from .matcher import Matcher, PatternSet
from .pattern import DFPattern, as_patterns
from .structure import CallPattern, TupleGetItemPattern, TuplePattern

# Other names of values: a match through one would leave it between two parts of a function.
_NAMES = ("relax.match_cast", "relax.dataflow")


class FusionMatcher:
    """Finds matches of a pattern.

    Parameters
    ----------
    fusion : relax_mlir.transform.FusionPattern

    Raises
    ------
    TypeError
        If what is given as a pattern is none.

    Attributes
    ----------
    names : frozenset of str or None
        The operations with which a match may end; None for any.
    """

    def __init__(self, fusion: Any) -> None:
        what = f"what is given for '{fusion.name}'"
        (self._pattern,) = as_patterns([fusion.pattern], what)
        as_patterns(fusion.annotation_patterns.values(), what)
        self.names = self._pattern.root_ops()
        self._patterns = PatternSet([self._pattern])
        # The arguments of calls that only certain operations make.
        self._parts = {
            each: [(arg, ops) for arg in each.args for ops in [arg.root_ops()] if ops]
            for each in self._patterns.patterns
            if isinstance(each, CallPattern)
        }
        self._has_tuples = any(isinstance(each, TuplePattern) for each in self._patterns.patterns)

    def may_end(
        self, key: int, names: Mapping[int, str], makers: Mapping[int, Sequence[int]]
    ) -> bool:
        """Say whether a match may end with an operation, as far as the names of operations say.

        Parameters
        ----------
        key : int
            The key of the operation.
        names : mapping of int to str
            The names of operations by their keys.
        makers : mapping of int to sequence of int
            The keys of the operations that make the operands of each; 0 for parameters.
        """
        work = [(self._pattern, key)] if not self._has_tuples else []
        while work:
            pattern, op = work.pop()
            if not isinstance(pattern, CallPattern):
                continue
            for part, wanted in self._parts[pattern]:
                # Of what is outside of the block, the names are not known.
                fitting = [
                    maker
                    for maker in makers[op]
                    if (names[maker] in wanted if maker in names else maker != 0)
                ]
                if not fitting:
                    return False
                if len(fitting) == 1 and fitting[0] in makers:
                    work.append((part, fitting[0]))
        return True

    def may_see(self, op: ir.Operation) -> bool:
        """Say whether a match may look at an operation."""
        return op.name not in _NAMES and (self._has_tuples or op.name != "relax.tuple")

    def match(self, op: ir.Operation, scope: Scope) -> dict[DFPattern, Expression] | None:
        """Return what the parts of the pattern match, if it matches an operation."""
        if call_of(op) is None:
            return None
        matcher = Matcher(self._patterns, scope=scope, place=op)
        return matcher.first([(self._pattern, op.results[0])])

    def operations(
        self, root: ir.Operation, matchings: dict[DFPattern, Expression]
    ) -> list[ir.Operation]:
        """Return the operations of a match: calls, fields, and tuples that only these use."""
        found = {key_of(root): root}
        tuples = []
        for pattern, expr in matchings.items():
            op = defining_op(expr) if isinstance(expr, ir.Value) else None
            if op is None:
                continue
            if isinstance(pattern, (CallPattern, TupleGetItemPattern)):
                found[key_of(op)] = op
            elif isinstance(pattern, TuplePattern) and op.name == "relax.tuple":
                tuples.append(op)
        for op in tuples:
            users = [use.owner.operation for use in op.results[0].uses]
            if all(key_of(user) in found for user in users):
                found[key_of(op)] = op
        return list(found.values())


fuse_ops_by_pattern.make_matcher = FusionMatcher
