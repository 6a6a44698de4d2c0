"""Relax programs in TVMScript, as the builder would write them."""

from __future__ import annotations

import builtins
import typing
import warnings

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import StructInfoWarning, op
from relax_mlir.script import ScriptError, from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

F32 = "float32"


def read(body: str, head: str = 'x: R.Tensor(("n", 4), "float32")', **options):
    """A function `main` of a body."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
    result = options.pop("result", None)
    arrow = "" if result is None else f" -> {result}"
    arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return from_source(f"@R.function({arguments})\ndef main({head}){arrow}:\n{lines}\n")


def ops(function) -> list[str]:
    """The names of the operations of a function, in the order of the text."""
    names = []

    def note(operation):
        names.append(operation.name.removeprefix("relax."))
        return relax.core.ir.ir.WalkResult.ADVANCE

    function.operation.walk(note, relax.core.ir.ir.WalkOrder.PRE_ORDER)
    return names[1:]


def test_gr17_function_like_the_builder() -> None:
    mod = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z
"""
    )
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 4), F32))
    w = relax.Var("w", relax.TensorStructInfo((4, 8), F32))
    with bb.function("main", [x, w]):
        with bb.dataflow():
            z = bb.emit_output(op.nn.relu(op.matmul(x, w)))
        bb.emit_func_output(z)
    relax.assert_structural_equal(mod, bb)


# One function in the spellings of all versions: a signature, a cast, a call.
SPELLINGS = {
    "rf06_rfc": """
def main(x: R.Tensor[(n, 4), "float32"], w: R.Tensor[_, "float32"], o: R.Object):
    with R.dataflow():
        lv0 = R.match_shape(w, (k, m))
        lv1: R.Tensor[(n * 4,), "float32"] = R.flatten(x)
        lv2: R.Shape = (n * 4,)
        lv3 = R.call_dps_packed("f", (lv1, lv0), lv2, dtype="float32")
        lv4 = R.call_tir("f", (lv3, lv0), (n, k), dtype="float32")
        R.outputs(lv4)
    return lv4
""",
    "rf06_struct_info": """
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor(dtype="float32"), o: R.Object):
    n, k, m = T.int64(), T.int64(), T.int64()
    with R.dataflow():
        lv0 = R.match_cast(w, R.Tensor((k, m), "float32"))
        lv1: R.Tensor((n * 4,), "float32") = R.flatten(x)
        lv2: R.Shape([n * 4]) = R.shape([n * 4])
        lv3 = R.call_dps_packed("f", (lv1, lv0), out_sinfo=R.Tensor((n * 4,), "float32"))
        lv4 = R.call_dps_packed("f", (lv3, lv0), out_sinfo=R.Tensor((n, k), "float32"))
        R.output(lv4)
    return lv4
""",
    "rf06_newest": """
def main(x: R.Tensor((n, 4), "float32"), w: R.Tensor("float32"), o: R.Any):
    with R.dataflow():
        lv0 = R.match_cast(w, R.Tensor((k, m), "float32"))
        lv1 = R.flatten(x)
        lv2 = R.shape([n * 4])
        lv3 = R.call_dps_packed("f", (lv1, lv0), out_ty=R.Tensor((n * 4,), "float32"))
        lv4 = R.call_dps_packed("f", (lv3, lv0), out_ty=R.Tensor((n, k), "float32"))
        R.output(lv4)
    return lv4
""",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_mean_the_same(spelling: str) -> None:
    around = {name: typing.TypeVar(name) for name in "nkm"} if "newest" in spelling else {}
    function = from_source("@R.function" + SPELLINGS[spelling], around)
    names = ops(function)
    assert [name for name in names if name != "shape"] == [
        "dataflow",
        "match_cast",
        "flatten",
        "call_dps_packed",
        "call_dps_packed",
        "output",
        "return",
    ]
    signature = "(!relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>, !relax.object)"
    assert str(function.op.function_type.value) == f"{signature} -> !relax.tensor<[n, k], f32>" or (
        str(function.op.function_type.value) == f"{signature} -> !relax.tensor<ndim = 2, f32>"
    )


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('x: R.Tensor[(n, k), "float32", 3]', "return x"),
        ('x: R.Tensor[(n, k), "floating"]', "return x"),
        ("x: R.Tensor", "return R.match_shape(x)"),
    ],
)
def test_rf06_error_of_spellings_that_no_version_has(head: str, body: str) -> None:
    with pytest.raises(ScriptError, match=r":\d+:\d+: "):
        read(body, head=head)


def test_rf06_placeholder_is_no_result_of_an_interactive_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builtins, "_", (3, True), raising=False)
    function = read("return x", head="x: R.Tensor[_, _]")
    assert str(function.op.function_type.value).startswith("(!relax.tensor<*>)")


def test_rf06_subscripts() -> None:
    kinds = {
        'R.Tensor[(n, k), "float32"]': "!relax.tensor<[n, k], f32>",
        "R.Tensor[(n, k)]": "!relax.tensor<[n, k]>",
        'R.Tensor[(n,), "float16"]': "!relax.tensor<[n], f16>",
        "R.Tensor[_, _]": "!relax.tensor<*>",
        'R.Tensor[_, "int32"]': "!relax.tensor<*, i32>",
        "R.Shape[(n, 2)]": "!relax.shape<[n, 2]>",
        "R.Tuple[R.Tensor, R.Shape]": "!relax.tuple<!relax.tensor<*>, !relax.shape<*>>",
    }
    for text, type_ in kinds.items():
        function = read("return x", head=f"x: {text}")
        assert str(function.op.function_type.value) == f"({type_}) -> {type_}"


KINDS = {
    "R.Tensor": "!relax.tensor<*>",
    'R.Tensor("float32")': "!relax.tensor<*, f32>",
    "R.Tensor(ndim=2)": "!relax.tensor<ndim = 2>",
    'R.Tensor((), "bool")': "!relax.tensor<[], i1>",
    'R.Tensor(("n", "m * 2", "m"), "int8")': "!relax.tensor<[n, m * 2, m], i8>",
    'R.Tensor(["n // 2", "n"])': "!relax.tensor<[n floordiv 2, n]>",
    "R.Shape": "!relax.shape<*>",
    "R.Shape(ndim=3)": "!relax.shape<ndim = 3>",
    'R.Shape(["n", 2])': "!relax.shape<[n, 2]>",
    'R.Prim("float32")': "!relax.prim<f32>",
    'R.Prim(value="n")': "!relax.prim<i64, n>",
    'R.Prim("int64", value="n")': "!relax.prim<i64, n>",
    "R.Object": "!relax.object",
    "R.Any": "!relax.object",
    "R.Tuple": "!relax.tuple<>",
    "R.Tuple(R.Tensor, R.Object)": "!relax.tuple<!relax.tensor<*>, !relax.object>",
    "R.Tuple([R.Tensor])": "!relax.tuple<!relax.tensor<*>>",
    "R.Callable": "!relax.func<derive = @default_derive>",
    "R.Callable((R.Tensor,), R.Tensor)": (
        "!relax.func<(!relax.tensor<*>) -> !relax.tensor<*>, pure>"
    ),
    "R.Callable((R.Any,), R.Any, False)": "!relax.func<(!relax.object) -> !relax.object, impure>",
    "None": "!relax.tuple<>",
}


@pytest.mark.parametrize("text", KINDS)
def test_struct_info_of_a_parameter(text: str) -> None:
    function = read("return x", head=f"x: {text}")
    assert str(function.op.function_type.value).startswith(f"({KINDS[text]}) -> ")


def test_dr08_weaker_annotation_is_kept() -> None:
    function = read("y: R.Tensor(ndim=2) = R.exp(x)\nreturn y")
    assert ops(function) == ["exp", "return"]
    assert str(function.struct_info.ret) == "!relax.tensor<ndim = 2>"


def test_dr08_stronger_annotation_is_checked_at_run_time(load) -> None:
    head = 'x: R.Tensor(("n",), "float32")'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function = read('y: R.Tensor((4,), "float32") = R.exp(x)\nreturn y', head)
    assert [warning.category for warning in caught] == [StructInfoWarning]
    assert caught[0].lineno == 3
    assert ops(function) == ["exp", "match_cast", "return"]
    main = load(function)
    assert np.from_dlpack(main(np.zeros(4, F32))).tolist() == [1.0] * 4
    with pytest.raises(ValueError, match="dimension 0"):
        main(np.zeros(3, F32))


def test_dr08_annotation_of_a_parameter_by_another_name() -> None:
    function = read("y: R.Object = x\nreturn y")
    assert ops(function) == ["match_cast", "return"]
    assert str(function.struct_info.ret) == "!relax.object"


def test_operators_of_python(load) -> None:
    main = load(read("y = (2.0 - x * 3.0) / (x + 1.0)\nz = -y ** 2.0\nreturn z"))
    x = np.arange(8, dtype=F32).reshape(2, 4)
    expected = -(((2 - x * 3) / (x + 1)) ** 2)
    np.testing.assert_allclose(np.from_dlpack(main(x)), expected, rtol=1e-5)


def test_comparisons_give_tensors() -> None:
    for sign, name in {
        "<": "less",
        "<=": "less_equal",
        ">": "greater",
        ">=": "greater_equal",
    }.items():
        assert ops(read(f"y = x {sign} x\nreturn y")) == [name, "return"]


def test_tuples() -> None:
    function = read("t = (x, R.exp(x))\na, b = t\nc = t[0]\nreturn (a, (b, c), ())")
    assert ops(function) == [
        "exp", "tuple", "get_item", "get_item", "get_item", "tuple", "tuple", "tuple", "return",
    ]  # fmt: skip


def test_values_of_python() -> None:
    function = read(
        's = R.str("text")\nd = R.dtype("int8")\np = R.prim_value(3)\n'
        'c = R.const([1, 2], "int64")\nf = 2.0\nr = R.shape([n, 2])\nnull = R.null_value()\n'
        "t = R.tuple(s, d, p, c, f, r, null)\nreturn t"
    )
    assert [str(field) for field in function.struct_info.ret.fields] == [
        "!relax.object",
        "!relax.object",
        "!relax.prim<i64, 3>",
        "!relax.tensor<[2], i64>",
        "!relax.tensor<[], f32>",
        "!relax.shape<[n, 2]>",
        "!relax.object",
    ]


def test_gr15_branches(load) -> None:
    body = """
if c:
    t = R.exp(x)
    y = t + x
else:
    y = -x
return y
"""
    main = load(read(body, 'c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")'))
    x = np.array([0.0, 1.0], F32)
    for flag, expected in ((True, np.exp(x) + x), (False, -x)):
        np.testing.assert_allclose(np.from_dlpack(main(np.array(flag), x)), expected, rtol=1e-6)


def test_gr15_branch_on_a_primitive_value(load) -> None:
    body = "if c:\n    y = R.exp(x)\nelse:\n    y = x\nreturn y"
    main = load(read(body, 'c: R.Prim("bool"), x: R.Tensor(("n",), "float32")'))
    x = np.zeros(2, F32)
    assert np.from_dlpack(main(True, x)).tolist() == [1.0, 1.0]
    assert np.from_dlpack(main(False, x)).tolist() == [0.0, 0.0]


def test_functions_of_the_module_in_any_order(load) -> None:
    mod = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        cls = Module
        y = cls.twice(x)
        return Module.twice(y)

    @R.function(private=True)
    def twice(x: R.Tensor(("n",), "float32")):
        return x + x
"""
    )
    assert list(mod) == ["main", "twice"]
    assert str(mod["main"].function_type.value).endswith("-> !relax.tensor<[n], f32>")
    assert np.from_dlpack(load(mod)(np.ones(3, F32))).tolist() == [4.0] * 3


def test_wf08_functions_that_call_each_other(load) -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def even(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        if R.equal(n, 0):
            r = R.const(True)
        else:
            r: R.Tensor((), "bool") = Module.odd(n - 1)
        return r

    @R.function
    def odd(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        if R.equal(n, 0):
            r = R.const(False)
        else:
            r: R.Tensor((), "bool") = Module.even(n - 1)
        return r
"""
    even = load(from_source(text), "even")
    assert [bool(np.from_dlpack(even(np.array(n, "int32")))) for n in range(4)] == [
        True, False, True, False,
    ]  # fmt: skip


def test_nested_and_recursive_functions(load) -> None:
    body = """
n = T.int64()
@R.function
def add_x(y: R.Tensor((n,), "float32")):
    return y + x

@R.function
def down(k: R.Tensor((), "int32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
    if R.equal(k, 0):
        r = y
    else:
        r = down(k - 1, y + y)
    return r

z = add_x(x)
return down(R.const(3), z)
"""
    main = load(read(body, 'x: R.Tensor(("n",), "float32")'))
    assert np.from_dlpack(main(np.ones(2, F32))).tolist() == [16.0, 16.0]


def test_return_in_a_dataflow_block() -> None:
    function = read("with R.dataflow():\n    y = R.exp(x)\n    return (y, x)")
    assert ops(function) == ["dataflow", "exp", "tuple", "output", "return"]


def test_several_outputs() -> None:
    body = (
        "with R.dataflow():\n    y = R.exp(x)\n    z = R.exp(y)\n    R.output(y, z)\nreturn (z, y)"
    )
    assert "%0:2 = relax.dataflow" in str(read(body))


def test_statements_with_effects() -> None:
    body = """
R.call_packed("my.print", x)
_ = R.call_packed("my.log", x, sinfo_args=R.Tuple())
return x
"""
    assert ops(read(body, pure=False)) == ["call_packed", "call_packed", "return"]


def test_calls_of_packed_functions() -> None:
    body = """
a = R.call_packed("f", x, 1, "text", sinfo_args=R.Tensor(ndim=1), level=2)
b = R.call_pure_packed("g", a, sinfo_args=(R.Tensor, R.Prim("int64")))
f = R.ExternFunc("k")
d = f(a)
e = R.call_dps_packed("l", (b[0],), out_sinfo=[R.Tensor((2,), "int8"), R.Tensor((3,), "int8")])
return (b, d, e)
"""
    function = read(body, pure=False)
    assert [name for name in ops(function) if "packed" in name] == [
        "call_packed", "call_pure_packed", "call_packed", "call_dps_packed",
    ]  # fmt: skip
    assert "level = 2" in str(function)


def test_calls_that_update_in_place() -> None:
    body = """
y = R.exp(x)
return R.call_inplace_packed("h", y, inplace_indices=[0], sinfo_args=[R.Tensor(ndim=1)])
"""
    assert ops(read(body)) == ["exp", "call_inplace_packed", "return"]


def test_attributes_of_functions_and_modules() -> None:
    mod = from_source(
        """
@I.ir_module
class Module:
    I.module_attrs({"workers": 2, "names": ["a", "b"]})
    I.module_set_attr("scale", 0.5)
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:1")):
        R.func_attr({"relax.force_pure": True, "Codegen": "blas", "sizes": {"n": [1, 2]}})
        y = R.to_vdevice(x, "llvm:0")
        return R.hint_on_device(y, R.device("cpu", 1))
"""
    )
    assert {name: str(attr) for name, attr in mod.attrs.items()} == {
        "workers": "2 : i64", "names": '["a", "b"]', "scale": "5.000000e-01 : f64",
    }  # fmt: skip
    text = str(mod)
    assert '{vdevice0 = #relax.vdevice<"llvm", 0>, vdevice1 = #relax.vdevice<"llvm", 1>}' in text
    assert 'Codegen = "blas"' in text
    assert "sizes = {n = [1, 2]}" in text
    assert "(%x: !relax.tensor<[2], f32, @vdevice1>)" in text
    assert "relax.to_vdevice %x to @vdevice0" in text


def test_names_of_python_around() -> None:
    width, ones = 4, np.ones(4, F32)

    @R.function
    def main(x: R.Tensor(("n", width), "float32")):
        parts = R.split(x, [index for index in (1, 2)], axis=1)
        first, *rest = [R.sum(part) for part in parts]
        y = x + R.const(ones)
        scale = I.meta_var(width * 2)
        return (first, rest[0], y * float(scale), R.str(f"{width:>2}"))

    assert str(main.struct_info.params[0]) == "!relax.tensor<[n, 4], f32>"
    assert '"' in str(main)
    assert "8.000000e+00" in str(main)


def test_names_of_values_are_locations() -> None:
    function = read("first = R.exp(x)\nsame = first\nreturn R.exp(same)")
    text = function.operation.get_asm(enable_debug_info=True)
    assert '#loc6 = loc("first"(#loc' in text or 'loc("first"(' in text
    assert '"same"' not in text
    assert '"<text>":3:13' in text


def test_macro_is_hygienic() -> None:
    scale = 2.0

    @R.macro
    def scaled(value, times=1.0):
        result = value * (scale * times)
        return result

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        scale = R.exp(x)
        result = scaled(scale, times=3.0)
        return result

    assert ops(main) == ["exp", "constant", "multiply", "return"]
    assert "6.000000e+00" in str(main)


def test_macro_of_a_text() -> None:
    mod = from_source(
        "@R.macro\ndef twice(a):\n    b = R.exp(a)\n    return R.add(b, b)\n\n"
        "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    return twice(x)\n"
    )
    assert ops(mod) == ["exp", "add", "return"]


def test_error_in_a_macro_of_a_text() -> None:
    program = "@R.macro\ndef m(a, b):\n    return R.nope(a)\n@R.function\n"
    with pytest.raises(ScriptError, match=r":5:28: m\(a, b\): missing a required argument: 'b'"):
        from_source(program + "def f(x: R.Object): return m(x)")
    with pytest.raises(ScriptError, match=r":3:12: expected something that R has"):
        from_source(program + "def f(x: R.Object): return m(x, x)")


def test_macro_that_is_not_hygienic() -> None:
    @R.macro(hygienic=False)
    def doubled():
        return y + y

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        return doubled()

    assert ops(main) == ["exp", "add", "return"]


def test_function_added_to_a_module() -> None:
    @R.function
    def helper(x: R.Tensor(("n",), "float32")):
        return x + x

    @I.ir_module
    class Module:
        double = helper

        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            return Module.double(x)

    assert set(Module) == {"double", "main"}


def test_from_source_reads_imports_of_tvm() -> None:
    mod = from_source(
        """
# from tvm.script import ir as I
from tvm.script import relax as R
import numpy as np
size = np.prod((2, 2))
@R.function
def main(x: R.Tensor((size,), "float32")):
    return x
"""
    )
    assert str(mod.struct_info.ret) == "!relax.tensor<[4], f32>"


def test_operators_of_values_in_the_builder() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), F32))
    with bb.function("main", [x]):
        y = 1.0 + x
        bb.emit_func_output((y - 2.0).astype("float16"))
    assert "relax.astype" in str(bb.get())


def test_error_of_operators_on_what_is_no_tensor() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.ShapeStructInfo(("n",)))
    with pytest.raises(TypeError, match="expected a tensor, but got a value of type"):  # noqa: SIM117
        with bb.function("main", [x]):
            bb.emit(x + 1)


def test_scalars_become_tensors_where_operators_take_them(load) -> None:
    body = "y = R.add(x, s)\nz = R.multiply(y, R.prim_value(2.0))\nreturn R.take(z, i, axis=0)"
    head = 'x: R.Tensor(("n",), "float32"), s: R.Prim("float32"), i: R.Prim("int64")'
    assert "float64" not in str(read("return R.add(x, s)", head))
    with pytest.raises(ScriptError, match="of the same data type"):
        read(body, head)
    main = load(read(body.replace("R.prim_value(2.0)", "2.0"), head))
    assert np.from_dlpack(main(np.arange(3, dtype=F32), 0.5, 2)).item() == 5.0


def test_gr15_branch_on_a_shape(load) -> None:
    body = "n = T.int64()\nif n % 2 == 0:\n    y = x + 1.0\nelse:\n    y = x\nreturn y"
    main = load(read(body, 'x: R.Tensor(("n",), "float32")'))
    assert np.from_dlpack(main(np.zeros(2, F32))).tolist() == [1.0, 1.0]
    assert np.from_dlpack(main(np.zeros(1, F32))).tolist() == [0.0]


def test_emit_te_calls_a_kernel_made_on_the_spot(load) -> None:
    from relax_mlir import te, topi

    def scaled(x, factor):
        return te.compute(x.shape, lambda i: x[i] * factor, name="scaled")

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.emit_te(scaled, x, 3.0, primfunc_name_hint="triple")
        return R.emit_te(topi.add, x, y)

    assert "triple" in main.module
    assert np.from_dlpack(load(main)(np.ones(3, F32))).tolist() == [4.0] * 3


def test_functions_of_python_are_left_out_with_a_warning():
    text = """
@I.ir_module
class Module:
    @I.pyfunc
    def helper(self, x):
        return x

    @R.function
    def main(x: R.Object):
        return x
"""
    with pytest.warns(UserWarning, match="'helper' is a function of Python") as caught:
        mod = from_source(text)
    assert [(item.lineno, item.filename) for item in caught] == [(5, "<text>")]
    assert [gvar.name for gvar in mod.get_global_vars()] == ["main"]
