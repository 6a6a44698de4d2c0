# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What checks of patterns have in common."""

from __future__ import annotations

from ..core.lifetimes import key_of
from ..transform import PatternCheckContext


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """Say whether something else uses what a match computes on the way to its result.

    Parameters
    ----------
    context : PatternCheckContext

    Returns
    -------
    bool
        A function of such a match would have to return more than its result.
    """
    inside = {key_of(op.operation) for op in context.matched_bindings.values()}
    return any(
        key_of(user) not in inside
        for value in context.matched_bindings
        if value != context.matched_expr
        for user in context.users(value)
    )
