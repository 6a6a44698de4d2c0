# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints for gradients: each returns what it is given."""

from ._grad_ops_gen import *  # noqa: F403
