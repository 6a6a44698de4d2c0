# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices on GPUs by cuBLASLt, a library of NVIDIA.

The library is not part of this package. It is opened when it is first needed: the file that the
environment variable ``RELAX_CUBLASLT`` names, one that is open already (as that of PyTorch), that
of an installed package of PyPI such as ``nvidia-cublas``, or that of the system.

The modules need ``ctypes`` and NumPy alone, so that programs run where there is no compiler.
"""

from ..cuda_driver import DriverError
from .execution import CublasFunction, load
from .library import CublasError, is_available, version

__all__ = ["CublasError", "CublasFunction", "DriverError", "is_available", "load", "version"]
