# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dataflow pattern language: finding parts of programs, and replacing them.

A *variable* of Relax is a value of MLIR here, and the expression that it is bound to is the
operation that computes it. So a pattern of an argument is matched with an operand, and a pattern
of a call with the operation that computes it; nothing has to say where a value comes from.

Examples
--------
>>> from relax_mlir.script import from_source
>>> func = from_source('''
... @R.function
... def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32"),
...          b: R.Tensor((8,), "float32")):
...     y = R.nn.relu(R.add(R.matmul(x, w), b))
...     return y
... ''')
>>> pattern = make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu")
>>> *_, relu, _ = func.op.body.blocks[0].operations
>>> pattern.match(relu)
True
"""

import sys

from ..core.leaves import ExternFunc
from . import fusion as _fusion  # noqa: F401 (it sets what a pass needs)
from . import pattern as _pattern
from .context import PatternContext, PatternSeq, SameShapeConstraint
from .driver import RewriteError, RewriteWarning
from .expressions import Op
from .helpers import (
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    wildcard,
)
from .pattern import (
    ConstantPattern,
    DataflowVarPattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    VarPattern,
    WildcardPattern,
)
from .restriction import (
    AttrPattern,
    DataTypePattern,
    PrimArrPattern,
    ShapePattern,
    StructInfoPattern,
    TypePattern,
)
from .rewrite import (
    ExprPatternRewriter,
    OrRewriter,
    PatternMatchingRewriter,
    TupleRewriter,
    rewrite_bindings,
    rewrite_call,
)
from .structure import (
    AndPattern,
    CallPattern,
    FunctionPattern,
    NotPattern,
    OrPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
)

# The class of constraints, of which there is one.
DFConstraint = SameShapeConstraint

__all__ = [
    "AndPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFConstraint",
    "DFPattern",
    "DataTypePattern",
    "DataflowVarPattern",
    "ExprPattern",
    "ExprPatternRewriter",
    "ExternFunc",
    "ExternFuncPattern",
    "FunctionPattern",
    "GlobalVarPattern",
    "NotPattern",
    "Op",
    "OrPattern",
    "OrRewriter",
    "PatternContext",
    "PatternMatchingRewriter",
    "PatternSeq",
    "PrimArrPattern",
    "RewriteError",
    "RewriteWarning",
    "SameShapeConstraint",
    "ShapePattern",
    "StructInfoPattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TupleRewriter",
    "TypePattern",
    "UnorderedTuplePattern",
    "VarPattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "reject",
    "rewrite_bindings",
    "rewrite_call",
    "wildcard",
]

_pattern.package = sys.modules[__name__]
