# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of StableHLO as modules of jaxlib's MLIR.

They are of another copy of MLIR than the modules of this package: they are only read here, and no
object of one is given to the other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

from jaxlib.mlir import ir as jax_ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

Source: TypeAlias = Any
"""Text, bytes, a path, a module of jaxlib's MLIR, or a ``jax.export.Exported``."""

# What bytecode of MLIR begins with.
_MAGIC = b"ML\xefR"


def load(source: Source) -> jax_ir.Module:
    """Return a program of StableHLO as a module of jaxlib's MLIR.

    Parameters
    ----------
    source : str, bytes, path, jaxlib.mlir.ir.Module or jax.export.Exported
        A str is text of MLIR where it has more than one line or begins like text, else a path.

    Raises
    ------
    ValueError
        If it does not parse; the message says where.
    TypeError
        If it is something else.
    OSError
        If there is no such file.
    """
    if isinstance(source, jax_ir.Module):
        return source
    if hasattr(source, "mlir_module_serialized"):
        return _parse(bytes(source.mlir_module_serialized), "the exported function")
    if isinstance(source, (bytes, bytearray)):
        return _parse(bytes(source), "the bytes")
    if isinstance(source, str) and _is_text(source):
        return _parse(source.encode(), "the text")
    if isinstance(source, (str, os.PathLike)):
        return _parse(_read(source), f"'{source}'")
    raise TypeError(
        "expected StableHLO as text, bytes, a path, a module of jaxlib's MLIR or a "
        f"jax.export.Exported, but got {type(source).__module__}.{type(source).__name__}"
    )


def _read(source: str | os.PathLike[str]) -> bytes:
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"expected the text of a program of StableHLO, or a file, but got {str(source)!r}: "
            "there is no such file"
        ) from None


def _is_text(source: str) -> bool:
    return "\n" in source or "{" in source or not source.strip()


def _context() -> jax_ir.Context:
    context, registry = jax_ir.Context(), jax_ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    sdy.register_dialect(context)
    context.load_all_available_dialects()
    return context


def _parse(data: bytes, what: str) -> jax_ir.Module:
    with _context() as context:
        try:
            if data.startswith(_MAGIC):
                return _from_bytecode(context, data)
            return jax_ir.Module.parse(data.decode())
        except (jax_ir.MLIRError, UnicodeDecodeError) as error:
            raise ValueError(
                f"expected {what} to be StableHLO that MLIR {_version()} parses (text, or portable "
                f"bytecode), but got: {_message(error)}"
            ) from None


def _from_bytecode(context: jax_ir.Context, data: bytes) -> jax_ir.Module:
    """Return what is in a portable artifact, or else in plain bytecode."""
    try:
        return stablehlo.deserialize_portable_artifact(context, data)
    except (jax_ir.MLIRError, ValueError, RuntimeError):
        return jax_ir.Module.parse(data)


def _version() -> str:
    import jaxlib

    return f"of jaxlib {jaxlib.__version__}"


def _message(error: Exception) -> str:
    return " ".join(str(error).split())
