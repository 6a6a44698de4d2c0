# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX with integers of 2 and 4 bits, and floats of 4 and 8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import relax_mlir
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from relax_mlir.frontend.onnx import InferenceSession, from_onnx

NAMES = {
    TensorProto.INT4: "int4",
    TensorProto.UINT4: "uint4",
    TensorProto.INT2: "int2",
    TensorProto.UINT2: "uint2",
    TensorProto.FLOAT4E2M1: "float4_e2m1fn",
}


def parsed(text: str, opset: int = 25) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 13, opset_import: ["" : {opset}, "own" : 1]> agraph {text}'
    )


def check(model: Any, *inputs: np.ndarray, **options: Any) -> None:
    """Compare results, their data types as well, with those of ONNX's reference."""
    proto = model if isinstance(model, onnx.ModelProto) else onnx.load(model)
    feed = {one.name: x for one, x in zip(proto.graph.input, inputs, strict=True)}
    wanted = ReferenceEvaluator(proto).run(None, feed)
    got = InferenceSession(model, **options).run(None, feed)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(
            ours.astype("float32"), theirs.astype("float32"), rtol=1e-5, atol=1e-6
        )


def test_types_go_through_nodes_that_move_elements(exec_mode: str) -> None:
    model = parsed("""(float[n, 4] x, int4[1] like) => (int4[4, n] y, float[4, n] z) {
      a = CastLike(x, like)
      b = Transpose(a)
      c = Identity(b)
      z = Cast<to = 1>(c)
      moved = Add(z, z)
      y = CastLike(moved, c)
    }""")
    x = np.linspace(-9, 9, 12, dtype="float32").round().reshape(3, 4)
    check(model, x, np.zeros(1, ml_dtypes.int4), exec_mode=exec_mode)


def test_types_go_into_functions_and_branches() -> None:
    model = parsed("""(float[4] x, bool flag) => (uint4[4] y, float[4] w) {
      one = Constant<value = uint4[1] {1}>()
      a = own.like(x, one)
      y = If(flag) <
        then_branch = first () => (uint4[4] y1) { y1 = CastLike(x, a) },
        else_branch = second () => (uint4[4] y2) { y2 = Identity(a) }
      >
      w = Cast<to = 1>(a)
    }
    <domain: "own", opset_import: ["" : 25]>
    like (x, kind) => (y) { y = CastLike(x, kind) }""")
    x = np.array([-1, 3, 15, 18], "float32")
    for flag in (True, False):
        check(model, x, np.array(flag))


@pytest.mark.parametrize("kind", NAMES, ids=NAMES.values())
def test_constants_in_a_model_and_beside_it(kind: int, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, NAMES[kind]))
    codes = np.arange(15, dtype="uint8").reshape(3, 5) % (4 if dtype.name.endswith("2") else 16)
    constant = numpy_helper.from_array(codes.view(dtype), "c")
    graph = helper.make_graph(
        [helper.make_node("Cast", ["c"], ["wide"], to=TensorProto.FLOAT),
         helper.make_node("Add", ["x", "wide"], ["y"])],
        "constants",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 5])],
        [constant],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    x = np.zeros((3, 5), "float32")
    check(model, x)
    path = tmp_path / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    check(path, x)


@pytest.mark.parametrize("dtype", ["FLOAT8E4M3FN", "FLOAT8E5M2"])
def test_products_of_floats_of_8_bits(dtype: str, exec_mode: str) -> None:
    kind = getattr(TensorProto, dtype)
    model = parsed(f"""(float[n, 8] x, float[8, 6] w, float scale) => (float[n, 6] y) {{
      a = QuantizeLinear<output_dtype = {kind}>(x, scale)
      b = QuantizeLinear<output_dtype = {kind}>(w, scale)
      u = DequantizeLinear(a, scale)
      v = DequantizeLinear(b, scale)
      y = MatMul(u, v)
    }}""")
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 8)), rng.standard_normal((8, 6)) * 1e4
    check(model, x.astype("float32"), w.astype("float32"), np.float32(0.25), exec_mode=exec_mode)


@pytest.mark.parametrize("rounding", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two(rounding: str, saturate: int) -> None:
    model = parsed(f"""(float[n] x) => (float8e8m0[n] y) {{
      y = Cast<to = {TensorProto.FLOAT8E8M0}, round_mode = "{rounding}", saturate = {saturate}>(x)
    }}""")
    numbers = [0, 1, 1.25, 1.5, 1.75, 3, 1e-40, 1e-39, 3e38, np.inf, np.nan]
    check(model, np.array(numbers, "float32"))


def test_arguments_of_a_module_are_what_holds_them() -> None:
    model = parsed("(int4[n] x, float4e2m1[n] f) => (float[n] y) "
                   "{ a = Cast<to = 1>(x) b = Cast<to = 1>(f) y = Add(a, b) }")  # fmt: skip
    mod = from_onnx(model)
    types = [str(one.struct_info) for one in mod["main"].params]
    assert types == ["!relax.tensor<[n], i8>", "!relax.tensor<[n], f8E4M3FN>"]
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"]
    floats = np.array([0.5, 6]).astype(ml_dtypes.float8_e4m3fn)
    assert main(np.array([-8, 7], "int8"), floats).tolist() == [-7.5, 13]
    session = InferenceSession(model)
    assert [one.type for one in session.get_inputs()] == ["tensor(int4)", "tensor(float4e2m1fn)"]


def test_error_bits_of_a_part_of_a_byte() -> None:
    model = parsed(
        f"(int4[n] x) => (uint4[n] y) {{ y = BitCast<to = {TensorProto.UINT4}>(x) }}", 26
    )
    with pytest.raises(NotImplementedError, match="expected data types of a byte or more"):
        from_onnx(model)
