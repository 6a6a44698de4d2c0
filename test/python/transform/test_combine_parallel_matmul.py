# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that share their left matrix become one (RF16)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import CombineParallelMatmul

ACTIVATIONS = {
    "relu": op.nn.relu,
    "gelu": op.nn.gelu,
    "gelu_tanh": op.nn.gelu_tanh,
    "silu": op.nn.silu,
}


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(
    rights: list[tuple[Any, ...]],
    biases: list[tuple[Any, ...] | None] | None = None,
    activations: list[str | None] | None = None,
    left: tuple[Any, ...] = ("m", 6),
    dataflow: bool = True,
) -> Any:
    """Return a module with one branch for each right matrix, all of which are returned."""
    biases = biases or [None] * len(rights)
    activations = activations or [None] * len(rights)
    params = [tensor("x", *left)]
    params += [tensor(f"w{i}", *shape) for i, shape in enumerate(rights)]
    given = [tensor(f"b{i}", *shape) for i, shape in enumerate(biases) if shape is not None]

    def write(bb: Any) -> list[Any]:
        rest = iter(given)
        results = []
        for w, bias, activation in zip(params[1:], biases, activations, strict=True):
            value = bb.emit(op.matmul(params[0], w))
            if bias is not None:
                value = bb.emit(op.add(value, next(rest)))
            if activation is not None:
                value = bb.emit(ACTIVATIONS[activation](value))
            results.append(value)
        return results

    bb = relax.BlockBuilder()
    with bb.function("main", [*params, *given]):
        if dataflow:
            with bb.dataflow():
                out = bb.emit_output(relax.op.tuple(*write(bb)))
        else:
            out = relax.op.tuple(*write(bb))
        bb.emit_func_output(out)
    return bb.get()


def names(mod: Any) -> list[str]:
    """Return the operators of `main`, in order."""
    found = []

    def visit(operation: Any) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    found.append(inner.operation.name.removeprefix("relax."))
                    visit(inner.operation)

    visit(mod["main"].operation)
    return [name for name in found if name not in ("dataflow", "output", "return", "tuple")]


def check(mod: Any, sizes: dict[str, int]) -> Any:
    """Compare what is combined with what was given, on random numbers; return it."""
    combined = CombineParallelMatmul()(mod)
    rng = np.random.default_rng(0)
    arguments = []
    for param in mod["main"].body.blocks[0].arguments:
        text = [str(dim).removeprefix("#relax.expr<").rstrip(">") for dim in param.type.shape]
        dims = [sizes[dim] if dim in sizes else int(dim) for dim in text]
        arguments.append(rng.standard_normal(dims).astype("float32"))

    def run(module: Any) -> list[np.ndarray]:
        main = relax.VirtualMachine(relax.compile(module, opt_level=1))["main"]
        return [np.from_dlpack(field) for field in main(*arguments)]

    for one, other in zip(run(combined), run(mod), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    return combined


GET3 = ["get_item"] * 3


@pytest.mark.parametrize("dataflow", [True, False])
def test_rf16_products_become_one(dataflow: bool, exec_mode: str) -> None:
    mod = build([(6, 5), (6, 3), (6, 7)], dataflow=dataflow)
    combined = check(mod, {"m": 4})
    assert names(combined) == ["concat", "matmul", "split", *GET3]
    assert "indices = array<i64: 5, 8>" in str(combined)
    assert names(mod) == ["matmul"] * 3, "what is given is not changed"


@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
@pytest.mark.parametrize("bias", [True, False])
def test_what_follows_in_all_branches_is_part_of_it(activation: str | None, bias: bool) -> None:
    mod = build([(6, 5), (6, 3)], [(5,), (3,)] if bias else None, [activation, activation])
    wanted = ["concat", "matmul"] + ["concat", "add"] * bias + ([activation] if activation else [])
    assert names(check(mod, {"m": 3})) == [*wanted, "split", "get_item", "get_item"]


@pytest.mark.parametrize(
    ("biases", "activations", "wanted"),
    [
        ([(5,), None], None, ["split", "get_item", "add", "get_item"]),
        ([(5,), (1, 3)], None, ["split", "get_item", "add", "get_item", "add"]),
        ([(5,), (3,)], ["relu", "silu"], ["concat", "add", "split"]),
        ([(5,), (3,)], ["relu", None], ["concat", "add", "split"]),
        ([(5,), None], ["relu", "relu"], ["split"]),
        (None, ["relu", None], ["split", "get_item", "relu", "get_item"]),
    ],
)
def test_what_follows_in_some_branches_stays(
    biases: Any, activations: Any, wanted: list[str]
) -> None:
    combined = names(check(build([(6, 5), (6, 3)], biases, activations), {"m": 3}))
    assert combined[2 : 2 + len(wanted)] == wanted


def test_bias_that_is_repeated_stays() -> None:
    # One element for all columns of a branch.
    combined = names(check(build([(6, 5), (6, 3)], [(1,), (1,)]), {"m": 3}))
    assert combined == ["concat", "matmul", "split", "get_item", "add", "get_item", "add"]


def test_bias_for_each_element() -> None:
    combined = names(check(build([(6, 5), (6, 3)], [("m", 5), ("m", 3)]), {"m": 3}))
    assert combined == ["concat", "matmul", "concat", "add", "split", "get_item", "get_item"]


def test_one_unknown_number_of_columns_comes_last() -> None:
    mod = build([(6, "n"), (6, 3), (6, "n")])
    combined = check(mod, {"m": 4, "n": 5})
    wanted = ["concat", "matmul", "split", "get_item", "get_item", "matmul"]
    assert names(combined) == wanted
    assert "indices = array<i64: 3>" in str(combined)


@pytest.mark.parametrize("batch", [(2, 6, 5), ("b", 6, 5)])
def test_batches(batch: tuple[Any, ...]) -> None:
    other = (batch[0], 6, 3)
    mod = build([batch, other], left=(batch[0], "m", 6))
    assert names(check(mod, {"m": 4, "b": 3}))[:3] == ["concat", "matmul", "split"]


def test_two_groups() -> None:
    mod = build([(6, 5), (2, 6, 3), (6, 4), (2, 6, 3)], left=(2, "m", 6))
    assert names(check(mod, {"m": 4})).count("matmul") == 2


@pytest.mark.parametrize(
    ("rights", "left"),
    [
        ([(6, 5)], ("m", 6)),  # one alone
        ([(6, 5), (6,)], ("m", 6)),  # a vector has no columns
        ([(6, 5), (2, 6, 3)], (2, "m", 6)),  # of other ranks
        ([(1, 6, 5), (2, 6, 3)], (2, "m", 6)),  # other batches
        ([(6, "n"), (6, "l")], ("m", 6)),  # two unknown numbers of columns
    ],
)
def test_what_is_not_combined(rights: Any, left: Any) -> None:
    mod = build(rights, left=left)
    assert names(CombineParallelMatmul()(mod)) == ["matmul"] * len(rights)


def test_other_left_matrices_are_not_combined() -> None:
    bb = relax.BlockBuilder()
    x, y, w = tensor("x", "m", 6), tensor("y", "m", 6), tensor("w", 6, 5)
    with bb.function("main", [x, y, w]):
        bb.emit_func_output(op.add(op.matmul(x, w), op.matmul(y, w)))
    assert names(CombineParallelMatmul()(bb.get())) == ["matmul", "matmul", "add"]


def test_product_that_another_one_is_made_of() -> None:
    # The second right matrix is not known before the first product.
    bb = relax.BlockBuilder()
    x, w = tensor("x", 6, 6), tensor("w", 6, 6)
    with bb.function("main", [x, w]):
        first = op.matmul(x, w)
        bb.emit_func_output(op.matmul(x, first))
    assert names(CombineParallelMatmul()(bb.get())) == ["matmul", "matmul"]


def test_product_as_the_bias_of_another_one() -> None:
    bb = relax.BlockBuilder()
    x, v, w = tensor("x", "m", 6), tensor("v", 6, 5), tensor("w", 6, 5)
    with bb.function("main", [x, v, w]):
        total = op.add(op.matmul(x, v), op.matmul(x, w))
        bb.emit_func_output(relax.op.tuple(total, total))
    combined = check(bb.get(), {"m": 3})
    assert names(combined) == ["concat", "matmul", "split", "get_item", "get_item", "add"]


def test_what_right_matrices_are_made_of_moves() -> None:
    bb = relax.BlockBuilder()
    x, v, w = tensor("x", "m", 6), tensor("v", 6, 5), tensor("w", 3, 6)
    with bb.function("main", [x, v, w]):
        first = op.nn.relu(op.matmul(x, v))
        second = op.nn.relu(op.matmul(x, op.permute_dims(w)))
        bb.emit_func_output(relax.op.tuple(first, second))
    combined = names(check(bb.get(), {"m": 3}))
    assert combined == ["permute_dims", "concat", "matmul", "relu", "split", "get_item", "get_item"]


def test_result_that_is_used_twice_stays() -> None:
    # The bias is added to one of two uses.
    bb = relax.BlockBuilder()
    x, v, w, b = tensor("x", "m", 6), tensor("v", 6, 5), tensor("w", 6, 5), tensor("b", 5)
    with bb.function("main", [x, v, w, b]):
        first, second = op.matmul(x, v), op.matmul(x, w)
        bb.emit_func_output(relax.op.tuple(op.add(first, b), first, op.add(second, b)))
    combined = names(check(bb.get(), {"m": 3}))
    assert combined == ["concat", "matmul", "split", "get_item", "get_item", "add", "add"]


def test_check_decides() -> None:
    mod = build([(6, 5), (6, 3)], [(5,), (3,)])
    seen = []

    def check_(x: Any, rights: Any, biases: Any, bindings: Any) -> bool:
        seen.append((str(x.type), [str(r.type) for r in rights], len(biases)))
        assert {made.name for made in bindings.values()} >= {"relax.matmul", "relax.add"}
        return False

    assert names(CombineParallelMatmul(check_)(mod)) == names(mod)
    wanted = ["!relax.tensor<[6, 5], f32>", "!relax.tensor<[6, 3], f32>"]
    assert seen == [("!relax.tensor<[m, 6], f32>", wanted, 2)]
