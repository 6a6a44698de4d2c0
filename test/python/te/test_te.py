"""Tensor expressions against NumPy, through the builder, the compiler and the virtual machine."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import te, tir

rng = np.random.default_rng(0)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def test_rf11_elementwise(run_te):
    x = floats(3, 4)
    actual = run_te(lambda A: te.compute(A.shape, lambda i, j: te.exp(A[i, j]) + 1), x)
    np.testing.assert_allclose(actual, np.exp(x) + 1, 1e-6)


def test_rf11_fcompute_with_any_number_of_indices(run_te):
    x = floats(3, 4, 2)
    np.testing.assert_array_equal(run_te(lambda A: te.compute(A.shape, lambda *i: -A(*i)), x), -x)


def test_rf11_transposed_and_shifted_access(run_te):
    x = floats(4, 4)
    actual = run_te(lambda A: te.compute((4, 3), lambda i, j: A[j, i] + A[i, j + 1]), x)
    np.testing.assert_array_equal(actual, x.T[:, :3] + x[:, 1:])


def test_rf11_access_that_is_not_affine(run_te):
    x = floats(8)
    actual = run_te(lambda A: te.compute((8,), lambda i: A[i // 2 + i % 2 * 4]), x)
    np.testing.assert_array_equal(actual, x.reshape(2, 4).T.reshape(8))


def test_rf11_part_of_a_tensor(run_te):
    x = floats(8)
    np.testing.assert_array_equal(run_te(lambda A: te.compute((3,), lambda i: A[i]), x), x[:3])


def test_rf11_matmul(run_te):
    x, y = floats(3, 4), floats(4, 5)

    def matmul(A, B):
        k = te.reduce_axis((0, A.shape[1]), name="k")
        shape = (A.shape[0], B.shape[1])
        return te.compute(shape, lambda i, j: te.sum(A[i, k] * B[k, j], axis=k))

    np.testing.assert_allclose(run_te(matmul, x, y), x @ y, 1e-5, 1e-6)


REDUCTIONS = {
    "sum": (te.sum, np.sum),
    "prod": (te.prod, np.prod),
    "max": (te.max, np.max),
    "min": (te.min, np.min),
}


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_rf11_reductions(run_te, name, dtype):
    reduce, reference = REDUCTIONS[name]
    x = (floats(3, 5) * 2 + 3).astype(dtype)

    def rows(A):
        k = te.reduce_axis((0, A.shape[1]), name="k")
        return te.compute((A.shape[0],), lambda i: reduce(A[i, k], axis=k))

    expected = reference(x, axis=1, dtype=dtype) if name in ("sum", "prod") else reference(x, 1)
    tolerance = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(run_te(rows, x), expected, tolerance)


@pytest.mark.parametrize("name", ["all", "any"])
def test_rf11_reductions_of_conditions(run_te, name):
    x = np.array([[True, True], [True, False], [False, False]])

    def rows(A):
        k = te.reduce_axis((0, A.shape[1]))
        return te.compute((A.shape[0],), lambda i: getattr(te, name)(A[i, k], axis=k))

    np.testing.assert_array_equal(run_te(rows, x), getattr(np, name)(x, 1))


def test_rf11_small_floats_are_summed_as_large_ones(run_te):
    x = np.full((4, 4096), 1.0, "float16")

    def rows(A):
        k = te.reduce_axis((0, A.shape[1]))
        return te.compute((A.shape[0],), lambda i: te.sum(A[i, k], axis=k))

    np.testing.assert_array_equal(run_te(rows, x), np.full(4, 4096, "float16"))


def test_rf11_reduction_of_part(run_te):
    x = floats(6)

    def part(A):
        k = te.reduce_axis((1, 5))
        return te.compute((), lambda: te.sum(A[k], axis=k))

    np.testing.assert_allclose(run_te(part, x), x[1:5].sum(), 1e-5)


def test_rf11_reduction_under_a_condition_does_not_load_elsewhere(run_te):
    x = floats(4)

    def shifted(A):
        k = te.reduce_axis((0, 10**6))
        inside = k < A.shape[0]
        return te.compute((), lambda: te.sum(A[k], axis=k, where=inside))

    np.testing.assert_allclose(run_te(shifted, x), x.sum(), 1e-5)


def test_rf11_reduction_with_init(run_te):
    x, start = floats(3, 4), floats(3)

    def rows(A, B):
        k = te.reduce_axis((0, A.shape[1]))
        return te.compute((A.shape[0],), lambda i: te.sum(A[i, k], axis=k, init=B[i]))

    np.testing.assert_allclose(run_te(rows, x, start), start + x.sum(1), 1e-5)


def test_rf11_reduction_over_windows(run_te):
    x = floats(1, 2, 8, 8)

    def pool(A):
        h, w = te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
        return te.compute(
            (1, 2, 3, 3), lambda n, c, i, j: te.max(A[n, c, i * 2 + h, j * 2 + w], axis=[h, w])
        )

    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_array_equal(run_te(pool, x), windows.max((-1, -2)))


def test_rf11_reduction_whose_range_depends_on_the_element(run_te):
    x = floats(5)

    def sums(A):
        def element(i):
            k = te.reduce_axis((0, i + 1))
            return te.sum(A[k], axis=k)

        return te.compute((5,), element)

    np.testing.assert_allclose(run_te(sums, x), np.cumsum(x), 1e-5, 1e-6)


def test_rf11_comm_reducer_of_two_values(run_te):
    x = floats(3, 7)
    argmax = te.comm_reducer(
        lambda a, b: (
            tir.Select(a[1] >= b[1], a[0], b[0]),
            tir.Select(a[1] >= b[1], a[1], b[1]),
        ),
        lambda index, value: (te.const(-1, index), te.min_value(value)),
        name="argmax",
    )

    def function(A):
        k = te.reduce_axis((0, A.shape[1]))
        shape = (A.shape[0],)
        return te.compute(shape, lambda i: argmax((k.astype("int64"), A[i, k]), axis=k))

    index, value = run_te(function, x)
    np.testing.assert_array_equal(index, x.argmax(1))
    np.testing.assert_array_equal(value, x.max(1))


def test_rf11_several_outputs(run_te):
    x = floats(3)

    def both(A):
        return te.compute(A.shape, lambda i: (A[i] + 1, A[i].astype("int32"), A[i] > 0))

    plus, cast, positive = run_te(both, x)
    np.testing.assert_array_equal(plus, x + 1)
    np.testing.assert_array_equal(cast, x.astype("int32"))
    np.testing.assert_array_equal(positive, x > 0)


def test_rf11_one_of_several_outputs(run_te):
    x = floats(3)
    actual = run_te(lambda A: te.compute(A.shape, lambda i: (A[i] + 1, A[i] * 2))[1], x)
    np.testing.assert_array_equal(actual, x * 2)


def test_rf11_inputs_as_outputs(run_te):
    x = floats(3)
    same, twice, again = run_te(
        lambda A: (lambda B: [A, B, B])(te.compute(A.shape, lambda i: A[i] * 2)), x
    )
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(twice, x * 2)
    np.testing.assert_array_equal(again, x * 2)


def test_rf11_chain_of_operations(run_te):
    x = floats(3, 4)

    def softmax(A):
        k, m = te.reduce_axis((0, A.shape[1])), te.reduce_axis((0, A.shape[1]))
        top = te.compute((A.shape[0],), lambda i: te.max(A[i, k], axis=k), name="top")
        e = te.compute(A.shape, lambda i, j: te.exp(A[i, j] - top[i]), name="exp")
        total = te.compute((A.shape[0],), lambda i: te.sum(e[i, m], axis=m), name="total")
        return te.compute(A.shape, lambda i, j: e[i, j] / total[i], name="softmax")

    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run_te(softmax, x), e / e.sum(1, keepdims=True), 1e-5)


def test_rf11_concatenation_by_if_then_else(run_te):
    x, y = floats(3), floats(5)

    def both(A, B):
        n, m = A.shape[0], B.shape[0]
        return te.compute(
            (n + m,), lambda i: te.if_then_else(i < n, A[i], B[i - n]), name="concatenate"
        )

    np.testing.assert_array_equal(run_te(both, x, y), np.concatenate([x, y]))


def test_rf11_select_does_not_load_out_of_bounds(run_te):
    x = floats(4)

    def shifted(A):
        zero = te.const(0, A.dtype)
        return te.compute((4,), lambda i: tir.Select(i >= 1, A[i - 1], zero))

    np.testing.assert_array_equal(run_te(shifted, x), [0, *x[:3]])


def test_rf11_gather(run_te):
    x, order = floats(5, 3), np.array([4, 0, 0, 2], "int32")
    actual = run_te(lambda A, P: te.compute((4, 3), lambda i, j: A[P[i], j]), x, order)
    np.testing.assert_array_equal(actual, x[order])


def test_rf11_scan(run_te):
    x = floats(5, 3)

    def cumsum(X):
        m, n = X.shape
        state = te.placeholder((m, n), name="state")
        init = te.compute((1, n), lambda _, i: X[0, i])
        update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        return te.scan(init, update, state, inputs=[X])

    np.testing.assert_allclose(run_te(cumsum, x), np.cumsum(x, 0), 1e-5, 1e-6)


def test_rf11_scan_of_two_states_with_steps_between(run_te):
    x = floats(6)

    def function(X):
        (m,) = X.shape
        a, b = te.placeholder((m,), name="a"), te.placeholder((m,), name="b")
        init = te.compute((1,), lambda _: X[0])
        step = te.compute((m,), lambda t: a[t - 1] * 0.5 + b[t - 1])
        update = te.compute((m,), lambda t: step[t] + X[t])
        other = te.compute((m,), lambda t: te.max(step[t], X[t]))
        return te.scan([init, init], [update, other], [a, b])

    a, b = [x[0]], [x[0]]
    for value in x[1:]:
        step = np.float32(a[-1] * 0.5 + b[-1])
        a.append(step + value)
        b.append(max(step, value))
    first, second = run_te(function, x)
    np.testing.assert_allclose(first, a, 1e-5)
    np.testing.assert_allclose(second, b, 1e-5)


def test_rf11_recurrent_network_as_a_scan(run_te):
    x, weights = floats(4, 3), floats(3, 3) * 0.5

    def rnn(X, W):
        steps, size = X.shape
        state = te.placeholder((steps, size), name="state")
        k = te.reduce_axis((0, size), name="k")
        init = te.compute((1, size), lambda _, i: te.tanh(X[0, i]))
        hidden = te.compute((steps, size), lambda t, i: te.sum(state[t - 1, k] * W[k, i], axis=k))
        update = te.compute((steps, size), lambda t, i: te.tanh(hidden[t, i] + X[t, i]))
        return te.scan(init, update, state)

    rows = [np.tanh(x[0])]
    for value in x[1:]:
        rows.append(np.tanh(rows[-1] @ weights + value))
    np.testing.assert_allclose(run_te(rnn, x, weights), rows, 1e-4, 1e-5)


def test_rf11_scalars_of_rank_0(run_te):
    x = np.array(3.0, "float32")
    actual = run_te(lambda A: te.compute((2,), lambda i: A() + i.astype("float32")), x)
    np.testing.assert_array_equal(actual, [3, 4])


def test_rf11_long_bodies(run_te):
    x = floats(2)

    def function(A):
        def element(i):
            total = A[i] * 0
            for _ in range(2000):
                total = total + A[i]
            return total

        return te.compute(A.shape, element)

    np.testing.assert_allclose(run_te(function, x), x * 2000, 1e-3)


def test_rf11_no_elements(run_te):
    x = np.zeros((0, 3), "float32")

    def columns(A):
        k = te.reduce_axis((0, A.shape[0]))
        return te.compute((A.shape[1],), lambda j: te.sum(A[k, j], axis=k))

    np.testing.assert_array_equal(run_te(columns, x), np.zeros(3))


# ---------------------------------------------------------------------------------------------
# The form of kernels
# ---------------------------------------------------------------------------------------------


def body(kernel) -> str:
    return str(kernel)


def test_rf11_affine_accesses_are_operands():
    A, B = te.placeholder(("n", "m")), te.placeholder(("m", "l"))
    k = te.reduce_axis((0, A.shape[1]))
    C = te.compute((A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k))
    text = body(te.create_prim_func([A, B, C]))
    assert text.count("linalg.generic") == 1 and text.count("linalg.fill") == 1
    assert "tensor.extract" not in text and "linalg.index" not in text
    assert '["parallel", "parallel", "reduction"]' in text


def test_rf11_broadcast_is_a_map_to_zero():
    A, B = te.placeholder(("n", "m")), te.placeholder((1, "m"))
    C = te.compute(A.shape, lambda i, j: A[i, j] + B[0, j])
    assert "(d0, d1) -> (0, d1)" in body(te.create_prim_func([A, B, C]))


def test_rf11_equal_dimensions_are_proven():
    A = te.placeholder(("n * 2",))
    B = te.compute((tir.shape_var("n") + tir.shape_var("n"),), lambda i: A[i] + 1)
    assert "tensor.extract" not in body(te.create_prim_func([A, tir.shape_var("n"), B]))


def test_rf11_dimensions_that_may_differ_are_extracted():
    A = te.placeholder(("n",))
    m = tir.shape_var("m")
    B = te.compute((m,), lambda i: A[i] + 1)
    assert "tensor.extract" in body(te.create_prim_func([A, m, B]))


def test_rf11_convolution_is_one_operation():
    A, W = te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 3, 3))
    c, h, w = (te.reduce_axis((0, 3)) for _ in range(3))
    C = te.compute(
        (1, 4, 6, 6),
        lambda n, o, i, j: te.sum(A[n, c, i + h, j + w] * W[o, c, h, w], axis=[c, h, w]),
    )
    text = body(te.create_prim_func([A, W, C]))
    assert text.count("linalg.generic") == 1 and "tensor.extract" not in text


def test_prim_func_signature():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n,), "uint8", name="A")
    B = te.compute((n, m), lambda i, j: A[i].astype("float64"))
    kernel = te.create_prim_func([A, B, m], name="f")
    assert str(kernel.type) == "(tensor<?xi8>, i64, tensor<?x?xf64>) -> tensor<?x?xf64>"
    assert kernel.name.value == "f"


# ---------------------------------------------------------------------------------------------
# Tensors
# ---------------------------------------------------------------------------------------------


def test_tensor_properties():
    n = te.var("n")
    A = te.placeholder((n, 4), "float16", name="A")
    assert (A.ndim, A.dtype, A.name) == (2, "float16", "A")
    assert A.shape[0] is n and int(A.shape[1]) == 4
    B = te.compute((n,), lambda i: A[i][3] + 1, name="B", tag="elemwise", attrs={"k": 1})
    assert B.op.input_tensors == (A,) and B.op.tag == "elemwise" and B.op.attrs == {"k": 1}
    assert [axis.var.name for axis in B.op.axis] == ["i"] and B.op.reduce_axis == ()
    assert B.op.output(0) is B and B.op.num_outputs == 1
    pair = te.compute((n,), lambda i: (A[i, 0], A[i, 1]), name="P")
    assert [each.name for each in pair] == ["P.v0", "P.v1"]


def test_index_dtypes():
    assert te.compute((4,), lambda i: i).dtype == "int32"
    assert te.compute(("n",), lambda i: i).dtype == "int64"
    assert te.placeholder((relax.shape_var("n") * 2,)).shape[0].dtype == "int64"


def test_varargs_names():
    C = te.compute((2, 3, 4), lambda i, *r: r[0] + i, varargs_names=["a", "b"])
    assert [axis.var.name for axis in C.op.axis] == ["i", "a", "b"]


def test_tag_scope():
    with te.tag_scope("conv2d_nchw"):
        C = te.compute((2,), lambda i: i)
    assert C.op.tag == "conv2d_nchw"

    @te.tag_scope(tag="injective")
    def function():
        return te.compute((2,), lambda i: i)

    assert function().op.tag == "injective"
    with te.tag_scope("a"), pytest.raises(ValueError, match="inside of another"):
        te.tag_scope("b").__enter__()
    with te.tag_scope("a"), pytest.raises(ValueError, match=r"no tag inside of tag_scope\('a'\)"):
        te.compute((2,), lambda i: i, tag="b")


A4 = te.placeholder((4,), name="A")


def scan_of(state_rank=1, rows=1, dtype="float32"):
    state = te.placeholder((4,) * state_rank)
    init = te.compute((rows,) * 1, lambda i: te.const(0, dtype))
    update = te.compute((4,), lambda t: te.const(0, "float32"))
    return te.scan(init, update, state)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: te.placeholder((-1,)), "expected a dimension that is not negative, but got -1"),
        (lambda: te.placeholder((2**40, 2**40)), "a shape of less than 2[*][*]63 elements"),
        (lambda: te.placeholder((1.5,)), "expected an integer as dimension"),
        (lambda: te.placeholder((2,), "float33"), "expected a data type"),
        (lambda: te.compute((2,), lambda i, j: i), "expected fcompute to take 1 indices"),
        (lambda: te.compute((2, 2), lambda i: i), "expected fcompute to take 2 indices"),
        (lambda: te.compute((2,), lambda i, k=1: i), "indices only, but 'k' is optional"),
        (lambda: te.compute((2,), lambda i, **k: i), "it takes keyword arguments"),
        (
            lambda: te.compute((2, 3), lambda *i: i[0], varargs_names=["a"]),
            "expected 2 varargs_names, but got 1",
        ),
        (lambda: te.compute((2,), lambda i: "x"), "expected an expression or a number"),
        (lambda: te.compute((2,), lambda i: ()), "expected a value of fcompute of 'compute'"),
        (lambda: te.compute((2,), lambda i: A4[i, i]), "expected 1 indices of 'A', but got 2"),
        (lambda: te.compute((2,), lambda i: A4[A4[i]]), "expected an integer as index"),
        (
            lambda: te.compute((), lambda: 1 + te.sum(A4[K], axis=K)),
            "expected a reduction to be all that fcompute returns",
        ),
        (
            lambda: te.compute((), lambda: (te.sum(A4[K], axis=K), A4[0])),
            "expected all outputs of 'compute' to be reductions over the same axes",
        ),
        (lambda: te.scan([], [A4], [A4]), "expected as many of init, update and state_placeholder"),
        (lambda: scan_of(state_rank=2), "expected init, update and state of one rank"),
        (lambda: scan_of(dtype="int32"), "expected one data type, but got int32"),
        (lambda: te.scan(A4, A4, A4), "a placeholder as state and a computed tensor as update"),
        (lambda: te.create_prim_func([A4]), "expected at least one computed tensor"),
        (lambda: te.create_prim_func([A4, 3]), "expected tensors and variables, but got 3"),
        (
            lambda: te.create_prim_func([te.compute((4,), lambda i: A4[i])]),
            "expected the placeholder 'A' to be an input",
        ),
        (
            lambda: te.create_prim_func([te.compute((te.var("n"),), lambda i: i)]),
            "expected 'n' in the list, since it is no dimension of an input",
        ),
        (
            lambda: te.create_prim_func([A4, te.compute((4,), lambda i: A4[i + 1])]),
            r"expected indices of 'A' from 0 to 3, but got 1 to 4 in A\[i \+ 1\]",
        ),
        (
            lambda: te.create_prim_func([A4, te.compute((8,), lambda i: A4[i])]),
            r"expected indices of 'A' from 0 to 3, but got 0 to 7 in A\[i\]",
        ),
        (
            lambda: te.create_prim_func([A4, te.compute((), lambda: te.sum(A4[K9], axis=K9))]),
            "expected indices of 'A' from 0 to 3, but got 0 to 8",
        ),
        (
            lambda: te.create_prim_func([A4, te.compute((4,), lambda i: A4[i - 1])]),
            "expected indices of 'A' from 0 to 3, but got -1 to 2",
        ),
        (
            lambda: te.create_prim_func([A4, te.compute((4,), lambda i: tir.Call(
                "float32", "no_op", [A4[i]]))]),
            "expected a known intrinsic, but got 'no_op'",
        ),
        (lambda: iter(A4), "cannot be iterated over"),
        (lambda: len(A4), "a dimension may be symbolic"),
    ],
)  # fmt: skip
def test_rf11_invalid_tensor_expressions(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


K = te.reduce_axis((0, 4), name="k")
K9 = te.reduce_axis((0, 9), name="k")


def test_kernels_are_made_in_the_current_context():
    with ir.Context() as context:
        A = te.placeholder((4,))
        kernel = te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1)])
        assert kernel.context is context
