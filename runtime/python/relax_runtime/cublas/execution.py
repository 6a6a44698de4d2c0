# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that compute products by cuBLASLt, for the sizes that come."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import external
from .driver import Device, DriverError
from .library import CublasError
from .library import load as load_library
from .products import DTYPES, WORKSPACE, Product, sizes_of

# The number of lists of shapes for which a function keeps products.
MAX_PRODUCTS = 256

# The kind of device, as DLPack numbers them.
_CUDA = 2

_OPERANDS = ("src", "weights", "bias", "sum")

# Addresses that are multiples of more are as good.
_MOST_ALIGNED = 256


class _Place:
    """What functions share on a device: its context, a handle of the library, and memory."""

    def __init__(self, index: int) -> None:
        self.device = Device(index)
        self.library = load_library()
        self._lock = threading.Lock()
        self._workspace = 0
        self._zeros: dict[int, int] = {}
        with self.device:
            self.handle = self.library.create("Create")

    def workspace(self) -> int:
        """Return the address of the workspace: products follow each other on one stream."""
        with self._lock:
            if not self._workspace:
                self._workspace = self.device.allocate(WORKSPACE)
            return self._workspace

    def zeros(self, size: int) -> int:
        """Return the address of zeros, at least so many bytes."""
        rounded = 1 << max(size - 1, 0).bit_length()
        with self._lock:
            if rounded not in self._zeros:
                self._zeros[rounded] = self.device.zeros(rounded)
            return self._zeros[rounded]


_places: dict[int, _Place] = {}
_places_lock = threading.Lock()


def _place(index: int) -> _Place:
    with _places_lock:
        if index not in _places:
            _places[index] = _Place(index)
        return _places[index]


class CublasFunction:
    """A packed function: its arguments are tensors of a CUDA device, then the one to fill.

    Several threads may call it at once. It begins its work on the default stream, as kernels of
    programs do, and does not wait for it.

    Parameters
    ----------
    program : mapping
        The function as data, as the codegen writes it: ``symbol``; ``params``, how many arguments
        there are; ``dtype``; ``tf32``; where the operands are, an argument such as "arg0" or a
        constant: ``src``, ``weights``, and ``bias`` and ``sum`` or None; ``transposed``, whether
        the last two dimensions of ``src`` and ``weights`` are swapped; ``activation`` or None.
    arrays : mapping of str to numpy.ndarray
        Constants by name, which are copied to a device when it is first used.

    Examples
    --------
    >>> program = {"symbol": "f", "params": 2, "dtype": "float32", "tf32": False, "bias": None}
    >>> program |= {"src": "arg0", "weights": "arg1", "sum": None, "activation": None}
    >>> CublasFunction(program | {"transposed": [False, True]}, {}).symbol
    'f'
    """

    def __init__(self, program: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.symbol: str = program["symbol"]
        self._program = program
        operands = {name: program[name] for name in _OPERANDS if program[name] is not None}
        # The numbers of arguments, and constants.
        self._places = {
            name: int(slot.removeprefix("arg"))
            for name, slot in operands.items()
            if slot not in arrays
        }
        self._places["out"] = program["params"]
        self._arrays = {name: arrays[slot] for name, slot in operands.items() if slot in arrays}
        self._constants: dict[int, dict[str, int]] = {}
        self._calls: OrderedDict[Any, _Call] = OrderedDict()
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
        device = tensors[-1].__dlpack_device__()
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
                self._find(tuple(key), tensors)(addresses)
        except (CublasError, DriverError) as error:
            words = self._words([tensor.shape for tensor in tensors])
            raise type(error)(f"{self.symbol}: {error}, for {words}, on cuda:{device[1]}") from None

    def _refuse(self, tensor: Any, device: tuple[int, int]) -> None:
        """Raise ValueError for a tensor that the library does not take."""
        if device[0] != _CUDA or tensor.__dlpack_device__() != device:
            raise ValueError(
                f"{self.symbol}: cuBLASLt expected tensors of one CUDA device, but got one on "
                f"{tensor.device}"
            )
        raise ValueError(
            f"{self.symbol}: cuBLASLt expected tensors without gaps, but got one of shape "
            f"{tuple(tensor.shape)} with strides {tuple(tensor.strides)}"
        )

    def _find(self, key: tuple[Any, ...], tensors: Sequence[Any]) -> _Call:
        """Return the call for a device, shapes and an alignment."""
        found = self._calls.get(key)
        if found is not None:
            self._calls.move_to_end(key)
            return found
        (kind, device), *shapes, alignment = key
        if kind != _CUDA:
            self._refuse(tensors[-1], key[0])
        made = self._make(_place(int(device)), int(device), shapes, alignment)
        self._calls[key] = made
        if len(self._calls) > MAX_PRODUCTS:
            self._calls.popitem(last=False)
        return made

    def _shapes(self, shapes: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Return the shapes of both matrices."""
        return [
            self._arrays[name].shape if name in self._arrays else shapes[self._places[name]]
            for name in ("src", "weights")
        ]

    def _words(self, shapes: Sequence[Sequence[int]]) -> str:
        lhs, rhs = self._shapes(shapes)
        sizes = sizes_of(lhs, rhs, shapes[-1], self._program["transposed"])
        return f"a product of {self._program['dtype']}, {sizes}"

    def _make(
        self, place: _Place, device: int, shapes: Sequence[Sequence[int]], alignment: int
    ) -> _Call:
        """Return the call for shapes on a device."""
        out = shapes[-1]
        if 0 in out:
            return _Call(place, None, {}, {})
        lhs, rhs = self._shapes(shapes)
        left, right = self._program["transposed"]
        with place.device:
            fixed = dict(self._constants_on(place, device))
            if lhs[-2 if left else -1] == 0:  # the library wants sums: of one product of zeros
                m, n = out[-2:]
                lhs, rhs = (1, m) if left else (m, 1), (n, 1) if right else (1, n)
                zeros = place.zeros(max(m, n) * DTYPES[self._program["dtype"]][1])
                fixed |= {"src": zeros, "weights": zeros}
            sizes = sizes_of(lhs, rhs, out, (left, right))
            made = Product(place.library, place.handle, self._program, sizes, alignment)
            if made.workspace:
                made.set_workspace(place.workspace())
            return _Call(place, made, self._places, fixed)

    def _constants_on(self, place: _Place, device: int) -> dict[str, int]:
        """Return the addresses of constants on a device, as multiples of 256 bytes."""
        if device not in self._constants:
            self._constants[device] = {
                name: place.device.copy(array.ctypes.data, array.nbytes)
                for name, array in self._arrays.items()
            }
        return self._constants[device]


class _Call:
    """A product on a device, and where its operands are.

    Parameters
    ----------
    place : _Place
    product : Product, optional
        None where there is nothing to compute.
    places : mapping of str to int
        The numbers of arguments.
    fixed : mapping of str to int
        The addresses of operands that no argument changes.
    """

    def __init__(
        self,
        place: _Place,
        product: Product | None,
        places: Mapping[str, int],
        fixed: Mapping[str, int],
    ) -> None:
        self._device, self._product = place.device, product
        self._bias: int | None = None
        self._moving: list[tuple[Any, int]] = []
        if product is None:
            return
        for name, address in fixed.items():
            if name == "bias":
                product.set_bias(address)
            else:
                product.addresses[name].value = address
        self._bias = places.get("bias")
        self._moving = [
            (product.addresses[name], index)
            for name, index in places.items()
            if name != "bias" and name not in fixed
        ]

    def __call__(self, addresses: Sequence[int]) -> None:
        """Begin to compute, from the addresses of the arguments."""
        product = self._product
        if product is None:
            return
        for cell, index in self._moving:
            cell.value = addresses[index]
        with self._device:
            if self._bias is not None:
                product.set_bias(addresses[self._bias])
            product.run()


def load(state: bytes) -> dict[str, CublasFunction]:
    """Return packed functions of what the codegen wrote.

    Parameters
    ----------
    state : bytes
    """
    programs, arrays = external.unpack(state)
    return {program["symbol"]: CublasFunction(program, arrays) for program in programs}
