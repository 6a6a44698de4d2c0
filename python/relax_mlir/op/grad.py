# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints for gradients: each returns what it is given."""

from ..dialects import relax as _ops
from ._factory import hint

__all__ = ["end_checkpoint", "no_grad", "start_checkpoint"]

end_checkpoint = hint(_ops.EndCheckpointOp, "where gradients end to compute values again")
no_grad = hint(_ops.NoGradOp, "through which no gradient flows")
start_checkpoint = hint(_ops.StartCheckpointOp, "where gradients begin to compute values again")
