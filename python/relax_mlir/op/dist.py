# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of distributed tensors (`relax_mlir.distributed`)."""

from ._dist_ops_gen import *  # noqa: F403
from .call import call_tir_local_view as call_tir_local_view
