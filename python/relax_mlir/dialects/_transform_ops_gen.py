# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dialect that the generated code of our schedules is part of."""

from mlir.dialects._transform_ops_gen import _Dialect as _Dialect
