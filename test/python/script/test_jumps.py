"""Jumps, results and vectors of tensor programs, against what Python computes."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.script import ScriptError, from_source
from relax_mlir.script.printer.tir import prim_func_lines

SIZE = 12


def indented(text: str, depth: int) -> str:
    return "\n".join(f"{' ' * depth}{line}".rstrip() for line in text.strip("\n").splitlines())


def run(body: str, x: np.ndarray) -> np.ndarray:
    """Run statements on buffers A and B of int32."""
    program = from_source(f"""
@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer(({SIZE},), "int32"), B: T.Buffer(({SIZE},), "int32")):
        for i in range({SIZE}):
            B[i] = -1
{indented(body, 8)}

    @R.function
    def main(x: R.Tensor(({SIZE},), "int32")):
        return R.call_tir(Module.k, (x,), out_sinfo=R.Tensor(({SIZE},), "int32"))
""")
    kernel = program["k"].operation
    again = "\n".join(prim_func_lines(kernel))  # which stands for the same function
    assert "while" in again or "if" in again or "vectorized" in again
    function = relax.VirtualMachine(relax.compile(program))["main"]
    return np.from_dlpack(function(x))


def by_python(body: str, x: np.ndarray) -> np.ndarray:
    result = np.full(SIZE, -1, "int32")
    exec(f"def k(A, B):\n{indented(body, 4)}", scope := {})
    scope["k"](x, result)
    return result


BODIES = {
    "break": """
for i in range(12):
    if A[i] > 5:
        break
    B[i] = A[i]
""",
    "continue": """
for i in range(1, 12):
    if A[i] % 2 == 0:
        continue
    B[i] = A[i]
    B[0] = B[0] + 1
""",
    "both": """
for i in range(0, 12, 2):
    if A[i] == 3:
        continue
    else:
        if A[i] == 7:
            B[1] = i
            break
    B[i] = A[i] + 100
B[3] = 5
""",
    "while": """
n = 0
while A[n] != 7:
    n = n + 1
    if A[n] == 3:
        continue
    if n > 8:
        break
    B[n] = n
""",
    "nested": """
for i in range(4):
    for j in range(3):
        if A[i * 3 + j] > 8:
            break
        if j == 1:
            continue
        B[i * 3 + j] = A[i * 3 + j]
    if A[i] == 4:
        break
""",
    "return": """
for i in range(12):
    if A[i] == 7:
        B[i] = 99
        return
    B[i] = A[i]
B[0] = 1000
""",
    "return_of_nested": """
if A[0] > 3:
    B[1] = 1
    return
for i in range(3):
    n = 0
    while n < 4:
        if A[i * 4 + n] == 7:
            return
        B[i * 4 + n] = n
        n = n + 1
    B[11] = i
B[10] = 77
""",
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BODIES)
def test_jumps(name, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 10, SIZE).astype("int32")
    x[rng.integers(3, SIZE)] = 7
    np.testing.assert_array_equal(run(BODIES[name], x), by_python(BODIES[name], x))


def test_the_end_of_a_loop_is_known_before_it():
    body = """
for i in range(A[0]):
    A[0] = 0
    if i == 3:
        break
    B[i] = i
"""
    x = np.full(SIZE, 6, "int32")
    np.testing.assert_array_equal(run(body, x.copy())[:4], [0, 1, 2, -1])


VECTORS = {
    "ramp": (
        "B[T.Ramp(0, 2, 4)] = A[T.Ramp(1, 1, 4)] * 2 + T.Broadcast(A[0], 4)",
        "B[0:8:2] = A[1:5] * 2 + A[0]",
    ),
    "slices": ("B[0:4] = A[4:8] + A[8:12]", "B[0:4] = A[4:8] + A[8:12]"),
    "steps": ("B[0:12:3] = A[0:8:2]", "B[0:12:3] = A[0:8:2]"),
    "number": ("B[2:6] = 3", "B[2:6] = 3"),
    "overlap": ("B[0:12] = A[0:12]\nB[1:12] = B[0:11]", "B[:] = A\nB[1:12] = A[0:11]"),
    "gather": (
        "B[0:4] = T.max(A[0:4], 5) - T.if_then_else(A[4:8] > 4, A[0:4], 1)",
        "B[0:4] = np.maximum(A[0:4], 5) - np.where(A[4:8] > 4, A[0:4], 1)",
    ),
    "place": (
        "for i in range(3):\n    B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] + i",
        "B[:] = A + np.arange(12) // 4",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name):
    body, meaning = VECTORS[name]
    x = np.random.default_rng(1).integers(0, 10, SIZE).astype("int32")
    wanted = np.full(SIZE, -1, "int32")
    exec(meaning, {"np": np, "A": x, "B": wanted})
    np.testing.assert_array_equal(run(body, x), wanted)


RESULTS = {
    "return": ("return n * 2 + 1", lambda n: n * 2 + 1),
    "ret": ("T.ret(n - 1)", lambda n: n - 1),
    "branches": ("if n > 3:\n    return n\nelse:\n    T.ret(0)", lambda n: n if n > 3 else 0),
    "loop": (
        "s = T.int64(0)\nfor i in range(n):\n    s = s + i\n    if s > 20:\n        return s\n"
        "return -s",
        lambda n: next((s for i in range(n) if (s := i * (i + 1) // 2) > 20), -(n * (n - 1) // 2)),
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_scalars(name):
    body, meaning = RESULTS[name]
    program = from_source(f"""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(n: T.int64) -> T.int64:
{indented(body, 8)}

    @R.function(pure=False)
    def main(n: R.Prim("int64")) -> R.Prim("int64"):
        m = Module.k(n)
        return m
""")
    text = program.script()
    assert "I.mlir(" not in text
    again = from_source(text)
    assert again.script() == text
    main = relax.VirtualMachine(relax.compile(again))["main"]
    for n in (0, 3, 4, 9):
        assert main(n) == meaning(n)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def k(n: T.int64) -> T.int64:\n    x = n", "expected a return statement at the end"),
        ("def k(n: T.int64) -> T.int64:\n    return", "expected a value of type int64 to return"),
        ("def k(n: T.int64) -> T.handle:\n    return n", "expected None or the data type"),
        ("def k(n: T.int64):\n    return n", "expected the data type of the result"),
        (
            "def k(n: T.int64) -> T.int64:\n    if n > 1:\n        return n",
            "expected a return stat",
        ),
    ],
    ids=["nothing", "empty", "handle", "tuple", "path"],
)
def test_errors_of_results(text, message):
    with pytest.raises(ScriptError) as caught:
        from_source(f"@T.prim_func\n{text}\n")
    assert message in str(caught.value)
