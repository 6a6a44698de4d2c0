# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The namespace ``R``: Relax functions, StructInfo and operators.

Each operator of `relax_mlir.op` is here under its name, and keyword arguments may have TVM's names.
"""

# ruff: noqa: A001, A004 (the names TVM uses)

from __future__ import annotations

import builtins
import typing

from .. import op as _op
from .annotations import Callable_ as Callable
from .annotations import Object, Prim, Shape, Tensor, Tuple
from .calls import (
    ExternFunc,
    assert_op,
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
    emit_te,
    emit_with_sinfo,
    func_attr,
    invoke_closure,
    invoke_pure_closure,
    linear,
    match_cast,
    match_shape,
    matmul,
    print,
    read_tensor_from_file,
)
from .devices import cpu, cuda, device, hint_on_device, to_vdevice
from .dist import DTensor, device_mesh, dist
from .macros import macro
from .operators import Namespace, operator, unknown
from .parser import entry
from .parser.frames import Dataflow
from .rewriter import rewriter
from .state import SpecialForm
from .tvm_operators import NAMESPACES, TVM_OPERATORS
from .values import const, prim_value, shape

__all__ = [
    "Any",
    "Callable",
    "DTensor",
    "ExternFunc",
    "Object",
    "Prim",
    "Shape",
    "ShapeExpr",
    "Tensor",
    "Tuple",
    "TupleGetItem",
    "assert_op",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "const",
    "cpu",
    "cuda",
    "dataflow",
    "device",
    "device_mesh",
    "dist",
    "distributed",
    "dtype",
    "emit_te",
    "emit_with_sinfo",
    "func",
    "func_attr",
    "function",
    "hint_on_device",
    "invoke_closure",
    "invoke_pure_closure",
    "linear",
    "macro",
    "match_cast",
    "match_shape",
    "matmul",
    "null_value",
    "output",
    "outputs",
    "prim_value",
    "print",
    "read_tensor_from_file",
    "rewriter",
    "shape",
    "str",
    "to_vdevice",
    "tuple",
]


def _parse_function(function: typing.Any, check_well_formed: bool = True) -> typing.Any:
    return entry.parse_decorated(function, "@R.function", check_well_formed)


function = entry.decorator("R.function", "function", _parse_function)
# The RFC's name.
func = function


def dataflow() -> Dataflow:
    """Begin a dataflow block, as in ``with R.dataflow():``."""
    return Dataflow()


# Make values of a dataflow block visible after it: R.output(x, y).
output = SpecialForm("R.output", lambda parser, node: parser.output(node))
# The RFC's name.
outputs = output


# -- values of Python as values of the program ----------------------------------------------------

ShapeExpr = shape
null_value = _op.null_value
tuple = _op.tuple
str = _op.string
dtype = _op.dtype


def TupleGetItem(tuple_value: typing.Any, index: int) -> typing.Any:  # noqa: N802 (the name TVM uses)
    """Return a field of a tuple."""
    return _op.get_item(tuple_value, index)


# The newest name of R.Object.
Any = Object

# -- operators ------------------------------------------------------------------------------------

# The RFC's name of matmul.
dot = matmul


# Another name of it.
distributed = dist


def __getattr__(name: builtins.str) -> typing.Any:
    if name in NAMESPACES:
        return Namespace(name)
    if name in TVM_OPERATORS or hasattr(_op, name):
        return operator(name)
    if name.startswith("__"):
        raise AttributeError(name)
    raise unknown(name, __all__)


def __dir__() -> list[builtins.str]:
    return sorted({*__all__, *NAMESPACES, *(n for n in TVM_OPERATORS if "." not in n)})
