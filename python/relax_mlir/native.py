# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code as object files, and the machines that it is for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir
from relax_runtime import LIBRARY

from ._mlir_libs import _relax_mlir as _ext
from .core.diagnostics import collect_errors, raise_errors
from .core.forks import compiling, within_compilation


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
        Features that are added or left out, such as "+avx2,-avx512f".

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
    """An object file, or an archive of several, position-independent.

    Attributes
    ----------
    data : bytes
        The file.
    target : NativeTarget
        The machine, with nothing left open.
    symbols : tuple of str
        The symbols that it defines: functions, kernels, and the pool of constants.
    """

    data: bytes
    target: NativeTarget
    symbols: tuple[str, ...] = ()

    @property
    def is_archive(self) -> bool:
        """Whether there are several objects, as linkers take them from ``.a`` files."""
        return self.data.startswith(b"!<arch>\n")


_HOST = NativeTarget()


def _parts(target: NativeTarget) -> tuple[str, str, str]:
    return (target.triple, target.cpu, target.features)


@functools.cache
def _own_context() -> ir.Context:
    """Return a context for the errors of what has no module."""
    return ir.Context()


def _wrap(emitted: tuple[bytes, tuple[str, str, str], list[str]] | None) -> ObjectFile:
    assert emitted is not None  # where it is, errors were raised
    data, target, symbols = emitted
    return ObjectFile(data, NativeTarget(*target), tuple(symbols))


def emit_object(
    module: ir.Module,
    target: NativeTarget = _HOST,
    *,
    opt_level: int = 3,
    progress: Callable[[int, int], object] | None = None,
) -> ObjectFile:
    """Emit a module in the LLVM dialect, in parts on several threads where it is large.

    The same module always becomes the same bytes, with any number of threads.

    Parameters
    ----------
    module : mlir.ir.Module
        The result of the last phase of compilation.
    target : NativeTarget
    opt_level : int
        From 0 to 3. Functions of explicit vectors, and those without loops, are only cleaned up.
    progress : callable, optional
        Is told how many functions of how many are machine code, by one thread at a time.

    Returns
    -------
    ObjectFile

    Raises
    ------
    mlir.ir.MLIRError
        If LLVM does not know the target, or the module is not in the LLVM dialect.
    """
    report = None if progress is None else within_compilation(progress)
    with raise_errors(module.context), compiling():
        emitted = _ext.emit_object(module, _parts(target), opt_level, report)
    return _wrap(emitted)


def emit_library_table(
    symbols: Sequence[str], exports: Sequence[str], target: NativeTarget = _HOST
) -> ObjectFile:
    """Emit what makes a library of objects with these symbols.

    Parameters
    ----------
    symbols : sequence of str
        The symbols that the objects define.
    exports : sequence of str
        The names of the functions of the library.
    target : NativeTarget

    Returns
    -------
    ObjectFile
    """
    context = _own_context()
    with raise_errors(context):
        emitted = _ext.emit_library_table(context, _parts(target), list(symbols), list(exports))
    return _wrap(emitted)


@dataclass(frozen=True)
class TargetInfo:
    """Properties of a target machine.

    Attributes
    ----------
    target : NativeTarget
        The machine, with nothing left open.
    vector_bits : int
        The width of its vector registers.
    features : tuple of str
        Those of its features that `relax_runtime` looks for before it runs code.
    missing : tuple of str
        The features that this machine lacks; code for the target runs here if there are none.
    """

    target: NativeTarget
    vector_bits: int
    features: tuple[str, ...]
    missing: tuple[str, ...]


@functools.cache
def describe_target(target: NativeTarget = _HOST) -> TargetInfo:
    """Return the properties of a target machine.

    Parameters
    ----------
    target : NativeTarget

    Returns
    -------
    TargetInfo

    Raises
    ------
    ValueError
        If LLVM does not know it, or it is not one of 64 bits and little-endian.

    Examples
    --------
    >>> describe_target().missing
    ()
    """
    context = _own_context()
    with collect_errors(context) as errors:
        described = _ext.describe_target(context, _parts(target))
    if described is None:
        raise ValueError("\n".join(each.message for each in errors))
    resolved, vector_bits, features, missing = described
    return TargetInfo(NativeTarget(*resolved), vector_bits, tuple(features), tuple(missing))


def load_object(data: bytes) -> _ext.LoadedObject:
    """Link an object file into this process.

    Parameters
    ----------
    data : bytes
        An object file, or an archive of them.

    Returns
    -------
    LoadedObject
        ``look_up(symbol)`` returns an address, or 0; it is valid as long as the object lives.

    Raises
    ------
    ValueError
        If the bytes are no object file for this machine.
    """
    return _ext.LoadedObject(data, [LIBRARY])
