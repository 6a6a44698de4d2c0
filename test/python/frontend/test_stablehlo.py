# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of JAX come in through StableHLO, with symbolic sizes, and wrong programs are refused."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir

jax = pytest.importorskip("jax", reason="jax is not installed (requirements/test.txt)")

from jax import export, lax  # noqa: E402
from jax import numpy as jnp  # noqa: E402
from relax_mlir.frontend.stablehlo import from_stablehlo, operators  # noqa: E402

RNG = np.random.default_rng(0)


def array(*dims):
    return RNG.standard_normal(dims).astype("float32")


def symbolic(function, *shapes, constraints=(), **options):
    """Export a function of float32, with the sizes that are named as symbolic ones."""
    scope = export.SymbolicScope(list(constraints))
    inputs = [
        jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), jnp.float32)
        for shape in shapes
    ]
    return export.export(jax.jit(function), **options)(*inputs)


def load(mod):
    return relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"]


def check(main, function, *arguments, tolerance=1e-4):
    found = main(*arguments)
    results = [found] if hasattr(found, "__dlpack__") else list(found)
    wanted = jax.tree.leaves(function(*(jnp.asarray(one) for one in arguments)))
    for got, expected in zip(results, wanted, strict=True):
        assert np.from_dlpack(got).shape == expected.shape
        np.testing.assert_allclose(
            np.from_dlpack(got), expected, rtol=tolerance, atol=tolerance / 10
        )


# -- models -------------------------------------------------------------------------------------

WEIGHTS = [array(8, 8) * 0.3 for _ in range(3)] + [array(8, 16) * 0.3]


def mlp(x):
    for weight in WEIGHTS[:3]:
        x = jax.nn.relu(x @ weight + 0.1)
    return jax.nn.softmax(x @ WEIGHTS[3])


KERNELS = [array(3, 3, 3, 8) * 0.3, array(3, 3, 8, 8) * 0.2]


def conv_net(x):
    for kernel in KERNELS:
        x = lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
        x = jax.nn.relu((x - mean) * lax.rsqrt(var + 1e-5))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.mean((1, 2)) @ WEIGHTS[0]


def transformer(x):
    batch, time, width = x.shape
    query, key, value = (jnp.reshape(x @ w, (batch, time, 2, width // 2)) for w in WEIGHTS[:3])
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(width // 2)
    scores = jnp.where(jnp.tril(jnp.ones((time, time), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
    x = x + mixed.reshape(batch, time, width)
    x = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return x + jax.nn.gelu(x @ WEIGHTS[3]) @ WEIGHTS[3].T


INPUT_WEIGHT, STATE_WEIGHT = array(8, 32) * 0.3, array(8, 32) * 0.3


def lstm(sequence):
    def step(state, x):
        hidden, cell = state
        gates = jnp.split(x @ INPUT_WEIGHT + hidden @ STATE_WEIGHT, 4, -1)
        kept, new, out = (jax.nn.sigmoid(gate) for gate in gates[:3])
        cell = kept * cell + new * jnp.tanh(gates[3])
        hidden = out * jnp.tanh(cell)
        return (hidden, cell), hidden

    zeros = jnp.zeros((sequence.shape[1], 8))
    return lax.scan(step, (zeros, zeros), sequence)


MODELS = {
    "mlp": (mlp, "b, 8", [(1, 8), (5, 8)]),
    "conv_net": (conv_net, "b, 8, 12, 3", [(2, 8, 12, 3), (3, 8, 12, 3)]),
    "transformer": (transformer, "b, t, 8", [(2, 5, 8), (1, 3, 8)]),
    "lstm": (lstm, "6, b, 8", [(6, 3, 8), (6, 1, 8)]),
    "lstm_of_any_length": (lstm, "t, b, 8", [(7, 3, 8), (1, 2, 8)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name, exec_mode):
    function, shape, sizes = MODELS[name]
    main = load(from_stablehlo(symbolic(function, shape)))
    for dims in sizes:
        check(main, function, array(*dims))


def test_long_loops_are_recursive(exec_mode):
    text = jax.jit(lstm).lower(array(120, 2, 8)).as_text()
    mod = from_stablehlo(text)
    assert str(mod).count("relax.matmul") == 2
    assert str(from_stablehlo(text, unroll_limit=100_000)).count("relax.matmul") == 240
    check(load(mod), lstm, array(120, 2, 8))


# -- symbolic sizes -----------------------------------------------------------------------------


def test_names_of_sizes():
    mod = from_stablehlo(symbolic(lambda x, y: x @ y, "b, t", "t, 3"))
    assert str(mod["main"].function_type.value) == (
        "(!relax.tensor<[b, t], f32>, !relax.tensor<[t, 3], f32>) -> !relax.tensor<[b, 3], f32>"
    )


def halves(x, y):
    rows = jnp.concatenate([x, y], 0).reshape(-1, 2, 4)
    return rows, x[::2] + x.shape[0], y[-1], jnp.arange(x.shape[0]), jnp.ones((x.shape[0] // 2, 3))


def test_sizes_that_are_expressions(exec_mode):
    main = load(from_stablehlo(symbolic(halves, "2*b, 4", "2*b, 4", constraints=["b >= 2"])))
    check(main, halves, array(6, 4), array(6, 4))
    with pytest.raises(ValueError, match="dimension 0 is 5"):
        main(array(5, 4), array(5, 4))
    with pytest.raises(ValueError, match="expected 1"):
        main(array(2, 4), array(2, 4))


def many(x):
    return (
        jnp.cumsum(x, 1), jnp.sort(x, 1)[:, :2], x.at[:, 1].set(0.0), jnp.pad(x, ((1, 0), (0, 2))),
        jnp.take(x, jnp.array([0, 1]), 0), jnp.argmax(x, 0), jnp.flip(x, 0), x.var(),
        jax.nn.one_hot(jnp.argmax(x, 1), 4), jnp.stack([x, x]), x[-1], x[:-1] + x[1:],
        jnp.ones_like(x)[:, 0] * x.shape[0], lax.fori_loop(0, x.shape[0], lambda i, c: c + i, 0),
    )  # fmt: skip


def test_operators_of_symbolic_size(exec_mode):
    main = load(from_stablehlo(symbolic(many, "b, 4")))
    check(main, many, array(5, 4))
    check(main, many, array(2, 4))


def test_bounds_are_checked():
    main = load(from_stablehlo(symbolic(jnp.tanh, "b", constraints=["b >= 2", "b <= 4"])))
    check(main, jnp.tanh, array(3))
    for length in (1, 5):
        with pytest.raises(ValueError, match=r"shape variable 'b'|match_cast"):
            main(array(length))


# -- sources ------------------------------------------------------------------------------------


def test_sources(tmp_path):
    exported = symbolic(mlp, "b, 8")
    binary, text = exported.mlir_module_serialized, exported.mlir_module()
    path = tmp_path / "mlp.mlirbc"
    path.write_bytes(binary)
    wanted = str(from_stablehlo(exported)["main"].function_type.value)
    for source in (binary, text, path, str(path)):
        assert str(from_stablehlo(source)["main"].function_type.value) == wanted
    lowered = jax.jit(mlp).lower(array(3, 8))
    check(load(from_stablehlo(lowered.compiler_ir("stablehlo"))), mlp, array(3, 8))


def test_unused_arguments_stay():
    def function(x, y):
        return x + 1

    exported = symbolic(function, "b, 3", "c", platforms=("cuda", "cpu"))
    check(load(from_stablehlo(exported)), function, array(2, 3), array(5))


def test_input_info():
    text = """func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %0 = stablehlo.add %x, %x : tensor<?x4xf32>
      return %0 : tensor<?x4xf32>
    }"""
    mod = from_stablehlo(text, [((3, 4), "float32")])
    assert "tensor<[3, 4], f32>" in str(mod["main"].function_type.value)
    for info in ([((3, 5), "float32")], [((3, 4), "float16")], [((3,), "float32")]):
        with pytest.raises(ValueError, match="as the program states"):
            from_stablehlo(text, info)
    with pytest.raises(ValueError, match="input_info for 1 inputs, but got 2"):
        from_stablehlo(text, [((3, 4), "float32")] * 2)


def test_powers_of_integers(exec_mode):
    text = """func.func @main(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32> {
      %0 = stablehlo.power %x, %y : tensor<?xi32>
      return %0 : tensor<?xi32>
    }"""
    x, y = (np.array(one, "int32") for one in ([3, -2, -1, 7, 1, 0, 2], [4, 31, -3, 20, -9, 0, -1]))
    compiled = relax_mlir.compile(from_stablehlo(text), exec_mode=exec_mode)
    got = relax_mlir.VirtualMachine(compiled)["main"](x, y).numpy()
    # NumPy has no negative exponents.
    wanted = np.array([81, 2**31, 2**32 - 1, 7**20 % 2**32, 1, 1, 0], "uint32").view("int32")
    np.testing.assert_array_equal(got, wanted)


def test_sizes_of_inputs_are_compared():
    text = """func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %x, %y : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    main = load(from_stablehlo(text))
    check(main, jnp.add, array(3), array(3))
    with pytest.raises(ValueError, match="dimension 0"):
        main(array(3), array(2))


def test_operators_of_tvm():
    names = [
        *("add", "broadcast_in_dim", "constant", "convolution", "cosine", "divide"),
        *("dot_general", "exponential", "maximum", "minimum", "multiply", "reshape", "reduce"),
        *("reduce_window", "round_nearest_afz", "rsqrt", "sine", "sqrt", "subtract"),
    ]
    assert {f"stablehlo.{name}" for name in names} <= set(operators())
    assert {"chlo.sinh", "chlo.cosh"} <= set(operators())


# -- wrong programs -----------------------------------------------------------------------------


def one(operation, type_="tensor<3x3xf32>"):
    return f"""func.func @main(%x: {type_}) -> {type_} {{
      %0 = {operation} : ({type_}) -> {type_} loc("model.py":3:4)
      return %0 : {type_}
    }}"""


INVALID = {
    "broken": ("func.func @main(%a: tensor<3xf32>) {", ValueError, "expected the text to be"),
    "truncated": (b"ML\xefRxxxx", ValueError, "expected the bytes to be"),
    "no_main": ("module {}", ValueError, "expected a function 'main', but got none"),
    "no_file": ("missing.mlir", FileNotFoundError, "missing.mlir"),
    "no_source": (3, TypeError, "but got builtins.int"),
    "unknown": (
        one('"stablehlo.cholesky"(%x)'), NotImplementedError,
        'stablehlo.cholesky at "model.py":3:4: expected an operator that has a converter',
    ),
    "custom_call": (
        one("stablehlo.custom_call @lapack(%x)"), NotImplementedError,
        "stablehlo.custom_call at .*but got 'lapack'",
    ),
    "complex": (
        one("stablehlo.negate %x", "tensor<2xcomplex<f32>>"), NotImplementedError,
        "but got type tensor<2xcomplex<f32>>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name):
    source, kind, message = INVALID[name]
    with pytest.raises(kind, match=message):
        from_stablehlo(source)


def test_invalid_region():
    text = jax.jit(lambda x: lax.reduce(x, 0.0, lambda a, b: a * 2 + b, (0,))).lower(array(3))
    with pytest.raises(NotImplementedError, match=r"stablehlo.reduce.*expected a region that is"):
        from_stablehlo(text.as_text())


def test_invalid_random():
    text = """func.func @main() -> tensor<3xf32> {
      %shape = stablehlo.constant dense<3> : tensor<1xi64>
      %low = stablehlo.constant dense<0.0> : tensor<f32>
      %high = stablehlo.constant dense<1.0> : tensor<f32>
      %0 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM
        : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    with pytest.raises(NotImplementedError, match="take random numbers as inputs"):
        from_stablehlo(text)


@pytest.mark.parametrize("state", ["?xui64", "0xui64", "ui64"])
def test_invalid_state_of_a_generator(state):
    text = f"""func.func @main(%x: tensor<{state}>) -> tensor<{state}> {{
      %0, %1 = stablehlo.rng_bit_generator %x, algorithm = DEFAULT
        : (tensor<{state}>) -> (tensor<{state}>, tensor<3xui32>)
      return %0 : tensor<{state}>
    }}"""
    with pytest.raises(NotImplementedError, match="expected a state that is a vector of static"):
        from_stablehlo(text)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_generators_of_jax(impl):
    def draw(seed):
        first, second = jax.random.split(jax.random.key(seed, impl=impl))
        words = jax.random.bits(second, (1000,), "uint8")
        return jax.random.normal(first, (40, 50)), jax.random.uniform(second, (2000,)), words

    lowered = jax.jit(draw).lower(jnp.uint32(0))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(from_stablehlo(lowered.as_text())))["main"]
    results = [
        [np.from_dlpack(one) for one in main(np.array(seed, "uint32"))] for seed in (1, 2, 1)
    ]
    for one, other, same in zip(*results, strict=True):
        assert (one == same).all()
        assert (one != other).any()
    normal, uniform, words = results[0]
    assert abs(normal.mean()) < 4 / 2000**0.5
    assert abs(normal.std() - 1) < 4 / 4000**0.5
    assert abs(uniform.mean() - 0.5) < 4 * (1 / 12 / 2000) ** 0.5
    assert abs(words.mean() - 127.5) < 4 * 74 / 1000**0.5
    if impl == "threefry2x32":
        for ours, theirs in zip(results[0], jax.jit(draw)(jnp.uint32(1)), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
