# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of Python as values of a program, in the namespace ``R``."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from .. import op as _op
from .. import tir
from ..core.leaves import Constant
from . import state
from .annotations import as_dim
from .operators import argument

_SCALARS = (tir.IntImm, tir.FloatImm)
_NOT_FINITE = ("inf", "-inf", "nan")


def const(value: Any, dtype: Any = None) -> Any:
    """Return a constant tensor.

    Parameters
    ----------
    value : bool, int, float, numpy.ndarray or nested sequence of numbers
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional

    Returns
    -------
    mlir.ir.Value or Constant
        Outside of a program, something for programs to name.
    """
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        value = value.numpy()
    value = value.value if isinstance(value, _SCALARS) else value
    if isinstance(value, str) and value in _NOT_FINITE:
        value = float(value)  # as TVM prints it
    if state.current_or_none() is None:
        return Constant(value, dtype)
    return _op.const(value, dtype)


def prim_value(value: Any, dtype: Any = None) -> ir.Value:
    """Return a scalar."""
    if isinstance(value, _SCALARS):
        number = bool(value.value) if value.dtype == "bool" else value.value
        return _op.prim_value(number, value.dtype)
    value = argument(value)
    if isinstance(value, ir.Value):
        return value
    return _op.prim_value(value, dtype)


def shape(values: Any) -> ir.Value:
    """Return a shape."""
    return _op.shape([as_dim(value) for value in values])
