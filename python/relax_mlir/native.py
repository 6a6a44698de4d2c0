# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code as object files."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ._mlir_libs import RUNTIME_LIBRARY
from ._mlir_libs import _relax_mlir as _ext
from .diagnostics import raise_errors

# What the names of symbols start with: of functions in a module and in an object, of kernels.
ENTRY_PREFIX = "__tvm_ffi_"
FUNCTION_PREFIX = "relax_function_"
KERNEL_PREFIX = "relax_kernel_"


@dataclass(frozen=True)
class NativeTarget:
    """The machine that code is made for.

    Attributes
    ----------
    triple : str
        As LLVM writes it; "" is that of this process.
    cpu : str
        A processor that LLVM knows; "host" is the one of this machine, with all it can do.
    features : str
        What the processor can do beyond that, or not, such as "+avx2,-avx512f".

    Examples
    --------
    >>> NativeTarget(cpu="x86-64-v3")
    NativeTarget(triple='', cpu='x86-64-v3', features='')
    """

    triple: str = ""
    cpu: str = "host"
    features: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.triple, self.cpu)))


@dataclass(frozen=True)
class ObjectFile:
    """An object file, position-independent.

    Attributes
    ----------
    data : bytes
        The file.
    target : NativeTarget
        The machine, with nothing left open.
    symbols : tuple of str
        What it defines: functions, kernels, and the pool of constants.
    """

    data: bytes
    target: NativeTarget
    symbols: tuple[str, ...] = ()


_HOST = NativeTarget()


def _wrap(emitted: tuple[bytes, tuple[str, str, str], list[str]] | None) -> ObjectFile:
    assert emitted is not None  # where it is, errors were raised
    data, target, symbols = emitted
    return ObjectFile(data, NativeTarget(*target), tuple(symbols))


def emit_object(
    module: ir.Module, target: NativeTarget = _HOST, *, opt_level: int = 3
) -> ObjectFile:
    """Emit a module in the LLVM dialect.

    Parameters
    ----------
    module : mlir.ir.Module
        What the last phase of compilation leaves.
    target : NativeTarget
    opt_level : int
        From 0 to 3.

    Returns
    -------
    ObjectFile

    Raises
    ------
    mlir.ir.MLIRError
        If LLVM does not know the target, or the module is not in the LLVM dialect.
    """
    parts = (target.triple, target.cpu, target.features)
    with raise_errors(module.context):
        emitted = _ext.emit_object(module, parts, opt_level)
    return _wrap(emitted)


def emit_library_table(
    symbols: Sequence[str], exports: Sequence[str], target: NativeTarget = _HOST
) -> ObjectFile:
    """Emit what makes a library of objects with these symbols.

    Parameters
    ----------
    symbols : sequence of str
        What the objects define.
    exports : sequence of str
        The names of the functions of the library.
    target : NativeTarget

    Returns
    -------
    ObjectFile
    """
    parts = (target.triple, target.cpu, target.features)
    context = ir.Context()
    with raise_errors(context):
        emitted = _ext.emit_library_table(context, parts, list(symbols), list(exports))
    return _wrap(emitted)


@functools.cache
def host_target() -> NativeTarget:
    """Return this machine.

    Examples
    --------
    >>> host_target().cpu != "host"
    True
    """
    return emit_library_table((), ()).target


def load_object(data: bytes) -> _ext.LoadedObject:
    """Link an object file into this process.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    LoadedObject
        ``look_up(symbol)`` returns an address, or 0; it is valid as long as the object lives.

    Raises
    ------
    ValueError
        If the bytes are no object file for this machine.
    """
    return _ext.LoadedObject(data, [RUNTIME_LIBRARY])
