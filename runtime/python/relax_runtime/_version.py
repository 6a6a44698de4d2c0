# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version of the project: both ``pyproject.toml`` and ``CMakeLists.txt`` read it here."""

__version__ = "0.1.0"
