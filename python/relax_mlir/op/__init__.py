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
"""

# ruff: noqa: A004, F403 (the names TVM uses; each module says what it has)

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
from . import grad as grad
from . import nn as nn
from .binary import *
from .call import *
from .create import *
from .debug import *
from .device import *
from .index import *
from .linear_algebra import *
from .manipulate import *
from .reduce import *
from .set import *
from .unary import *

_FUNCTIONS.update(globals())
