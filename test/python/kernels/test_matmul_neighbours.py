"""Operations that become part of a matrix product: slices of its result, permutations."""

from __future__ import annotations

import functools

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import example, given, settings
from mlir import ir
from relax_mlir import op, runtime
from relax_mlir.op.call import get_item
from relax_mlir.transform import FuseOps, FuseTIR, LegalizeOps, Normalize, Sequential

FUSE = Sequential([Normalize(), LegalizeOps(), FuseOps(), FuseTIR()])

rows = st.one_of(st.integers(0, 20), st.sampled_from([33, 130]))


def tensor(name, *shape, dtype="float32"):
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(write, *params):
    """Return a module with `main`, all of which is a dataflow block."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(write(bb, *params))
        bb.emit_func_output(out)
    return bb.get()


def called(mod):
    """Return what `main` calls, in order."""
    names = []

    def visit(operation):
        if "callee" in operation.attributes:
            names.append(str(operation.attributes["callee"]).removeprefix("@"))
        return ir.WalkResult.ADVANCE

    fused = FUSE(mod)
    fused["main"].operation.walk(visit)
    return names


def fill(*shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def fields(value):
    if hasattr(value, "__dlpack__"):
        return [np.from_dlpack(value)]
    return [np.from_dlpack(field) for field in value]


def check(got, wanted, depth):
    for one, exact in zip(fields(got), wanted, strict=True):
        assert one.shape == exact.shape
        np.testing.assert_allclose(one, exact, rtol=1e-5, atol=1e-5 * (depth + 1))


# ---------------------------------------------------------------------------------------------
# Slices
# ---------------------------------------------------------------------------------------------

# The number of columns, and the places where they are split.
SPLITS = {
    "thirds": (96, 3),
    "within_vectors": (100, [7, 9, 60]),
    "one_column": (50, [49]),
    "empty_part": (50, [20, 20]),
    "wide": (500, [100, 300]),
}


@functools.cache
def split_product(name, constant, rank):
    """Return a product with a bias that is split, and the right matrix."""
    n, places = SPLITS[name]
    w = fill(40, n)
    x = tensor("x", *["b", "m"][2 - (rank - 1) :], 40)
    params = [x, tensor("bias", n)] + ([] if constant else [tensor("w", 40, n)])

    def write(bb, x, bias, *rest):
        product = bb.emit(op.matmul(x, rest[0] if rest else op.const(w)))
        active = bb.emit(op.nn.relu(bb.emit(op.add(product, bias))))
        return op.split(active, places, axis=-1)

    return build(write, *params), w


@functools.cache
def split_function(name, constant, rank):
    mod, w = split_product(name, constant, rank)
    return relax.VirtualMachine(relax.compile(mod, opt_level=1))["main"], w


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("name", sorted(set(SPLITS) - {"empty_part"}))
def test_split_is_part_of_the_product(name, constant):
    mod, _ = split_product(name, constant, 2)
    assert called(mod) == ["fused_matmul_add_relu_split"]


@settings(max_examples=30)
@given(rows, st.integers(0, 3), st.sampled_from(sorted(SPLITS)), st.booleans(), st.integers(1, 3))
@example(1, 1, "within_vectors", True, 2)
@example(130, 2, "wide", True, 3)
@example(130, 2, "wide", False, 2)
def test_split_results(m, b, name, constant, rank):
    n, places = SPLITS[name]
    main, w = split_function(name, constant, rank)
    x = fill(*(b, m)[2 - (rank - 1) :], 40)
    bias = fill(n)
    exact = np.maximum(x.astype("f8") @ w + bias, 0)
    got = main(x, bias) if constant else main(x, bias, w)
    check(got, np.split(exact, places, axis=-1), 40)


@settings(max_examples=10)
@given(rows, st.sampled_from([20, 21, 36, 48, 130]))
def test_split_of_dynamic_columns(m, n):
    main = dynamic_split()
    x, w = fill(m, 9), fill(9, n)
    check(main(x, w), np.split(x.astype("f8") @ w, [3, 20], axis=-1), 9)


@functools.cache
def dynamic_split():
    mod = build(
        lambda bb, x, w: op.split(bb.emit(op.matmul(x, w)), [3, 20], axis=-1),
        tensor("x", "m", 9),
        tensor("w", 9, "n"),
    )
    return relax.VirtualMachine(relax.compile(mod, opt_level=1))["main"]


@pytest.mark.parametrize("axis", [0, 1])
def test_split_of_rows_is_another_kernel(axis, exec_mode):
    mod = build(
        lambda bb, x, w: op.split(bb.emit(op.matmul(x, w)), [1], axis=axis),
        tensor("x", 2, "m", 9),
        tensor("w", 9, 20),
    )
    assert called(mod) == ["matmul", "split"]
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    x, w = fill(2, 6, 9), fill(9, 20)
    check(main(x, w), np.split(x.astype("f8") @ w, [1], axis=axis), 9)


def test_split_of_integers(exec_mode):
    mod = build(
        lambda bb, x, w: op.split(bb.emit(op.matmul(x, w)), 2, axis=-1),
        tensor("x", "m", 9, dtype="int32"),
        tensor("w", 9, 20, dtype="int32"),
    )
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    x, w = (np.arange(n, dtype="int32").reshape(-1, c) for n, c in ((45, 9), (180, 20)))
    check(main(x, w), np.split(x @ w, 2, axis=-1), 0)


def test_product_that_others_read_too(exec_mode):
    def write(bb, x, w):
        product = bb.emit(op.matmul(x, w))
        parts = bb.emit(op.split(product, 2, axis=-1))
        return relax.op.tuple(get_item(parts, 1), product)

    mod = build(write, tensor("x", "m", 9), tensor("w", 9, 20))
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    x, w = fill(5, 9), fill(9, 20)
    exact = x.astype("f8") @ w
    check(main(x, w), [exact[:, 10:], exact], 9)


# ---------------------------------------------------------------------------------------------
# Permuted operands
# ---------------------------------------------------------------------------------------------

# The axes of both operands before they are permuted, how they are, and what becomes part of it.
PERMUTED = {
    "left": ("km", (1, 0), "kn", None, "fused_permute_dims_matmul"),
    "right": ("mk", None, "nk", (1, 0), "fused_permute_dims_matmul"),
    "both": ("km", (1, 0), "nk", (1, 0), "fused_permute_dims_permute_dims1_matmul"),
    "heads": ("bmak", (0, 2, 1, 3), "bnak", (0, 2, 3, 1), "fused"),
    "batched_left": ("bmak", (0, 2, 1, 3), "bakn", None, "fused"),
}


@functools.cache
def permuted_product(name):
    left, left_order, right, right_order, _ = PERMUTED[name]
    params = [tensor("x", *left), tensor("y", *right)]

    def write(bb, x, y):
        if left_order:
            x = bb.emit(op.permute_dims(x, left_order))
        if right_order:
            y = bb.emit(op.permute_dims(y, right_order))
        return op.matmul(x, y)

    return build(write, *params)


@functools.cache
def permuted_function(name):
    return relax.VirtualMachine(relax.compile(permuted_product(name), opt_level=1))["main"]


@pytest.mark.parametrize("name", sorted(PERMUTED))
def test_permuted_operands_are_part_of_the_product(name):
    names = called(permuted_product(name))
    assert len(names) == 1
    assert names[0].startswith("fused_permute_dims")


@settings(max_examples=30)
@given(
    rows,
    st.sampled_from([0, 1, 5, 16, 50, 97]),
    st.sampled_from([0, 1, 9, 16, 64]),
    st.integers(0, 3),
    st.sampled_from(sorted(PERMUTED)),
)
@example(33, 50, 64, 2, "heads")
def test_permuted_results(m, n, k, b, name):
    left, left_order, right, right_order, _ = PERMUTED[name]
    sizes = {"m": m, "n": n, "k": k, "a": 2, "b": b}
    x, y = (fill(*(sizes[d] for d in dims)) for dims in (left, right))
    wide = [a.astype("f8") for a in (x, y)]
    exact = np.matmul(
        *(
            a.transpose(order) if order else a
            for a, order in zip(wide, (left_order, right_order), strict=True)
        )
    )
    check(permuted_function(name)(x, y), [exact], k)


@pytest.mark.parametrize(
    ("left", "order", "right"),
    [
        ("kbm", (1, 2, 0), "kn"),  # rows of a batch would not lie together
        ("mkb", (2, 0, 1), "bkn"),  # neither rows nor columns would be contiguous
    ],
)
def test_permuted_operands_that_stay(left, order, right, exec_mode):
    mod = build(
        lambda bb, x, y: op.matmul(bb.emit(op.permute_dims(x, order)), y),
        tensor("x", *left),
        tensor("y", *right),
    )
    assert called(mod) == ["permute_dims", "matmul"]
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    sizes = {"m": 5, "n": 7, "k": 9, "b": 3}
    x, y = (fill(*(sizes[d] for d in dims)) for dims in (left, right))
    check(main(x, y), [np.matmul(x.astype("f8").transpose(order), y)], 9)


def test_permuted_tensor_of_two_products(exec_mode):
    # It is made once.
    def write(bb, x, w):
        turned = bb.emit(op.permute_dims(x))
        return op.add(bb.emit(op.matmul(turned, w)), bb.emit(op.matmul(turned, x)))

    mod = build(write, tensor("x", 9, 6), tensor("w", 9, 6))
    assert called(mod)[0] == "permute_dims"
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    x, w = fill(9, 6), fill(9, 6)
    check(main(x, w), [x.T.astype("f8") @ w + x.T.astype("f8") @ x], 9)


# ---------------------------------------------------------------------------------------------
# Threads
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def square():
    mod = build(lambda bb, x, y: op.matmul(x, y), tensor("x", "m", "k"), tensor("y", "k", "n"))
    return relax.VirtualMachine(relax.compile(mod, opt_level=1))["main"]


@pytest.fixture
def thread_count():
    old = runtime.get_num_threads()
    yield runtime.set_num_threads
    runtime.set_num_threads(old)


SIZES = [(128, 128, 128), (150, 97, 300), (33, 1000, 64), (9, 700, 200), (700, 49, 1000)]


@pytest.mark.parametrize("sizes", SIZES)
def test_threads_do_not_change_a_bit(square, thread_count, sizes):
    m, n, k = sizes
    x, y = fill(m, k), fill(k, n)
    results = []
    for count in (1, 2, 3, 7):
        thread_count(count)
        results.append(fields(square(x, y))[0])
    check(results[0], [x.astype("f8") @ y], k)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("size", [(13, 48), (64, 64), (6, 100)])
@pytest.mark.parametrize("place", [0, 16])
@pytest.mark.parametrize("constant", [False, True])
def test_first_rows_of_products(exec_mode, size, place, constant):
    """Slices that end before the rows do, and begin where a vector does or not."""
    m, n = size
    w = fill(24, n)

    def write(bb, x, *rest):
        product = bb.emit(op.nn.relu(bb.emit(op.matmul(x, rest[0] if rest else op.const(w)))))
        return op.strided_slice(product, [0, 1], [0, place], [5, place + 24])

    params = [tensor("x", m, 24)] + ([] if constant else [tensor("w", 24, n)])
    main = relax.VirtualMachine(relax.compile(build(write, *params)))["main"]
    x = fill(m, 24)
    exact = np.maximum(x.astype("f8") @ w, 0)
    got = main(x) if constant else main(x, w)
    check([got], [exact[:5, place : place + 24]], 24)
