# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that compute products by cuBLASLt, for the sizes that come."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import external
from ..cuda_driver import Device, DriverError
from ..cuda_functions import CudaFunction
from ..product_sizes import sizes_of
from .library import CublasError
from .library import load as load_library
from .products import DTYPES, WORKSPACE, Product

_OPERANDS = ("src", "weights", "bias", "sum")


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


class CublasFunction(CudaFunction):
    """A packed function that cuBLASLt computes; see `CudaFunction`.

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

    library = "cuBLASLt"
    errors = (CublasError, DriverError)

    def __init__(self, program: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(program, arrays, _OPERANDS)

    def _shapes(self, shapes: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Return the shapes of both matrices."""
        return [self.shape_of(name, shapes) for name in ("src", "weights")]

    def words(self, shapes: Sequence[Sequence[int]]) -> str:
        """Return the sizes of a product."""
        lhs, rhs = self._shapes(shapes)
        sizes = sizes_of(lhs, rhs, shapes[-1], self._program["transposed"])
        return f"a product of {self._program['dtype']}, {sizes}"

    def prepare(self, device: int, shapes: Sequence[Sequence[int]], alignment: int) -> _Call:
        """Return the call for shapes on a device."""
        place = _place(device)
        out = shapes[-1]
        if 0 in out:
            return _Call(place, None, {}, {})
        lhs, rhs = self._shapes(shapes)
        left, right = self._program["transposed"]
        with place.device:
            fixed = dict(self.constants_on(place.device, device))
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

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Begin to compute, from the addresses of the arguments, on a stream."""
        product = self._product
        if product is None:
            return
        for cell, index in self._moving:
            cell.value = addresses[index]
        with self._device:
            if self._bias is not None:
                product.set_bias(addresses[self._bias])
            product.run(stream)


def load(state: bytes) -> dict[str, CublasFunction]:
    """Return packed functions of what the codegen wrote.

    Parameters
    ----------
    state : bytes
    """
    programs, arrays = external.unpack(state)
    return {program["symbol"]: CublasFunction(program, arrays) for program in programs}
