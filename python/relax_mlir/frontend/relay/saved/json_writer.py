# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The metadata section of a text: what text has no words for, as TVM's JSON."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import ast
from .tensors import encode_tensor

_VERSION = "0.18.0"


class Metadata:
    """The objects of a metadata section, lists by the keys of their types."""

    def __init__(self) -> None:
        self._objects: dict[str, list[Any]] = {}
        self._places: dict[int, str] = {}

    def reference(self, value: Any) -> str:
        """Return the words that refer to an object, which is added where it is new.

        Raises
        ------
        NotImplementedError
            If it is no object that TVM's JSON has.
        """
        if id(value) not in self._places:
            key = _type_key(value)
            objects = self._objects.setdefault(key, [])
            self._places[id(value)] = f"meta[{key}][{len(objects)}]"
            objects.append(value)
        return self._places[id(value)]

    def text(self) -> str:
        """Return the section as JSON, "" if it is empty."""
        if not self._objects:
            return ""
        graph = _Writer()
        root = graph.add("Map", keys=list(self._objects), data=None)
        graph.nodes[root]["data"] = [graph.value(objects) for objects in self._objects.values()]
        whole = {
            "root": root,
            "nodes": graph.nodes,
            "b64ndarrays": graph.tensors,
            "attrs": {"tvm_version": _VERSION},
        }
        return json.dumps(whole, indent=2)


def _type_key(value: Any) -> str:
    if isinstance(value, ast.Constant):
        return "relay.Constant"
    if isinstance(value, ast.TypeVar):
        return "tir.Var"
    if isinstance(value, Mapping):
        return "Map"
    raise NotImplementedError(f"{value!r} cannot be written to text of Relay")


class _Writer:
    """Objects with their numbers."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.tensors: list[str] = []
        self._arrays: dict[int, int] = {}
        self._vars: dict[int, int] = {}
        self.add("")

    def add(self, type_key: str, **parts: Any) -> int:
        """Return the number of a new object."""
        self.nodes.append({"type_key": type_key, **parts})
        return len(self.nodes) - 1

    def value(self, value: Any) -> int:
        """Return the number of an object that stands for a value."""
        if value is None:
            return 0
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, bool | int | float | np.generic):
            return self._number(value)
        if isinstance(value, list | tuple):
            # Its number comes before those of its elements, as TVM counts.
            number = self.add("Array")
            self.nodes[number]["data"] = [self.value(each) for each in value]
            return number
        return self._object(value)

    def _object(self, value: Any) -> int:
        if isinstance(value, Mapping):
            number = self.add("Map", keys=[str(key) for key in value])
            self.nodes[number]["data"] = [self.value(each) for each in value.values()]
            return number
        if isinstance(value, ast.AnyDim):
            return self.add("tir.Any", attrs={"dtype": "int32", "span": "0"})
        if isinstance(value, ast.TypeVar):
            return self._variable(value)
        if isinstance(value, ast.Constant):
            return self._constant(value)
        raise NotImplementedError(f"{value!r} cannot be written to text of Relay")

    def _string(self, value: str) -> int:
        if value.isascii() and value.isprintable():
            return self.add("runtime.String", **({"repr_str": value} if value else {}))
        data = value.encode()
        encoded = base64.b64encode(struct.pack("<Q", len(data)) + data).decode()
        return self.add("runtime.String", repr_b64=encoded)

    def _number(self, value: Any) -> int:
        if isinstance(value, bool | np.bool_):
            return self._immediate("IntImm", "bool", str(int(value)))
        if isinstance(value, int | np.integer):
            dtype = "int32" if -(2**31) <= int(value) < 2**31 else "int64"
            return self._immediate("IntImm", dtype, str(int(value)))
        return self._immediate("FloatImm", "float64", repr(float(value)))

    def _immediate(self, type_key: str, dtype: str, value: str) -> int:
        return self.add(type_key, attrs={"dtype": dtype, "span": "0", "value": value})

    def _variable(self, var: ast.TypeVar) -> int:
        if id(var) not in self._vars:
            fields = {"dtype": "int32", "span": "0", "type_annotation": "0"}
            number = self.add("tir.Var", attrs=fields)
            fields["name"] = str(self._string(var.name))
            self._vars[id(var)] = number
        return self._vars[id(var)]

    def _constant(self, constant: ast.Constant) -> int:
        if id(constant.data) not in self._arrays:
            self._arrays[id(constant.data)] = len(self.tensors)
            self.tensors.append(encode_tensor(constant.data))
        fields = dict.fromkeys(("_checked_type_", "span", "virtual_device_"), "0")
        data = str(self._arrays[id(constant.data)])
        return self.add("relay.Constant", attrs={**fields, "data": data})
