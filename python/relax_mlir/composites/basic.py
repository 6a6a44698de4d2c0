# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that others compose, in `relax_mlir.op`.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", "k"), "float32"))
>>> y = Var("y", TensorStructInfo(("m", "k"), "float32"))
>>> with bb.function("main", [x, y]):
...     z = op.einsum([x, y], "nk,mk->nm")
...     _ = bb.emit_func_output(op.masked_fill(z, op.less(z, 0.0), 0.0))
>>> print(z.type)
!relax.tensor<[n, m], f32>
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from mlir import ir

from ..core.expr import TensorLike, as_tensor, as_tensors, const, known_number
from .calls import (
    call_builtin_with_ctx,
    call_py_func,
    call_tir_with_grad,
    invoke_closure,
    invoke_pure_closure,
    make_closure,
)
from .data_dependent import (
    dynamic_strided_slice,
    nonzero,
    shape_to_tensor,
    size,
    tensor_to_shape,
)
from .einsum import einsum as _einsum
from .selection import index_put, masked_fill, median, multinomial_from_uniform, slice_scatter
from .tensors import cast

__all__ = [
    "call_builtin_with_ctx",
    "call_py_func",
    "call_tir_with_grad",
    "dynamic_strided_slice",
    "einsum",
    "hamming_window",
    "index_put",
    "invoke_closure",
    "invoke_pure_closure",
    "make_closure",
    "masked_fill",
    "median",
    "multinomial_from_uniform",
    "nonzero",
    "shape_to_tensor",
    "size",
    "slice_scatter",
    "tensor_to_shape",
    "wrap_param",
]


def einsum(operands: Sequence[TensorLike], subscripts: str) -> ir.Value:
    """Return products, summed over indices, as ``numpy.einsum`` does.

    Parameters
    ----------
    operands : sequence of tensors
        Of one data type.
    subscripts : str
        As in ``bij,bjk->bik``; without an arrow the result has the letters that come up once.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there are not as many operands as the subscripts say, or not of the rank that they say.
    """
    return _einsum(subscripts, as_tensors(*operands))


def hamming_window(
    window_size: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
    dtype: str = "float32",
) -> ir.Value:  # fmt: skip
    """Return a window, alpha - beta cos(2 pi i / n).

    Parameters
    ----------
    window_size : int
    periodic : bool
        Whether n is `window_size`; otherwise it is one less, and the window symmetric.
    alpha, beta : float
    dtype : str

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If `window_size` is negative.
    TypeError
        If it is no number that is known.
    """
    count = int(known_number(window_size, "window_size"))
    if count < 0:
        raise ValueError(f"expected window_size to be at least 0, but got {count}")
    n = count if getattr(periodic, "value", periodic) else count - 1
    a, b = (float(getattr(one, "value", one)) for one in (alpha, beta))
    window = a - b * np.cos(2 * math.pi * np.arange(count) / max(n, 1))
    return const(window if count > 1 else np.ones(count), dtype)


def wrap_param(data: TensorLike, dtype: str = "float32") -> ir.Value:
    """Return a parameter of a model as one of another data type.

    Parameters
    ----------
    data : tensor, number or array
    dtype : str

    Returns
    -------
    mlir.ir.Value
    """
    return cast(as_tensor(data), dtype)
