"""Models of ONNX in Q/DQ format, as quantizers write them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import relax_mlir as relax
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from relax_mlir.frontend.onnx import from_onnx
from relax_mlir.transform import FakeQuantizationToInteger

SHAPE = (2, 4, 6, 5)


class Graph:
    """Nodes and constants of a model."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def both(self, x, scale, zero):
        """A tensor that is rounded to codes and back."""
        parameters = [self.constant(np.float32(scale)), self.constant(zero)]
        codes = self.node("QuantizeLinear", x, *parameters)
        return self.node("DequantizeLinear", codes, *parameters)

    def weight(self, codes, scales, axis):
        parameters = [self.constant(scales), self.constant(np.zeros(len(scales), codes.dtype))]
        return self.node("DequantizeLinear", self.constant(codes), *parameters, axis=axis)

    def model(self, result, shape, opset=21):
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "qdq",
            [info("x", TensorProto.FLOAT, shape)],
            [info(result, TensorProto.FLOAT, ["n", None])],
            self.constants,
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        made.ir_version = 10
        onnx.checker.check_model(made)
        return made


def residual_block(dtype):
    """Two convolutions, a sum, a mean of pixels, and a layer with a bias of int32."""
    rng = np.random.default_rng(0)
    zero = np.array(128 if dtype == "uint8" else 0, dtype)
    g = Graph()
    x = g.both("x", 0.03, zero)
    y = x
    for size in (3, 1):
        codes = rng.integers(-127, 128, (4, 4, size, size)).astype("int8")
        weight = g.weight(codes, rng.uniform(0.002, 0.004, 4).astype("float32"), 0)
        bias = g.weight(rng.integers(-999, 999, 4).astype("int32"), np.full(4, 1e-4, "float32"), 0)
        y = g.node("Conv", y, weight, bias, pads=[size // 2] * 4)
        y = g.both(y, 0.05, zero)
    y = g.both(g.node("Relu", g.node("Add", x, y)), 0.05, zero)
    y = g.both(g.node("Flatten", g.node("GlobalAveragePool", y)), 0.02, zero)
    matrix = rng.integers(-127, 128, (3, 4)).astype("int8")
    weight = g.weight(matrix, rng.uniform(0.002, 0.004, 3).astype("float32"), 0)
    y = g.node("Gemm", y, weight, g.constant(rng.random(3).astype("float32")), transB=1)
    return g.model(g.both(y, 0.01, zero), ["n", *SHAPE[1:]])


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_blocks_are_computed_of_integers(dtype, mode):
    model = residual_block(dtype)
    mod = from_onnx(model)
    assert str(FakeQuantizationToInteger()(mod)).count("out_dtype = i32") == 3
    x = np.random.default_rng(1).standard_normal(SHAPE).astype("float32")
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    result = relax.VirtualMachine(relax.compile(mod, exec_mode=mode))["main"](x)
    assert np.abs(np.from_dlpack(result) - wanted).max() < 0.011


def weights_of_4_bits(kind, block):
    """A product by codes of 4 bits, with a scale for each column, or each block of one."""
    rng = np.random.default_rng(2)
    low, high = (-8, 7) if kind == TensorProto.INT4 else (0, 15)
    codes = rng.integers(low, high, (64, 9), endpoint=True)
    scales = rng.uniform(0.1, 0.2, (64 // block, 9) if block else 9).astype("float32")
    zeros = rng.integers(low, high, scales.shape, endpoint=True)
    g = Graph()
    names = [g.constant(scales)]
    for name, array in (("codes", codes), ("zeros", zeros)):
        g.constants.append(helper.make_tensor(name, kind, array.shape, array.ravel().tolist()))
    attributes = {"axis": 0, "block_size": block} if block else {"axis": 1}
    weight = g.node("DequantizeLinear", "codes", *names, "zeros", **attributes)
    return g, g.node("MatMul", "x", weight)


@pytest.mark.parametrize("block", [0, 32])
@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
def test_weights_of_4_bits(kind, block, tmp_path):
    g, result = weights_of_4_bits(kind, block)
    model = g.model(result, ["n", 64])
    x = np.random.default_rng(3).standard_normal((5, 64)).astype("float32")
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    main = relax.VirtualMachine(relax.compile(from_onnx(model)))["main"]
    np.testing.assert_allclose(np.from_dlpack(main(x)), wanted, rtol=1e-4, atol=1e-4)
    path = tmp_path / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    main = relax.VirtualMachine(relax.compile(from_onnx(path)))["main"]
    np.testing.assert_allclose(np.from_dlpack(main(x)), wanted, rtol=1e-4, atol=1e-4)
