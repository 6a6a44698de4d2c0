# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options, values and bindings of sessions, by the interface of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from relax_runtime.near_misses import did_you_mean

Array = np.ndarray[Any, Any]

# Options of onnxruntime that say how it executes a model, and change no result.
_IGNORED = frozenset(
    {
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "enable_profiling",
        "execution_mode",
        "graph_optimization_level",
        "inter_op_num_threads",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "optimized_model_filepath",
        "profile_file_prefix",
        "use_deterministic_compute",
    }
)


class _Options:
    """Attributes that are known, and no other ones."""

    _known: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._known:
            raise AttributeError(
                f"expected an option of {type(self).__name__}, but got '{name}'"
                f"{did_you_mean(name, self._known)}"
            )
        super().__setattr__(name, value)


class SessionOptions(_Options):
    """The options of a session.

    Attributes
    ----------
    intra_op_num_threads : int
        How many threads kernels use; 0 leaves what is set, `relax_mlir.runtime.set_num_threads`.

    Notes
    -----
    Options of onnxruntime about its own way to execute (``graph_optimization_level``,
    ``inter_op_num_threads``, ``execution_mode``, ...) are taken and have no effect; others are an
    error.

    Examples
    --------
    >>> options = SessionOptions()
    >>> options.intra_op_num_threads = 2
    >>> options.intra_op_threads = 2
    Traceback (most recent call last):
    ...
    AttributeError: expected an option of SessionOptions, but got 'intra_op_threads'; did you mean \
'intra_op_num_threads'?
    """

    _known = _IGNORED | {"intra_op_num_threads"}

    intra_op_num_threads: int = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "intra_op_num_threads" and (type(value) is not int or value < 0):
            raise ValueError(f"expected {name} to be a number, 0 or more, but got {value!r}")
        super().__setattr__(name, value)


class RunOptions(_Options):
    """The options of a call, which have no effect."""

    _known = frozenset({"log_severity_level", "log_verbosity_level", "logid", "terminate"})


class OrtValue:
    """A tensor in host memory.

    Parameters
    ----------
    array : numpy.ndarray
        It is not copied.

    Examples
    --------
    >>> value = OrtValue.ortvalue_from_numpy(np.zeros((2, 3), "float32"))
    >>> value.shape(), value.data_type(), value.device_name(), value.is_tensor()
    ([2, 3], 'tensor(float)', 'cpu', True)
    """

    def __init__(self, array: Any) -> None:
        self._array: Array = np.asarray(array)

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Return an array as a value, without a copy."""
        check_device(device_type)
        return OrtValue(numpy_obj)

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Return a value whose elements are not set, for outputs that are bound to it."""
        check_device(device_type)
        return OrtValue(np.empty(tuple(shape), element_type))

    def numpy(self) -> Array:
        """Return the elements, without a copy."""
        return self._array

    def shape(self) -> list[int]:
        """Return the dimensions."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """Return the data type as onnxruntime spells it, such as tensor(float)."""
        spelled = {"float32": "float", "float64": "double"}
        return f"tensor({spelled.get(self._array.dtype.name, self._array.dtype.name)})"

    def element_type(self) -> int:
        """Return the number of the data type in ONNX."""
        from .model import element_type_of

        return element_type_of(self._array.dtype.name)

    def device_name(self) -> str:
        """Return "cpu"."""
        return "cpu"

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self._array.ctypes.data)

    def is_tensor(self) -> bool:
        """Return True."""
        return True

    def has_value(self) -> bool:
        """Return True."""
        return True


def check_device(device_type: str) -> None:
    """Raise ValueError for a device other than the processor."""
    if device_type != "cpu":
        raise ValueError(f"expected device_type cpu, the only one, but got {device_type!r}")


class IOBinding:
    """Inputs and outputs of a session by name, kept over calls.

    Inputs are taken where they lie. An output that is bound to an array is written there.

    Parameters
    ----------
    inputs, outputs : sequence of NodeArg

    Attributes
    ----------
    feed : dict of str to array
        The inputs that are bound.
    output_names : list of str
        The outputs that are bound.
    """

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._inputs = [one.name for one in inputs]
        self._outputs = [one.name for one in outputs]
        self.feed: dict[str, Any] = {}
        self._places: dict[str, Array | None] = {}
        self._values: list[OrtValue] = []

    @property
    def output_names(self) -> list[str]:
        """The outputs that are bound, in the order in which they were."""
        return list(self._places)

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Bind an input to an array, which calls read where it lies."""
        _check_name("input", name, self._inputs)
        self.feed[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input to a value."""
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0) -> None:
        """Have a call return an output in memory of its own."""
        check_device(device_type)
        _check_name("output", name, self._outputs)
        self._places[name] = None

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Have a call write an output to a value."""
        _check_name("output", name, self._outputs)
        self._places[name] = ortvalue.numpy()

    def bind_input(self, *_: Any, **__: Any) -> None:
        """Raise: addresses are not taken."""
        raise NotImplementedError(
            "expected an array or an OrtValue, not an address: use bind_cpu_input or "
            "bind_ortvalue_input"
        )

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self.feed.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._places.clear()
        self._values.clear()

    def synchronize_inputs(self) -> None:
        """Do nothing: there is one device."""

    def synchronize_outputs(self) -> None:
        """Do nothing: there is one device."""

    def take(self, outputs: Mapping[str, Any]) -> None:
        """Keep what a call returned, and write it where outputs are bound to arrays.

        Raises
        ------
        ValueError
            If an output does not fit.
        """
        values = []
        for name, value in outputs.items():
            place = self._places.get(name)
            if place is None:
                values.append(OrtValue(value))
                continue
            if place.shape != value.shape or place.dtype != value.dtype:
                raise ValueError(
                    f"expected output '{name}' to be bound to {value.dtype.name}"
                    f"{list(value.shape)}, but got {place.dtype.name}{list(place.shape)}"
                )
            np.copyto(place, value)
            values.append(OrtValue(place))
        self._values = values

    def get_outputs(self) -> list[OrtValue]:
        """Return the outputs of the last call."""
        return list(self._values)

    def copy_outputs_to_cpu(self) -> list[Array]:
        """Return the outputs of the last call as arrays."""
        return [value.numpy() for value in self._values]


def _check_name(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ValueError(
            f"expected the name of an {what} ({', '.join(known)}), but got '{name}'"
            f"{did_you_mean(name, known)}"
        )
