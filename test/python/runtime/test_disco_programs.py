# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs with operators of workers, in both modes and in both kinds of sessions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from disco_sessions import KINDS, parts_of, values_of
from relax_mlir import op, reference, transform
from relax_mlir.runtime import disco

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))
from test_operators_examples import OF_WORKERS, compare, example_of, program_of

MODES = ("compiled", "bytecode")


@pytest.fixture(scope="module", params=KINDS)
def two(request):
    with KINDS[request.param](2) as session:
        yield session


@pytest.fixture(scope="module", params=KINDS)
def four(request):
    with KINDS[request.param](4, 2) as session:
        yield session


def program(body, *types):
    """Return a module whose function `main` computes `body`."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(*each)) for i, each in enumerate(types)]
    with builder.function("main", params):
        builder.emit_func_output(body(*params))
    return builder.get()


def load(session, module, mode):
    """Return the function `main` on workers."""
    return session.load_vm_module(relax.compile(module, exec_mode=mode))["main"]


# ------------------------------------------------------------------------------
# Operators
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["sum", "prod", "min", "max", "avg"])
def test_allreduce(two, mode, kind):
    main = load(two, program(lambda x: op.ccl.allreduce(x, kind), (("n", 3), "float32")), mode)
    for size in (0, 1, 50):
        rng = np.random.default_rng(size)
        arrays = [rng.standard_normal((size, 3)).astype("float32") for _ in range(2)]
        expected = {
            "sum": arrays[0] + arrays[1],
            "prod": arrays[0] * arrays[1],
            "min": np.minimum(*arrays),
            "max": np.maximum(*arrays),
            "avg": (arrays[0] + arrays[1]) / np.float32(2),
        }[kind]
        for value in values_of(two, main(parts_of(two, arrays))):
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int64"])
def test_data_types(two, mode, dtype):
    def body(x):
        return relax.op.tuple(
            op.ccl.allreduce(x), op.ccl.allgather(x, 2), op.ccl.broadcast_from_worker0(x)
        )

    main = load(two, program(body, (("n", "m"), dtype)), mode)
    arrays = [(np.arange(6).reshape(3, 2) * (i + 1)).astype(dtype) for i in range(2)]
    total, gathered, first = main(parts_of(two, arrays)).debug_get_from_remote(1)
    np.testing.assert_array_equal(total.numpy(), arrays[0] + arrays[1])
    np.testing.assert_array_equal(gathered.numpy(), np.concatenate(arrays))
    np.testing.assert_array_equal(first.numpy(), arrays[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter(two, mode, axis):
    module = program(
        lambda x: op.ccl.scatter_from_worker0(x, 2, axis), (("n", "m", "k"), "float32")
    )
    main = load(two, module, mode)
    for shape in ((2, 4, 6), (4, 2, 8), (40, 62, 64), (2, 0, 2)):
        array = np.random.default_rng(0).standard_normal(shape).astype("float32")
        result = main(parts_of(two, [array, np.zeros_like(array)]))
        for value, expected in zip(values_of(two, result), np.split(array, 2, axis), strict=True):
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("mode", MODES)
def test_groups(four, mode):
    def body(x):
        return relax.op.tuple(
            op.ccl.allreduce(x),
            op.ccl.allreduce(x, in_group=False),
            op.ccl.allgather(x, 2),
            op.ccl.allgather(x, 4, in_group=False),
        )

    main = load(four, program(body, (("n",), "int32")), mode)
    arrays = [np.array([i, 10 * i], "int32") for i in range(4)]
    result = main(parts_of(four, arrays))
    for worker in range(4):
        own = arrays[worker // 2 * 2 :][:2]
        inside, over_all, gathered, every = result.debug_get_from_remote(worker)
        np.testing.assert_array_equal(inside.numpy(), sum(own))
        np.testing.assert_array_equal(over_all.numpy(), sum(arrays))
        np.testing.assert_array_equal(gathered.numpy(), np.concatenate(own))
        np.testing.assert_array_equal(every.numpy(), np.concatenate(arrays))


def test_arguments_that_are_not_compact():
    """A view of every other column is copied before it is sent."""
    executable = relax.compile(program(op.ccl.allreduce, (("n", "m"), "float32")))
    machine, array = relax.VirtualMachine(executable), np.arange(12, dtype="float32").reshape(3, 4)
    tvm_ffi.register_global_func(
        "test.disco.strided", lambda: machine["main"](array[:, ::2]), override=True
    )
    with disco.ThreadedSession(2) as session:
        result = session.get_global_func("test.disco.strided")()
        np.testing.assert_array_equal(values_of(session, result)[1], 2 * array[:, ::2])


@pytest.mark.parametrize("opt_level", [0, 2])
def test_constants_are_not_folded(opt_level):
    """The sum of a constant depends on how many workers there are."""
    module = program(
        lambda x: op.add(x, op.ccl.allreduce(np.ones(2, "float32"))), ((2,), "float32")
    )
    with transform.PassContext(opt_level=opt_level), disco.ThreadedSession(3) as session:
        main = load(session, module, "compiled")
        result = main(session.broadcast(np.zeros(2, "float32")))
        np.testing.assert_array_equal(values_of(session, result)[2], [3, 3])


def test_several_in_their_order(two):
    """Each step needs what the others have computed; none is left out but what nobody uses."""

    def body(x):
        op.ccl.allgather(x, 2)
        y = x
        for _ in range(6):
            y = op.subtract(op.ccl.allreduce(y, "max"), op.ccl.allreduce(y, "min"))
            y = op.add(y, op.ccl.broadcast_from_worker0(x))
        return y

    main = load(two, program(body, (("n",), "float64")), "compiled")
    arrays = [np.array([1.0, 5.0]), np.array([4.0, 3.0])]
    y = list(arrays)
    for _ in range(6):
        both = np.maximum(*y) - np.minimum(*y) + arrays[0]
        y = [both, both]
    np.testing.assert_array_equal(values_of(two, main(parts_of(two, arrays)))[1], y[1])


RECURSIVE = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n",), "float32"), again: R.Tensor((), "int64")
    ) -> R.Tensor(("n",), "float32"):
        more = R.greater(again, R.const(0, "int64"))
        if more:
            y = R.ccl.allreduce(x, "sum")
            z = Module.main(y, R.subtract(again, R.const(1, "int64")))
        else:
            z = R.ccl.broadcast_from_worker0(x)
        return z
"""


@pytest.mark.parametrize("mode", MODES)
def test_branches_and_recursion(two, mode):
    main = load(two, relax.script.from_source(RECURSIVE), mode)
    result = main(two.broadcast(np.ones(3, "float32")), two.broadcast(np.array(4)))
    np.testing.assert_array_equal(values_of(two, result)[1], np.full(3, 16))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted(OF_WORKERS))
def test_example_computes_what_the_reference_says(name, mode):
    text, types = program_of(example_of(name))
    compiled = relax.VirtualMachine(relax.compile(text, exec_mode=mode))
    tvm_ffi.register_global_func(
        "test.disco.compare", lambda: compare(name, text, types, compiled), override=True
    )
    with disco.ThreadedSession(2) as session:
        session.get_global_func("test.disco.compare")()


def test_reference_interpreter():
    module = program(
        lambda x: op.ccl.scatter_from_worker0(
            op.ccl.allgather(op.ccl.allreduce(x, "avg"), 2), 2, 1
        ),
        (("n", 4), "float16"),
    )
    tvm_ffi.register_global_func(
        "test.disco.reference",
        lambda x: tvm_ffi.from_dlpack(reference.run(module, "main", x).data),
        override=True,
    )
    arrays = [np.arange(8).reshape(2, 4).astype("float16") * (i + 1) for i in range(2)]
    with disco.ThreadedSession(2) as session:
        given = parts_of(session, arrays)
        expected = session.get_global_func("test.disco.reference")(given)
        result = load(session, module, "compiled")(given)
        for i in range(2):
            np.testing.assert_array_equal(
                values_of(session, result)[i], values_of(session, expected)[i]
            )


# As TVM's LegalizeOps leaves it.
LEGALIZED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        y = R.call_dps_packed(
            "runtime.disco.allreduce", (x, R.shape([4]), True), out_ty=R.Tensor((3,), "float32")
        )
        z = R.call_dps_packed(
            "runtime.disco.allgather", (y, True), out_ty=R.Tensor((6,), "float32")
        )
        return z
"""


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_tvm_has_legalized(two, mode):
    main = load(two, relax.script.from_source(LEGALIZED), mode)
    result = main(parts_of(two, [np.ones(3, "float32"), np.full(3, 3, "float32")]))
    np.testing.assert_array_equal(values_of(two, result)[1], np.full(6, 2))


SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            a = R.ccl.allreduce(x, "max", False)
            b = R.ccl.allgather(a, 2)
            c = R.ccl.broadcast_from_worker0(b)
            d = R.ccl.scatter_from_worker0(c, 2, axis=1)
            R.output(d)
        return d
"""


def test_script():
    module = relax.script.from_source(SCRIPT)
    text = module.script()
    for line in (
        'R.ccl.allreduce(x, op_type="max", in_group=False)',
        "R.ccl.allgather(a, num_workers=2)",
        "R.ccl.broadcast_from_worker0(b)",
        "R.ccl.scatter_from_worker0(c, num_workers=2, axis=1)",
    ):
        assert line in text
    relax.assert_structural_equal(relax.script.from_source(text), module)


# ------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_without_a_session(mode):
    module = program(op.ccl.allreduce, (("n",), "float32"))
    main = relax.VirtualMachine(relax.compile(module, exec_mode=mode))["main"]
    with pytest.raises(
        RuntimeError,
        match=r"main: relax.ccl.allreduce: this thread is no worker.*"
        r"ThreadedSession or ProcessSession.*\(at .*test_disco_programs.py:\d+",
    ):
        main(np.ones(3, "float32"))
    with pytest.raises(RuntimeError, match="this thread is no worker of a session"):
        reference.run(module, "main", np.ones(3, "float32"))


@pytest.mark.parametrize("mode", MODES)
def test_workers_that_do_not_agree(two, mode):
    """The message says what each of them called, and where."""
    main = load(two, program(op.ccl.allreduce, (("n",), "float32")), mode)
    pick = load(two, program(lambda x: op.nonzero(x), (("n",), "bool")), mode)
    places = pick(parts_of(two, [np.array([True, True]), np.array([True, False])]))
    widen = load(two, program(op.ccl.allreduce, ((1, "n"), "int64")), mode)
    with pytest.raises(ValueError) as caught:
        widen(places)
        two._sync_all()
    assert (
        "main: relax.ccl.allreduce: expected all workers to call the same operator with tensors "
        'of one shape and data type, but worker 0 called allreduce "sum" of int64 (1, 2), '
        'worker 1 called allreduce "sum" of int64 (1, 1) (at '
    ) in str(caught.value)
    result = main(two.broadcast(np.ones(4, "float32")))
    np.testing.assert_array_equal(values_of(two, result)[0], np.full(4, 2))


@pytest.mark.parametrize("mode", MODES)
def test_number_of_workers(two, mode):
    main = load(two, program(lambda x: op.ccl.allgather(x, 3), (("n",), "float32")), mode)
    text = "relax.ccl.allgather: expected num_workers to be 2, the workers of the group, but got 3"
    with pytest.raises(ValueError, match=text):
        main(two.broadcast(np.ones(4, "float32"))).debug_get_from_remote(0)
    main = load(two, program(lambda x: op.ccl.scatter_from_worker0(x, 4), ((8,), "float32")), mode)
    with pytest.raises(ValueError, match="to be 2, the workers of the session, but got 4"):
        main(two.broadcast(np.ones(8, "float32"))).debug_get_from_remote(0)


@pytest.mark.parametrize("mode", MODES)
def test_dimensions_that_workers_cannot_share(two, mode):
    main = load(
        two, program(lambda x: op.ccl.scatter_from_worker0(x, 2), (("n",), "float32")), mode
    )
    with pytest.raises(ValueError, match="but dimension 0 is 5, where n floordiv 2"):
        main(two.broadcast(np.ones(5, "float32"))).debug_get_from_remote(0)
    with pytest.raises(ValueError, match="expected num_workers that divides dimension 0"):
        program(lambda x: op.ccl.scatter_from_worker0(x, 2), ((5,), "float32"))


def test_gradient_says_that_it_depends():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(op.sum(op.ccl.allreduce(x)))
        builder.emit_func_output(y)
    with pytest.raises(ValueError, match="allreduce has no gradient of its own"):
        transform.Gradient("main")(builder.get())


ENDLESS = """
relax.func @main(%x: !relax.tensor<[4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[4], f32> {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[4], f32> {
    %1 = relax.BODY
    %2 = relax.call @main(%1, %c) : (!relax.tensor<[4], f32>, !relax.tensor<[], i1>) -> !relax.tensor<[4], f32>
    relax.yield %2 : !relax.tensor<[4], f32>
  } else {
    relax.yield %x : !relax.tensor<[4], f32>
  }
  relax.return %0 : !relax.tensor<[4], f32>
}"""  # noqa: E501 (the lines of MLIR)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["allreduce", "relu"])
def test_control_c_ends_programs_that_run_on(two, mode, name, control_c):
    body = f"{name} %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>"
    main = load(two, ENDLESS.replace("BODY", body), mode)
    x, c = two.broadcast(np.zeros(4, "float32")), two.broadcast(np.array(True))
    two._sync_all()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        main(x, c).debug_get_from_remote(0)
    timer.join()
    begin = time.monotonic()
    result = main(x, two.broadcast(np.array(False)))
    np.testing.assert_array_equal(values_of(two, result)[1], np.zeros(4))
    assert time.monotonic() - begin < 5


# ------------------------------------------------------------------------------
# Tensor-parallel layers
# ------------------------------------------------------------------------------

WIDTH, HIDDEN, HEADS, SIZE = 16, 32, 4, 8


def mlp(workers):
    """A layer of two products: columns of the first weight and rows of the second belong to one."""
    hidden = HIDDEN // workers

    def body(x, up, down):
        y = op.matmul(op.nn.silu(op.matmul(x, up)), down)
        return op.ccl.allreduce(y) if workers > 1 else y

    return program(
        body,
        (("n", WIDTH), "float32"),
        ((WIDTH, hidden), "float32"),
        ((hidden, WIDTH), "float32"),
    )


def attention(workers):
    """A layer of attention, in which heads belong to a worker."""
    heads = HEADS // workers

    def body(x, query, key, value, out):
        def project(weight):
            return op.reshape(op.matmul(x, weight), (1, "n", heads, SIZE))

        y = op.nn.attention(*map(project, (query, key, value)), causal_mask="TopLeft")
        y = op.matmul(op.reshape(y, ("n", heads * SIZE)), out)
        return op.ccl.allreduce(y) if workers > 1 else y

    weight = ((WIDTH, heads * SIZE), "float32")
    return program(
        body, (("n", WIDTH), "float32"), weight, weight, weight, ((heads * SIZE, WIDTH), "float32")
    )


# The program for a number of workers, the shapes of its weights, and the axes that are cut.
LAYERS = {
    "mlp": (mlp, [(WIDTH, HIDDEN), (HIDDEN, WIDTH)], [1, 0]),
    "attention": (
        attention,
        [*[(WIDTH, HEADS * SIZE)] * 3, (HEADS * SIZE, WIDTH)],
        [1, 1, 1, 0],
    ),
}


def run_layer(session, main, layer, x, weights):
    axes = LAYERS[layer][2]
    cut = [
        session.scatter(np.stack(np.split(weight, session.num_workers, axis)))
        for weight, axis in zip(weights, axes, strict=True)
    ]
    return values_of(session, main(session.broadcast(x), *cut))


def expected_of(layer, seed=0):
    """Return an input, weights, and what one worker computes of them."""
    make, shapes, _ = LAYERS[layer]
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((5, WIDTH)).astype("float32")
    weights = [(rng.standard_normal(shape) / 4).astype("float32") for shape in shapes]
    single = relax.VirtualMachine(relax.compile(make(1)))["main"]
    return x, weights, single(x, *weights).numpy()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layer", LAYERS)
def test_layer_of_two_workers(two, layer, mode):
    x, weights, expected = expected_of(layer)
    values = run_layer(two, load(two, LAYERS[layer][0](2), mode), layer, x, weights)
    np.testing.assert_allclose(values[0], expected, rtol=1e-4, atol=1e-4)
    assert values[0].tobytes() == values[1].tobytes()


@pytest.mark.parametrize("self_contained", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_layer_of_an_exported_library(two, layer, self_contained, tmp_path):
    """A library that holds a runtime of its own computes with the session of the process, too."""
    path = tmp_path / f"{layer}{self_contained}.so"
    relax.compile(LAYERS[layer][0](2)).export_library(path, self_contained=self_contained)
    x, weights, expected = expected_of(layer)
    main = two.load_vm_module(path)["main"]
    values = run_layer(two, main, layer, x, weights)
    np.testing.assert_allclose(values[1], expected, rtol=1e-4, atol=1e-4)


def test_layer_of_a_file(two, tmp_path):
    path = tmp_path / "mlp.rx"
    relax.compile(mlp(2), exec_mode="bytecode").save(path)
    x, weights, expected = expected_of("mlp")
    values = run_layer(two, two.load_vm_module(str(path))["main"], "mlp", x, weights)
    np.testing.assert_allclose(values[1], expected, rtol=1e-4, atol=1e-4)


def test_weights_that_the_program_scatters(two):
    """The first worker has all weights; the others pass tensors of the same shape."""

    def body(x, up, down):
        y = op.matmul(x, op.ccl.scatter_from_worker0(up, 2, axis=1))
        y = op.matmul(op.nn.silu(y), op.ccl.scatter_from_worker0(down, 2))
        return op.ccl.allreduce(y)

    module = program(
        body,
        (("n", WIDTH), "float32"),
        ((WIDTH, HIDDEN), "float32"),
        ((HIDDEN, WIDTH), "float32"),
    )
    x, weights, expected = expected_of("mlp")
    given = [parts_of(two, [weight, np.zeros_like(weight)]) for weight in weights]
    values = values_of(two, load(two, module, "compiled")(two.broadcast(x), *given))
    np.testing.assert_allclose(values[1], expected, rtol=1e-4, atol=1e-4)


def test_kernels_with_threads_of_their_own():
    """Each worker has two threads for its loops, at the same time as the other one."""
    module = program(
        lambda x, w: op.ccl.allreduce(op.matmul(x, w)),
        (("n", 256), "float32"),
        ((256, 256), "float32"),
    )
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 256)).astype("float32")
    w = rng.standard_normal((256, 256)).astype("float32")
    for kind in KINDS.values():
        with kind(2, threads_per_worker=2) as session:
            main = load(session, module, "compiled")
            given = session.broadcast(x), session.broadcast(w)
            for _ in range(5):
                result = main(*given)
            np.testing.assert_allclose(
                values_of(session, result)[1], 2 * x @ w, rtol=1e-3, atol=1e-3
            )


def test_a_library_without_python(tmp_path):
    """Outside of a session it raises the same error."""
    path = tmp_path / "alone.so"
    relax.compile(program(op.ccl.allreduce, (("n",), "float32"))).export_library(
        path, self_contained=True
    )
    script = (
        "import sys, numpy as np, tvm_ffi\n"
        "main = tvm_ffi.load_module(sys.argv[1])['main']\n"
        "try:\n"
        "    main(tvm_ffi.from_dlpack(np.ones(3, 'float32')))\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert "main: relax.ccl.allreduce: this thread is no worker of a session" in done.stdout
