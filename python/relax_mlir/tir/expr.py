# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F403, F405
"""Scalar expressions: what one element of a tensor is computed from.

An expression is a tree of immutable nodes; Python's operators make new ones. Data types are
promoted and constants are folded as in TVM. `relax_mlir.tir.emit` makes operations of expressions.
"""

from .arithmetic import *
from .dtypes import *
from .nodes import *
from .operations import *
from .reductions import *
from .text import *
from .walking import *

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BinaryOp",
    "BufferLoad",
    "Call",
    "Cast",
    "CmpOp",
    "CommReducer",
    "Div",
    "ExprLike",
    "ExprOp",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "IterVar",
    "Let",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimExpr",
    "ProducerLoad",
    "Range",
    "Reduce",
    "Select",
    "SizeVar",
    "StringImm",
    "Sub",
    "Var",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "const",
    "convert",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "negative",
    "post_order_visit",
    "shift_left",
    "shift_right",
    "simplify",
    "structural_equal",
    "substitute",
    "transform",
    "undefined_vars",
]
