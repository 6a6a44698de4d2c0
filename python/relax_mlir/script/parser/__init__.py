# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the syntax tree of Python to MLIR.

`entry` finds the text, `module` reads classes, `relax` reads Relax functions, `tir` reads kernels,
and `expressions` evaluates expressions in an `environment`. Errors (`diagnostics`) show their place
in the `source`.
"""
