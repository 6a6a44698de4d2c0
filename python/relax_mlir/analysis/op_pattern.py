# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of computations of kernels."""

from __future__ import annotations

import enum
from typing import Any

from mlir import ir
from mlir.passmanager import PassManager

from ..core.diagnostics import raise_errors
from ..core.forks import compiling
from .kernels import _kernel

_ATTRIBUTE = "op_pattern"


class OpPattern(enum.IntEnum):
    """The kinds of kernels, with the numbers of TVM.

    An element of an output is made of the elements of the inputs at the same place
    (``ELEMWISE``), of those where inputs are repeated along dimensions (``BROADCAST``), of one
    element anywhere (``INJECTIVE``), of many (``COMM_REDUCE``), or of sums of products or windows
    (``OUT_ELEMWISE_FUSABLE``).

    Examples
    --------
    >>> OpPattern(3).name
    'COMM_REDUCE'
    """

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def detect_op_pattern(func: Any) -> OpPattern:
    """Return the kind of a kernel: what it states as ``op_pattern``, else that of its body.

    Parameters
    ----------
    func : func.FuncOp or Function
        A kernel, a ``func.func``.

    Returns
    -------
    OpPattern

    Raises
    ------
    mlir.ir.MLIRError
        If the kernel states what is no kind.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> from relax_mlir.transform import LegalizeOps
    >>> mod = LegalizeOps()(from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32")):
    ...         return R.sum(R.exp(x))
    ... '''))
    >>> detect_op_pattern(mod["exp"]).name, detect_op_pattern(mod["sum"]).name
    ('ELEMWISE', 'COMM_REDUCE')
    """
    kernel = _kernel(func)
    with kernel.context, kernel.location:
        module = ir.Module.create()
        module.body.append(kernel.clone())
        manager = PassManager.parse("builtin.module(func.func(relax-annotate-op-pattern))")
        with raise_errors(kernel.context), compiling():
            manager.run(module.operation)
    attributes = module.body.operations[0].operation.attributes
    if _ATTRIBUTE not in attributes:  # declared, without a body
        return OpPattern.OPAQUE
    return OpPattern(ir.IntegerAttr(attributes[_ATTRIBUTE]).value)
