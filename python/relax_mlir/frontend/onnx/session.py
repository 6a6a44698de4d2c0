# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that run, by the interface of onnxruntime."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from relax_runtime import VirtualMachine, get_num_threads, set_num_threads
from relax_runtime.near_misses import did_you_mean

from ...driver.compiler import compile as compile_module
from .binding import IOBinding, OrtValue, RunOptions, SessionOptions
from .importer import import_model
from .model import ModelLike, dtype_of, load, size_of
from .narrow import NARROW, held, numpy_dtype
from .random import new_key

_PROVIDER = "CPUExecutionProvider"

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
    sizes = [(dim, size_of(dim)) for dim in tensor.shape.dim]
    dims = [dim.dim_param or None if size is None else size for dim, size in sizes]
    return NodeArg(info.name, dims, _spelled(info.type))


def _spelled(kind: onnx.TypeProto) -> str:
    case = kind.WhichOneof("value")
    if case == "tensor_type":
        narrow = NARROW.get(kind.tensor_type.elem_type)
        dtype = dtype_of(kind.tensor_type.elem_type) if narrow is None else narrow.dtype
        return f"tensor({_SPELLED.get(dtype, dtype.replace('_', ''))})"
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
    sess_options : SessionOptions, optional
        The number of threads. It is that of the process: the session sets it at each call.
    providers : sequence of str or tuple, optional
        Has to name ``CPUExecutionProvider``, where it is given; the only one there is.
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
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        *,
        constants: Mapping[str, np.ndarray] | None = None,
        shape_dict: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(
                f"expected sess_options to be a relax_mlir.frontend.onnx.SessionOptions, but got "
                f"{type(sess_options).__name__}"
            )
        _check_providers(providers)
        self._options = sess_options or SessionOptions()
        proto, folder = load(model)
        shapes = shape_dict or {}
        known = {tensor.name for tensor in proto.graph.initializer} | set(constants or {})
        known |= {name for name, shape in shapes.items() if shape is None}
        inputs = [one for one in proto.graph.input if one.name not in known]
        self._inputs = [_with_shape(one, shapes.get(one.name)) for one in inputs]
        self._outputs = list(proto.graph.output)
        module = import_model(proto, folder, constants=constants, shapes=shapes)
        self._has_key = len(module["main"].params) > len(self._inputs)
        self._main = VirtualMachine(compile_module(module, **options))["main"]

    def get_inputs(self) -> list[NodeArg]:
        """Return the inputs: names, shapes and types."""
        return [_node_arg(one) for one in self._inputs]

    def get_outputs(self) -> list[NodeArg]:
        """Return the outputs: names, shapes and types."""
        return [_node_arg(one) for one in self._outputs]

    def get_providers(self) -> list[str]:
        """Return what executes the model: ``["CPUExecutionProvider"]``."""
        return [_PROVIDER]

    def get_session_options(self) -> SessionOptions:
        """Return the options of the session."""
        return self._options

    def io_binding(self) -> IOBinding:
        """Return arguments and outputs that are bound to arrays, for `run_with_iobinding`."""
        return IOBinding(self.get_inputs(), self.get_outputs())

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Return outputs for given inputs.

        Parameters
        ----------
        output_names : sequence of str, optional
            All outputs by default.
        input_feed : mapping of str to array
            An array for each input, of the data type that the model states. Nothing is copied where
            it is contiguous.
        run_options : RunOptions, optional
            Has no effect.

        Returns
        -------
        list of numpy.ndarray

        Raises
        ------
        ValueError
            If inputs are missing or unknown, of another data type or shape, or there is no such
            output.
        TypeError
            If an input is no array.
        """
        found = self._run(output_names, input_feed)
        return list(found.values())

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Return outputs as `OrtValue` for inputs that are.

        Parameters
        ----------
        output_names : sequence of str, optional
            All outputs by default.
        input_dict_ort_values : mapping of str to OrtValue
        run_options : RunOptions, optional
            Has no effect.

        Raises
        ------
        TypeError
            If an input is no OrtValue.
        ValueError
            As of `run`.
        """
        for name, value in input_dict_ort_values.items():
            if not isinstance(value, OrtValue):
                raise TypeError(
                    f"expected input '{name}' to be an OrtValue, but got {type(value).__name__}: "
                    "OrtValue.ortvalue_from_numpy makes one, or use run"
                )
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(value) for value in self._run(output_names, feed).values()]

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Run with the inputs of a binding; its outputs are those of the call then.

        Outputs that are bound to arrays of one's own are copied there.

        Parameters
        ----------
        iobinding : IOBinding
            From `io_binding`.
        run_options : RunOptions, optional
            Has no effect.

        Raises
        ------
        ValueError
            As of `run`; or if an output does not fit the array that it is bound to.
        """
        names = iobinding.output_names or None
        outputs = self._run(names, iobinding.feed)
        iobinding.take(outputs)

    def _run(self, output_names: Sequence[str] | None, feed: Mapping[str, Any]) -> dict[str, Any]:
        names = [one.name for one in self._outputs]
        wanted = list(output_names or names)
        if unknown := [name for name in wanted if name not in names]:
            hint = did_you_mean(unknown[0], names)
            raise ValueError(f"expected outputs of {names}, but got {unknown}{hint}")
        given = [one.name for one in self._inputs]
        if set(given) != set(feed):
            raise ValueError(f"expected inputs {given}, but got {list(feed)}")
        arguments = [_argument(one, feed[one.name]) for one in self._inputs]
        threads = self._options.intra_op_num_threads
        if threads and threads != get_num_threads():
            set_num_threads(threads)
        if self._has_key:
            arguments.append(new_key())
        result = self._main(*arguments)
        results = [result] if len(names) == 1 else list(result)
        found = dict(zip(names, results, strict=True))
        types = {one.name: one.type for one in self._outputs}
        return {name: _as_array(found[name], types[name]) for name in wanted}


def _with_shape(info: onnx.ValueInfoProto, shape: Any) -> onnx.ValueInfoProto:
    """Return an input with another shape than the model states, where there is one."""
    if shape is None or info.type.WhichOneof("value") != "tensor_type":
        return info
    dims = [dim if isinstance(dim, int) else str(dim) for dim in shape]
    elements = info.type.tensor_type.elem_type
    return onnx.helper.make_tensor_value_info(info.name, elements, dims)


def _check_providers(providers: Sequence[Any] | None) -> None:
    if isinstance(providers, str):
        raise TypeError(f"expected a list of providers, but got {providers!r}")
    names = [one[0] if isinstance(one, (tuple, list)) else one for one in providers or [_PROVIDER]]
    if _PROVIDER not in names:
        raise ValueError(f"expected providers with {_PROVIDER}, the only one, but got {names}")


def _argument(info: onnx.ValueInfoProto, value: Any) -> Any:
    kind = info.type
    if kind.WhichOneof("value") == "optional_type":
        kind = kind.optional_type.elem_type
    if kind.WhichOneof("value") != "sequence_type":
        return _tensor(info.name, kind.tensor_type, value)
    element = kind.sequence_type.elem_type.tensor_type
    return tuple(_tensor(info.name, element, one) for one in value)


def _tensor(name: str, tensor: onnx.TypeProto.Tensor, value: Any) -> Any:
    array = held(np.asarray(value))
    if array.dtype.kind == "O":
        raise TypeError(f"expected input '{name}' to be an array, but got {type(value).__name__}")
    wanted = dtype_of(tensor.elem_type) if tensor.elem_type else array.dtype.name
    if array.dtype.name != wanted:
        raise ValueError(f"expected input '{name}' of {wanted}, but got {array.dtype.name}")
    _check_shape(name, tensor, array.shape)
    # Shared memory has to be writable, as DLPack before version 1 says nothing of it.
    return np.require(array, requirements=["C", "W"])


def _check_shape(name: str, tensor: onnx.TypeProto.Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError where a shape is none of the input; names of dimensions take any size."""
    if not tensor.HasField("shape"):
        return
    dims = [size_of(one) for one in tensor.shape.dim]
    fits = len(dims) == len(shape) and all(
        dim in (None, size) for dim, size in zip(dims, shape, strict=True)
    )
    if not fits:
        names = [one.dim_param or "?" for one in tensor.shape.dim]
        stated = [name if dim is None else dim for name, dim in zip(names, dims, strict=True)]
        raise ValueError(f"expected input '{name}' of shape {stated}, but got {list(shape)}")


def _as_array(value: Any, kind: onnx.TypeProto) -> Any:
    """Return a result as an array of the data type that the model states."""
    if not hasattr(value, "__dlpack__"):
        return [_as_array(one, kind.sequence_type.elem_type) for one in value]
    array = value.numpy()
    narrow = NARROW.get(kind.tensor_type.elem_type)
    return array if narrow is None else array.astype(numpy_dtype(narrow.dtype))
