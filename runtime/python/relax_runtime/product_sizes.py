# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes of products of matrices, for libraries that compute batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """The sizes of a product, and where matrices of a batch are.

    Attributes
    ----------
    m, n, k, batch : int
    lhs_offset, rhs_offset : int
        From a matrix of a batch to the next, in elements; 0 for one that all products have.
    """

    m: int
    n: int
    k: int
    batch: int
    lhs_offset: int
    rhs_offset: int

    def __str__(self) -> str:
        batch = f", batch {self.batch}" if self.batch > 1 else ""
        return f"{self.m} x {self.k} by {self.k} x {self.n}{batch}"


def sizes_of(
    lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int], transposed: Sequence[bool]
) -> Sizes:
    """Return the sizes of a product of tensors without gaps.

    Parameters
    ----------
    lhs, rhs, out : sequence of int
        Shapes. Batches of the operands are that of the result, or one matrix.
    transposed : sequence of bool
        Whether the last two dimensions of each operand are swapped.

    Examples
    --------
    >>> sizes_of((2, 5, 3), (3, 4), (2, 5, 4), (False, False))
    Sizes(m=10, n=4, k=3, batch=1, lhs_offset=0, rhs_offset=0)
    >>> sizes_of((2, 3, 5), (3, 4), (2, 5, 4), (True, False))
    Sizes(m=5, n=4, k=3, batch=2, lhs_offset=15, rhs_offset=0)
    """
    m, n = out[-2:]
    k = lhs[-2] if transposed[0] else lhs[-1]
    batch = _volume(out[:-2])
    many_left, many_right = (_volume(shape[:-2]) > 1 for shape in (lhs, rhs))
    if many_left and not many_right and not transposed[0]:  # one product of all rows
        return Sizes(m * batch, n, k, 1, 0, 0)
    return Sizes(m, n, k, batch, m * k if many_left else 0, k * n if many_right else 0)


def _volume(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
