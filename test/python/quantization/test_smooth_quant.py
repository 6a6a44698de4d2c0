"""SmoothQuant: channels of inputs are divided, and rows of weights multiplied."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.quantization import calibrate, calibrate_channels, compare_precision
from relax_mlir.transform import QuantizeStatic, Sequential, SmoothQuant

RNG = np.random.default_rng(0)
CHANNELS, OUTLIERS = 256, [3, 170]
Q, K, V, UP = (RNG.standard_normal((CHANNELS, n)).astype("float32") for n in (24, 16, 16, 40))
DOWN = RNG.standard_normal((40, 8)).astype("float32")
GAMMA, BETA = (RNG.random(CHANNELS, "float32") + 0.5 for _ in range(2))
GAMMA[OUTLIERS] *= 80


def program(write, shape=("n", CHANNELS)):
    """A program of what `write` makes of its input, and of the builder."""
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(write(x, bb))
    return bb.get()


def one_layer(make):
    """A program with one layer, whose input `make` computes."""
    return program(lambda x, bb: bb.emit(op.matmul(make(x), UP), "up"))


def mlp():
    def write(x, bb):
        hidden = bb.emit(op.matmul(x, UP), "up")
        return bb.emit(op.matmul(op.nn.relu(hidden), DOWN), "down")

    return program(write)


def projections():
    """A layer_norm, and what is computed of it for attention."""

    def write(x, bb):
        norm = op.nn.layer_norm(x, GAMMA, BETA, axes=-1)
        parts = [
            bb.emit(op.matmul(norm, weight), name)
            for weight, name in ((Q, "q"), (K, "k"), (V, "v"))
        ]
        return op.concat(parts, axis=-1)

    return program(write, ("b", "n", CHANNELS))


def normalized(x):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * GAMMA + BETA


def even_rows(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal((*shape, CHANNELS)).astype("float32")


def rows(*shape, seed=1):
    numbers = even_rows(*shape, seed=seed)
    numbers[..., OUTLIERS] *= 100
    return numbers


def run(mod, *inputs, **options):
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod, **options))["main"](*inputs))


def constants(mod, name, index):
    """The constant operand of an operation of a name."""
    function = mod.module.body.operations[0]
    (found,) = [each for each in function.body.blocks[0].operations if each.name == name]
    return np.array(found.operation.operands[index].owner.attributes["value"])


def smoothed(mod, *inputs, **options):
    return SmoothQuant(calibrate_channels(mod, [[x] for x in inputs]), **options)(mod)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("alpha", [0, 0.5, 0.85, 1])
def test_program_computes_the_same(alpha, mode):
    x = rows(33)
    mod = smoothed(mlp(), rows(9, seed=2), alpha=alpha)
    assert str(mod).count("relax.multiply") == 2
    wanted = np.maximum(x.astype("f8") @ UP, 0) @ DOWN
    np.testing.assert_allclose(
        run(mod, x, exec_mode=mode), wanted, atol=1e-6 * np.abs(wanted).max()
    )


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_projections_share_a_scale_that_is_part_of_the_norm(mode):
    x = rows(2, 5)
    mod = smoothed(projections(), x)
    assert "relax.multiply" not in str(mod)
    weight = np.abs(np.concatenate([Q, K, V], 1)).max(1)
    scale = np.sqrt(np.abs(normalized(x)).max((0, 1)) / weight)
    np.testing.assert_allclose(constants(mod, "relax.layer_norm", 1), GAMMA / scale, rtol=1e-4)
    np.testing.assert_allclose(constants(mod, "relax.layer_norm", 2), BETA / scale, rtol=1e-4)
    for y in (x, rows(3, 1, seed=4)):
        wanted = normalized(y.astype("f8")) @ np.concatenate([Q, K, V], 1)
        np.testing.assert_allclose(
            run(mod, y, exec_mode=mode), wanted, atol=1e-5 * np.abs(wanted).max()
        )


FOLDED = {
    "rms_norm": lambda x: op.nn.rms_norm(x, GAMMA),
    "product": lambda x: op.multiply(x, GAMMA),
    "product from the left": lambda x: op.multiply(GAMMA, x),
    "number": lambda x: op.multiply(x, np.float32(3)),
    "sum of a product": lambda x: op.add(BETA, op.multiply(x, GAMMA)),
    "sum of a norm": lambda x: op.add(op.nn.rms_norm(x, GAMMA), np.float32(1)),
    "computed": lambda x: op.nn.rms_norm(x, op.add(GAMMA, BETA)),
    "no center": lambda x: op.nn.layer_norm(x, GAMMA, BETA, axes=[1], center=False),
}


@pytest.mark.parametrize("make", FOLDED.values(), ids=FOLDED)
def test_division_becomes_part_of_constants(make):
    mod = one_layer(make)
    folded = smoothed(mod, rows(9))
    products = str(mod).count("relax.multiply")
    assert str(folded).count("relax.multiply") == products
    assert not np.array_equal(constants(folded, "relax.matmul", 1), UP)
    wanted = run(mod, rows(5))
    np.testing.assert_allclose(run(folded, rows(5)), wanted, atol=1e-5 * np.abs(wanted).max())


KEPT = {
    "argument": lambda x: x,
    "sum": lambda x: op.add(x, BETA),
    "two readers of a term": lambda x: op.add(op.nn.relu(y := op.nn.rms_norm(x, GAMMA)), y),
    "no gamma": lambda x: op.nn.layer_norm(x, GAMMA, BETA, axes=[1], scale=False),
    "two dimensions": lambda x: op.nn.rms_norm(x, np.ones((4, CHANNELS), "float32"), axes=[0, 1]),
}


@pytest.mark.parametrize("make", KEPT.values(), ids=KEPT)
def test_multiplication_is_left(make):
    mod = program(lambda x, bb: bb.emit(op.matmul(make(x), UP), "up"), (4, CHANNELS))
    kept = smoothed(mod, rows(4) / 50)
    assert str(kept).count("relax.multiply") == 1
    wanted = run(mod, rows(4, seed=2) / 50)
    result = run(kept, rows(4, seed=2) / 50)
    np.testing.assert_allclose(result, wanted, atol=1e-5 * np.abs(wanted).max())


def test_norm_stays_where_something_else_reads_it():
    """A layer that is not meant, an operation, and a result of the function."""

    def write(x, bb):
        norm = op.nn.rms_norm(x, GAMMA)
        parts = [bb.emit(op.matmul(norm, weight), name) for weight, name in ((K, "k"), (V, "v"))]
        return bb.emit(op.add(*parts), "total")

    mod = program(write)
    maxima = calibrate_channels(mod, [[rows(4)]])
    assert str(SmoothQuant({"k": maxima["k"]})(mod)).count("relax.multiply") == 1
    checked = SmoothQuant(maxima, check=lambda layer: "v" in str(layer.location))(mod)
    assert str(checked).count("relax.multiply") == 1
    assert "relax.multiply" not in str(SmoothQuant(maxima)(mod))
    wanted = run(mod, rows(5))
    for changed in (checked, SmoothQuant(maxima)(mod)):
        np.testing.assert_allclose(run(changed, rows(5)), wanted, rtol=1e-4, atol=1e-2)


def test_layers_in_dataflow_blocks_share_a_multiplication():
    x = relax.Var("x", relax.TensorStructInfo(("n", CHANNELS), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            parts = [bb.emit(op.matmul(x, weight)) for weight in (K, V)]
            y = bb.emit_output(op.add(*parts))
        bb.emit_func_output(op.add(y, op.matmul(x, V)))
    mod = bb.get()
    changed = smoothed(mod, rows(4))
    assert str(changed).count("relax.multiply") == 2  # one for each block
    wanted = run(mod, rows(5))
    np.testing.assert_allclose(run(changed, rows(5)), wanted, atol=1e-5 * np.abs(wanted).max())


def test_transposed_weights_that_something_else_reads_stay():
    def write(x, bb):
        table = op.const(UP.T.copy())
        y = bb.emit(op.matmul(x, op.permute_dims(table)), "up")
        return op.add(y, op.sum(table, [1]))

    mod = program(write)
    changed = smoothed(mod, rows(4))
    wanted = rows(5).astype("f8") @ UP + UP.sum(0)
    np.testing.assert_allclose(run(changed, rows(5)), wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_zeros_and_extreme_numbers_keep_finite_scales(alpha):
    """Channels and rows of zeros, and numbers whose scales `float32` does not have."""
    maxima = np.full(CHANNELS, 2.0)
    maxima[:6] = [0, 1e-45, 1e-45, 3e38, 3e38, 1]
    weight = UP.copy()
    weight[1:7] = np.float32([1e-45, 3e38, 1e-45, 3e38, 1e-45, 0])[:, None]
    weight[0] = 2
    mod = program(lambda x, bb: bb.emit(op.matmul(x, weight), "up"))
    changed = SmoothQuant({"up": maxima}, alpha=alpha)(mod)
    scales = constants(changed, "relax.multiply", 1)
    assert scales[0] == scales[6] == 1
    assert np.isfinite(scales).all()
    assert (scales > 0).all()
    assert np.isfinite(constants(changed, "relax.matmul", 1)).all()
    quantized = QuantizeStatic(calibrate(changed, [[rows(3)]]))(changed)
    assert str(quantized).count("relax.quantize") == 1


def test_constants_that_would_be_infinite_stay():
    mod = one_layer(lambda x: op.multiply(x, np.full(CHANNELS, 3e38, "float32")))
    changed = SmoothQuant({"up": np.full(CHANNELS, 1e-6)})(mod)
    assert str(changed).count("relax.multiply") == 2


def test_layers_that_stay():
    """Weights without a finite scale or that are arguments, and shapes that are not known."""
    x, y = (relax.Var(name, relax.TensorStructInfo(("n", 4), "float32")) for name in "xy")
    z = relax.Var("z", relax.TensorStructInfo(ndim=2, dtype="float32"))
    w = relax.Var("w", relax.TensorStructInfo((4, 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y, z, w]):
        bad = bb.emit(op.matmul(x, np.full((4, 4), np.nan, "float32")), "bad")
        given = bb.emit(op.matmul(y, w), "given")
        unknown = bb.emit(op.matmul(z, np.ones((4, 4), "float32")), "unknown")
        bb.emit_func_output(relax.Tuple([bad, given, unknown]))
    mod = bb.get()
    maxima = dict.fromkeys(("bad", "given", "unknown"), np.full(4, 9.0))
    assert str(SmoothQuant(maxima)(mod)) == str(mod)


def test_program_stays_where_all_scales_are_one():
    mod = program(lambda x, bb: bb.emit(op.matmul(x, np.ones((4, 2), "float32")), "up"), ("n", 4))
    assert str(SmoothQuant({"up": np.ones(4)})(mod)) == str(mod)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_outliers_cost_less(mode):
    """Products of integers, beside those of numbers of 64 bits; nothing is saturated."""
    x = even_rows(4, 16)
    samples = [[x], [even_rows(2, 9, seed=2)]]
    mod = projections()
    smooth = SmoothQuant(calibrate_channels(mod, samples))(mod)
    wanted = normalized(x.astype("f8")) @ np.concatenate([Q, K, V], 1)

    def error(mod):
        rounded = QuantizeStatic(calibrate(mod, samples))(mod)
        result = run(rounded, x, exec_mode=mode)
        return np.sqrt(np.mean((result - wanted) ** 2))

    assert error(smooth) < error(mod) / 4


def test_quantized_layers_keep_their_names():
    samples = [[rows(16, seed=seed)] for seed in range(2)]
    mod = mlp()
    maxima = calibrate_channels(mod, samples)
    smooth = SmoothQuant(maxima)(mod)
    ranges = calibrate(smooth, samples)
    assert list(ranges) == ["up", "down"]
    report = compare_precision(mod, QuantizeStatic(ranges)(smooth), samples)
    plain = compare_precision(mod, QuantizeStatic(calibrate(mod, samples))(mod), samples)
    assert report["up"].sqnr > plain["up"].sqnr + 6
    passes = Sequential([SmoothQuant(maxima), QuantizeStatic(ranges)])
    result = run(mod, rows(5), relax_pipeline=passes)
    np.testing.assert_array_equal(result, run(QuantizeStatic(ranges)(smooth), rows(5)))


@pytest.mark.parametrize(
    ("maxima", "message"),
    [
        ({}, "expected maxima of layers, which .*calibrate_channels returns, but got none"),
        ({"upp": np.ones(CHANNELS)}, "expected names of layers of 'main', but got 'upp'.*'up'"),
        ({"up": np.ones(3)}, "expected 256 maxima, one for each channel of .* 'up', but got 3"),
        (
            {"up": np.ones((1, CHANNELS))},
            r"expected a vector .* 'up', but got the shape \(1, 256\)",
        ),
        ({"up": [-1.0] * CHANNELS}, "finite and not negative, of 'up', but got -1.0"),
        ({"up": [np.nan] * CHANNELS}, "finite and not negative, of 'up', but got nan"),
        ({"up": [np.inf] * CHANNELS}, "finite and not negative, of 'up', but got inf"),
    ],
)
def test_wrong_maxima(maxima, message):
    with pytest.raises(ValueError, match=message):
        SmoothQuant(maxima)(mlp())


@pytest.mark.parametrize("alpha", [-0.1, 1.5, float("nan")])
def test_wrong_alpha(alpha):
    with pytest.raises(ValueError, match=f"expected alpha to be from 0 to 1, but got {alpha}"):
        SmoothQuant({"up": np.ones(CHANNELS)}, alpha=alpha)


def test_wrong_arguments():
    ones = {"up": np.ones(CHANNELS)}
    with pytest.raises(TypeError, match="expected maxima by names of layers"):
        SmoothQuant([1])
    with pytest.raises(TypeError, match="expected numbers as the maxima of 'up', but got 'many'"):
        SmoothQuant({"up": "many"})
    with pytest.raises(TypeError, match="expected alpha to be a number"):
        SmoothQuant(ones, alpha="half")
    with pytest.raises(ValueError, match="expected the name of a function, one of main"):
        SmoothQuant(ones, "other")(mlp())
    mod = program(
        lambda x, bb: bb.emit(op.nn.conv1d(x, np.ones((4, 3, 1), "float32")), "conv"), ("n", 3, 9)
    )
    with pytest.raises(ValueError, match="expected names of matrix products, but got 'conv', a co"):
        SmoothQuant({"conv": np.ones(3)})(mod)
