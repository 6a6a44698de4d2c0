"""Parameters that are bound are constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_mlir.transform import BindParams


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(write: Any, *params: relax.Var) -> Any:
    bb = relax.BlockBuilder()
    with bb.function("main", [*params]):
        bb.emit_func_output(write(*params))
    return bb.get()


def run(mod: Any, *arguments: np.ndarray) -> np.ndarray:
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod))["main"](*arguments))


X = np.arange(12, dtype="float32").reshape(3, 4)
W = np.arange(8, dtype="float32").reshape(4, 2)
B = np.array([1, -1], "float32")


def linear() -> Any:
    params = tensor("x", "n", 4), tensor("w", 4, 2), tensor("b", 2)
    return build(lambda x, w, b: op.add(op.matmul(x, w), b), *params)


@pytest.mark.parametrize(
    ("bound", "rest"),
    [
        ({}, (X, W, B)),
        ({"w": W}, (X, B)),
        ({"b": B}, (X, W)),
        ({"b": tvm_ffi.from_dlpack(B), "w": W}, (X,)),
        ({tensor("w", 4, 2): W, "b": B}, (X,)),
    ],
)
def test_parameters_become_constants(bound: Any, rest: Any, exec_mode: str) -> None:
    mod = linear()
    made = BindParams("main", bound)(mod)
    assert str(made).count("relax.constant") == len(bound)
    np.testing.assert_array_equal(run(made, *rest), X @ W + B)
    assert "relax.constant" not in str(mod), "what is given is not changed"


def test_parameters_of_the_function_itself(exec_mode: str) -> None:
    mod = linear()
    _, w, b = mod["main"].params
    np.testing.assert_array_equal(run(BindParams("main", {w: W, b: B})(mod), X), X @ W + B)
    with pytest.raises(ValueError, match="expected each parameter once, but got w twice"):
        BindParams("main", {w: W, "w": W})(mod)
    inner = next(iter(mod["main"].body.blocks[0].operations)).operation.results[0]
    with pytest.raises(ValueError, match=r"expected the name of a parameter \(x, w, b\), but got"):
        BindParams("main", {inner: W})(mod)


def test_all_parameters(exec_mode: str) -> None:
    mod = build(op.add, tensor("a", 2), tensor("b", 2))
    np.testing.assert_array_equal(run(BindParams("main", {"a": B, "b": B})(mod)), B + B)


def test_products_of_bound_weights_become_one(exec_mode: str) -> None:
    params = tensor("x", "n", 4), tensor("v", 4, 2), tensor("w", 4, 2)
    mod = build(lambda x, v, w: relax.op.tuple(op.matmul(x, v), op.matmul(x, w)), *params)
    made = BindParams("main", {"v": W, "w": 2 * W})(mod)
    results = relax.VirtualMachine(relax.compile(made))["main"](X)
    for result, weight in zip(results, (W, 2 * W), strict=True):
        np.testing.assert_array_equal(np.from_dlpack(result), X @ weight)


@pytest.mark.parametrize("bound", ["x", "y"])
def test_shape_variables_are_bound_or_checked(bound: str, exec_mode: str) -> None:
    mod = build(op.add, tensor("x", "n", "m"), tensor("y", "n", "m"))
    made = BindParams("main", {bound: X})(mod)
    np.testing.assert_array_equal(run(made, X), X + X)
    with pytest.raises(ValueError, match="expected"):
        run(made, X[:2])


def test_types_that_say_less(exec_mode: str) -> None:
    w = relax.Var("w", relax.TensorStructInfo(ndim=2, dtype="float32"))
    mod = build(lambda w: w, w)
    np.testing.assert_array_equal(run(BindParams("main", {"w": W})(mod)), W)


@pytest.mark.parametrize(
    ("name", "bound", "message"),
    [
        ("other", {}, "expected the name of a Relax function, but got 'other'"),
        ("main", {"v": W}, r"expected the name of a parameter \(x, w, b\), but got 'v'"),
        (
            "main",
            {"w": W.T},
            r"f32> for 'w', but got !relax.tensor<\[2, 4\], f32>",
        ),
        ("main", {"w": W.astype("int32")}, r"for 'w', but got !relax.tensor<\[4, 2\], i32>"),
        ("main", {"w": B}, r"for 'w', but got !relax.tensor<\[2\], f32>"),
        ("main", {"x": X}, "expected another parameter with the shape variable n, which is in"),
    ],
)
def test_error_of_what_cannot_be_bound(name: str, bound: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BindParams(name, bound)(linear())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8"])
def test_tensors_of_torch(dtype):
    """NumPy has no bfloat16; a transposed tensor has other strides."""
    torch = pytest.importorskip("torch")
    weight = (torch.arange(12).reshape(4, 3) - 5).to(getattr(torch, dtype))
    params = [tensor(name, *dims, dtype=dtype) for name, dims in (("x", (2, 3)), ("w", (3, 4)))]
    mod = build(op.matmul, *params)
    x = torch.ones(2, 3).to(weight.dtype)
    made = BindParams("main", {"w": weight.t()})(mod)
    result = torch.from_dlpack(relax.VirtualMachine(relax.compile(made))["main"](x))
    assert torch.equal(result, x @ weight.t())
    none = torch.zeros(3, 0).to(weight.dtype)
    with pytest.raises(ValueError, match="expected a tensor of type"):
        BindParams("main", {"w": none})(mod)
