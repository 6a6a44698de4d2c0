# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TVMScript: Relax programs in the syntax of Python.

Programs for TVM work here with another import::

    from relax_mlir.script import ir as I, relax as R, tir as T

Names of shape variables that a signature gives without quotes (``R.Tensor[(n, k), "float32"]``)
need ``from __future__ import annotations`` before Python 3.14.

Examples
--------
>>> mod = from_source('''
... @R.function
... def main(x: R.Tensor(("n",), "float32")):
...     return x + R.const(1.0)
... ''')
>>> print(mod.struct_info)
!relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
"""

import types

from ..core import function as _function
from . import ir, relax, tir
from .ir import ir_module
from .parser.diagnostics import ScriptError
from .parser.entry import DEFAULT_NAMES as _DEFAULT_NAMES
from .parser.entry import from_source

parse = from_source
# TVM's newest name of it.
tirx = tir

# For programs with constants in front of them: metadata = tvm.ir.load_json("...").
tvm = types.SimpleNamespace(ir=types.SimpleNamespace(load_json=ir.metadata))


def _load_printer() -> types.ModuleType:
    from . import printer  # here for the sake of import time: few programs print

    return printer


_function.load_printer = _load_printer
_DEFAULT_NAMES.update({"I": ir, "R": relax, "T": tir, "tvm": tvm})

__all__ = [
    "ScriptError",
    "from_source",
    "ir",
    "ir_module",
    "parse",
    "relax",
    "tir",
    "tirx",
    "tvm",
]
