# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maps of indices from one layout of a tensor to another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ..core.ir import Dim, Facts


@dataclass(frozen=True)
class _Digit:
    """A part of an index: ``index // divisor % extent``, all of the quotient without extent."""

    axis: int
    divisor: int
    extent: int | None

    def size(self, dims: Sequence[Dim]) -> Dim:
        """Return how many values it has."""
        if self.extent is not None:
            return Dim(self.extent)
        return (dims[self.axis] + (self.divisor - 1)) // self.divisor


# A result of a map: the sum of digits, each times a number, from the largest number to the least.
_Sum = list[tuple[_Digit, Dim]]


def inverse_of(map_: ir.AffineMap, dims: Sequence[Dim]) -> ir.AffineMap | None:
    """Return the map that leads back to the indices of a tensor.

    Parameters
    ----------
    map_ : mlir.ir.AffineMap
        It splits indices into parts (``//``, ``%``), and puts parts together (``+``, ``*``).
    dims : sequence of Dim
        The dimensions of the tensor.

    Returns
    -------
    mlir.ir.AffineMap or None
        None where the map leads two indices to the same place, or is of no form that is known.

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> with default_context():
    ...     i = ir.AffineExpr.get_dim(0)
    ...     blocks = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_floor_div(i, 4), i % 4])
    >>> print(inverse_of(blocks, [Dim(14)]))
    (d0, d1) -> (d0 * 4 + d1)
    """
    sums = [_sum_of(expr, dims) for expr in map_.results]
    parts: dict[int, list[tuple[_Digit, ir.AffineExpr]]] = {}
    with map_.context:
        for place, found in enumerate(sums):
            if found is None or not _split(found, ir.AffineExpr.get_dim(place), dims, parts):
                return None
        exprs = [_joined(parts.get(axis, []), dims[axis]) for axis in range(len(dims))]
        known = [expr for expr in exprs if expr is not None]
        if len(known) < len(exprs):
            return None
        return ir.AffineMap.get(len(sums), 0, known)


def is_identity(map_: ir.AffineMap, dims: Sequence[Dim]) -> bool:
    """Say whether a map provably leads each index of a tensor to itself.

    Parameters
    ----------
    map_ : mlir.ir.AffineMap
    dims : sequence of Dim
        The dimensions of the tensor.
    """
    if len(map_.results) != len(dims):
        return False
    names = [f"index${axis}" for axis in range(len(dims))]
    sizes = {name: (0, None) for dim in dims for name in dim.variables}
    facts = Facts(
        {**sizes, **dict.fromkeys(names, (0, None))},
        inequalities=[(name, dim - 1) for name, dim in zip(names, dims, strict=True)],
    )
    pairs = zip(map_.results, names, strict=True)
    return all(_dim_of(expr, names).prove_equal(name, facts) for expr, name in pairs)


def composed(outer: ir.AffineMap, inner: ir.AffineMap) -> ir.AffineMap:
    """Return the map that leads to where `outer` leads from where `inner` does."""
    with inner.context:
        results = [expr.compose(inner) for expr in outer.results]
        return ir.AffineMap.get(inner.n_dims, 0, results)


def _dim_of(expr: ir.AffineExpr, names: Sequence[str]) -> Dim:
    """Return an expression of indices as one of shape variables."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return Dim(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return Dim(names[expr.position])
    lhs, rhs = _dim_of(expr.lhs, names), _dim_of(expr.rhs, names)
    if isinstance(expr, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(expr, ir.AffineMulExpr):
        return lhs * rhs
    if isinstance(expr, ir.AffineModExpr):
        return lhs % rhs
    if isinstance(expr, ir.AffineFloorDivExpr):
        return lhs // rhs
    return -(-lhs // rhs)  # ceildiv


def _constant(expr: ir.AffineExpr) -> int | None:
    expr = expr.maybe_downcast()
    return expr.value if isinstance(expr, ir.AffineConstantExpr) else None


def _digit_of(expr: ir.AffineExpr) -> _Digit | None:
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineDimExpr):
        return _Digit(expr.position, 1, None)
    if not isinstance(expr, (ir.AffineModExpr, ir.AffineFloorDivExpr)):
        return None
    inner, number = _digit_of(expr.lhs), _constant(expr.rhs)
    if inner is None or number is None or number < 1:
        return None
    if isinstance(expr, ir.AffineModExpr):
        if inner.extent is None or inner.extent % number == 0:
            return _Digit(inner.axis, inner.divisor, number)
        return None
    if inner.extent is None:
        return _Digit(inner.axis, inner.divisor * number, None)
    if inner.extent % number == 0:
        return _Digit(inner.axis, inner.divisor * number, inner.extent // number)
    return None


def _sum_of(expr: ir.AffineExpr, dims: Sequence[Dim]) -> _Sum | None:
    """Return a result of a map as a sum of digits, whose ranges follow each other."""
    found: list[tuple[_Digit, int]] = []
    pending = [expr]
    while pending:
        each = pending.pop().maybe_downcast()
        if isinstance(each, ir.AffineAddExpr):
            pending += [each.lhs, each.rhs]
            continue
        number = _constant(each)
        if number is not None:
            if number != 0:
                return None
            continue
        factor = 1
        if isinstance(each, ir.AffineMulExpr):
            factor, each = _constant(each.rhs) or 0, each.lhs
        digit = _digit_of(each)
        if digit is None or factor < 1:
            return None
        found.append((digit, factor))
    found.sort(key=lambda pair: -pair[1])
    below = Dim(1)
    for digit, factor in reversed(found):
        if not below.prove_equal(factor):
            return None
        below = digit.size(dims) * factor
    return [(digit, Dim(factor)) for digit, factor in found]


def _split(
    found: _Sum,
    place: ir.AffineExpr,
    dims: Sequence[Dim],
    parts: dict[int, list[tuple[_Digit, ir.AffineExpr]]],
) -> bool:
    """Add the digits of a result, as expressions of its place; say whether that is possible."""
    for number, (digit, factor) in enumerate(found):
        assert factor.value is not None
        expr = place if factor.value == 1 else ir.AffineExpr.get_floor_div(place, factor.value)
        if number > 0:
            size = digit.size(dims).value
            if size is None:
                return False
            expr = ir.AffineExpr.get_mod(expr, size)
        parts.setdefault(digit.axis, []).append((digit, expr))
    return True


def _joined(parts: list[tuple[_Digit, ir.AffineExpr]], size: Dim) -> ir.AffineExpr | None:
    """Return an index made of its digits; None where they overlap, or one is missing."""
    result = None
    reached: int | None = 1
    for digit, expr in sorted(parts, key=lambda part: part[0].divisor):
        if reached is None or digit.divisor != reached:
            return None
        part = expr * digit.divisor
        result = part if result is None else part + result
        reached = None if digit.extent is None else digit.divisor * digit.extent
    if reached is not None and not size.prove_less_equal(reached, _not_negative(size)):
        return None
    return ir.AffineExpr.get_constant(0) if result is None else result


def _not_negative(size: Dim) -> Facts:
    return Facts(dict.fromkeys(size.variables, (0, None)))
