# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic for results of operators: rounded, exact, or moved within their error bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from .tensor import (
    FORMATS,
    Array,
    Tensor,
    is_float,
    overflow_limit,
    round_float,
    storage_dtype,
    unit_in_last_place,
)

Mode = Literal["up", "down", "random"]


class Arithmetic:
    """Each operator computes as if exactly, and rounds once to the data type of its result.

    Floats are computed in ``float64``; integers wrap around at the width of their data type.

    Examples
    --------
    >>> Arithmetic().finish("relax.add", np.array([0.1]), "float16").data
    array([0.1], dtype=float16)
    >>> Arithmetic().finish("relax.add", np.array([300]), "uint8").data
    array([44], dtype=uint8)
    """

    def finish(self, op_name: str, data: Any, dtype: str) -> Tensor:
        """Return the result of an operator as a tensor, in memory of its own (SE02)."""
        if is_float(dtype):
            return Tensor(_own(round_float(data, dtype), data), dtype)
        return Tensor(_own(np.asarray(data).astype(storage_dtype(dtype)), data), dtype)

    def call(self, name: str, row: Any, op: Any, args: Sequence[Any], env: Any) -> Any:
        """Compute an operator on its arguments, of which floats are ``float64``.

        Parameters
        ----------
        name : str
        row : Operator
            The row of `relax_mlir.reference.operators.OPERATORS`.
        op : mlir.ir.OpView
        args : sequence
        env
            It evaluates dimensions.

        Returns
        -------
        numpy.ndarray, Tensor or tuple of it
            Before `finish`.
        """
        return row.function(op, args, env)

    def smallest_term(self) -> float:
        """Return the number below which a term inside of an operator is 0 in ``float32``."""
        return 2.0**-150


class Exact(Arithmetic):
    """Floats stay ``float64``: nothing is rounded, but for what their data type is too small for.

    Examples
    --------
    >>> Exact().finish("relax.add", np.array([0.1, 1e5]), "float16").data
    array([0.1, inf])
    """

    def finish(self, op_name: str, data: Any, dtype: str) -> Tensor:
        """Return the result of an operator as a tensor."""
        if not is_float(dtype):
            return super().finish(op_name, data, dtype)
        exact = np.array(data, np.float64)
        beyond = np.copysign(np.inf, exact) if FORMATS[dtype].has_infinity else np.nan
        kept = np.where(np.abs(exact) >= overflow_limit(dtype), beyond, exact)
        return Tensor(np.array(kept, order="C"), dtype)


class Perturbed(Exact):
    """Floats are moved by as much as an implementation may be wrong (Monte Carlo arithmetic).

    The results of a program under several of these say how far two right implementations may be
    apart.

    Parameters
    ----------
    rng : numpy.random.Generator
    mode : str
        "up" and "down" move each float as far as it may go in one direction, "random" each by
        itself, every other one to 0 where that is within the bound. A zero that may have either
        sign has that of the direction.

    Examples
    --------
    >>> from relax_mlir.reference.operators import OPERATORS
    >>> up = Perturbed(np.random.default_rng(0), "up")
    >>> x = [Tensor(np.array([0.1]), "float32")] * 2
    >>> moved = up.finish("relax.add", up.call("relax.add", OPERATORS["relax.add"], None, x, None),
    ...                   "float32")
    >>> bool(moved.data[0] > 0.2)
    True
    """

    def __init__(self, rng: np.random.Generator, mode: Mode) -> None:
        modes = get_args(Mode)
        if mode not in modes:
            raise ValueError(f"expected mode to be one of {', '.join(modes)}, but got {mode!r}")
        self.rng = rng
        self.mode = mode
        self._ulps = 0.0
        self._scales: list[Any] = []
        self._any_zero = False

    def smallest_term(self) -> float:
        """Return the number below which a term is 0: denormals have few digits, or none."""
        return float(self.rng.choice((0.0, 2.0**-149, 2.0**-126)))

    def _factors(self, shape: tuple[int, ...]) -> Array:
        if self.mode == "random":
            return self.rng.uniform(-1.0, 1.0, shape)
        return np.full(shape, 1.0 if self.mode == "up" else -1.0)

    def call(self, name: str, row: Any, op: Any, args: Sequence[Any], env: Any) -> Any:
        """Compute an operator, of arguments that are moved where its row says so."""
        self._ulps, growth = row.bounds(op, args) if hasattr(row, "bounds") else (0.0, 0.0)
        scale = getattr(row, "scale", None)
        scales = () if scale is None else scale(op, args)
        self._scales = list(scales) if isinstance(scales, tuple) else [scales]
        self._any_zero = getattr(row, "any_zero", False)
        if growth:
            dtype = _result_dtype(op.results[0].type)
            args = [self._moved(arg, growth, dtype) for arg in args]
        return row.function(op, args, env)

    def _moved(self, arg: Any, growth: float, dtype: str | None) -> Any:
        """Return an argument moved by unit roundoffs of a data type, by default of its own."""
        if isinstance(arg, (tuple, list)) and any(isinstance(item, Tensor) for item in arg):
            return tuple(self._moved(item, growth, dtype) for item in arg)
        if not isinstance(arg, Tensor) or not is_float(arg.dtype):
            return arg
        roundoff = 2.0 ** -(FORMATS[dtype or arg.dtype].fraction + 1)
        noise = 1.0 + growth * roundoff * self._factors(arg.data.shape)
        return Tensor(np.asarray(arg.data * noise), arg.dtype)

    def finish(self, op_name: str, data: Any, dtype: str) -> Tensor:
        """Return the result of an operator, each float moved that its data type does not have."""
        if is_float(dtype) and self._any_zero:
            data = np.asarray(data, np.float64)
            data = np.where(data == 0, np.copysign(0, self._factors(data.shape)), data)
        if not is_float(dtype) or not self._ulps:
            return super().finish(op_name, data, dtype)
        exact = np.asarray(data, np.float64)
        with np.errstate(all="ignore"):
            size = size_of_exact = np.abs(exact)
            if self._scales:
                size = np.maximum(size, np.broadcast_to(self._scales.pop(0), exact.shape))
            unit = np.where(np.isfinite(size), unit_in_last_place(size, dtype), 0.0)
            # All numbers here are of float64: what float32 has is taken to be exact.
            narrow = "float32" if dtype == "float64" else dtype
            is_inexact = round_float(exact, narrow).astype(np.float64) != exact
            is_inexact |= size > size_of_exact  # what it is computed of is rounded
            moved = exact + self._factors(exact.shape) * self._ulps * unit
            if self.mode == "random":  # what follows may ask whether a number is 0
                may_be_zero = size_of_exact <= self._ulps * unit
                moved = np.where(may_be_zero & (self.rng.random(exact.shape) < 0.5), 0.0, moved)
        kept = np.where(is_inexact & np.isfinite(exact), moved, exact)
        return super().finish(op_name, kept, dtype)


def _result_dtype(type_: Any) -> str | None:
    """Return the data type of a float tensor, or of the first field of a tuple, if it is known."""
    dtype = getattr(type_.fields[0] if hasattr(type_, "fields") else type_, "dtype", None)
    return dtype if dtype is not None and is_float(dtype) else None


def _own(array: Array, given: Any) -> Array:
    """Return an array that shares no memory with the one it was made of."""
    array = np.asarray(array)
    if isinstance(given, np.ndarray) and np.may_share_memory(array, given):
        return array.copy()
    return np.ascontiguousarray(array).reshape(array.shape)
