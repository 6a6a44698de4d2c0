# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The JSON of TVM: a graph of objects, which refer to each other by number.

An object is built once, after those that it refers to, and without recursion: chains of bindings
are as long as programs are.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ....script.tvm_json import Unread
from .. import ast
from . import tensors
from .attribute_kinds import BOOL, DTYPE, FLOAT, INT, NODE, STR, kind_of
from .json_fields import Fields, Pairs

TENSOR = "tensor"
DEVICE = "VirtualDevice"
# A name: a node of its own since TVM 0.7.
NAME = "name"
_STRING = "runtime.String"
_UNREAD_FIELDS = ("_checked_type_", "checked_type_", "virtual_device_", "struct_info_")


def is_device(value: Any) -> bool:
    """Say whether a value is a device: where a program runs is not part of what it computes."""
    return isinstance(value, Unread) and value.type_key == DEVICE


Build = Callable[[Fields], Any]
Kinds = Mapping[str, str]


class Graph:
    """The objects of a file.

    Parameters
    ----------
    text : str
        JSON that ``tvm.ir.save_json`` wrote, or a metadata section.
    builders : mapping of str to (mapping of str to str, callable)
        By the key of a type, how each field that matters is written, and what makes an object of
        the fields.

    Raises
    ------
    RelayError
        If it is none, or damaged.
    """

    def __init__(self, text: str, builders: Mapping[str, tuple[Kinds, Build]]) -> None:
        self.builders = builders
        data = _parsed(text)
        self.nodes, self.root = data["nodes"], data["root"]
        self._tensors = data.get("b64ndarrays") or []
        version = str((data.get("attrs") or {}).get("tvm_version", ""))
        self.has_plain_names = version.startswith(("0.5", "0.6"))
        self._values: dict[int, Any] = {}
        self._arrays: dict[int, np.ndarray[Any, Any]] = {}

    def load(self, root: int | None = None) -> Any:
        """Return an object, by default the one that the file is about."""
        root = self.root if root is None else root
        stack, open_nodes = [self._checked(root, "the root")], set[int]()
        while stack:
            index = stack[-1]
            missing = [each for each in self._references(index) if each not in self._values]
            if index in self._values:
                stack.pop()
            elif not missing:
                self._values[index] = self._build(index)
                open_nodes.discard(stack.pop())
            elif index in open_nodes:
                raise ast.RelayError(
                    f"expected objects without cycles, but got one {self._at(index)}"
                )
            else:
                open_nodes.add(index)
                stack.extend(reversed(missing))
        return self._values[root]

    # -- references -----------------------------------------------------------------------------

    def _references(self, index: int) -> Iterator[int]:
        """Yield the numbers of the objects that an object needs."""
        node = self.nodes[index]
        for each in node.get("data") or ():
            yield self._checked(each, self._at(index))
        for name, text in self._fields(node).items():
            if name == "span" or self._kind(node, name, text) == NODE:
                yield self._number(index, name, text)

    def _fields(self, node: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the fields of an object that matter."""
        key = _type_key(node)
        fields = node.get("attrs") or {}
        if key in self.builders:
            kinds = self.builders[key][0]
            return {name: text for name, text in fields.items() if name in kinds}
        if is_attributes(key):
            return {name: text for name, text in fields.items() if name not in _UNREAD_FIELDS}
        return {}

    def _kind(self, node: Mapping[str, Any], name: str, text: str) -> str:
        """Return how a field is written."""
        key = _type_key(node)
        kind = self.builders[key][0].get(name) if key in self.builders else kind_of(key, name)
        if kind is None:
            raise NotImplementedError(
                f"the attribute '{name}' of {key} is not known, so that its JSON cannot be read"
            )
        if kind == NAME:
            return STR if self.has_plain_names else NODE
        # Strings of some classes became nodes in later versions.
        if kind == STR and text.isdecimal() and int(text) < len(self.nodes):
            return NODE if _type_key(self.nodes[int(text)]) in (_STRING, "") else STR
        return kind

    def _number(self, index: int, name: str, text: str) -> int:
        if not str(text).isdecimal():
            raise ast.RelayError(
                f"expected the number of an object as '{name}' {self._at(index)}, but got {text!r}"
            )
        return self._checked(int(text), self._at(index))

    def _checked(self, index: Any, where: str) -> int:
        if not isinstance(index, int) or not 0 <= index < len(self.nodes):
            raise ast.RelayError(
                f"expected the number of one of {len(self.nodes)} objects as {where}, but got "
                f"{index!r}"
            )
        return index

    def _at(self, index: int) -> str:
        return f"in object {index} ({_type_key(self.nodes[index]) or 'null'})"

    # -- values ---------------------------------------------------------------------------------

    def _build(self, index: int) -> Any:
        node = self.nodes[index]
        key = _type_key(node)
        if not key:
            return None
        if key == "Array":
            return [self._values[each] for each in node.get("data") or ()]
        if key in ("Map", "StrMap"):
            return self._map(index, node)
        if key in self.builders:
            return self._object(index, node)
        if is_attributes(key):
            names = [name for name in self._fields(node) if name != "span"]
            values = {name: self._field(index, node, name) for name in names}
            return {name: value for name, value in values.items() if not is_device(value)}
        return Unread(key)

    def _map(self, index: int, node: Mapping[str, Any]) -> Any:
        values = [self._values[each] for each in node.get("data") or ()]
        keys = node.get("keys")
        if keys is None and len(values) % 2 == 0:
            return Pairs(zip(values[::2], values[1::2], strict=True))
        keys = keys if isinstance(keys, list) else []
        if len(keys) != len(values):
            raise ast.RelayError(
                f"expected {len(keys)} values, one for each key, {self._at(index)}, but got "
                f"{len(values)}"
            )
        return dict(zip(keys, values, strict=True))

    def _object(self, index: int, node: Mapping[str, Any]) -> Any:
        build = self.builders[_type_key(node)][1]
        fields = {name: self._field(index, node, name) for name in self._fields(node)}
        fields["repr"] = _representation(node)
        return build(Fields(fields, self._at(index)))

    def _field(self, index: int, node: Mapping[str, Any], name: str) -> Any:
        text = node["attrs"][name]
        kind = self._kind(node, name, text) if name != "span" else NODE
        if kind == NODE:
            return self._values[int(text)]
        if kind == TENSOR:
            return self._tensor(index, text)
        try:
            return _PLAIN[kind](text)
        except ValueError:
            raise ast.RelayError(
                f"expected '{name}' {self._at(index)} of type {kind}, but got {text!r}"
            ) from None

    def _tensor(self, index: int, text: str) -> np.ndarray[Any, Any]:
        number = int(text) if text.isdecimal() else -1
        if not 0 <= number < len(self._tensors):
            raise ast.RelayError(
                f"expected the number of one of {len(self._tensors)} tensors {self._at(index)}, "
                f"but got {text!r}"
            )
        if number not in self._arrays:
            try:
                self._arrays[number] = tensors.decode_tensor(self._tensors[number])
            except ValueError as error:
                raise ast.RelayError(f"tensor {number}: {error}") from None
        return self._arrays[number]


def is_attributes(type_key: str) -> bool:
    """Say whether objects of a type are attributes of a call."""
    return type_key.startswith("relay.attrs.") or type_key.endswith("Attrs")


def _type_key(node: Mapping[str, Any]) -> str:
    return str(node.get("type_key", ""))


def _parsed(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ast.RelayError(
            f"expected JSON of TVM, but got a text that is none: {error}"
        ) from None
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list) or "root" not in data:
        raise ast.RelayError(
            "expected JSON that tvm.ir.save_json wrote, with 'root' and 'nodes', but got "
            + (", ".join(map(repr, list(data)[:5])) if isinstance(data, dict) else repr(data)[:40])
        )
    for index, node in enumerate(data["nodes"]):
        if not isinstance(node, dict) or not isinstance(node.get("attrs") or {}, dict):
            raise ast.RelayError(f"expected objects with 'type_key', but object {index} is none")
    return data


def _representation(node: Mapping[str, Any]) -> str:
    """Return what an object says of itself as text."""
    if "repr_b64" in node:
        return _decoded(node["repr_b64"])
    return str(node.get("repr_str", node.get("global_key", "")))


def _decoded(text: str) -> str:
    """Return a string that TVM has written as base64: its length, and its bytes."""
    try:
        data = base64.b64decode(text, validate=True)
        return data[8:].decode()
    except (binascii.Error, ValueError) as error:
        raise ast.RelayError(f"expected a string as base64, but got {error}") from None


def _bool(text: str) -> bool:
    return bool(int(text))


def dtype(text: str) -> str:
    """Return a data type by its name here; "" where TVM has none."""
    return {"void": "", "uint1": "bool"}.get(text, text)


_PLAIN: Mapping[str, Callable[[str], Any]] = {
    INT: int, FLOAT: float, BOOL: _bool, STR: str, DTYPE: dtype,
}  # fmt: skip
