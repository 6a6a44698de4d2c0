# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneDNN computes products and convolutions (RF15)."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import backend, op
from relax_mlir.backend import Cost, CostCache, dnnl, partition_for_dnnl
from relax_mlir.backend.dnnl import execution
from relax_mlir.dpl import is_op, make_fused_bias_activation_pattern, wildcard
from relax_mlir.script import from_source
from relax_mlir.transform import (
    FuseOpsByPattern,
    MergeCompositeFunctions,
    RunCodegen,
    Sequential,
)

# The name `measure` of the package is the function.
measurement = importlib.import_module("relax_mlir.backend.measure")

needs_library = pytest.mark.skipif(
    not dnnl.is_available(),
    reason="needs libdnnl.so.3 of oneDNN: pip install onednn-cpu-gomp",
)

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(params: Sequence[relax.Var], write: Any) -> Any:
    """Return a module of a function with one dataflow block."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(write(*(param.value for param in params)))
        bb.emit_func_output(out)
    return bb.get()


def activate(name: str, x: Any) -> Any:
    """Insert an activation."""
    return getattr(op.nn if name in ("relu", "gelu", "gelu_tanh", "silu") else op, name)(x)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def regions(mod: Any) -> list[str]:
    return [name for name, f in mod.functions.items() if "Codegen" in f.attrs]


def check(mod: Any, *args: np.ndarray, count: int = 1, **options: Any) -> Any:
    """Compare what a program computes with oneDNN and without; return the partitioned module."""
    parts = partition_for_dnnl(mod, **options)
    assert len(regions(parts)) == count
    expected = relax.VirtualMachine(relax.compile(mod))["main"](*args)
    found = relax.VirtualMachine(relax.compile(RunCodegen()(parts)))["main"](*args)
    expected, found = (
        [each] if hasattr(each, "__dlpack__") else each for each in (expected, found)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), np.from_dlpack(other), rtol=1e-3, atol=1e-4)
    return parts


# ---------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------


@needs_library
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_rf15_product_with_bias_and_activation(activation: str | None, exec_mode: str) -> None:
    params = [tensor("x", "m", 8), tensor("w", 8, 6), tensor("b", 6)]

    def write(x: Any, w: Any, b: Any) -> Any:
        y = op.add(op.matmul(x, w), b)
        return y if activation is None else activate(activation, y)

    parts = check(build(params, write), *arrays((5, 8), (8, 6), (6,)))
    suffix = f"_{activation}" if activation else ""
    assert f'Composite = "dnnl.matmul_bias{suffix}"' in str(parts)


@needs_library
@pytest.mark.parametrize(
    ("left", "right", "transposed"),
    [
        ((4, 8), (8, 6), False),
        ((4, 8), (6, 8), True),
        ((2, 3, 8), (8, 6), False),
        ((2, 3, 8), (6, 8), True),
        ((2, 3, 8), (2, 8, 5), False),
        ((2, 3, 8), (2, 5, 8), True),
        ((2, 3, 4, 8), (3, 8, 5), False),
        ((1, 3, 8), (2, 8, 5), False),
        ((3, 3, 8), (1, 8, 5), False),
        ((1, 8), (8, 1), False),
        ((1, 1), (1, 1), False),
    ],
)
def test_rf15_shapes_of_products(
    left: tuple[int, ...], right: tuple[int, ...], transposed: bool, exec_mode: str
) -> None:
    axes = [*range(len(right) - 2), len(right) - 1, len(right) - 2]

    def write(x: Any, w: Any) -> Any:
        return op.matmul(x, op.permute_dims(w, axes) if transposed else w)

    parts = check(build([tensor("x", *left), tensor("w", *right)], write), *arrays(left, right))
    assert "relax.permute_dims %" not in str(parts["main"])


@needs_library
def test_rf15_sizes_are_those_of_the_call(exec_mode: str) -> None:
    """One program for any number of rows, columns and batches; empty ones, too."""
    params = [tensor("x", "batch", "rows", 8), tensor("w", 8, "columns"), tensor("b", "columns")]
    mod = build(params, lambda x, w, b: op.nn.relu(op.add(op.matmul(x, w), b)))
    parts = partition_for_dnnl(mod)
    assert len(regions(parts)) == 1
    main = relax.VirtualMachine(relax.compile(RunCodegen()(parts)))["main"]
    for batch, rows, columns in [(1, 1, 1), (2, 3, 5), (4, 7, 2), (2, 3, 5), (0, 3, 5), (2, 0, 5)]:
        x, w, b = arrays((batch, rows, 8), (8, columns), (columns,))
        expected = np.maximum(x @ w + b, 0)
        np.testing.assert_allclose(np.from_dlpack(main(x, w, b)), expected, rtol=1e-4, atol=1e-4)


@needs_library
def test_rf15_arguments_with_gaps(exec_mode: str) -> None:
    """Views of NumPy come as they are."""
    mod = build([tensor("x", "n", 8), tensor("w", 8, 8)], op.matmul)
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partition_for_dnnl(mod))))["main"]
    x, w = arrays((10, 8), (8, 16))
    views = [(x[1:], w[:, :8]), (x[::2], w[:, 8:]), (x[::-1], np.asfortranarray(w[:, :8]))]
    for left, right in views:
        found = np.from_dlpack(main(left, right))
        np.testing.assert_allclose(found, left @ right, rtol=1e-4, atol=1e-5)


@needs_library
def test_rf15_parts_of_tensors(exec_mode: str) -> None:
    """A view within the program begins in the middle of a tensor."""
    mod = build(
        [tensor("x", 4, 8), tensor("w", 8, 8)],
        lambda x, w: op.matmul(op.memory.view(x, (2, 8), relative_byte_offset=64), w),
    )
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partition_for_dnnl(mod))))["main"]
    x, w = arrays((4, 8), (8, 8))
    np.testing.assert_allclose(np.from_dlpack(main(x, w)), x[2:] @ w, rtol=1e-4, atol=1e-5)


@needs_library
def test_rf15_primitives_of_old_sizes_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "MAX_PLANS", 2)
    mod = build([tensor("x", "n", 4), tensor("w", 4, 4)], op.matmul)
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partition_for_dnnl(mod))))["main"]
    for rows in (1, 2, 3, 4, 1, 4):
        x, w = arrays((rows, 4), (4, 4))
        np.testing.assert_allclose(np.from_dlpack(main(x, w)), x @ w, rtol=1e-4, atol=1e-5)


@needs_library
def test_rf15_sums(exec_mode: str) -> None:
    params = [tensor("x", "n", 8), tensor("w", 8, 8), tensor("b", 8), tensor("r", "n", 8)]

    def write(x: Any, w: Any, b: Any, r: Any) -> Any:
        y = op.nn.relu(op.add(op.add(op.matmul(x, w), b), r))
        return op.add(r, op.matmul(y, w))  # in the other order, without a bias

    parts = check(build(params, write), *arrays((3, 8), (8, 8), (8,), (3, 8)))
    assert 'Composite = "dnnl.matmul_bias_sum_relu"' in str(parts)
    assert 'Composite = "dnnl.matmul_sum"' in str(parts)


@needs_library
def test_rf15_chain_is_one_function(exec_mode: str) -> None:
    """Values on the way, one of which is a result, too."""
    params = [tensor("x", "n", 8), tensor("w", 8, 8)]

    def write(x: Any, w: Any) -> Any:
        y = op.nn.relu(op.matmul(x, w))
        z = op.nn.gelu(op.matmul(y, w))
        return op.tuple(z, y)

    args = arrays((3, 8), (8, 8))
    check(build(params, write), *args)
    check(build(params, write), *args, merge=False, count=2)


# ---------------------------------------------------------------------------------------------
# Convolutions
# ---------------------------------------------------------------------------------------------


@needs_library
@pytest.mark.parametrize("activation", [None, "relu", "silu"])
@pytest.mark.parametrize("bias", ["none", "four", "reshaped"])
def test_rf15_convolution_with_bias(bias: str, activation: str | None, exec_mode: str) -> None:
    shape = (6,) if bias == "reshaped" else (1, 6, 1, 1)
    params = [tensor("x", "n", 3, 9, 8), tensor("w", 6, 3, 3, 3), tensor("b", *shape)]

    def write(x: Any, w: Any, b: Any) -> Any:
        y = op.nn.conv2d(x, w, padding=1)
        if bias != "none":
            y = op.add(y, op.reshape(b, (1, 6, 1, 1)) if bias == "reshaped" else b)
        return y if activation is None else activate(activation, y)

    parts = check(build(params, write), *arrays((2, 3, 9, 8), (6, 3, 3, 3), shape))
    words = ["dnnl.conv2d", *(["bias"] * (bias != "none")), *([activation] if activation else [])]
    assert f'Composite = "{"_".join(words)}"' in str(parts)


@needs_library
@pytest.mark.parametrize(
    "options",
    [
        {"strides": 2, "padding": (0, 1, 2, 3)},
        {"strides": (1, 2), "dilation": 2, "padding": 2},
        {"groups": 2, "padding": 1},
        {"groups": 4},
    ],
    ids=str,
)
def test_rf15_options_of_convolutions(options: dict[str, Any], exec_mode: str) -> None:
    groups = options.get("groups", 1)
    shapes = ((2, 4, 10, 11), (8, 4 // groups, 3, 3))
    params = [tensor("x", *shapes[0]), tensor("w", *shapes[1])]
    check(build(params, lambda x, w: op.nn.conv2d(x, w, **options)), *arrays(*shapes))


@needs_library
def test_rf15_sizes_of_images_are_those_of_the_call(exec_mode: str) -> None:
    params = [tensor("x", "n", 3, "h", "w"), tensor("k", 4, 3, 3, 3)]
    mod = build(params, lambda x, k: op.nn.relu(op.nn.conv2d(x, k, padding=1, strides=2)))
    parts = partition_for_dnnl(mod)
    assert len(regions(parts)) == 1
    main = relax.VirtualMachine(relax.compile(RunCodegen()(parts)))["main"]
    reference = relax.VirtualMachine(relax.compile(mod))["main"]
    for shape in [(1, 3, 8, 8), (2, 3, 5, 7), (1, 3, 3, 4)]:
        x, k = arrays(shape, (4, 3, 3, 3))
        found, expected = (np.from_dlpack(f(x, k)) for f in (main, reference))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@needs_library
@pytest.mark.parametrize("bind", [False, True])
def test_rf15_chain_of_convolutions(bind: bool, exec_mode: str) -> None:
    """Layouts that the library chooses pass from one to the next; sums, and results on the way."""
    shapes = ((1, 3, 12, 12), (24, 3, 3, 3), (24, 24, 3, 3), (1, 24, 1, 1))
    params = [tensor(f"x{i}", *shape) for i, shape in enumerate(shapes[:1] if bind else shapes)]
    values = [each / 8 for each in arrays(*shapes)]  # so that no sum is large

    def write(x: Any, *weights: Any) -> Any:
        first, second, bias = weights or map(op.const, values[1:])
        a = op.nn.relu(op.add(op.nn.conv2d(x, first, padding=1), bias))
        b = op.nn.relu(op.nn.conv2d(a, second, padding=1))
        c = op.nn.relu(op.add(op.add(op.nn.conv2d(b, second, padding=1), bias), a))
        rows = op.matmul(c, op.const(values[0][0, 0]))
        return op.tuple(op.nn.conv2d(c, second, strides=2), b, rows)

    given = values[:1] if bind else values
    parts = check(build(params, write), *given, bind_constants=bind)
    assert 'Composite = "dnnl.conv2d_bias_sum_relu"' in str(parts)


@needs_library
def test_rf15_passes_of_tvm_do_the_same(exec_mode: str) -> None:
    """What TVM's users write: their own patterns, and the three passes."""
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(
        data: R.Tensor((1, 8, 12, 12), "float32"),
        weight1: R.Tensor((8, 8, 3, 3), "float32"),
        weight2: R.Tensor((8, 8, 3, 3), "float32"),
    ):
        with R.dataflow():
            conv1 = R.nn.relu(R.nn.conv2d(data, weight1, padding=(1, 1)))
            conv2 = R.nn.relu(R.nn.conv2d(conv1, weight2, padding=(0, 0)))
            R.output(conv2)
        return conv2
""")
    pattern = make_fused_bias_activation_pattern(
        "relax.nn.conv2d", with_bias=False, activation="relax.nn.relu"
    )
    passes = [FuseOpsByPattern([("dnnl.conv2d_relu", pattern)]), MergeCompositeFunctions()]
    made = Sequential([*passes, RunCodegen()])(mod)
    assert str(made).count("call_dps_packed") == 1
    args = arrays((1, 8, 12, 12), (8, 8, 3, 3), (8, 8, 3, 3))
    found, expected = (
        np.from_dlpack(relax.VirtualMachine(relax.compile(each))["main"](*args))
        for each in (made, mod)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


# ---------------------------------------------------------------------------------------------
# Constants, files, threads
# ---------------------------------------------------------------------------------------------


def with_constants() -> tuple[Any, list[np.ndarray], Any]:
    w, b, k = arrays((8, 64), (64,), (16, 1, 3, 3))

    def write(x: Any) -> Any:
        y = op.nn.relu(op.add(op.matmul(x, op.const(w)), op.const(b)))
        image = op.reshape(y, (-1, 1, 8, 8))
        return op.tuple(y, op.nn.conv2d(image, op.const(k), padding=1))

    return build([tensor("x", 4, 8)], write), arrays((4, 8)), (w, b, k)


@needs_library
@pytest.mark.parametrize("bind", [False, True])
def test_rf15_constant_weights(bind: bool, exec_mode: str) -> None:
    """oneDNN has those that are part of a function in a layout of its own."""
    mod, args, _ = with_constants()
    parts = check(mod, *args, count=2, bind_constants=bind)
    assert ("relax.constant" in str(parts["main"])) is not bind


@needs_library
def test_rf15_programs_are_saved_with_their_weights(tmp_path: Path) -> None:
    mod, args, (w, b, _) = with_constants()
    for bind in (False, True):
        ex = relax.compile(RunCodegen()(partition_for_dnnl(mod, bind_constants=bind)))
        ex.save(tmp_path / "model.rx")
        main = relax.VirtualMachine(relax.load(tmp_path / "model.rx"))["main"]
        expected = np.maximum(args[0] @ w + b, 0)
        np.testing.assert_allclose(np.from_dlpack(main(*args)[0]), expected, rtol=1e-4, atol=1e-5)


@needs_library
def test_rf15_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library has as many as kernels; those of others that use OpenMP stay as they are."""
    monkeypatch.setattr(execution, "SMALL_WORK", 100)
    mod = build([tensor("x", "n", 16), tensor("w", 16, 16)], op.matmul)
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partition_for_dnnl(mod))))["main"]
    library = dnnl.library.load()
    if library._get_threads is None:
        pytest.skip("this oneDNN has no threads of OpenMP")
    before = library._get_threads()
    seen: list[int] = []
    run = execution.Stream.run

    def recorded(self: Any, primitives: Any) -> None:
        seen.append(library._get_threads())
        run(self, primitives)

    monkeypatch.setattr(execution.Stream, "run", recorded)
    for count in (2, 3, 1):
        relax.runtime.set_num_threads(count)
        x, w = arrays((16, 16), (16, 16))
        np.testing.assert_allclose(np.from_dlpack(main(x, w)), x @ w, rtol=1e-4, atol=1e-4)
    assert seen == [2, 3, 1]
    assert library._get_threads() == before


FORK = """
import os, sys
import numpy as np
import relax_mlir as relax
from relax_mlir import op, backend
from relax_mlir.transform import RunCodegen

relax.runtime.set_num_threads(2)
bb = relax.BlockBuilder()
x = relax.Var("x", relax.TensorStructInfo((128, 128), "float32"))
with bb.function("main", [x]):
    with bb.dataflow():
        out = bb.emit_output(op.matmul(x, x))
    bb.emit_func_output(out)
made = RunCodegen()(backend.partition_for_dnnl(bb.get()))
main = relax.VirtualMachine(relax.compile(made))["main"]
numbers = np.random.default_rng(0).standard_normal((128, 128)).astype("float32")

def check():
    np.testing.assert_allclose(main(numbers).numpy(), numbers @ numbers, rtol=1e-3, atol=1e-3)

check()
child = os.fork()
check()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@needs_library
def test_rf15_child_of_fork_calls_the_library() -> None:
    """Threads of OpenMP are not there in a child, which would wait for them."""
    made = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr


@needs_library
def test_rf15_threads_share_a_program() -> None:
    mod = build(
        [tensor("x", "n", 32), tensor("w", 32, 32)],
        lambda x, w: op.nn.relu(op.matmul(op.nn.relu(op.matmul(x, w)), w)),
    )
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partition_for_dnnl(mod))))["main"]
    failures: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for rows in (3, 5, 3, 7, 5) * 4:
            x, w = (rng.standard_normal(s).astype("float32") for s in ((rows, 32), (32, 32)))
            expected = np.maximum(np.maximum(x @ w, 0) @ w, 0)
            if not np.allclose(np.from_dlpack(main(x, w)), expected, rtol=1e-3, atol=1e-3):
                failures.append((seed, rows))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@needs_library
def test_rf15_model_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    from relax_mlir.frontend.torch import from_exported_program

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 36, 16),
        torch.nn.GELU(),
        torch.nn.Linear(16, 4),
    ).eval()
    x = torch.from_numpy(arrays((2, 3, 6, 6))[0])
    program = torch.export.export(model, (x,))
    mod = from_exported_program(program)
    parts = partition_for_dnnl(mod)
    assert str(parts).count("Composite = ") == 3
    main = relax.VirtualMachine(relax.compile(RunCodegen()(parts)))["main"]
    found = main(x)
    found = found if hasattr(found, "__dlpack__") else found[0]
    np.testing.assert_allclose(
        np.from_dlpack(found), model(x).detach().numpy(), rtol=1e-3, atol=1e-4
    )


# ---------------------------------------------------------------------------------------------
# Costs
# ---------------------------------------------------------------------------------------------


def test_rf15_partition_by_costs(tmp_path: Path) -> None:
    params = [tensor("x", 4, 8), tensor("w", 8, 8)]
    mod = build(params, lambda x, w: op.nn.relu(op.matmul(x, w)))
    costs = CostCache(tmp_path / "costs.json")
    parts = partition_for_dnnl(mod, cost=costs)
    assert len(regions(parts)) == 1
    (call,) = measurement._calls(parts, "dnnl")
    key = measurement._key(parts, call)
    for ours, count in ((1.0, 0), (3.0, 1)):
        costs.set(key, Cost(ours, 2.0))
        costs.save()
        assert len(regions(partition_for_dnnl(mod, cost=costs))) == count
        assert len(regions(partition_for_dnnl(mod, cost=tmp_path / "costs.json"))) == count
    costs.set(key, Cost(ours=1.0, library=2.0))
    relax.assert_structural_equal(partition_for_dnnl(mod, cost=costs), mod)


@needs_library
def test_rf15_parts_are_measured() -> None:
    params = [tensor("x", "n", 8), tensor("w", 8, 8)]
    parts = partition_for_dnnl(build(params, lambda x, w: op.nn.relu(op.matmul(x, w))))
    costs = CostCache()
    chosen = backend.measure(parts, "dnnl", sizes={"n": 4}, cost=costs)
    assert len(costs) == 1
    x, w = arrays((4, 8), (8, 8))
    main = relax.VirtualMachine(relax.compile(RunCodegen()(chosen)))["main"]
    np.testing.assert_allclose(np.from_dlpack(main(x, w)), np.maximum(x @ w, 0), rtol=1e-4)


# ---------------------------------------------------------------------------------------------
# What is left alone
# ---------------------------------------------------------------------------------------------


def stays(params: Sequence[relax.Var], write: Any) -> None:
    mod = build(params, write)
    relax.assert_structural_equal(partition_for_dnnl(mod), mod)


def test_rf15_leaves_alone_what_the_library_does_not_compute() -> None:
    halves = [tensor("x", 4, 8, dtype="float16"), tensor("w", 8, 8, dtype="float16")]
    stays(halves, op.matmul)
    stays([tensor("x", 4, 8, dtype="int32"), tensor("w", 8, 8, dtype="int32")], op.matmul)
    stays([tensor("x", 8), tensor("w", 8, 8)], op.matmul)  # a vector
    stays([tensor("x", 4, "k"), tensor("w", "k", 8)], op.matmul)  # sums of unknown length
    stays([tensor("x", 4, 8), tensor("w", 2, 8, 8)], op.matmul)  # more dimensions on the right
    stays([tensor("x", 4, 8)], op.exp)
    stays(
        [tensor("x", 2, 8, 8, 3), tensor("w", 4, 3, 3, 3)],
        lambda x, w: op.nn.conv2d(x, w, data_layout="NHWC"),
    )


def test_rf15_permutations_of_other_dimensions_stay_outside() -> None:
    params = [tensor("x", 2, 3, 4), tensor("w", 5, 2, 4)]
    mod = build(params, lambda x, w: op.matmul(x, op.permute_dims(w, (1, 2, 0))))
    parts = partition_for_dnnl(mod)
    assert "relax.permute_dims %" in str(parts["main"])
    assert 'Composite = "dnnl.matmul"' in str(parts)


def test_rf15_sums_that_change_the_shape_stay_outside() -> None:
    params = [tensor("x", 1, 8), tensor("w", 8, 8), tensor("y", 5, 8)]
    parts = partition_for_dnnl(build(params, lambda x, w, y: op.add(op.matmul(x, w), y)))
    assert "relax.add" in str(parts["main"])
    assert 'Composite = "dnnl.matmul"' in str(parts)


def test_rf15_products_that_are_added_to_themselves_stay_outside() -> None:
    params = [tensor("x", 4, 8), tensor("w", 8, 8)]

    def write(x: Any, w: Any) -> Any:
        y = op.matmul(x, w)
        return op.nn.relu(op.add(y, y))

    parts = partition_for_dnnl(build(params, write))
    assert "relax.add" in str(parts["main"])
    assert 'Composite = "dnnl.matmul"' in str(parts)


def test_rf15_values_that_others_use_stay_outside() -> None:
    params = [tensor("x", 4, 8), tensor("w", 8, 8)]

    def write(x: Any, w: Any) -> Any:
        y = op.matmul(x, w)
        return op.tuple(op.nn.relu(y), op.exp(y))

    parts = partition_for_dnnl(build(params, write))
    assert "relax.relu" in str(parts["main"])


# ---------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------


@needs_library
def test_rf15_rejects_patterns_that_it_does_not_know() -> None:
    mod = build([tensor("x", 4, 8)], op.exp)
    fused = FuseOpsByPattern([("dnnl.exp", is_op("relax.exp")(wildcard()))], annotate_codegen=True)(
        mod
    )
    with pytest.raises(ValueError, match=r"expected operations that oneDNN fuses in 'dnnl\.exp'"):
        RunCodegen()(fused)
    with pytest.raises(ValueError, match="codegen 'dnnl': expected no options, but got fast"):
        RunCodegen({"dnnl": {"fast": True}})(
            partition_for_dnnl(build([tensor("x", 4, 8), tensor("w", 8, 8)], op.matmul))
        )


@needs_library
def test_rf15_rejects_results_that_it_does_not_compute() -> None:
    text = """
relax.func @main(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32> {
  %0 = relax.call @f(%x) : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
  relax.return %0 : !relax.tensor<[2], f32>
}
relax.func @f(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
    attributes {Codegen = "dnnl", global_symbol = "f"} {
  relax.return %x : !relax.tensor<[2], f32>
}"""
    with pytest.raises(ValueError, match="expected results that oneDNN computes, each once"):
        RunCodegen()(text)


@needs_library
def test_rf15_rejects_tensors_of_other_devices() -> None:
    class OnDevice:
        device = "cuda:0"

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    function = execution.DNNLFunction({"symbol": "f", "steps": [], "outputs": []}, {})
    with pytest.raises(ValueError, match="f: oneDNN expected tensors of the host, but got one on"):
        function(OnDevice())


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_rf15_rejects_a_library_that_is_not_there(tmp_path: Path) -> None:
    program = "from relax_mlir.backend import dnnl\nprint(dnnl.is_available())\ndnnl.version()"
    made = run(program, RELAX_DNNL_LIBRARY=str(tmp_path / "libdnnl.so.3"))
    assert made.stdout == "False\n"
    assert "RuntimeError: expected the library of oneDNN 3, libdnnl.so.3, but it" in made.stderr
    assert "pip install onednn-cpu-gomp" in made.stderr


def test_rf15_rejects_another_library() -> None:
    import ctypes.util

    program = "from relax_mlir.backend import dnnl\ndnnl.version()"
    made = run(program, RELAX_DNNL_LIBRARY=ctypes.util.find_library("m") or "libm.so.6")
    assert "expected the library of oneDNN, but got libm.so" in made.stderr


@needs_library
def test_rf15_library_of_the_environment() -> None:
    program = "from relax_mlir.backend import dnnl\nprint(dnnl.version())"
    path = dnnl.library.load().path
    assert run(program, RELAX_DNNL_LIBRARY=path).stdout.strip() == dnnl.version()
    assert "dnnl" in backend.codegen_names()
