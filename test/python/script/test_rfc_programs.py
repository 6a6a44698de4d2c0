"""The programs of the RFC compile and run; NumPy says what they compute."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi

sys.path.insert(0, str(Path(__file__).parent))
import rfc_programs

F32 = "float32"
rng = np.random.default_rng(0)


@pytest.fixture
def packed():
    """Register packed functions by their names."""

    def register(**functions):
        for name, function in functions.items():
            tvm_ffi.register_global_func(name, function, override=True)

    return register


def random(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(F32)


def add_one(x) -> None:
    array = np.from_dlpack(x)
    array.setflags(write=True) if not array.flags.writeable else None
    array += 1


def test_rf01_guide(load, packed) -> None:
    seen: list[np.ndarray] = []
    packed(custom_inplace_update=lambda x: seen.append(np.from_dlpack(x).copy()))
    x, w = random(2, 3), random(3, 4)
    result = np.from_dlpack(load(rfc_programs.Guide, "relax_func")(x, w))
    np.testing.assert_allclose(result, np.exp(x @ w).ravel(), rtol=1e-5)
    np.testing.assert_array_equal(seen[0], result)


# RF08: the shape heap holds k of the first argument.
def test_rf01_error_of_a_size_that_does_not_match(load, packed) -> None:
    packed(custom_inplace_update=lambda x: None)
    with pytest.raises(ValueError, match="k"):
        load(rfc_programs.Guide, "relax_func")(random(2, 3), random(4, 5))


def test_rf02_calls(load, packed) -> None:
    printed: list[object] = []

    def add(a, b):
        return tvm_ffi.from_dlpack(np.from_dlpack(a) + np.from_dlpack(b))

    def tile(a, b):
        np.from_dlpack(b)[:] = np.tile(np.from_dlpack(a), (1, 2))

    packed(custom_print=printed.append, custom_add=add, custom_tile=tile)
    x, y = random(3, 3), random(3, 3)
    result = np.from_dlpack(load(rfc_programs.Calls, "relax_func")(x, y))
    np.testing.assert_allclose(result, np.tile(2 * (x @ y.T), (1, 2)), rtol=1e-5)
    assert len(printed) == 1


def test_rf02_error_of_a_function_that_nobody_registered(load, packed) -> None:
    packed(custom_print=lambda x: None, custom_add=lambda a, b: a)
    tvm_ffi.remove_global_func("custom_tile")
    with pytest.raises(ValueError, match="custom_tile"):
        load(rfc_programs.Calls, "relax_func")(random(3, 3), random(3, 3))


def test_rf03_shapes(load, packed) -> None:
    def custom_func(x, y):
        np.from_dlpack(y)[:] = np.from_dlpack(x)[: y.shape[0]]

    packed(myshape_func=lambda shape: tvm_ffi.Shape([shape[0] // 2]), custom_func=custom_func)
    x = np.arange(16, dtype=F32).reshape(4, 2, 2) % 8
    result = np.from_dlpack(load(rfc_programs.shape_example, "shape_example")(x))
    np.testing.assert_allclose(result, np.exp(np.arange(8, dtype=F32)), rtol=1e-5)


def test_rf03_error_of_shapes_that_do_not_match(load, packed) -> None:
    def custom_func(x, y):
        np.from_dlpack(y)[:] = 0

    packed(myshape_func=lambda shape: tvm_ffi.Shape([shape[0]]), custom_func=custom_func)
    with pytest.raises(ValueError, match="shape_example"):
        load(rfc_programs.shape_example, "shape_example")(random(4, 2, 2))


def test_rf04_safety_net(load, packed) -> None:
    """C0 to C3: a shape of the data, unknown rank, unknown data type, and an opaque object."""
    mod = relax.script.from_source(
        """
@R.function(pure=False)
def main(x: R.Tensor):
    state = R.call_packed("make_state", x)
    y = R.call_packed("use_state", state, sinfo_args=R.Tensor)
    z = R.unique(y)
    n = T.int64()
    return R.match_cast(z, R.Tensor((n,), "int32"))
"""
    )
    packed(
        make_state=lambda x: tvm_ffi.convert({"shape": list(x.shape)}),
        use_state=lambda state: tvm_ffi.from_dlpack(np.array(list(state["shape"]), "int32")),
    )
    main = load(mod)
    assert np.from_dlpack(main(np.zeros((2, 3, 2), "float64"))).tolist() == [2, 3]
    assert np.from_dlpack(main(np.zeros((5,), "int8"))).tolist() == [5]


def test_rf04_error_of_what_is_checked_when_it_runs(load, packed) -> None:
    mod = relax.script.from_source(
        """
@R.function(pure=False)
def main(x: R.Tensor):
    y = R.call_packed("any_tensor", x, sinfo_args=R.Tensor)
    n = T.int64()
    return R.match_cast(y, R.Tensor((n, n), "int32"))
"""
    )
    main = load(mod)
    for found in (np.zeros((2, 3), "int32"), np.zeros((2, 2), "int64"), np.zeros(2, "int32")):
        packed(any_tensor=lambda x, found=found: tvm_ffi.from_dlpack(found))
        with pytest.raises((TypeError, ValueError), match="match_cast"):
            main(np.zeros(1, "float32"))


def test_rf05_two_blocks(load, packed) -> None:
    order: list[str] = []
    w1 = random(128, 128)

    def update(x) -> None:
        order.append("update")
        np.from_dlpack(x)[:] *= 2

    def read(path: str):
        order.append(path)
        return tvm_ffi.from_dlpack(w1)

    packed(custom_inplace_update=update, read_tensor_from_file=read)
    x, w, b = random(1, 784), random(128, 784), random(128)
    result = np.from_dlpack(load(rfc_programs.TwoBlocks)(x, w, b))
    hidden = 2 * np.maximum(x @ w.T + b, 0)
    np.testing.assert_allclose(result, hidden @ w1.T + b, rtol=1e-3, atol=1e-3)
    assert order == ["update", "tensor.txt"]


def test_rf05_error_of_what_is_read(load, packed) -> None:
    packed(custom_inplace_update=lambda x: None)
    packed(read_tensor_from_file=lambda path: tvm_ffi.from_dlpack(random(128, 64)))
    with pytest.raises(ValueError, match="dimension 1"):
        load(rfc_programs.TwoBlocks)(random(1, 784), random(128, 784), random(128))


def test_rf13_lowering_example(load, packed) -> None:
    packed(flatten=lambda x, y: np.copyto(np.from_dlpack(y), np.from_dlpack(x).ravel()))
    x = random(2, 3)
    result = np.from_dlpack(load(rfc_programs.Lowering, "relax_function")(x))
    np.testing.assert_allclose(result, np.exp(x).ravel(), rtol=1e-5)


def test_rf06_structure_example(load, packed) -> None:
    packed(custom_inplace_update=lambda x: x)
    x, w = random(2, 3), random(3, 2)
    result = np.from_dlpack(load(rfc_programs.structure, "structure")(x, w))
    np.testing.assert_allclose(result, (x @ w).ravel(), rtol=1e-5)
