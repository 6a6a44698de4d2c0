# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA Tile IR: products of matrices and attention on GPUs, by kernels that work on tiles.

The package ``cuda-tile`` of NVIDIA writes Tile IR, of which ``tileiras`` makes machine code; both
are needed to compile, and no GPU is. What launches the kernels is `relax_runtime.cuda_tile`, so
programs run where there is no compiler.
"""

from .codegen import codegen
from .compiler import is_available
from .partition import partition_for_cuda_tile

__all__ = ["codegen", "is_available", "partition_for_cuda_tile"]
