# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences and optional values, as inputs and in branches."""

from __future__ import annotations

import functools

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import onnx_models  # noqa: E402
from onnx_models import random  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx  # noqa: E402

graph = functools.partial(onnx_models.graph, opset=20)


SEQUENCE = """(seq(float[?, 2]) x, bool c) => (float[p, 2] y, seq(float[?, 2]) z) {
  y = ConcatFromSequence<axis = 0>(x)
  zero = Constant<value = int64 {0}>()
  first = SequenceAt(x, zero)
  z = If(c) <
    then_branch = then () => (seq(float[?, 2]) a) { a = SequenceConstruct(first, y) },
    else_branch = else () => (seq(float[?, 2]) b) { b = SequenceConstruct(y, first) }
  >
}"""


def test_sequences_are_tuples() -> None:
    model = graph(SEQUENCE)
    session = InferenceSession(model, shape_dict={"x": [(2, 2), ("n", 2)]}, opt_level=0)
    assert [(one.name, one.type) for one in session.get_inputs()] == [
        ("x", "seq(tensor(float))"),
        ("c", "tensor(bool)"),
    ]
    for n in (1, 3):
        x = [random(2, 2), random(n, 2)]
        for flag in (True, False):
            y, z = session.run(None, {"x": x, "c": np.array(flag)})
            whole = np.concatenate(x)
            np.testing.assert_array_equal(y, whole)
            wanted = [x[0], whole] if flag else [whole, x[0]]
            assert len(z) == 2
            for ours, theirs in zip(z, wanted, strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_error_of_sequences() -> None:
    with pytest.raises(NotImplementedError, match="input 'x': expected a sequence of known length"):
        from_onnx(graph(SEQUENCE))
    session = InferenceSession(graph(SEQUENCE), shape_dict={"x": [(2, 2)]}, opt_level=0)
    with pytest.raises(ValueError, match="expected input 'x' of float32, but got float64"):
        session.run(None, {"x": [np.zeros((2, 2))], "c": np.array(True)})


def test_error_of_branches_with_other_sequences() -> None:
    model = graph("""(float[2] x, bool c) => (seq(float[2]) y) {
      y = If(c) <
        then_branch = then () => (seq(float[2]) a) { a = SequenceConstruct(x) },
        else_branch = else () => (seq(float[2]) b) { b = SequenceConstruct(x, x) }
      >
    }""")
    with pytest.raises(NotImplementedError, match="a condition of branches that give other"):
        from_onnx(model)
    session = InferenceSession(model, constants={"c": np.array(False)}, opt_level=0)
    assert len(session.run(None, {"x": random(2)})[0]) == 2


def test_optional_values_that_are_left_out() -> None:
    model = graph("""(float[2] x) => (float[2] y) {
      has = OptionalHasElement(o)
      y = If(has) <
        then_branch = then () => (float[2] a) { e = OptionalGetElement(o)  a = Add(x, e) },
        else_branch = else () => (float[2] b) { b = Identity(x) }
      >
    }""")
    tensor = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2])
    kind = onnx.helper.make_optional_type_proto(tensor)
    model.graph.input.append(onnx.helper.make_value_info("o", kind))
    x = random(2)
    (y,) = InferenceSession(model, opt_level=0).run(None, {"x": x, "o": x})
    np.testing.assert_array_equal(y, x + x)
    session = InferenceSession(model, shape_dict={"o": None}, opt_level=0)
    assert [one.name for one in session.get_inputs()] == ["x"]
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)
