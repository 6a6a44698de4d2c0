# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions: tensors by what each of their elements is, with TVM's names.

`relax_mlir.BlockBuilder.emit_te` writes them into a program; `create_prim_func` makes a kernel.
"""

from ..tir import op as _op
from ..tir.expr import bitwise_and, bitwise_not, bitwise_or, bitwise_xor, const
from ..tir.op import *  # noqa: F403
from . import tag
from .call import KernelCall, call_kernel
from .lower import build_kernel, create_prim_func, unbound_vars
from .operation import compute, placeholder, scan, size_var, var
from .tag import tag_scope
from .tensor import ComputeOp, Operation, PlaceholderOp, ScanOp, Tensor, TensorSlice

__all__ = [
    "ComputeOp",
    "KernelCall",
    "Operation",
    "PlaceholderOp",
    "ScanOp",
    "Tensor",
    "TensorSlice",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "build_kernel",
    "call_kernel",
    "compute",
    "const",
    "create_prim_func",
    "placeholder",
    "scan",
    "size_var",
    "tag",
    "tag_scope",
    "unbound_vars",
    "var",
]
__all__ += _op.__all__
