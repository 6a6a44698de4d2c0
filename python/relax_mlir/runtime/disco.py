# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of workers: the names of `relax_runtime.disco`."""

from relax_runtime.disco import *  # noqa: F403
from relax_runtime.disco import __all__ as __all__
