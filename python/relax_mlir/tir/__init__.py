# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions, with TVM's names, and how they become operations."""

from . import dims, emit, expr, op
from .dims import from_dim, shape_var, to_dim
from .emit import Emitter, kernel_type
from .expr import *  # noqa: F403
from .op import *  # noqa: F403

__all__ = [
    "Emitter",
    "dims",
    "emit",
    "expr",
    "from_dim",
    "kernel_type",
    "op",
    "shape_var",
    "to_dim",
]
__all__ += expr.__all__
__all__ += op.__all__
