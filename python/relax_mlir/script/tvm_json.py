# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The constants of a program as TVM writes and reads them: a graph of objects in JSON.

``script(show_meta=True)`` of TVM writes before a program what it has no words for. The nodes of the
graph refer to each other by number. A tensor is base64 of a header, its shape and its elements.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.small_types import is_int4_name, unpacked

from ..core.constants import elements_attr
from ..core.dtypes import dtype_name, element_type, is_numpy

_MAGIC = 0xDD5E40F096B4A13F
# Magic, a reserved word, the device, the rank, the code, bits and lanes of the data type.
_HEADER = struct.Struct("<QQiiiBBH")
_BOOL, _BFLOAT, _CPU = 6, 4, 1
_KINDS = {0: "int", 1: "uint", 2: "float", _BFLOAT: "bfloat", _BOOL: "bool"}
_FLOAT8 = {
    7: "e3m4", 8: "e4m3", 9: "e4m3b11fnuz", 10: "e4m3fn", 11: "e4m3fnuz", 12: "e5m2",
    13: "e5m2fnuz", 14: "e8m0fnu",
}  # fmt: skip


# The key of the constants among the objects before a program.
CONSTANT = "relax.expr.Constant"


class Unread:
    """An object of TVM that has no counterpart here.

    Parameters
    ----------
    type_key : str
        Its type in TVM.
    """

    def __init__(self, type_key: str) -> None:
        self.type_key = type_key

    def __repr__(self) -> str:
        return f"an object of TVM of type {self.type_key}"


def load_json(text: str) -> dict[str, list[Any]]:
    """Return the objects that TVM has written before a program, lists by kind.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    dict of str to list
        A constant is an attribute of its elements; any other object is an `Unread`.

    Raises
    ------
    ValueError
        If the text is damaged, or none that TVM 0.25 writes.
    """
    try:
        graph = json.loads(text)
        nodes, root = graph["nodes"], graph["root_index"]
        kinds = _fields(nodes, root, "ffi.Map")
        return {
            _field(nodes, kinds[i], "ffi.String"): [
                _object(nodes, each) for each in _fields(nodes, kinds[i + 1], "ffi.Array")
            ]
            for i in range(0, len(kinds), 2)
        }
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"expected metadata as JSON of TVM: {error}") from None
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"expected metadata as TVM 0.25 writes it, but got {what}") from None


def _field(nodes: Any, index: Any, wanted: str) -> Any:
    node = nodes[index]
    if node["type"] != wanted:
        raise ValueError(f"expected metadata with a node {wanted}, but got {node['type']}")
    return node["data"]


def _fields(nodes: Any, index: Any, wanted: str) -> list[Any]:
    return list(_field(nodes, index, wanted))


def _object(nodes: Any, index: Any) -> Any:
    node = nodes[index]
    if node["type"] != CONSTANT:
        return Unread(node["type"])
    return tensor_attr(_field(nodes, node["data"]["data"], "ffi.Tensor"))


def tensor_attr(text: str) -> ir.Attribute:
    """Return a tensor that TVM has written as base64.

    Raises
    ------
    ValueError
        If it is cut off or damaged, or has a data type that the dialect has not.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"expected a tensor as base64, but got {error}") from None
    if len(data) < _HEADER.size:
        raise ValueError(f"expected a tensor with a header, but got {len(data)} bytes")
    magic, _, _, _, ndim, code, bits, lanes = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError(f"expected a tensor that begins with {_MAGIC:#x}, but got {magic:#x}")
    start = _HEADER.size + 8 * (ndim + 1)
    if ndim < 0 or len(data) < start:
        raise ValueError(f"expected a tensor of rank {ndim}, but got {len(data)} bytes")
    *shape, size = struct.unpack_from(f"<{ndim + 1}q", data, _HEADER.size)
    name = _data_type(code, bits, lanes)
    item = 1 if name == "bool" else -(-bits // 8)
    wanted = -(-math.prod(shape) // 2) if is_int4_name(name) else item * math.prod(shape)
    if any(dim < 0 for dim in shape) or not len(data) - start == size == wanted:
        raise ValueError(
            f"expected {wanted} bytes of elements of shape {tuple(shape)} and data type {name}, "
            f"but got {len(data) - start}"
        )
    return _attr(data[start:], shape, name, item)


def _data_type(code: int, bits: int, lanes: int) -> str:
    name = f"{_KINDS.get(code, f'type {code} of ')}{bits}"
    if code in _FLOAT8 and bits == 8:
        name = f"float8_{_FLOAT8[code]}"
    if code == _BOOL or (code, bits) == (1, 1):
        name = "bool"
    return dtype_name(name if lanes == 1 else f"{name}x{lanes}")


def _attr(data: bytes, shape: list[int], name: str, item: int) -> ir.Attribute:
    if is_numpy(name):
        return elements_attr(np.frombuffer(data, name).reshape(shape), name)
    if is_int4_name(name):
        return elements_attr(unpacked(np.frombuffer(data, np.uint8), shape, name), name)
    # Numbers that NumPy does not have go as they are.
    bits = np.frombuffer(data, f"uint{8 * item}").reshape(shape)
    element = element_type(name)
    with ir.Location.unknown(element.context):
        return ir.DenseElementsAttr.get(bits, type=element, shape=shape)


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


def to_json(attrs: Sequence[ir.Attribute]) -> str | None:
    """Return constants as TVM reads them; None where some would not be the same again.

    Examples
    --------
    >>> from relax_mlir.script.generic import mlir_attr
    >>> attr = mlir_attr("dense<1.0> : tensor<2x3xf32>")
    >>> load_json(to_json([attr]))[CONSTANT][0] == attr
    True
    """
    graph = _Graph()
    key = graph.add("ffi.String", CONSTANT)
    constants = []
    for attr in attrs:
        elements = tensor_text(attr)
        if elements is None or tensor_attr(elements) != attr:
            return None
        constants.append(graph.constant(attr.type, elements))
    root = graph.add("ffi.Map", [key, graph.add("ffi.Array", constants)])
    version = {"tvm_version": "0.25.0"}
    whole = {"root_index": root, "nodes": graph.nodes, "metadata": version}
    return json.dumps(whole, indent=2)


class _Graph:
    """Objects of TVM, each with its number."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.none = self.add("None")

    def add(self, type_key: str, data: Any = None) -> int:
        """Return the number of a new object."""
        self.nodes.append({"type": type_key} if data is None else {"type": type_key, "data": data})
        return len(self.nodes) - 1

    def constant(self, type_: Any, elements: str) -> int:
        """Return a constant, with its StructInfo."""
        span = {"span": self.none}
        dims = [
            self.add("ir.IntImm", {**span, "dtype": "int64", "value": dim}) for dim in type_.shape
        ]
        values = {"values": self.add("ffi.Array", dims)}
        rank = {"ndim": len(dims)}
        info = self.add("relax.ShapeStructInfo", {**span, **values, **rank})
        shape = self.add("relax.expr.ShapeExpr", {**span, "struct_info_": info, **values})
        dtype = {"dtype": dtype_name(type_.element_type), "vdevice": self.none}
        tensor = self.add("relax.TensorStructInfo", {**span, "shape": shape, **dtype, **rank})
        data = self.add("ffi.Tensor", elements)
        return self.add(CONSTANT, {**span, "struct_info_": tensor, "data": data})


def tensor_text(attr: ir.Attribute) -> str | None:
    """Return the elements of a constant as TVM writes them; None for what NumPy does not have."""
    type_: Any = getattr(attr, "type", None)
    if not isinstance(attr, ir.DenseElementsAttr) or not isinstance(type_, ir.RankedTensorType):
        return None
    name = dtype_name(type_.element_type)
    if type_.encoding is not None or not is_numpy(name):
        return None
    kind = name.rstrip("0123456789")
    code = next(code for code, known in _KINDS.items() if known == kind)
    data = np.ascontiguousarray(np.array(attr)).astype(name, copy=False).tobytes()
    bits = 8 * np.dtype(name).itemsize
    head = _HEADER.pack(_MAGIC, 0, _CPU, 0, len(type_.shape), code, bits, 1)
    sizes = struct.pack(f"<{len(type_.shape) + 1}q", *type_.shape, len(data))
    return base64.b64encode(head + sizes + data).decode()
