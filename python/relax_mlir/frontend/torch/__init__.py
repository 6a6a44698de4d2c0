# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch, as ``torch.export`` sees them."""

from . import windows as windows  # has converters
from .exported_program import from_exported_program as from_exported_program
