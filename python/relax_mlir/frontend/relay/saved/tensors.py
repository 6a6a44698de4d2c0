# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors as TVM writes them to files: a header, the shape and the elements."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

_TENSOR_MAGIC = 0xDD5E40F096B4A13F
_PARAMS_MAGIC = 0xF7E58D4F05049CB7
# Magic, a reserved word, the device, the rank, the code, bits and lanes of the data type.
_HEADER = struct.Struct("<QQiiiBBH")
_WORD, _CPU = struct.Struct("<Q"), 1
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_CODES = {name: code for code, name in _KINDS.items()}
_WIDTHS = {"int": (8, 16, 32, 64), "uint": (1, 8, 16, 32, 64), "float": (16, 32, 64)}
# A rank above this is damage: NumPy has no such arrays.
_MAX_RANK = 32


class Reader:
    """Reads the records of a file one after another.

    Parameters
    ----------
    data : bytes
    what : str
        What the file is, for errors.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self.data, self.what, self.position = data, what, 0

    def take(self, size: int, part: str) -> bytes:
        """Return the next bytes.

        Raises
        ------
        ValueError
            If the file ends before.
        """
        rest = len(self.data) - self.position
        if size > rest:
            raise ValueError(f"expected {size} bytes of {part} in {self.what}, but got {rest}")
        self.position += size
        return self.data[self.position - size : self.position]

    def word(self, part: str) -> int:
        """Return the next integer of 64 bits."""
        return int(_WORD.unpack(self.take(_WORD.size, part))[0])

    def finish(self) -> None:
        """Raise an error unless the file ends here."""
        rest = len(self.data) - self.position
        if rest:
            raise ValueError(f"expected the end of {self.what}, but got {rest} bytes more")

    def tensor(self) -> np.ndarray[Any, Any]:
        """Return the next tensor."""
        header = _HEADER.unpack(self.take(_HEADER.size, "the header of a tensor"))
        magic, _, _, _, rank, code, bits, lanes = header
        if magic != _TENSOR_MAGIC:
            raise ValueError(
                f"expected a tensor that begins with {_TENSOR_MAGIC:#x} in {self.what}, but got "
                f"{magic:#x}"
            )
        if not 0 <= rank <= _MAX_RANK:
            raise ValueError(f"expected a tensor of rank 0 to {_MAX_RANK}, but got {rank}")
        dtype = _dtype(code, bits, lanes)
        words = struct.unpack(f"<{rank + 1}q", self.take(8 * (rank + 1), "a shape"))
        shape, size = words[:rank], words[rank]
        wanted = dtype.itemsize * math.prod(shape)
        if any(dim < 0 for dim in shape) or size != wanted:
            raise ValueError(
                f"expected {wanted} bytes of elements of shape {shape} and data type {dtype}, but "
                f"got {size}"
            )
        elements = np.frombuffer(self.take(size, "elements"), dtype)
        return elements.reshape(shape).copy()


def _dtype(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    kind = _KINDS.get(code)
    if lanes != 1 or kind is None or bits not in _WIDTHS.get(kind, (16,)):
        name = f"{kind or f'code {code}, bits '}{bits}" + (f"x{lanes}" if lanes != 1 else "")
        raise NotImplementedError(
            f"tensors of TVM's data type {name} are not supported; expected bool, int8 to int64, "
            "uint8 to uint64, float16 to float64 or bfloat16"
        )
    if kind == "bfloat":
        return bfloat16()
    return np.dtype("bool" if (kind, bits) == ("uint", 1) else f"{kind}{bits}")


def bfloat16() -> np.dtype[Any]:
    """Return the data type bfloat16 of NumPy.

    Raises
    ------
    ImportError
        If ml_dtypes is missing, which it is part of.
    """
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError("tensors of bfloat16 need ml_dtypes; pip install ml_dtypes") from None
    return np.dtype(ml_dtypes.bfloat16)


def tensor_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """Return a tensor as TVM writes it.

    Raises
    ------
    NotImplementedError
        If TVM has no such data type.
    """
    name = array.dtype.name
    kind = "uint" if name == "bool" else name.rstrip("0123456789")
    if kind not in _CODES:
        raise NotImplementedError(f"tensors of data type {name} have no counterpart in TVM")
    bits = 1 if name == "bool" else 8 * array.dtype.itemsize
    head = _HEADER.pack(_TENSOR_MAGIC, 0, _CPU, 0, array.ndim, _CODES[kind], bits, 1)
    sizes = struct.pack(f"<{array.ndim + 1}q", *array.shape, array.nbytes)
    return head + sizes + np.ascontiguousarray(array).tobytes()


def decode_tensor(text: str) -> np.ndarray[Any, Any]:
    """Return a tensor that TVM has written as base64.

    Raises
    ------
    ValueError
        If it is cut off or damaged.
    NotImplementedError
        If NumPy has no such data type.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"expected a tensor as base64, but got {error}") from None
    reader = Reader(data, "a tensor as base64")
    tensor = reader.tensor()
    reader.finish()
    return tensor


def encode_tensor(array: np.ndarray[Any, Any]) -> str:
    """Return a tensor as base64, as TVM writes it.

    Examples
    --------
    >>> decode_tensor(encode_tensor(np.array([1.5, -2.0], "float16")))
    array([ 1.5, -2. ], dtype=float16)
    """
    return base64.b64encode(tensor_bytes(array)).decode()


def load_params(data: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the parameters of a file that TVM has written.

    Parameters
    ----------
    data : bytes
        What ``relay.save_param_dict`` or ``tvm.runtime.save_param_dict`` returns.

    Returns
    -------
    dict of str to numpy.ndarray
        ``bfloat16`` is that of ml_dtypes.

    Raises
    ------
    ValueError
        If the file is cut off, damaged or another one.
    NotImplementedError
        If NumPy has not the data type of a parameter.

    Examples
    --------
    >>> load_params(save_params({"weight": np.array([1.5, 2.0], "float32")}))
    {'weight': array([1.5, 2. ], dtype=float32)}
    """
    reader = Reader(bytes(data), "a file of parameters")
    magic = reader.word("the magic number")
    if magic != _PARAMS_MAGIC:
        raise ValueError(
            f"expected a file of parameters that begins with {_PARAMS_MAGIC:#x}, but got "
            f"{magic:#x}; relay.save_param_dict writes such files"
        )
    reader.word("a reserved word")
    names = [_name(reader) for _ in range(_count(reader, "names"))]
    count = _count(reader, "tensors")
    if count != len(names):
        raise ValueError(f"expected {len(names)} tensors, one for each name, but got {count}")
    params = {name: reader.tensor() for name in names}
    if len(params) != len(names):
        raise ValueError("expected parameters of different names, but some are the same")
    reader.finish()
    return params


def _count(reader: Reader, part: str) -> int:
    count = reader.word(f"the number of {part}")
    # Each takes a word at least.
    if count * _WORD.size > len(reader.data):
        raise ValueError(
            f"expected fewer {part} than {reader.what} of {len(reader.data)} bytes can hold, but "
            f"got {count}"
        )
    return count


def _name(reader: Reader) -> str:
    name = reader.take(reader.word("the length of a name"), "a name")
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ValueError(f"expected a name in UTF-8, but got {name!r}") from None


def save_params(params: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Return parameters as a file that TVM and `load_params` read.

    Parameters
    ----------
    params : mapping of str to numpy.ndarray

    Raises
    ------
    NotImplementedError
        If TVM has not the data type of a parameter.
    """
    words = [_PARAMS_MAGIC, 0, len(params)]
    head = b"".join(map(_WORD.pack, words))
    names = [name.encode() for name in params]
    listed = b"".join(_WORD.pack(len(name)) + name for name in names)
    tensors = b"".join(tensor_bytes(np.asarray(array)) for array in params.values())
    return head + listed + _WORD.pack(len(params)) + tensors
