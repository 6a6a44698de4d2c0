# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Polynomials of the sizes of tensors, to compare numbers of arithmetic operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.ir import Dim, Facts

Bounds = tuple[int, "int | None"]

# The names of the variables of a product, sorted; one may be there several times.
_Term = tuple[str, ...]

# Proofs look at both ends of each variable.
_MAX_VARIABLES = 8
_MAX_DEGREE = 12


class Polynomial:
    """A polynomial with integer coefficients.

    Parameters
    ----------
    terms : mapping of tuple of str to int
        The coefficient of each product of variables.

    Examples
    --------
    >>> n = Polynomial({("n",): 1})
    >>> (n * n - n).is_positive({"n": (2, None)}), (n * n - n).is_positive({"n": (1, None)})
    (True, False)
    >>> (n * 4 - n * n).is_positive({"n": (1, 3)})
    True
    """

    def __init__(self, terms: Mapping[_Term, int]) -> None:
        self.terms = {term: factor for term, factor in terms.items() if factor}

    @staticmethod
    def constant(value: int) -> Polynomial:
        """Return the polynomial of a number."""
        return Polynomial({(): value})

    @staticmethod
    def _of(other: Polynomial | int) -> Polynomial:
        return other if isinstance(other, Polynomial) else Polynomial.constant(other)

    def __add__(self, other: Polynomial | int) -> Polynomial:
        terms = dict(self.terms)
        for term, factor in self._of(other).terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Polynomial(terms)

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        terms: dict[_Term, int] = {}
        for term, factor in self.terms.items():
            for more, times in self._of(other).terms.items():
                both = tuple(sorted(term + more))
                terms[both] = terms.get(both, 0) + factor * times
        return Polynomial(terms)

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + self._of(other) * -1

    @property
    def variables(self) -> list[str]:
        """The names of the variables, sorted."""
        return sorted({name for term in self.terms for name in term})

    def is_positive(self, bounds: Mapping[str, Bounds]) -> bool:
        """Say whether the value is provably greater than 0.

        Parameters
        ----------
        bounds : mapping of str to (int, int or None)
            The least and the greatest value of each variable.
        """
        if (
            len(self.variables) > _MAX_VARIABLES
            or max(map(len, self.terms), default=0) > _MAX_DEGREE
        ):
            return False
        return _is_at_least(self, 1, bounds)

    def _at(self, name: str, value: int) -> Polynomial:
        """Return the polynomial for a value of a variable."""
        terms: dict[_Term, int] = {}
        for term, factor in self.terms.items():
            rest = tuple(each for each in term if each != name)
            power: int = value ** (len(term) - len(rest))
            terms[rest] = terms.get(rest, 0) + factor * power
        return Polynomial(terms)

    def _growth(self, name: str) -> Polynomial:
        """Return the derivative by a variable."""
        terms: dict[_Term, int] = {}
        for term, factor in self.terms.items():
            power = term.count(name)
            if power:
                at = term.index(name)
                terms[term[:at] + term[at + 1 :]] = factor * power
        return Polynomial(terms)


def _is_at_least(value: Polynomial, least: int, bounds: Mapping[str, Bounds]) -> bool:
    """Say whether a polynomial is provably at least a number."""
    if not value.variables:
        return value.terms.get((), 0) >= least
    # It is least at an end of a variable where it grows or falls all the way, or is concave, as
    # what is linear.
    name = value.variables[0]
    lower, upper = bounds[name]
    growth = value._growth(name)
    at_lower = _is_at_least(value._at(name, lower), least, bounds)
    if at_lower and _is_at_least(growth, 0, bounds):
        return True
    if upper is None or not _is_at_least(value._at(name, upper), least, bounds):
        return False
    is_concave = at_lower and _is_at_least(growth._growth(name) * -1, 0, bounds)
    return is_concave or _is_at_least(growth * -1, 0, bounds)


class Sizes:
    """The sizes of tensors as polynomials of variables with bounds.

    Parameters
    ----------
    dims : sequence of Dim
        All sizes that are asked for. They are assumed to be positive: where one is 0, there is
        nothing to compute.
    facts : Facts
        What is known of their variables.
    """

    def __init__(self, dims: Sequence[Dim], facts: Facts) -> None:
        self.bounds: dict[str, Bounds] = {}
        sizes = {dim.name for dim in dims if dim.name is not None}
        for dim in dims:
            for name in dim.variables:
                lower, upper = facts.bounds.get(name, (None, None))
                if name in sizes:
                    lower = max(1, lower or 1)
                if lower is not None and (upper is None or lower <= upper):
                    self.bounds[name] = (lower, upper)

    def of(self, dim: Dim) -> Polynomial:
        """Return a size; one that is no polynomial, or not bounded below, is a variable itself."""
        found = self._polynomial(dim)
        if found is None:
            self.bounds.setdefault(dim.text, (1, None))
            return Polynomial({(dim.text,): 1})
        return found

    def product(self, dims: Iterable[Dim]) -> Polynomial:
        """Return the product of sizes."""
        result = Polynomial.constant(1)
        for dim in dims:
            result = result * self.of(dim)
        return result

    def _polynomial(self, dim: Dim) -> Polynomial | None:
        if dim.value is not None:
            return Polynomial.constant(dim.value)
        if dim.name is not None:
            known = dim.name in self.bounds
            return Polynomial({(dim.name,): 1}) if known else None
        if dim.kind not in ("add", "mul"):
            return None
        parts = [self._polynomial(operand) for operand in dim.operands]
        result = Polynomial.constant(0 if dim.kind == "add" else 1)
        for part in parts:
            if part is None:
                return None
            result = result + part if dim.kind == "add" else result * part
        return result
