# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as they are read: their form, their versions, and their arrays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper

from .narrow import NARROW, held, numpy_dtype, unpacked
from .weights import read_in_place

# The first version of the operators that this importer reads: before it, operators broadcast by
# attributes of their own.
OLDEST_OPSET = 7

ModelLike: TypeAlias = onnx.ModelProto | str | os.PathLike[str] | bytes

# Data types that models may have, by their names in NumPy.
_DTYPES = frozenset(
    ["bool", "bfloat16", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + [f"float8_{name}" for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")]
)


def load(model: ModelLike, *, in_place: bool = False) -> tuple[onnx.ModelProto, Path | None]:
    """Return a model, and the folder of its files.

    Parameters
    ----------
    model : onnx.ModelProto, path or bytes
        A model, or one that is serialized.
    in_place : bool
        Whether large weights of a file stay in it: the model refers to them as external data.

    Returns
    -------
    onnx.ModelProto
    Path or None
        The folder that external data is in; None where the model is not in a file.

    Raises
    ------
    ValueError
        If it is no model of ONNX.
    FileNotFoundError
        If there is no such file.
    """
    if isinstance(model, onnx.ModelProto):
        return model, None
    folder = None
    if isinstance(model, bytes):
        content, source = model, f"{len(model)} bytes"
    else:
        path = Path(model)
        source, folder = f"'{path}'", path.resolve().parent
        content = read_in_place(path.resolve()) if in_place else path.read_bytes()
    try:
        loaded = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise ValueError(
            f"expected a serialized model of ONNX, but got {source}: {error}"
        ) from None
    if not loaded.ir_version or not loaded.HasField("graph"):
        raise ValueError(f"expected a model with ir_version and a graph, but got {source}")
    return loaded, folder


def opsets_of(model: onnx.ModelProto, opset: int | None = None) -> dict[str, int]:
    """Return the versions of the operators by domain, with "" for that of ONNX.

    Parameters
    ----------
    model : onnx.ModelProto
    opset : int, optional
        In place of what the model says for ONNX's own operators.

    Raises
    ------
    ValueError
        If the model says no version, or one that the installed onnx does not know.
    NotImplementedError
        If the version is older than 7, and an operator has changed until then.
    """
    if model.ir_version > onnx.IR_VERSION:
        raise ValueError(
            f"expected a model of ir_version up to {onnx.IR_VERSION}, but got {model.ir_version}: "
            "install a newer onnx"
        )
    opsets = domains(model.opset_import)
    if opset is not None:
        opsets[""] = opset
    newest = onnx.defs.onnx_opset_version()
    if opsets.get("", OLDEST_OPSET) < OLDEST_OPSET and _has_changed(model.graph, opsets[""]):
        raise NotImplementedError(
            f"expected operators of opset {OLDEST_OPSET} or newer, but got {opsets['']}: convert "
            "the model with onnx.version_converter"
        )
    if opsets.get("", 0) > newest:
        raise ValueError(
            f"expected operators of opset {newest} or older, but got {opsets['']}: install a newer "
            "onnx"
        )
    return opsets


def _has_changed(graph: onnx.GraphProto, version: int) -> bool:
    """Say whether a graph has an operator that is another one since a version."""
    for node in graph.node:
        inner = [graph for one in node.attribute for graph in (one.g, *one.graphs)]
        if any(_has_changed(one, version) for one in inner):
            return True
        name, domain = node.op_type, normal_domain(node.domain)
        is_known = not domain and onnx.defs.has(name, OLDEST_OPSET)
        if is_known and onnx.defs.get_schema(name, OLDEST_OPSET).since_version > version:
            return True
    return False


def domains(imports: Any) -> dict[str, int]:
    """Return versions by domain."""
    return {normal_domain(one.domain): one.version for one in imports}


def normal_domain(domain: str) -> str:
    """Return the name of a domain; "ai.onnx" is another name of ""."""
    return "" if domain == "ai.onnx" else domain


def dtype_of(element_type: int) -> str:
    """Return the name of a data type of ONNX, of one that holds it where it is narrow.

    Raises
    ------
    NotImplementedError
        If it is another one than models may have here.
    """
    if element_type in NARROW:
        return NARROW[element_type].holder
    known = element_type in helper.get_all_tensor_dtypes()
    name = np.dtype(helper.tensor_dtype_to_np_dtype(element_type)).name if known else ""
    if name not in _DTYPES or element_type == onnx.TensorProto.STRING:
        spelled = onnx.TensorProto.DataType.Name(element_type) if known else str(element_type)
        raise NotImplementedError(
            "expected a data type that models may have here (bool, integers of 2 to 64 bits, "
            f"floats of 4 to 64 bits), but got {spelled}"
        )
    return name


def size_of(dim: onnx.TensorShapeProto.Dimension) -> int | None:
    """Return the size of a dimension that a model states; None where it is not known.

    Exporters write -1 for that, too, which onnxruntime takes.
    """
    is_known = dim.HasField("dim_value") and dim.dim_value >= 0
    return int(dim.dim_value) if is_known else None


def element_type_of(dtype: str) -> int:
    """Return a data type of ONNX by its name in NumPy.

    Examples
    --------
    >>> element_type_of("float32")
    1
    """
    return int(helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype)))


def array_of(tensor: onnx.TensorProto, folder: Path | None) -> np.ndarray:
    """Return the elements of a tensor of a model, in an array of the type that `dtype_of` says.

    Parameters
    ----------
    tensor : onnx.TensorProto
    folder : Path, optional
        Where external data is.

    Raises
    ------
    NotImplementedError
        If kernels do not compute with the data type.
    ValueError
        If there are other than the elements of the shape, or external data is outside of the
        folder.
    FileNotFoundError
        If external data is missing.
    """
    narrow, dtype = NARROW.get(tensor.data_type), dtype_of(tensor.data_type)
    if any(size < 0 for size in tensor.dims):
        raise ValueError(
            f"expected dimensions of 0 or more of tensor '{tensor.name}', but got "
            f"{list(tensor.dims)}"
        )
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return held(_elements_of(tensor, dtype))
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _external_path(tensor.name, entries.get("location", ""), folder)
    element = np.dtype("uint8" if narrow else helper.tensor_dtype_to_np_dtype(tensor.data_type))
    shape = tuple(tensor.dims)
    offset = int(entries.get("offset", 0))
    count = int(np.prod(shape, dtype=np.int64))
    size = -(-count * narrow.bits // 8) if narrow else count * element.itemsize
    present = path.stat().st_size - offset
    if int(entries.get("length", size)) != size or offset < 0 or present < size:
        raise ValueError(
            f"expected {size} bytes of tensor '{tensor.name}', {dtype}{list(shape)}, at {offset} "
            f"of '{path.name}', but got {max(0, min(present, int(entries.get('length', present))))}"
        )
    if narrow:
        packed = np.memmap(path, element, "r", offset, (size,)) if size else np.empty(0, element)
        return unpacked(packed, narrow, shape)
    return np.memmap(path, element, "r", offset, shape) if size else np.empty(shape, element)


def _elements_of(tensor: onnx.TensorProto, dtype: str) -> np.ndarray:
    try:
        return numpy_helper.to_array(tensor)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"expected the elements of tensor '{tensor.name}', {dtype}{list(tensor.dims)}, but got "
            f"others: {error}"
        ) from error


def _external_path(name: str, location: str, folder: Path | None) -> Path:
    if folder is None:
        raise ValueError(
            f"expected the path of the model, as tensor '{name}' is in the file '{location}' "
            "beside it; or load it with onnx.load(path)"
        )
    path = (folder / location).resolve()
    if not location or not path.is_relative_to(folder):
        raise ValueError(
            f"expected external data of tensor '{name}' in the folder of the model, but got "
            f"'{location}'"
        )
    if not path.is_file():
        raise FileNotFoundError(f"expected external data of tensor '{name}' in '{location}'")
    return path


def read_params(model: ModelLike) -> dict[str, np.ndarray]:
    """Return the weights of a model by name, in the order of its initializers.

    Parameters
    ----------
    model : onnx.ModelProto, path or bytes

    Returns
    -------
    dict of str to numpy.ndarray
        What `from_onnx` takes as arguments after the inputs with ``keep_params_in_input``.
    """
    proto, folder = load(model)
    return {tensor.name: array_of(tensor, folder) for tensor in proto.graph.initializer}
