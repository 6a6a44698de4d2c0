# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What packed functions have in common that have libraries compute on CUDA devices."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._ffi import runtime_function
from .cuda_driver import Device, DriverError

#: The number of lists of shapes for which a function keeps what it has prepared.
MAX_CALLS = 256

# The kind of device, as DLPack numbers them.
_CUDA = 2

# Addresses that are multiples of more are as good.
_MOST_ALIGNED = 256

#: Begins to compute, from the addresses of the arguments, on a stream.
Call = Callable[[Sequence[int], int], None]

_follow_streams = runtime_function("follow_streams")


class CudaFunction:
    """A packed function: its arguments are tensors of a CUDA device, then the one to fill.

    Several threads may call it at once. It begins its work on the stream of the thread, as kernels
    of programs do, and does not wait for it.

    Parameters
    ----------
    program : mapping
        The function as data: ``symbol``; ``params``, how many arguments there are; where each
        operand is, an argument such as "arg0" or a constant, or None.
    arrays : mapping of str to numpy.ndarray
        Constants by name, which are copied to a device when it is first used.
    operands : iterable of str
        The keys of `program` that say where operands are.
    """

    #: Who computes, in messages.
    library = ""
    #: What may be raised where a call begins, with words about it.
    errors: tuple[type[RuntimeError], ...] = (DriverError,)

    def __init__(
        self,
        program: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
        operands: Iterable[str],
    ) -> None:
        self.symbol: str = program["symbol"]
        self._program = program
        slots = {name: program[name] for name in operands if program[name] is not None}
        # The numbers of arguments, and constants.
        self._places = {
            name: int(slot.removeprefix("arg"))
            for name, slot in slots.items()
            if slot not in arrays
        }
        self._places["out"] = program["params"]
        self._arrays = {name: arrays[slot] for name, slot in slots.items() if slot in arrays}
        self._constants: dict[int, dict[str, int]] = {}
        self._calls: OrderedDict[Any, Call] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, *tensors: Any) -> None:
        """Compute the result, which is the last argument.

        Raises
        ------
        RuntimeError
            If the library or the device is missing, or a call of it fails.
        ValueError
            If a tensor is on another device, or has gaps.
        """
        place, device = tensors[-1].device, tensors[-1].__dlpack_device__()
        addresses, key, bits = [], [device], _MOST_ALIGNED
        for tensor in tensors:
            if tensor.__dlpack_device__() != device or not tensor.is_contiguous():
                self._refuse(tensor, device)
            address = tensor.data_ptr()
            bits |= address
            addresses.append(address)
            key.append(tensor.shape)
        key.append(bits & -bits)
        try:
            with self._lock:
                call = self._find(tuple(key), tensors)
                call(addresses, _follow_streams(place))
                _follow_streams(place)  # another thread may have used another one meanwhile
        except self.errors as error:
            words = self.words([tensor.shape for tensor in tensors])
            raise type(error)(f"{self.symbol}: {error}, for {words}, on cuda:{device[1]}") from None

    def _refuse(self, tensor: Any, device: tuple[int, int]) -> None:
        """Raise ValueError for a tensor that the library does not take."""
        if device[0] != _CUDA or tensor.__dlpack_device__() != device:
            raise ValueError(
                f"{self.symbol}: {self.library} expected tensors of one CUDA device, but got one "
                f"on {tensor.device}"
            )
        raise ValueError(
            f"{self.symbol}: {self.library} expected tensors without gaps, but got one of shape "
            f"{tuple(tensor.shape)} with strides {tuple(tensor.strides)}"
        )

    def _find(self, key: tuple[Any, ...], tensors: Sequence[Any]) -> Call:
        """Return the call for a device, shapes and an alignment."""
        found = self._calls.get(key)
        if found is not None:
            self._calls.move_to_end(key)
            return found
        (kind, device), *shapes, alignment = key
        if kind != _CUDA:
            self._refuse(tensors[-1], key[0])
        made = self.prepare(int(device), shapes, alignment)
        self._calls[key] = made
        if len(self._calls) > MAX_CALLS:
            self._calls.popitem(last=False)
        return made

    def prepare(self, device: int, shapes: Sequence[Sequence[int]], alignment: int) -> Call:
        """Return the call for shapes on a device, where all addresses are multiples of a number."""
        raise NotImplementedError

    def words(self, shapes: Sequence[Sequence[int]]) -> str:
        """Return what is computed, in words, from the shapes of the arguments."""
        raise NotImplementedError

    def shape_of(self, name: str, shapes: Sequence[Sequence[int]]) -> Sequence[int]:
        """Return the shape of an operand, from those of the arguments."""
        if name in self._arrays:
            return self._arrays[name].shape
        return shapes[self._places[name]]

    def constants_on(self, device: Device, index: int) -> dict[str, int]:
        """Return the addresses of constants on a device, as multiples of 256 bytes."""
        if index not in self._constants:
            self._constants[index] = {
                name: device.copy(array.ctypes.data, array.nbytes)
                for name, array in self._arrays.items()
            }
        return self._constants[index]
