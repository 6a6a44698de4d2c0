# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The namespace ``T``: tensor programs in TVMScript.

Its functions in expressions make expressions of `relax_mlir.tir`. Its statements make
descriptions of them, which only the parser of ``T.prim_func`` can use.

Examples
--------
>>> int64().dtype
'int64'
>>> float16(1.5), int64(3) + 4, if_then_else(Var("i", "int32") < 3, 1.0, 0.0)
(float16(1.5), int64(7), if_then_else(i < 3, float32(1.0), float32(0.0)))
"""

from __future__ import annotations

from typing import Any

from . import tir_statements
from .parser import entry
from .tir_statements import *  # noqa: F403

__all__ = ["prim_func"]
__all__ += tir_statements.__all__


def prim_func(function: Any = None, **options: Any) -> Any:
    """Parse a tensor program, under ``@T.prim_func`` or ``@T.prim_func(private=True)``.

    Parameters
    ----------
    private : bool
        Whether only the module sees the function.
    tensors : bool
        Whether it becomes a function on tensors, which returns those it updates, not on memory. All
        blocks have to be structured then.
    check_well_formed : bool
        Whether the criteria of well-formedness are checked.

    Returns
    -------
    Function
        In a class under ``@I.ir_module``, which is parsed as a whole, the function of Python.
    """

    def parse(decorated: Any) -> Any:
        check = options.get("check_well_formed", True)
        return entry.parse_decorated(decorated, "@T.prim_func", check is not False)

    return parse if function is None else parse(function)
