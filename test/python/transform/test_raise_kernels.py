"""RF16: kernels of ``T.prim_func`` are read from their loops, fused, and known to classes."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.analysis import OpPattern, detect_op_pattern
from test_fusion import parse


def kernel(params: str, body: str, name: str = "kernel") -> str:
    """Return the text of a kernel."""
    text = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
    return f"    @T.prim_func\n    def {name}({params}):\n{text}\n"


def module(kernels: str, params: str, *lines: str, outputs: str) -> Any:
    """Return a module with kernels, and `main`, whose body is one dataflow block."""
    return parse(params, *lines, outputs=outputs, extra=kernels.strip())


def call(name: str, arguments: str, shape: str, dtype: str = "float32") -> str:
    return f'R.call_tir(Module.{name}, ({arguments},), out_sinfo=R.Tensor({shape}, "{dtype}"))'


def flat(value: Any) -> list[np.ndarray]:
    if hasattr(value, "__dlpack__"):
        return [np.from_dlpack(value)]
    return [tensor for field in value for tensor in flat(field)]


def run(mod: Any, *arguments: np.ndarray, **options: Any) -> list[np.ndarray]:
    return flat(relax.VirtualMachine(relax.compile(mod, **options))["main"](*arguments))


def kernels(mod: Any, folder: Path) -> tuple[list[str], list[str]]:
    """Return what `main` calls, and the classes of the kernels."""
    relax.compile(mod, dump_phases=folder)
    dumps = {path.stem[3:]: path.read_text() for path in folder.iterdir()}
    called = re.findall(r"relax\.call_tir @(\w+)", dumps["legalize"])
    return called, re.findall(r'relax\.kernel_class = "(\w+)"', dumps["kernels"])


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-1.5, 1.5, shape).astype("float32")


A8 = 'A: T.Buffer(("n", 8), "float32")'
C8 = 'C: T.Buffer(("n", 8), "float32")'
X8 = 'x: R.Tensor(("n", 8), "float32")'

ADD = {
    "blocks": """
        for i, j in T.grid(A.shape[0], 8):
            with T.block("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vj]
    """,
    "loops": """
        for i in range(A.shape[0]):
            for j in range(8):
                C[i, j] = A[i, j] + B[j]
    """,
    "scheduled": """
        for i in T.parallel(A.shape[0]):
            for j in T.vectorized(8):
                with T.block("add"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj] + B[vj]
    """,
    "columns first": """
        for j in T.unroll(8):
            for i in range(A.shape[0]):
                C[i, j] = A[i, j] + B[j]
    """,
}


@pytest.mark.parametrize("n", [0, 1, 5, 67])
@pytest.mark.parametrize("body", ADD.values(), ids=[*ADD])
def test_rf16_add_and_relu_are_one_kernel(
    body: str, n: int, exec_mode: str, tmp_path: Path
) -> None:
    mod = module(
        kernel(f'{A8}, B: T.Buffer((8,), "float32"), {C8}', body, "add"),
        f'{X8}, b: R.Tensor((8,), "float32")',
        "n = T.int64()",
        f"y = {call('add', 'x, b', '(n, 8)')}",
        "z = R.nn.relu(y)",
        outputs="z",
    )
    assert detect_op_pattern(mod["add"]) == OpPattern.BROADCAST
    assert kernels(mod, tmp_path) == (["fused_add_relu"], ["elementwise"])
    x, b = random(n, 8), random(8)
    np.testing.assert_array_equal(run(mod, x, b)[0], np.maximum(x + b, 0))


PRODUCT = {
    "blocks": """
        for i, j, k in T.grid(A.shape[0], 16, 8):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    """,
    "loops": """
        for i in range(A.shape[0]):
            for j in range(16):
                C[i, j] = 0.0
                for k in range(8):
                    C[i, j] += A[i, k] * B[k, j]
    """,
    "loops one after the other": """
        for i, j in T.grid(A.shape[0], 16):
            C[i, j] = 0.0
        for k in range(8):
            for i, j in T.grid(A.shape[0], 16):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
    """,
    "scheduled": """
        for i in T.parallel(A.shape[0]):
            for k, j in T.grid(8, 16):
                with T.block("matmul"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi, vj] = 0.0
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    """,
}


@pytest.mark.parametrize("n", [0, 1, 5, 67])
@pytest.mark.parametrize("body", PRODUCT.values(), ids=[*PRODUCT])
def test_rf16_product_and_relu_are_of_class_matmul(
    body: str, n: int, exec_mode: str, tmp_path: Path
) -> None:
    params = f'{A8}, B: T.Buffer((8, 16), "float32"), C: T.Buffer(("n", 16), "float32")'
    mod = module(
        kernel(params, body, "product"),
        f'{X8}, w: R.Tensor((8, 16), "float32")',
        "n = T.int64()",
        f"y = {call('product', 'x, w', '(n, 16)')}",
        "z = R.nn.relu(y)",
        outputs="z",
    )
    assert detect_op_pattern(mod["product"]) == OpPattern.OUT_ELEMWISE_FUSABLE
    assert kernels(mod, tmp_path) == (["fused_product_relu"], ["matmul"])
    x, w = random(n, 8), random(8, 16)
    np.testing.assert_allclose(run(mod, x, w)[0], np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)


SOFTMAX = """
    M = T.alloc_buffer((A.shape[0],), "float32")
    E = T.alloc_buffer((A.shape[0], 8), "float32")
    S = T.alloc_buffer((A.shape[0],), "float32")
    for i in range(A.shape[0]):
        M[i] = -1e30
        for j in range(8):
            M[i] = T.max(M[i], A[i, j])
        for j in range(8):
            E[i, j] = T.exp(A[i, j] - M[i])
        S[i] = 0.0
        for j in range(8):
            S[i] = S[i] + E[i, j]
        for j in range(8):
            C[i, j] = E[i, j] / S[i]
"""


@pytest.mark.parametrize("n", [0, 1, 9])
def test_rf16_several_loops_share_rows(n: int, exec_mode: str, tmp_path: Path) -> None:
    mod = module(
        kernel(f"{A8}, {C8}", SOFTMAX, "softmax"),
        X8,
        "n = T.int64()",
        "s = R.multiply(x, R.const(2.0))",
        f"y = {call('softmax', 's', '(n, 8)')}",
        outputs="y",
    )
    assert detect_op_pattern(mod["softmax"]) == OpPattern.COMM_REDUCE
    assert kernels(mod, tmp_path) == (["fused_multiply_softmax"], ["rows"])
    x = random(n, 8)
    e = np.exp(2 * x)
    np.testing.assert_allclose(run(mod, x)[0], e / e.sum(1, keepdims=True), rtol=1e-5)


# Each with what is computed of x (n, 8), or of what else is given, and of its size.
OTHERS: dict[str, tuple[str, str, str, Any]] = {
    "transpose": (
        'C: T.Buffer((8, "n"), "float32")',
        "(8, n)",
        """
        for i, j in T.grid(A.shape[0], 8):
            C[j, i] = A[i, j] * 2.0
        """,
        lambda x: x.T * 2,
    ),
    "part": (
        'C: T.Buffer(("n", 3), "float32")',
        "(n, 3)",
        """
        for i, j in T.grid(A.shape[0], 3):
            C[i, j] = A[i, j * 2 + 1]
        """,
        lambda x: x[:, 1:7:2],
    ),
    "backwards": (
        C8,
        "(n, 8)",
        """
        for i, j in T.grid(A.shape[0], 8):
            C[i, j] = A[i, 7 - j] - A[i, j]
        """,
        lambda x: x[:, ::-1] - x,
    ),
    "not at all where there are no rows": (
        'C: T.Buffer((8,), "float32")',
        "(8,)",
        """
        for j in range(8):
            C[j] = T.Cast("float32", j)
            for i in range(A.shape[0]):
                if i == 0:
                    C[j] = C[j] * 2.0
                C[j] = C[j] + A[i, j]
        """,
        lambda x: np.arange(8, dtype="float32") * (1 + (len(x) > 0)) + x.sum(0),
    ),
    "windows": (
        'C: T.Buffer(("n", 6), "float32")',
        "(n, 6)",
        """
        for i, j in T.grid(A.shape[0], 6):
            C[i, j] = A[i, j]
            for k in range(3):
                C[i, j] = T.max(C[i, j], A[i, j + k])
        """,
        lambda x: np.maximum(np.maximum(x[:, :6], x[:, 1:7]), x[:, 2:]),
    ),
    "places": (
        C8,
        "(n, 8)",
        """
        for i, j in T.grid(A.shape[0], 8):
            C[i, j] = A[i, T.if_then_else(j < 2, j + 1, 7 - j)] + T.Cast("float32", j)
        """,
        lambda x: x[:, [1, 2, 5, 4, 3, 2, 1, 0]] + np.arange(8, dtype="float32"),
    ),
    "padding": (
        'C: T.Buffer(("n", 10), "float32")',
        "(n, 10)",
        """
        for i, j in T.grid(A.shape[0], 10):
            C[i, j] = T.if_then_else(j >= 1 and j < 9, A[i, j - 1], T.float32(0))
        """,
        lambda x: np.pad(x, ((0, 0), (1, 1))),
    ),
    "last one wins": (
        'C: T.Buffer(("n",), "float32")',
        "(n,)",
        """
        for i, j in T.grid(A.shape[0], 8):
            C[i] = A[i, j]
        """,
        lambda x: x[:, 7],
    ),
    "one after the other": (
        C8,
        "(n, 8)",
        """
        for i in range(A.shape[0]):
            C[i, 0] = A[i, 0]
            for j in range(7):
                C[i, j + 1] = C[i, j] + A[i, j + 1]
        """,
        lambda x: np.cumsum(x, 1, dtype="float32"),
    ),
    "order matters": (
        'C: T.Buffer(("n",), "float32")',
        "(n,)",
        """
        for i in range(A.shape[0]):
            C[i] = 0.0
            for j in range(8):
                C[i] = C[i] * 0.5 + A[i, j]
        """,
        lambda x: x @ (0.5 ** np.arange(7, -1, -1)).astype("float32"),
    ),
    "a row for all": (
        C8,
        "(n, 8)",
        """
        R = T.alloc_buffer((8,), "float32")
        for i in range(A.shape[0]):
            for j in range(8):
                R[j] = A[i, 7 - j]
            for j in range(8):
                C[i, j] = R[j] * 3.0
        """,
        lambda x: x[:, ::-1] * 3,
    ),
    "read again": (
        C8,
        "(n, 8)",
        """
        for i in range(A.shape[0]):
            for j in range(8):
                C[i, j] = A[i, j]
            for j in range(8):
                C[i, j] = C[i, 7 - j] + C[i, j]
        """,
        lambda x: np.concatenate(
            [(x + x[:, ::-1])[:, :4], x[:, 4:] + (x + x[:, ::-1])[:, 3::-1]], 1
        ),
    ),
    "once for all": (
        C8,
        "(n, 8)",
        """
        for j in range(8):
            for i in range(A.shape[0]):
                C[i, j] = A[i, j]
                for k in range(8):
                    if k == 0:
                        C[i, j] = C[i, j] * 2.0
                    C[i, j] = C[i, j] + A[i, k]
        """,
        lambda x: 2 * x + x.sum(1, keepdims=True),
    ),
    "a triangle": (
        C8,
        "(n, 8)",
        """
        for i, j in T.grid(A.shape[0], 8):
            C[i, j] = 0.0
            for k in range(j + 1):
                C[i, j] += A[i, k]
        """,
        lambda x: np.cumsum(x, 1, dtype="float32"),
    ),
    "steps": (
        C8,
        "(n, 8)",
        """
        for i, j in T.grid(A.shape[0], 8):
            C[i, j] = -1.0
        for i in range(A.shape[0]):
            for j in T.serial(1, 8, step=2):
                C[i, j] = A[i, j]
        """,
        lambda x: np.where(np.arange(8) % 2 == 1, x, np.float32(-1)),
    ),
}


@pytest.mark.parametrize("n", [0, 1, 6])
@pytest.mark.parametrize("name", OTHERS)
def test_what_loops_compute_stays_the_same(name: str, n: int, exec_mode: str) -> None:
    output, shape, body, wanted = OTHERS[name]
    mod = module(
        kernel(f"{A8}, {output}", body),
        X8,
        "n = T.int64()",
        "s = R.add(x, R.const(1.0))",
        f"y = {call('kernel', 's', shape)}",
        "z = R.negative(y)",
        outputs="z",
    )
    x = random(n, 8)
    expected = -wanted(x + np.float32(1))
    np.testing.assert_allclose(run(mod, x)[0], expected, rtol=2e-6, atol=2e-6)
    apart = run(mod, x, fuse=False, emit_kernels=False)[0]
    np.testing.assert_allclose(apart, expected, rtol=2e-6, atol=2e-6)


def test_several_outputs_and_integers(exec_mode: str) -> None:
    params = (
        'A: T.Buffer((6,), "int32"), k: T.int64, B: T.Buffer((6,), "int32"), '
        'C: T.Buffer((6,), "bool")'
    )
    body = """
        for i in range(6):
            B[i] = A[i] * T.Cast("int32", k)
            C[i] = A[i] > 2
    """
    mod = module(
        kernel(params, body),
        'x: R.Tensor((6,), "int32"), y: R.Tensor(("m",), "float32")',
        "m = T.int64()",
        "p = R.add(x, x)",
        "z = R.call_tir(Module.kernel, (p,), out_sinfo=[R.Tensor((6,), 'int32'), "
        "R.Tensor((6,), 'bool')], tir_vars=R.shape([m]))",
        "a = R.negative(z[0])",
        "b = R.logical_not(z[1])",
        outputs="a, b",
    )
    x = np.arange(6, dtype="int32")
    one, two = run(mod, x, random(3))
    np.testing.assert_array_equal(one, -2 * x * 3)
    np.testing.assert_array_equal(two, 2 * x <= 2)


def test_kernel_that_is_called_in_place_keeps_its_memrefs(exec_mode: str) -> None:
    mod = module(
        kernel(f"{A8}, {C8}", ADD["loops"].replace(" + B[j]", "")),
        X8,
        "n = T.int64()",
        f"y = {call('kernel', 'x', '(n, 8)')}",
        "z = R.call_tir_inplace(Module.kernel, (x, y), 1, out_sinfo=R.Tensor((n, 8), 'float32'))",
        outputs="z",
    )
    x = random(5, 8)
    np.testing.assert_array_equal(run(mod, x)[0], x)


def test_kernel_that_states_to_be_opaque_stays_apart(tmp_path: Path) -> None:
    mod = module(
        kernel(
            f'{A8}, B: T.Buffer((8,), "float32"), {C8}',
            'T.func_attr({"op_pattern": 8})\n' + textwrap.dedent(ADD["loops"]).strip(),
            "add",
        ),
        f'{X8}, b: R.Tensor((8,), "float32")',
        "n = T.int64()",
        f"y = {call('add', 'x, b', '(n, 8)')}",
        "z = R.nn.relu(y)",
        outputs="z",
    )
    called, classes = kernels(mod, tmp_path)
    assert called == ["add", "relu"]
    assert classes == ["elementwise"] * 2
