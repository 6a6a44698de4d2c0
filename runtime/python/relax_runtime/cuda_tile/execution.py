# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions of what the codegen wrote."""

from __future__ import annotations

from typing import TypeAlias

from .. import external
from .functions import AttentionFunction, ProductFunction
from .launches import CudaTileError, Images, is_available

__all__ = ["CudaTileError", "is_available", "load"]

_Function: TypeAlias = AttentionFunction | ProductFunction

_KINDS: dict[str, type[_Function]] = {"matmul": ProductFunction, "attention": AttentionFunction}


def load(state: bytes) -> dict[str, _Function]:
    """Return packed functions of what the codegen wrote.

    Parameters
    ----------
    state : bytes
    """
    programs, arrays = external.unpack(state)
    images = Images(arrays)
    return {
        program["symbol"]: _KINDS[program["kind"]](program, arrays, images) for program in programs
    }
