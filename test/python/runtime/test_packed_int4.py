# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of integers of 4 bits at the boundary: arrays, DLPack, files and text."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_mlir.runtime import Tensor, tensor
from relax_mlir.script import from_source
from relax_mlir.transform import BindParams

INT4 = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4}
CODES = np.array([[1, -2, 3], [-8, 7, 0], [4, 5, -6]]).astype(ml_dtypes.int4)
# Of CODES; the half of a byte that is left is 0.
BYTES = bytes([0xE1, 0x83, 0x07, 0x54, 0x0A])


def memory_of(value: Any, size: int) -> bytes:
    return ctypes.string_at(value.data_ptr(), size)


def echo(dtype: str = "int4") -> Any:
    """A function that returns its argument."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", "m"), dtype))
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    return relax.VirtualMachine(relax.compile(bb))["main"]


def holder() -> Any:
    """A program with a constant, which it returns as it is, and dequantized."""
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        codes = op.const(CODES)
        bb.emit_func_output(op.tuple(codes, op.astype(codes, "float32")))
    return bb.get()


def check_held(results: Any) -> None:
    np.testing.assert_array_equal(results[0].numpy(), CODES)
    assert memory_of(results[0], 5) == BYTES
    np.testing.assert_array_equal(results[1].numpy(), CODES.astype(np.float32))


def test_a_byte_has_the_first_element_in_its_lower_half(exec_mode):
    result = echo()(CODES)
    assert isinstance(result, Tensor) and str(result.dtype) == "int4"
    assert memory_of(result, 5) == BYTES
    assert result.numpy().dtype == ml_dtypes.int4 and not result.numpy().flags.writeable
    assert result.tolist() == CODES.tolist()
    assert pickle.loads(pickle.dumps(result)).tolist() == CODES.tolist()


@pytest.mark.parametrize("dtype", list(INT4))
@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (3, 5), (2, 4)])
def test_arrays_of_any_order_go_in_and_out(exec_mode, dtype, shape):
    array = (np.arange(int(np.prod(shape))) % 16).reshape(shape).astype(INT4[dtype])
    for given in (array, array.T, array[::-1], array[:, ::2]):
        np.testing.assert_array_equal(echo(dtype)(given).numpy(), given)
    array.flags.writeable = False
    np.testing.assert_array_equal(echo(dtype)(array).numpy(), array)


def test_dlpack_hands_on_4_bits_without_a_copy():
    given = tensor(CODES)
    result = echo()(given)
    assert result.data_ptr() == given.data_ptr()
    again = tvm_ffi.from_dlpack(result)
    assert again.data_ptr() == given.data_ptr() and tuple(again.shape) == (3, 3)
    assert (again.dtype.type_code, again.dtype.bits, again.dtype.lanes) == (0, 4, 1)


def test_tensors_of_numbers():
    assert tensor([[1, -2], [3, 7]], dtype="int4").tolist() == [[1, -2], [3, 7]]
    with pytest.raises(ValueError, match="expected numbers of int4, but got 8"):
        tensor([[1, 8]], dtype="int4")
    assert tensor(CODES, dtype="int8").tolist() == CODES.tolist()


def test_another_data_type_is_an_error(exec_mode):
    message = r"expected !relax.tensor<\[n, m\], i4>, but got a tensor of rank 2, {}, shape"
    with pytest.raises(TypeError, match=message.format("int8")):
        echo()(np.zeros((2, 2), np.int8))
    with pytest.raises(TypeError, match=message.format("uint4")):
        echo()(np.zeros((2, 2), ml_dtypes.uint4))


@pytest.mark.parametrize("exec_mode", ["compiled", "bytecode"])
def test_files_keep_constants_packed(tmp_path, exec_mode):
    made = relax.compile(holder(), exec_mode=exec_mode)
    check_held(relax.VirtualMachine(made)["main"]())
    made.save(tmp_path / "held.rx")
    made.export_library(tmp_path / "held.so")
    for path in (tmp_path / "held.rx", tmp_path / "held.so"):
        check_held(relax.VirtualMachine(relax.load(path))["main"]())
        assert BYTES in path.read_bytes()


def test_text_of_types_and_constants():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "uint4"))
    with bb.function("main", [x]):
        zero = op.const(3, "uint4")
        steps = op.const(np.float32(0.5))
        wide = op.dequantize(x, steps, zero)
        held = op.astype(op.const(CODES), "int8")
        bb.emit_func_output(op.tuple(wide, held))
    mod = bb.get()
    text = mod.script()
    assert 'R.Tensor(("n",), dtype="uint4")' in text and 'R.const(3, "uint4")' in text
    assert str(from_source(text)) == str(mod)
    with pytest.raises(ValueError, match="expected a value of type uint4, but got 16"):
        op.const(16, "uint4")


@pytest.mark.parametrize("given", [CODES, tensor(CODES)])
def test_parameters_become_constants(exec_mode, given):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, 3), "int4"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.astype(x, "int32"))
    mod = BindParams("main", {"x": given})(bb.get())
    assert relax.VirtualMachine(relax.compile(mod))["main"]().tolist() == CODES.tolist()


def test_resources_are_packed(exec_mode):
    blob = "0x01000000" + BYTES.hex().upper()
    mod = f"""
    relax.func @main() -> !relax.tensor<[3, 3], i8> {{
      %0 = relax.constant dense_resource<codes> : tensor<3x3xi4>
      %1 = relax.astype %0 {{dtype = i8}} : (!relax.tensor<[3, 3], i4>) -> !relax.tensor<[3, 3], i8>
      relax.return %1 : !relax.tensor<[3, 3], i8>
    }}
    {{-# dialect_resources: {{ builtin: {{ codes: "{blob}" }} }} #-}}"""
    assert relax.VirtualMachine(relax.compile(mod))["main"]().tolist() == CODES.tolist()


def test_values_of_branches_and_packed_functions(exec_mode):
    @tvm_ffi.register_global_func("test.int4.first", override=True)
    def first(x: Any) -> Any:
        return x

    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, 3), "int4"))
    with bb.function("main", [x], pure=False):
        given = op.call_packed("test.int4.first", x, sinfo_args=x.struct_info)
        bb.emit_func_output(op.astype(given, "int32"))
    assert relax.VirtualMachine(relax.compile(bb))["main"](CODES).tolist() == CODES.tolist()


def test_printed_values(exec_mode, capfd):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), "int4"))
    with bb.function("main", [x], pure=False):
        op.print(x, format="codes {}")
        bb.emit_func_output(x)
    relax.VirtualMachine(relax.compile(bb))["main"](np.array([1, -2]).astype(ml_dtypes.int4))
    assert capfd.readouterr().out == "codes [1 -2]\n"
