"""Rows of one element, and results of rows that are written in another order."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op


def run(write, shapes, *arrays, **options):
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(shapes)
    ]
    with bb.function("main", params):
        bb.emit_func_output(write(*params))
    main = relax.VirtualMachine(relax.compile(bb.get(), **options))["main"]
    return np.from_dlpack(main(*arrays))


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("shape", [("n", 1), ("n", 1, 1), (5, 1), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("name", ["softmax", "sum", "max", "mean", "layer_norm"])
def test_reductions_of_one_element(exec_mode, shape, name):
    """A dimension that is known to be 1 is no loop, so nothing is left to reduce over."""
    x = random(*(5 if size == "n" else size for size in shape))
    gamma, beta = random(1), random(1) + 1
    axes = list(range(1, len(shape))) if shape[0] != 1 else [0, 1, 2]
    wanted = {
        "softmax": np.ones_like(x),
        "sum": x.sum(tuple(axes)),
        "max": x.max(tuple(axes), keepdims=True),
        "mean": x.mean(tuple(axes)),
        "layer_norm": np.broadcast_to(beta, x.shape),
    }[name]
    write = {
        "softmax": lambda x: op.nn.softmax(x),
        "sum": lambda x: op.sum(x, axis=axes),
        "max": lambda x: op.max(x, axis=axes, keepdims=True),
        "mean": lambda x: op.mean(x, axis=axes),
        "layer_norm": lambda x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]),
    }[name]
    more = [(1,), (1,)] if name == "layer_norm" else []
    arrays = [gamma, beta] if name == "layer_norm" else []
    result = run(write, [shape, *more], x, *arrays)
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


# Exponentials of rows, which a kernel keeps, over their sum: written with the dimensions exchanged.
# The row of the output is no place for the exponentials, as their vectors would not be contiguous.
TRANSPOSED = """
#full = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>
module {
  relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32> {
    %0 = relax.call_tir @kernel(%x) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32>
    relax.return %0 : !relax.tensor<[m, n], f32>
  }
  func.func private @kernel(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x?xf32>
    %m = tensor.dim %x, %c1 : tensor<?x?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %t = tensor.empty(%n, %m) : tensor<?x?xf32>
    %exp = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%t : tensor<?x?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %o, %a : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %quotient = linalg.generic {indexing_maps = [#full, #row, #turned], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%out : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    return %quotient : tensor<?x?xf32>
  }
}
"""  # noqa: E501 (the lines of MLIR)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 16), (17, 33), (40, 130), (2, 0), (0, 3)])
def test_rows_written_as_columns(exec_mode, shape):
    main = relax.VirtualMachine(relax.compile(TRANSPOSED))["main"]
    x = random(*shape)
    exps = np.exp(x.astype("float64"))
    wanted = (exps / exps.sum(1, keepdims=True)).T
    np.testing.assert_allclose(np.from_dlpack(main(x)), wanted, rtol=3e-6)
