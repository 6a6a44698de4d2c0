# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that say how a program is compiled."""

from ..dialects import relax as _ops
from ._factory import hint

__all__ = ["stop_lift_params"]

stop_lift_params = hint(_ops.StopLiftParamsOp, "which is not computed ahead of the function")
