# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interface that ONNX tests compilers and runtimes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep as _BackendRep
from onnx.backend.base import Device, DeviceType, namedtupledict

from ..values import DataDependentError
from .session import InferenceSession


class BackendRep(_BackendRep):
    """A model that runs on given inputs.

    Parameters
    ----------
    model : onnx.ModelProto
    **options
        Those of `relax_mlir.compile`.
    """

    def __init__(self, model: onnx.ModelProto, **options: Any) -> None:
        self._model = model
        self._options = options
        self._session: InferenceSession | None = None  # that of all inputs

    def prepare(self, feeds: Mapping[str, Any]) -> InferenceSession:
        """Compile the model; inputs that shapes depend on have the values that are given."""
        if self._session is not None:
            return self._session
        constants: dict[str, np.ndarray] = {}
        shapes = self._shapes(feeds)
        while True:
            try:
                session = InferenceSession(
                    self._model, constants=constants, shape_dict=shapes, **self._options
                )
                self._session = None if constants or shapes else session
                return session
            except DataDependentError as error:
                names = error.inputs & set(feeds) - set(constants)
                if not names:
                    raise
                constants.update({name: np.asarray(feeds[name]) for name in names})

    def _shapes(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Return the shapes of sequences and of optional values."""
        shapes: dict[str, Any] = {}
        for one in self._model.graph.input:
            kind, value = one.type, feeds.get(one.name)
            if kind.WhichOneof("value") == "optional_type":
                shapes[one.name] = None if value is None else np.shape(value)
                kind = kind.optional_type.elem_type
            if kind.WhichOneof("value") == "sequence_type" and value is not None:
                shapes[one.name] = [np.shape(element) for element in value]
        return shapes

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Return the outputs for inputs in the order of the model, or by name."""
        weights = {tensor.name for tensor in self._model.graph.initializer}
        names = [one.name for one in self._model.graph.input if one.name not in weights]
        feeds = dict(inputs if isinstance(inputs, Mapping) else zip(names, inputs, strict=True))
        session = self.prepare(feeds)
        taken = {one.name for one in session.get_inputs()}
        results = session.run(None, {name: x for name, x in feeds.items() if name in taken})
        outputs = [output.name for output in self._model.graph.output]
        return tuple(namedtupledict("Outputs", outputs)(*results))


class Backend(_Backend):
    """Runs models and single nodes on this processor."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> BackendRep:
        """Return a model that runs.

        Parameters
        ----------
        model : onnx.ModelProto
        device : str
        **options
            Those of `relax_mlir.compile`.
        """
        if not cls.supports_device(device):
            raise ValueError(f"expected device CPU, but got {device}")
        return BackendRep(model, **options)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None, **options: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the outputs of one node for given inputs."""
        opset = options.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        given = inputs if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=True))
        arrays = {name: np.asarray(x) for name, x in given.items()}
        model = onnx.helper.make_model(
            onnx.helper.make_graph(
                [node],
                "node",
                [_info(name, x.dtype, x.shape) for name, x in arrays.items()],
                [onnx.ValueInfoProto(name=name) for name in node.output if name],
            ),
            opset_imports=[onnx.helper.make_opsetid(node.domain, opset)],
        )
        del outputs_info
        return cls.prepare(model, device, **options).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Say whether models run on a device."""
        return bool(Device(device).type == DeviceType.CPU)


def _info(name: str, dtype: Any, shape: Sequence[int]) -> onnx.ValueInfoProto:
    element = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    return onnx.helper.make_tensor_value_info(name, element, shape)


prepare = Backend.prepare
run_node = Backend.run_node
run_model = Backend.run_model
supports_device = Backend.supports_device
