# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of three matrices, in the order that takes fewer operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .. import op
from ..core.functions import computable_at_compile_time
from ..core.ir import Dim, Facts
from ..core.struct_info import facts_at
from ..core.variables import defining_op
from .fold_constant import is_computed_of_constants
from .polynomials import Polynomial, Sizes
from .python_pass import function_pass
from .rewriting import (
    dims_of,
    has_one_dtype,
    has_one_use,
    made_by,
    rewrite_operations,
    swapped,
    transposed,
)

_IsKnown = Callable[[ir.Value], bool]


@function_pass(opt_level=1)
class AdjustMatmulOrder:
    """Compute ``matmul(matmul(a, b), c)`` as ``matmul(a, matmul(b, c))``, or the other way round.

    Two of the three that are known before the program runs are multiplied with each other:
    constants, and parameters after the first `num_input` ones. Else the order is the one that
    provably takes fewer operations, whatever the shape variables are within what is known of them
    (``tir_var_lower_bound``, ``tir_var_upper_bound``, casts before). A product that is used
    elsewhere is computed in any case, and counts as nothing in the order that uses it.

    The inner product may be transposed: ``matmul(permute_dims(matmul(b, a)), c)`` becomes
    ``matmul(permute_dims(a), matmul(permute_dims(b), c))`` if that is better.

    All matrices have one data type, so that integers overflow alike; sums of floats may be rounded
    in another way.

    Examples
    --------
    >>> from relax_mlir.transform import AdjustMatmulOrder
    >>> mod = AdjustMatmulOrder()('''
    ... relax.func @main(%x: !relax.tensor<[16], f32>, %a: !relax.tensor<[16, r], f32>,
    ...                  %b: !relax.tensor<[r, 32], f32>) -> !relax.tensor<[32], f32> {
    ...   %0 = relax.matmul %a, %b : (!relax.tensor<[16, r], f32>, !relax.tensor<[r, 32], f32>) -> !relax.tensor<[16, 32], f32>
    ...   %1 = relax.matmul %x, %0 : (!relax.tensor<[16], f32>, !relax.tensor<[16, 32], f32>) -> !relax.tensor<[32], f32>
    ...   relax.return %1 : !relax.tensor<[32], f32>
    ... }''')
    >>> "relax.matmul %x, %a" in str(mod)
    True
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Order the products of a function."""
        adjust_matmul_order(func.operation)
        return func


def adjust_matmul_order(function: ir.Operation) -> None:
    """Order the products of a function, which is changed.

    Parameters
    ----------
    function : mlir.ir.Operation
    """
    known = set(computable_at_compile_time(function)) if "num_input" in function.attributes else ()

    def is_known(value: ir.Value) -> bool:
        if value in known or is_computed_of_constants(value):
            return True
        made = defining_op(value)
        is_rewritten = made is not None and made.name in ("relax.matmul", "relax.permute_dims")
        return made is not None and is_rewritten and all(map(is_known, made.operands))

    def rewrite(outer: ir.Operation) -> ir.Value | None:
        for chain in _chains(outer):
            if chain.is_supported() and chain.should_change(is_known):
                return chain.write()
        return None

    rewrite_operations(function, ["relax.matmul"], rewrite)


@dataclass
class _Chain:
    """A product of three matrices, two of which are multiplied first."""

    outer: ir.Operation
    inner: ir.Operation
    matrices: tuple[ir.Value, ir.Value, ir.Value]
    #: Whether the first two are multiplied first.
    is_left: bool
    #: Whether the inner product is transposed, and so its matrices have to be.
    is_transposed: bool = False

    def is_supported(self) -> bool:
        """Say whether the order may be changed: it is associative, and all is known of it."""
        dims = [dims_of(matrix) for matrix in self.matrices]
        if not has_one_dtype(self.inner, self.outer) or any(dim is None for dim in dims):
            return False
        ranks = [len(dim) for dim in dims if dim is not None]
        if self.is_transposed and min(ranks[:2] if self.is_left else ranks[1:]) < 2:
            return False
        # A vector in the middle is no matrix, and batches of vectors would be taken for one.
        return ranks[1] >= 2 and (ranks[1] == 2 or min(ranks) >= 2)

    def should_change(self, is_known: _IsKnown) -> bool:
        a, b, c = map(is_known, self.matrices)
        if a and b and c:
            return False
        if a and b:
            return not self.is_left
        if b and c:
            return self.is_left
        return self._is_other_order_cheaper()

    def _is_other_order_cheaper(self) -> bool:
        shapes = self._shapes()
        facts = facts_at(self.outer)
        a, b, c = (shape[:-2] for shape in shapes)
        batches = _Batches.of(a, b, c, facts)
        if batches is None:
            return False
        sizes = Sizes([dim for shape in shapes for dim in shape], facts)
        n, r = shapes[0][-2:]
        m, k = shapes[2][-2:]
        left_first = sizes.product([*batches.left, n, r, m])
        left_last = sizes.product([*batches.outer, n, m, k])
        right_first = sizes.product([*batches.right, r, m, k])
        right_last = sizes.product([*batches.outer, n, r, k])
        now, other = (
            (self._paid(left_first) + left_last, right_first + right_last)
            if self.is_left
            else (self._paid(right_first) + right_last, left_first + left_last)
        )
        return (now - other).is_positive(sizes.bounds)

    def _paid(self, inner: Polynomial) -> Polynomial:
        value = self.inner.results[0]
        users = list(value.uses)
        if self.is_transposed and len(users) == 1:
            value = users[0].owner.operation.results[0]
        return inner if has_one_use(value) else Polynomial.constant(0)

    def _shapes(self) -> list[list[Dim]]:
        """Return the shapes of the matrices, with a row or a column for a vector."""
        one = Dim(1)
        a, b, c = ([*(dims_of(matrix) or ())] for matrix in self.matrices)
        if self.is_transposed:
            for shape in (a, b) if self.is_left else (b, c):
                shape[-2:] = shape[-2:][::-1]
        return [[one, *a] if len(a) == 1 else a, b, [*c, one] if len(c) == 1 else c]

    def write(self) -> ir.Value:
        """Write the product in the other order."""
        a, b, c = self.matrices
        if self.is_left:
            right = op.matmul(self._of_inner(b), c)
            return op.matmul(self._of_inner(a), right)
        left = op.matmul(a, self._of_inner(b))
        return op.matmul(left, self._of_inner(c))

    def _of_inner(self, matrix: ir.Value) -> ir.Value:
        """Return a matrix of the inner product, as it is without the transpose after that."""
        if not self.is_transposed:
            return matrix
        rank = len(dims_of(matrix) or ())
        return op.permute_dims(matrix, None if rank == 2 else swapped(rank))


def _chains(outer: ir.Operation) -> list[_Chain]:
    """Return the products of three that a product is, in the order in which they are tried."""
    left, right = outer.operands
    found = []
    inner = made_by(left, "relax.matmul")
    if inner is not None:
        found.append(_Chain(outer, inner, (*inner.operands, right), is_left=True))
    inner = made_by(right, "relax.matmul")
    if inner is not None:
        found.append(_Chain(outer, inner, (left, *inner.operands), is_left=False))
    for value, is_left in ((left, True), (right, False)):
        permute = transposed(value)
        inner = made_by(permute.operands[0], "relax.matmul") if permute is not None else None
        if inner is not None:
            second, first = inner.operands
            matrices = (first, second, right) if is_left else (left, first, second)
            found.append(_Chain(outer, inner, matrices, is_left, is_transposed=True))
    return found


@dataclass
class _Batches:
    """The batch dimensions of the products of the first two, of the last two, and of all."""

    left: list[Dim]
    right: list[Dim]
    outer: list[Dim]

    @staticmethod
    def of(a: list[Dim], b: list[Dim], c: list[Dim], facts: Facts) -> _Batches | None:
        """Return them, or None where they are not known."""
        left, right = _broadcast(a, b, facts), _broadcast(b, c, facts)
        outer = _broadcast(left, c, facts) if left is not None else None
        if left is None or right is None or outer is None:
            return None
        return _Batches(left, right, outer)


def _broadcast(lhs: list[Dim], rhs: list[Dim], facts: Facts) -> list[Dim] | None:
    """Return the dimensions of two that are broadcast, or None where they are not known."""
    rank = max(len(lhs), len(rhs))
    one = [Dim(1)]
    pairs = zip(one * (rank - len(lhs)) + lhs, one * (rank - len(rhs)) + rhs, strict=True)
    result = []
    for first, second in pairs:
        if second.value == 1 or first == second or first.prove_equal(second, facts):
            result.append(first)
        elif first.value == 1:
            result.append(second)
        else:
            return None
    return result
