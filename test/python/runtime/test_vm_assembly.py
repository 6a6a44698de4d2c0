"""The virtual machine on text assembly, without the compiler.

One test for each of the sixteen instructions of the Relay virtual machine, by the counterpart that
docs/dev/vm.md gives, and what the assembler, the verifier and the interpreter refuse.
"""

from __future__ import annotations

import ctypes
import gc
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from relax_mlir.runtime import ADT, Executable, VirtualMachine
from vm_programs import PLACE, KernelEntry, bind_scale, machine, numpy, run, vector

PAGE = Path(__file__).parents[3] / "docs" / "dev" / "vm.md"


# ------------------------------------------------------------------------------------------------
# The instructions of the Relay virtual machine
# ------------------------------------------------------------------------------------------------


def test_vm01_ret() -> None:
    assert run("function main(x) { ret %0 }", 5) == 5
    assert run('constant #0 = string "s" function main() { ret #0 }') == "s"


def test_vm01_invoke() -> None:
    text = """
    private function second(a, b) { ret %1 }
    function main(x) registers 2 {
      %1 = call @second(%0, 7)
      ret %1
    }"""
    assert run(text, 1) == 7


def test_vm01_invoke_packed() -> None:
    tvm_ffi.register_global_func("test.vm.add", lambda a, b: a + b, override=True)
    text = """
    function main(x) registers 2 heap 1 {
      $0 = call builtin move(4)
      %1 = call packed "test.vm.add"(%0, $0)
      ret %1
    }"""
    assert run(text, 3) == 7


def test_vm01_invoke_kernel() -> None:
    text = """
    function main(x) registers 2 heap 1 {
      site 0 = "alloc_tensor", "", ""
      $0 = call builtin dim(site 0, %0, 0)
      %1 = call builtin tensor_alloc(site 0, [$0], float32, 1, 0)
      call kernel "scale"(read %0, write %1, scalar 3)
      ret %1
    }"""
    vm = bind_scale(machine(text))
    assert numpy(vm["main"](vector(1, 2))).tolist() == [3, 6]
    # A tensor that is not compact is copied before the kernel reads it.
    strided = np.arange(6, dtype="float32")[::2]
    assert numpy(vm["main"](strided)).tolist() == [0, 6, 12]


def test_vm01_error_in_a_callee() -> None:
    """The caller gets the error of a packed function or a kernel; the machine goes on."""
    raise_error = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()).TVMFFIErrorSetRaisedFromCStr
    raise_error.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
    broken = [True]

    @KernelEntry
    def kernel(data, dims, scalars):
        if broken[0]:
            raise_error(b"ValueError", b"the kernel is broken")
        return -1 if broken[0] else 0

    def packed(x: Any) -> Any:
        if broken[0]:
            raise KeyError("the function is broken")
        return x

    tvm_ffi.register_global_func("test.vm.broken", packed, override=True)
    text = """
    function kernel(x) { call kernel "k"(write %0) ret %0 }
    function packed(x) { %0 = call packed "test.vm.broken"(%0) ret %0 }"""
    vm = machine(text)
    vm.executable.bind({"k": ctypes.cast(kernel, ctypes.c_void_p).value}, keep_alive=kernel)
    for _ in range(2):
        broken[0] = True
        with pytest.raises(ValueError, match="the kernel is broken"):
            vm["kernel"](vector(1))
        with pytest.raises(KeyError, match="the function is broken"):
            vm["packed"](vector(1))
        broken[0] = False
        assert numpy(vm["kernel"](vector(1))).tolist() == [1]
        assert numpy(vm["packed"](vector(2))).tolist() == [2]


def test_vm02_alloc_tensor_and_storage() -> None:
    text = f"""
    constant #0 = tensor float32 [2] 0x0000803f00000040
    function main() registers 3 {{
      {PLACE}
      %0 = call builtin storage_alloc(site 0, 64, 1, 0)
      %1 = call builtin tensor_from_storage(site 0, %0, 32, [2], float32)
      call kernel "scale"(read #0, write %1, scalar 5)
      call builtin value_kill(%0)
      ret %1
    }}"""
    assert numpy(bind_scale(machine(text))["main"]()).tolist() == [5, 10]


def test_vm02_alloc_tensor_reg() -> None:
    text = f"""
    function main(s) registers 3 heap 2 {{
      {PLACE}
      $0 = call builtin dim(site 0, %0, 0)
      $1 = call builtin mul($0, 4)
      %1 = call builtin storage_alloc(site 0, $1, 1, 0)
      %2 = call builtin tensor_from_storage(site 0, %1, 0, [$0], int32)
      ret %2
    }}"""
    result = machine(text)["main"](tvm_ffi.Shape((6,)))
    assert result.shape == (6,) and str(result.dtype) == "int32"


def test_vm02_error_tensor_beyond_storage() -> None:
    text = f"""
    function main(n) registers 3 heap 1 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      %1 = call builtin storage_alloc(site 0, 64, 1, 0)
      %2 = call builtin tensor_from_storage(site 0, %1, $0, [2], int32)
      ret %2
    }}"""
    main = machine(text)["main"]
    assert main(56).shape == (2,)
    for offset in (57, 60, 64, -4, 2**63 - 1):
        with pytest.raises(ValueError, match=r"main: x: .*at a.py:1"):
            main(offset)


def test_vm03_alloc_adt_get_field_get_tag() -> None:
    text = f"""
    function main(x, y) registers 4 heap 1 {{
      {PLACE}
      %2 = call builtin adt_make(site 0, 3, [%0, %1])
      $0 = call builtin adt_tag(site 0, %2)
      $0 = call builtin eq($0, 3)
      if $0 else no
      %3 = call builtin adt_get(site 0, %2, 1)
      ret %3
    no:
      ret %2
    }}
    function make(x) registers 2 {{
      {PLACE}
      %1 = call builtin adt_make(site 0, 8, [%0])
      ret %1
    }}
    function tag(x) registers 2 heap 1 {{
      {PLACE}
      $0 = call builtin adt_tag(site 0, %0)
      %1 = call builtin prim_set_int($0)
      ret %1
    }}"""
    vm = machine(text)
    assert vm["main"](1, 2.5) == 2.5
    adt = vm["make"]("field")
    assert isinstance(adt, ADT) and adt.tag == 8 and list(adt.fields) == ["field"]
    assert vm["tag"](ADT.make(5, [])) == 5


def test_vm03_tuple_get_field() -> None:
    text = f"""
    function main(x, y) registers 3 {{
      {PLACE}
      %2 = call builtin tuple_make(site 0, [%0, %1, %0])
      %2 = call builtin tuple_get(site 0, %2, 1)
      ret %2
    }}"""
    assert run(text, 1, 2) == 2


def test_vm03_error_field_and_tag() -> None:
    text = f"""
    function main(x) registers 2 {{
      {PLACE}
      %1 = call builtin adt_get(site 0, %0, 2)
      ret %1
    }}
    function tag(x) registers 1 heap 1 {{
      {PLACE}
      $0 = call builtin adt_tag(site 0, %0)
      ret %0
    }}"""
    vm = machine(text)
    with pytest.raises(
        IndexError, match="expected a tuple with field 2, but got a tuple of 1 field"
    ):
        vm["main"](ADT.make(0, [1]))
    with pytest.raises(
        TypeError, match="expected a value of an algebraic data type, but got a tup"
    ):
        vm["tag"]((1, 2))


CLOSURES = """
private function add(a, b) registers 3 heap 2 captures 1 {
  site 0 = "x", "an integer", ""
  $0 = call builtin prim_int(site 0, %0)
  $1 = call builtin prim_int(site 0, %1)
  $0 = call builtin add($0, $1)
  %2 = call builtin prim_set_int($0)
  ret %2
}
function make(n) registers 2 {
  site 0 = "closure 'add'", "", ""
  %1 = call builtin closure_make(site 0, @add, [%0], "", [])
  ret %1
}
function main(f, x) registers 3 {
  %2 = call %0(%1)
  ret %2
}
function first(f, x) registers 3 {
  %2 = call %0(%1)
  %2 = call %0(%2)
  ret %2
}
"""


def test_vm04_alloc_closure_invoke_closure() -> None:
    vm = machine(CLOSURES)
    add5 = vm["make"](5)
    assert vm["main"](add5, 6) == 11 and vm["first"](add5, 6) == 16
    # A closure is a function for everyone, and a packed function can be called like one.
    assert add5(1) == 6
    assert vm["first"](lambda x: add5(x) * 2, 1) == 2 * (12 + 5)
    # A closure of another machine.
    assert machine(CLOSURES)["first"](add5, 0) == 10


def test_vm04_closure_keeps_the_machine_alive() -> None:
    vm = machine(CLOSURES)
    gone = weakref.ref(vm)
    add5 = vm["make"](5)
    del vm
    gc.collect()
    assert gone() is None
    assert add5(2) == 7


def test_vm04_closure_struct_info() -> None:
    info = (
        '{"kind": "func", "params": [{"kind": "object"}], "ret": {"kind": "object"}, "pure": true}'
    )
    quoted = info.replace('"', '\\"')
    text = f"""
    private function f(x) {{ ret %0 }}
    function main() registers 1 {{
      {PLACE}
      %0 = call builtin closure_make(site 0, @f, [], "{quoted}", [])
      call builtin closure_check(site 0, %0, "{quoted}", [])
      ret %0
    }}
    function check(f) registers 1 info "{quoted}" {{
      {PLACE}
      call builtin closure_check(site 0, %0, "{quoted}", [])
      ret %0
    }}"""
    vm = machine(text)
    get_info = tvm_ffi.get_global_func("relax_mlir.runtime.function_struct_info")
    assert '"func"' in get_info(vm["main"]())
    assert vm["check"](vm["main"]())(3) == 3
    assert '"func"' in get_info(vm["check"].packed)
    with pytest.raises(TypeError, match="a packed function, not a closure"):
        vm["check"](tvm_ffi.convert(lambda x: x))


def test_vm04_error_closures() -> None:
    vm = machine(CLOSURES)
    with pytest.raises(TypeError, match="add: expected 1 argument, but got 2"):
        vm["make"](5)(1, 2)
    with pytest.raises(TypeError, match="main: call: expected a function, but got the integer 3"):
        vm["main"](3, 4)
    with pytest.raises(TypeError, match="add: x: expected an integer, but got a string"):
        vm["main"](vm["make"](5), "six")
    text = CLOSURES.replace("@add, [%0]", "@add, []")
    with pytest.raises(TypeError, match="expected 1 value for a closure over 'add', but got 0"):
        machine(text)["make"](5)


BRANCH = """
function main(c) {
  if %0 else no
  ret #0
no:
  ret #1
}
constant #0 = int 1
constant #1 = int 0
"""


@pytest.mark.parametrize("true", [True, np.array(True), np.array([[True]])])
def test_vm05_if_register(true: Any) -> None:
    assert run(BRANCH, true) == 1
    assert run(BRANCH, np.zeros_like(true) if isinstance(true, np.ndarray) else False) == 0


def test_vm05_if_compares() -> None:
    text = f"""
    constant #0 = string "equal"
    constant #1 = string "different"
    function main(a, b) registers 2 heap 2 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      $1 = call builtin prim_int(site 0, %1)
      $0 = call builtin eq($0, $1)
      if $0 else no
      ret #0
    no:
      ret #1
    }}"""
    assert run(text, 2, 2) == "equal" and run(text, 2, 3) == "different"


def test_vm05_goto() -> None:
    text = f"""
    function main(n) registers 2 heap 2 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      goto test
    body:
      $1 = call builtin add($1, $0)
      $0 = call builtin sub($0, 1)
    test:
      if $0 else done
      goto body
    done:
      %1 = call builtin prim_set_int($1)
      ret %1
    }}"""
    assert run(text, 1000) == 500500


def test_vm05_fatal() -> None:
    text = f"""
    function main(x) {{
      {PLACE}
      call builtin error_raise(site 0, "KeyError", "no such thing")
      ret %0
    }}"""
    with pytest.raises(KeyError, match=r"main: x: no such thing \(at a.py:1\)"):
        run(text, 1)


@pytest.mark.parametrize("value", [1, None, "s", np.array([True, False]), np.array(1.0)])
def test_vm05_error_condition(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="main: condition: expected one Boolean, but"):
        run(BRANCH, value)


def test_vm06_load_const() -> None:
    text = f"""
    constant #0 = tensor float32 [2] 0x0000803f00000040
    constant #1 = shape [2, 3]
    constant #2 = external 0
    constant #3 = float -0.5
    constant #4 = dtype float16
    constant #5 = none
    constant #6 = float 0x7ff8000000000000
    function main() registers 2 {{
      {PLACE}
      %0 = call builtin value_assign(#0)
      %1 = call builtin constant_get(site 0, #0, 1)
      %0 = call builtin tuple_make(site 0, [%0, %1, #0, #1, #2, #3, #4, #5, #6])
      ret %0
    }}"""
    external = vector(7, 8)
    assert len(list(machine(text, (external,))["main"]())) == 9
    main = VirtualMachine(Executable.assemble(text, [external]))["main"]
    shared, fresh, same, shape, outside, half, dtype, none, nan = main()
    assert numpy(shared).tolist() == numpy(fresh).tolist() == [1, 2]
    assert shared.data_ptr() == same.data_ptr() != fresh.data_ptr()
    assert tuple(shape) == (2, 3) and half == -0.5 and str(dtype) == "float16" and none is None
    assert outside.data_ptr() == external.data_ptr() and np.isnan(nan)


def test_vm06_load_consti() -> None:
    text = """
    function main() registers 1 {
      %0 = call builtin prim_set_int(-9223372036854775808)
      ret %0
    }"""
    assert run(text) == -(2**63)


def test_vm06_error_no_such_constant() -> None:
    text = """
    constant #0 = int 1
    function main() registers 1 { %0 = call builtin value_assign(#1) ret %0 }"""
    with pytest.raises(ValueError, match="value_assign: expected a constant below 1, but got 1"):
        machine(text)


def test_vm07_objects() -> None:
    """A tensor, a tuple, an ADT, a closure, a shape and a scalar pass through as they are."""
    vm = machine("function main(x) { ret %0 }")
    tensor = vector(1, 2)
    assert vm["main"](tensor).data_ptr() == tensor.data_ptr()
    assert list(vm["main"]((1, tensor))[1].shape) == [2]
    assert vm["main"](ADT.make(1, [])).tag == 1
    assert vm["main"](vm["main"])(3) == 3
    assert tuple(vm["main"](tvm_ffi.Shape((1, 2)))) == (1, 2)
    assert [vm["main"](v) for v in (True, 1, 1.5, "s", None)] == [True, 1, 1.5, "s", None]


@pytest.mark.parametrize(
    ("builtin", "value", "message"),
    [
        ("tuple_get(site 0, %0, 0)", 1, "expected a tuple, but got the integer 1"),
        (
            "adt_get(site 0, %0, 0)",
            (1,),
            "expected a value of an algebraic data type, but got a tup",
        ),
        ("shape_of(site 0, %0)", (1,), "expected a tensor, but got a tuple of 1 field"),
        ("tensor_view(site 0, %0, [1])", None, "expected a tensor, but got None"),
        ("tensor_from_storage(site 0, %0, 0, [1], int8)", "s", "storage, but got a string"),
        ("tensor_to_device(site 0, %0, 1, 0)", 2.5, "or a tuple of tensors, but got the float 2.5"),
    ],
)
def test_vm07_error_of_another_kind(builtin: str, value: Any, message: str) -> None:
    text = f"function main(x) {{ {PLACE} %0 = call builtin {builtin} ret %0 }}"
    with pytest.raises(TypeError, match=f"main: x: .*{re.escape(message)}"):
        run(text, value)


# ------------------------------------------------------------------------------------------------
# Kernels, packed functions, integers
# ------------------------------------------------------------------------------------------------


def test_kernel_update_in_place() -> None:
    text = 'function main(x, y) { call kernel "scale"(read %0, update %1, scalar 2) ret %1 }'
    vm = bind_scale(machine(text))
    y = vector(0, 0)
    assert numpy(vm["main"](vector(1, 2), y)).tolist() == [2, 4]
    assert numpy(y).tolist() == [2, 4]
    with pytest.raises(
        ValueError, match="argument 1 is updated in place, but shares memory with arg"
    ):
        vm["main"](y, y)
    with pytest.raises(ValueError, match="expected a compact, aligned tensor"):
        vm["main"](y, np.zeros(4, "float32")[::2])


def test_kernel_error() -> None:
    vm = machine('function main(x) { call kernel "scale"(read %0, write %0, scalar 1) ret %0 }')
    with pytest.raises(
        RuntimeError, match="main: kernel 'scale' has no machine code: bind it before"
    ):
        vm["main"](vector(1))
    bind_scale(vm)
    with pytest.raises(
        TypeError, match="argument 0 of kernel 'scale': expected a tensor, but got the i"
    ):
        vm["main"](3)
    assert vm.executable.bind({"unknown": 1}) == 0
    with pytest.raises(ValueError, match="expected an address for 'scale', but got 0"):
        vm.executable.bind({"scale": 0})


def test_packed_function_error() -> None:
    text = 'function main(x) registers 2 { %1 = call packed "test.vm.absent"(%0) ret %1 }'
    with pytest.raises(ValueError, match=r"packed function 'test.vm.absent' is not registered"):
        run(text, 1)


def test_native_function() -> None:
    class FFIAny(ctypes.Structure):
        _fields_ = (("type_index", ctypes.c_int32), ("pad", ctypes.c_int32), ("v", ctypes.c_int64))

    entry = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.POINTER(FFIAny),
        ctypes.c_int32,
        ctypes.POINTER(FFIAny),
    )

    @entry
    def twice(handle, args, nargs, result):
        result[0].type_index, result[0].v = 1, 2 * args[0].v
        return 0

    text = """
    native function twice(x)
    function main(x) registers 2 { %1 = call @twice(%0) ret %1 }"""
    vm = machine(text)
    with pytest.raises(RuntimeError, match="function 'twice' has no machine code"):
        vm["main"](1)
    with pytest.raises(RuntimeError, match="function 'twice' has no machine code"):
        vm["twice"]
    address = ctypes.cast(twice, ctypes.c_void_p).value
    assert vm.executable.bind({}, {"twice": address}, keep_alive=twice) == 1
    assert vm["main"](4) == 8 and vm["twice"](5) == 10


SAMPLES = (0, 1, 2, -1, -7, 7, 3, -3, 2**63 - 1, -(2**63))


def wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("add", lambda a, b: wrap(a + b)),
        ("sub", lambda a, b: wrap(a - b)),
        ("mul", lambda a, b: wrap(a * b)),
        ("floordiv", lambda a, b: wrap(a // b)),
        ("floormod", lambda a, b: a % b),
        ("min", min),
        ("max", max),
        ("eq", lambda a, b: a == b),
        ("ne", lambda a, b: a != b),
        ("lt", lambda a, b: a < b),
        ("le", lambda a, b: a <= b),
        ("gt", lambda a, b: a > b),
        ("ge", lambda a, b: a >= b),
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
    ],
)
def test_integers(name: str, reference: Callable[[int, int], int]) -> None:
    main = machine(f"""
    function main(a, b) registers 3 heap 2 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      $1 = call builtin prim_int(site 0, %1)
      $0 = call builtin {name}($0, $1)
      %2 = call builtin prim_set_int($0)
      ret %2
    }}""")["main"]
    for a in SAMPLES:
        for b in SAMPLES:
            if name.startswith("floor") and b == 0:
                with pytest.raises(ZeroDivisionError):
                    main(a, b)
            else:
                assert main(a, b) == int(reference(a, b)), (a, b)


# ------------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "line 1, column 1: expected constant, function, private or native"),
        ("function f(x) {\n  jump %0\n}", "line 2, column 3: expected an instruction"),
        ("function f(x) {\n  ret $ }", "line 2, column 7: expected a number behind '$'"),
        ("function f(x) { ret ", "expected an operand, but got the end of the text"),
        ("function f(x) { goto there ret %0 }", "there is no label 'there'"),
        ("function f(x) { goto end ret %0 end: }", "label 'end' has no instruction behind it"),
        ("function f(x) { a: a: ret %0 }", "label 'a' is there already"),
        ("function f(x) { %0 = ret %0 }", "a ret has no result"),
        ("function f(x) { %0 = call @g() ret %0 }", "there is no function 'g'"),
        ("function f(x) { call builtin nothing() ret %0 }", "the name of a builtin, but got 'n"),
        ("constant #1 = int 1", "expected constant #0, the next one, but got #1"),
        ("constant #0 = int 9223372036854775808", "expected an integer of 64 bits"),
        ("constant #0 = int 1x", "expected an integer, but got '1x'"),
        ("constant #0 = external 2", "expected an external constant below 0, but got 2"),
        ("constant #0 = tensor float32 [2] 0x00", "expected 8 bytes, as 0x and two digits each"),
        ("constant #0 = tensor float32 [1] 0x0000000g", "expected hexadecimal digits 0 to 9"),
        ("constant #0 = tensor float32 [4294967296, 4294967296] 0x", "a tensor of known size"),
        ("constant #0 = tensor float32 [-1] 0x", "expected a tensor of known size"),
        ("constant #0 = dtype float33x", "expected a data type, but got 'float33x'"),
        ("constant #0 = bool maybe", "expected true or false, but got 'maybe'"),
        ("constant #0 = float x", "expected a float, but got 'x'"),
        ('constant #0 = string "a\nb"', "expected the string to end on its line"),
        ('constant #0 = string "\\q"', "a backslash and two hexadecimal digits"),
        ("function f(x) registers 99999999999 { ret %0 }", "from 0 to 2147483647"),
        ("function f(x) { ret %99999999999 }", "expected a register from 0 to 2147483647"),
        ('function f(x) { site 1 = "", "", "" ret %0 }', "expected site 0, the next one"),
        ("function f(x) ? { ret %0 }", 'expected a token, but got the character "?"'),
    ],
)
def test_vm08_assembler_rejects(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Executable.assemble(text)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ret %5", "the value: expected a register below 2, but got 5"),
        ("ret #0", "the value: expected a constant below 0, but got 0"),
        ("ret 4", "expected the value to be a register or a constant, but got an integer"),
        ("%0 = call builtin value_assign(%0)", "the last instruction to be a ret or a goto"),
        ("if 1 else a a: ret %0", "expected the condition to be a register or a heap slot"),
        ("$7 = call builtin move(1) ret %0", "the destination: expected a heap slot below 1"),
        ("%0 = call builtin move(1) ret %0", "the destination to be a heap slot, but got a re"),
        ("call builtin move(1) ret %0", "the destination to be a heap slot, but got nothing"),
        ("$0 = call builtin add(1) ret %0", "expected 2 operands for add, but got 1"),
        ("$0 = call builtin add(1, %0) ret %0", "operand 1 of add to be a heap slot or an integer"),
        ("$0 = call builtin add(1, $3) ret %0", "operand 1 of add: expected a heap slot below 1"),
        ("call builtin value_kill(#0) ret %0", "expected operand 0 of value_kill to be a register"),
        ("%0 = call builtin shape_make(3) ret %0", "operand 0 of shape_make to be a list"),
        ("%0 = call builtin shape_make([%0]) ret %0", "element 0 of operand 0 of shape_make to"),
        ("$0 = call builtin dim(site 0, %0, 0) ret %0", "of dim: expected a site below 0"),
        ("$0 = call builtin move(read 1) ret %0", "only operands of kernels have a role"),
        ("%0 = call @f() ret %0", "expected 1 operand for function 'f', but got 0"),
        ("%0 = call @f([%0]) ret %0", "operand 0 to be a register, a constant, a heap slot"),
        ("%0 = call %9() ret %0", "expected a register below 2, but got 9"),
        ("$0 = call @f(%0) ret %0", "to be a register, but got a heap slot"),
        ('call kernel "k"(%0) ret %0', "whether the kernel reads, writes or updates it"),
        ('call kernel "k"(write #0) ret %0', "operand 0 to be a register, but got a constant"),
        ('call kernel "k"(scalar %0) ret %0', "operand 0 to be a heap slot or an integer"),
        ('%0 = call kernel "k"() ret %0', "to be nothing, but got a register"),
    ],
)
# RF07
def test_vm08_verifier_rejects(body: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Executable.assemble(f"function f(x) registers 2 heap 1 {{ {body} }}")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("f(x) registers 0", "expected at least 1 register, one a parameter, but got 0"),
        ("f(x) registers 1000", "expected at most 3 registers and heap slots each"),
        ("f(x) heap 1000", "expected at most 3 registers and heap slots each"),
        ("f(x) captures 2", "expected 0 to 1 captured values, but got 2"),
        ("f() heap 0 { } function h(x)", "expected the last instruction to be a ret or a goto"),
        ("g(x)", "function 'g': there are two functions of this name"),
    ],
)
def test_vm08_verifier_rejects_function(head: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Executable.assemble(f"function g(x) {{ ret %0 }} function {head} {{ ret %0 }}")


# ------------------------------------------------------------------------------------------------
# Text and tables
# ------------------------------------------------------------------------------------------------


def test_rf14_as_text_and_stats() -> None:
    ex = Executable.assemble(
        'constant #0 = external 0 private function "a b"(x) { ret #0 }'
        'function main(x) registers 2 { %1 = call @"a b"(%0) ret %1 }',
        [vector(*range(100))],
    )
    assert ex.as_text() == (
        "constant #0 = external 0 ; a tensor of rank 1, float32, shape (100,)\n\n"
        'private function "a b"(x) registers 1 {\n  ret #0\n}\n\n'
        'function main(x) registers 2 {\n  %1 = call @"a b"(%0)\n  ret %1\n}\n'
    )
    assert len(ex.externals()) == 1 and ex.externals(1000) == []
    assert "tensor float32 [100] 0x" in ex.as_text(1000)
    assert ex.stats().splitlines() == [
        "2 functions in bytecode, 0 in machine code: a b, main",
        "3 instructions, 10 words",
        "1 constant, 400 bytes of tensors",
        "0 kernels",
        "0 packed functions",
    ]


def test_tables_of_the_documentation_are_generated() -> None:
    """To write them again: the text between the marks is what `documentation()` returns."""
    documentation = str(tvm_ffi.get_global_func("relax_mlir.vm.documentation")())
    text = PAGE.read_text()
    begin, end = "<!-- generated: begin -->\n\n", "\n<!-- generated: end -->"
    assert text[text.index(begin) + len(begin) : text.index(end)] == documentation
