"""Products of one matrix with constants become one where programs are compiled (RF16)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import CombineParallelMatmul

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def tensor(name: str, *shape: Any) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32"))


def build(write: Any, *params: relax.Var) -> Any:
    """Return a module whose `main` is one dataflow block with the results that are written."""
    bb = relax.BlockBuilder()
    with bb.function("main", [*params]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.tuple(*write(*params)))
        bb.emit_func_output(out)
    return bb.get()


def compile_(mod: Any, folder: Path, **options: Any) -> tuple[Any, dict[str, str]]:
    """Return `main`, and the module after each phase by the name of the phase."""
    executable = relax.compile(mod, dump_phases=folder, **options)
    dumps = {path.stem[3:]: path.read_text() for path in folder.iterdir()}
    return relax.VirtualMachine(executable)["main"], dumps


def compare(mod: Any, folder: Path, *arguments: np.ndarray, **options: Any) -> dict[str, str]:
    """Compare results with those of a program whose products stay apart; return the phases."""
    main, dumps = compile_(mod, folder / "together", **options)
    apart, other = compile_(mod, folder / "apart", combine_matmuls=False, **options)
    assert other["optimize"].count("relax.split") == 0
    for one, two in zip(main(*arguments), apart(*arguments), strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), np.from_dlpack(two), rtol=2e-5, atol=2e-5)
    return dumps


W = [random(24, 16), random(24, 16), random(24, 10)]
B = [random(16), random(16), random(10)]


def project(x: Any) -> list[Any]:
    """Return three products with biases."""
    return [op.add(op.matmul(x, op.const(w)), op.const(b)) for w, b in zip(W, B, strict=True)]


def classes(text: str) -> list[str]:
    """Return the classes of the kernels of a module."""
    return re.findall(r'relax\.kernel_class = "(\w+)"', text)


@pytest.mark.parametrize("rows", [0, 1, 5, 70])
def test_rf16_products_with_constants_are_one_kernel(
    rows: int, exec_mode: str, tmp_path: Path
) -> None:
    dumps = compare(build(project, tensor("x", "m", 24)), tmp_path, random(rows, 24))
    # Folding leaves one product of one constant, and fusion puts the split into its kernel.
    assert dumps["optimize"].count("relax.matmul") == 1
    assert "relax.concat" not in dumps["optimize"]
    assert dumps["legalize"].count("relax.call_tir") == 1
    assert classes(dumps["kernels"]) == ["matmul"]


def test_concatenations_at_run_time_are_not_worthwhile(tmp_path: Path) -> None:
    mod = build(
        lambda x, v, w: [op.matmul(x, v), op.matmul(x, w)],
        tensor("x", "m", 24),
        tensor("v", 24, 16),
        tensor("w", 24, 10),
    )
    dumps = compare(mod, tmp_path, random(3, 24), W[0], W[2])
    assert dumps["optimize"].count("relax.matmul") == 2
    assert "relax.concat" not in dumps["optimize"]


def test_weights_that_are_transposed_are_constants(tmp_path: Path) -> None:
    mod = build(
        lambda x: [op.matmul(x, op.permute_dims(op.const(w.T.copy()))) for w in W],
        tensor("x", "m", 24),
    )
    dumps = compare(mod, tmp_path, random(4, 24))
    assert dumps["optimize"].count("relax.matmul") == 1
    assert "relax.permute_dims" not in dumps["optimize"]


@pytest.mark.parametrize("option", ["fuse", "fold_constants", "combine_matmuls"])
def test_each_option_keeps_products_apart(option: str, tmp_path: Path) -> None:
    mod = build(project, tensor("x", "m", 24))
    _, dumps = compile_(mod, tmp_path, **{option: False})
    assert dumps["optimize"].count("relax.matmul") == 3


def attend(x: Any, heads: int = 2, features: int = 12) -> list[Any]:
    """Return what attention makes of three products, each with its own weights."""
    width = heads * features

    def part(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        weight, bias = (rng.standard_normal(s).astype("float32") for s in ((width, width), width))
        made = op.add(op.matmul(x, op.const(weight)), op.const(bias))
        return op.permute_dims(op.reshape(made, (1, -1, heads, features)), (0, 2, 1, 3))

    q, k, v = map(part, range(3))
    scores = op.multiply(op.matmul(q, op.permute_dims(k, (0, 1, 3, 2))), features**-0.5)
    made = op.permute_dims(op.matmul(op.nn.softmax(scores, axis=-1), v), (0, 2, 1, 3))
    return [op.reshape(made, (1, -1, width))]


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_attention_is_found_behind_one_product(rows: int, exec_mode: str, tmp_path: Path) -> None:
    mod = build(attend, tensor("x", 1, "m", 24))
    dumps = compare(mod, tmp_path, random(1, rows, 24))
    assert sorted(classes(dumps["kernels"])) == ["attention", "matmul"]


def combined(*branches: Any) -> str:
    """Return what is made of branches of `x` where that is worthwhile, as text."""
    mod = build(lambda x: [branch(x) for branch in branches], tensor("x", "m", 24))
    return str(CombineParallelMatmul(worthwhile=True)(mod))


def product(number: int, x: Any) -> Any:
    return op.matmul(x, op.const(W[number]))


def test_operation_on_elements_stays_in_the_kernel_of_its_product() -> None:
    # A gate: the product of two products is computed in the kernel of one of them.
    gate = build(
        lambda x: [op.multiply(op.nn.silu(product(0, x)), product(1, x))], tensor("x", "m", 24)
    )
    assert str(CombineParallelMatmul()(gate)).count("relax.matmul") == 1
    assert str(CombineParallelMatmul(worthwhile=True)(gate)).count("relax.matmul") == 2
    # Only what is followed by it stays behind.
    text = combined(
        lambda x: product(0, x), lambda x: op.exp(product(1, x)), lambda x: product(2, x)
    )
    assert text.count("relax.matmul") == 2
    assert "relax.split" in text


def test_products_are_combined_with_those_that_are_followed_by_the_same() -> None:
    def biased(number: int, x: Any) -> Any:
        return op.add(product(number, x), op.const(B[number]))

    text = combined(
        lambda x: op.nn.relu(biased(0, x)),
        lambda x: biased(1, x),
        lambda x: op.nn.relu(biased(2, x)),
        lambda x: biased(0, x),
        lambda x: product(0, x),
    )
    assert text.count("relax.matmul") == 3
    assert text.count("relax.relu") == 1
    assert text.count("relax.add") == 2


@pytest.mark.parametrize(
    "branch",
    [
        lambda x: op.add(product(1, x), op.reshape(op.sum(x), (1,))),  # a bias that is computed
        lambda x: op.matmul(x, op.matmul(op.permute_dims(x), x)),  # a matrix that is computed
        lambda x: op.nn.leakyrelu(product(1, x)),
        lambda x: op.astype(product(1, x), "float64"),
        lambda x: op.clip(product(1, x), 0, 1),
    ],
)
def test_what_is_not_worthwhile_is_left_alone(branch: Any) -> None:
    assert "relax.split" not in combined(lambda x: product(0, x), branch)
