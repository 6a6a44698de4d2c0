# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of Relay that have no converter, and why."""

from __future__ import annotations

_RANDOM = (
    "its numbers are those of TVM's generator, which has no counterpart; make the numbers outside "
    "of the program, and pass them as a parameter"
)
_LOWERED = (
    "it is of a program that TVM has lowered for its own runtime; import the program as it was "
    "before relay.build"
)
_TUNED = (
    "it is of a program that TVM's tuners have rewritten for their kernels; import the program as "
    "it was before relay.build"
)

_REASONS = {
    **dict.fromkeys(
        (
            "random.multinomial",
            "random.normal",
            "random.threefry_generate",
            "random.threefry_split",
            "random.uniform",
        ),
        _RANDOM,
    ),
    **dict.fromkeys(
        (
            "call_lowered",
            "memory.alloc_storage",
            "memory.alloc_tensor",
            "memory.kill",
            "vm.invoke_tvm_op",
            "vm.reshape_tensor",
            "vm.shape_of",
        ),
        _LOWERED,
    ),
    **dict.fromkeys(("auto_scheduler_layout_transform", "meta_schedule_layout_transform"), _TUNED),
}


def why_refused(name: str) -> str | None:
    """Return why an operator of Relay has no converter, or None where there is no reason.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> print(why_refused("memory.kill"))
    it is of a program that TVM has lowered for its own runtime; import the program as it was before relay.build
    >>> why_refused("add") is None
    True
    """  # noqa: E501 (what an example prints)
    return _REASONS.get(name)
