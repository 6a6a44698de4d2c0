# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and attention on GPUs by kernels of CUDA Tile IR.

The compiler has made machine code of the kernels; see `relax_mlir.backend.cuda_tile`. This loads
and launches them, by the driver alone, which has to be r580 or newer.

The modules need ``ctypes`` and NumPy alone, so that programs run where there is no compiler.
"""

from ..cuda_driver import DriverError
from .execution import CudaTileError, is_available, load
from .functions import AttentionFunction, ProductFunction

__all__ = [
    "AttentionFunction",
    "CudaTileError",
    "DriverError",
    "ProductFunction",
    "is_available",
    "load",
]
