# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observers: packed functions that see values of a program while it runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import tvm_ffi
from mlir import ir

from .. import op
from .._arguments import shown
from ..core.ir_module import IRModule
from ..driver.compiler import compile as compile_module
from ..op import prim_value
from ..runtime import VirtualMachine

#: Which values of a function are observed, by name.
Observed = Mapping[str, ir.Value]
#: Gets the name of a value, and its elements.
Observer = Callable[[str, np.ndarray], None]

_FUNCTION = "relax_mlir.quantization.observe"

_observers: dict[int, Callable[[int, np.ndarray], None]] = {}
_keys = itertools.count()


def _observe(value: tvm_ffi.Tensor, key: int, place: int) -> Any:
    """Show a value to its observer; return a copy, since results share no memory with arguments."""
    array = np.from_dlpack(value).copy()
    _observers[key](place, array)
    return tvm_ffi.from_dlpack(array)


tvm_ffi.register_global_func(_FUNCTION, _observe, override=True)


class ObservedProgram:
    """A compiled program that shows values to an observer.

    Parameters
    ----------
    mod : IRModule
        It is changed.
    values : mapping of str to mlir.ir.Value
        Tensors of `mod`, which every operation after them reads from the observer.
    name : str
        The function.
    **options
        As `relax_mlir.compile` takes them.
    """

    def __init__(self, mod: IRModule, values: Observed, name: str, **options: Any) -> None:
        self._key, self._names = next(_keys), list(values)
        for place, value in enumerate(values.values()):
            _insert(value, self._key, place)
        self._function = VirtualMachine(compile_module(mod, progress=False, **options))[name]

    def __call__(self, inputs: Iterable[Any], observer: Observer) -> Any:
        """Call the function while an observer sees values."""
        _observers[self._key] = lambda place, array: observer(self._names[place], array)
        try:
            return self._function(*inputs)
        finally:
            del _observers[self._key]


def _insert(value: ir.Value, key: int, place: int) -> None:
    owner = value.owner
    if isinstance(owner, ir.Block):
        point, location = ir.InsertionPoint.at_block_begin(owner), owner.owner.location
    else:
        point, location = ir.InsertionPoint.after(owner.operation), owner.operation.location
    with value.context, point, location:
        numbers = [prim_value(key), prim_value(place)]
        seen = op.call_pure_packed(_FUNCTION, value, *numbers, sinfo_args=value.type)
    value.replace_all_uses_except(seen, seen.owner.operation)


def batches(inputs: Iterable[Iterable[Any]], name: str) -> list[list[Any]]:
    """Return the arguments of calls as lists.

    Raises
    ------
    ValueError
        If there are none.
    TypeError
        If the arguments of a call are no sequence.
    """
    calls = []
    for given in [inputs] if hasattr(inputs, "shape") else list(inputs):
        if hasattr(given, "shape") or isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"expected a list of the arguments of '{name}' for each call, but got "
                f"{shown(given)}"
            )
        calls.append(list(given))
    if not calls:
        raise ValueError(f"expected the arguments of one call of '{name}' or more, but got none")
    return calls
