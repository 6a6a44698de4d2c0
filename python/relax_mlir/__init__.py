# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TVM Relax, the graph IR with symbolic shapes, as a dialect of MLIR.

Importing this package makes every ``mlir.ir.Context`` know the dialect. Programs are written with
`BlockBuilder` and the functions of `relax_mlir.op`, or as MLIR text; `compile` translates
them once, and `VirtualMachine` runs them at any size.

Examples
--------
>>> import numpy as np
>>> import relax_mlir as relax
>>> from relax_mlir import op
>>> bb = relax.BlockBuilder()
>>> x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     with bb.dataflow():
...         out = bb.emit_output(op.flatten(op.exp(x)))
...     _ = bb.emit_func_output(out)
>>> main = relax.VirtualMachine(relax.compile(bb))["main"]
>>> main(np.zeros((2, 4), "float32")).numpy()
array([1., 1., 1., 1., 1., 1., 1., 1.], dtype=float32)
"""

import sys

from relax_runtime import __version__ as __version__

# _dependencies comes first: it checks what the other modules import.
from . import _dependencies as _dependencies
from . import (
    analysis,
    backend,
    composites,
    distributed,
    dpl,
    expr_functor,
    frontend,
    instrument,
    op,
    quantization,
    reference,
    runtime,
    script,
    target,
    te,
    tir,
    topi,
    training,
    transform,
    vm,
)
from ._arguments import explain_methods, explain_namespace
from .artefact import Executable, load
from .builder.block_builder import BlockBuilder
from .builder.equality import assert_structural_equal, structural_equal
from .core import erasing as erasing
from .core.context import default_context, load_dialect
from .core.derive import register_derive_func
from .core.expr import GlobalVar, Var
from .core.function import Function
from .core.ir import (
    Dim,
    Facts,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    shape_var,
)
from .core.ir_module import IRModule, as_module
from .core.kinds import Call, DataflowBlock, DataflowVar, If, MatchCast, SeqExpr, TupleGetItem
from .core.leaves import (
    Constant,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    StringImm,
    Tuple,
    const,
    extern,
)
from .core.struct_info import StructInfoWarning
from .core.values import Expr
from .core.vdevice import VDevice, set_global_info
from .driver.build import build
from .driver.compiler import compile  # noqa: A004 (the name TVM uses)
from .driver.pipeline import default_build_pipeline, get_pipeline, register_pipeline
from .expr_functor import BindingBlock, PyExprMutator, PyExprVisitor
from .reference.bisect import bisect_wrong
from .runtime import VirtualMachine, VMInstrumentReturnKind, cpu, set_recursion_limit
from .transform.binding_rewrite import DataflowBlockRewrite
from .transform.options import CompileOptions
from .transform.phases import phases

# Former names.
PrimExpr = Dim
var = shape_var

__all__ = [
    "BindingBlock",
    "BlockBuilder",
    "Call",
    "CompileOptions",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowBlockRewrite",
    "DataflowVar",
    "Dim",
    "Executable",
    "Expr",
    "ExternFunc",
    "Facts",
    "FuncStructInfo",
    "Function",
    "GlobalVar",
    "IRModule",
    "If",
    "MatchCast",
    "ObjectStructInfo",
    "PrimExpr",
    "PrimStructInfo",
    "PrimValue",
    "PyExprMutator",
    "PyExprVisitor",
    "SeqExpr",
    "ShapeExpr",
    "ShapeStructInfo",
    "StringImm",
    "StructInfoWarning",
    "TensorStructInfo",
    "Tuple",
    "TupleGetItem",
    "TupleStructInfo",
    "VDevice",
    "VMInstrumentReturnKind",
    "Var",
    "VirtualMachine",
    "analysis",
    "as_module",
    "assert_structural_equal",
    "backend",
    "bisect_wrong",
    "build",
    "compile",
    "composites",
    "const",
    "cpu",
    "default_build_pipeline",
    "default_context",
    "distributed",
    "dpl",
    "expr_functor",
    "extern",
    "frontend",
    "get_pipeline",
    "instrument",
    "load",
    "load_dialect",
    "op",
    "phases",
    "quantization",
    "reference",
    "register_derive_func",
    "register_pipeline",
    "runtime",
    "script",
    "set_global_info",
    "set_recursion_limit",
    "shape_var",
    "structural_equal",
    "target",
    "te",
    "tir",
    "topi",
    "training",
    "transform",
    "var",
    "vm",
]

script.parser.entry.DEFAULT_NAMES["relax"] = sys.modules[__name__]

# What would keep a wrong argument, and fail later or never, checks it at once.
_EAGER = {
    "": ("VDevice", "Var", "VirtualMachine", "compile"),
    "transform": (
        "MLIRPass",
        "PassContext",
        "dataflowblock_pass",
        "function_pass",
        "module_pass",
        "register_config_option",
    ),
    "dpl": (
        "is_call_dps_packed",
        "is_call_packed",
        "is_call_tir",
        "is_dfv",
        "is_gv",
        "is_tuple_get_item",
        "is_var",
        "rewrite_call",
    ),
    "script": ("from_source", "parse"),
}
for _name, _pass in transform.passes().items():
    # Those that are written by hand take more than their annotations say.
    _is_generated = _pass.__module__.endswith("_passes_gen")
    explain_methods(_pass, f"transform.{_name}", ("__init__",) if _is_generated else ())
explain_methods(
    BlockBuilder,
    "BlockBuilder",
    ("function", "closure", "emit", "emit_output", "get_unique_name"),
)
explain_methods(VirtualMachine, "VirtualMachine", ("profile", "set_instrument", "time_evaluator"))
for _name in ("artefact", "reference", "tir"):
    explain_namespace(sys.modules[f"{__name__}.{_name}"], f"{_name}.", classes=False)
for _name in (
    "analysis",
    "backend",
    "dpl",
    "instrument",
    "quantization",
    "runtime",
    "script",
    "te",
    "topi",
    "training",
    "transform",
    "",
):
    explain_namespace(
        globals()[_name] if _name else sys.modules[__name__],
        f"{_name}." if _name else "relax.",
        _EAGER.get(_name, ()),
    )
