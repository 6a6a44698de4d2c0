# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that stay where they lie in the file of a model.

A message of Protocol Buffers holds a copy of all its bytes, and gives out another one. Here the
weights of a file become external data of it before the message is read.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

# Weights of fewer bytes are read as they are.
_LEAST = 1 << 12
_BYTES = 2  # the wire type of messages and strings
# Sizes of values of the other wire types that there are; that of a number depends on it.
_FIXED = {1: 8, 5: 4}

# A field: its number, and where its key, its value and the next field begin.
_Field = tuple[int, int, int, int]
# What takes the place of the value of a field, given where it begins and ends; None where it stays.
_Rule = Callable[[mmap.mmap, int, int], bytes | None]


def read_in_place(path: Path) -> bytes:
    """Return the content of a file of a model whose large weights are external data in it.

    What is no model of ONNX is returned as it is.
    """
    with path.open("rb") as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):  # an empty file, or none that can be mapped
            return file.read()
    with content:

        def refer(content: mmap.mmap, begin: int, end: int) -> bytes | None:
            return _refer(content, begin, end, path.name)

        def graph(content: mmap.mmap, begin: int, end: int) -> bytes | None:
            return _rewrite(content, begin, end, {_number(onnx.GraphProto, "initializer"): refer})

        try:
            rules: Mapping[int, _Rule] = {_number(onnx.ModelProto, "graph"): graph}
            return _rewrite(content, 0, len(content), rules)
        except (IndexError, ValueError, DecodeError):  # broken, as whoever reads it will say
            return content[:]


def _number(message: type[onnx.ModelProto | onnx.GraphProto | onnx.TensorProto], name: str) -> int:
    return int(message.DESCRIPTOR.fields_by_name[name].number)


def _varint(content: mmap.mmap, place: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    number = shift = 0
    while True:
        byte = content[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7


def _as_varint(number: int) -> bytes:
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def _fields(content: mmap.mmap, begin: int, end: int) -> Iterator[_Field]:
    while begin < end:
        key, value = _varint(content, begin)
        kind = key & 7
        if kind == _BYTES:
            size, value = _varint(content, value)
            after = value + size
        elif kind == 0:
            _, after = _varint(content, value)
        else:
            after = value + _FIXED[kind] if kind in _FIXED else end + 1
        if after > end:
            raise ValueError("a field that is no field, or ends after its message")
        yield key >> 3, begin, value, after
        begin = after


def _rewrite(content: mmap.mmap, begin: int, end: int, rules: Mapping[int, _Rule]) -> bytes:
    """Return a message with other values of some fields."""
    parts = []
    for number, start, value, after in _fields(content, begin, end):
        made = rules[number](content, value, after) if number in rules else None
        if made is None:
            parts.append(content[start:after])
        else:
            parts += [_as_varint(number << 3 | _BYTES), _as_varint(len(made)), made]
    return b"".join(parts)


def _refer(content: mmap.mmap, begin: int, end: int, name: str) -> bytes | None:
    """Return a tensor that refers to its elements in the file; None if it has few."""
    raw = _number(onnx.TensorProto, "raw_data")
    found = [field for field in _fields(content, begin, end) if field[0] == raw]
    if len(found) != 1 or found[0][3] - found[0][2] < _LEAST:
        return None
    _, start, value, after = found[0]
    tensor = onnx.TensorProto.FromString(content[begin:start] + content[after:end])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", name), ("offset", value), ("length", after - value)):
        tensor.external_data.add(key=key, value=str(text))
    return tensor.SerializeToString()
