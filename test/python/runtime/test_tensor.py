# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of calls read like arrays."""

import gc
import pickle
import re
import sys

import numpy as np
import pytest
import tvm_ffi
from relax_mlir import VirtualMachine
from relax_mlir import compile as compile_module
from relax_mlir.runtime import Tensor, memory_stats, tensor

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int8", "uint8", "bool"]


def echo(dtype: str, ndim: int):
    """Return a function that returns a copy of its argument."""
    type_ = f"!relax.tensor<ndim = {ndim}, {dtype}>"
    return VirtualMachine(
        compile_module(f"""
        relax.func @main(%x: {type_}) -> {type_} {{
          %0 = relax.tuple %x : {type_}
          %1 = relax.get_item %0[0] : !relax.tuple<{type_}>
          relax.return %1 : {type_}
        }}""")
    )["main"]


def mlir_name(dtype: str) -> str:
    kind = {"f": "f", "i": "i", "u": "ui", "b": "i"}[np.dtype(dtype).kind]
    return "i1" if dtype == "bool" else f"{kind}{np.dtype(dtype).itemsize * 8}"


def result_of(array: np.ndarray) -> Tensor:
    """Return an array as a function returns it: an owned tensor."""
    return echo(mlir_name(array.dtype.name), array.ndim)(tvm_ffi.from_dlpack(array))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype):
    array = np.array([[0, 1, 2], [3, 4, 0]]).astype(dtype)
    result = result_of(array)
    assert isinstance(result, Tensor)
    assert isinstance(result, tvm_ffi.Tensor)
    np.testing.assert_array_equal(result, array)
    assert result.numpy().dtype == array.dtype
    assert np.asarray(result).dtype == array.dtype
    assert result.tolist() == array.tolist()
    assert result[1, 1] == array[1, 1]
    assert [row.tolist() for row in result] == array.tolist()
    assert len(result) == 2
    assert result.shape == (2, 3)


def test_printed():
    assert repr(result_of(np.ones(2, "float32"))) == "Tensor([1., 1.], dtype=float32)"
    assert str(result_of(np.zeros((0, 3), "int8"))) == "Tensor([], dtype=int8)"
    assert "..." in repr(result_of(np.zeros(5000, "float32")))


def test_one_element():
    result = result_of(np.array(3, "int64"))
    assert (int(result), float(result), result.item(), range(9)[result]) == (3, 3.0, 3, 3)
    assert result
    with pytest.raises(TypeError, match="a tensor without dimensions has no length"):
        len(result)


def test_several_elements_are_no_number():
    result = result_of(np.ones(2, "float32"))
    for convert in (float, int, bool):
        with pytest.raises((TypeError, ValueError)):
            convert(result)


def test_array_protocol():
    result = result_of(np.array([1.5, 2.5], "float32"))
    assert np.asarray(result, "float64").dtype == np.float64
    copied, viewed = np.array(result), np.asarray(result)
    result.numpy()[0] = 7
    assert (copied[0], viewed[0]) == (1.5, 7)
    with pytest.raises(ValueError, match="expected to copy float32 to float64"):
        result.__array__("float64", copy=False)


def test_a_view_keeps_the_memory():
    result = result_of(np.arange(1000, dtype="float32"))
    view = result.numpy()[10:]
    del result
    gc.collect()
    result_of(np.zeros(1000, "float32"))
    np.testing.assert_array_equal(view, np.arange(10, 1000))


def test_results_are_released_without_the_collector():
    pytest.importorskip("relax_runtime._calls", reason="built without the headers of Python")
    function, array = echo("f32", 1), tvm_ffi.from_dlpack(np.ones(1000, "float32"))
    assert not gc.is_tracked(function(array))
    types = sys.getrefcount(Tensor)
    before = memory_stats().in_use
    for _ in range(100):
        function(array)
    assert sys.getrefcount(Tensor) == types
    assert memory_stats().in_use == before


SMALL_FLOATS = (
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_floats_of_ml_dtypes(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    name = "bf16" if dtype == "bfloat16" else f"f8{dtype[7:].upper()}"
    numbers = np.array([0.5, 1, 2, 4]).astype(getattr(ml_dtypes, dtype))
    function = echo(name, 1)
    result = function(numbers)
    assert result.numpy().dtype == numbers.dtype
    assert result.tolist() == [0.5, 1, 2, 4]
    assert np.may_share_memory(result.numpy(), numbers)
    for other in (numbers[:0], numbers[::2].copy(), function(numbers), tensor(numbers[1:])):
        assert function(other).tolist() == other.tolist()
    read_only = numbers.copy()
    read_only.flags.writeable = False
    kept = function(read_only)
    assert not np.may_share_memory(kept.numpy(), read_only)
    assert kept.tolist() == [0.5, 1, 2, 4]
    restored = pickle.loads(pickle.dumps(result))
    assert (restored.dtype, restored.tolist()) == (dtype, [0.5, 1, 2, 4])


def test_floats_of_ml_dtypes_with_strides():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numbers = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    results = echo("bf16", 2)(numbers.T)
    np.testing.assert_array_equal(results.numpy(), numbers.T)
    assert tensor(numbers.T).tolist() == numbers.T.tolist()
    assert tensor(numbers, dtype="float32").tolist() == numbers.tolist()


def test_integers_of_ml_dtypes_of_another_type_are_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match="expected an array of numbers, but got one of int2"):
        echo("i8", 1)(np.zeros(2, ml_dtypes.int2))
    with pytest.raises(TypeError, match="but got a tensor of rank 1, int4"):
        echo("i8", 1)(np.zeros(2, ml_dtypes.int4))


def test_types_that_numpy_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it were not installed
    torch = pytest.importorskip("torch")
    result = echo("bf16", 1)(tvm_ffi.from_dlpack(torch.ones(2, dtype=torch.bfloat16)))
    assert repr(result) == "Tensor(shape=(2,), dtype=bfloat16, device=cpu:0)"
    with pytest.raises(TypeError, match="NumPy has no data type bfloat16: install ml_dtypes, use"):
        result.numpy()
    assert torch.from_dlpack(result).tolist() == [1, 1]
    # Whether memory is shared with an array that is read-only is seen without the package, too.
    function = VirtualMachine(
        compile_module("""
    relax.func @main(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], bf16> {
      %0 = relax.astype %x {dtype = bf16}
        : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], bf16>
      relax.return %0 : !relax.tensor<[2], bf16>
    }""")
    )["main"]
    read_only = np.ones(2, "float32")
    read_only.flags.writeable = False
    assert torch.from_dlpack(function(read_only)).tolist() == [1, 1]


def test_in_a_tuple():
    main = VirtualMachine(
        compile_module("""
        relax.func @main(%x: !relax.tensor<[n], f32>)
            -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>> {
          %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
          %1 = relax.tuple %0, %0 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
          relax.return %1 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
        }""")
    )["main"]
    first, second = main(np.zeros(2, "float32"))
    assert first.tolist() == second.tolist() == [1, 1]


def test_as_an_argument():
    result = result_of(np.ones(2, "float32"))
    assert echo("f32", 1)(result).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda torch: torch.zeros(2, device="meta"), "with elements, but got one of PyTorch on t"),
        (
            lambda torch: torch.zeros(2).to_sparse(),
            "but got one of torch.sparse_coo: write x.to_de",
        ),
        (
            lambda torch: torch.quantize_per_tensor(torch.zeros(2), 1.0, 0, torch.qint8),
            "expected a tensor of numbers, but got one of torch.qint8: write x.dequantize()",
        ),
        (
            lambda torch: torch.nested.nested_tensor([torch.zeros(2)]),
            "expected a tensor, but got a nested one of PyTorch: write x.to_padded_tensor(0)",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_error_tensors_that_pytorch_does_not_hand_on(make, reason):
    value = make(pytest.importorskip("torch"))
    main = VirtualMachine(
        compile_module("""
        relax.func @main(%x: !relax.object) -> !relax.object {
          relax.return %x : !relax.object
        }""")
    )["main"]
    with pytest.raises(TypeError, match=f"main: argument 'x': .*{re.escape(reason)}"):
        main(value)
    with pytest.raises(TypeError, match=re.escape(reason)):
        tensor(value)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_copies_of_floats_that_numpy_lacks(dtype):
    torch = pytest.importorskip("torch")
    given = torch.tensor([1.5, -2.0, 0.25]).to(getattr(torch, dtype))
    made = tensor(given, "cpu:0")
    assert str(made.dtype) == dtype
    given.zero_()
    assert torch.from_dlpack(made).float().tolist() == [1.5, -2.0, 0.25]
