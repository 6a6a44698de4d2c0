"""Errors of the layers of rounded programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.quantization import calibrate, compare_precision
from relax_mlir.transform import CompressWeights, QuantizeStatic

RNG = np.random.default_rng(0)
UP, DOWN = (RNG.standard_normal(shape).astype("float32") for shape in ((64, 48), (48, 8)))
ROWS = RNG.standard_normal((20, 64)).astype("float32")


def mlp(up=UP, down=DOWN):
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit(op.matmul(x, up), "up")
            y = bb.emit(op.matmul(op.nn.relu(hidden), down), "down")
            y = bb.emit_output(op.nn.softmax(y))
        bb.emit_func_output(y)
    return bb.get()


def test_errors_are_those_of_the_definition():
    near = (UP + np.float32(0.01) * RNG.standard_normal(UP.shape)).astype("float32")
    report = compare_precision(mlp(), mlp(near), [[ROWS[:5]], [ROWS[5:]]])
    assert [row.name for row in report.layers] == ["up", "down"]
    wanted, other = ROWS.astype("f8") @ UP, ROWS.astype("f8") @ near
    noise = other - wanted
    row = report["up"]
    assert row.max_abs == pytest.approx(np.abs(noise).max(), rel=1e-3)
    assert row.relative == pytest.approx(np.abs(noise).max() / np.abs(wanted).max(), rel=1e-3)
    signal = 10 * math.log10((wanted**2).sum() / (noise**2).sum())
    assert row.sqnr == pytest.approx(signal, rel=1e-3)
    size = np.linalg.norm(wanted) * np.linalg.norm(other)
    assert row.cosine == pytest.approx((wanted * other).sum() / size, rel=1e-6)
    assert 0 < report.output.max_abs < 1


def test_rounding_by_options_and_by_passes():
    """Fewer bits are further away."""
    reports = [
        compare_precision(mlp(), None, [[ROWS]], weights=weights)
        for weights in ("int8", "int4-g16")
    ]
    reports.append(compare_precision(mlp(), CompressWeights("int4-g16")(mlp()), [[ROWS]]))
    int8, int4, same = (report["up"].sqnr for report in reports)
    assert 35 < int8 < 55
    assert 15 < int4 < 30
    assert same == pytest.approx(int4)
    static = QuantizeStatic(calibrate(mlp(), [[ROWS]]))(mlp())
    both = compare_precision(mlp(), static, [[ROWS]])
    assert 30 < both["up"].sqnr < int8
    bf16 = compare_precision(mlp(), None, [[ROWS]], precision="bf16")
    assert bf16["down"].sqnr > both["down"].sqnr


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_programs_that_are_the_same(mode):
    report = compare_precision(mlp(), None, [[ROWS]], exec_mode=mode)
    for row in (*report.layers, report.output):
        assert (row.max_abs, row.relative, row.sqnr, row.cosine) == (0, 0, math.inf, 1)


def test_table():
    lines = str(compare_precision(mlp(), None, [[ROWS]], weights="int8")).splitlines()
    assert lines[0].split() == ["layer", "max", "abs", "relative", "SQNR", "dB", "cosine"]
    assert [line.split()[0] for line in lines[1:]] == ["up", "down", "output"]
    assert len({len(line) for line in lines}) == 1


def test_layers_that_only_one_program_has():
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit(op.matmul(x, UP), "up")
        bb.emit_func_output(op.nn.softmax(bb.emit(op.matmul(y, DOWN), "other")))
    report = compare_precision(mlp(), bb, [[ROWS]])
    assert [row.name for row in report.layers] == ["up"]
    assert report["up"].max_abs == 0
    with pytest.raises(KeyError):
        report["other"]


def test_numbers_that_are_none():
    report = compare_precision(mlp(), mlp(np.full_like(UP, np.nan)), [[ROWS]])
    row = report["up"]
    assert all(math.isnan(number) for number in (row.max_abs, row.relative, row.sqnr, row.cosine))
    assert "nan" in str(report)
    zeros = compare_precision(mlp(np.zeros_like(UP)), None, [[ROWS]])["up"]
    assert (zeros.relative, zeros.sqnr, zeros.cosine) == (0, math.inf, 1)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="expected the arguments of one call of 'main' or more"):
        compare_precision(mlp(), None, [])
    with pytest.raises(TypeError, match="expected a list of the arguments of 'main'"):
        compare_precision(mlp(), None, ROWS)
    with pytest.raises(ValueError, match="expected the name of a function, one of main"):
        compare_precision(mlp(), None, [[ROWS]], "other")
