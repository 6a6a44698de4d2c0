# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of the dialect, one class each; `relax_mlir.op` has the convenient functions."""

from typing import TYPE_CHECKING, Any

from ._relax_ops_gen import *  # noqa: F403
from ._relax_ops_gen import _Dialect as _Dialect

if TYPE_CHECKING:  # the generated code has no types

    def __getattr__(name: str) -> Any: ...
