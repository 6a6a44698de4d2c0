# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of MLIR's transform dialect on programs of Relax, beside `mlir.dialects.transform`.

They are one class each, such as `MatchCallsOp`, with a function that takes and returns handles
of type ``!transform.any_op``.

Examples
--------
>>> from mlir import ir
>>> from mlir.dialects import transform as upstream
>>> from relax_mlir import default_context, transform
>>> from relax_mlir.dialects import transform as schedules
>>> with default_context(), ir.Location.unknown():
...     module = ir.Module.create()
...     module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
...     with ir.InsertionPoint(module.body):
...         handle = upstream.AnyOpType.get()
...         main = upstream.NamedSequenceOp("__transform_main", [handle], [])
...     with ir.InsertionPoint(main.body):
...         calls = schedules.match_calls(main.bodyTarget, pattern="out-elementwise-fusable")
...         schedules.set_kernel(schedules.get_callee(calls), "matmul", tile=[2, 32])
...         _ = upstream.YieldOp()
>>> transform.ApplySchedule(module)
ApplySchedule()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlir import ir
from mlir.dialects.transform import AnyOpType

from ._relax_transform_ops_gen import *  # noqa: F403
from ._relax_transform_ops_gen import (
    FuseBindingsOp,
    GetCalleeOp,
    MatchCallsOp,
    SetKernelOp,
    SplitFusedOp,
)

if TYPE_CHECKING:  # the generated code has no types

    def __getattr__(name: str) -> Any: ...


def match_calls(
    root: ir.Value,
    *,
    kernel: str | None = None,
    pattern: str | None = None,
    rank: int | None = None,
    dtype: ir.Type | None = None,
    dims: str | None = None,
) -> ir.Value:
    """Find calls of kernels and operators.

    Parameters
    ----------
    root : mlir.ir.Value
        A handle of the operations in which they are.
    kernel : str, optional
        The name of the kernel, also without the digits at its end, or of the operator.
    pattern : str, optional
        The kind of the kernel, such as ``"elementwise"``, that `AnnotateOpPattern` states.
    rank : int, optional
        The rank of each tensor that the call results in.
    dtype : mlir.ir.Type, optional
        The data type of these tensors.
    dims : str, optional
        ``"static"`` where all their dimensions are known, ``"symbolic"`` where one is not.

    Returns
    -------
    mlir.ir.Value
        A handle of the calls, in the order of the program.
    """
    types = {"dtype": None if dtype is None else ir.TypeAttr.get(dtype)}
    stated = {"kernel": kernel, "pattern": pattern, "rank": rank, "dims": dims, **types}
    return MatchCallsOp(AnyOpType.get(), root, **stated).result


def get_callee(calls: ir.Value) -> ir.Value:
    """Return a handle of the kernels and functions that calls call, each once."""
    return GetCalleeOp(AnyOpType.get(), calls).result


def fuse(bindings: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Have bindings of a dataflow block become one kernel.

    Returns
    -------
    tuple of mlir.ir.Value
        Handles of the function that has the bindings, and of its call.
    """
    made = FuseBindingsOp(AnyOpType.get(), AnyOpType.get(), bindings)
    return made.function, made.call


def split(calls: ir.Value) -> ir.Value:
    """Put the bindings of fused functions in the place of calls; return a handle of them."""
    return SplitFusedOp(AnyOpType.get(), calls).result


def set_kernel(kernels: ir.Value, kernel_class: str, tile: Sequence[int] | None = None) -> None:
    """Choose the class of kernels, and its tile.

    Parameters
    ----------
    kernels : mlir.ir.Value
        A handle of kernels, or of functions that become one.
    kernel_class : str
        Such as ``"matmul"``, or ``"none"`` for generic code.
    tile : sequence of int, optional
        Rows and columns of sums that stay in registers, of ``"matmul"`` and ``"conv2d"``.
    """
    SetKernelOp(kernels, kernel_class, tile=tile)
