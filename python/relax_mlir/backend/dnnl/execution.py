# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that run steps of oneDNN, with primitives for the shapes that come."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .library import Library, load
from .primitives import PackedWeights, Primitive, Stream, make_convolution, make_matmul

# The number of lists of shapes for which primitives are kept.
MAX_PLANS = 64

# The kind of device, as DLPack numbers them.
_HOST = 1

_OPERANDS = ("src", "weights", "bias", "sum")


class DNNLFunction:
    """A packed function: its arguments are tensors, then the tensors to fill.

    Several threads may call it at once.

    Parameters
    ----------
    program : mapping
        The function as data, as `codegen` writes it.
    arrays : mapping of str to numpy.ndarray
        Constants by name.
    """

    def __init__(self, program: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.symbol: str = program["symbol"]
        self._steps: list[dict[str, Any]] = program["steps"]
        self._outputs: list[str] = program["outputs"]
        used = {step[name] for step in self._steps for name in _OPERANDS}
        self._arrays = {name: arrays[name] for name in sorted(used & set(arrays))}
        self._weights: dict[str, PackedWeights] = {}
        self._lock = threading.Lock()
        # Plans that no thread uses, by the shapes of the arguments.
        self._plans: OrderedDict[Any, list[_Plan]] = OrderedDict()

    def __call__(self, *tensors: Any) -> None:
        """Compute the outputs, which are the last arguments."""
        for tensor in tensors:
            if tensor.__dlpack_device__()[0] != _HOST:
                raise ValueError(
                    f"{self.symbol}: oneDNN expected tensors of the host, but got one on "
                    f"{tensor.device}"
                )
        shapes = tuple(tuple(map(int, tensor.shape)) for tensor in tensors)
        plan = self._take(shapes)
        try:
            plan.run([tensor.data_ptr() for tensor in tensors])
        finally:
            self._put(shapes, plan)

    def _take(self, shapes: Any) -> _Plan:
        with self._lock:
            plans = self._plans.get(shapes)
            if plans:
                self._plans.move_to_end(shapes)
                return plans.pop()
            return _Plan(load(), self._steps, self._outputs, shapes, self._arrays, self._weights)

    def _put(self, shapes: Any, plan: _Plan) -> None:
        with self._lock:
            self._plans.setdefault(shapes, []).append(plan)
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)


class _Plan:
    """The steps for certain shapes, which one thread runs at a time."""

    def __init__(
        self,
        library: Library,
        steps: Sequence[dict[str, Any]],
        outputs: Sequence[str],
        shapes: Sequence[tuple[int, ...]],
        arrays: Mapping[str, np.ndarray],
        weights: dict[str, PackedWeights],
    ) -> None:
        self._library = library
        self._stream = Stream(library)
        first = len(shapes) - len(outputs)
        self._shapes: dict[str, tuple[int, ...]] = {
            **{f"arg{index}": shape for index, shape in enumerate(shapes[:first])},
            **{name: array.shape for name, array in arrays.items()},
        }
        self._places = {f"arg{index}": index for index in range(first)}
        self._places |= {name: first + index for index, name in enumerate(outputs)}
        self._buffers: dict[str, np.ndarray] = dict(arrays)
        self._arrays, self._weights = arrays, weights
        self._primitives: list[Primitive] = []
        # What is set at each call: the memory, and the argument that it is.
        self._inputs: list[tuple[int, int]] = []
        for step in steps:
            self._add(step)

    def _add(self, step: dict[str, Any]) -> None:
        shapes: dict[str, Sequence[int]] = {
            name: self._shapes[step[name]] for name in _OPERANDS if step[name] is not None
        }
        shapes["dst"] = self._shapes[step["dst"]] = result_shape(step, shapes)
        if step["dst"] not in self._places:
            self._buffers[step["dst"]] = np.empty(shapes["dst"], np.float32)
        if 0 in shapes["dst"]:
            return
        common: dict[str, Any] = {"activation": step["activation"], "pack": self._pack_of(step)}
        if step["kind"] == "matmul":
            made = make_matmul(self._library, shapes, transposed=step["transposed"], **common)
        else:
            names = ("strides", "padding", "dilation", "groups")
            given = {name: step[name] for name in names}
            made = make_convolution(self._library, shapes, **given, **common)
        self._primitives.append(made)
        for memory, name in made.slots:
            if name == "weights" and common["pack"] is not None:
                continue
            slot = step[name]
            if slot in self._places:
                self._inputs.append((memory, self._places[slot]))
            else:
                self._set(memory, self._buffers[slot].ctypes.data)

    def _pack_of(self, step: dict[str, Any]) -> Any:
        """Return what gives a primitive constant weights; None where they are an argument."""
        name = step["weights"]
        if name not in self._arrays:
            return None
        if name not in self._weights:
            self._weights[name] = PackedWeights(self._library, self._arrays[name])

        def pack(made: Primitive, given: int, wanted: int) -> None:
            address = self._weights[name].address(given, wanted, made)
            memory = next(memory for memory, slot in made.slots if slot == "weights")
            self._set(memory, address)

        return pack

    def _set(self, memory: int, address: int) -> None:
        self._library.call("memory_set_data_handle", memory, address)

    def run(self, addresses: Sequence[int]) -> None:
        """Run the steps on tensors."""
        for memory, place in self._inputs:
            self._set(memory, addresses[place])
        self._stream.run(self._primitives)


def result_shape(step: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """Return the shape of what a step computes.

    Examples
    --------
    >>> step = {"kind": "matmul", "transposed": True}
    >>> result_shape(step, {"src": (2, 3, 4), "weights": (5, 4)})
    (2, 3, 5)
    """
    source, weights = list(shapes["src"]), list(shapes["weights"])
    if step["kind"] == "matmul":
        columns = weights[-2] if step["transposed"] else weights[-1]
        batch = np.broadcast_shapes(source[:-2], weights[:-2])
        return (*batch, source[-2], columns)
    top, left, bottom, right = step["padding"]
    sizes = []
    for axis, around in enumerate((top + bottom, left + right)):
        reach = step["dilation"][axis] * (weights[2 + axis] - 1) + 1
        sizes.append((source[2 + axis] + around - reach) // step["strides"][axis] + 1)
    return (source[0], weights[0], *sizes)
