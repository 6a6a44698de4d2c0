# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators, under the names and with the order of arguments that TVM Relax has.

Each inserts one operation at the current place (see `BlockBuilder.function`) and returns its
result. Operands may be values, variables, numbers and arrays. A ValueError names the operator that
does not fit its operands.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     y = add(multiply(x, 2.0), [1.0, 2.0, 3.0, 4.0])
...     totals = sum(y, axis=1)
...     _ = bb.emit_func_output(totals)
>>> str(totals.type)
'!relax.tensor<[n], f32>'

Elementwise operators:

>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n",), "float32"))
>>> with bb.function("main", [x]):
...     y = clip(square(x), 0, "n")
...     z = isfinite(y)
...     _ = bb.emit_func_output(z)
>>> str(y.type), str(z.type)
('!relax.tensor<[n], f32>', '!relax.tensor<[n], i1>')

Reductions and scans:

>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     spread = variance(x, axis=1, keepdims=True)
...     best = argmax(x, axis=1)
...     total = cumsum(x, dtype="float64")
...     _ = bb.emit_func_output([spread, best, total])
>>> str(spread.type), str(best.type), str(total.type)
('!relax.tensor<[n, 1], f32>', '!relax.tensor<[n], i64>', '!relax.tensor<[n * 4], f64>')

Operators that compute the places of elements:

>>> import numpy as np
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> i = Var("i", TensorStructInfo(("k", 1), "int64"))
>>> with bb.function("main", [x, i]):
...     rows = gather_nd(x, i)
...     sums = scatter_nd(flip(x, 1), i, rows, reduction="add")
...     both = stack([tile(x, (2, 1)), repeat(x, 2, axis=0)])
...     hot = one_hot(i, np.float32(1), np.float32(0), depth=8)
...     small = quantize(x, np.float32(0.5), np.int8(0))
...     _ = bb.emit_func_output([rows, sums, both, hot, small])
>>> str(rows.type), str(sums.type), str(both.type)
('!relax.tensor<[k, 4], f32>', '!relax.tensor<[n, 4], f32>', '!relax.tensor<[2, n * 2, 4], f32>')
>>> str(hot.type), str(small.type)
('!relax.tensor<[k, 1, 8], f32>', '!relax.tensor<[n, 4], i8>')
"""

# ruff: noqa: A004, F403 (the names TVM uses; each module says what it has)

from sys import modules as _modules
from typing import Any as _Any

from relax_runtime.near_misses import did_you_mean as _did_you_mean

from .._arguments import explain_namespace as _explain_namespace
from ..core.expr import const as const
from ..core.expr import dtype as dtype
from ..core.expr import global_var as global_var
from ..core.expr import null_value as null_value
from ..core.expr import prim_value as prim_value
from ..core.expr import shape as shape
from ..core.expr import string as string
from ..core.expr import tuple as tuple
from ..core.operators import FUNCTIONS as _FUNCTIONS
from . import builtin as builtin
from . import ccl as ccl
from . import dist as dist
from . import grad as grad
from . import inspect as inspect
from . import memory as memory
from . import nn as nn
from . import vm as vm
from ._ops_gen import *
from .call import *
from .create import *
from .debug import *
from .index import *
from .manipulate import *
from .set import *

# Here, since the operators of Python find the functions below.
_explain_namespace(_modules[__name__], "op.")
for _space in ("builtin", "ccl", "dist", "grad", "inspect", "memory", "nn", "vm"):
    _explain_namespace(_modules[f"{__name__}.{_space}"], f"op.{_space}.")
_FUNCTIONS.update(globals())


def __getattr__(name: str) -> _Any:
    # For type checkers: generated operators, which are not among the sources, may be anything.
    hint = "" if name.startswith("_") else _did_you_mean(name, _public_names(), "op", cutoff=0.75)
    raise AttributeError(f"module 'relax_mlir.op' has no attribute '{name}'{hint}")


def _public_names() -> list[str]:
    """Return the names of operators, those of neural networks with their namespace."""
    public = (each for each in globals() if not each.startswith("_"))
    return [*public, *(f"nn.{each}" for each in dir(nn) if not each.startswith("_"))]
