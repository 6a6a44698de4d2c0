# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that say how a program is compiled, and memory for tensors."""

from __future__ import annotations

from mlir import ir as _ir

from ..core.expr import ShapeLike as _ShapeLike
from ._builtin_ops_gen import *  # noqa: F403
from ._builtin_ops_gen import __all__ as _generated
from .memory import allocate_tensor as _allocate_tensor
from .memory import require_scope as _require_scope

__all__ = [*_generated, "alloc_tensor"]


def alloc_tensor(
    shape: _ShapeLike, dtype: str, runtime_device_index: int, storage_scope: str = "global"
) -> _ir.Value:
    """Return an uninitialized tensor with memory of its own.

    Parameters
    ----------
    shape : shape
    dtype : str
    runtime_device_index : int
        The device, from 0 among those that the module lists; the processor where it lists none,
        and for -1.
    storage_scope : str
        "global".

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such device or scope.
    NotImplementedError
        If the dimensions are not known.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = op.builtin.alloc_tensor(["n", 2], "float16", 0)
    ...     _ = bb.emit_func_output(y)
    >>> print(y.type)
    !relax.tensor<[n, 2], f16>
    """
    _require_scope(storage_scope)
    return _allocate_tensor(shape, dtype, runtime_device_index)
