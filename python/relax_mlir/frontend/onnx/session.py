# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that run, by the interface of onnxruntime."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from ...driver.compiler import compile as compile_module
from ...runtime.virtual_machine import VirtualMachine
from .importer import import_model
from .model import ModelLike, dtype_of, load

# How onnxruntime spells data types that NumPy spells in another way.
_SPELLED = {"float32": "float", "float64": "double"}


@dataclasses.dataclass(frozen=True)
class NodeArg:
    """An input or output of a model.

    Parameters
    ----------
    name : str
    shape : list of int, str or None
        A number, the name of a dimension, or None where it has none.
    type : str
        For instance tensor(float).
    """

    name: str
    shape: list[Any]
    type: str


def _node_arg(info: onnx.ValueInfoProto) -> NodeArg:
    tensor = info.type.tensor_type
    dims = [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
        for dim in tensor.shape.dim
    ]
    return NodeArg(info.name, dims, _spelled(info.type))


def _spelled(kind: onnx.TypeProto) -> str:
    case = kind.WhichOneof("value")
    if case == "tensor_type":
        dtype = dtype_of(kind.tensor_type.elem_type)
        return f"tensor({_SPELLED.get(dtype, dtype)})"
    if case == "sequence_type":
        return f"seq({_spelled(kind.sequence_type.elem_type)})"
    if case == "optional_type":
        return f"optional({_spelled(kind.optional_type.elem_type)})"
    return str(case)


class InferenceSession:
    """A model, compiled for this processor.

    Parameters
    ----------
    model : onnx.ModelProto, path or bytes
    constants : mapping of str to numpy.ndarray, optional
        Inputs whose values are known: shapes may depend on them.
    shape_dict : mapping, optional
        As of `from_onnx`. An optional value that is not there is no input of the session.
    **options
        Those of `relax_mlir.compile`.

    Examples
    --------
    >>> from onnx import parser
    >>> session = InferenceSession(parser.parse_model('''
    ... <ir_version: 8, opset_import: ["" : 17]>
    ... agraph (float[n, 2] x) => (float[n, 2] y) { y = Relu(x) }'''))
    >>> session.get_inputs()
    [NodeArg(name='x', shape=['n', 2], type='tensor(float)')]
    >>> session.run(None, {"x": np.array([[-1, 2]], "float32")})
    [array([[0., 2.]], dtype=float32)]
    """

    def __init__(
        self,
        model: ModelLike,
        constants: Mapping[str, np.ndarray] | None = None,
        shape_dict: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        proto, folder = load(model)
        shapes = shape_dict or {}
        known = {tensor.name for tensor in proto.graph.initializer} | set(constants or {})
        known |= {name for name, shape in shapes.items() if shape is None}
        self._inputs = [one for one in proto.graph.input if one.name not in known]
        self._outputs = list(proto.graph.output)
        module = import_model(proto, folder, constants=constants, shapes=shapes)
        self._main = VirtualMachine(compile_module(module, **options))["main"]

    def get_inputs(self) -> list[NodeArg]:
        """Return the inputs: names, shapes and types."""
        return [_node_arg(one) for one in self._inputs]

    def get_outputs(self) -> list[NodeArg]:
        """Return the outputs: names, shapes and types."""
        return [_node_arg(one) for one in self._outputs]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Return outputs for given inputs.

        Parameters
        ----------
        output_names : sequence of str, optional
            All outputs by default.
        input_feed : mapping of str to array
            An array for each input, of the data type that the model states.

        Returns
        -------
        list of numpy.ndarray

        Raises
        ------
        ValueError
            If inputs are missing or unknown, of another data type, or there is no such output.
        """
        names = [one.name for one in self._outputs]
        wanted = list(output_names or names)
        if unknown := [name for name in wanted if name not in names]:
            raise ValueError(f"expected outputs of {names}, but got {unknown}")
        given = [one.name for one in self._inputs]
        if set(given) != set(input_feed):
            raise ValueError(f"expected inputs {given}, but got {list(input_feed)}")
        result = self._main(*(_argument(one, input_feed[one.name]) for one in self._inputs))
        results = [result] if len(names) == 1 else list(result)
        arrays = dict(zip(names, map(_as_array, results), strict=True))
        return [arrays[name] for name in wanted]


def _argument(info: onnx.ValueInfoProto, value: Any) -> Any:
    kind = info.type
    if kind.WhichOneof("value") == "optional_type":
        kind = kind.optional_type.elem_type
    if kind.WhichOneof("value") != "sequence_type":
        return _tensor(info.name, kind.tensor_type, value)
    element = kind.sequence_type.elem_type.tensor_type
    return tuple(_tensor(info.name, element, one) for one in value)


def _tensor(name: str, tensor: onnx.TypeProto.Tensor, value: Any) -> Any:
    array = np.asarray(value)
    wanted = dtype_of(tensor.elem_type) if tensor.elem_type else array.dtype.name
    if array.dtype.name != wanted:
        raise ValueError(f"expected input '{name}' of {wanted}, but got {array.dtype.name}")
    if wanted == "bfloat16":
        return _torch().from_numpy(array.view("int16").copy()).view(_torch().bfloat16)
    # Shared memory has to be writable, as DLPack before version 1 says nothing of it.
    return np.require(array, requirements=["C", "W"])


def _as_array(value: Any) -> Any:
    if not hasattr(value, "__dlpack__"):
        return [_as_array(one) for one in value]
    # With tensors of PyTorch as arguments, those are the results.
    if str(value.dtype).endswith("bfloat16"):
        bits = _torch().from_dlpack(value).view(_torch().int16).numpy()
        return bits.view(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16))
    return np.from_dlpack(value)


def _torch() -> Any:
    """Return PyTorch, which shares tensors of bfloat16, as NumPy does not."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "expected the package torch to be installed, for tensors of bfloat16"
        ) from error
    return torch
