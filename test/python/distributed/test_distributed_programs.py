# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotated programs on workers compute what they compute without workers."""

# ruff: noqa: E501 (programs)

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op
from relax_mlir.distributed import DeviceMesh, transform
from relax_mlir.runtime import disco

PASSES = (
    transform.PropagateSharding(),
    transform.LegalizeRedistribute(),
    transform.LowerGlobalViewToLocalView(),
    transform.LowerDistIR(),
)


def program(body, workers, shapes):
    """Return a module; `body` gets a function that annotates, and the parameters."""
    mesh = DeviceMesh((workers,), range(workers))
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(shapes)
    ]
    with builder.function("main", params):
        result = body(
            lambda x, placement: op.dist.annotate_sharding(x, mesh, placement),
            *params,
        )
        builder.emit_func_output(result)
    return builder.get()


def lower(module):
    for each in PASSES:
        module = each(module)
    return module


def run(module, workers, arrays):
    """Return what each worker has of the result; those but the first pass zeros."""
    executable = relax.compile(lower(module))
    with disco.ThreadedSession(workers) as session:
        main = session.load_vm_module(executable)["main"]
        given = []
        for array in arrays:
            reference = session.empty(array.shape, str(array.dtype))
            for worker in range(workers):
                reference.debug_copy_from(worker, array if worker == 0 else np.zeros_like(array))
            given.append(reference)
        result = main(*given)
        return [result.debug_get_from_remote(worker).numpy() for worker in range(workers)]


def mlp(annotate, x, w1, w2):
    hidden = annotate(op.add(op.nn.gelu(op.matmul(x, w1)), 1.0), "S[1]")
    return op.matmul(hidden, w2)


def residual_norm(annotate, x, w1, w2, scale):
    """The norm needs whole rows: its result and the sum are replicas."""
    y = op.nn.rms_norm(x, scale, axes=-1)
    hidden = annotate(op.nn.silu(op.matmul(y, w1)), "S[1]")
    return op.add(x, op.matmul(hidden, w2))


def attention(annotate, x, wq, wk, wv, wo):
    """Heads are shared by the workers."""

    def heads(w):
        return op.reshape(op.matmul(x, w), (1, "n", 4, 8))

    values = op.nn.attention(heads(wq), heads(wk), annotate(heads(wv), "S[2]"))
    return op.matmul(op.reshape(values, (1, "n", 32)), wo)


def by_hand(annotate, x, w):
    """Attention of one head each, of products and a softmax over the keys."""
    q = op.permute_dims(op.reshape(op.matmul(x, w), ("n", 4, 8)), (1, 0, 2))
    q = annotate(q, "S[0]")
    scores = op.matmul(q, op.permute_dims(q, (0, 2, 1)))
    mixed = op.matmul(op.nn.softmax(op.divide(scores, 8.0), axis=-1), q)
    return op.sum(op.mean(mixed, axis=[0]), axis=[1])


def reductions(annotate, x):
    x = annotate(x, "S[0]")
    return op.add(op.sum(x), op.multiply(op.mean(x), op.subtract(op.max(x), op.min(x))))


def columns(annotate, x):
    """The result is redistributed: from rows to columns, and to replicas."""
    y = annotate(op.exp(annotate(x, "S[0]")), "S[0]")
    z = annotate(op.sin(annotate(y, "S[1]")), "S[1]")
    return annotate(z, "R")


CASES = {
    "mlp": (mlp, [("n", 12), (12, 8), (8, 6)]),
    "residual_norm": (residual_norm, [("n", 12), (12, 8), (8, 12), (12,)]),
    "attention": (attention, [(1, "n", 16), (16, 32), (16, 32), (16, 32), (32, 16)]),
    "by_hand": (by_hand, [("n", 16), (16, 32)]),
    "reductions": (reductions, [(8, 6)]),
    "columns": (columns, [(8, 4)]),
}


def arrays_of(shapes, n=5):
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal([n if dim == "n" else dim for dim in shape]).astype("float32")
        for shape in shapes
    ]


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_replicas(name, workers):
    body, shapes = CASES[name]
    module, arrays = program(body, workers, shapes), arrays_of(shapes)
    expected = relax.VirtualMachine(relax.compile(module))["main"](*arrays).numpy()
    results = run(module, workers, arrays)
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        assert result.tobytes() == results[0].tobytes()


@pytest.mark.parametrize("workers", [2, 4])
def test_parts_of_the_result(workers):
    """A result that is cut is the part of each worker."""
    shapes = [("n", 12), (12, 8)]
    module = program(lambda annotate, x, w: annotate(op.matmul(x, w), "S[1]"), workers, shapes)
    x, w = arrays_of(shapes)
    results = run(module, workers, [x, w])
    np.testing.assert_allclose(np.concatenate(results, axis=1), x @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("placement", ["R", "S[0]", "S[1]"])
@pytest.mark.parametrize("source", ["R", "S[0]", "S[1]"])
def test_redistribute(source, placement):
    """From any placement to any other one."""
    workers = 2
    mesh = DeviceMesh((workers,), range(workers))
    builder = relax.BlockBuilder()
    plain = relax.TensorStructInfo((4, 6), "float32")
    x = relax.Var("x", relax.distributed.DTensorStructInfo(plain, mesh, source))
    with builder.function("main", [x]):
        builder.emit_func_output(op.dist.redistribute(op.negative(x), mesh, placement))
    (array,) = arrays_of([(4, 6)])
    results = run(builder.get(), workers, [array])
    if placement == "R":
        for result in results:
            np.testing.assert_array_equal(result, -array)
    else:
        axis = int(placement[2])
        np.testing.assert_array_equal(np.concatenate(results, axis=axis), -array)


@pytest.mark.parametrize("size", [4, 6])
def test_symbolic_axis(size):
    """Whether workers can share a dimension is checked where it is known."""
    module = program(
        lambda annotate, x: annotate(op.exp(annotate(x, "S[0]")), "S[0]"), 2, [("n", 3)]
    )
    (x,) = arrays_of([(size, 3)])
    results = run(module, 2, [x])
    np.testing.assert_allclose(np.concatenate(results), np.exp(x), rtol=1e-6)
    with pytest.raises(ValueError, match="scatter_from_worker0"):
        run(module, 2, arrays_of([(size + 1, 3)]))


def test_constants_are_cut():
    table = np.arange(12, dtype="float32").reshape(4, 3)
    module = program(
        lambda annotate, x: annotate(op.multiply(annotate(x, "S[0]"), table), "S[0]"), 2, [(4, 3)]
    )
    (x,) = arrays_of([(4, 3)])
    np.testing.assert_allclose(np.concatenate(run(module, 2, [x])), x * table)


def test_not_lowered_error():
    """A distributed program says what makes one of each worker of it."""
    module = PASSES[0](program(mlp, 2, CASES["mlp"][1]))
    with pytest.raises(ir.MLIRError, match="LowerDistIR of relax_mlir"):
        relax.compile(module)


@pytest.mark.parametrize("name", CASES)
def test_reference(name):
    """A distributed program, as a whole, computes the same."""
    body, shapes = CASES[name]
    module, arrays = program(body, 2, shapes), arrays_of(shapes)
    expected = relax.reference.run(module, "main", *arrays).data
    distributed = PASSES[1](PASSES[0](module))
    found = relax.reference.run(PASSES[0](module), "main", *arrays).data
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert "sharding" in str(distributed)


def test_lowering_twice():
    """What is lowered stays as it is."""
    module = program(mlp, 2, CASES["mlp"][1])
    once = PASSES[2](PASSES[0](module))
    assert relax.structural_equal(PASSES[2](once), once)
    assert relax.structural_equal(lower(lower(module)), lower(module))


def test_local_kernel():
    """A kernel of the parts, which the program calls itself."""
    source = """
@I.ir_module
class Module:
    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})

    @T.prim_func(private=True)
    def double(x: T.Buffer((T.int64(2), T.int64(3)), "float32"), y: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.DTensor((4, 3), "float32", "mesh[0]", "S[0]")) -> R.DTensor((4, 3), "float32", "mesh[0]", "R"):
        cls = Module
        y = R.dist.call_tir_local_view(cls.double, (x,), out_sinfo=R.DTensor((4, 3), "float32", "mesh[0]", "S[0]"))
        z = R.dist.redistribute(y, "mesh[0]", "R")
        return z
"""
    module = relax.script.from_source(source)
    (x,) = arrays_of([(4, 3)])
    for result in run(module, 2, [x]):
        np.testing.assert_array_equal(result, 2 * x)
