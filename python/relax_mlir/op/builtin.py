# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that say how a program is compiled."""

from ._builtin_ops_gen import *  # noqa: F403
