# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor programs: from the syntax tree of a ``T.prim_func`` to statements, then to ``func.func``.

There is one class, in parts that build on each other: `expressions` evaluates expressions (with
`kernel_calls`), `statements` has the bodies that statements are written to, `buffers` makes, views
and stores to buffers, `assignments` gives names their meaning, `loops` and `blocks` are what the
names say, and `function` reads signatures, and is the entry.
"""

from .function import parse_prim_func
from .kernel_calls import find_kernel

__all__ = ["find_kernel", "parse_prim_func"]
