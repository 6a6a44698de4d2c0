"""Tensor programs under ``T.prim_func``: what they compute."""

import textwrap
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.script.printer.tir import prim_func_lines

pytestmark = pytest.mark.usefixtures("exec_mode")


def array(tensor: Any) -> np.ndarray:
    return np.from_dlpack(tensor)


def module(kernel: str, params: str, call: str, **names: Any) -> Any:
    """Return the module of a kernel and of a function that calls it."""
    text = "\n".join(
        [
            "@I.ir_module",
            "class Module:",
            textwrap.indent(textwrap.dedent(kernel).strip(), "    "),
            "    @R.function(pure=False)",
            f"    def main({params}):",
            *(f"        {line}" for line in textwrap.dedent(call).strip().splitlines()),
            "        return out",
        ]
    )
    return from_source(text, names)


def run(kernel: str, params: str, out: str, *inputs: Any, call: str = "", **names: Any) -> Any:
    """Compile a kernel `k`, and call it with tensors; `out` is the StructInfo of the output."""
    args = ", ".join(param.split(":")[0] for param in params.split(";") if param)
    call = call or f"out = R.call_tir(Module.k, ({args}{',' if args else ''}), out_sinfo={out})"
    mod = module(kernel, params.replace(";", ","), call, **names)
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    # The printed text is the same function.
    assert prim_func_lines(mod["k"].operation)
    result = main(*inputs)
    return array(result) if hasattr(result, "__dlpack__") else [array(each) for each in result]


RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype("float32")
Y = RNG.standard_normal((4, 5)).astype("float32")
NM = 'x: R.Tensor(("n", "m"), "float32")'
SAME = 'R.Tensor((n, m), "float32")'
DECLARE = "n, m = T.int64(), T.int64()\n"


def same_shape(kernel: str, x: np.ndarray, **names: Any) -> np.ndarray:
    """Run a kernel on one matrix, to one of the same shape."""
    dtype = x.dtype.name
    params = f'x: R.Tensor(("n", "m"), "{dtype}")'
    call = f'{DECLARE}out = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((n, m), "{dtype}"))'
    return run(kernel, params, "", x, call=call, **names)


ELEMENTWISE = """
@T.prim_func(private=True)
def k(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "{dtype}")
    B = T.match_buffer(b, (n, m), "{dtype}")
    for i, j in T.grid(n, m):
        with T.sblock("compute"):
            vi, vj = T.axis.remap("SS", [i, j])
            x = T.meta_var(A[vi, vj])
            B[vi, vj] = {expr}
"""


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf

    return np.vectorize(erf)(x)


FLOATS = {
    "T.exp(x)": np.exp,
    "T.log(T.abs(x) + T.float32(1))": lambda x: np.log(abs(x) + 1),
    "T.sqrt(T.fabs(x))": lambda x: np.sqrt(abs(x)),
    "T.rsqrt(x * x + T.float32(1))": lambda x: 1 / np.sqrt(x * x + 1),
    "T.tanh(x)": np.tanh,
    "T.expm1(x)": np.expm1,
    "T.logaddexp(x, T.float32(0))": lambda x: np.logaddexp(x, 0),
    "T.sigmoid(x)": lambda x: 1 / (1 + np.exp(-x)),
    "T.erf(x)": erf,
    "T.pow(T.abs(x), T.float32(1.5))": lambda x: abs(x) ** 1.5,
    "T.floor(x) + T.ceil(x) * T.float32(10)": lambda x: np.floor(x) + np.ceil(x) * 10,
    "T.round(x * T.float32(2)) + T.trunc(x)": lambda x: np.round(x * 2) + np.trunc(x),
    "T.max(x, 0)": lambda x: np.maximum(x, 0),
    "T.min(x, T.float32(0.5))": lambda x: np.minimum(x, 0.5),
    "T.Select(x > T.float32(0), x, -x)": abs,
    "T.if_then_else(vi == vj, x, T.float32(7))": lambda x: np.where(np.eye(3, 4) > 0, x, 7),
    "x if x < 0.5 else 0.5": lambda x: np.minimum(x, 0.5),
    "T.Cast('float32', T.isnan(x / x))": lambda x: np.zeros_like(x),
    "T.Let(y * y, where={y: x + T.float32(1)})": lambda x: (x + 1) ** 2,
    "T.sin(x) * T.cos(x) + T.atan2(x, T.float32(2))": lambda x: (
        np.sin(x) * np.cos(x) + np.arctan2(x, 2)
    ),
    "T.Cast('float32', vi * m + vj)": lambda x: np.arange(12).reshape(3, 4),
    "T.Cast('float32', T.Cast('int32', x * 10.0))": lambda x: (x * 10).astype(int),
    "T.Cast('float32', 0 < x and not x > 1 or x < -1)": lambda x: ((x > 0) & (x <= 1)) | (x < -1),
}


@pytest.mark.parametrize("expr", FLOATS)
def test_gr02_float_expressions(expr):
    names = {"y": T.var("float32", "y")}
    got = same_shape(ELEMENTWISE.format(expr=expr, dtype="float32"), X, **names)
    np.testing.assert_allclose(got, FLOATS[expr](X).astype("float32"), rtol=1e-5, atol=1e-6)


def test_gr02_functions_are_those_of_tir():
    assert set(relax.tir.op.__all__) - set(T.__all__) == {
        "comm_reducer",
        "prod",
        "reduce_axis",
        "sum",
    }


INTS = {
    "x + 3": lambda x: x + 3,
    "x // 3": lambda x: x // 3,
    "x % 3": lambda x: x % 3,
    "x // -3": lambda x: x // -3,
    "x % -3": lambda x: x % -3,
    "T.truncdiv(x, 3)": lambda x: np.trunc(x / 3),
    "T.truncmod(x, 3)": lambda x: np.fmod(x, 3),
    "T.floordiv(x, x * x + 1)": lambda x: x // (x * x + 1),
    "T.floormod(x, x * x + 1)": lambda x: x % (x * x + 1),
    "x << 2": lambda x: x << 2,
    "x >> 1": lambda x: x >> 1,
    "T.shift_right(x, T.Cast(x.dtype, vj))": lambda x: x >> np.arange(4).astype(x.dtype),
    "T.bitwise_and(x, 5) + T.bitwise_or(x, 8)": lambda x: (x & 5) + (x | 8),
    "x ^ 3": lambda x: x ^ 3,
    "~x": lambda x: ~x,
    "T.min(T.max(x, 2), 5)": lambda x: np.clip(x, 2, 5),
    "T.Select(x % 2 == 0, x, 1)": lambda x: np.where(x % 2 == 0, x, 1),
    "x * x * x": lambda x: x * x * x,
    "T.popcount(x)": lambda x: np.array(
        [bin(int(v) % 2 ** (8 * x.itemsize)).count("1") for v in x.flat]
    ).reshape(x.shape),
}


INT_CASES = [
    (expr, dtype)
    for expr in INTS
    for dtype in ["int8", "int32", "int64", "uint8", "uint32"]
    if not (dtype.startswith("u") and "-3" in expr)
]


@pytest.mark.parametrize(("expr", "dtype"), INT_CASES)
def test_gr02_integer_expressions(expr, dtype):
    x = np.array([[0, 1, 2, 3], [5, 7, 100, 127], [4, 60, 99, 126]], dtype)
    if not dtype.startswith("u"):
        x[0] -= 4
    got = same_shape(ELEMENTWISE.format(expr=expr, dtype=dtype), x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, INTS[expr](x).astype(dtype))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_gr02_other_floats(dtype):
    x = X.astype(dtype)
    kernel = ELEMENTWISE.format(expr=f"T.exp(x) * T.{dtype}(0.5) + x", dtype=dtype)
    np.testing.assert_allclose(same_shape(kernel, x), np.exp(x) * 0.5 + x, rtol=2e-3)


# Expressions that Python computes while a kernel is parsed, and their values.
OF_PYTHON = {
    "{i: i + 1 for i in range(3)}[2]": 3,
    "len({i % 2 for i in range(5)})": 2,
    "(lambda a, b=2, *c: a * b + len(c))(3, 4, 5)": 13,
    "(lambda a, b=2: a * b)(3)": 6,
    "int(f'{7:03d}{1!r}') if 1 < 2 < 3 else 0": 71,
    "sum([*range(3), 4])": 7,
    "3 in (1, 2) or not 0 and 5": 5,
}


@pytest.mark.parametrize("expr", OF_PYTHON)
def test_gr02_expressions_of_python(expr):
    kernel = from_source(f'@T.prim_func\ndef f(A: T.Buffer((1,), "int32")):\n    A[0] = {expr}\n')
    assert f"arith.constant {OF_PYTHON[expr]} : i32" in str(kernel)


MATMUL = """
@T.prim_func(private=True)
def k(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({"tir.noalias": True, "op_pattern": 4})
    n, m, l = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n, l))
    B = T.match_buffer(b, (l, m))
    C = T.match_buffer(c, (n, m))
    for i, j, k in T.grid(n, m, l):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""
XY = 'x: R.Tensor(("n", "l"), "float32"); y: R.Tensor(("l", "m"), "float32")'
CALL_XY = DECLARE + 'out = R.call_tir(Module.k, (x, y), out_sinfo=R.Tensor((n, m), "float32"))'


def test_gr02_matmul():
    np.testing.assert_allclose(run(MATMUL, XY, "", X, Y, call=CALL_XY), X @ Y, rtol=1e-5)
    mod = module(MATMUL, XY.replace(";", ","), CALL_XY)
    text = str(mod)
    assert "linalg.fill" in text
    assert 'iterator_types = ["parallel", "parallel", "reduction"]' in text
    assert "op_pattern = 4" in text
    assert "scf.for" not in text


def test_gr02_softmax():
    kernel = """
    @T.prim_func(private=True)
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, m))
        top = T.alloc_buffer((n,), "float32")
        total = T.sblock_alloc_buffer((n,))
        power = T.alloc_buffer((n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("max"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    top[vi] = T.min_value("float32")
                top[vi] = T.max(top[vi], A[vi, vj])
        for i, j in T.grid(n, m):
            with T.sblock("exp"):
                vi, vj = T.axis.remap("SS", [i, j])
                power[vi, vj] = T.exp(A[vi, vj] - top[vi])
        for i, j in T.grid(n, m):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + power[vi, vj]
        for i, j in T.grid(n, m):
            with T.sblock("div"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = power[vi, vj] / total[vi]
    """
    expected = np.exp(X - X.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(same_shape(kernel, X), expected, rtol=1e-5)


def test_gr02_transpose_and_static_shapes():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((3, 4), "float32"), B: T.Buffer((T.int64(4), T.int64(3)), "float32")):
        for i0, i1 in T.grid(4, 3):
            with T.sblock("T_transpose"):
                ax0, ax1 = T.axis.remap("SS", [i0, i1])
                B[ax0, ax1] = A[ax1, ax0]
    """
    got = run(kernel, 'x: R.Tensor((3, 4), "float32")', 'R.Tensor((4, 3), "float32")', X)
    np.testing.assert_array_equal(got, X.T)


def test_gr02_unit_axes_and_broadcasting():
    kernel = """
    @T.prim_func
    def k(
        A: T.Buffer((1, 4), "float32"), B: T.Buffer((4,)), C: T.Buffer((1, 4), "float32")
    ) -> None:
        for ax1 in range(4):
            with T.sblock("T_add"):
                v_ax0 = T.axis.spatial(1, 0)
                v_ax1 = T.axis.spatial(4, ax1)
                C[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax1]
    """
    params = 'x: R.Tensor((1, 4), "float32"); y: R.Tensor((4,), "float32")'
    got = run(kernel, params, 'R.Tensor((1, 4), "float32")', X[:1], X[1])
    np.testing.assert_allclose(got, X[:1] + X[1])


def test_gr02_convolution_with_padding():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((8,), "float32"), W: T.Buffer((3,), "float32"), B: T.Buffer((8,), "float32")):
        pad = T.alloc_buffer((10,), "float32")
        for i in range(10):
            with T.sblock("pad"):
                vi = T.axis.spatial(10, i)
                pad[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], T.float32(0))
        for i, r in T.grid(8, 3):
            with T.sblock("conv"):
                vi, vr = T.axis.remap("SR", [i, r])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + pad[vi + vr] * W[2 - vr]
    """
    x, w = X.flatten()[:8], Y[0, :3]
    params = 'x: R.Tensor((8,), "float32"); w: R.Tensor((3,), "float32")'
    got = run(kernel, params, 'R.Tensor((8,), "float32")', x, w)
    np.testing.assert_allclose(got, np.convolve(x, w, "same"), rtol=1e-5)


def test_gr02_argmax_with_two_outputs_of_a_block():
    kernel = """
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n,), "int64")
        index = T.alloc_buffer((n,), "int64")
        top = T.alloc_buffer((n,), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("argmax"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    index[vi] = T.int64(-1)
                    top[vi] = T.min_value("float32")
                v_i: T.let[T.int64] = T.Select(top[vi] >= A[vi, vj], index[vi], vj)
                v_t: T.let[T.float32] = T.Select(top[vi] >= A[vi, vj], top[vi], A[vi, vj])
                index[vi] = v_i
                top[vi] = v_t
        for i in range(n):
            with T.sblock("copy"):
                vi = T.axis.spatial(n, i)
                B[vi] = index[vi]
    """
    call = DECLARE + 'out = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((n,), "int64"))'
    np.testing.assert_array_equal(run(kernel, NM, "", X, call=call), X.argmax(1))
    assert str(module(kernel, NM, call)).count("linalg.generic") == 2


def test_gr02_gather():
    kernel = """
    @T.prim_func
    def k(a: T.handle, i: T.handle, b: T.handle):
        n, m, c = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        idx = T.match_buffer(i, (c,), "int32")
        B = T.match_buffer(b, (c, m), "float32")
        for ax0, ax1 in T.grid(c, m):
            with T.sblock("take"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B[v0, v1] = A[idx[v0], v1]
    """
    params = NM + '; i: R.Tensor(("c",), "int32")'
    call = "c, m = T.int64(), T.int64()\n"
    call += 'out = R.call_tir(Module.k, (x, i), out_sinfo=R.Tensor((c, m), "float32"))'
    indices = np.array([2, 0, 2, 1], "int32")
    np.testing.assert_array_equal(run(kernel, params, "", X, indices, call=call), X[indices])


def test_gr02_scatter_is_done_in_order():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((6,), "float32"), idx: T.Buffer((6,), "int64"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            B[i] = 0
        for i in range(6):
            with T.sblock("scatter"):
                vi = T.axis.opaque(6, i)
                B[idx[vi]] += A[vi]
    """
    x, index = X.flatten()[:6], np.array([0, 2, 2, 1, 0, 2])
    params = 'x: R.Tensor((6,), "float32"); i: R.Tensor((6,), "int64")'
    got = run(kernel, params, 'R.Tensor((3,), "float32")', x, index)
    np.testing.assert_allclose(got, np.bincount(index, x), rtol=1e-6)


def test_gr02_while_and_local_variables():
    """Binary search, with a variable that changes."""
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((8,), "int64"), Q: T.Buffer((5,), "int64"), B: T.Buffer((5,), "int32")):
        for i in T.parallel(5):
            lo: T.int32 = 0
            hi = 8
            while lo < hi:
                mid: T.let[T.int32] = (lo + hi) // 2
                if A[mid] < Q[i]:
                    lo = mid + 1
                else:
                    hi = mid
            B[i] = lo
    """
    a, q = np.array([1, 3, 3, 5, 7, 9, 11, 13]), np.array([0, 3, 6, 13, 20])
    params = 'x: R.Tensor((8,), "int64"); q: R.Tensor((5,), "int64")'
    got = run(kernel, params, 'R.Tensor((5,), "int32")', a, q)
    np.testing.assert_array_equal(got, np.searchsorted(a, q))


def test_gr02_variables_that_begin_as_another_one():
    """The place of the largest element, which begins as that of the first one."""
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((4, 6), "int64"), B: T.Buffer((4,), "int32")):
        for i in T.parallel(4):
            first = i % 2
            best = first
            for j in range(6):
                if A[i, j] > A[i, best]:
                    best = j
            B[i] = best
    """
    a = np.array([[3, 1, 7, 2, 0, 5], [1, 9, 2, 2, 2, 2], [0, 0, 0, 0, 0, 4], [6, 1, 1, 8, 1, 1]])
    params = 'x: R.Tensor((4, 6), "int64")'
    got = run(kernel, params, 'R.Tensor((4,), "int32")', a)
    np.testing.assert_array_equal(got, a.argmax(1))


def test_gr02_scan_depends_on_the_order():
    kernel = """
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, m))
        for i in range(n):
            B[i, 0] = A[i, 0]
            for j in T.serial(1, m):
                with T.sblock("scan"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = B[vi, vj - 1] + A[vi, vj]
    """
    np.testing.assert_allclose(same_shape(kernel, X), X.cumsum(1), rtol=1e-5)


def test_gr02_extent_that_depends_on_an_outer_loop():
    kernel = """
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, m))
        for i, j in T.grid(n, m):
            B[i, j] = 0.0
            for l in range(T.min(i, j) + 1):
                B[i, j] += A[l, j]
    """
    expected = [[X[: min(i, j) + 1, j].sum() for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(same_shape(kernel, X), expected, rtol=1e-5, atol=1e-6)


def test_gr02_split_loops_with_a_predicate():
    kernel = """
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, m))
        for i, j0 in T.grid(n, T.ceildiv(m, 3)):
            for j1 in T.vectorized(3):
                with T.sblock("copy"):
                    vi = T.axis.spatial(n, i)
                    vj = T.axis.spatial(m, j0 * 3 + j1)
                    T.where(j0 * 3 + j1 < m)
                    B[vi, vj] = A[vi, vj] + 1.0
    """
    np.testing.assert_allclose(same_shape(kernel, X), X + 1)


def test_gr02_reduction_in_loops():
    """Not structured: the reduction is over a part that is computed."""
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((12,), "float32"), B: T.Buffer((3,), "float32")):
        for i, j in T.grid(3, 4):
            with T.sblock("sum"):
                vi = T.axis.spatial(3, i)
                vj = T.axis.reduce((2, 4), j + 2 - j % 2 * 0 - T.max(j - 1, 0))
                with T.init():
                    B[vi] = T.float32(-1)
                B[vi] = B[vi] + A[vi * 4 + vj]
    """
    got = run(kernel, 'x: R.Tensor((12,), "float32")', 'R.Tensor((3,), "float32")', X.flatten())
    expected = []
    for row in X:
        total = 0.0
        for j in range(4):
            vj = j + 2 - max(j - 1, 0)
            if vj == 2:
                total = -1.0
            total += row[vj]
        expected.append(total)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_gr02_in_place():
    kernel = """
    @T.prim_func(private=True)
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (m,))
        for i, j in T.grid(n, m):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + B[vj]
    """
    params = NM + '; y: R.Tensor(("m",), "float32")'
    call = DECLARE + f"out = R.call_tir_inplace(Module.k, (x, y), [0], {SAME})"
    x = X.copy()
    got = run(kernel, params, "", x, X[0], call=call)
    np.testing.assert_allclose(got, X + X[0])
    np.testing.assert_array_equal(x, got)


def test_gr02_several_outputs_and_booleans():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((3, 4), "float32"), P: T.Buffer((3, 4), "bool"), N: T.Buffer((), "int32")):
        N[()] = 0
        for i, j in T.grid(3, 4):
            P[i, j] = A[i, j] > T.float32(0)
            if P[i, j]:
                N[()] += 1
    """
    out = '[R.Tensor((3, 4), "bool"), R.Tensor((), "int32")]'
    positive, count = run(kernel, 'x: R.Tensor((3, 4), "float32")', out, X)
    np.testing.assert_array_equal(positive, X > 0)
    assert count[()] == (X > 0).sum()


def test_gr02_op01_integers_come_after_outputs():
    """TVM's tensor programs take tir_vars last."""
    kernel = """
    @T.prim_func
    def k(c: T.handle, n: T.int64, m: T.int64):
        C = T.match_buffer(c, (n, m), "int32")
        for i, j in T.grid(n, m):
            C[i, j] = T.Cast("int32", i * m + j)
    """
    call = 'out = R.call_tir(Module.k, (), R.Tensor((n, m), "int32"), tir_vars=R.shape([n, m]))'
    got = run(kernel, NM, "", X, call=DECLARE + call)
    np.testing.assert_array_equal(got, np.arange(12).reshape(3, 4))
    before = kernel.replace(
        "c: T.handle, n: T.int64, m: T.int64", "n: T.int64, m: T.int64, c: T.handle"
    )
    np.testing.assert_array_equal(run(before, NM, "", X, call=DECLARE + call), got)


def test_gr02_handles_that_are_not_matched():
    kernel = """
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        T.evaluate(0)
    """
    call = DECLARE + f"out = R.call_tir(Module.k, (x,), {SAME})"
    text = str(module(kernel, NM, call))
    assert "@k(%arg0: memref<?x?xf32>, %arg1: memref<?x?xf32>)" in text


def test_gr02_overflow_wraps_by_data_type():
    kernel = ELEMENTWISE.format(expr="x * T.int8(2)", dtype="int8")
    x = np.array([[100, -100, 64, 1]], "int8")
    np.testing.assert_array_equal(same_shape(kernel, x), np.array([[-56, 56, -128, 2]], "int8"))


def test_gr02_loop_kinds_are_kept():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.thread_binding(2, thread="blockIdx.x"):
            for j in T.unroll(2):
                for l in T.vectorized(4):
                    B[i * 8 + j * 4 + l] = A[i * 8 + j * 4 + l]
    """
    x = X.flatten()[:12]
    x = np.concatenate([x, x[:4]])
    got = run(kernel, 'x: R.Tensor((16,), "float32")', 'R.Tensor((16,), "float32")', x)
    np.testing.assert_array_equal(got, x)


def test_gr02_select_reads_only_what_it_takes():
    """As in TVM, where a value that is not taken may be out of bounds."""
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("shift"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.Select(vi >= 4, A[vi - 4], A[vi] * T.float32(2))
    """
    params = 'x: R.Tensor((8,), "float32")'
    x = np.arange(8, dtype="float32")
    got = run(kernel, params, 'R.Tensor((8,), "float32")', x)
    np.testing.assert_array_equal(got, [0, 2, 4, 6, 0, 1, 2, 3])
    call = 'out = R.call_tir(Module.k, (x,), R.Tensor((8,), "float32"))'
    assert "scf.if" in str(module(kernel, params, call))


def test_gr02_memory_in_loops():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((512,), "float32"), B: T.Buffer((4, 512), "float32")):
        for i in range(4):
            tmp = T.alloc_buffer((512,), "float32")
            for j in range(512):
                tmp[j] = A[j] * T.Cast("float32", i)
            count: T.int32 = 0
            while count < 512:
                place = T.alloc_buffer((600,), "int32")
                place[count] = count
                if count % 2 == 0:
                    more = T.alloc_buffer((700,), "float32")
                    more[count] = tmp[count]
                    B[i, place[count]] = more[count]
                else:
                    B[i, place[count]] = -tmp[count]
                count += 1
    """
    x = np.arange(512, dtype="float32")
    got = run(kernel, 'x: R.Tensor((512,), "float32")', 'R.Tensor((4, 512), "float32")', x)
    expected = np.outer(np.arange(4), x).astype("float32")
    expected[:, 1::2] *= -1
    np.testing.assert_array_equal(got, expected)


def test_gr02_on_tensors():
    kernel = """
    @T.prim_func(private=True, tensors=True)
    def k(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, m))
        total = T.alloc_buffer((n,))
        for i, j in T.grid(n, m):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] += A[vi, vj]
        for i, j in T.grid(n, m):
            with T.sblock("center"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] - total[vi] / T.Cast("float32", m)
    """
    got = same_shape(kernel, X)
    np.testing.assert_allclose(got, X - X.mean(1, keepdims=True), rtol=1e-5, atol=1e-6)
    call = DECLARE + f"out = R.call_tir(Module.k, (x,), {SAME})"
    assert "memref" not in str(module(kernel, NM, call))


# As decorated functions of Python.


@I.ir_module
class Decorated:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("scale"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Decorated
        return R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((4,), "float32"))


def test_gr02_decorated_module():
    main = relax.VirtualMachine(relax.compile(Decorated))["main"]
    np.testing.assert_array_equal(array(main(X[0])), X[0] * 2)


FACTOR = 3


def test_gr02_decorated_function_uses_python_around_it():
    shape = (2, FACTOR)

    @T.prim_func
    def fill(A: T.Buffer(shape, "int32")):
        for i, j in T.grid(*shape):
            A[i, j] = i * FACTOR + len(shape)

    assert fill.name == "fill"
    text = str(fill)
    assert "memref<2x3xi32>" in text
    assert "arith.constant 3" in text


def test_gr02_external_functions():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.call_extern("float32", "cosf", A[i])
            B[i] += T.call_pure_extern("float32", "sinf", A[i])
        T.evaluate(T.call_extern("handle", "memcpy", B.data, A.data, T.int64(8)))
    """
    got = run(kernel, 'x: R.Tensor((4,), "float32")', 'R.Tensor((4,), "float32")', X[0])
    expected = np.cos(X[0]) + np.sin(X[0])
    expected[:2] = X[0, :2]
    np.testing.assert_allclose(got, expected, rtol=1e-6)


PREFETCHED = """
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 20), "float32")
        B = T.match_buffer(b, (n, 20), "float32")
        for i in T.parallel(n):
            {}
            for j in T.vectorized(20):
                B[i, j] = A[i, j] * T.float32(2)
    """


@pytest.mark.parametrize(
    "call",
    [
        "T.prefetch(T.address_of(A[i + 4, 16]), 0, 3, 1)",
        'T.call_intrin("void", "tirx.prefetch", T.address_of(A[i + 4, 16]), 0, 3, 1)',
        'T.evaluate(T.call_intrin("void", "tir.prefetch", T.address_of(B[i, 0]), 1, 0, 1))',
    ],
)
def test_gr02_prefetch(call):
    kernel = PREFETCHED.format(call)
    x = np.arange(100, dtype=np.float32).reshape(5, 20)
    tensor = 'R.Tensor((5, 20), "float32")'
    got = run(kernel, f"x: {tensor}", tensor, x)
    np.testing.assert_array_equal(got, x * 2)


def test_gr02_prefetch_prints_as_tvm_reads_it():
    kernel = PREFETCHED.format("T.prefetch(T.address_of(A[i + 4, 16]), 0, 3, 1)")
    tensor = 'R.Tensor((5, 20), "float32")'
    mod = module(kernel, f"x: {tensor}", f"out = R.call_tir(Module.k, (x,), out_sinfo={tensor})")
    hint = 'T.evaluate(T.call_intrin("void", "tirx.prefetch", T.address_of(A[i + T.int64(4), 16])'
    assert hint in "\n".join(prim_func_lines(mod["k"].operation))


def test_gr02_intrinsics_by_name():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.call_intrin("float32", "tirx.exp", A[i])
    """
    got = run(kernel, 'x: R.Tensor((4,), "float32")', 'R.Tensor((4,), "float32")', X[0])
    np.testing.assert_allclose(got, np.exp(X[0]), rtol=1e-6)


def test_error_gr02_threads_that_share_memory():
    kernel = """
    @T.prim_func
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        tmp = T.alloc_buffer((4,), "float32", scope="shared")
        for i in T.thread_binding(4, thread="threadIdx.x"):
            tmp[i] = A[i]
            B[i] = tmp[3 - i]
    """
    mod = module(
        kernel,
        'x: R.Tensor((4,), "float32")',
        'out = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((4,), "float32"))',
    )
    with pytest.raises(ir.MLIRError, match="expected no memory that threads share"):
        relax.compile(mod)
