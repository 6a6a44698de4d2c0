# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What composite operators add to a function that is being written: kernels, shape variables."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from mlir import ir

from ..builder.block_builder import BlockBuilder
from ..builder.places import visible_here
from ..core.expr import GlobalVar
from ..core.ir import Dim, ShapeExpr, ShapeStructInfo
from ..script import from_source


def current_builder() -> BlockBuilder:
    """Return the builder whose function is being written.

    Raises
    ------
    ValueError
        If there is none.
    """
    builder = BlockBuilder.current()
    if builder is None:
        raise ValueError("expected the function of a BlockBuilder, but got none")
    return builder


def call_te(function: Callable[..., Any], *args: Any, **keywords: Any) -> ir.Value:
    """Call a function of tensor expressions at the current place of the program.

    Arguments are those of `BlockBuilder.call_te`.

    Raises
    ------
    ValueError
        If no function is being written.
    """
    return current_builder().call_te(function, *args, **keywords)


def add_kernel(source: str, name: str, contract: bool = False) -> GlobalVar:
    """Add the kernel of a module in TVMScript to the program, unless it has it.

    Parameters
    ----------
    source : str
        A module with one kernel.
    name : str
        What it is called, where no other kernel has that name.
    contract : bool
        Whether products may be rounded together with the sums that they are part of.

    Raises
    ------
    ValueError
        If no function is being written.
    """
    kernel = next(iter(from_source(source).functions.values()))
    if contract:
        allow_contraction(kernel)
    return current_builder().add_kernel(kernel, name)


def allow_contraction(kernel: ir.Operation | ir.OpView) -> None:
    """Let products of a kernel be rounded together with the sums that they are part of."""
    operation = kernel.operation
    flag = ir.Attribute.parse("#arith.fastmath<contract>", operation.context)

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name in ("arith.addf", "arith.subf", "arith.mulf"):
            inner.attributes["fastmath"] = flag
        return ir.WalkResult.ADVANCE

    operation.walk(visit)


def new_size_name(prefix: str) -> str:
    """Return a name for a shape variable that none has that is known at the current place."""
    visible = visible_here()
    names = (f"{prefix}{i or ''}" for i in itertools.count())
    return next(name for name in names if name not in visible)


def bind_size(size: int | Dim, shape: ir.Value | ShapeExpr) -> None:
    """Bind a new shape variable to the one dimension of a shape, for what follows.

    A size that is known is checked when the program runs.

    Raises
    ------
    ValueError
        If no function is being written.
    """
    current_builder().match_cast(shape, ShapeStructInfo([size]))
