# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt: products of matrices on GPUs, with a bias, a sum and an activation.

What calls the library is `relax_runtime.cublas`, so programs run where there is no compiler.
Neither the library nor a GPU is needed to compile.
"""

from .codegen import codegen
from .partition import partition_for_cublas

__all__ = ["codegen", "partition_for_cublas"]
