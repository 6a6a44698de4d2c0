# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled functions as functions of Python: parameters by name, and more kinds of arguments.

A call passes its arguments on as they are, in C where the extension `_calls` is there. Only if that
fails, arguments that tvm-ffi does not take are converted, and the call is made again: the function
has not begun to run then.
"""

from __future__ import annotations

import atexit
import json
import keyword
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from ._torch import when_imported
from .arrays import NO_MASK, misfit
from .small_types import bits_of, copy_of, exported, is_int4_name, is_small, is_small_name

# How long the end of the interpreter waits for calls of daemon threads.
_END_MILLISECONDS = 5_000

_Function: Any  # the type of `_calls`, None without
_watch: Any = None
try:
    from . import _calls
except ImportError:  # another Python than CPython, or built without its headers
    _Function = None
else:
    _Function, _watch = _calls.Function, _calls.watch
    _calls.refuse(np.ma.MaskedArray)
    atexit.register(_calls.end, _END_MILLISECONDS)
    os.register_at_fork(after_in_child=_calls.forget)

# How deep arguments may be nested: tvm-ffi converts them by recursion. PythonCalls.c has it, too.
_DEEPEST = 200

_BOUND = ("_relax_function", "_relax_retry", "_relax_again")


def make_callable(
    name: str, function: Any, params: Sequence[str], struct_info: str, reads_only: bool
) -> Callable[..., Any]:
    """Return a function of Python with the parameters of a compiled one.

    Parameters
    ----------
    name : str
    function : tvm_ffi.Function
    params : sequence of str
        The names of its parameters. Those that are no identifiers can only be given by position.
    struct_info : str
        Its StructInfo at run time, as JSON; empty if nothing is known.
    reads_only : bool
        Whether it is known to leave its arguments unchanged: read-only arrays are not copied then.

    Returns
    -------
    callable
        Its attribute `packed` is `function`. Given to another one, it counts as that, not as a
        function of Python.

    Examples
    --------
    >>> add = make_callable("add", lambda x, y: x + y, ["x", "y"], "", True)
    >>> add(1, 2), add(y=1, x=2)
    (3, 3)
    """

    def retry(error: Exception, args: tuple[Any, ...]) -> Callable[[], Any] | None:
        call = _Call(name, function, params, struct_info, reads_only)
        if "PyCapsule" in str(error):
            call.check_capsules(args)
        if isinstance(error, RuntimeError):
            call.check(args)
            return None
        return call.prepare(args) if call.is_about_arguments(error) else None

    def look(args: tuple[Any, ...]) -> None:
        for each, param in zip(args, params, strict=True):
            if isinstance(each, (dict, list, tuple)) and _is_nested_deep(each):
                expected = f"expected values nested at most {_DEEPEST} deep"
                raise ValueError(f"{name}: argument '{param}': {expected}")
            if isinstance(each, np.ma.MaskedArray):
                raise TypeError(f"{name}: argument '{param}': {NO_MASK}")
        _report_gradients(args)

    infos = json.loads(struct_info).get("params", []) if struct_info else []
    names = _identifiers(params)
    may_be_functions = [
        each
        for index, each in enumerate(names)
        if index >= len(infos) or _may_hold_function(infos[index])
    ]
    # Written out, since a call through *args and **kwargs takes three times as long.
    by_position = sum(each.startswith("_relax_") for each in names)
    listed = [*names[:by_position], *(["/"] if by_position else []), *names[by_position:]]
    given = "".join(f"{each}, " for each in names)
    unpacked = "".join(f"    {each} = _relax_packed({each})\n" for each in may_be_functions)
    source = (
        f"def call({', '.join(listed)}):\n    _relax_look(({given}))\n{unpacked}"
        f"    try:\n        return {_BOUND[0]}({given})\n"
        f"    except (BufferError, RuntimeError, TypeError, ValueError) as error:\n"
        f"        {_BOUND[2]} = {_BOUND[1]}(error, ({given}))\n"
        f"        if {_BOUND[2]} is None:\n            raise\n"
        f"    return {_BOUND[2]}()\n"
    )
    space: dict[str, Any] = {
        _BOUND[0]: function,
        _BOUND[1]: retry,
        "_relax_packed": as_packed,
        "_relax_look": look,
    }
    exec(source, space)
    general: Any = space.pop("call")  # not a cycle
    general.packed = function
    is_general = may_be_functions or _Function is None
    call: Any = general if is_general else _Function(function, general, retry, len(names))
    for each in (general, call):
        each.__name__ = each.__qualname__ = name
        each.__module__ = __name__
    if not is_general:
        call.__wrapped__ = general  # whose signature it has
    return call


def _is_nested_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        parts = (each.values() if isinstance(each, dict) else each for each in level)
        inner = {id(each): each for part in parts for each in part}
        level = [each for each in inner.values() if isinstance(each, (dict, list, tuple))]
        if not level:
            return False
    return True


def _report_gradients(args: tuple[Any, ...]) -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        for each in args:
            if isinstance(each, torch.Tensor) and each.requires_grad:
                _report_gradient(each, stacklevel=5)


def _report_gradient(tensor: Any, stacklevel: int = 2) -> None:
    """Warn that a call returns results that are detached."""
    if sys.modules["torch"].is_grad_enabled():
        warnings.warn(
            "an argument requires a gradient, but results of compiled functions have none: call "
            "the function under torch.no_grad(), or detach the argument",
            stacklevel=stacklevel,
        )


def _identifiers(params: Sequence[str]) -> list[str]:
    """Return names of parameters that Python takes: all by position if one is no identifier."""
    good = [each.isidentifier() and not keyword.iskeyword(each) for each in params]
    reserved = any(each.startswith("_relax_") for each in params)
    if all(good) and not reserved and len(set(params)) == len(params):
        return list(params)
    return [f"_relax_{index}" for index in range(len(params))]


def _may_hold_function(info: dict[str, Any]) -> bool:
    """Say whether a parameter may be a function, or a tuple with one."""
    kind = info.get("kind")
    if kind == "tuple":
        return any(map(_may_hold_function, info.get("fields", [])))
    return kind not in ("tensor", "prim", "shape")


def as_packed(value: Any) -> Any:
    """Return the function of tvm-ffi in place of one of Python, also in a tuple."""
    if type(value) in (types.FunctionType, _Function):
        return getattr(value, "packed", value)
    if type(value) in (tuple, list):
        return tuple(map(as_packed, value))
    return value


def _is_numbers(value: Any) -> bool:
    """Say whether something is a number, or nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_numbers, value))
    return isinstance(value, (bool, int, float))


class _Call:
    """A call that failed."""

    def __init__(
        self, name: str, function: Any, params: Sequence[str], struct_info: str, reads_only: bool
    ) -> None:
        self.name = name
        self.function = function
        self.params = params
        self.infos = json.loads(struct_info).get("params", []) if struct_info else []
        self.reads_only = reads_only
        self.borrowed: list[np.ndarray[Any, Any]] = []

    def prepare(self, args: tuple[Any, ...]) -> Callable[[], Any] | None:
        """Return the call with converted arguments; None if none can be.

        It does not refer to the error, whose traceback would keep the arguments alive.
        """
        converted = []
        for index, arg in enumerate(args):
            info = self.infos[index] if index < len(self.infos) else {}
            converted.append(self._converted(arg, info, self._label(index)))
        if all(new is old for new, old in zip(converted, args, strict=True)):
            return None
        return lambda: self._detached(self.function(*converted))

    def _label(self, index: int) -> str:
        return f"argument '{self.params[index] if index < len(self.params) else index}'"

    def check(self, args: tuple[Any, ...]) -> None:
        """Raise TypeError where an argument is a tensor that PyTorch refuses to hand on."""
        for index, arg in enumerate(args):
            self._check(arg, self._label(index))

    def _check(self, value: Any, what: str) -> None:
        if reason := misfit(value):
            raise TypeError(f"{self.name}: {what}: {reason}")
        if isinstance(value, (list, tuple)):
            for index, each in enumerate(value):
                self._check(each, f"field {index} of {what}")

    def check_capsules(self, args: tuple[Any, ...]) -> None:
        """Raise TypeError where an argument hands no new capsule on, as DLPack wants."""
        for index, arg in enumerate(args):
            if hasattr(arg, "__dlpack__") and '"dltensor' not in repr(arg.__dlpack__()):
                raise TypeError(
                    f"{self.name}: {self._label(index)}: expected an array whose __dlpack__ "
                    f"returns a new capsule, but got an object of type {type(arg).__name__}"
                )

    def is_about_arguments(self, error: Exception) -> bool:
        """Say whether the function has not begun to run: it checks its arguments before."""
        text = str(error)
        if isinstance(error, BufferError) or "DLPack" in text:
            return True
        return re.match(rf"{re.escape(self.name)}: (field \d+ of )*argument ", text) is not None

    def _converted(self, value: Any, info: dict[str, Any], what: str) -> Any:
        """Return an argument as tvm-ffi takes it; the argument itself if there is no other way."""
        if reason := misfit(value):
            raise TypeError(f"{self.name}: {what}: {reason}")
        if isinstance(value, np.ndarray):
            return self._array(value)
        kind = info.get("kind")
        if kind == "prim" and isinstance(value, np.generic):
            return value.item()
        if kind == "tensor" and isinstance(value, (bool, int, float)) and info.get("ndim") == 0:
            return self._numbers(value, info, what)
        if not isinstance(value, (list, tuple)):
            return value
        if kind == "tensor":
            return self._numbers(value, info, what)
        fields = info.get("fields", [])
        fields = [*fields, *({} for _ in range(len(value) - len(fields)))]
        parts = [
            self._converted(each, field, f"field {index} of {what}")
            for index, (each, field) in enumerate(zip(value, fields, strict=False))
        ]
        is_same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if is_same else tuple(parts)

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        """Return an array that can be exported: a view, or a copy, of one that is read-only."""
        is_copied = is_int4_name(array.dtype.name)
        if not array.flags.writeable and not is_copied:
            array = self._writable(array)
        return exported(array) if is_small(array.dtype) else array

    def _writable(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if not self.reads_only:
            return array.copy()
        self.borrowed.append(array)
        # NumPy does not read back how it describes elements of ml_dtypes.
        bits = array.view(f"uint{8 * array.itemsize}") if is_small(array.dtype) else array
        return np.asarray(_Writable(bits)).view(array.dtype)

    def _numbers(self, value: Any, info: dict[str, Any], what: str) -> Any:
        """Return numbers as an array of the data type of a parameter."""
        if not _is_numbers(value):
            return value
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            return value
        wanted = info.get("dtype") or array.dtype.name
        if array.dtype.kind not in "biuf" or not hasattr(np, wanted):
            return value
        made = array.astype(wanted)
        is_exact = made.dtype.kind == "f" or bool(np.all(made == array))
        if not is_exact or (made.dtype.kind == "b" and array.dtype.kind != "b"):
            raise TypeError(f"{self.name}: {what}: expected numbers of {wanted}, but got {value!r}")
        return made

    def _detached(self, result: Any) -> Any:
        """Return a result that shares no memory with arrays that are read-only."""
        if not self.borrowed:
            return result
        if isinstance(result, (tvm_ffi.Array, tuple, list)):
            parts = [self._detached(each) for each in result]
            same = all(new is old for new, old in zip(parts, result, strict=True))
            return result if same else tvm_ffi.convert(parts)
        if not isinstance(result, tvm_ffi.Tensor) or result.device.type != "cpu":
            return result
        is_small = is_small_name(str(result.dtype))
        view: Any = bits_of(result) if is_small else np.from_dlpack(result)
        if any(np.may_share_memory(view, array) for array in self.borrowed):
            return copy_of(result) if is_small else tvm_ffi.from_dlpack(view.copy())
        return result


class _Writable:
    """A read-only array that says that it can be written, since DLPack cannot say the contrary."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        described = array.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}


if _watch is not None:
    when_imported(lambda torch: _watch(torch.Tensor, torch.nn.Parameter, _report_gradient))
