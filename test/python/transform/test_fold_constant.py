# ruff: noqa: E501 (the lines of MLIR)
"""Values that depend on constants alone are computed when a program is compiled."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir
import tvm_ffi
from relax_mlir import op
from relax_mlir.transform import FoldConstant


def build(write, *params):
    bb = relax_mlir.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(write(*params))
    return bb.get()


def tensor(name, *shape):
    return relax_mlir.Var(name, relax_mlir.TensorStructInfo(shape, "float32"))


def names(mod) -> list[str]:
    return [op.operation.name for op in mod["main"].body.blocks[0].operations]


def run(mod, *arguments, **options):
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, **options))["main"]
    return np.from_dlpack(main(*arguments))


W = np.arange(12, dtype="float32").reshape(3, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "bool", "float16"])
def test_folds_chains(dtype: str) -> None:
    w = W.astype(dtype)
    folded = FoldConstant()(build(lambda: op.reshape(op.permute_dims(op.const(w)), (2, 6))))
    assert names(folded) == ["relax.constant", "relax.return"]
    got = run(folded, fold_constants=False)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, w.T.reshape(2, 6))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize(
    "w", [np.float32([[1.0, -0.3, 1e-3], [0, 7.7, -2.51]]), np.array(0.7, "float32")]
)
def test_folds_floats_that_numpy_lacks(w: np.ndarray, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    folded = FoldConstant()(build(lambda: op.permute_dims(op.astype(op.const(w), dtype))))
    assert names(folded) == ["relax.constant", "relax.return"]
    made = relax_mlir.VirtualMachine(relax_mlir.compile(folded, fold_constants=False))["main"]()
    expected = torch.from_numpy(np.array(w.T)).to(getattr(torch, dtype))
    assert torch.equal(torch.from_dlpack(made).float(), expected.float())


def test_folds_what_parameters_need(exec_mode: str) -> None:
    mod = build(
        lambda x: op.matmul(x, op.permute_dims(op.multiply(op.const(W), 2.0))), tensor("x", "n", 4)
    )
    assert sorted(names(FoldConstant()(mod))) == ["relax.constant", "relax.matmul", "relax.return"]
    x = np.ones((5, 4), dtype="float32")
    for fold in (True, False):
        np.testing.assert_allclose(run(mod, x, fold_constants=fold), x @ (2 * W).T)


def test_folds_a_value_that_several_use() -> None:
    def write(x):
        w = op.exp(op.const(W[0]))
        return op.add(op.multiply(x, w), op.negative(w))

    folded = FoldConstant()(build(write, tensor("x", 4)))
    assert names(folded).count("relax.constant") == 2
    assert "relax.exp" not in names(folded)
    x = np.ones(4, dtype="float32")
    np.testing.assert_allclose(run(folded, x), np.zeros(4), atol=1e-6)


def test_folds_in_branches_and_dataflow_blocks() -> None:
    mod = FoldConstant()(
        """
        relax.func @main(%c: !relax.tensor<[], i1>) -> !relax.tensor<[2], f32> {
          %w = relax.constant dense<[1.0, 4.0]> : tensor<2xf32>
          %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[2], f32> {
            %1 = relax.sqrt %w : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
            relax.yield %1 : !relax.tensor<[2], f32>
          } else {
            %1 = relax.dataflow -> !relax.tensor<[2], f32> {
              %2 = relax.negative %w : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
              relax.output %2 : !relax.tensor<[2], f32>
            }
            relax.yield %1 : !relax.tensor<[2], f32>
          }
          relax.return %0 : !relax.tensor<[2], f32>
        }"""
    )
    assert "relax.sqrt" not in str(mod)
    assert "relax.negative" not in str(mod)
    assert run(mod, np.array(True)).tolist() == [1, 2]
    assert run(mod, np.array(False)).tolist() == [-1, -4]


KERNELS = """
    func.func private @twice(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %0 = linalg.add ins(%a, %a : tensor<2xf32>, tensor<2xf32>) outs(%b : tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    func.func private @outside(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32>
    func.func private @calls(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @twice(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""


@pytest.mark.parametrize(("kernel", "is_folded"), [("twice", 1), ("outside", 0), ("calls", 0)])
def test_folds_calls_of_kernels(kernel: str, is_folded: bool) -> None:
    mod = FoldConstant()(
        f"""{KERNELS}
    relax.func @main() -> !relax.tensor<[2], f32> {{
      %w = relax.constant dense<[1.0, 4.0]> : tensor<2xf32>
      %0 = relax.call_tir @{kernel}(%w) : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
      %1 = relax.call_tir @{kernel}(%0) : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
      relax.return %1 : !relax.tensor<[2], f32>
    }}"""
    )
    assert ("relax.call_tir" not in names(mod)) == is_folded
    if is_folded:
        assert run(mod, fold_constants=False).tolist() == [4, 16]


def test_keeps_what_would_grow() -> None:
    mod = build(lambda: op.broadcast_to(op.const(1.0), (1024, 1024)))
    assert "relax.broadcast_to" in names(FoldConstant()(mod))
    assert (run(mod) == 1).all()


def test_folds_what_takes_numbers() -> None:
    """But no expressions over shape variables."""
    folded = FoldConstant()(build(lambda: op.clip(op.const(W), 2, 7.5)))
    assert "relax.clip" not in names(folded)
    np.testing.assert_array_equal(run(folded), np.clip(W, 2, 7.5))
    n = relax_mlir.shape_var("n")
    kept = build(lambda x: op.clip(op.const(W), 0, op.prim_value(n)), tensor("x", "n"))
    assert "relax.clip" in names(FoldConstant()(kept))
    np.testing.assert_array_equal(run(kept, np.zeros(5, "float32")), np.clip(W, 0, 5))


def test_keeps_calls_and_symbolic_shapes() -> None:
    text = """
    relax.func private @impure(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32> {
      relax.return %x : !relax.tensor<[2], f32>
    }
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n, 1], f32> {
      %w = relax.constant dense<[[1.0]]> : tensor<1x1xf32>
      %v = relax.constant dense<[1.0, 4.0]> : tensor<2xf32>
      %0 = relax.call @impure(%v) : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
      %s = relax.shape <[n, 1]>
      %1 = relax.broadcast_to %w, %s : (!relax.tensor<[1, 1], f32>, !relax.shape<[n, 1]>) -> !relax.tensor<[n, 1], f32>
      relax.return %1 : !relax.tensor<[n, 1], f32>
    }"""
    assert str(FoldConstant()(text)) == str(relax_mlir.IRModule(text).module)


# apache/tvm issues 20193 and 20260: reshapes to shapes that are known when the program runs.
def test_reshape_to_a_shape_at_run_time() -> None:
    text = """
    relax.func @main(%s: !relax.shape<[a, b]>) -> !relax.tensor<[a, b], f32> {
      %w = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %e = relax.exp %w : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      %0 = relax.reshape %e, %s : (!relax.tensor<[4], f32>, !relax.shape<[a, b]>) -> !relax.tensor<[a, b], f32>
      relax.return %0 : !relax.tensor<[a, b], f32>
    }"""
    folded = FoldConstant()(text)
    assert "relax.reshape" in names(folded)
    assert "relax.exp" not in names(folded)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(folded))["main"]
    assert np.from_dlpack(main(tvm_ffi.Shape([2, 2]))).shape == (2, 2)
