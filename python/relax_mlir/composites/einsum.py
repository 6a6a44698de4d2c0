# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products over indices, in the notation of Einstein."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .. import op
from .tensors import number, product, rank_of, shape_of


def einsum(equation: str, operands: Sequence[ir.Value]) -> ir.Value:
    """Return products, summed over indices, as ``numpy.einsum`` does.

    Parameters
    ----------
    equation : str
        As in ``bij,bjk->bik``; without an arrow the result has the letters that come up once.
    operands : sequence of mlir.ir.Value
        Of one data type.

    Raises
    ------
    ValueError
        If there are not as many operands as the equation says, or not of the rank that it says.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(
            f"expected {len(terms)} operands for '{equation}', but got {len(operands)}"
        )
    letters = [_spelled(term, rank_of(x)) for term, x in zip(terms, operands, strict=True)]
    if not arrow:
        flat = [letter for term in letters for letter in term]
        once = sorted(one for one in set(flat) if flat.count(one) == 1 and one.isalpha())
        right = "..." + "".join(once)
    dots = max((sum(not one.isalpha() for one in term) for term in letters), default=0)
    wanted = _spelled(right, dots + len(right.replace("...", "")) if "..." in right else len(right))
    return _contract(letters, list(operands), wanted)


def _spelled(term: str, rank: int) -> list[str]:
    """Return a letter for each dimension, with numbers, from the last one, for those of dots."""
    first, dots, last = term.partition("...")
    count = rank - len(first) - len(last)
    if count < 0 or (count and not dots):
        raise ValueError(f"expected a tensor of rank {len(term)} for '{term}', but got rank {rank}")
    return [*first, *(str(i) for i in reversed(range(count))), *last]


def _contract(terms: list[list[str]], inputs: list[ir.Value], wanted: list[str]) -> ir.Value:
    for i, term in enumerate(terms):
        terms[i], inputs[i] = _diagonal(term, inputs[i])
    unknown = [one for one in wanted if not any(one in term for term in terms)]
    if unknown:
        raise ValueError(f"expected letters of operands in the result, but got {unknown}")
    while len(inputs) > 1:
        others = {one for term in terms[2:] for one in term} | set(wanted)
        order, value = _pair(terms[:2], inputs[:2], others)
        terms, inputs = [order, *terms[2:]], [value, *inputs[2:]]
    term, value = terms[0], inputs[0]
    dropped = [i for i, letter in enumerate(term) if letter not in wanted]
    if dropped:
        value = op.sum(value, dropped)
    kept = [letter for letter in term if letter in wanted]
    return _arranged(kept, value, wanted)


def _arranged(term: list[str], value: ir.Value, order: list[str]) -> ir.Value:
    return value if order == term else op.permute_dims(value, [term.index(one) for one in order])


def _diagonal(term: list[str], x: ir.Value) -> tuple[list[str], ir.Value]:
    """Take the elements where dimensions of one letter have the same index."""
    for letter in term:
        if term.count(letter) == 1:
            continue
        first = term.index(letter)
        second = term.index(letter, first + 1)
        shape = [1] * len(term)
        dims = shape_of(x)
        shape[first], shape[second] = dims[first], dims[second]
        eye = op.reshape(op.eye(dims[first], dims[second], 0, "bool"), shape)
        x = op.sum(op.where(eye, x, number(0, x.type.dtype)), [second])
        return _diagonal(term[:second] + term[second + 1 :], x)
    return term, x


def _pair(
    terms: list[list[str]], inputs: list[ir.Value], needed: set[str]
) -> tuple[list[str], ir.Value]:
    """Return the product of two tensors, summed over what no other has."""
    first, second = terms
    both = [one for one in first if one in second]
    batch = [one for one in both if one in needed or not one.isalpha()]
    summed = [one for one in both if one not in batch]
    rows = [one for one in first if one not in both]
    columns = [one for one in second if one not in both]
    x = _arranged(first, inputs[0], batch + rows + summed)
    y = _arranged(second, inputs[1], batch + summed + columns)
    left, right = shape_of(x), shape_of(y)
    b, r, s = len(batch), len(rows), len(summed)
    x = op.reshape(x, [*left[:b], product(left[b : b + r]), product(left[b + r :])])
    y = op.reshape(y, [*right[:b], product(right[b : b + s]), product(right[b + s :])])
    result = op.matmul(x, y)
    return batch + rows + columns, op.reshape(
        result, [*shape_of(result)[:b], *left[b : b + r], *right[b + s :]]
    )
