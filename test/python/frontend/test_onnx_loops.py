# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of ONNX, most of whose numbers of steps are found when the program runs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax

onnx = pytest.importorskip("onnx")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_models import check, graph, random  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx  # noqa: E402

MODES = ["compiled", "bytecode"]


def compare(model: Any, *feeds: dict[str, np.ndarray]) -> None:
    """Compile a model once in each mode, and compare it with the reference for some inputs."""
    reference = ReferenceEvaluator(model)
    for mode in MODES:
        vm = relax.VirtualMachine(relax.compile(from_onnx(model), exec_mode=mode))
        for feed in feeds:
            results = vm["main"](*feed.values())
            results = [results] if hasattr(results, "__dlpack__") else results
            expected = reference.run(None, feed)
            for ours, theirs in zip(results, expected, strict=True):
                array = np.asarray(ours)
                if theirs.shape == (*array.shape, 1):  # the reference stacks numbers as vectors
                    theirs = theirs[..., 0]
                assert array.dtype == theirs.dtype and array.shape == theirs.shape
                np.testing.assert_allclose(array, theirs, rtol=1e-4, atol=1e-5)


def count(number: int) -> np.ndarray:
    return np.array(number, "int64")


COUNTED = """(%s float[n] x) => (float[n] y, float[k, n] z) {
  %s
  go = Constant<value = bool {1}>()
  y, z = Loop(count, go, x) <body = body (int64 i, bool c, float[n] a)
    => (bool d, float[n] b, float[n] e) {
    d = Identity(c)
    f = Cast<to = 1>(i)
    b = Add(a, f)
    e = Mul(b, b)
  }>
}"""


def test_number_of_steps_is_known() -> None:
    compare(graph(COUNTED % ("", "count = Constant<value = int64 {3}>()")), {"x": random(4)})


def test_number_of_steps_is_an_input() -> None:
    feeds = [{"count": count(steps), "x": random(4)} for steps in (3, 1, 2, 7, 64)]
    compare(graph(COUNTED % ("int64 count,", "")), *feeds)


@pytest.mark.parametrize("steps", [0, -2])
def test_no_step(steps: int) -> None:
    session = InferenceSession(graph(COUNTED % ("int64 count,", "")))
    x = random(4)
    y, z = session.run(None, {"count": count(steps), "x": x})
    np.testing.assert_array_equal(y, x)
    assert z.shape == (0, 4) and z.dtype == np.float32


def test_number_of_steps_is_a_constant_input() -> None:
    model = graph(COUNTED % ("int64 count,", ""))
    session = InferenceSession(model, constants={"count": count(3)})
    x = random(4)
    wanted = ReferenceEvaluator(model).run(None, {"count": count(3), "x": x})
    np.testing.assert_allclose(session.run(["y"], {"x": x})[0], wanted[0])


def test_number_of_steps_is_a_dimension() -> None:
    size = """shape = Shape<start = 0, end = 1>(s)
      axes = Constant<value = int64[1] {0}>()
      count = Squeeze(shape, axes)"""
    model = graph(COUNTED % ("float[m] s,", size))
    compare(model, *({"s": random(steps), "x": random(3)} for steps in (2, 5, 1)))


def test_many_known_steps() -> None:
    model = graph("""(float[n] x) => (float[n] y) {
      count = Constant<value = int64 {5000}>()
      go = Constant<value = bool {1}>()
      y = Loop(count, go, x) <body = body (int64 i, bool c, float[n] a)
        => (bool d, float[n] b) {
        d = Identity(c)
        one = Constant<value = float {1.0}>()
        b = Add(a, one)
      }>
    }""")
    compare(model, {"x": np.zeros(2, "float32")})


WHILE = """(%s float[n] x, float limit) => (float[n] y, float[k] z) {
  %s
  y, z = Loop(count, go, x) <body = body (int64 i, bool c, float[n] a)
    => (bool d, float[n] b, float e) {
    b = Add(a, a)
    e = ReduceSum<keepdims = 0>(b)
    d = Less(e, limit)
  }>
}"""


@pytest.mark.parametrize(
    ("inputs", "nodes", "given"),
    [
        ("", "count = Identity(none)\n go = Constant<value = bool {1}>()", {}),
        ("int64 count,", "go = Constant<value = bool {1}>()", {"count": count(4)}),
        ("int64 count, bool go,", "", {"count": count(9), "go": np.array(True)}),
        ("int64 count, bool go,", "", {"count": count(9), "go": np.array(False)}),
        ("bool go,", "count = Constant<value = int64 {3}>()", {"go": np.array(True)}),
    ],
)
def test_loops_that_end_on_a_condition(inputs: str, nodes: str, given: dict[str, Any]) -> None:
    if "Identity(none)" in nodes:  # no number of steps at all
        nodes = nodes.replace("count = Identity(none)\n", "")
        model = graph(WHILE.replace("Loop(count", 'Loop(""') % (inputs, nodes))
    else:
        model = graph(WHILE % (inputs, nodes))
    x = np.ones(3, "float32")
    feeds = [given | {"x": x, "limit": np.array(limit, "float32")} for limit in (20, 1000, 1)]
    if given.get("go", True):
        compare(model, *feeds)
    else:  # the reference cannot stack nothing
        y, z = InferenceSession(model).run(None, feeds[0])
        np.testing.assert_array_equal(y, x)
        assert z.shape == (0,)


def test_long_loops_that_end_on_a_condition_need_no_stack() -> None:
    model = graph("""(float[n] x, int64 limit) => (float[n] y) {
      go = Constant<value = bool {1}>()
      y = Loop("", go, x) <body = body (int64 i, bool c, float[n] a) => (bool d, float[n] b) {
        one = Constant<value = float {1.0}>()
        b = Add(a, one)
        d = Less(i, limit)
      }>
    }""")
    for mode in MODES:
        vm = relax.VirtualMachine(relax.compile(from_onnx(model), exec_mode=mode))
        result = vm["main"](np.zeros(2, "float32"), count(50_000))
        np.testing.assert_array_equal(np.asarray(result), 50_001)


def test_dimensions_may_be_named_like_those_that_are_found() -> None:
    text = COUNTED.replace("float[n]", "float[data_dependent_n]") % ("int64 count,", "")
    compare(graph(text), {"count": count(2), "x": random(4)})


def test_what_is_carried_grows() -> None:
    model = graph("""(int64 count, float[n] x) => (float[m] y) {
      go = Constant<value = bool {1}>()
      y = Loop(count, go, x) <body = body (int64 i, bool c, float[p] a) => (bool d, float[q] b) {
        d = Identity(c)
        b = Concat<axis = 0>(a, x)
      }>
    }""")
    compare(model, *({"count": count(steps), "x": random(3)} for steps in (1, 4, 2)))


def test_what_is_carried_grows_until_it_is_large() -> None:
    model = graph("""(float[n] x, int64 limit) => (float[m] y, int64[k] sizes) {
      go = Constant<value = bool {1}>()
      y, sizes = Loop("", go, x) <body = body (int64 i, bool c, float[p] a)
        => (bool d, float[q] b, int64 s) {
        b = Concat<axis = 0>(a, a)
        shape = Shape(b)
        zero = Constant<value = int64[1] {0}>()
        s = Squeeze(shape, zero)
        d = Less(s, limit)
      }>
    }""")
    compare(model, *({"x": random(2), "limit": count(limit)} for limit in (1, 5, 40)))


def test_loops_in_loops_and_branches() -> None:
    model = graph("""(int64 outer, int64 inner, bool more, float[n] x) => (float[n] y) {
      go = Constant<value = bool {1}>()
      y = Loop(outer, go, x) <body = body (int64 i, bool c, float[n] a) => (bool d, float[n] b) {
        d = Identity(c)
        r = Loop(inner, c, a) <body = inside (int64 j, bool e, float[n] f)
          => (bool g, float[n] h) {
          g = Identity(e)
          both = Add(i, j)
          number = Cast<to = 1>(both)
          h = Add(f, number)
        }>
        b = If(more) <
          then_branch = yes () => (float[n] t) { t = Add(r, x) },
          else_branch = no () => (float[n] u) { u = Sub(r, x) }>
      }>
    }""")
    compare(
        model,
        *(
            {"outer": count(m), "inner": count(n), "more": np.array(more), "x": random(3)}
            for m, n, more in [(2, 3, True), (3, 1, False), (1, 5, True)]
        ),
    )


SCAN = """(float[b] init, float[%s] x) => (float[b] last, float[%s] y) {
  last, y = Scan(init, x) <num_scan_inputs = 1, %s body = body (float[b] s, float[b] e)
    => (float[b] t, float[b] o) {
    t = Add(s, e)
    o = Mul(t, e)
  }>
}"""


@pytest.mark.parametrize(
    ("dims", "out", "options", "shape"),
    [
        ("n, b", "m, b", "", (5, 2)),
        ("n, b", "m, b", "scan_input_directions = [1],", (5, 2)),
        ("n, b", "m, b", "scan_output_directions = [1],", (4, 3)),
        ("b, n", "b, m", "scan_input_axes = [1], scan_output_axes = [1],", (2, 6)),
        (
            "b, n",
            "b, m",
            "scan_input_axes = [-1], scan_output_axes = [-1], scan_input_directions = [1],",
            (2, 1),
        ),
    ],
)
def test_scans(dims: str, out: str, options: str, shape: tuple[int, int]) -> None:
    model = graph(SCAN % (dims, out, options))
    x = random(*shape)
    init = random(shape[1] if dims == "n, b" else shape[0])
    for mode in MODES:
        vm = relax.VirtualMachine(relax.compile(from_onnx(model), exec_mode=mode))
        results = [np.asarray(one) for one in vm["main"](init, x)]
        # ONNX's reference has one axis and direction only.
        steps = x if dims == "n, b" else x.T
        steps = steps[::-1] if "input_directions" in options else steps
        state, given = init, []
        for step in steps:
            state = state + step
            given.append(state * step)
        whole = np.stack(given[::-1] if "output_directions" in options else given)
        whole = whole if dims == "n, b" else whole.T
        np.testing.assert_allclose(results[0], state, rtol=1e-5)
        np.testing.assert_allclose(results[1], whole, rtol=1e-5)


def recurrent(kind: str, direction: str, lengths: bool = False) -> Any:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    directions = 2 if direction == "bidirectional" else 1
    memory = ("float[d, b, 4] yc", "yc") if kind == "LSTM" else ()
    inputs = ["float[s, b, 3] x", f"float[{directions}, {gates * 4}, 3] w"]
    inputs += [f"float[{directions}, {gates * 4}, 4] r", f"float[{directions}, {gates * 8}] bias"]
    inputs += ["int32[b] lengths"] if lengths else []
    outputs = ["float[s, d, b, 4] y", "float[d, b, 4] yh", *memory[:1]]
    names = [one.split()[-1] for one in inputs]
    return graph(f"""({", ".join(inputs)}) => ({", ".join(outputs)}) {{
      {", ".join(["y", "yh", *memory[1:]])} = {kind}<hidden_size = 4, direction = "{direction}">(
        {", ".join(names)})
    }}""")


def weights(kind: str, directions: int) -> dict[str, np.ndarray]:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    return {
        "w": random(directions, gates * 4, 3),
        "r": random(directions, gates * 4, 4),
        "bias": random(directions, gates * 8),
    }


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(kind: str, lengths: bool, direction: str) -> None:
    """Of an unknown number of steps they give what those of a known one give."""
    model = recurrent(kind, direction, lengths)
    session = InferenceSession(model)
    given = weights(kind, 2 if direction == "bidirectional" else 1)
    for steps in (5, 1, 8):
        feed = {"x": random(steps, 2, 3), **given}
        if lengths:
            feed["lengths"] = np.array([steps, max(steps - 2, 0)], "int32")
        known = onnx.ModelProto()
        known.CopyFrom(model)
        known.graph.input[0].type.tensor_type.shape.dim[0].dim_value = steps
        expected = InferenceSession(known).run(None, feed)
        for ours, theirs in zip(session.run(None, feed), expected, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_recurrent_layers_are_those_of_the_reference() -> None:
    feeds = [{"x": random(steps, 2, 3), **weights("LSTM", 1)} for steps in (4, 9)]
    check(recurrent("LSTM", "forward"), *feeds)


def test_recurrent_layers_that_see_their_memory() -> None:
    model = graph("""(float[s, b, 3] x, float[1, 16, 3] w, float[1, 16, 4] r, float[1, 12] p)
      => (float[s, d, b, 4] y, float[d, b, 4] h, float[d, b, 4] c) {
      y, h, c = LSTM<hidden_size = 4>(x, w, r, , , , , p)
    }""")
    given = {"w": random(1, 16, 3), "r": random(1, 16, 4), "p": random(1, 12)}
    check(model, *({"x": random(steps, 2, 3), **given} for steps in (3, 6)))


def test_recurrent_layers_in_loops() -> None:
    model = graph("""(int64 count, float[s, 1, 2] x, float[1, 2, 2] w, float[1, 2, 2] r)
      => (float[s, 1, 2] y) {
      go = Constant<value = bool {1}>()
      y = Loop(count, go, x) <body = body (int64 i, bool c, float[s, 1, 2] a)
        => (bool d, float[s, 1, 2] b) {
        d = Identity(c)
        one = Constant<value = int64[1] {1}>()
        z = RNN<hidden_size = 2>(a, w, r)
        b = Squeeze(z, one)
      }>
    }""")
    given = {"w": random(1, 2, 2), "r": random(1, 2, 2)}
    compare(model, *({"count": count(n), "x": random(n + 2, 1, 2), **given} for n in (1, 3)))


# -- errors -------------------------------------------------------------------------------------


def test_what_is_carried_has_one_data_type() -> None:
    model = graph("""(int64 count, float[n] x) => (float[n] y) {
      go = Constant<value = bool {1}>()
      y = Loop(count, go, x) <body = body (int64 i, bool c, float[n] a) => (bool d, double[n] b) {
        d = Identity(c)
        b = Cast<to = 11>(a)
      }>
    }""")
    message = "expected a loop to carry a tensor of data type float32 and rank 1, as before the"
    with pytest.raises(ValueError, match=message):
        from_onnx(model)


def test_values_of_steps_have_one_shape() -> None:
    model = graph("""(float[m] s, float[n] x) => (float[n] y, float[k, l] z) {
      shape = Shape<start = 0, end = 1>(s)
      axes = Constant<value = int64[1] {0}>()
      count = Squeeze(shape, axes)
      go = Constant<value = bool {1}>()
      y, z = Loop(count, go, x) <body = body (int64 i, bool c, float[p] a)
        => (bool d, float[q] b, float[q] e) {
        d = Identity(c)
        b = Concat<axis = 0>(a, x)
        e = Identity(b)
      }>
    }""")
    with pytest.raises(NotImplementedError, match="expected values of each step of one shape"):
        from_onnx(model)


def test_what_keeps_a_loop_from_being_written_is_said() -> None:
    model = graph("""(int64 count, float[n] x) => (float[n] y) {
      go = Constant<value = bool {1}>()
      empty = SequenceEmpty()
      s = Loop(count, go, empty) <body = body (int64 i, bool c, seq(float[n]) a)
        => (bool d, seq(float[n]) b) {
        d = Identity(c)
        b = SequenceInsert(a, x)
      }>
      zero = Constant<value = int64 {0}>()
      y = SequenceAt(s, zero)
    }""")
    message = "the number of steps (expected a tensor, but got a sequence) that is known at import"
    with pytest.raises(NotImplementedError, match=re.escape(message)):
        from_onnx(model)
    session = InferenceSession(model, constants={"count": count(2)})
    x = random(3)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)


def test_each_step_has_random_numbers_of_its_own() -> None:
    model = graph("""(int64 count, float[n] x) => (float[n] y) {
      go = Constant<value = bool {1}>()
      y = Loop(count, go, x) <body = body (int64 i, bool c, float[n] a) => (bool d, float[n] b) {
        d = Identity(c)
        noise = RandomNormalLike(a)
        b = Add(a, noise)
      }>
    }""")
    with pytest.raises(NotImplementedError, match="expected a loop of a known number of steps"):
        from_onnx(model)
    session = InferenceSession(model, constants={"count": count(2)})
    assert session.run(None, {"x": np.zeros(3, "float32")})[0].any()
