# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a worker does: it has registers, and executes instructions of the controller."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi

from .. import artefact, small_types
from ..arrays import misfit
from ..executable import Executable
from ..virtual_machine import VirtualMachine
from . import communicator
from .errors import CollectiveError, Failure

# What TVM's names of functions begin with, and what they are called here: the process may have
# TVM's own as well.
_OF_TVM, _HERE = "runtime.disco.", "relax_mlir.disco."


@dataclass(frozen=True)
class Register:
    """An argument that is what a register holds."""

    number: int


@dataclass(frozen=True)
class Plain:
    """An argument of tvm-ffi that does not go through a pipe as it is.

    Attributes
    ----------
    kind : "Shape", "dtype" or "device"
    value : tuple of int or str
    """

    kind: str
    value: Any

    def restored(self) -> Any:
        """Return the argument."""
        return getattr(tvm_ffi, self.kind)(self.value)


@dataclass(frozen=True)
class TensorData:
    """The elements of a tensor, as bytes.

    Attributes
    ----------
    data : numpy.ndarray
        Of uint8, in row-major order.
    shape : tuple of int
    dtype : str
    """

    data: np.ndarray[Any, Any]
    shape: tuple[int, ...]
    dtype: str

    @staticmethod
    def of(value: Any) -> TensorData:
        """Return the elements of an array, or of a tensor in host memory.

        They are a view where they follow each other in memory.
        """
        if isinstance(value, tvm_ffi.Tensor) or _is_tensor(value):
            tensor = tvm_ffi.from_dlpack(value)
            array, dtype = _view(tensor), str(tensor.dtype)
        else:
            array = np.asarray(value)
            dtype = array.dtype.name
            _require_bytes(dtype)
            if (reason := misfit(array)) is not None:
                raise TypeError(reason)
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return TensorData(data, array.shape, dtype)

    def copy_to(self, array: Any) -> None:
        """Copy the elements into an array, or a tensor in host memory.

        Raises
        ------
        ValueError
            If it has another data type, or another number of elements.
        """
        if isinstance(array, tvm_ffi.Tensor):
            _write(array, self)
            return
        if str(array.dtype) != self.dtype or array.size != math.prod(self.shape):
            raise ValueError(
                f"expected an array of {self.dtype} with {math.prod(self.shape)} elements, but got "
                f"{array.dtype} of shape {array.shape}"
            )
        array[...] = self.data.view(array.dtype).reshape(array.shape)

    def restored(self) -> Any:
        """Return a new tensor."""
        made = empty(self.shape, self.dtype)
        _write(made, self)
        return made


def _is_tensor(value: Any) -> bool:
    """Say whether a value is a tensor of another library, which hands it on by DLPack."""
    return hasattr(value, "__dlpack__") and not isinstance(value, (np.ndarray, np.generic))


def _require_bytes(dtype: str) -> None:
    """Raise TypeError for a data type of which two elements share a byte."""
    if small_types.is_int4_name(dtype):
        raise TypeError(f"expected a data type of 8 bits or more, but got {dtype}")


def _view(tensor: tvm_ffi.Tensor) -> np.ndarray[Any, Any]:
    """Return the elements of a tensor in host memory, those that NumPy lacks as integers."""
    if tensor.device.type != "cpu":
        raise TypeError(f"expected a tensor in host memory, but it is on {tensor.device}")
    _require_bytes(str(tensor.dtype))
    is_small = small_types.is_small_name(str(tensor.dtype))
    return small_types.bits_of(tensor) if is_small else np.from_dlpack(tensor)


def _write(tensor: Any, value: TensorData) -> None:
    """Write elements into a tensor, in row-major order."""
    to = _view(tensor)
    if str(tensor.dtype) != value.dtype or to.nbytes != value.data.nbytes:
        raise ValueError(
            f"expected an array of {tensor.dtype} with {to.size} elements, for a tensor of shape "
            f"{tuple(tensor.shape)}, but got {value.dtype} of shape {value.shape}"
        )
    to[...] = value.data.view(to.dtype).reshape(to.shape)


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """Return a tensor whose elements are not initialized."""
    name = str(dtype)
    _require_bytes(name)
    if small_types.is_small_name(name):
        return tvm_ffi.from_dlpack(small_types.empty(shape, name))
    return tvm_ffi.from_dlpack(np.empty(tuple(shape), name))


def worker_id() -> int:
    """Return the number of the worker that calls it.

    Raises
    ------
    RuntimeError
        If the thread is no worker of a session.
    """
    return int(tvm_ffi.get_global_func("relax_mlir.disco.worker_id")())


# -- functions that TVM has on workers ----------------------------------------------------------


def _empty(shape: Any, dtype: Any, device: Any, worker0_only: bool, in_group: bool) -> Any:
    if device is not None and str(device) not in ("cpu", "cpu:0"):
        raise ValueError(f"expected the device cpu, where workers compute, but got {device}")
    size = int(tvm_ffi.get_global_func("relax_mlir.disco.group_size")()) if in_group else 0
    rank = worker_id() % size if size else worker_id()
    return None if worker0_only and rank else empty(shape, dtype)


def _load_vm_module(source: Any, device: Any = None) -> VirtualMachine:
    program = source if isinstance(source, Executable) else artefact.load(source)
    return VirtualMachine(program, device)


def _get_function(module: Any, name: str, _: bool = False) -> Callable[..., Any]:
    if not isinstance(module, VirtualMachine):
        raise TypeError(f"expected a module of load_vm_module, but got {type(module).__name__}")
    return module[name]


def _get_field(fields: Any, index: int) -> Any:
    return fields[index]


def _import(name: str) -> None:
    importlib.import_module(name)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ffi.ModuleGetFunction": _get_function,
    "runtime.disco._import_python_module": _import,
    "runtime.disco.empty": _empty,
    "runtime.disco.load_vm_module": _load_vm_module,
    "vm.builtin.tuple_getitem": _get_field,
}


def _global_function(name: str) -> Callable[..., Any]:
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    own = _HERE + name.removeprefix(_OF_TVM) if name.startswith(_OF_TVM) else name
    found = tvm_ffi.get_global_func(own, allow_missing=True)
    if found is None:
        raise ValueError(
            f"packed function {name!r} is not registered on the worker: register it with "
            "tvm_ffi.register_global_func in a module, and call "
            "import_python_module of the session with its name"
        )
    return found


# -- instructions -------------------------------------------------------------------------------


class Executor:
    """Executes instructions on the thread of a worker, and keeps what they give in registers."""

    def __init__(self) -> None:
        self._registers: dict[int, Any] = {}
        self._actions: dict[str, Callable[..., Any]] = {
            "call": self._call,
            "function": _global_function,
            "get": self._get,
            "kill": self._kill,
            "set": self._set,
            "sync": lambda: None,
        }

    def execute(self, number: int, action: str, target: int | None, args: tuple[Any, ...]) -> Any:
        """Execute an instruction.

        Parameters
        ----------
        number : int
            From 1, where all workers execute it; 0 for what one of them does alone.
        action : str
        target : int, optional
            The register that takes the result.
        args : tuple

        Returns
        -------
        object
            The result where there is no register for it, or a `Failure`.
        """
        if number:
            communicator.begin(number)
        try:
            result = self._actions[action](*args)
        except BaseException as error:  # whatever it is, the others have to know
            result = Failure.of(error)
        if number:
            communicator.end(result.text if isinstance(result, Failure) else "")
        if target is not None:
            self._registers[target] = result
            return result if isinstance(result, Failure) else None
        return result

    def _value(self, given: Any) -> Any:
        if isinstance(given, Register):
            value = self._registers[given.number]
            if isinstance(value, Failure):
                raise CollectiveError(
                    f"an argument is the result of a call that failed: {value.text}"
                )
            return value
        if isinstance(given, tuple):
            return tuple(self._value(part) for part in given)
        return given.restored() if isinstance(given, (Plain, TensorData)) else given

    def _call(self, function: Any, *args: Any) -> Any:
        callee = self._value(function)
        if not callable(callee):
            raise TypeError(f"expected a function, but got {type(callee).__name__}")
        return callee(*map(self._value, args))

    def _get(self, register: Register) -> Any:
        return _portable(self._value(register))

    def _set(self, register: Register, value: TensorData) -> None:
        tensor = self._value(register)
        if not isinstance(tensor, tvm_ffi.Tensor):
            raise TypeError(f"expected a tensor on the worker, but got {type(tensor).__name__}")
        _write(tensor, value)

    def _kill(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._registers.pop(number, None)


def _portable(value: Any) -> Any:
    """Return a value in a form that goes through a pipe."""
    if isinstance(value, tvm_ffi.Tensor):
        return TensorData.of(value)
    if isinstance(value, (list, tuple, tvm_ffi.Array)) and not isinstance(value, tvm_ffi.Shape):
        return tuple(map(_portable, value))
    if isinstance(value, tvm_ffi.Shape):
        return Plain("Shape", tuple(value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise TypeError(
        "expected a tensor, a number, a string, a shape, or a tuple of these, but got "
        f"{type(value).__name__}"
    )
