"""Products of floats of 16 bits, and what stays in 32."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.script import from_source
from relax_mlir.transform import CompressWeights, ToMixedPrecision

# What rounding to a data type leaves of a number, at most.
STEP = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def tensor(name, *shape, dtype="float32"):
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def program(write, *parameters, dataflow=True):
    """Return a function whose body `write` emits; its last value is the result."""
    bb = relax.BlockBuilder()
    with bb.function("main", list(parameters)):
        if dataflow:
            with bb.dataflow():
                result = bb.emit_output(write(bb, *parameters))
        else:
            result = bb.emit(write(bb, *parameters))
        bb.emit_func_output(result)
    return bb.get()


def steps(mod):
    """Return the operations of a module: name, and data type of the result."""
    lines = [line.split() for line in str(mod).splitlines() if " = relax." in line]
    return [
        f"{words[2].removeprefix('relax.')}:{words[-1].rstrip('>')}"
        for words in lines
        if words[2] not in ("relax.dataflow", "relax.constant")
    ]


def layer(bb, x, w, b):
    y = bb.emit(op.nn.relu(bb.emit(op.add(bb.emit(op.matmul(x, w)), b))))
    return op.nn.softmax(bb.emit(op.matmul(y, w)))


LAYER = (tensor("x", "n", 8), tensor("w", 8, 8), tensor("b", 8))


def test_products_and_what_follows_them():
    mod = ToMixedPrecision()(program(layer, *LAYER))
    assert steps(mod) == [
        *("astype:f16", "astype:f16"),  # x and w, which only products read
        *("matmul:f32", "astype:f16", "astype:f32", "add:f32"),  # b has 32 bits
        *("relu:f32", "astype:f16"),  # which only a product reads
        *("matmul:f32", "astype:f16", "astype:f32", "softmax:f32"),
    ]


def test_what_only_products_read_is_cast_before_it_is_moved():
    """Fewer bits are moved, and each element is rounded once."""

    def write(bb, x, w):
        whole = bb.emit(op.exp(x))
        parts = bb.emit(op.split(bb.emit(op.permute_dims(whole)), 2))
        first, second = (bb.emit(op.get_item(parts, i)) for i in range(2))
        joined = bb.emit(op.concat([second, first], 1))
        return op.matmul(joined, w)

    mod = ToMixedPrecision()(program(write, tensor("x", 4, 8), tensor("w", 8, 8)))
    assert steps(mod)[1:] == [
        *("exp:f32", "astype:f16", "permute_dims:f16", "split:f16", "get_item:f16"),
        *("get_item:f16", "concat:f16", "matmul:f32"),
    ]


def test_what_others_read_is_moved_as_it_is():
    def write(bb, x, w):
        turned = bb.emit(op.permute_dims(bb.emit(op.exp(x))))
        product = bb.emit(op.matmul(turned, w))
        return op.add(product, bb.emit(op.sin(turned)))

    mod = ToMixedPrecision()(program(write, tensor("x", 8, 8), tensor("w", 8, 8)))
    assert steps(mod)[1:4] == ["exp:f32", "permute_dims:f32", "astype:f16"]


def test_sums_of_16_bits_need_no_casts_between():
    def write(bb, x, w):
        y = bb.emit(op.nn.relu(bb.emit(op.matmul(x, w))))
        return op.matmul(y, w)

    mod = ToMixedPrecision("float16")(program(write, *LAYER[:2]))
    expected = ["astype:f16", "astype:f16", "matmul:f16", "relu:f16", "matmul:f16", "astype:f32"]
    assert steps(mod) == expected


def test_constants_that_16_bits_hold_follow():
    def write(constant):
        def body(bb, x):
            y = bb.emit(op.matmul(x, numbers(8, 8)))
            return op.multiply(y, np.float32(constant))

        return body

    for constant, dtype, kind in (
        (3.0, "float16", "f16"),
        (1e6, "float16", "f32"),
        (1e6, "bfloat16", "bf16"),
    ):
        mod = ToMixedPrecision(dtype=dtype)(program(write(constant), LAYER[0]))
        assert f"multiply:{kind}" in steps(mod)


TUPLES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.softmax(a)
            pair = (a, b)
            nested = (pair, x)
            first = nested[0]
            c = R.matmul(first[0], first[1])
            R.output(c, pair)
        return (c, pair)
"""


def test_tuples_carry_16_bits():
    mod = from_source(TUPLES)
    changed = ToMixedPrecision()(mod)
    assert "relax.tuple<!relax.tensor<[4, 4], f16>, !relax.tensor<[4, 4], f32>>" in str(changed)
    x, w = numbers(4, 4), numbers(4, 4, seed=1)
    for wanted, found in zip(run(mod, x, w), run(changed, x, w), strict=True):
        for left, right in zip(np.atleast_1d(wanted), np.atleast_1d(found), strict=True):
            np.testing.assert_allclose(
                np.from_dlpack(right), np.from_dlpack(left), rtol=1e-2, atol=1e-2
            )


def run(mod, *arguments, **options):
    result = relax.VirtualMachine(relax.compile(mod, **options))["main"](*arguments)
    return result if isinstance(result, relax.runtime.Tensor) else list(result)


def test_only_dataflow_blocks_unless_everywhere():
    mod = program(layer, *LAYER, dataflow=False)
    assert str(ToMixedPrecision()(mod)) == str(mod)
    assert steps(ToMixedPrecision(everywhere=True)(mod)) == steps(
        ToMixedPrecision()(program(layer, *LAYER))
    )


BRANCH = """
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 4), "float32")):
        y = R.matmul(x, x)
        if c:
            z = R.matmul(y, x)
        else:
            z = R.add(y, x)
        return z
"""


def test_branches(exec_mode):
    changed = ToMixedPrecision(everywhere=True)(from_source(BRANCH))
    assert sum(step.startswith("astype") for step in steps(changed)) > 4
    main = relax.VirtualMachine(relax.compile(changed, exec_mode=exec_mode))["main"]
    x = numbers(4, 4)
    for condition in (True, False):
        y = x @ x
        wanted = y @ x if condition else y + x
        result = np.from_dlpack(main(np.array(condition), x))
        np.testing.assert_allclose(result, wanted, rtol=2e-2, atol=2e-2)


CLOSURE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            y = R.matmul(x, x)
            @R.function
            def inner(z: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
                return R.add(z, x)
            r = inner(y)
            R.output(r)
        return r
"""


def test_closures_inside_of_dataflow_blocks(exec_mode):
    mod = from_source(CLOSURE)
    x = numbers(4, 4)
    main = relax.VirtualMachine(relax.compile(ToMixedPrecision()(mod), exec_mode=exec_mode))["main"]
    np.testing.assert_allclose(np.from_dlpack(main(x)), x @ x + x, rtol=1e-2, atol=1e-2)


def test_parameters_of_16_bits():
    mod = program(layer, *LAYER)
    changed = ToMixedPrecision(fp16_input_names=["w"])(mod)
    assert "%w: !relax.tensor<[8, 8], f16>" in str(changed)
    assert steps(changed).count("astype:f16") == 5 - 1  # w is not cast
    x, w, b = numbers(3, 8), numbers(8, 8, seed=1).astype("float16"), numbers(8, seed=2)
    result, wanted = run(changed, x, w, b), run(mod, x, w.astype("float32"), b)
    np.testing.assert_allclose(np.from_dlpack(result), np.from_dlpack(wanted), rtol=0.1, atol=1e-2)


@pytest.mark.parametrize(("kind", "dtype"), [("float16", "bfloat16"), ("float64", "float16")])
def test_other_floats_stay(kind, dtype):
    def write(bb, x, y):
        z = bb.emit(op.nn.relu(bb.emit(op.matmul(x, x))))
        return op.add(z, bb.emit(op.astype(bb.emit(op.exp(y)), kind)))

    mod = program(write, tensor("x", 4, 4, dtype=kind), tensor("y", 4, 4))
    assert str(ToMixedPrecision(dtype=dtype)(mod)) == str(mod)


def test_casts_of_the_program_are_kept():
    def write(bb, x):
        y = bb.emit(op.astype(x, "float32"))
        return op.multiply(y, y)

    mod = program(write, tensor("x", 4, 4, dtype="float16"))
    assert steps(ToMixedPrecision()(mod)) == ["astype:f32", "multiply:f32"]


def test_what_is_no_float_stays():
    def write(bb, x, i):
        doubled = bb.emit(op.matmul(x, x))
        return op.tuple([doubled, bb.emit(op.matmul(i, i))])

    mod = program(write, tensor("x", 4, 4, dtype="int8"), tensor("i", 4, 4, dtype="int32"))
    assert str(ToMixedPrecision()(mod)) == str(mod)


def test_quantized_weights_are_left_to_products():
    mod = CompressWeights("int4-g32")(
        program(lambda _, x: op.matmul(x, numbers(64, 8)), tensor("x", "n", 64))
    )
    assert str(ToMixedPrecision()(mod)) == str(mod)


def test_products_that_are_chosen():
    def write(_, x, w):
        return op.nn.conv2d(x, w)

    mod = program(write, tensor("x", 1, 3, 8, 8), tensor("w", 4, 3, 3, 3))
    assert "conv2d:f32" in steps(ToMixedPrecision(products=["relax.matmul"])(mod))
    assert steps(ToMixedPrecision(products=["relax.matmul"])(mod)) == ["conv2d:f32"]
    assert steps(ToMixedPrecision("float16")(mod)) == [
        *("astype:f16", "astype:f16", "conv2d:f16", "astype:f32")
    ]


def test_operations_that_are_checked():
    def write(bb, x, w):
        return op.nn.max_pool2d(bb.emit(op.nn.conv2d(bb.emit(op.nn.relu(x)), w)))

    mod = program(write, tensor("x", 1, 3, 8, 8), tensor("w", 4, 3, 3, 3))
    no_pools = ToMixedPrecision("float16", check=lambda found: "pool" not in found.name)
    assert [step for step in steps(no_pools(mod)) if "conv" in step] == ["conv2d:f16"]
    assert [step for step in steps(no_pools(mod)) if "pool" in step] == ["max_pool2d:f32"]
    assert "max_pool2d:f16" in steps(ToMixedPrecision("float16")(mod))
    assert str(ToMixedPrecision(check=lambda _: False)(mod)) == str(mod)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"dtype": "float32"}, "expected dtype, one of float16, bfloat16, but got 'float32'"),
        ({"out_dtype": "bfloat16"}, "expected out_dtype, one of float32, float16, but got"),
        ({"products": ["relax.add"]}, "expected products, any of .*, but got 'relax.add'"),
    ],
)
def test_errors_of_options(options, expected):
    with pytest.raises(ValueError, match=expected):
        ToMixedPrecision(**options)


def test_error_names_that_are_no_parameters():
    with pytest.raises(ValueError, match=r"names of parameters, but got \['v'\]"):
        ToMixedPrecision(fp16_input_names=["w", "v"])(program(layer, *LAYER))


# -- compile(precision=...) -----------------------------------------------------------------------


def perceptron(bb, x):
    hidden = bb.emit(op.nn.gelu(bb.emit(op.add(bb.emit(op.matmul(x, UP)), BIAS))))
    return op.add(bb.emit(op.matmul(hidden, DOWN)), x)


UP, BIAS, DOWN = numbers(64, 96) / 8, numbers(96, seed=1), numbers(96, 64, seed=2) / 10


@pytest.mark.parametrize("is_dataflow", [True, False])
@pytest.mark.parametrize(("precision", "dtype"), [("f16", "float16"), ("bf16", "bfloat16")])
def test_precision_of_compile(precision, dtype, is_dataflow, exec_mode):
    mod = program(perceptron, tensor("x", "n", 64), dataflow=is_dataflow)
    exact = relax.VirtualMachine(relax.compile(mod))["main"]
    rounded = relax.VirtualMachine(relax.compile(mod, precision=precision, exec_mode=exec_mode))
    for n in (0, 1, 5, 40):
        x = numbers(n, 64, seed=n)
        result, wanted = (np.from_dlpack(main(x)) for main in (rounded["main"], exact))
        assert result.dtype == np.float32 and result.shape == wanted.shape
        error = np.abs(result - wanted).max(initial=0)
        assert error <= 16 * STEP[dtype] * max(np.abs(wanted).max(initial=0), 1)
        assert n == 0 or error > 0


@pytest.mark.parametrize(("precision", "kind"), [("f16", "f16"), ("bf16", "bf16")])
def test_constants_have_16_bits_when_compiled(precision, kind, tmp_path):
    mod = program(perceptron, tensor("x", "n", 64))
    relax.compile(mod, precision=precision, dump_phases=tmp_path)
    (text,) = (path.read_text() for path in tmp_path.glob("*-optimize.mlir"))
    constants = [line for line in text.splitlines() if "relax.constant" in line]
    assert len(constants) == 3
    assert all(line.endswith(f"x{kind}>") for line in constants)


def test_convolutions_keep_32_bits_when_compiled(tmp_path):
    def write(_, x):
        return op.nn.conv2d(x, numbers(4, 3, 3, 3))

    mod = program(write, tensor("x", 1, 3, 8, 8))
    x = numbers(1, 3, 8, 8)
    exact, rounded = run(mod, x), run(mod, x, precision="f16")
    np.testing.assert_array_equal(np.from_dlpack(rounded), np.from_dlpack(exact))


def optimized(mod, folder, **options):
    relax.compile(mod, dump_phases=folder, **options)
    (text,) = (path.read_text() for path in folder.glob("*-optimize.mlir"))
    return text


@pytest.mark.parametrize(
    ("weight", "attributes", "cpu", "is_rounded"),
    [
        ((16, 8, 1, 1), {}, "znver4", True),
        ((16, 8, 3, 3), {"strides": 2}, "znver4", True),
        ((16, 8, 3, 3), {}, "znver4", True),
        ((16, 20, 3, 3), {}, "znver4", False),  # Winograd
        ((8, 20, 3, 3), {}, "znver4", True),  # too few channels of the result
        ((8, 1, 5, 5), {"groups": 8}, "znver4", True),  # depthwise
        ((8, 1, 9, 9), {"groups": 8}, "znver4", False),  # no kernel
        ((16, 4, 5, 5), {"groups": 2}, "znver4", True),
        ((16, 8, 1, 1), {}, "sapphirerapids", False),  # its dot products are slower
        ((16, 8, 1, 1), {}, "x86-64-v4", False),
    ],
)
def test_convolutions_of_bfloats_when_compiled(weight, attributes, cpu, is_rounded, tmp_path):
    """Machine code is made for processors that need not be this one."""

    def write(bb, x):
        return op.nn.max_pool2d(bb.emit(op.nn.conv2d(x, numbers(*weight), **attributes)), 2)

    channels = weight[1] * attributes.get("groups", 1)
    mod = program(write, tensor("x", 1, channels, 12, 12))
    target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
    text = optimized(mod, tmp_path, target=target, precision="bf16")
    assert (", bf16>" in text) == is_rounded
    (pool,) = [line for line in text.splitlines() if "max_pool2d" in line]
    assert (", bf16>" in pool) == is_rounded


@pytest.mark.parametrize(("cpu", "is_rounded"), [("znver4", True), ("x86-64-v4", False)])
def test_attention_of_bfloats_when_compiled(cpu, is_rounded, tmp_path):
    mod = program(lambda bb, x: op.nn.attention(x, x, x), tensor("x", 1, "n", 4, 64))
    target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
    text = optimized(mod, tmp_path, target=target, precision="bf16")
    (attention,) = [line for line in text.splitlines() if "relax.attention" in line]
    assert ("bf16" in attention) == is_rounded


@pytest.mark.parametrize(
    ("size", "channels", "is_rounded"), [(7, 256, True), (7, 64, False), (8, 256, False)]
)
def test_small_images_of_bfloats_when_compiled(size, channels, is_rounded, tmp_path):
    """Of few pixels, reading transformed weights takes longer than products of bf16."""

    def write(bb, x):
        return op.nn.conv2d(x, numbers(16, channels, 3, 3), padding=1)

    mod = program(write, tensor("x", 1, channels, size, size))
    target = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4"
    text = optimized(mod, tmp_path, target=target, precision="bf16")
    assert (", bf16>" in text) == is_rounded


def test_precision_of_convolutions(exec_mode):
    def write(bb, x):
        hidden = bb.emit(op.nn.relu(bb.emit(op.nn.conv2d(x, numbers(24, 8, 1, 1)))))
        return op.nn.conv2d(hidden, numbers(8, 24, 5, 5, seed=1), strides=2, padding=2)

    mod = program(write, tensor("x", "n", 8, "h", "w"))
    x = numbers(2, 8, 13, 11)
    exact, rounded = (
        np.from_dlpack(relax.VirtualMachine(relax.compile(mod, **options))["main"](x))
        for options in ({}, {"precision": "bf16", "exec_mode": exec_mode})
    )
    assert rounded.shape == exact.shape and rounded.dtype == exact.dtype
    assert np.abs(rounded - exact).max() <= 4 * STEP["bfloat16"] * np.abs(exact).max()


def test_precision_and_weights():
    mod = program(perceptron, tensor("x", "n", 64))
    x = numbers(3, 64)
    both = np.from_dlpack(run(mod, x, precision="bf16", weights="int8"))
    weights = np.from_dlpack(run(mod, x, weights="int8"))
    assert np.abs(both - weights).max() < 0.05 * np.abs(weights).max()


def test_error_precision_that_is_none():
    with pytest.raises(ValueError, match="expected precision, one of f32, f16, bf16, but got"):
        relax.compile(program(perceptron, tensor("x", "n", 64)), precision="fp16")
