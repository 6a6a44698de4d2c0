# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The evaluation of kernels: ``func.func`` in the dialects of MLIR (GR02).

A kernel is prepared once: each operation becomes a function of an environment, a list in which each
value has its place. Memrefs and tensors are arrays of NumPy, scalars are its scalars, so that
integers wrap around and floats round as their types say. Where a body is evaluated for many
elements at once, scalars are arrays.

=============== ==============================================================
module          operations
=============== ==============================================================
`scalars`       arith, math
`memory`        memref, tensor, bufferization
`control`       scf, func
`structured`    linalg, by the generic form of named operations
=============== ==============================================================

Operations that MLIR defines by others are taken by their definition: named ones of linalg, and
the dialect affine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mlir import ir
from mlir.passmanager import PassManager

from ..tensor import Array, Tensor, storage_dtype
from . import control, memory, scalars, structured
from .prepare import Preparation
from .types import scalar_type

__all__ = ["Kernels", "control", "memory", "scalars", "structured"]


class Kernels:
    """Evaluates the kernels of a module.

    Parameters
    ----------
    functions : mapping of str to mlir.ir.OpView
        All functions of the module.

    Examples
    --------
    >>> from relax_mlir import as_module
    >>> module = as_module('''
    ... func.func @double(%x: memref<?xf32>, %y: memref<?xf32>) {
    ...   linalg.add ins(%x, %x : memref<?xf32>, memref<?xf32>) outs(%y : memref<?xf32>)
    ...   return
    ... }''')
    >>> x, y = np.array([1, 2], "float32"), np.zeros(2, "float32")
    >>> Kernels(module.functions).call("double", [x, y])
    []
    >>> y
    array([2., 4.], dtype=float32)
    """

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self._module: ir.Module | None = None
        self._preparations: dict[str, Preparation] = {}

    def call(self, name: str, args: Sequence[Any]) -> list[Any]:
        """Call a kernel on arrays and scalars of NumPy, and return its results."""
        with np.errstate(all="ignore"):
            return self.prepared(name).run(list(args))

    def call_on_values(self, kernel: Any, args: Sequence[Any]) -> list[Array]:
        """Call a kernel on values of the interpreter.

        Arguments that are tensors are updated where the kernel writes memrefs; what a kernel on
        tensors returns is returned.
        """
        given = [
            self._argument(arg, type_)
            for arg, type_ in zip(args, kernel.function_type.value.inputs, strict=True)
        ]
        results = self.call(kernel.sym_name.value, given)
        for arg, data in zip(args, given, strict=True):
            if isinstance(arg, Tensor) and not np.may_share_memory(data, arg.data):
                arg.data[...] = data
        return results

    def _argument(self, value: Any, type_: ir.Type) -> Any:
        if isinstance(value, Tensor):
            data = value.data.astype(storage_dtype(value.dtype), copy=False)
            # Integers of kernels have no sign.
            return data.view(scalar_type(type_).dtype) if data.dtype.kind == "u" else data
        return scalar_type(type_).constant(value)

    def prepared(self, name: str) -> Preparation:
        """Return a kernel that is ready to run."""
        if name not in self._preparations:
            operation = self._generalized(name)
            preparation = Preparation(self, name)
            self._preparations[name] = preparation  # it may call itself
            preparation.prepare(operation)
        return self._preparations[name]

    def _generalized(self, name: str) -> ir.Operation:
        """Return a kernel in which operations that others define are replaced by these."""
        if self._module is None:
            self._module = _module_of(self.functions)
        for op in self._module.body.operations:
            if "sym_name" in op.attributes and op.attributes["sym_name"].value == name:
                return op
        raise ValueError(f"expected a kernel of the module, but got {name!r}")

    def symbol(self, name: str) -> Any:
        """Return an operation of the module by its symbol."""
        return self._generalized(name)


def _module_of(functions: Mapping[str, Any]) -> ir.Module:
    """Return a module with copies of the kernels and of what else is no function of Relax."""
    any_op = next(iter(functions.values())).operation
    with any_op.context, ir.Location.unknown():
        module = ir.Module.create()
        block = any_op.parent.regions[0].blocks[0]
        for op in block.operations:
            if op.operation.name != "relax.func":
                module.body.append(op.operation.clone())
        pipeline = "builtin.module(func.func(linalg-generalize-named-ops,lower-affine))"
        PassManager.parse(pipeline).run(module.operation)
    return module
