"""Programs as TVM 0.25 prints them, with script(show_meta=True), mean here what they mean there."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.script import from_source
from relax_mlir.script.generic import metadata, mlir_attr
from relax_mlir.script.tvm_json import CONSTANT, load_json, tensor_attr, to_json

X = np.array([[1, 2, 1], [3, 3, 3], [1, 2, 1], [1, 1, 1]], "float32")


def run(module, *args):
    result = relax.VirtualMachine(relax.compile(module))["main"](*args)
    if isinstance(result, (int, float)):
        return result
    if hasattr(result, "__dlpack__"):
        return np.from_dlpack(result)
    return [np.from_dlpack(each) for each in result]


# ------------------------------------------------------------------------------------------------
# Numbers that are values of the program
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_flags_of_unique_are_numbers(flags, axis, exec_mode):
    given = ", ".join(f"R.prim_value({number})" for number in (1, *flags))
    given += "" if axis is None else f", R.prim_value({axis})"
    module = from_source(f"""
@R.function
def main(x: R.Tensor((4, 3), dtype="float32")):
    lv = R.unique(x, {given})
    return lv
""")
    assert "prim_value" not in module.script()
    names = ("return_index", "return_inverse", "return_counts")
    expected = np.unique(X, **dict(zip(names, map(bool, flags), strict=True)), axis=axis)
    found = run(module, X)
    if not any(flags):
        found, expected = [found], [expected]
    assert len(found) == len(expected) == 1 + sum(flags)
    for actual, each in zip(found, expected, strict=True):
        np.testing.assert_array_equal(actual.ravel(), each.ravel())


def test_error_flag_of_unique_that_is_not_known():
    with pytest.raises(ValueError, match=r"expected a flag of .* as a number that is known, but"):
        from_source("""
@R.function
def main(x: R.Tensor((4, 3), "float32"), flag: R.Prim("bool")):
    return R.unique(x, True, flag)
""")


def test_unique_is_printed_as_tvm_reads_it():
    module = from_source("""
@R.function
def main(x: R.Tensor((4, 3), "float32")):
    return R.unique(x, return_counts=True, axis=-1)
""")
    assert "= R.unique(x, return_counts=True, axis=-1)" in module.script()
    relax.assert_structural_equal(module, from_source(module.script()))


def test_unique_with_options_that_are_used_elsewhere_stays_a_call():
    module = from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    no = R.prim_value(False)
    yes = R.prim_value(True)
    lv = R.call_pure_packed("relax_mlir.run.unique", x, no, no, yes,
        sinfo_args=(R.Tensor(ndim=1, dtype="float32"), R.Tensor(ndim=1, dtype="int64")))
    return lv
""")
    assert "call_pure_packed" in module.script()
    relax.assert_structural_equal(module, from_source(module.script()))


def test_numbers_that_an_operator_takes_leave_nothing():
    module = from_source("""
@R.function
def main(x: R.Tensor((4, 6), dtype="float32")):
    lv = R.strided_slice(x, (R.prim_value(0),), (R.prim_value(1),), (R.prim_value(3),),
        assume_inbound=False)
    return lv
""")
    assert module.script().count("prim_value") == 0


# ------------------------------------------------------------------------------------------------
# Arguments that TVM prints in every such call
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ['mode="fast"', ""])
def test_take_without_a_promise_about_memory(mode, exec_mode):
    module = from_source(f"""
@R.function
def main(x: R.Tensor((5,), "float32"), i: R.Tensor((4,), "int64")):
    lv: R.Tensor((4,), dtype="float32") = R.take(x, i, axis=None, {mode})
    return lv
""")
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(run(module, x, np.array([0, 4, 2, 1])), [0, 4, 2, 1])
    # Out of range is undefined in TVM. Here memory is safe.
    far = np.array([2**62, -(2**62), 5, -1])
    np.testing.assert_array_equal(run(module, x, far), [4, 0, 4, 0])
    # TVM's default would be "fast".
    assert 'mode="clip"' in module.script()


def test_full_without_a_data_type(exec_mode):
    module = from_source("""
@R.function
def main() -> R.Tensor((2, 3), dtype="int32"):
    lv: R.Tensor((2, 3), dtype="int32") = R.full(R.shape([2, 3]), R.const(7, "int32"), dtype="void")
    return lv
""")
    np.testing.assert_array_equal(run(module), np.full((2, 3), 7, "int32"))


@pytest.mark.parametrize(
    "given",
    [
        'x, y, format=R.str("{} and {}")',
        '[x, y], format="{} and {}"',
        '[x, y], "{} and {}"',
        'format_args=[x, y], format="{} and {}"',
    ],
)
def test_arguments_of_assertions(given, exec_mode):
    module = from_source(f"""
@R.function(pure=False)
def main(c: R.Tensor((), "bool"), x: R.Prim("int64"), y: R.Prim("int64")) -> R.Tuple:
    R.assert_op(c, {given})
    return R.tuple()
""")
    relax.assert_structural_equal(module, from_source(module.script()))
    main = relax.VirtualMachine(relax.compile(module))["main"]
    main(np.array(True), 1, 2)
    with pytest.raises(AssertionError, match="1 and 2"):
        main(np.array(False), 1, 2)


def test_numbers_that_are_not_finite(exec_mode):
    module = from_source("""
@R.function
def main() -> R.Tensor((), dtype="float32"):
    lv: R.Tensor((), dtype="float32") = R.add(R.const("-inf", "float32"), R.const(1.0, "float32"))
    return lv
""")
    assert run(module) == -np.inf


def test_types_of_numbers_that_are_no_integers(exec_mode):
    module = from_source("""
@R.function
def main() -> R.Prim(value=T.float32(1.5)):
    lv: R.Prim(value=T.float32(1.5)) = R.prim_value(T.float32(1.5))
    return lv
""")
    assert run(module) == 1.5


def test_devices_by_number():
    module = from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    lv = R.hint_on_device(x, R.device(device_type=1, index=0), "global")
    return lv
""")
    assert 'R.hint_on_device(x, R.device("cpu", 0))' in module.script()
    with pytest.raises(ValueError, match=r"one of 1 \(cpu\), 2 \(cuda\), .*, but got 99"):
        from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.hint_on_device(x, R.device(device_type=99, index=0))
""")


def test_packed_functions_of_the_virtual_machine(exec_mode):
    module = from_source("""
@R.function
def main(x: R.Tensor((4, 3), "float32")) -> R.Tensor((4, 3), dtype="float32"):
    lv: R.Tensor((4, 3), dtype="float32") = R.call_pure_packed("vm.builtin.copy", x,
        sinfo_args=(R.Tensor((4, 3), dtype="float32"),))
    lv1: R.Tensor((4, 3), dtype="float32") = R.call_pure_packed("vm.builtin.to_device", lv,
        R.prim_value(1), R.prim_value(0), sinfo_args=(R.Tensor((4, 3), dtype="float32"),))
    return lv1
""")
    x = X.copy()
    found = run(module, x)
    np.testing.assert_array_equal(found, X)
    assert not np.shares_memory(found, x)


def test_error_of_copies_to_other_devices(exec_mode):
    module = from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.call_pure_packed("vm.builtin.to_device", x, R.prim_value(2), R.prim_value(0),
        sinfo_args=(R.Tensor((4,), dtype="float32"),))
""")
    with pytest.raises(ValueError, match=r"expected device type 1 \(cpu\) .* but got 2 and 0"):
        run(module, np.zeros(4, "float32"))


# ------------------------------------------------------------------------------------------------
# Constants before the program
# ------------------------------------------------------------------------------------------------

# TVM's text for R.const(numpy.arange(6, dtype="float32").reshape(2, 3)).
WRITTEN = """metadata = tvm.ir.load_json(\"\"\"{
  \\"root_index\\": 4,
  \\"nodes\\": [
    {\\"type\\": \\"ffi.String\\", \\"data\\": \\"relax.expr.Constant\\"},
    {\\"type\\": \\"ffi.Tensor\\", \\"data\\": \\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAC\
AAAAAAAAAAMAAAAAAAAAGAAAAAAAAAAAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA=\\"},
    {\\"type\\": \\"relax.expr.Constant\\", \\"data\\": {\\"struct_info_\\": 9, \\"data\\": 1}},
    {\\"type\\": \\"ffi.Array\\", \\"data\\": [2]},
    {\\"type\\": \\"ffi.Map\\", \\"data\\": [0, 3]}
  ],
  \\"metadata\\": {\\"tvm_version\\": \\"0.25.0.post1\\"}
}\"\"\")
# from tvm.script import relax as R
"""
PROGRAM = """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
    lv: R.Tensor((2, 3), dtype="float32") = R.add(x, metadata["relax.expr.Constant"][0])
    return lv
"""


def test_constants_before_the_program(exec_mode):
    module = from_source(WRITTEN + PROGRAM)
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(run(module, x), x + np.arange(6).reshape(2, 3))


def test_error_of_constants_that_are_left_out():
    with pytest.raises(ValueError, match=r"expected the constants of the program .*show_meta=True"):
        from_source(PROGRAM + "\n# Metadata omitted. Use show_meta=True in script() to show it.\n")


DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(60,), (5, 12), (0, 3), ()])
def test_constants_go_there_and_back(dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 100).astype(dtype).reshape(shape)
    attr = relax.op.const  # in a program
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        value = attr(array)
        bb.emit_func_output(value)
        elements = value.owner.value
    assert load_json(to_json([elements])) == {CONSTANT: [elements]}
    module = bb.get()
    text = relax.IRModule(module).script() if not hasattr(module, "script") else module.script()
    relax.assert_structural_equal(module, from_source(text))


def test_numbers_of_constants_keep_their_bits():
    bits = np.array([0x7FC00001, 0xFFC00000, 0x7F800000, 0x80000000, 1] * 10, "uint32")
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        bb.emit_func_output(relax.op.const(bits.view("float32")))
    text = bb.get().script()
    assert "tvm.ir.load_json" in text
    found = np.from_dlpack(relax.VirtualMachine(relax.compile(from_source(text)))["main"]())
    np.testing.assert_array_equal(found.view("uint32"), bits)


def encoded(code, bits, data, shape, lanes=1, magic=0xDD5E40F096B4A13F):
    head = struct.pack("<QQiiiBBH", magic, 0, 1, 0, len(shape), code, bits, lanes)
    sizes = struct.pack(f"<{len(shape) + 1}q", *shape, len(data))
    return base64.b64encode(head + sizes + data).decode()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (encoded(4, 16, b"\x80\x3f\x00\xc0", [2]), "dense<[1.0, -2.0]> : tensor<2xbf16>"),
        (encoded(10, 8, b"\x38\xc0", [2]), "dense<[1.0, -2.0]> : tensor<2xf8E4M3FN>"),
        (encoded(1, 1, b"\x01\x00", [2]), "dense<[true, false]> : tensor<2xi1>"),
        (encoded(6, 8, b"\x01", []), "dense<true> : tensor<i1>"),
    ],
)
def test_data_types_of_constants(text, wanted):
    with relax.default_context():
        assert tensor_attr(text) == mlir_attr(wanted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@", "expected a tensor as base64"),
        ("AAAA", "expected a tensor with a header, but got 3 bytes"),
        (encoded(2, 32, b"", [], magic=1), "begins with 0xdd5e40f096b4a13f, but got 0x1"),
        (encoded(2, 32, b"\x00" * 4, [2]), "expected 8 bytes of elements .* but got 4"),
        (encoded(2, 32, b"", [-1]), "expected -4 bytes of elements of shape"),
        (encoded(2, 32, b"\x00" * 16, [], lanes=4), "expected a data type, .* but got 'float32x4'"),
        (encoded(5, 64, b"\x00" * 8, []), "expected a data type, .* but got 'type 5 of 64'"),
    ],
)
def test_error_of_tensors_that_are_damaged(text, message):
    with pytest.raises(ValueError, match=message):
        tensor_attr(text)


@pytest.mark.parametrize(
    "text",
    ["{", "{}", '{"nodes": [], "root_index": 0}', '{"nodes": [3], "root_index": 0}',
     '{"nodes": [{"type": "ffi.Array", "data": []}], "root_index": 0}'],
)  # fmt: skip
def test_error_of_metadata_that_is_damaged(text):
    with pytest.raises(ValueError, match="expected metadata"):
        metadata(text)


def test_other_objects_are_named_where_they_are_used():
    nodes = [
        {"type": "ffi.String", "data": "target.Target"},
        {"type": "target.Target", "data": {}},
        {"type": "ffi.Array", "data": [1]},
        {"type": "ffi.Map", "data": [0, 2]},
    ]
    text = json.dumps({"root_index": 3, "nodes": nodes})
    assert repr(metadata(text)["target.Target"][0]) == "an object of TVM of type target.Target"
