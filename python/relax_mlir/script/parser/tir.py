# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels: functions under ``@T.prim_func``."""

from __future__ import annotations

import ast

from mlir import ir

from .environment import Environment
from .source import Source


def parse_prim_func(
    node: ast.FunctionDef, source: Source, env: Environment, module: ir.Module
) -> ir.Operation:
    """Parse a kernel and add it to a module.

    Parameters
    ----------
    node : ast.FunctionDef
    source : Source
        Where it is from; ``source.error(node, message)`` makes an error at a place of it.
    env : Environment
        The names around it.
    module : mlir.ir.Module

    Returns
    -------
    mlir.ir.Operation
        The kernel, a ``func.func`` of the name of the function.

    Raises
    ------
    ScriptError
        If anything is wrong in it.
    """
    raise source.error(node, "expected a Relax function: kernels in TVMScript are not read yet")
