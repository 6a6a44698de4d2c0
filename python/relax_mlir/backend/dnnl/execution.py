# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that run steps of oneDNN, with primitives for the shapes that come."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .library import Library, load
from .primitives import (
    PackedWeights,
    Primitive,
    Stream,
    make_convolution,
    make_matmul,
    make_reorder,
)

# The number of lists of shapes for which primitives are kept.
MAX_PLANS = 64

# Functions with no more products of two numbers run on one thread: others take as long to wake up.
SMALL_WORK = 500_000

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
        key = load().usable_threads(), shapes
        # Arguments are as the caller has them: there may be gaps.
        copies = {
            index: np.ascontiguousarray(np.from_dlpack(tensor))
            for index, tensor in enumerate(tensors)
            if not tensor.is_contiguous()
        }
        addresses = [tensor.data_ptr() for tensor in tensors]
        for index, copy in copies.items():
            addresses[index] = copy.ctypes.data
        plan = self._take(key)
        try:
            plan.run(addresses)
        finally:
            self._put(key, plan)

    def _take(self, key: tuple[int, Any]) -> _Plan:
        """Return a plan for a number of threads and shapes."""
        with self._lock:
            plans = self._plans.get(key)
            if plans:
                self._plans.move_to_end(key)
                return plans.pop()
            threads, shapes = key
            work = _count_products(self._steps, self._outputs, shapes, self._arrays)
            threads = threads if work > SMALL_WORK else 1
            given = (self._steps, self._outputs, shapes, self._arrays, self._weights)
            return _Plan(load(), threads, *given)

    def _put(self, key: tuple[int, Any], plan: _Plan) -> None:
        with self._lock:
            self._plans.setdefault(key, []).append(plan)
            if len(self._plans) > MAX_PLANS:
                self._plans.popitem(last=False)


# Where a tensor is: the number of an argument, or memory of the plan.
_Place = int | np.ndarray


@dataclass
class _Tensor:
    """A value of a plan.

    Attributes
    ----------
    shape : tuple of int
    place : int or numpy.ndarray
    layout : int
        How oneDNN has it; 0 for a tensor without gaps.
    copies : list of (int, int or numpy.ndarray)
        The same in other layouts.
    """

    shape: tuple[int, ...]
    place: _Place
    layout: int = 0
    copies: list[tuple[int, _Place]] = field(default_factory=list)


class _Plan:
    """The steps for certain shapes, which one thread runs at a time."""

    def __init__(
        self,
        library: Library,
        threads: int,
        steps: Sequence[dict[str, Any]],
        outputs: Sequence[str],
        shapes: Sequence[tuple[int, ...]],
        arrays: Mapping[str, np.ndarray],
        weights: dict[str, PackedWeights],
    ) -> None:
        self._library, self._threads = library, threads
        self._stream = Stream(library)
        first = len(shapes) - len(outputs)
        self._outputs = {name: first + index for index, name in enumerate(outputs)}
        self._tensors = {
            **{f"arg{index}": _Tensor(shape, index) for index, shape in enumerate(shapes[:first])},
            **{name: _Tensor(array.shape, array) for name, array in arrays.items()},
        }
        self._arrays, self._weights = arrays, weights
        self._primitives: list[Primitive] = []
        # Owners of layouts.
        self._kept: list[Primitive] = []
        # What is set at each call: the memory, and the argument that it is.
        self._inputs: list[tuple[int, int]] = []
        with library.threads(threads):
            for step in steps:
                self._add(step)
            for name, index in self._outputs.items():
                self._finish(self._tensors[name], index)

    def _add(self, step: dict[str, Any]) -> None:
        """Add the primitive of a step, after what puts its operands into other layouts."""
        given = {name: self._tensors[step[name]] for name in _OPERANDS if step[name] is not None}
        shapes: dict[str, Sequence[int]] = {name: each.shape for name, each in given.items()}
        shapes["dst"] = result_shape(step, shapes)
        made = self._make(step, shapes) if 0 not in shapes["dst"] else None
        self._tensors[step["dst"]] = self._result(step["dst"], tuple(shapes["dst"]), made)
        if made is None:
            return
        for name, operand in given.items():
            self._set(made.memory[name], self._operand(step[name], operand, made, name))
        self._set(made.memory["dst"], self._tensors[step["dst"]].place)
        self._primitives.append(made)

    def _make(self, step: dict[str, Any], shapes: dict[str, Sequence[int]]) -> Primitive:
        activation = step["activation"]
        if step["kind"] == "matmul":
            return make_matmul(
                self._library,
                shapes,
                transposed=step["transposed"],
                activation=activation,
                is_constant=step["weights"] in self._arrays,
            )
        names = ("strides", "padding", "dilation", "groups")
        given = {name: step[name] for name in names}
        return make_convolution(self._library, shapes, activation=activation, **given)

    def _result(self, name: str, shape: tuple[int, ...], made: Primitive | None) -> _Tensor:
        """Return a tensor for the result of a step: the output that it is, if the layout fits."""
        is_plain = made is None or self._are_equal(made.layouts["dst"], made.given["dst"])
        if name in self._outputs and is_plain:
            return _Tensor(shape, self._outputs[name])
        size = 0 if made is None else self._library.size_of(made.layouts["dst"])
        layout = 0 if made is None or is_plain else made.layouts["dst"]
        return _Tensor(shape, np.empty(size, np.uint8), layout)

    def _are_equal(self, left: int, right: int) -> bool:
        return bool(self._library.are_equal(left, right))

    def _operand(self, slot: str, operand: _Tensor, made: Primitive, name: str) -> _Place:
        """Return where an operand is in the layout that a primitive wants."""
        given, wanted = made.given[name], made.layouts[name]
        if operand.layout == 0:
            if self._are_equal(given, wanted):
                return operand.place
            if slot in self._arrays:
                return self._packed(slot, made, name)
            return self._copied(operand, given, wanted)
        if self._are_equal(operand.layout, wanted):
            return operand.place
        if self._are_equal(given, wanted):  # which may be of other dimensions
            wanted = self._plain(operand)
        return self._copied(operand, operand.layout, wanted)

    def _plain(self, tensor: _Tensor) -> int:
        """Return the layout of a tensor without gaps, which the plan keeps."""
        owner = Primitive(self._library)
        self._kept.append(owner)
        return owner.plain(tensor.shape)

    def _packed(self, slot: str, made: Primitive, name: str) -> np.ndarray:
        """Return constant weights in the layout that a primitive wants."""
        if slot not in self._weights:
            self._weights[slot] = PackedWeights(self._library, self._arrays[slot])
        return self._weights[slot].get(made.given[name], made.layouts[name], made)

    def _copied(self, tensor: _Tensor, layout: int, wanted: int) -> _Place:
        """Return where a tensor is in another layout, into which each call copies it."""
        for known, place in tensor.copies:
            if self._are_equal(known, wanted):
                return place
        copy = np.empty(self._library.size_of(wanted), np.uint8)
        self._reorder(tensor.place, layout, copy, wanted)
        tensor.copies.append((wanted, copy))
        return copy

    def _reorder(self, source: _Place, layout: int, target: _Place, wanted: int) -> None:
        made = make_reorder(self._library, layout, wanted)
        self._set(made.memory["src"], source)
        self._set(made.memory["dst"], target)
        self._primitives.append(made)

    def _finish(self, tensor: _Tensor, index: int) -> None:
        """Have an output copied to where the caller wants it, if it is elsewhere."""
        if tensor.layout != 0:
            self._reorder(tensor.place, tensor.layout, index, self._plain(tensor))

    def _set(self, memory: int, place: _Place) -> None:
        """Give memory of an argument its data, now or at each call."""
        if isinstance(place, int):
            self._inputs.append((memory, place))
        else:
            self._library.call("memory_set_data_handle", memory, place.ctypes.data)

    def run(self, addresses: Sequence[int]) -> None:
        """Run the steps on tensors."""
        for memory, index in self._inputs:
            self._library.call("memory_set_data_handle", memory, addresses[index])
        with self._library.threads(self._threads):
            self._stream.run(self._primitives)


def _count_products(
    steps: Sequence[Mapping[str, Any]],
    outputs: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    arrays: Mapping[str, np.ndarray],
) -> int:
    """Return how many products of two numbers some steps compute."""
    known: dict[str, Sequence[int]] = {name: array.shape for name, array in arrays.items()}
    first = len(shapes) - len(outputs)
    known |= {f"arg{index}": shape for index, shape in enumerate(shapes[:first])}
    count = 0
    for step in steps:
        given = {name: known[step[name]] for name in ("src", "weights")}
        known[step["dst"]] = made = result_shape(step, given)
        each = given["src"][-1:] if step["kind"] == "matmul" else given["weights"][1:]
        count += int(np.prod([*made, *each], dtype=np.int64))
    return count


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
