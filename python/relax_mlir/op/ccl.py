# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collective operators: all workers of a session run them together (`relax_runtime.disco`)."""

from ._ccl_ops_gen import *  # noqa: F403
