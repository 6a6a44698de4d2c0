"""Parts of buffers, buffers in another shape, blocks that only fill, and kernels of operators."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import as_module, structural_equal
from relax_mlir.script import ScriptError, from_source
from relax_mlir.script.printer.tir import prim_func_lines


def call(kernel: str, shape: str, *args: np.ndarray) -> np.ndarray:
    """Run a kernel whose last parameter is its result."""
    params = ", ".join(
        f'x{i}: R.Tensor({list(arg.shape)}, "{arg.dtype}")' for i, arg in enumerate(args)
    )
    names = ", ".join(f"x{i}" for i in range(len(args)))
    body = "\n".join(f"    {line}" for line in kernel.strip().splitlines())
    program = from_source(f"""
@I.ir_module
class Module:
{body}

    @R.function
    def main({params}):
        return R.call_tir(Module.k, ({names},), out_sinfo=R.Tensor({shape}, "{args[0].dtype}"))
""")
    function = relax.VirtualMachine(relax.compile(program))["main"]
    return np.from_dlpack(function(*args))


PARTS = """
@T.prim_func
def parts(A: T.Buffer((8, 6), "float32"), B: T.Buffer((4, 3), "float32"), n: T.int64):
    A_1 = T.match_buffer(A[2:6, 1:4], (4, 3), "float32")
    for i, j in T.grid(4, 3):
        B[i, j] = A_1[i, j]
    A_2 = T.match_buffer(A[n:n + T.int64(2), 5], (2,), "float32")
    for i in range(2):
        A_2[i] = B[i, 0]
"""
RESHAPED = """
@T.prim_func
def reshaped(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((6, 4), "float32")):
    A_1 = T.decl_buffer((24,), "float32", data=A.data)
    A_1_1 = T.decl_buffer((6, 4), "float32", data=A_1.data)
    for i, j in T.grid(6, 4):
        B[i, j] = A_1_1[i, j] + A_1[i]
"""
FILLED = """
@T.prim_func
def filled(A: T.Buffer((8, 6), "float32")):
    for i0, i1 in T.grid(8, 6):
        with T.sblock("fill"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            with T.init():
                A[v_i0, v_i1] = T.float32(2.5)
            T.evaluate(0)
"""


@pytest.mark.parametrize("text", [PARTS, RESHAPED, FILLED], ids=["parts", "reshaped", "filled"])
def test_rf14_text_of_views_is_stable(text):
    function = from_source(text)
    assert "\n".join(prim_func_lines(function.operation)) == text.strip()


@pytest.mark.parametrize("tensors", ["", "(tensors=True)"])
def test_a_part_of_a_buffer_is_written_in_its_place(tensors):
    x = np.arange(12, dtype="float32").reshape(3, 4)
    result = call(
        f"""
@T.prim_func{tensors}
def k(A: T.Buffer((3, 4), "float32"), B: T.Buffer((5, 4), "float32")):
    for i, j in T.grid(5, 4):
        with T.sblock("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            with T.init():
                B[vi, vj] = T.float32(-1)
    C = T.match_buffer(B[1:4, 0:4], (3, 4), "float32")
    for i, j in T.grid(3, 4):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + C[vi, vj]
""",
        "(5, 4)",
        x,
    )
    wanted = np.full((5, 4), -1, "float32")
    wanted[1:4] += x
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("tensors", ["", "(tensors=True)"])
def test_initial_values_of_a_part_are_written_in_its_place(tensors):
    x = np.ones((3, 4), "float32")
    result = call(
        f"""
@T.prim_func{tensors}
def k(A: T.Buffer((3, 4), "float32"), B: T.Buffer((5, 4), "float32")):
    for i, j in T.grid(5, 4):
        with T.sblock("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            with T.init():
                B[vi, vj] = T.float32(-1)
    C = T.match_buffer(B[1:4, 0:4], (3, 4), "float32")
    for i, j in T.grid(3, 4):
        with T.sblock("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            with T.init():
                C[vi, vj] = A[vi, vj] * T.Cast("float32", vi)
""",
        "(5, 4)",
        x,
    )
    np.testing.assert_array_equal(result[:, 0], [-1, 0, 1, 2, -1])


@pytest.mark.parametrize("tensors", ["", "(tensors=True)"])
def test_a_buffer_in_another_shape(tensors):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    result = call(
        f"""
@T.prim_func{tensors}
def k(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((24,), "float32")):
    C = T.decl_buffer((24,), "float32", data=A.data)
    for i in range(24):
        with T.sblock("copy"):
            vi = T.axis.spatial(24, i)
            B[vi] = C[vi] * T.float32(2)
""",
        "(24,)",
        x,
    )
    np.testing.assert_array_equal(result, x.reshape(-1) * 2)


def test_parts_of_a_symbolic_shape():
    x = np.arange(7, dtype="float32")
    result = call(
        """
@T.prim_func
def k(a: T.handle, B: T.Buffer((2,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    last = T.match_buffer(A[n - 2:n], (2,), "float32")
    for i in range(2):
        B[i] = last[i]
""",
        "(2,)",
        x,
    )
    np.testing.assert_array_equal(result, [5, 6])


OPERATORS = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), h: R.Tensor(("n", 4), "float16"),
         i: R.Tensor(("n",), "int32"), u: R.Tensor((3,), "uint8"), g: R.Tensor((4,), "float32")):
    n = T.int64()
    a = R.nn.softmax(x)
    b = R.nn.log_softmax(h)
    c = R.nn.layer_norm(a, g, g, axes=[-1])
    d = R.mean(x)
    e = R.divide(i, R.full((), R.const(3, "int32"), "int32"))
    f = R.astype(x, "uint8")
    j = R.take(x, i, axis=0)
    k = R.negative(x)
    l = R.reshape(x, (4, n))
    m = R.reshape(h, (n * 2, 2))
    o = R.flatten(x)
    p = R.concat([x, k, j], axis=0)
    q = R.split(x, 2, axis=1)
    r = R.zeros((n, 2), "float32")
    s = R.matmul(h, R.permute_dims(h))
    t = R.floor_divide(x, x)
    v = R.mod(i, i)
    w = R.sign(x)
    y = R.nn.gelu(h)
    z = R.sum(h, axis=[0])
    return (a, b, c, d, e, f, j, k, l, m, o, p, q, r, s, t, v, w, y, z)
"""


def test_rf14_kernels_of_operators_are_written_as_tensor_programs():
    module = as_module(from_source(OPERATORS).module).clone().module
    with module.context:
        for phase in ("normalize", "legalize"):
            PassManager.parse(f"builtin.module(relax-phase-{phase})").run(module.operation)
    kernels = [op for op in module.body.operations if op.operation.name == "func.func"]
    assert len(kernels) >= 20
    for kernel in kernels:
        prim_func_lines(kernel.operation)
    text = as_module(module).script()
    assert "I.mlir(" not in text
    again = from_source(text)
    # The text does not say that divisions may be products with reciprocals.
    exact = as_module(str(module).replace(" fastmath<arcp>", ""))
    assert structural_equal(again, exact)
    assert again.script() == text


def test_a_kernel_has_each_dimension_once():
    module = as_module(from_source(OPERATORS).module).clone().module
    with module.context:
        PassManager.parse("builtin.module(relax-phase-normalize,relax-phase-legalize)").run(
            module.operation
        )
    for op in module.body.operations:
        if op.operation.name == "func.func":
            dims = [
                (inner.operation.operands[0], inner.operation.operands[1].owner.opview.value)
                for inner in op.body.blocks[0].operations
                if inner.operation.name == "tensor.dim"
            ]
            assert len(set(map(str, dims))) == len(dims)


HEAD = '@T.prim_func\ndef k(A: T.Buffer((8, 4), "float32"), n: T.int64):\n    '


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('B = T.match_buffer(A[0:4, 0], (3,), "float32")', "expected the size 4 of the part"),
        ('B = T.match_buffer(A[0:8:2, 0:4], (4, 4), "float32")', "expected a part without a step"),
        ('B = T.match_buffer(A[0:4, 0:4], (2, 2, 4), "float32")', "expected a shape of 2 dimen"),
        ('B = T.match_buffer(A[0:4, 0:4], (4, 4), "int32")', "expected the data type float32"),
        ('B = T.decl_buffer((4, 8), "float32", data=A.data)', "expected one dimension in the old"),
        ('B = T.decl_buffer((31,), "float32", data=A.data)', "expected a shape of 32 elements"),
        ('B = T.decl_buffer((32,), "int32", data=A.data)', "expected the data type float32"),
        ('B = T.decl_buffer((32,), "float32", data=n)', "expected the data of a buffer"),
    ],
    ids=["size", "step", "rank", "dtype", "shape", "count", "data-type", "data"],
)
def test_errors_of_views(line, message):
    with pytest.raises(ScriptError) as caught:
        from_source(f"{HEAD}{line}\n")
    assert message in str(caught.value)
    assert ":3:" in str(caught.value)


def test_a_part_is_a_view_of_memory():
    function = from_source(PARTS)
    text = str(function.operation)
    assert text.count("memref.subview") == 2
    assert "memref<4x3xf32, strided<[6, 1], offset: 13>>" in text
    assert isinstance(function.operation, ir.Operation)
