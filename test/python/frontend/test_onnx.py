# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX give the results that ONNX's reference gives, at every size."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_models import check, graph, random  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx, read_params  # noqa: E402
from relax_mlir.frontend.onnx.model import array_of, load  # noqa: E402


def signature(mod: Any) -> str:
    return str(mod["main"].function_type.value).replace("!relax.", "")


def names(mod: Any) -> list[str]:
    return [name.value for name in mod["main"].arg_names]


# -- shapes -------------------------------------------------------------------------------------


def test_symbolic_dimensions_keep_their_names() -> None:
    mod = from_onnx(graph("(float[batch, 4] x, float[batch, 4] y) => (float[batch, 4] z) {"
                          "z = Add(x, y) }"))  # fmt: skip
    assert signature(mod) == (
        "(tensor<[batch, 4], f32>, tensor<[batch, 4], f32>) -> tensor<[batch, 4], f32>"
    )


def test_names_of_inputs() -> None:
    model = graph("(float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.input[0].name = model.graph.node[0].input[0] = "0/x:1"
    assert names(from_onnx(model)) == ["input_0_x_1"]


def test_expressions_as_names_of_dimensions() -> None:
    model = graph("(float[past, 4] x, float[new, 4] y, float[total, 4] m) => (float[n, 4] z) {"
                  "c = Concat<axis=0>(x, y)\n z = Add(c, m) }")  # fmt: skip
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_param = "past + new"
    check(model, {"x": random(2, 4), "y": random(3, 4), "m": random(5, 4)})


def test_dimensions_of_different_names_are_equal_when_it_runs() -> None:
    model = graph("""(float[n, 4] x, float[m, 4] y, float[4, k] w) => (float[p, q] z) {
      s = Add(x, y)
      z = MatMul(s, w)
    }""")
    session = check(model, {"x": random(3, 4), "y": random(3, 4), "w": random(4, 2)})
    with pytest.raises(ValueError, match="match_cast"):
        session.run(None, {"x": random(3, 4), "y": random(1, 4), "w": random(4, 2)})


def test_parts_of_different_names_are_joined() -> None:
    model = graph("""(float[b, past, 4] x, float[c, new, 4] y) => (float[p, q, r] z) {
      z = Concat<axis = 1>(x, y)
    }""")
    session = check(model, {"x": random(2, 3, 4), "y": random(2, 1, 4)})
    with pytest.raises(ValueError, match="match_cast"):
        session.run(None, {"x": random(2, 3, 4), "y": random(1, 1, 4)})


def test_shape_dict() -> None:
    model = graph("(float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }")
    assert "[3, 4]" in signature(from_onnx(model, {"x": (3, 4)}))
    assert "[m, 4]" in signature(from_onnx(model, {"x": ("m", 4)}))
    with pytest.raises(ValueError, match=r"expected shapes of inputs \['x'\], but got \['w'\]"):
        from_onnx(model, {"w": (3, 4)})


HEADS = """(float[b, s, 12] x) => (float[b, 3, s, k] y) {
  shape = Shape(x)
  zero = Constant<value = int64 {0}>()
  one = Constant<value = int64 {1}>()
  b = Gather<axis = 0>(shape, zero)
  s = Gather<axis = 0>(shape, one)
  axes = Constant<value = int64[1] {0}>()
  b1 = Unsqueeze(b, axes)
  s1 = Unsqueeze(s, axes)
  heads = Constant<value = int64[2] {3, -1}>()
  wanted = Concat<axis = 0>(b1, s1, heads)
  split = Reshape(x, wanted)
  y = Transpose<perm = [0, 2, 1, 3]>(split)
}"""


def test_computed_shapes_leave_no_kernels() -> None:
    model = graph(HEADS)
    mod = from_onnx(model)
    assert signature(mod) == "(tensor<[b, s, 12], f32>) -> tensor<[b, 3, s, 4], f32>"
    assert "gather" not in str(mod) and "concat" not in str(mod)
    check(model, {"x": random(2, 5, 12)}, {"x": random(1, 7, 12)})


def test_sizes_as_numbers() -> None:
    model = graph("""(float[n, m] x) => (float[n, m] y, int64[2] z) {
      shape = Shape(x)
      two = Constant<value = int64 {2}>()
      z = Mul(shape, two)
      count = Size(x)
      float = Cast<to = 1>(count)
      y = Div(x, float)
    }""")
    check(model, {"x": random(2, 5)}, {"x": random(4, 3)})


def test_quotients_of_sizes_as_floats() -> None:
    model = graph("""(float[n, 2] x) => (float[1] y, int64[1] z) {
      shape = Shape<end = 1>(x)
      float = Cast<to = 1>(shape)
      two = Constant<value = float[1] {2}>()
      y = Div(float, two)
      ceil = Ceil(y)
      z = Cast<to = 7>(ceil)
    }""")
    check(model, {"x": random(5, 2)}, {"x": random(4, 2)})


def test_slices_of_symbolic_sizes() -> None:
    model = graph("""(float[n, 6] x) => (float[a, 6] y, float[b, 6] z, float[n, 6] w) {
      zero = Constant<value = int64[1] {0}>()
      one = Constant<value = int64[1] {1}>()
      last = Constant<value = int64[1] {-1}>()
      far = Constant<value = int64[1] {9223372036854775807}>()
      start = Constant<value = int64[1] {-9223372036854775807}>()
      y = Slice(x, one, far, zero)
      z = Slice(x, zero, last, zero)
      w = Slice(x, last, start, zero, last)
    }""")
    check(model, {"x": random(2, 6)}, {"x": random(5, 6)}, {"x": random(1, 6)})


def test_broadcast_to_a_computed_shape() -> None:
    model = graph("""(float[n, 6] x, float[1, 6] w) => (float[n, 6] y, int64[n] z) {
      shape = Shape(x)
      y = Expand(w, shape)
      zero = Constant<value = int64 {0}>()
      one = Constant<value = int64 {1}>()
      n = Gather(shape, zero)
      z = Range(zero, n, one)
    }""")
    check(model, {"x": random(2, 6), "w": random(1, 6)}, {"x": random(3, 6), "w": random(1, 6)})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_padding_of_symbolic_sizes(mode: str) -> None:
    model = graph(f"""(float[n, 6] x) => (float[p, q] y) {{
      pads = Constant<value = int64[4] {{1, 0, 2, 1}}>()
      y = Pad<mode = "{mode}">(x, pads)
    }}""")
    check(model, {"x": random(4, 6)}, {"x": random(3, 6)})


# -- models -------------------------------------------------------------------------------------


def model_of(nodes: list[Any], inputs: dict[str, list[Any]], outputs: list[str],
             weights: dict[str, np.ndarray], opset: int = 18) -> Any:  # fmt: skip
    return helper.make_model(
        helper.make_graph(
            nodes,
            "model",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
             for name, dims in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in weights.items()],
        ),
        opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
    )  # fmt: skip


def cnn() -> Any:
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c1", "g", "b1", "m", "v"], ["n1"]),
        node("Relu", ["n1"], ["r1"]),
        node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2"], ["c2"], group=2, auto_pad="SAME_UPPER"),
        node("Add", ["c2", "p1"], ["s"]),
        node("GlobalAveragePool", ["s"], ["a"]),
        node("Flatten", ["a"], ["f"]),
        node("Gemm", ["f", "w3", "b3"], ["l"], transB=1),
        node("Softmax", ["l"], ["y"], axis=-1),
    ]
    weights = {
        "w1": random(4, 3, 3, 3), "b1": random(4), "g": random(4), "m": random(4),
        "v": random(4) + 1, "w2": random(4, 2, 3, 3), "w3": random(5, 4), "b3": random(5),
    }  # fmt: skip
    return model_of(nodes, {"x": ["n", 3, 8, 8]}, ["y"], weights)


def test_cnn() -> None:
    check(cnn(), {"x": random(1, 3, 8, 8)}, {"x": random(3, 3, 8, 8)})


def test_transformer() -> None:
    node = helper.make_node
    nodes = [node("LayerNormalization", ["x", "g", "b"], ["n"], axis=-1)]
    for name in "qkv":
        nodes += [
            node("MatMul", ["n", f"w{name}"], [f"{name}0"]),
            node("Reshape", [f"{name}0", "heads"], [f"{name}1"]),
            node("Transpose", [f"{name}1"], [name], perm=[0, 2, 3, 1] if name == "k" else
                 [0, 2, 1, 3]),
        ]  # fmt: skip
    nodes += [
        node("MatMul", ["q", "k"], ["s0"]),
        node("Div", ["s0", "scale"], ["s1"]),
        node("Softmax", ["s1"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["o0"]),
        node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
        node("Reshape", ["o1", "joined"], ["o2"]),
        node("Add", ["o2", "x"], ["r"]),
        node("MatMul", ["r", "w1"], ["h0"]),
        node("Gelu", ["h0"], ["h1"]),
        node("MatMul", ["h1", "w2"], ["h2"]),
        node("Add", ["h2", "r"], ["y"]),
    ]
    weights = {
        "g": random(8), "b": random(8), "heads": np.array([0, 0, 2, 4]),
        "joined": np.array([0, 0, 8]), "scale": np.array(2, "float32"),
        "w1": random(8, 16), "w2": random(16, 8), **{f"w{name}": random(8, 8) for name in "qkv"},
    }  # fmt: skip
    model = model_of(nodes, {"x": ["b", "s", 8]}, ["y"], weights, 20)
    check(model, {"x": random(2, 5, 8)}, {"x": random(1, 3, 8)})


def test_weights_are_constants_once() -> None:
    weight = random(64, 64)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]),
             helper.make_node("MatMul", ["y", "w"], ["z"])]  # fmt: skip
    model = model_of(nodes, {"x": ["n", 64]}, ["z"], {"w": weight})
    assert str(from_onnx(model)).count("relax.constant") == 1
    check(model, {"x": random(2, 64)})


def test_weights_as_parameters() -> None:
    model = cnn()
    mod = from_onnx(model, keep_params_in_input=True)
    params = read_params(model)
    assert names(mod) == ["x", *params]
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    x = random(2, 3, 8, 8)
    got = np.from_dlpack(main(x, *params.values()))
    np.testing.assert_allclose(got, ReferenceEvaluator(model).run(None, {"x": x})[0], rtol=1e-4)
    detached, weights = relax.frontend.detach_params(mod)
    assert not detached.params
    for weight, (_, array) in zip(weights["main"], params.items(), strict=True):
        np.testing.assert_array_equal(weight, array)


def test_default_opset() -> None:
    model = graph("(float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax(x) }", opset=12)
    x = random(2, 3, 4)
    (flat,) = InferenceSession(model).run(None, {"x": x})
    np.testing.assert_allclose(flat.reshape(2, -1).sum(1), 1, rtol=1e-5)
    mod = from_onnx(model, opset=13)
    last = relax.VirtualMachine(relax.compile(mod))["main"](x)
    np.testing.assert_allclose(np.from_dlpack(last).sum(-1), 1, rtol=1e-5)


def test_local_functions() -> None:
    model = graph(
        "(float[n] x) => (float[n] y) { y = local.scaled<by = 3.0>(x) }",
        functions="""<domain: "local", opset_import: ["" : 18]>
        scaled <by>(v) => (w) { factor = Constant<value_float: float = @by>()
          w = Mul(v, factor) }""",
    )
    check(model, {"x": random(3)})


def test_largest_elements_with_ties_and_nan() -> None:
    model = graph("""(float[n, 5] x) => (float[n, 3] y, int64[n, 3] i) {
      k = Constant<value = int64[1] {3}>()
      y, i = TopK(x, k)
    }""")
    x = np.array([[1, 2, 2, 0, 2], [-np.inf, -np.inf, -np.inf, 1, -np.inf]], "float32")
    session = check(model, {"x": x})
    y, i = session.run(None, {"x": np.array([[1, np.nan, 2, 0, np.nan]], "float32")})
    np.testing.assert_array_equal(y, np.array([[np.nan, np.nan, 2]], "float32"))
    np.testing.assert_array_equal(i, [[1, 4, 2]])


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_networks_of_symbolic_batches(kind: str) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    weights = {"w": random(1, gates * 4, 3), "r": random(1, gates * 4, 4),
               "b": random(1, gates * 8)}  # fmt: skip
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y", "h"], hidden_size=4)
    model = model_of([node], {"x": [5, "batch", 3]}, ["y", "h"], weights)
    check(model, {"x": random(5, 2, 3)}, {"x": random(5, 1, 3)})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resized_images_of_symbolic_batches(mode: str) -> None:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode)
    scales = {"scales": np.array([1, 1, 2, 1.5], "float32")}
    model = model_of([node], {"x": ["n", 2, 4, 6]}, ["y"], scales)
    check(model, {"x": random(1, 2, 4, 6)}, {"x": random(3, 2, 4, 6)})


# -- control flow -------------------------------------------------------------------------------

BRANCH = """(%s float[n] x) => (float[n] y) {
  %s
  t = If(c) <
    then_branch = then () => (float[n] a) { a = Relu(x) },
    else_branch = else () => (float[n] b) { b = Neg(x) }
  >
  y = Add(t, x)
}"""


@pytest.mark.parametrize("truth", [0, 1])
def test_if_of_a_constant(truth: int) -> None:
    model = graph(BRANCH % ("", f"c = Constant<value = bool {{{truth}}}>()"))
    assert "relax.if" not in str(from_onnx(model))
    check(model, {"x": random(4)})


def test_if_of_a_tensor() -> None:
    model = graph(BRANCH % ("bool c,", ""))
    x = random(4)
    check(model, {"c": np.array(True), "x": x}, {"c": np.array(False), "x": x})


# -- errors -------------------------------------------------------------------------------------


def test_error_of_an_unknown_operator() -> None:
    model = graph("(float[2] x) => (float[2] y) { y = local.Strange(x) }")
    model.graph.node[0].name = "odd"
    with pytest.raises(NotImplementedError, match=r"'odd', local.Strange of opset 1: expected"):
        from_onnx(model)


def test_error_of_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"expected a .*model.*model\.onnx"):
        from_onnx(path)
    with pytest.raises(ValueError, match="expected a model with ir_version and a graph"):
        from_onnx(b"")
    with pytest.raises(FileNotFoundError):
        from_onnx(tmp_path / "none.onnx")


def test_error_of_versions() -> None:
    text = "(float[2] x) => (float[2] y) { y = Relu(x) }"
    with pytest.raises(NotImplementedError, match="of opset 7 or newer, but got 6"):
        from_onnx(graph("(float[2] x) => (float[2] y) { y = Add(x, x) }", opset=6))
    # What has not changed since is read.
    from_onnx(graph(text, opset=6))
    with pytest.raises(ValueError, match="or older, but got 9999: install a newer onnx"):
        from_onnx(graph(text, opset=9999))
    model = graph(text)
    model.ir_version = 1000
    with pytest.raises(ValueError, match="expected a model of ir_version up to"):
        from_onnx(model)


def test_error_of_a_missing_value() -> None:
    model = graph("(float[2] x) => (float[2] y) { y = Relu(z) }")
    with pytest.raises(ValueError, match=r"node 'y', Relu of opset 18: .* but got 'z'"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(float[2] x) => (float[2] y) { y = Exp(x)\n y = Sin(x) }",
            "node 'y', Sin of opset 18: expected outputs of new names, but 'y' has a value already",
        ),
        (
            "(float[2] x) => (float[2] y) { x = Exp(x)\n y = Sin(x) }",
            "expected outputs of new names, but 'x' has a value already",
        ),
        (
            "(float[2] x, float[3] x) => (float[2] y) { y = Exp(x) }",
            "expected inputs of distinct names, but got 'x' twice",
        ),
        (
            "(float[2] x) => (float[2] y) { y = Softmax<axes=0>(x) }",
            "expected attributes of Softmax (axis), but got 'axes'; did you mean 'axis'?",
        ),
        ("(float[2] x) => () { }", "expected a graph with outputs, but got one without"),
        (
            "(float[2, 3] x, float[3] y) => (float[N] z) { z = Concat<axis=0>(x, y) }",
            "node 'z', Concat of opset 18: expected tensors of the same rank, but got ranks [2, 1]",
        ),
    ],
)
def test_error_of_a_model_that_contradicts_itself(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        from_onnx(graph(text))


@pytest.mark.parametrize(
    ("dims", "elements", "message"),
    [
        ([-2], [1, 2], "expected dimensions of 0 or more of tensor 'w', but got [-2]"),
        ([2], [1], "expected the elements of tensor 'w', float32[2], but got others"),
    ],
)
def test_error_of_elements(dims: list[int], elements: list[float], message: str) -> None:
    model = graph("(float[2] x) => (float[2] y) { y = Add(x, w) }")
    tensor = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT)
    tensor.dims.extend(dims)
    tensor.float_data.extend(elements)
    with pytest.raises(ValueError, match=re.escape(message)):
        from_onnx(model)


def test_negative_dimensions_are_not_known() -> None:
    model = graph("(float[2, 4] x) => (float[2, 4] y) { y = Relu(x) }")
    for one in (*model.graph.input, *model.graph.output):
        one.type.tensor_type.shape.dim[0].dim_value = -1
    check(model, {"x": random(3, 4)})


def test_error_of_a_stated_output() -> None:
    model = graph("(float[2] x) => (float[3] y) { y = Relu(x) }")
    with pytest.raises(ValueError, match="expected output 'y' of float32 and shape"):
        from_onnx(model)


def test_error_of_data_types() -> None:
    model = graph("(string[2] x) => (string[2] y) { y = Identity(x) }")
    with pytest.raises(NotImplementedError, match=r"input 'x': expected a data type .* STRING"):
        from_onnx(model)


def test_error_of_data_dependent_shapes() -> None:
    model = graph("(float[4] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }")
    with pytest.raises(NotImplementedError, match="expected a shape that is known at import"):
        from_onnx(model)


def test_error_of_a_size_that_does_not_fit() -> None:
    model = graph("(float[4] x, float[3] y) => (float[4] z) { z = Add(x, y) }")
    with pytest.raises(ValueError, match=r"'z', Add of opset 18: expected dimensions \['3'\]"):
        from_onnx(model)


# -- external data ------------------------------------------------------------------------------


def saved(folder: Path) -> Path:
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], {"x": ["n", 4]}, ["y"], {"w": random(4)}
    )
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    return path


def test_external_data(tmp_path: Path) -> None:
    path = saved(tmp_path)
    x = random(2, 4)
    (y,) = InferenceSession(path).run(None, {"x": x})
    np.testing.assert_allclose(y, x + read_params(path)["w"])
    check(onnx.load(path), {"x": x})


def test_large_weights_stay_in_their_file(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Add", "zb", ["y"])]
    model = model_of(nodes, {"x": ["n", 32]}, ["y"], {"w": random(32, 64), "b": random(64)})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    read, folder = load(path, in_place=True)
    by_name = {weight.name: weight for weight in read.graph.initializer}
    assert not by_name["w"].raw_data
    assert by_name["b"].raw_data
    for weight in model.graph.initializer:
        expected = numpy_helper.to_array(weight)
        np.testing.assert_array_equal(array_of(by_name[weight.name], folder), expected)
        by_name[weight.name].CopyFrom(weight)
    assert read == model
    mod = from_onnx(path)
    path.unlink()
    x = random(3, 32)
    result = np.from_dlpack(relax.VirtualMachine(relax.compile(mod))["main"](x))
    w, b = (numpy_helper.to_array(weight) for weight in model.graph.initializer)
    np.testing.assert_allclose(result, x @ w + b, rtol=1e-4, atol=1e-4)


def test_error_of_a_file_that_ends_early(tmp_path: Path) -> None:
    model = model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": ["n", 32]},
        ["y"],
        {"w": random(32, 64)},
    )
    path = tmp_path / "model.onnx"
    whole = model.SerializeToString()
    for size in range(1, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="expected a"):
            from_onnx(path)
    model.graph.initializer[0].dims[0] = 33
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="expected 8448 bytes of tensor 'w', float32"):
        from_onnx(path)


def test_error_of_external_data(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(ValueError, match="expected the path of the model, as tensor 'w' is in"):
        from_onnx(path.read_bytes())
    model = onnx.load(path, load_external_data=False)
    entry = next(one for one in model.graph.initializer[0].external_data if one.key == "location")
    entry.value = "../data.bin"
    outside = tmp_path / "in" / "model.onnx"
    outside.parent.mkdir()
    onnx.save(model, outside)
    with pytest.raises(ValueError, match=r"'w' in the folder of the model, but got '\.\./data"):
        from_onnx(outside)
    (tmp_path / "data.bin").write_bytes(b"1234")
    with pytest.raises(ValueError, match="expected 16 bytes of tensor 'w'"):
        from_onnx(path)
    (tmp_path / "data.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"external data of tensor 'w' in 'data.bin'"):
        from_onnx(path)


# -- sessions -----------------------------------------------------------------------------------


def test_session() -> None:
    model = graph("""(float[n, 4] x, int64[n] i) => (float[n, 4] y, int64[n] j) {
      y = Relu(x)
      j = Add(i, i)
    }""")
    session = InferenceSession(model.SerializeToString())
    assert [(one.name, one.shape, one.type) for one in session.get_inputs()] == [
        ("x", ["n", 4], "tensor(float)"),
        ("i", ["n"], "tensor(int64)"),
    ]
    assert [one.name for one in session.get_outputs()] == ["y", "j"]
    x, i = random(3, 4), np.arange(3)
    (j,) = session.run(["j"], {"x": x, "i": i})
    np.testing.assert_array_equal(j, i * 2)


def test_error_of_session() -> None:
    session = InferenceSession(graph("(float[2] x) => (float[2] y) { y = Relu(x) }"))
    with pytest.raises(ValueError, match=r"expected inputs \['x'\], but got \['z'\]"):
        session.run(None, {"z": random(2)})
    with pytest.raises(ValueError, match=r"expected outputs of \['y'\], but got \['z'\]"):
        session.run(["z"], {"x": random(2)})
    with pytest.raises(ValueError, match="expected input 'x' of float32, but got float64"):
        session.run(None, {"x": np.zeros(2)})


def test_package_does_not_need_onnx() -> None:
    code = "import sys; import relax_mlir; sys.exit('onnx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_error_without_onnx() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "try: import relax_mlir.frontend.onnx\n"
        "except ImportError as error: assert \"pip install 'onnx>=1.19'\" in str(error)\n"
        "else: sys.exit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------------------------
# com.microsoft
# ------------------------------------------------------------------------------------------------

erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + erf(x / np.sqrt(2)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def normalized(x: np.ndarray, *, epsilon: float, centred: bool) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True) if centred else x
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


V = np.linspace(0.5, 1.5, 4)
MICROSOFT = [
    ("Gelu", ["x"], {}, lambda x, s: gelu(x)),
    ("BiasGelu", ["x", "v"], {}, lambda x, s: gelu(x + V)),
    ("FastGelu", ["x"], {}, lambda x, s: gelu_tanh(x)),
    ("FastGelu", ["x", "v"], {}, lambda x, s: gelu_tanh(x + V)),
    ("QuickGelu", ["x"], {}, lambda x, s: x / (1 + np.exp(-1.702 * x))),
    ("QuickGelu", ["x"], {"alpha": 0.5}, lambda x, s: x / (1 + np.exp(-0.5 * x))),
    ("SkipLayerNormalization", ["x", "s", "v", "v", "v"], {"epsilon": 1e-5},
     lambda x, s: normalized(x + s + V, epsilon=1e-5, centred=True) * V + V),
    ("SkipLayerNormalization", ["x", "s", "v"], {},
     lambda x, s: normalized(x + s, epsilon=1e-12, centred=True) * V),
    ("SimplifiedLayerNormalization", ["x", "v"], {"epsilon": 1e-3},
     lambda x, s: normalized(x, epsilon=1e-3, centred=False) * V),
    ("SkipSimplifiedLayerNormalization", ["x", "s", "v", "v"], {},
     lambda x, s: normalized(x + s + V, epsilon=1e-12, centred=False) * V),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "attributes", "wanted"), MICROSOFT)
def test_operators_of_onnxruntime(
    name: str, inputs: list[str], attributes: dict[str, float], wanted: Any
) -> None:
    node = helper.make_node(name, inputs, ["y"], domain="com.microsoft", **attributes)
    dims = {"x": ["n", 4], "s": ["n", 4]}
    model = model_of([node], dims, ["y"], {"v": V.astype("float32")})
    x, s = random(3, 4), random(3, 4)
    (got,) = InferenceSession(model).run(None, {"x": x, "s": s})
    np.testing.assert_allclose(got, wanted(x.astype("float64"), s), rtol=2e-6, atol=2e-6)


def test_sums_of_skip_normalization_are_results() -> None:
    node = helper.make_node(
        "SkipLayerNormalization", ["x", "s", "v"], ["y", "", "", "sum"], domain="com.microsoft"
    )
    dims = {"x": ["n", 4], "s": ["n", 4]}
    model = model_of([node], dims, ["y", "sum"], {"v": V.astype("float32")})
    x, s = random(3, 4), random(3, 4)
    _, total = InferenceSession(model).run(None, {"x": x, "s": s})
    np.testing.assert_array_equal(total, x + s)
