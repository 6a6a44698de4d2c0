"""Kernels as ``T.prim_func`` in the text of a module."""

import textwrap

import pytest
import relax_mlir as relax
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import as_module, structural_equal, te, topi
from relax_mlir.script import from_source
from relax_mlir.script.printer.tir import NotPrimFuncError, prim_func_lines


def written(text: str) -> str:
    """Return the first kernel of a module in MLIR as TVMScript."""
    module = ir.Module.parse(text, relax.default_context())
    return "\n".join(prim_func_lines(module.body.operations[0].operation))


MATMUL = """
@T.prim_func(private=True)
def matmul(var_A: T.handle, var_B: T.handle, C: T.Buffer((4, 8), "float32")):
    T.func_attr({"op_pattern": 4, "tir.noalias": True})
    k = T.int64()
    A = T.match_buffer(var_A, (4, k), "float32")
    B = T.match_buffer(var_B, (k, 8), "float32")
    for i, j, l in T.grid(4, 8, k):
        with T.sblock("matmul"):
            vi, vj, vl = T.axis.remap("SSR", [i, j, l])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]
"""
LOOPS = """
@T.prim_func
def loops(A: T.Buffer((16, 8), "float16"), idx: T.Buffer((16,), "int64"), n: T.int64, O: T.Buffer((16,), "uint8")):
    s = T.alloc_buffer((), "float32")
    cnt = T.alloc_buffer((), "int32", scope="local")
    for i in T.parallel(16):
        s[()] = T.float32(0.0)
        cnt[()] = 0
        while cnt[()] < 8 and not s[()] > T.float32("inf"):
            s[()] = s[()] + T.Cast("float32", A[idx[i], cnt[()]])
            cnt[()] = cnt[()] + 1
        if s[()] > T.float32(1.0):
            O[i] = T.uint8(3)
        else:
            x: T.let[T.float16] = A[i, 0] * T.float16(2.0)
            O[i] = T.Cast("uint8", x) // T.uint8(3) + T.Cast("uint8", n)
            A[i, 1] = T.if_then_else(i % 3 == 1, x, T.exp(x))
"""  # noqa: E501
SCHEDULED = """
@T.prim_func
def scheduled(A: T.Buffer((16,), "float32"), x: T.uint32):
    tmp = T.alloc_buffer((1024, 16), "float32", scope="shared")
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.vectorized(1, 4):
            for l in T.serial(0, 8, step=2):
                tmp[b, j + l] = T.Cast("float32", x // T.uint32(7))
        for i in T.serial(4, annotations={"pragma": 1}):
            A[b * 4 + i] = tmp[b, i] + T.float32(0.1)
"""


RESHAPE = """
@T.prim_func
def reshape(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((24,), "int32")):
    for i in range(24):
        with T.sblock("reshape"):
            vi = T.axis.remap("S", [i])
            B[vi] = T.Cast("int32", A[vi // 12 % 2, vi % 12 // 4, vi % 4]) + vi % 12 // 4
"""
KERNELS = {"matmul": MATMUL, "loops": LOOPS, "scheduled": SCHEDULED, "reshape": RESHAPE}


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_rf14_text_is_stable(text):
    text = text.strip().replace("T.serial(0, 8, step=2)", "T.serial(8, step=2)")
    function = from_source(text)
    assert "\n".join(prim_func_lines(function.operation)) == text


def test_rf14_a_module_is_equal_to_what_its_text_gives():
    mod = from_source(
        "@I.ir_module\nclass Module:\n"
        + textwrap.indent(MATMUL, "    ")
        + """
    @R.function
    def main(x: R.Tensor((4, "k"), "float32"), y: R.Tensor(("k", 8), "float32")):
        z = R.call_tir(Module.matmul, (x, y), out_sinfo=R.Tensor((4, 8), "float32"))
        return z
"""
    )
    text = mod.script()
    assert "with T.sblock(" in text
    assert "I.mlir" not in text
    again = from_source(text)
    assert structural_equal(mod, again)
    assert again.script() == text


def legalized(text: str) -> ir.Module:
    """Return a module with operators as kernels."""
    module = as_module(from_source(text).module).clone().module
    with module.context:
        for phase in ("normalize", "legalize"):
            PassManager.parse(f"builtin.module(relax-phase-{phase})").run(module.operation)
    return module


def test_rf14_kernels_of_operators_are_on_tensors():
    module = legalized("""
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4, "m"), "float16")):
    a = R.exp(R.matmul(x, R.astype(y, "float32")))
    b = R.sum(a, axis=[1])
    c = R.add(R.permute_dims(x), R.const(2.5, "float32"))
    return (b, c)
""")
    text = as_module(module).script()
    assert text.count("@T.prim_func(private=True, tensors=True)") == 6
    assert "I.mlir(" not in text
    assert 'T.axis.remap("SRS"' in text
    assert structural_equal(from_source(text), module)


def test_rf14_kernels_of_tensor_expressions_are_on_tensors():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    with bb.function("main", [x]):
        y = bb.emit_te(topi.nn.softmax, x)
        y = bb.emit_te(lambda a: te.compute((4,), lambda i: a[2, i] + te.exp(a[1, 3 - i])), y)
        bb.emit_func_output(y)
    module = bb.get()
    text = as_module(module).script()
    assert "I.mlir(" not in text
    assert "T_softmax_norm" in text
    again = from_source(text)
    assert structural_equal(again, module)
    assert again.script() == text


def test_rf14_names_without_locations():
    text = written("""
    func.func @k(%a: memref<?x4xf32>, %n: i64, %b: memref<?xi1>) {
      %c0 = arith.constant 0 : index
      %0 = arith.index_cast %n : i64 to index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %0 step %c1 {
        %c2 = arith.constant 2 : index
        %1 = memref.load %a[%i, %c2] : memref<?x4xf32>
        %cst = arith.constant 0.0 : f32
        %2 = arith.cmpf olt, %1, %cst : f32
        memref.store %2, %b[%i] : memref<?xi1>
      }
      return
    }""")
    assert text == textwrap.dedent("""\
        @T.prim_func
        def k(var_A: T.handle, x1: T.int64, var_C: T.handle):
            n = T.int64()
            n_1 = T.int64()
            A = T.match_buffer(var_A, (n, 4), "float32")
            C = T.match_buffer(var_C, (n_1,), "bool")
            for i in range(x1):
                C[i] = A[i, 2] < T.float32(0.0)""")


@pytest.mark.parametrize(
    "text",
    [
        "func.func @k(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }",
        "func.func private @k(%a: tensor<?xf32>, %b: tensor<4xf32>) -> tensor<?xf32>",
        'func.func @"a-b"(%a: memref<?xf32>) { return }',
        "func.func @k(%a: memref<?xf32, strided<[2]>>) { return }",
        "func.func @k(%a: memref<4xindex>) { return }",
        "func.func private @k(%a: tensor<4xindex>) -> tensor<4xindex> {\n"
        "  return %a : tensor<4xindex>\n}",
        "func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = tensor.empty() : tensor<4xindex>\n  return %a : tensor<4xf32>\n}",
        "func.func @k(%a: memref<4xf32>, %b: memref<4xf32>) {\n"
        "  memref.copy %a, %b : memref<4xf32> to memref<4xf32>\n  return\n}",
        # The constant is used in two places, and each place would have its own.
        "func.func @k(%a: memref<1xf32>) {\n  %c = arith.constant 1.0 : f32\n"
        "  %i = arith.constant 0 : index\n  memref.store %c, %a[%i] : memref<1xf32>\n"
        "  memref.store %c, %a[%i] : memref<1xf32>\n  return\n}",
    ],
    ids=[
        "tensors",
        "result",
        "name",
        "strides",
        "indices",
        "tensor_of_indices",
        "empty",
        "copy",
        "shared",
    ],
)
def test_error_rf14_other_kernels_stay_mlir(text):
    with pytest.raises(NotPrimFuncError):
        written(text)
    mod = as_module(text)
    assert "I.mlir(" in mod.script()
    assert structural_equal(from_source(mod.script()), mod)
