# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check of the bindings of MLIR, made when relax_mlir is imported.

A package that is missing or of the wrong version is an ImportError with the command that mends it.
"""

from __future__ import annotations

from relax_runtime._dependencies import has_module, numbers_of, version_of

_PIP = 'pip install "xtc-mlir-python-bindings==22.1.8.*"'


def _check_mlir() -> None:
    if not has_module("mlir._mlir_libs._mlir"):
        # PyPI's "mlir-python-bindings" is a placeholder without the extension modules.
        raise ImportError(
            f"relax_mlir needs the Python bindings of MLIR 22, which were not found: {_PIP}",
            name="mlir",
        )
    version = version_of("xtc-mlir-python-bindings")
    if version is not None and numbers_of(version)[:1] != (22,):
        raise ImportError(
            f"relax_mlir needs the Python bindings of MLIR 22, but got {version}: {_PIP}",
            name="mlir",
        )


_check_mlir()
