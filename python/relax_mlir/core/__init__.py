# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The core of the package: the context, types, values, modules, and analyses of them.

The package `relax_mlir` has what programs use of this under its own name.
"""
