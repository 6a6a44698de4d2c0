"""Ranges of calibration runs, and static quantization by them."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.quantization import calibrate, calibrate_channels
from relax_mlir.transform import FakeQuantizationToInteger, QuantizeStatic

RNG = np.random.default_rng(0)
UP, DOWN = (RNG.standard_normal(shape).astype("float32") for shape in ((24, 40), (40, 8)))


def mlp():
    x = relax.Var("x", relax.TensorStructInfo(("n", 24), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit(op.matmul(x, UP), "up")
            y = bb.emit_output(op.matmul(op.nn.relu(hidden), DOWN), "down")
        bb.emit_func_output(y)
    return bb.get()


def convolutions():
    x = relax.Var("x", relax.TensorStructInfo(("n", 4, 9, 9), "float32"))
    rng = np.random.default_rng(1)
    weights = [rng.random(shape, "float32") - 0.5 for shape in ((6, 4, 3, 3), (5, 6, 1, 1))]
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit(op.nn.conv2d(x, weights[0], strides=2, padding=1), "first")
        y = bb.emit(op.nn.conv2d(op.nn.relu(y), weights[1]), "second")
        bb.emit_func_output(y)
    return bb.get()


def rows(count, seed=1):
    return np.random.default_rng(seed).standard_normal((count, 24)).astype("float32")


def run(mod, *inputs, **options):
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod, **options))["main"](*inputs))


def test_minmax_is_over_all_calls():
    calls = [rows(3), rows(50, 2), rows(0)]
    ranges = calibrate(mlp(), [[x] for x in calls])
    both = np.concatenate(calls)
    hidden = np.maximum(both @ UP, 0)
    assert list(ranges) == ["up", "down"]
    np.testing.assert_allclose(ranges["up"], (both.min(), both.max()))
    np.testing.assert_allclose(ranges["down"], (0, hidden.max()), rtol=1e-5)


def test_magnitudes_of_channels_are_over_all_calls_and_rows():
    x = relax.Var("x", relax.TensorStructInfo(("b", "n", 24), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        parts = [bb.emit(op.matmul(x, UP), name) for name in ("q", "k")]
        hidden = op.nn.relu(op.add(*parts))
        bb.emit_func_output(bb.emit(op.matmul(hidden, DOWN), "down"))
    calls = [rows(6).reshape(2, 3, 24), rows(7, 2)[None], rows(0)[None]]
    maxima = calibrate_channels(bb, [[x] for x in calls])
    assert list(maxima) == ["q", "k", "down"]
    assert all(found.dtype == "float32" for found in maxima.values())
    every = np.concatenate([x.reshape(-1, 24) for x in calls])
    for name in ("q", "k"):
        np.testing.assert_array_equal(maxima[name], np.abs(every).max(0))
    wanted = np.maximum(2 * every @ UP, 0).max(0)
    np.testing.assert_allclose(maxima["down"], wanted, rtol=1e-4, atol=1e-5)


def test_magnitudes_of_channels_of_vectors_and_of_no_rows():
    x = relax.Var("x", relax.TensorStructInfo((24,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.matmul(x, UP), "up"))
    np.testing.assert_array_equal(calibrate_channels(bb, [[rows(1)[0]]])["up"], np.abs(rows(1)[0]))
    assert calibrate_channels(mlp(), [[rows(0)]]) == {}


def test_magnitudes_of_channels_are_those_of_matrix_products():
    x = np.ones((1, 4, 9, 9), "float32")
    assert list(calibrate(convolutions(), [[x]])) == ["first", "second"]
    assert calibrate_channels(convolutions(), [[x]]) == {}


def test_percentile_leaves_out_large_elements():
    x = rows(500)
    x[3, 5], x[7, 1] = 900, -700
    low, high = calibrate(mlp(), [[x]], method="minmax")["up"]
    assert (low, high) == (-700, 900)
    low, high = calibrate(mlp(), [[x]], method="percentile", percentile=99.9)["up"]
    width = 1600 / 2048
    wanted = np.quantile(x, [0.001, 0.999])
    assert abs(low - wanted[0]) <= width
    assert abs(high - wanted[1]) <= width


def test_least_error_is_less_than_that_of_the_whole_range():
    x = rows(8000)
    x[3, 5] = 12
    low, high = calibrate(mlp(), [[x]], method="mse")["up"]
    assert high < 12

    def error(low, high):
        step = (high - low) / 255
        place = np.rint(-low / step)
        codes = np.clip(np.rint(x / step) + place, 0, 255)
        return float((((codes - place) * step - x) ** 2).sum())

    assert error(low, high) < 0.95 * error(float(x.min()), 12.0)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_rounded_layers_are_near(dtype, mode):
    x = rows(64)
    mod = mlp()
    rounded = QuantizeStatic(calibrate(mod, [[x]]), dtype=dtype)(mod)
    assert str(rounded).count("relax.quantize") == 2
    assert str(FakeQuantizationToInteger()(rounded)).count("out_dtype = i32") == 2
    result, wanted = run(rounded, x, exec_mode=mode), run(mod, x)
    assert 0 < np.abs(result - wanted).max() < 0.03 * np.abs(wanted).max()


def test_numbers_are_those_of_the_definition():
    x = rows(16)
    mod = mlp()
    ranges = {"up": (-2.0, 3.0)}
    result = run(QuantizeStatic(ranges, dtype="uint8")(mod), x)
    scale = np.float32(5 / 255)
    place = round(2.0 / float(scale))
    near = (np.clip(np.rint(x / scale) + place, 0, 255) - place) * scale
    steps = np.abs(UP).max(0) / np.float32(127)
    weight = np.rint(UP / steps) * steps
    hidden = np.maximum(near.astype("f8") @ weight, 0)
    np.testing.assert_allclose(result, hidden @ DOWN, rtol=1e-4, atol=1e-4)


def test_convolutions_are_rounded():
    mod = convolutions()
    x = np.random.default_rng(2).standard_normal((3, 4, 9, 9)).astype("float32")
    ranges = calibrate(mod, [[x]])
    assert list(ranges) == ["first", "second"]
    rounded = QuantizeStatic(ranges)(mod)
    assert str(FakeQuantizationToInteger()(rounded)).count("out_dtype = i32") == 2
    wanted = run(mod, x)
    assert np.abs(run(rounded, x) - wanted).max() < 0.03 * np.abs(wanted).max()


def test_layers_that_read_one_value_share_its_codes():
    x = relax.Var("x", relax.TensorStructInfo(("n", 24), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        parts = [op.matmul(x, UP), op.matmul(x, UP)]
        bb.emit_func_output(op.add(*parts))
    mod = bb.get()
    ranges = calibrate(mod, [[rows(4)]])
    assert list(ranges) == ["matmul", "matmul#2"]
    assert ranges["matmul"] == ranges["matmul#2"]
    assert str(QuantizeStatic(ranges)(mod)).count("relax.quantize") == 1


def test_check_leaves_layers_out():
    mod = mlp()
    ranges = calibrate(mod, [[rows(4)]])

    def is_wide(layer):
        return layer.results[0].type.shape[-1].value > 8

    assert str(QuantizeStatic(ranges, check=is_wide)(mod)).count("relax.quantize") == 1
    assert str(QuantizeStatic({"down": ranges["down"]})(mod)).count("relax.quantize") == 1


def test_weights_that_stay():
    x = relax.Var("x", relax.TensorStructInfo(("n", 24), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((24, 24), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bad = bb.emit(op.matmul(x, np.full((24, 24), np.nan, "float32")), "bad")
        bb.emit_func_output(bb.emit(op.matmul(bad, y), "given"))
    mod = bb.get()
    assert "quantize" not in str(QuantizeStatic({"bad": (0, 1), "given": (0, 1)})(mod))


def test_empty_ranges_and_small_numbers():
    """Nothing but zeros, and weights whose scale would be none."""
    x = relax.Var("x", relax.TensorStructInfo(("n", 2), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(op.matmul(x, np.float32([[1e-45, 0], [0, 0]])))
    mod = bb.get()
    zeros = np.zeros((3, 2), "float32")
    for method in ("minmax", "percentile", "mse"):
        ranges = calibrate(mod, [[zeros]], method=method)
        assert ranges == {"matmul": (0, 0)}
        np.testing.assert_array_equal(run(QuantizeStatic(ranges)(mod), zeros), zeros)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({}, "expected ranges of layers, which relax_mlir.quantization.calibrate returns"),
        ({"upp": (0, 1)}, "expected names of layers of 'main', but got 'upp'.*'up'"),
        ({"up": (0, float("nan"))}, "expected a finite range of 'up', but got 0.0, nan"),
        ({"up": (-float("inf"), 0)}, "expected a finite range of 'up', but got -inf, 0.0"),
        ({"up": (2, 1)}, "expected the range of 'up' in order, but got 2.0, 1.0"),
    ],
)
def test_wrong_ranges(ranges, message):
    with pytest.raises(ValueError, match=message):
        QuantizeStatic(ranges)(mlp())


def test_wrong_arguments():
    with pytest.raises(TypeError, match="expected two numbers as the range of up"):
        QuantizeStatic({"up": 3})
    with pytest.raises(TypeError, match="expected ranges by names of layers"):
        QuantizeStatic([1])
    with pytest.raises(ValueError, match="expected dtype, one of uint8, int8, but got 'int4'"):
        QuantizeStatic({"up": (0, 1)}, dtype="int4")
    with pytest.raises(ValueError, match="expected the name of a function, one of main"):
        QuantizeStatic({"up": (0, 1)}, "other")(mlp())
    with pytest.raises(ValueError, match="expected the arguments of one call of 'main' or more"):
        calibrate(mlp(), [])
    for wrong in (rows(3), [rows(3)]):
        with pytest.raises(TypeError, match="expected a list of the arguments of 'main'"):
            calibrate(mlp(), wrong)
    with pytest.raises(ValueError, match="expected method, one of minmax, percentile, mse"):
        calibrate(mlp(), [[rows(3)]], method="max")
    with pytest.raises(ValueError, match="expected percentile to be from 50 to 100"):
        calibrate(mlp(), [[rows(3)]], method="percentile", percentile=0.9999)
    with pytest.raises(ValueError, match="expected the name of a function"):
        calibrate(mlp(), [[rows(3)]], "other")
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="expected finite numbers as the input of 'up'"):
            calibrate(mlp(), [[np.full((1, 24), bad, "float32")]])
        with pytest.raises(ValueError, match="expected finite numbers as the input of 'up'"):
            calibrate_channels(mlp(), [[np.full((1, 24), bad, "float32")]])
    with pytest.raises(ValueError, match="expected the arguments of one call of 'main' or more"):
        calibrate_channels(mlp(), [])
    with pytest.raises(ValueError, match="expected the name of a function"):
        calibrate_channels(mlp(), [[rows(3)]], "other")
