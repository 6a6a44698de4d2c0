# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of a module that tensor programs can call: those of scalars."""

from __future__ import annotations

from typing import Any

from mlir import ir
from mlir.dialects import func

from ....core.dtypes import dtype_name
from ....core.ir import PrimStructInfo
from ....core.ir_module import IRModule
from ....tir.lower import TYPE


def find_kernel(module: ir.Module | None, name: str) -> func.FuncOp | None:
    """Return a kernel of a module by its name, or None."""
    found = None if module is None else IRModule(module).functions.get(name)
    return found if isinstance(found, func.FuncOp) else None


def data_types(kernel: func.FuncOp, attrs: str) -> list[str | None]:
    """Return the data types of the parameters or results of a kernel, None for a buffer.

    Parameters
    ----------
    kernel : func.FuncOp
    attrs : str
        "arg_attrs" for the parameters, "res_attrs" for the results.
    """
    types = kernel.type.inputs if attrs == "arg_attrs" else kernel.type.results
    said: Any = kernel.attributes[attrs] if attrs in kernel.attributes else [{}] * len(types)
    result: list[str | None] = []
    for type_, given in zip(types, said, strict=True):
        stated = given[TYPE].value if TYPE in given else None
        if isinstance(stated, PrimStructInfo):
            result.append(stated.dtype)
        else:
            is_number = isinstance(type_, ir.IntegerType | ir.FloatType)
            result.append(dtype_name(type_) if is_number else None)
    return result
