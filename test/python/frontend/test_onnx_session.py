# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions have the interface of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx_models import graph, random
from relax_mlir import runtime
from relax_mlir.frontend import onnx as ort

CPU = ["CPUExecutionProvider"]


@pytest.fixture(scope="module")
def session() -> Any:
    model = graph("(float[n, 4] x, float[4] w) => (float[n, 4] y, float[n, 4] z) {"
                  "y = Add(x, w)\n z = Relu(x) }")  # fmt: skip
    return ort.InferenceSession(model, None, CPU, opt_level=0)


def test_run_with_names(session: Any) -> None:
    x, w = random(3, 4), random(4)
    z, y = session.run(["z", "y"], {"w": w, "x": x})
    np.testing.assert_array_equal(z, np.maximum(x, 0))
    np.testing.assert_array_equal(y, x + w)
    assert session.get_providers() == CPU


def test_run_with_ort_values(session: Any) -> None:
    x, w = random(2, 4), random(4)
    feed = {name: ort.OrtValue.ortvalue_from_numpy(one) for name, one in (("x", x), ("w", w))}
    (y,) = session.run_with_ort_values(["y"], feed)
    np.testing.assert_array_equal(y.numpy(), x + w)
    assert (y.shape(), y.data_type(), y.element_type()) == ([2, 4], "tensor(float)", 1)
    with pytest.raises(TypeError, match="'x' to be an OrtValue, but got ndarray"):
        session.run_with_ort_values(None, {"x": x, "w": w})


def test_binding(session: Any) -> None:
    x, w = random(2, 4), random(4)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_input("w", ort.OrtValue.ortvalue_from_numpy(w))
    place = ort.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
    address = place.data_ptr()
    binding.bind_output("z")
    binding.bind_ortvalue_output("y", place)
    for factor in (1, 2):
        x *= factor  # the binding reads the array where it lies
        session.run_with_iobinding(binding)
        z, y = binding.copy_outputs_to_cpu()
        np.testing.assert_array_equal(z, np.maximum(x, 0))
        np.testing.assert_array_equal(place.numpy(), x + w)
        assert y.ctypes.data == place.data_ptr() == address
    binding.bind_cpu_input("x", random(3, 4))
    with pytest.raises(ValueError, match=r"'y' to be bound to float32\[3, 4\], but got float32\[2"):
        session.run_with_iobinding(binding)


def test_error_of_binding(session: Any) -> None:
    binding = session.io_binding()
    with pytest.raises(ValueError, match=r"name of an input \(x, w\), but got 'v'"):
        binding.bind_cpu_input("v", random(4))
    with pytest.raises(ValueError, match="name of an output"):
        binding.bind_output("x")
    with pytest.raises(ValueError, match="device_type cpu, the only one, but got 'cuda'"):
        binding.bind_output("y", "cuda")
    with pytest.raises(NotImplementedError, match="not an address"):
        binding.bind_input("x", "cpu", 0, np.float32, [1, 4], 0)


def test_threads_of_options() -> None:
    before = runtime.get_num_threads()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = 99
    model = graph("(float[2] x) => (float[2] y) { y = Relu(x) }")
    session = ort.InferenceSession(model, sess_options=options, opt_level=0)
    try:
        runtime.set_num_threads(2)
        session.run(None, {"x": random(2)})
        assert runtime.get_num_threads() == 1
        assert session.get_session_options() is options
    finally:
        runtime.set_num_threads(before)


def test_error_of_options() -> None:
    model = graph("(float[2] x) => (float[2] y) { y = Relu(x) }")
    with pytest.raises(AttributeError, match="did you mean 'intra_op_num_threads'"):
        ort.SessionOptions().intra_op_threads = 1
    with pytest.raises(ValueError, match="to be a number, 0 or more, but got -1"):
        ort.SessionOptions().intra_op_num_threads = -1
    with pytest.raises(TypeError, match=r"sess_options to be a .*SessionOptions, but got dict"):
        ort.InferenceSession(model, {})
    with pytest.raises(ValueError, match="expected providers with CPUExecutionProvider"):
        ort.InferenceSession(model, providers=["CUDAExecutionProvider"])


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros((2, 3), "float32"), ValueError, r"'x' of shape \['n', 4\], but got \[2, 3\]"),
        (np.zeros(4, "float32"), ValueError, r"'x' of shape \['n', 4\], but got \[4\]"),
        (np.zeros((2, 4)), ValueError, "'x' of float32, but got float64"),
        (None, TypeError, "'x' to be an array, but got NoneType"),
        ("text", ValueError, "'x' of float32, but got str"),
    ],
)
def test_error_of_inputs(session: Any, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        session.run(None, {"x": x, "w": np.zeros(4, "float32")})


def test_shapes_that_are_given_are_those_of_inputs() -> None:
    model = graph("(float[2, 3] x) => (float[m, k] y) { y = Relu(x) }")
    session = ort.InferenceSession(model, shape_dict={"x": ["rows", 3]}, opt_level=0)
    assert session.get_inputs()[0].shape == ["rows", 3]
    (y,) = session.run(None, {"x": np.ones((5, 3), "float32")})
    assert y.shape == (5, 3)
