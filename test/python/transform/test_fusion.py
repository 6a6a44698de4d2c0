"""RF16: kernels that are fused compute what they computed apart, to the last bit or near it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from relax_mlir.analysis import OpPattern, detect_op_pattern
from relax_mlir.script import from_source
from relax_mlir.transform import (
    AnnotateTIROpPattern,
    FuseOps,
    FuseTIR,
    LegalizeOps,
    Normalize,
    Sequential,
)

LEGALIZE = Sequential([Normalize(), LegalizeOps()])
FUSE = Sequential([Normalize(), LegalizeOps(), AnnotateTIROpPattern(), FuseOps(), FuseTIR()])


def parse(params: str, *lines: str, outputs: str, extra: str = "") -> Any:
    """Return a module with `main`, whose body is one dataflow block."""
    body = "\n            ".join(lines)
    return from_source(f"""
@I.ir_module
class Module:
    {extra}
    @R.function
    def main({params}):
        with R.dataflow():
            {body}
            R.output({outputs})
        return {outputs}
""")


def called(mod: Any) -> list[str]:
    """Return what `main` calls, in order."""
    names: list[str] = []

    def visit(op: Any) -> Any:
        if "callee" in op.attributes:
            names.append(str(op.attributes["callee"]).removeprefix("@"))
        return ir.WalkResult.ADVANCE

    mod["main"].operation.walk(visit)
    return names


def flat(value: Any) -> list[np.ndarray]:
    """Return the tensors of a result."""
    if hasattr(value, "__dlpack__"):
        return [np.from_dlpack(value)]
    return [tensor for field in value for tensor in flat(field)]


def run(mod: Any, *arguments: np.ndarray, **options: Any) -> list[np.ndarray]:
    """Run `main` of a program that is compiled without further fusion."""
    executable = relax.compile(mod, fuse=False, **options)
    return flat(relax.VirtualMachine(executable)["main"](*arguments))


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = np.random.default_rng(sum(shape)).uniform(-1.5, 1.5, shape)
    return values.astype(dtype)


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gamma + beta


def check(mod: Any, wanted: Any, *arguments: np.ndarray, rtol: float = 2e-6) -> None:
    """Compare with NumPy, and with the program whose kernels stay apart."""
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    module = FUSE(mod)
    for one, numpy in zip(run(module, *arguments), wanted, strict=True):
        np.testing.assert_allclose(one, numpy, rtol=rtol, atol=1e-6)
    # Loops over vectors may sum up in another order where there are several kernels.
    fused = run(module, *arguments, emit_kernels=False)
    apart = run(LEGALIZE(mod), *arguments, emit_kernels=False)
    # LLVM contracts the products and sums of elementary functions, or not, as suits a loop.
    for one, other in zip(fused, apart, strict=True):
        np.testing.assert_allclose(one, other, rtol=2**-21, atol=0)


SIZES = [0, 1, 3, 17]


@pytest.mark.parametrize("n", SIZES)
def test_rf16_chain_of_elements_is_one_kernel(exec_mode: str, n: int) -> None:
    mod = parse(
        'x: R.Tensor(("n", 8), "float32"), b: R.Tensor((8,), "float32")',
        "y = R.multiply(x, R.const(0.5))",
        "z = R.add(y, b)",
        "w = R.nn.relu(z)",
        "v = R.exp(w)",
        outputs="v",
    )
    assert called(FUSE(mod)) == ["fused_multiply_add_relu_exp"]
    x, b = random(n, 8), random(8)
    check(mod, np.exp(np.maximum(x * 0.5 + b, 0)), x, b)


def test_rf16_chain_is_one_loop_that_writes_over_its_input(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 8), "float32")',
        "a = R.permute_dims(x)",
        "y = R.exp(a)",
        "z = R.add(y, R.multiply(y, a))",
        outputs="z",
    )
    fused = FUSE(mod)
    kernel = fused[called(fused)[-1]]
    assert str(kernel.operation).count("linalg.generic") == 1
    x = random(5, 8)
    check(mod, np.exp(x.T) + np.exp(x.T) * x.T, x)


@pytest.mark.parametrize("n", SIZES)
def test_rf16_matmul_takes_what_follows(exec_mode: str, n: int) -> None:
    mod = parse(
        'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 6), "float32"), '
        'b: R.Tensor((6,), "float32"), r: R.Tensor(("n", 6), "float32")',
        "m = R.matmul(x, w)",
        "a = R.add(m, b)",
        "h = R.nn.relu(a)",
        "o = R.add(h, r)",
        outputs="o",
    )
    assert called(FUSE(mod)) == ["fused_matmul_add_relu_add"]
    x, w, b, r = random(n, 4), random(4, 6), random(6), random(n, 6)
    check(mod, np.maximum(x @ w + b, 0) + r, x, w, b, r)


def test_rf16_matmul_does_not_take_what_comes_before(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 6), "float32")',
        "e = R.exp(x)",
        "m = R.matmul(e, w)",
        "s = R.nn.softmax(m)",
        outputs="s",
    )
    assert called(FUSE(mod)) == ["exp", "matmul", "softmax"]
    x, w = random(5, 4), random(4, 6)
    check(mod, softmax(np.exp(x) @ w), x, w)


@pytest.mark.parametrize("n", SIZES)
def test_rf16_rows_stay_in_one_kernel(exec_mode: str, n: int) -> None:
    mod = parse(
        'x: R.Tensor(("n", 16), "float32"), a: R.Tensor((16,), "float32"), '
        'b: R.Tensor((16,), "float32"), g: R.Tensor((16,), "float32"), '
        'h: R.Tensor((16,), "float32")',
        "s = R.nn.softmax(R.add(R.multiply(a, x), b))",
        "l = R.nn.layer_norm(s, g, h, axes=[-1])",
        "o = R.multiply(l, R.const(2.0))",
        outputs="o",
    )
    assert called(FUSE(mod)) == ["fused_multiply_add_softmax_layer_norm_multiply"]
    x, a, b, g, h = random(n, 16), *(random(16) + k for k in range(4))
    wanted = layer_norm(softmax((a * x + b).astype("float64")), g, h) * 2
    check(mod, wanted, x, a, b, g, h, rtol=2e-4)


def test_rf16_mean_and_what_it_is_subtracted_from(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("b", "n", 5), "float32")',
        "m = R.mean(x, axis=-1, keepdims=True)",
        "d = R.subtract(x, m)",
        "v = R.sum(R.multiply(d, d), axis=-1)",
        outputs="v",
    )
    assert called(FUSE(mod)) == ["fused_mean_subtract_multiply_sum"]
    x = random(2, 3, 5)
    check(mod, ((x - x.mean(-1, keepdims=True)) ** 2).sum(-1), x)


def test_rf16_other_axes_are_not_rows(exec_mode: str) -> None:
    """A softmax over the first axis would read what all rows make."""
    mod = parse(
        'x: R.Tensor(("n", 6), "float32")',
        "e = R.exp(R.exp(x))",
        "s = R.nn.softmax(e, axis=0)",
        "l = R.nn.softmax(s, axis=1)",
        outputs="l",
    )
    assert called(FUSE(mod)) == ["fused_exp_exp", "softmax", "softmax1"]
    x = random(5, 6)
    check(mod, softmax(softmax(np.exp(np.exp(x)), 0), 1), x)


@pytest.mark.parametrize("axis", [[1], [0, 1]])
def test_rf16_reduction_takes_what_it_reads_once(exec_mode: str, axis: list[int]) -> None:
    mod = parse(
        'x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")',
        f"s = R.sum(R.exp(R.multiply(x, y)), axis={axis})",
        outputs="s",
    )
    assert called(FUSE(mod)) == ["fused_multiply_exp_sum"]
    x, y = random(5, 7), random(5, 7) + 1
    check(mod, np.exp(x * y).sum(tuple(axis)), x, y)


def test_rf16_reduction_over_outer_loops_takes_what_is_cheap(exec_mode: str) -> None:
    """Its loops do not go by vectors."""
    params = 'x: R.Tensor(("n", "m"), "float32")'
    cheap = parse(params, "s = R.sum(R.multiply(x, x), axis=0)", outputs="s")
    assert called(FUSE(cheap)) == ["fused_multiply_sum"]
    costly = parse(params, "s = R.sum(R.exp(x), axis=0)", outputs="s")
    assert called(FUSE(costly)) == ["exp", "sum"]
    x = random(5, 7)
    check(cheap, (x * x).sum(0), x)
    check(costly, np.exp(x).sum(0), x)


def test_rf16_costly_broadcast_is_not_computed_again(exec_mode: str) -> None:
    """apache/tvm issue 20342: what is broadcast is computed once."""
    params = 'x: R.Tensor(("n", 64), "float32"), b: R.Tensor((64,), "float32")'
    costly = parse(params, "y = R.multiply(x, R.exp(b))", outputs="y")
    assert called(FUSE(costly)) == ["exp", "multiply"]
    cheap = parse(params, "y = R.multiply(x, R.add(b, b))", outputs="y")
    assert called(FUSE(cheap)) == ["fused_add_multiply"]
    x, b = random(5, 64), random(64)
    check(costly, x * np.exp(b), x, b)
    check(cheap, x * (b + b), x, b)


def test_rf16_float16_is_rounded_in_between(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 32), "float16")',
        "y = R.exp(x)",
        "z = R.subtract(R.multiply(y, y), y)",
        "s = R.sum(z, axis=-1)",
        outputs="s",
    )
    assert called(FUSE(mod)) == ["fused_exp_multiply_subtract_sum"]
    x = random(3, 32, dtype="float16")
    y = np.exp(x.astype("float32")).astype("float16")
    z = (y * y - y).astype("float32").sum(-1).astype("float16")
    check(mod, z, x, rtol=2e-3)


def test_rf16_value_with_several_readers(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n",), "float32")',
        "y = R.exp(x)",
        "a = R.sqrt(y)",
        "b = R.negative(y)",
        "c = R.add(a, b)",
        "d = R.multiply(c, y)",
        outputs="d",
    )
    fused = FUSE(mod)
    assert called(fused) == ["fused_exp_sqrt_negative_add_multiply"]
    assert str(fused[called(fused)[0]].operation).count("math.exp") == 1
    x = random(9)
    y = np.exp(x)
    check(mod, (np.sqrt(y) - y) * y, x)


def test_rf16_value_that_is_used_outside_is_a_result(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n",), "float32")',
        "y = R.exp(x)",
        "z = R.sqrt(y)",
        "w = R.negative(z)",
        outputs="y, w",
    )
    assert called(FUSE(mod)) == ["fused_exp_sqrt_negative"]
    x = random(9)
    check(mod, (np.exp(x), -np.sqrt(np.exp(x))), x)


def test_rf16_parts_of_a_split(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 8), "float32")',
        "s = R.split(x, 2, axis=1)",
        "a = R.nn.relu(s[0])",
        "b = R.multiply(a, s[1])",
        outputs="b",
    )
    x = random(4, 8)
    check(mod, np.maximum(x[:, :4], 0) * x[:, 4:], x)


def test_rf16_concat_of_what_is_computed(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 4), "float32")',
        "c = R.concat([R.nn.relu(x), R.negative(y)], axis=0)",
        outputs="c",
    )
    assert called(FUSE(mod)) == ["fused_relu_negative_concat"]
    x, y = random(3, 4), random(5, 4)
    check(mod, np.concatenate([np.maximum(x, 0), -y]), x, y)


def test_rf16_nan_and_infinity(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 4), "float32")',
        "y = R.nn.relu(R.add(x, R.const(1.0)))",
        "s = R.max(R.multiply(y, R.const(0.0)), axis=-1)",
        outputs="s",
    )
    x = np.array([[np.nan, 1, 2, 3], [np.inf, 1, 2, 3], [-np.inf, 1, 2, 3]], "float32")
    check(mod, np.array([np.nan, np.nan, 0], "float32"), x)


def test_rf16_group_size_is_limited(exec_mode: str) -> None:
    lines = ["y0 = R.exp(x)"] + [f"y{i} = R.sin(y{i - 1})" for i in range(1, 6)]
    mod = parse('x: R.Tensor(("n",), "float32")', *lines, outputs="y5")
    limited = Sequential([LEGALIZE, FuseOps(max_depth=2), FuseTIR()])(mod)
    assert called(limited) == ["fused_exp_sin", "fused_sin_sin", "fused_sin_sin"]
    x = random(5)
    np.testing.assert_array_equal(run(limited, x), run(mod, x))


def test_rf16_equal_groups_share_a_kernel(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")',
        "a = R.nn.relu(R.matmul(x, w))",
        "b = R.nn.relu(R.matmul(a, w))",
        outputs="b",
    )
    assert called(FUSE(mod)) == ["fused_matmul_relu"] * 2
    x, w = random(3, 4), random(4, 4)
    check(mod, np.maximum(np.maximum(x @ w, 0) @ w, 0), x, w)


def test_rf16_kernel_that_is_also_used_alone_stays(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor(("n",), "float32")',
        "a = R.exp(x)",
        "b = R.cumsum(a, axis=0)",
        "c = R.exp(R.negative(b))",
        outputs="a, c",
    )
    assert called(FUSE(mod)) == ["exp", "cumsum", "fused_negative_exp"]
    x = random(3)
    check(mod, (np.exp(x), np.exp(-np.cumsum(np.exp(x)))), x)


def test_rf16_functions_still_run_before_kernels_are_merged(exec_mode: str) -> None:
    """Between the two passes the program means the same (RF13)."""
    mod = parse(
        'x: R.Tensor(("n", "2 * n"), "float32")',
        "y = R.exp(R.negative(x))",
        outputs="y",
    )
    grouped = Sequential([LEGALIZE, FuseOps()])(mod)
    assert called(grouped) == ["fused_negative_exp"]
    assert "Primitive" in grouped["fused_negative_exp"].operation.attributes
    x = random(3, 6)
    np.testing.assert_allclose(run(grouped, x)[0], np.exp(-x), rtol=1e-6)


def test_rf16_dimension_that_no_parameter_has(exec_mode: str) -> None:
    """A dimension of a tensor inside of a kernel is passed to it."""
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["m"])):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            y = R.broadcast_to(x, R.shape([m, n]))
            z = R.exp(y)
            w = R.sum(z, axis=0)
            R.output(w)
        return w
""")
    fused = FUSE(mod)
    x = random(4)
    for module in (fused, mod):
        result = relax.VirtualMachine(relax.compile(module))["main"](x, tvm_ffi.Shape((3,)))
        np.testing.assert_allclose(np.from_dlpack(result), np.exp(x) * 3, rtol=1e-6)


def test_rf16_stated_pattern_counts(exec_mode: str) -> None:
    """A user who calls a kernel opaque keeps it apart."""
    mod = Sequential([LEGALIZE, AnnotateTIROpPattern()])(
        parse('x: R.Tensor(("n",), "float32")', "y = R.sin(R.exp(x))", outputs="y")
    )
    kernel = mod["exp"].operation
    assert kernel.attributes["op_pattern"].value == 0
    with mod.module.context:
        kernel.attributes["op_pattern"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 8)
    assert called(Sequential([AnnotateTIROpPattern(), FuseOps(), FuseTIR()])(mod)) == ["exp", "sin"]


PRIM_FUNC = """
    @T.prim_func(private=True)
    def scale(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(3)
"""


def test_rf16_kernel_on_memory_is_fused(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor((4,), "float32")',
        'a = R.call_tir(Module.scale, (x,), R.Tensor((4,), "float32"))',
        "b = R.exp(R.negative(a))",
        outputs="b",
        extra=PRIM_FUNC,
    )
    assert called(FUSE(mod)) == ["fused_scale_negative_exp"]
    x = random(4)
    check(mod, np.exp(-3 * x), x)


SCALE = """
    @T.prim_func(private=True)
    def scale(A: T.Buffer((T.int64(4),), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] * T.float32(3)
"""


def test_rf16_nothing_moves_over_an_update_in_place(exec_mode: str) -> None:
    """A reader of what is updated later stays before it."""
    mod = parse(
        'x: R.Tensor((4,), "float32")',
        "own = R.exp(x)",
        "a = R.sin(own)",
        "u = R.call_tir_inplace(Module.scale, (own,), inplace_indices=[0], "
        'out_sinfo=R.Tensor((4,), "float32"))',
        "b = R.negative(a)",
        "c = R.add(b, u)",
        outputs="c",
        extra=SCALE,
    )
    assert called(FUSE(mod)) == ["fused_exp_sin", "scale", "fused_negative_add"]
    x = random(4)
    check(mod, -np.sin(np.exp(x)) + 3 * np.exp(x), x)


def test_rf16_a_kernel_makes_what_is_updated_in_place(exec_mode: str) -> None:
    """Its result is no argument of the function, as that of another call may be."""
    mod = parse(
        'x: R.Tensor((4,), "float32")',
        "own = R.exp(R.negative(x))",
        "u = R.call_tir_inplace(Module.scale, (own,), inplace_indices=[0], "
        'out_sinfo=R.Tensor((4,), "float32"))',
        outputs="u",
        extra=SCALE,
    )
    assert called(FUSE(mod)) == ["fused_negative_exp", "scale"]
    x = random(4)
    check(mod, 3 * np.exp(-x), x)


def test_rf16_primitive_function_by_hand(exec_mode: str) -> None:
    """FuseTIR takes functions of users, with tuples as parameters and results."""
    mod = LEGALIZE(
        from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def both(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"))):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.add(t[0], t[1])
            b = R.exp(a)
            o = (a, b)
            R.output(o)
        return o

    @R.function
    def main(x: R.Tensor(("m",), "float32"), y: R.Tensor(("m",), "float32")):
        with R.dataflow():
            t = (x, y)
            r = Module.both(t)
            s = R.negative(r[1])
            o = (r[0], s)
            R.output(o)
        return o
""")
    )
    fused = FuseTIR()(mod)
    assert called(fused) == ["both", "negative"]
    x, y = random(5), random(5) + 1
    a, b = run(fused, x, y)
    np.testing.assert_array_equal(a, x + y)
    np.testing.assert_allclose(b, -np.exp(x + y), rtol=1e-6)


def test_rf16_argument_that_has_to_be_checked(exec_mode: str) -> None:
    """A function stays where its parameters say more than its arguments."""
    mod = LEGALIZE(
        from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def f(x: R.Tensor(("n", "n"), "float32")):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            r = Module.f(x)
            R.output(r)
        return r
""")
    )
    fused = FuseTIR()(mod)
    assert called(fused) == ["f"]
    x = random(3, 3)
    np.testing.assert_allclose(run(fused, x)[0], np.sin(np.exp(x)), rtol=1e-6)
    with pytest.raises(Exception, match="3"):
        run(fused, random(3, 4))


# apache/tvm issues 17254 and 17341: a tensor that kernels know by other names and dimensions, which
# FuseTIR does not merge there.


def test_rf16_layer_norm_over_two_axes(exec_mode: str) -> None:
    mod = parse(
        'x: R.Tensor((2, 3, 4, 5), "float32"), g: R.Tensor((4, 5), "float32"), '
        'b: R.Tensor((4, 5), "float32")',
        "r = R.nn.relu(x)",
        "l = R.nn.layer_norm(r, g, b, axes=[-2, -1])",
        "o = R.multiply(l, r)",
        outputs="o",
    )
    assert called(FUSE(mod)) == ["fused_relu_layer_norm_multiply"]
    x, g, b = random(2, 3, 4, 5), random(4, 5), random(4, 5) + 1
    r = np.maximum(x, 0).astype("float64")
    flat_r = r.reshape(2, 3, 20)
    wanted = layer_norm(flat_r, g.reshape(20), b.reshape(20)).reshape(r.shape) * r
    check(mod, wanted, x, g, b, rtol=2e-4)


def test_rf16_kind_of_a_kernel() -> None:
    mod = LEGALIZE(
        parse(
            'x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")',
            "m = R.matmul(x, w)",
            "t = R.permute_dims(m)",
            outputs="t",
        )
    )
    assert detect_op_pattern(mod["matmul"]) == OpPattern.OUT_ELEMWISE_FUSABLE
    assert detect_op_pattern(mod["permute_dims"]) == OpPattern.INJECTIVE
    assert "op_pattern" not in mod["matmul"].operation.attributes
    with pytest.raises(TypeError, match=r"expected a kernel, a func\.func"):
        detect_op_pattern(mod["main"])


def test_rf16_error_of_a_kind_that_is_none() -> None:
    mod = relax.IRModule("""
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {op_pattern = 6 : i64} {
      return %x : tensor<4xf32>
    }""")
    with pytest.raises(ir.MLIRError, match="expected op_pattern to be the number of a kind"):
        detect_op_pattern(mod["f"])


def test_rf16_booleans_and_gathers_stay_apart(exec_mode: str) -> None:
    """Loops over vectors do without them, and would be plain loops with them."""
    mod = parse(
        'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), '
        'i: R.Tensor(("k",), "int64")',
        "m = R.matmul(x, w)",
        "g = R.greater(m, R.const(0.0))",
        "t = R.take(x, i, axis=0)",
        "e = R.exp(t)",
        outputs="g, e",
    )
    assert called(FUSE(mod)) == ["matmul", "greater", "take", "exp"]
    x, w, i = random(3, 4), random(4, 4), np.array([2, 0, 1, 1])
    check(mod, (x @ w > 0, np.exp(x[i])), x, w, i)
