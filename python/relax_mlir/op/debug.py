# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printing and assertions, which have effects and return nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..core.expr import as_value, build
from ..dialects import relax as _ops

__all__ = ["assert_op", "print"]


def print(*values: Any, format: str = "") -> ir.Value:  # noqa: A001, A002 (the names TVM uses)
    """Print values when the program runs.

    Parameters
    ----------
    *values
        Any values.
    format : str
        The text, in which each ``{}`` stands for the next value as in `str.format`; the
        values alone where it is empty.

    Returns
    -------
    mlir.ir.Value
        An empty tuple.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x], pure=False):
    ...     _ = op.print(x, format="x is {}")
    ...     _ = bb.emit_func_output(x)
    >>> 'relax.print "x is {}"(%x)' in str(bb.get())
    True
    """
    return build(_ops.PrintOp, format, [as_value(value) for value in values])


def assert_op(condition: Any, format_args: Any = None, format: str = "") -> ir.Value:  # noqa: A002
    """Stop with an AssertionError where a condition does not hold when the program runs.

    Parameters
    ----------
    condition : value
        A scalar of data type bool.
    format_args : value or sequence of value, optional
        The values that the message shows.
    format : str
        The message, in which each ``{}`` stands for the next value as in `str.format`; the values
        alone where it is empty.

    Returns
    -------
    mlir.ir.Value
        An empty tuple.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, PrimStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> known = Var("known", PrimStructInfo("bool"))
    >>> with bb.function("main", [known], pure=False):
    ...     _ = bb.emit_func_output(op.assert_op(known, format="not known"))
    >>> 'relax.assert_op %known, "not known"()' in str(bb.get())
    True
    """
    given: Sequence[Any]
    if format_args is None:
        given = []
    else:
        given = format_args if isinstance(format_args, (list, tuple)) else [format_args]
    values = [as_value(value) for value in given]
    return build(_ops.AssertOp, as_value(condition), format, values)
