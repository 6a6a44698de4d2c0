# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules stay alive as long as values and operations of them are in use.

MLIR destroys a module with the last object of Python that stands for it, and values of it are
invalid then. Here each module that this package makes is known by its place in memory, and who
reads a value, or the operations of a block, keeps the module.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from mlir import ir

from . import forks

_modules: dict[int, weakref.ref[ir.Module]] = {}
# A module may be forgotten while another one is made at its place, also in the same thread.
_lock = forks.lock()
# Functions that are discarded while values of them may be in use.
_discarded: weakref.WeakKeyDictionary[ir.Module, list[ir.Operation]] = weakref.WeakKeyDictionary()


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def key_of(op: ir.Operation) -> int:
    """Return a key of an operation, which may be kept when the operation is erased.

    The hash of an operation says what it computes, and changes with its operands.
    """
    key: int = _pointer_of(op._CAPIPtr, b"mlir.ir.Operation._CAPIPtr")
    return key


def remember(module: ir.Module) -> ir.Module:
    """Have values and operations of a module keep it alive.

    Parameters
    ----------
    module : mlir.ir.Module

    Returns
    -------
    mlir.ir.Module
        The module.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> block = IRModule("func.func private @f() { return }")["f"].body.blocks[0]
    >>> len(block.operations)
    1
    """
    key = key_of(module.operation)

    def forget(reference: weakref.ref[ir.Module]) -> None:
        with _lock:
            if _modules.get(key) is reference:
                del _modules[key]

    with _lock:
        known = _modules.get(key)
        if known is None or known() is not module:
            _modules[key] = weakref.ref(module, forget)
    return module


def discard(module: ir.Module, op: ir.Operation) -> None:
    """Keep an operation, which is not in the module any more, as long as the module."""
    _discarded.setdefault(module, []).append(op)


def module_of(op: Any) -> ir.Module | None:
    """Return the module that an operation is in; None if that is not known.

    Parameters
    ----------
    op : mlir.ir.Operation or mlir.ir.OpView
    """
    try:
        while (parent := op.parent) is not None:
            op = parent
    except ValueError:  # it is detached
        return None
    known = _modules.get(key_of(op.operation))
    return None if known is None else known()


def keep(op: Any, module: ir.Module | None) -> Any:
    """Return an operation, which keeps its module alive if that is known."""
    if module is not None and type(op) is not ir.OpView:  # which has no place for it
        op._module = module
    return op


def _kept_item(get: Callable[..., Any]) -> Callable[..., Any]:
    def kept(self: Any, index: Any) -> Any:
        found = get(self, index)
        module = module_of(found) if isinstance(found, ir.OpView) else None
        return keep(found, module)

    return kept


def _kept_items(iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    def kept(self: Any) -> Iterator[Any]:
        module: ir.Module | None = None
        for number, op in enumerate(iterate(self)):
            if number == 0:
                module = module_of(op)
            yield keep(op, module)

    return kept


_list: Any = ir.OperationList
_list.__getitem__ = _kept_item(_list.__getitem__)
_list.__iter__ = _kept_items(_list.__iter__)
_block: Any = ir.Block
_block.__iter__ = _kept_items(_block.__iter__)
