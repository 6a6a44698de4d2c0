# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of the dialect that compute on tensors, defined with NumPy."""

from __future__ import annotations

from . import collective, elementwise, index, manipulate, nn, reduce, sort, window
from .table import OPERATORS, Operator

__all__ = [
    "OPERATORS",
    "Operator",
    "collective",
    "elementwise",
    "index",
    "manipulate",
    "nn",
    "reduce",
    "sort",
    "window",
]
