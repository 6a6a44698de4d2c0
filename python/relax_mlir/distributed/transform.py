# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes that make a program of each worker, in the order in which they run."""

from ..transform._passes_gen import (
    LegalizeRedistribute,
    LowerDistIR,
    LowerGlobalViewToLocalView,
    PropagateSharding,
)

__all__ = [
    "LegalizeRedistribute",
    "LowerDistIR",
    "LowerGlobalViewToLocalView",
    "PropagateSharding",
]
