# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all else stands on: the context, types, values, modules, and what is known of them.

The package `relax_mlir` has what programs use of this under its own name.
"""
