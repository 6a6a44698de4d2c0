"""Elementwise kernels as vector loops, against NumPy, at sizes around those of vectors."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from kernel_programs import classes, compile_function, random, run, write
from relax_mlir.op import (
    add,
    astype,
    broadcast_to,
    divide,
    exp,
    floor_divide,
    less,
    matmul,
    maximum,
    mod,
    multiply,
    permute_dims,
    sigmoid,
    where,
)
from relax_mlir.op import tuple as tuple_of
from relax_mlir.op.nn import relu

SIZES = st.sampled_from([0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130])
FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def dag(x: Any, y: Any) -> Any:
    return multiply(sigmoid(add(x, y)), relu(x))


@pytest.mark.parametrize("bits", [0, 128])
@FEW
@given(n=SIZES, m=SIZES)
def test_operations_and_broadcasts(exec_mode: str, bits: int, n: int, m: int) -> None:
    x, y = random(n, m), random(m)
    wanted = 1 / (1 + np.exp(-(x + y).astype("float64"))) * np.maximum(x, 0)
    result = run(dag, (("n", "m"), ("m",)), exec_mode, x, y, vector_bits=bits)
    np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-30)


@FEW
@given(n=SIZES, m=SIZES)
def test_a_column_is_broadcast(exec_mode: str, n: int, m: int) -> None:
    x, y = random(n, m), random(n, 1)
    result = run(add, (("n", "m"), ("n", 1)), exec_mode, x, y)
    np.testing.assert_array_equal(result, x + y)


def transposed(x: Any) -> Any:
    return permute_dims(x, [2, 0, 1])


@FEW
@given(n=SIZES, m=SIZES, k=st.sampled_from([0, 1, 3, 17]))
def test_transposes(exec_mode: str, n: int, m: int, k: int) -> None:
    x = random(n, m, k)
    result = run(transposed, (("n", "m", "k"),), exec_mode, x)
    np.testing.assert_array_equal(result, x.transpose(2, 0, 1))


@pytest.mark.parametrize("n", [0, 4095, 4096, 4097, 3 * 4096 + 5])
def test_long_rows_are_worked_on_in_parts(exec_mode: str, n: int) -> None:
    x = random(3, n)
    np.testing.assert_array_equal(run(relu, ((3, "n"),), exec_mode, x), np.maximum(x, 0))
    y = random(n)
    np.testing.assert_array_equal(run(add, ((3, "n"), ("n",)), exec_mode, x, y), x + y)


def test_scalars(exec_mode: str) -> None:
    x, y = np.array(3.0, "float32"), np.array(-4.0, "float32")
    assert run(add, ((), ()), exec_mode, x, y) == -1
    assert run(maximum, ((1, 1), ()), exec_mode, x.reshape(1, 1), y) == 3


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("n", [1, 16, 77])
def test_data_types(exec_mode: str, dtype: str, n: int) -> None:
    x, y = random(4, n, dtype=dtype), random(n, dtype=dtype)
    for function, reference in ((add, np.add), (multiply, np.multiply), (maximum, np.maximum)):
        result = run(function, ((4, "n"), ("n",)), exec_mode, x, y)
        np.testing.assert_array_equal(result, reference(x, y))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "int64"])
@pytest.mark.parametrize("n", [3, 16, 40])
def test_integers_are_divided_by_zero_in_no_lane(exec_mode: str, dtype: str, n: int) -> None:
    x = np.arange(n).astype(dtype)
    y = ((np.arange(n) % 5) + 1).astype(dtype)
    np.testing.assert_array_equal(run(floor_divide, (("n",), ("n",)), exec_mode, x, y), x // y)
    np.testing.assert_array_equal(run(mod, (("n",), ("n",)), exec_mode, x, y), x % y)
    # A division by zero gives 0.
    zeros = np.zeros_like(x)
    assert not run(floor_divide, (("n",), ("n",)), exec_mode, x, zeros).any()


def compared(x: Any, y: Any) -> Any:
    return less(x, y)


def chosen(c: Any, x: Any, y: Any) -> Any:
    return where(c, x, y)


@FEW
@given(n=SIZES)
def test_booleans(exec_mode: str, n: int) -> None:
    x, y = random(3, n), random(n + 1)[1:]
    result = run(compared, ((3, "n"), ("n",)), exec_mode, x, y)
    assert result.dtype == bool
    np.testing.assert_array_equal(result, x < y)
    # A byte that is not zero is true.
    c = np.arange(3 * n, dtype="uint8").reshape(3, n).view("bool")
    picked = run(chosen, ((3, "n"), (3, "n"), ("n",)), exec_mode, c, x, y)
    np.testing.assert_array_equal(picked, np.where(c.view("uint8") != 0, x, y))


CASTS = ["float16", "float32", "float64", "int8", "int64", "bool"]


@pytest.mark.parametrize("source", CASTS)
@pytest.mark.parametrize("target", CASTS)
def test_casts(source: str, target: str) -> None:
    x = random(5, 37).astype(source)

    def cast(x: Any) -> Any:
        return astype(x, target)

    np.testing.assert_array_equal(run(cast, ((5, "n"),), "compiled", x), x.astype(target))


def test_nan_and_infinity(exec_mode: str) -> None:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], "float32")
    x, y = (a.reshape(-1) for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        for function, reference in (
            (add, np.add),
            (multiply, np.multiply),
            (divide, np.divide),
            (maximum, np.maximum),
            (less, np.less),
        ):
            result = run(function, (("n",), ("n",)), exec_mode, x, y)
            np.testing.assert_array_equal(result, reference(x, y))
        result = run(exp, (("n",),), exec_mode, special)
        np.testing.assert_allclose(result, np.exp(special), rtol=1e-6)


def chain(x: Any) -> Any:
    return relu(add(x, x))


def test_kernels_write_over_inputs_that_die(exec_mode: str) -> None:
    x = random(9, 100)
    result = run(chain, (("n", "m"),), exec_mode, x)
    np.testing.assert_array_equal(result, np.maximum(x + x, 0))


def widened(x: Any) -> Any:
    return broadcast_to(x, (4, 5, 33))


@pytest.mark.parametrize("shape", [(33,), (5, 1), (4, 1, 33), (1, 1, 1), ()])
def test_broadcast_to(exec_mode: str, shape: tuple[int, ...]) -> None:
    x = random(*shape)
    result = run(widened, (shape,), exec_mode, x)
    np.testing.assert_array_equal(result, np.broadcast_to(x, (4, 5, 33)))


@FEW
@given(n=SIZES)
def test_inputs_at_any_address(exec_mode: str, n: int) -> None:
    memory = random(4 * n + 3)
    for offset in (0, 1, 3):
        x = memory[offset : offset + n]
        np.testing.assert_array_equal(run(relu, (("n",),), exec_mode, x), np.maximum(x, 0))
    strided = memory[: 3 * n : 3]
    np.testing.assert_array_equal(run(relu, (("n",),), exec_mode, strided), np.maximum(strided, 0))


def products(x: Any, y: Any) -> Any:
    return relu(matmul(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize("shape", [(), (3,)])
@FEW
@given(n=SIZES, m=SIZES)
def test_sums_of_one_element(
    exec_mode: str, dtype: str, shape: tuple[int, ...], n: int, m: int
) -> None:
    x, y = random(*shape, n, 1, dtype=dtype), random(1, m, dtype=dtype)
    result = run(products, ((*shape, "n", 1), (1, "m")), exec_mode, x, y)
    np.testing.assert_array_equal(result, np.maximum(x * y, 0))


@pytest.mark.parametrize("bits", [1, 100, 64])
def test_a_width_that_no_vector_has(bits: int) -> None:
    with pytest.raises(ValueError, match="expected vector_bits, one of 0, 128, 256"):
        run(relu, (("n",),), "compiled", random(3), vector_bits=bits)


def update(x: Any, y: Any) -> Any:
    moment = add(multiply(x, y), y)
    scale = sigmoid(moment)
    return tuple_of(moment, maximum(x, scale), multiply(scale, x))


@pytest.mark.parametrize("bits", [0, 128])
@FEW
@given(n=SIZES, m=SIZES)
def test_one_kernel_has_several_results(exec_mode: str, bits: int, n: int, m: int) -> None:
    x, y = random(n, m), random(m)
    wide = x.astype("float64")
    scale = 1 / (1 + np.exp(-(wide * y + y)))
    program = compile_function(
        update, ((("n", "m"), "float32"), (("m",), "float32")), exec_mode, vector_bits=bits
    )
    wanted = [wide * y + y, np.maximum(wide, scale), scale * wide]
    for one, other in zip(program(x, y), wanted, strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), other, rtol=3e-6, atol=1e-6)


def compare_and_convert(x: Any, y: Any) -> Any:
    total = add(x, y)
    return tuple_of(total, less(total, y), astype(total, "int32"))


@FEW
@given(n=SIZES, m=SIZES)
def test_several_results_of_other_types(exec_mode: str, n: int, m: int) -> None:
    x, y = random(n, m), random(m)
    types = ((("n", "m"), "float32"), (("m",), "float32"))
    results = compile_function(compare_and_convert, types, exec_mode)(x, y)
    wanted = [x + y, x + y < y, (x + y).astype("int32")]
    for one, other in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(np.from_dlpack(one), other)


@pytest.mark.parametrize("function", [update, compare_and_convert])
def test_several_results_are_of_one_kernel(function: Any) -> None:
    mod = write(function, ((("n", "m"), "float32"), (("m",), "float32")))
    assert len(classes(mod.get())) == 1
