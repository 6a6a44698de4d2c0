# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that allocate and release memory themselves, and look at tensors: R.memory, R.vm, ..."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.script import from_source

KERNELS = """
    @T.prim_func
    def add_one(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1)

    @T.prim_func
    def scale(a: T.handle, b: T.handle, k: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.cast(k, "float32")
"""
X = np.array([1, -2, 3.5, 4], "float32")


def module(body, param='R.Tensor(("n",), "float32")', kernels=KERNELS, infos=""):
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return from_source(f"""
@I.ir_module
class Module:
    {infos}
{kernels}
    @R.function(pure=False)
    def main(x: {param}, o: R.Object, z: R.Tensor) -> R.Object:
        n = T.int64()
{lines}
""")


def statements(mod):
    """Return the statements of the main function, as they are printed."""
    text = mod.script().split("def main")[1].splitlines()[1:]
    return [line.strip() for line in text if "T.int64()" not in line and "cls =" not in line]


def run(mod, exec_mode, x=X, z=X):
    relax.assert_structural_equal(mod, from_source(mod.script()))
    options = {"target": "reference"} if exec_mode == "reference" else {"exec_mode": exec_mode}
    return relax.VirtualMachine(relax.compile(mod, **options))["main"](x, 0, z)


MODES = pytest.mark.parametrize("mode", ["compiled", "bytecode", "reference"])

# The text of a function, its statements as they are printed, and the result in NumPy.
PROGRAMS = {
    "memory": (
        """
bytes: R.Shape = R.shape([n * 4 + 64])
s: R.Object = R.memory.alloc_storage(bytes, R.prim_value(0), R.str("global"), R.dtype("uint8"))
y = R.memory.alloc_tensor(s, R.prim_value(64), R.shape([n]), R.dtype("float32"), R.prim_value(0))
_ = Module.add_one(x, y)
r = R.add(y, y)
_1: R.Tuple = R.memory.kill_tensor(y)
_2 = R.memory.kill_storage(s)
return r
""",
        [
            "bytes: R.Shape = R.shape([n * 4 + 64])",
            's: R.Object = R.memory.alloc_storage(R.shape([n * 4 + 64]), 0, "global", "uint8")',
            'y: R.Tensor((n,), dtype="float32") = '
            'R.memory.alloc_tensor(s, 64, R.shape([n]), "float32")',
            "_: R.Tuple = cls.add_one(x, y)",
            'r: R.Tensor((n,), dtype="float32") = R.add(y, y)',
            "R.memory.kill_tensor(y)",
            "R.memory.kill_storage(s)",
            "return r",
        ],
        2 * (X + 1),
    ),
    "builtin": (
        """
y = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
Module.add_one(x, y)
R.vm.kill_object(o)
return y
""",
        [
            'y: R.Tensor((n,), dtype="float32") = '
            'R.builtin.alloc_tensor(R.shape([n]), "float32", 0)',
            "gv: R.Tuple = cls.add_one(x, y)",
            "R.vm.kill_object(o)",
            "return y",
        ],
        X + 1,
    ),
    "vm": (
        """
s = R.vm.alloc_storage(R.shape([n]), R.prim_value(0), R.dtype("float32"), R.str("global"))
y = R.vm.alloc_tensor(s, R.prim_value(0), R.shape([n]), R.dtype("float32"))
_: R.Tuple = R.vm.call_tir_dyn(Module.scale, (x, y, R.shape([3])))
_1: R.Tuple = R.vm.kill_object(s)
return y
""",
        [
            's: R.Object = R.memory.alloc_storage(R.shape([n * 4]), 0, "global", "uint8")',
            'y: R.Tensor((n,), dtype="float32") = '
            'R.memory.alloc_tensor(s, 0, R.shape([n]), "float32")',
            "_: R.Tuple = cls.scale(x, y, R.prim_value(3))",
            "R.memory.kill_storage(s)",
            "return y",
        ],
        3 * X,
    ),
    # Tensors over each other, written one after the other.
    "overlap": (
        """
s = R.memory.alloc_storage(R.shape([n * 4]), 0, "global", "uint8")
y = R.memory.alloc_tensor(s, 0, R.shape([n]), "float32")
Module.add_one(x, y)
a = R.add(y, y)
w = R.memory.alloc_tensor(s, 0, R.shape([n]), "float32")
Module.add_one(a, w)
return R.subtract(R.add(y, y), a)
""",
        None,
        2 * (2 * (X + 1) + 1) - 2 * (X + 1),
    ),
    "views": (
        """
y = R.add(x, x)
v = R.memory.view(y, R.shape([n, 1]))
w = R.memory.view(v, R.shape([n]), R.tuple(), R.tuple())
u = R.memory.view(w, R.tuple(), R.dtype("int32"), R.tuple())
t = R.memory.view(u, dtype="float32")
return R.memory.ensure_zero_offset(t)
""",
        [
            'y: R.Tensor((n,), dtype="float32") = R.add(x, x)',
            'v: R.Tensor((n, 1), dtype="float32") = R.memory.view(y, R.shape([n, 1]))',
            'w: R.Tensor((n,), dtype="float32") = R.memory.view(v, R.shape([n]))',
            'u: R.Tensor((n,), dtype="int32") = R.memory.view(w, R.shape([n]), "int32")',
            't: R.Tensor((n,), dtype="float32") = R.memory.view(u, R.shape([n]), "float32")',
            'gv: R.Tensor((n,), dtype="float32") = R.memory.ensure_zero_offset(t)',
            "return gv",
        ],
        2 * X,
    ),
    "part": (
        """
y = R.match_cast(x, R.Tensor((4,), "float32"))
return R.memory.view(y, R.shape([2]), relative_byte_offset=R.prim_value(8))
""",
        [
            'y: R.Tensor((4,), dtype="float32") = R.match_cast(x, R.Tensor((4,), dtype="float32"))',
            'gv: R.Tensor((2,), dtype="float32") = '
            'R.memory.view(y, R.shape([2]), "float32", R.prim_value(8))',
            "return gv",
        ],
        X[2:],
    ),
    "scalar": (
        """
y = R.match_cast(x, R.Tensor((1,), "float32"))
v = R.memory.view(y, ())
return R.memory.view(v, R.shape([1]))
""",
        [
            'y: R.Tensor((1,), dtype="float32") = R.match_cast(x, R.Tensor((1,), dtype="float32"))',
            'v: R.Tensor((), dtype="float32") = R.memory.view(y, R.shape([]))',
            'gv: R.Tensor((1,), dtype="float32") = R.memory.view(v, R.shape([1]))',
            "return gv",
        ],
        X[:1],
    ),
    # An offset that the program computes, and one in terms of a dimension.
    "offset": (
        """
by = R.inspect.tensor_ndim(z)
by64 = R.call_pure_packed("relax_mlir.run.inspect", z, "shape_i", 0, sinfo_args=R.Prim("int64"))
v = R.memory.view(x, R.shape([1]), relative_byte_offset=by64)
w = R.memory.view(x, R.shape([1]), relative_byte_offset=R.prim_value(n * 4 - 4))
return (v, w)
""",
        None,
        (X[1:2], X[3:]),
    ),
    "inspect": (
        """
k = x.shape[0]
by = x.strides[0]
y = R.zeros(R.shape([k, 2]), "float32")
return (k, x.dtype.bits, by, x.ndim, x.byte_offset, x.dtype.code, x.elem_offset, x.dtype.lanes, y)
""",
        None,
        (4, 32, 1, 1, 0, 2, 0, 1, np.zeros((4, 2), "float32")),
    ),
    "inspect_unknown": (
        """
i = R.inspect.tensor_shape_i(z, 0)
return (i, z.strides[0], z.dtype.bits, z.dtype.code, z.dtype.lanes, z.ndim)
""",
        [
            'i: R.Prim("int64") = R.inspect.tensor_shape_i(z, R.prim_value(0))',
            'gv: R.Prim("int64") = R.inspect.tensor_stride_i(z, R.prim_value(0))',
            'gv1: R.Prim("uint8") = R.inspect.tensor_dtype_bits(z)',
            'gv2: R.Prim("uint8") = R.inspect.tensor_dtype_code(z)',
            'gv3: R.Prim("uint16") = R.inspect.tensor_dtype_lanes(z)',
            'gv4: R.Prim("int32") = R.inspect.tensor_ndim(z)',
            "return (i, gv, gv1, gv2, gv3, gv4)",
        ],
        (4, 1, 32, 2, 1, 1),
    ),
}


def check(found, expected):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            check(one, other)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(np.from_dlpack(found), expected)
    else:
        assert found == expected


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, mode):
    body, printed, expected = PROGRAMS[name]
    mod = module(body)
    if printed is not None:
        assert statements(mod) == printed
    if name == "offset":
        check(run(mod, mode, z=np.zeros((4, 1), "int8")), expected)
    elif name == "scalar":
        check(run(mod, mode, X[:1]), expected)
    else:
        check(run(mod, mode), expected)


def test_strides_of_what_is_not_compact(exec_mode):
    mod = module("return (x.strides[0], x.strides[1])", 'R.Tensor(("n", 3), "float32")')
    x = np.zeros((3, 4), "float32").T
    check(run(mod, exec_mode, x), (1, 4))


def test_a_view_of_what_is_not_compact_is_one_of_a_copy(exec_mode):
    mod = module(
        "return R.memory.view(x, R.shape([6]), relative_byte_offset=8)",
        'R.Tensor((4, 2), "float32")',
    )
    x = np.arange(8, dtype="float32").reshape(2, 4).T
    check(run(mod, exec_mode, x), x.reshape(-1)[2:])


def test_a_view_shares_memory(exec_mode):
    """A kernel that writes into a view changes the tensor."""
    mod = module("""
y = R.add(x, x)
v = R.memory.view(y, R.shape([2]), relative_byte_offset=8)
Module.add_one(R.const([5, 6], "float32"), v)
return y
""")
    mod = from_source(mod.script())
    check(run(mod, exec_mode), np.array([2, -4, 6, 7], "float32"))


DEVICES = 'I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})'


def test_devices_by_their_numbers(exec_mode):
    mod = module(
        """
s = R.memory.alloc_storage(R.shape([16]), 1, "global", "uint8")
y = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32", 1)
w = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
h = R.builtin.alloc_tensor(R.shape([4]), "float32", -1)
return (y, w, h)
""",
        infos=DEVICES,
        kernels="",
    )
    assert statements(mod) == [
        's: R.Object = R.memory.alloc_storage(R.shape([16]), 1, "global", "uint8")',
        'y: R.Tensor((4,), dtype="float32", vdevice="llvm:1:global") = '
        'R.memory.alloc_tensor(s, 0, R.shape([4]), "float32", 1)',
        'w: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global") = '
        'R.builtin.alloc_tensor(R.shape([4]), "float32", 0)',
        'h: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), "float32", -1)',
        "return (y, w, h)",
    ]
    assert [each.shape for each in run(mod, exec_mode)] == [(4,)] * 3


STORAGE = 'R.memory.alloc_storage(R.shape([4]), 0, "global", "uint8")'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'R.builtin.alloc_tensor(R.shape([4]), "float32", 3)',
            "expected the index of a device of the module, which lists no devices, but got 3",
        ),
        (
            'R.builtin.alloc_tensor(R.shape([4]), "float32", 0, "texture")',
            "expected the storage scope 'global', the only one that there is, but got 'texture'",
        ),
        (
            'R.builtin.alloc_tensor(R.shape_of(z), "float32", 0)',
            "expected the shape with dimensions that are known, but got a value of type "
            "!relax.shape<*>: name them in a match_cast",
        ),
        ('R.builtin.alloc_tensor(x, "float32", 0)', "expected a shape, but got a value of type"),
        (
            "R.builtin.alloc_tensor(R.shape([4]), o, 0)",
            "expected a data type that is known, but got a value of type !relax.object",
        ),
        (
            "R.builtin.alloc_tensor(R.shape([4]), 'float32', 0, o)",
            "expected the storage scope as a str, but got a value of type !relax.object",
        ),
        (
            'R.memory.alloc_storage(R.shape([-4]), 0, "global", "uint8")',
            "expected a size of 0 or more, but got -4",
        ),
        (
            f'R.memory.alloc_tensor({STORAGE}, 0, R.shape([4]), "float32")',
            "needs 16 bytes at 0, but the storage has 4",
        ),
        (
            f'R.memory.alloc_tensor({STORAGE}, n, R.shape([4]), "float32")',
            "expected the offset in a storage as a number that is known",
        ),
        (
            'R.memory.alloc_tensor(x, 0, R.shape([4]), "float32")',
            "operand #0 must be a Relax object, but got '!relax.tensor<[n], f32>'",
        ),
        ("R.memory.kill_tensor(o)", "expected a tensor, but got a value of type !relax.object"),
        ("R.memory.kill_storage(x)", "f32>: write memory.kill_tensor"),
        (
            "R.memory.view(x, R.shape([n + 1]))",
            "expected a view inside of the n * 4 bytes of !relax.tensor<[n], f32>, but got one of "
            "type !relax.tensor<[n + 1], f32> that ends at byte n * 4 + 4",
        ),
        (
            "R.memory.view(x, relative_byte_offset=-4)",
            "expected an offset of at least 0, but got -4",
        ),
        (
            "R.memory.view(x, relative_byte_offset=x)",
            "expected the offset as an integer, but got a value of type !relax.tensor",
        ),
        ("R.memory.view(z)", "expected a shape and a data type of the view that are known"),
        (
            "R.inspect.tensor_shape_i(x, 1)",
            "expected one of the 1 dimensions of !relax.tensor<[n], f32>, but got 1",
        ),
        (
            "R.inspect.tensor_stride_i(z, -1)",
            "expected a dimension from 0 on of !relax.tensor<*>, but got -1",
        ),
        ("x.shape[2]", "expected one of the 1 dimensions"),
        ("x.shape[x]", "expected a dimension as an integer, but got one of type !relax.tensor"),
        ("R.add(x, x.shape)", "but got x.shape as a whole; write x.shape[i], or R.shape_of(x)"),
        (
            "x.dtype.size",
            "expected x.dtype.code, x.dtype.bits, x.dtype.lanes of a tensor, but got x.dtype.size",
        ),
        ("o.shape[0]", "a value of a program has no attribute 'shape'"),
        ("R.vm.call_tir_dyn(Module.scale, (x, x))", "relax.call: expected 3 arguments, but got 2"),
        (
            "R.vm.call_tir_dyn(Module.scale, (x, x, R.shape_of(z)))",
            "expected a shape of integers with dimensions that are known",
        ),
        ("R.memory.foo(x)", "expected something that R has, but got R.memory.foo"),
    ],
)
def test_errors(text, message):
    with pytest.raises(Exception) as error:
        module(f"y = {text}\nreturn y")
    assert message in str(error.value)
    assert "y = " in str(error.value) and "^" in str(error.value)


def test_error_where_a_value_is_used_after_it_is_killed():
    with pytest.raises(Exception, match=r"'relax.add' op uses a value that was killed before"):
        module("R.memory.kill_tensor(x)\nreturn R.add(x, x)")


@MODES
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R.memory.view(x, R.shape([n]), relative_byte_offset=b)", "view: expected a part of"),
        ("R.memory.view(x, dtype='float64')", "view: expected a part of"),
        ("R.memory.view(x, R.shape([1]), relative_byte_offset=R.prim_value(n - 2))", "multiple of"),
        ("R.inspect.tensor_shape_i(z, b)", "inspect: expected one of the 1 dimensions"),
    ],
)
def test_errors_of_a_run(text, message, mode):
    body = "b = R.call_pure_packed('relax_mlir.run.inspect', z, 'shape_i', 0, "
    mod = module(f"{body}sinfo_args=R.Prim('int64'))\nreturn {text}")
    with pytest.raises(ValueError, match=message):
        run(mod, mode)


@pytest.mark.parametrize("exec_mode", ["compiled", "bytecode"])
def test_error_of_a_run_where_a_tensor_does_not_fit(exec_mode):
    mod = module("""
s = R.memory.alloc_storage(R.shape([n]), 0, "global", "uint8")
return R.memory.alloc_tensor(s, 0, R.shape([n]), "float32")
""")
    with pytest.raises(ValueError, match="the storage is too small"):
        run(mod, exec_mode)


X_TYPE = "!relax.tensor<[n], f32>"


@pytest.mark.parametrize(
    ("callee", "operands", "result"),
    [
        ("view", ("shape <[n]>", 'string "float32"', "prim_value -4 : i64"), X_TYPE),
        ("view", ("shape <[n]>", 'string "float32"', "prim_value 0 : i64"), X_TYPE),
        ("view", ("shape <[n]>", 'string "float32"', "prim_value 4 : i64"), X_TYPE),
        ("view", ("shape <[1]>", 'string "float32"', "prim_value 0 : i32"), X_TYPE),
        ("view", ("shape <[1]>", 'string "f4"', "prim_value 0 : i64"), "!relax.tensor<[1], f32>"),
        ("view", ("shape <[1]>", 'string "int32"', "prim_value 0 : i64"), X_TYPE),
        ("inspect", ('string "stride_i"', "prim_value -1 : i64"), "!relax.prim<i64>"),
        ("inspect", ('string "stride_i"', "prim_value 1 : i64"), "!relax.prim<i64>"),
        ("inspect", ('string "shape_i"', "prim_value 0 : i64"), "!relax.prim<i64>"),
        ("inspect", ('string "ndim"', "prim_value -1 : i64"), "!relax.prim<i32>"),
        ("inspect", ('string "byte_offset"', "prim_value 0 : i64"), "!relax.prim<ui64>"),
        ("inspect", ('string "byte_offset"', "prim_value -1 : i64"), "!relax.prim<i64>"),
        ("inspect", ('string "color"', "prim_value -1 : i64"), "!relax.prim<i64>"),
        ("ensure_zero_offset", (), "!relax.object"),
    ],
)
def test_calls_that_r_does_not_make_are_written_as_calls(callee, operands, result):
    types = {"shape": "!relax.shape<[{}]>", "string": "!relax.object"}
    lines, given = [], []
    for index, operand in enumerate(operands):
        kind, number = operand.split()[:2]
        width = operand.split()[-1]
        dims = number.strip("<[]>")
        type_ = types.get(kind, f"!relax.prim<{width}, {number}>").format(dims)
        lines.append(f"%{index} = relax.{operand}")
        given.append((f"%{index}", type_))
    names = ", ".join(["%x", *(name for name, _ in given)])
    signature = ", ".join([X_TYPE, *(type_ for _, type_ in given)])
    body = "\n".join(lines)
    attributes = f"{{sinfo_args = [{result}]}}"
    program = f"""relax.func @main(%x: {X_TYPE}) -> !relax.object {{
{body}
%r = relax.call_pure_packed "relax_mlir.run.{callee}"({names})
    {attributes} : ({signature}) -> {result}
relax.return %r : {result}
}}"""
    mod = relax.as_module(program)
    text = mod.script()
    assert f'R.call_pure_packed("relax_mlir.run.{callee}", x' in text
    relax.assert_structural_equal(mod, from_source(text))


def test_operations_that_r_does_not_make_are_written_in_the_generic_form():
    program = """
relax.func @main(%x: !relax.tensor<[2, 2], f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  %0 = relax.builtin.view %x : !relax.tensor<[2, 2], f32> -> !relax.tensor<[2, 2], f32>
  %1 = relax.builtin.view %y : !relax.tensor<*, f32> -> !relax.tensor<[2], f32>
  %c = arith.constant 4 : i64
  %2 = relax.builtin.alloc_storage(%c)
  %3 = relax.builtin.alloc_tensor(%c) : !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<[2, 2], f32>
}"""
    mod = relax.as_module(program)
    text = mod.script()
    assert text.count("I.mlir_op") == 5
    relax.assert_structural_equal(mod, from_source(text))


def test_a_builder_takes_what_has_no_value():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x], pure=False):
        y = bb.emit(op.exp(x))
        assert op.memory.kill_tensor(x) == ()
        bb.emit_func_output(y)
    assert "relax.builtin.kill %x" in str(bb.get())
    with pytest.raises(ValueError, match=r"expected relax\.builtin\.kill inside BlockBuilder"):
        op.memory.kill_tensor(y)
