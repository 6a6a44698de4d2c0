# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An interpreter of Tile IR, as ``tileirdisasm`` writes it, in NumPy.

It knows the operations that the kernels have, and checks what they assume.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

_DTYPES = {"f16": np.float16, "f32": np.float32, "i32": np.int32, "i1": np.bool_}

_OPERAND = re.compile(r"%\w+(?:#\d+)?")


@dataclass
class Op:
    """An operation: the names of its results and operands, the rest of its text, and its body."""

    name: str
    results: list[str]
    text: str
    operands: list[str] = field(default_factory=list)
    body: list[Op] = field(default_factory=list)


@dataclass
class Pointer:
    """The address of elements."""

    address: int
    data: np.ndarray


@dataclass
class View:
    """Tiles of an array: `array` has its dimensions in their order."""

    array: np.ndarray
    tile: tuple[int, ...]
    padding: float | None


def parse(text: str) -> dict[str, Op]:
    """Return the kernels of a text by name."""
    kernels: dict[str, Op] = {}
    open_: list[Op] = []
    for line in re.sub(r" loc\(.*", "", text, flags=re.MULTILINE).splitlines():
        word = line.strip()
        if word == "}":
            open_.pop()
        elif word.startswith("("):  # the arguments of the body of a reduction
            open_.append(open_[-1].body[-1])
        elif found := re.match(r"entry @(\w+)\(", word):
            kernels[found[1]] = Op("entry", [], word, re.findall(r"(%\w+): ", word))
            open_.append(kernels[found[1]])
        elif found := re.match(r"(?:(%.*?) = )?(\w+)(.*)", word):
            if not open_:
                continue
            results = re.findall(r"%\w+(?::\d+)?", found[1] or "")
            op = Op(found[2], results, found[3], _OPERAND.findall(found[3]))
            open_[-1].body.append(op)
            if word.endswith("{"):
                open_.append(op)
    return kernels


def run(kernel: Op, arguments: Sequence[Any], block: int) -> None:
    """Run a block of a kernel.

    Parameters
    ----------
    kernel : Op
    arguments : sequence of Pointer, int or float
    block : int
    """
    values: dict[str, Any] = {}
    for name, value in zip(kernel.operands, arguments, strict=True):
        kind = np.int32 if isinstance(value, int) else np.float32
        values[name] = value if isinstance(value, Pointer) else kind(value)
    _Block(values, block).run(kernel.body)


def _type(text: str) -> tuple[tuple[int, ...], Any]:
    """Return the shape and the data type of the last tile that a text names."""
    *sizes, name = re.findall(r"tile<([\w]+)>", text)[-1].split("x")
    if name == "bf16":
        import ml_dtypes

        return tuple(map(int, sizes)), ml_dtypes.bfloat16
    return tuple(map(int, sizes)), _DTYPES[name]


_PREDICATES: dict[str, Callable[[Any, Any], Any]] = {
    "less_than_or_equal": np.less_equal,
    "less_than": np.less,
    "greater_than": np.greater,
    "not_equal": np.not_equal,
    "equal": np.equal,
}


def _divide(x: Any, y: Any, text: str) -> Any:
    assert "negative_inf" in text or "positive_inf" in text
    return np.floor_divide(x, y) if "negative_inf" in text else -np.floor_divide(-x, y)


def _compare(x: Any, y: Any, text: str) -> Any:
    return _PREDICATES[text.split()[0]](x, y)


def _largest(x: Any, y: Any, text: str) -> Any:
    return np.maximum(x, y) if "propagate_nan" in text else np.fmax(x, y)


def _multiply_matrices(x: Any, y: Any, z: Any, text: str) -> Any:
    assert x.dtype == y.dtype and z.dtype == np.float32
    return x.astype(np.float32) @ y.astype(np.float32) + z


# What operations compute of their operands and their text.
_COMPUTED: dict[str, Callable[..., Any]] = {
    "absf": lambda x, _: np.abs(x),
    "addf": lambda x, y, _: x + y,
    "addi": lambda x, y, _: x + y,
    "andi": lambda x, y, _: x & y,
    "broadcast": lambda x, text: np.broadcast_to(x, _type(text)[0]),
    "cmpf": _compare,
    "cmpi": _compare,
    "divf": lambda x, y, _: x / y,
    "divi": _divide,
    "exp": lambda x, _: np.exp(x),
    "exp2": lambda x, _: np.exp2(x),
    "fma": lambda x, y, z, _: (x.astype(np.float64) * y + z).astype(np.float32),
    "ftof": lambda x, text: x.astype(_type(text)[1]),
    "maxf": _largest,
    "maxi": lambda x, y, _: np.maximum(x, y),
    "mini": lambda x, y, _: np.minimum(x, y),
    "mmaf": _multiply_matrices,
    "mulf": lambda x, y, _: x * y,
    "muli": lambda x, y, _: x * y,
    "negf": lambda x, _: -x,
    "remi": lambda x, y, _: np.fmod(x, y),
    "reshape": lambda x, text: np.reshape(x, _type(text)[0]),
    "select": lambda x, y, z, _: np.where(x, y, z),
    "subf": lambda x, y, _: x - y,
    "subi": lambda x, y, _: x - y,
    "tanh": lambda x, _: np.tanh(x),
    "xori": lambda x, y, _: x ^ y,
}


class _Block:
    """A block that runs, and the values that it has computed."""

    def __init__(self, values: dict[str, Any], block: int) -> None:
        self.values, self.block = values, block

    def run(self, ops: Sequence[Op]) -> list[Any]:
        """Run operations; return the operands of the last one."""
        for op in ops[:-1]:
            if op.name in _COMPUTED:
                operands = [self.values[name] for name in op.operands]
                self.values[op.results[0]] = _COMPUTED[op.name](*operands, op.text)
            else:
                getattr(self, f"do_{op.name}")(op)
        assert ops[-1].name in ("continue", "return")
        return [self.values[name] for name in ops[-1].operands]

    def do_make_token(self, op: Op) -> None:
        pass

    def do_assume(self, op: Op) -> None:
        value = self.values[op.operands[0]]
        number = value.address if isinstance(value, Pointer) else int(value)
        if found := re.search(r"div_by<(\d+)>", op.text):
            assert number % int(found[1]) == 0, op.text
        else:
            assert "bounded<0, ?>" in op.text and number >= 0, op.text
        self.values[op.results[0]] = value

    def do_constant(self, op: Op) -> None:
        shape, dtype = _type(op.text)
        word = re.search(r"<\w+: ([^>]+)>", op.text)[1]  # type: ignore[index]
        if word.startswith("0x"):
            value = np.array(int(word, 16), np.uint32).view(np.float32)
        else:
            value = np.array(float(word))
        self.values[op.results[0]] = np.full(shape, value, dtype)[()]

    def do_get_tile_block_id(self, op: Op) -> None:
        for name, number in zip(op.results, (self.block, 0, 0), strict=True):
            self.values[name] = np.int32(number)

    def do_iota(self, op: Op) -> None:
        shape, dtype = _type(op.text)
        self.values[op.results[0]] = np.arange(shape[0], dtype=dtype)

    def do_make_tensor_view(self, op: Op) -> None:
        lists = [words.split(", ") for words in re.findall(r" = \[([^\]]*)\]", op.text)]
        pointer = self.values[op.operands[0]]
        shape, strides = (
            [int(self.values[word] if word.startswith("%") else word) for word in words]
            for words in lists[:2]
        )
        steps = [stride * pointer.data.itemsize for stride in strides]
        self.values[op.results[0]] = as_strided(pointer.data, shape, steps)

    def do_make_partition_view(self, op: Op) -> None:
        array = self.values[op.operands[0]]
        tile = re.search(r"tile=\(([\dx]+)\)", op.text)[1]  # type: ignore[index]
        if found := re.search(r"dim_map=\[([^\]]*)\]", op.text):
            array = array.transpose([int(word) for word in found[1].split(",")])
        padding = 0.0 if "padding_value = zero" in op.text else None
        self.values[op.results[0]] = View(array, tuple(map(int, tile.split("x"))), padding)

    def _place(self, view: View, op: Op, first: int) -> Any:
        """Return the elements that a tile has, and where these are in the tile."""
        names = op.operands[first : first + len(view.tile)]
        index = [int(self.values[name]) for name in names]
        starts = [place * size for place, size in zip(index, view.tile, strict=True)]
        rows = list(zip(starts, view.tile, view.array.shape, strict=True))
        assert all(0 <= start < most for start, _, most in rows), "outside of the array"
        ends = [min(start + size, most) for start, size, most in rows]
        inside = tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))
        return inside, tuple(slice(0, part.stop - part.start) for part in inside)

    def do_load_view_tko(self, op: Op) -> None:
        view = self.values[op.operands[0]]
        inside, here = self._place(view, op, 1)
        padding = np.nan if view.padding is None else view.padding
        tile = np.full(view.tile, padding, view.array.dtype)
        tile[here] = view.array[inside]
        self.values[op.results[0]] = tile

    def do_store_view_tko(self, op: Op) -> None:
        tile, view = (self.values[name] for name in op.operands[:2])
        inside, here = self._place(view, op, 2)
        view.array[inside] = tile[here]

    def do_reduce(self, op: Op) -> None:
        axis = int(re.search(r"dim=(\d+)", op.text)[1])  # type: ignore[index]
        function = {"maxf": np.fmax, "addf": np.add}[op.body[0].name]
        self.values[op.results[0]] = function.reduce(self.values[op.operands[0]], axis=axis)

    def do_for(self, op: Op) -> None:
        index, begin, end, step, *names = op.operands
        first, last, by = (int(self.values[name]) for name in (begin, end, step))
        carried, given = names[::2], [self.values[name] for name in names[1::2]]
        for number in range(first, last, by):
            self.values |= dict(zip([index, *carried], [np.int32(number), *given], strict=True))
            given = self.run(op.body)
        name = op.results[0].partition(":")[0]
        self.values |= {f"{name}#{place}": value for place, value in enumerate(given)}
        self.values[name] = given[0]
