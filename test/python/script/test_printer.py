"""Modules and functions as TVMScript: what each part of a program is written as."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import IRModule, op, structural_equal
from relax_mlir.script import ScriptError, from_source, printer


def module(text):
    return IRModule(text)


def body(text, **options):
    """Return the lines of the only function of a module, without indentation."""
    lines = printer.script(module(text), **options).split("\n")
    start = next(n for n, line in enumerate(lines) if line.strip().startswith("def "))
    return [line.strip() for line in lines[start:]]


def statements(text, **options):
    return body(text, **options)[1:]


def annotation(type_):
    """Return how a parameter of a type is written."""
    text = f"relax.func private @f(%x: {type_}) -> !relax.object {{ relax.return %x : {type_} }}"
    head = body(text)[0]
    return head.removeprefix("def f(x: ").removesuffix(") -> R.Object:")


MAIN = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n * 4], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %2 = relax.flatten %1 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
    relax.output %2 : !relax.tensor<[n * 4], f32>
  }
  relax.return %0 : !relax.tensor<[n * 4], f32>
}
"""
MAIN_SCRIPT = """\
# from relax_mlir.script import ir as I
# from relax_mlir.script import tir as T
# from relax_mlir.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n * 4",), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.exp(x)
            gv: R.Tensor((n * 4,), dtype="float32") = R.flatten(lv)
            R.output(gv)
        return gv"""


def test_rf14_module_as_text():
    assert module(MAIN).script() == MAIN_SCRIPT


def test_rf14_function_as_text():
    function = module(MAIN)["main"]
    text = function.script()
    assert text.split("\n\n")[1].startswith("@R.function\ndef main(x: R.Tensor")
    again = from_source(text)
    assert structural_equal(again.module, MAIN)
    assert again.script() == text


@pytest.mark.parametrize(
    "of",
    [
        lambda mod: mod,
        lambda mod: mod.module,
        lambda mod: mod.operation,
        lambda mod: str(mod),
    ],
    ids=["IRModule", "Module", "Operation", "text"],
)
def test_what_is_printed(of):
    mod = module(MAIN)
    assert printer.script(of(mod)) == MAIN_SCRIPT


def test_builder_is_printed(write, tensor):
    assert "gv: R.Tensor" in printer.script(write(op.exp, tensor((2,))))


def test_error_of_what_is_no_program():
    with pytest.raises(TypeError, match="expected a module or a function, but got 3"):
        printer.script(3)


# ------------------------------------------------------------------------------------- StructInfo


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("!relax.tensor<[n, 4], f32>", 'R.Tensor(("n", 4), dtype="float32")'),
        ("!relax.tensor<[n], bf16>", 'R.Tensor(("n",), dtype="bfloat16")'),
        ("!relax.tensor<[], i1>", 'R.Tensor((), dtype="bool")'),
        ("!relax.tensor<ndim = 2, ui8>", 'R.Tensor(dtype="uint8", ndim=2)'),
        ("!relax.tensor<[n]>", 'R.Tensor(("n",))'),
        ("!relax.tensor<*>", "R.Tensor"),
        ("!relax.tensor<*, f8E4M3FN>", 'R.Tensor(dtype="float8_e4m3fn")'),
        ("!relax.tensor<[n], f32, @a>", 'R.Tensor(("n",), dtype="float32", vdevice="@a")'),
        ("!relax.shape<[n, 2]>", 'R.Shape(["n", 2])'),
        ("!relax.shape<ndim = 2>", "R.Shape(ndim=2)"),
        ("!relax.shape<*>", "R.Shape"),
        ("!relax.shape<var = s, ndim = 2>", 'R.Shape(var="s", ndim=2)'),
        ("!relax.prim<f32>", 'R.Prim("float32")'),
        ("!relax.prim<i64, n>", 'R.Prim(value="n")'),
        ("!relax.prim<i32, 3>", 'R.Prim("int32", value=3)'),
        ("!relax.object", "R.Object"),
        ("!relax.tuple<>", "R.Tuple"),
        ("!relax.tuple<!relax.object, !relax.tuple<>>", "R.Tuple(R.Object, R.Tuple)"),
        ("!relax.func<derive = @my.derive>", 'R.Callable(derive_func="my.derive")'),
        (
            "!relax.func<(!relax.tensor<[k], f32>) -> !relax.shape<[k]>, impure>",
            'R.Callable((R.Tensor(("k",), dtype="float32"),), R.Shape(["k"]), False)',
        ),
    ],
)
def test_struct_info(type_, text):
    assert annotation(type_) == text


def test_tensor_of_shape_variable():
    head = body("""relax.func private @f(%s: !relax.shape<var = s, ndim = 2>,
      %x: !relax.tensor<var = s, ndim = 2, f32>) -> !relax.object {
      relax.return %x : !relax.tensor<var = s, ndim = 2, f32>
    }""")[0]
    assert 'x: R.Tensor(var="s", dtype="float32", ndim=2)' in head


@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        ("n * 4 + 1", "n * 4 + 1"),
        ("n - m", "-m + n"),
        ("-n", "-n"),
        ("(n + 1) * (m + 1)", "m * n + m + n + 1"),
        ("(n + 1) floordiv 2 * m", "m * ((n + 1) // 2)"),
        ("n floordiv 2 mod 3", "n // 2 % 3"),
        ("n floordiv (m + 1)", "n // (m + 1)"),
        ("n floordiv (m floordiv 2)", "n // (m // 2)"),
        ("min(n, 4) - max(m, -1)", "T.min(n, 4) - T.max(m, -1)"),
        ("select(lt(n, m), n, 4)", "T.Select(T.LT(n, m), n, 4)"),
        (
            "select(and(le(n, 4), not(eq(n, m))), 1, 2)",
            "T.Select(T.And(T.Not(T.EQ(m, n)), T.LE(n, T.int64(4))), 1, 2)",
        ),
        ("or(n, m)", 'I.mlir_attr("#relax.expr<or(m, n)>")'),
        ("eq(n, m) + 1", 'I.mlir_attr("#relax.expr<eq(m, n) + 1>")'),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_dimensions(dimension, text):
    lines = statements(f"""relax.func private @f(%s: !relax.shape<[n, m]>) -> !relax.object {{
      %0 = relax.shape <[{dimension}]>
      relax.return %0 : !relax.shape<[{dimension}]>
    }}""")
    assert lines[-1] == f"return R.shape([{text}])"


# ---------------------------------------------------------------------------------------- options


def test_options_of_names():
    text = printer.script(
        MAIN.replace(
            "relax.return %0",
            "%3 = relax.global_var @main : !relax.func<("
            "!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>, pure>\n  relax.return %0",
        ),
        name="Mine",
        ir_prefix="J",
        module_alias="this",
        indent_spaces=2,
    )
    assert "@J.ir_module\nclass Mine:\n  @R.function\n  def main(" in text
    assert "    this = Mine\n" in text
    assert "= this.main" in text


def test_name_of_the_class():
    text = printer.script(f"module @Model {{ {MAIN} }}")
    assert "class Model:" in text
    assert structural_equal(from_source(text), f"module @Model {{ {MAIN} }}")


def test_module_alias_left_out():
    text = printer.script(
        "relax.func @f(%x: !relax.object) -> !relax.object {\n"
        "%0 = relax.call @f(%x) : (!relax.object) -> !relax.object\n"
        "relax.return %0 : !relax.object }",
        module_alias="",
    )
    assert "gv: R.Object = Module.f(x)" in text
    assert "cls" not in text
    from_source(text)


@pytest.mark.parametrize("option", ["show_all_struct_info", "show_all_ty", "extra_config"])
def test_struct_info_left_out(option):
    value = {"relax.show_all_struct_info": False} if option == "extra_config" else False
    text = printer.script(MAIN, **{option: value})
    assert "lv = R.exp(x)\n            gv = R.flatten(lv)" in text
    assert structural_equal(from_source(text), MAIN)


def test_struct_info_that_does_not_follow_is_not_left_out():
    program = """relax.func impure @f(%x: !relax.tensor<[2], f32>) -> !relax.object {
      %0 = relax.exp %x : (!relax.tensor<[2], f32>) -> !relax.tensor<ndim = 1, f32>
      %1 = relax.call_packed "g"(%0) : (!relax.tensor<ndim = 1, f32>) -> !relax.shape<*>
      relax.return %1 : !relax.shape<*>
    }"""
    text = printer.script(program, show_all_ty=False)
    assert 'gv: R.Tensor(dtype="float32", ndim=1) = R.exp(x)' in text
    assert 'gv1: R.Shape = R.call_packed("g", gv)' in text
    assert structural_equal(from_source(text), program)


def test_line_numbers():
    lines = printer.script(MAIN, print_line_numbers=True).split("\n")
    assert lines[0] == " 1 # from relax_mlir.script import ir as I"
    assert lines[5] == " 6 class Module:"
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(lines) + 1))


def test_syntax_sugar_of_tuples():
    program = """relax.func @f(%x: !relax.object) -> !relax.object {
      %0 = relax.tuple %x, %x : !relax.object, !relax.object
      relax.return %0 : !relax.tuple<!relax.object, !relax.object>
    }"""
    assert statements(program) == ["return (x, x)"]
    assert statements(program, syntax_sugar=False) == ["return R.tuple(x, x)"]
    assert structural_equal(from_source(printer.script(program, syntax_sugar=False)), program)


def test_object_addresses():
    lines = statements(MAIN, show_object_address=True)
    assert any(line.startswith("lv_0x") for line in lines)


def test_verbose_expressions():
    lines = body(MAIN, verbose_expr=True)
    assert 'R.Tensor(("n", T.int64(4)), dtype="float32")' in lines[0]


def test_error_of_unknown_options():
    with pytest.raises(
        TypeError, match=r"unknown option 'show_al_ty' .*did you mean show_all_ty\?"
    ):
        module(MAIN).script(show_al_ty=True)
    with pytest.raises(TypeError, match="unknown option 'colour' of the printer: there are name, "):
        module(MAIN).script(colour=True)
    with pytest.raises(TypeError, match="unknown key of extra_config 'x' of the printer"):
        module(MAIN).script(extra_config={"x": 1})
    with pytest.raises(TypeError, match="only one of the options show_all_struct_info and show_al"):
        module(MAIN).script(show_all_struct_info=True, show_all_ty=True)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("ir_prefix", "", "expected a name in Python as ir_prefix, but got ''"),
        ("name", "1st", "expected a name in Python as name, but got '1st'"),
        ("module_alias", "class", "expected a name in Python as module_alias, but got 'class'"),
        ("indent_spaces", 0, "expected 1 or more as indent_spaces, but got 0"),
    ],
)
def test_error_of_options(option, value, message):
    with pytest.raises(ValueError, match=message):
        module(MAIN).script(**{option: value})


# ------------------------------------------------------------------------------------------ names


def test_names_are_those_of_locations():
    types = "(!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>"
    names = ["a", "a", "lambda", "2nd.part", "R"]
    lines = [f'%{n + 1} = relax.exp %{n} : {types} loc("{name}")' for n, name in enumerate(names)]
    program = f"""relax.func @f(%0: !relax.tensor<[2], f32>) -> !relax.object {{
      {chr(10).join(lines)}
      relax.return %5 : !relax.tensor<[2], f32>
    }}"""
    made = [line.split(":")[0] for line in statements(program) if "= R." in line]
    assert made == ["a", "a_1", "lambda_", "v2nd_part", "R_1"]


def test_names_of_parameters_that_shape_variables_have():
    text = printer.script("""relax.func @f(%n: !relax.prim<i64, n>) -> !relax.prim<i64, n> {
      relax.return %n : !relax.prim<i64, n>
    }""")
    assert 'def f(n_1: R.Prim(value="n")) -> R.Prim(value="n"):' in text
    from_source(text)


def test_functions_whose_names_are_none_of_python():
    program = """
    relax.func private @"main.f"(%x: !relax.object) -> !relax.object {
      relax.return %x : !relax.object
    }
    relax.func @import(%x: !relax.object) -> !relax.object {
      %0 = relax.call @"main.f"(%x) : (!relax.object) -> !relax.object
      relax.return %0 : !relax.object
    }"""
    text = printer.script(program)
    assert '@R.function(private=True, name="main.f")\n    def main_f(' in text
    assert '@R.function(name="import")\n    def import_(' in text
    assert 'gv: R.Object = cls["main.f"](x)' in text
    assert structural_equal(from_source(text), program)


# -------------------------------------------------------------------------------- leaves, constants


def test_leaves_are_written_where_they_are_used():
    lines = statements("""relax.func @f(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
      %c = relax.constant dense<2.0> : tensor<f32>
      %0 = relax.multiply %x, %c : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
      %s = relax.shape <[n * 4]>
      %1 = relax.reshape %0, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 4]>) -> !relax.tensor<[n * 4], f32>
      %2 = relax.prim_value 3 : i64
      %3 = relax.prim_value 2.5 : f32
      %4 = relax.string "fast"
      %5 = relax.dtype i8
      %6 = relax.null_value
      %7 = relax.tuple %2, %3, %4, %5, %6 : !relax.prim<i64, 3>, !relax.prim<f32>, !relax.object, !relax.object, !relax.object
      relax.return %7 : !relax.tuple<!relax.prim<i64, 3>, !relax.prim<f32>, !relax.object, !relax.object, !relax.object>
    }""")  # noqa: E501
    assert lines == [
        "n = T.int64()",
        'gv: R.Tensor((n, 4), dtype="float32") = R.multiply(x, R.const(2.0, "float32"))',
        'gv1: R.Tensor((n * 4,), dtype="float32") = R.reshape(gv, R.shape([n * 4]))',
        'return (R.prim_value(3), R.prim_value(T.float32(2.5)), R.str("fast"), R.dtype("int8"), '
        "R.null_value())",
    ]


def test_leaves_that_are_used_twice_are_bound():
    lines = statements("""relax.func @f() -> !relax.object {
      %c = relax.constant dense<2> : tensor<i32>
      %0 = relax.add %c, %c : (!relax.tensor<[], i32>, !relax.tensor<[], i32>) -> !relax.tensor<[], i32>
      relax.return %0 : !relax.tensor<[], i32>
    }""")  # noqa: E501
    assert lines[0] == 'gv: R.Tensor((), dtype="int32") = R.const(2, "int32")'


@pytest.mark.parametrize(
    ("attr", "text"),
    [
        ("dense<2.5> : tensor<f16>", 'R.const(2.5, "float16")'),
        ("dense<0x7F800000> : tensor<f32>", 'R.const(float("inf"), "float32")'),
        ("dense<-1.5> : tensor<bf16>", 'R.const(-1.5, "bfloat16")'),
        ("dense<true> : tensor<i1>", 'R.const(True, "bool")'),
        ("dense<200> : tensor<ui8>", 'R.const(200, "uint8")'),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", 'R.const([[1, 2], [3, 4]], "int64")'),
        ("dense<[true, false]> : tensor<2xi1>", 'R.const([True, False], "bool")'),
        ("dense<1.0> : tensor<9x9xf32>", 'metadata["relax.expr.Constant"][0]'),
        ("dense<[1.0, 2.0]> : tensor<2xf8E5M2>", 'metadata["relax.expr.Constant"][0]'),
        ("dense<0x7FC00001> : tensor<f32>", 'metadata["relax.expr.Constant"][0]'),
        ("dense<> : tensor<0x2xf32>", 'metadata["relax.expr.Constant"][0]'),
    ],
)
def test_constants(attr, text):
    program = f"""relax.func @f() -> !relax.object {{
      %c = relax.constant {attr}
      relax.return %c : !relax.tensor<{attr.split("tensor<")[1].replace("x", ", ")[:-1].join("[]")}>
    }}"""
    shape, element = [], attr.split("tensor<")[1][:-1]
    *dims, element = element.split("x")
    shape = ", ".join(dims)
    program = program.split("!relax.tensor<")[0] + f"!relax.tensor<[{shape}], {element}>\n}}"
    assert statements(program)[-1] == f"return {text}"
    assert structural_equal(from_source(printer.script(program)), program)


def test_metadata_lists_equal_constants_once():
    program = """relax.func @f() -> !relax.object {
      %a = relax.constant dense<1.0> : tensor<64xf32>
      %b = relax.constant dense<1.0> : tensor<64xf32>
      %c = relax.tuple %a, %b : !relax.tensor<[64], f32>, !relax.tensor<[64], f32>
      relax.return %c : !relax.tuple<!relax.tensor<[64], f32>, !relax.tensor<[64], f32>>
    }"""
    text = printer.script(program)
    assert text.count("ffi.Tensor") == 1
    assert 'metadata["relax.expr.Constant"][1]' not in text
    left_out = printer.script(program, show_meta=False)
    assert "# Metadata omitted. Use show_meta=True in script() method to show it." in left_out
    assert "dense" not in left_out


# ------------------------------------------------------------------------------- parts of programs


def test_branches():
    assert statements("""relax.func @f(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
        %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        %2 = relax.exp %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.yield %2 : !relax.tensor<[n], f32>
      } else {
        relax.yield %y : !relax.tensor<[n], f32>
      }
      relax.return %0 : !relax.tensor<[n], f32>
    }""") == [  # noqa: E501
        "n = T.int64()",
        "if c:",
        'gv1: R.Tensor((n,), dtype="float32") = R.exp(x)',
        'gv: R.Tensor((n,), dtype="float32") = R.exp(gv1)',
        "else:",
        'gv: R.Tensor((n,), dtype="float32") = y',
        "return gv",
    ]


def test_outputs_that_are_not_values_of_the_block():
    assert statements("""relax.func @f(%x: !relax.object) -> !relax.object {
      %0:2 = relax.dataflow -> !relax.object, !relax.object {
        relax.output %x, %x : !relax.object, !relax.object
      }
      relax.return %0#1 : !relax.object
    }""") == [
        "with R.dataflow():",
        "gv: R.Object = x",
        "gv1: R.Object = x",
        "R.output(gv, gv1)",
        "return gv1",
    ]


def test_closures():
    assert statements("""relax.func impure @f(%x: !relax.tensor<[n], f32>) -> !relax.object {
      %f = relax.closure impure rec %self (%y: !relax.tensor<[n, k], f32>) -> !relax.object attributes {relax.note = 1} {
        %0 = relax.call %self : !relax.func<(!relax.tensor<[n, k], f32>) -> !relax.object, impure> (%y) : (!relax.tensor<[n, k], f32>) -> !relax.object
        %s = relax.shape <[n, k]>
        relax.return %s : !relax.shape<[n, k]>
      }
      relax.return %f : !relax.func<(!relax.tensor<[n, k], f32>) -> !relax.object, impure>
    }""") == [  # noqa: E501
        "n = T.int64()",
        "@R.function(pure=False)",
        'def gv(y: R.Tensor((n, "k"), dtype="float32")) -> R.Object:',
        'R.func_attr({"relax.note": 1})',
        "k = T.int64()",
        "gv1: R.Object = gv(y)",
        "return R.shape([n, k])",
        "",
        "return gv",
    ]


def test_attributes_of_functions():
    program = """relax.func @f() -> !relax.object attributes {a = "\\22x\\22", b = [1, true, 2.5], c = {d = -1}, e, g = 3 : i32, relax.force_pure = true} {
      %0 = relax.null_value
      relax.return %0 : !relax.object
    }"""  # noqa: E501
    text = printer.script(program)
    assert (
        'R.func_attr({"a": \'"x"\', "b": [1, True, 2.5], "c": {"d": -1}, '
        '"e": I.mlir_attr("unit"), "g": I.mlir_attr("3 : i32"), "relax.force_pure": True})'
    ) in text
    assert structural_equal(from_source(text), program)


def test_dimensions_as_attributes():
    program = """relax.func @f() -> !relax.object
        attributes {a = #relax.expr<3>, b = #relax.expr<n>} {
      %0 = relax.null_value
      relax.return %0 : !relax.object
    }"""
    text = printer.script(program)
    assert '"a": I.mlir_attr("#relax.expr<3>"), "b": I.mlir_attr("#relax.expr<n>")' in text
    assert structural_equal(from_source(text), program)


def test_devices():
    program = """module attributes {relax.global_info = {%s}} {
      relax.func @f(%%x: !relax.tensor<[2], f32, @%s>) -> !relax.object {
        relax.return %%x : !relax.tensor<[2], f32, @%s>
      }
    }"""
    listed = program % (
        'vdevice0 = #relax.vdevice<"llvm", 0>, vdevice1 = #relax.vdevice<"llvm", 1, "local">',
        "vdevice1",
        "vdevice1",
    )
    text = printer.script(listed)
    assert (
        'I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), '
        'I.vdevice("llvm", 1, "local")]})'
    ) in text
    assert 'vdevice="llvm:1:local"' in text
    assert structural_equal(from_source(text), listed)
    named = program % ('cpu = #relax.vdevice<"llvm -mcpu=\\22x\\22", 0>', "cpu", "cpu")
    text = printer.script(named)
    assert """I.module_global_infos({"cpu": [I.vdevice('llvm -mcpu="x"', 0, "global")]})""" in text
    assert 'vdevice="cpu"' in text
    assert structural_equal(from_source(text), named)


def test_what_tvmscript_has_no_words_for():
    program = """
    func.func private @k(memref<?xf32>)
    relax.func @f(%x: !relax.tensor<[2], f32>) -> !relax.object {
      %0 = relax.builtin.dim %x[0] : !relax.tensor<[2], f32>
      %1 = relax.exp %x {my.note = "\\00"} : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
      relax.builtin.check_bounds %0 to 3 of "n"
      relax.return %1 : !relax.tensor<[2], f32>
    }
    relax.func @g(%x: !relax.object {my.attr}) -> !relax.object {
      relax.return %x : !relax.object
    }"""
    text = printer.script(program)
    assert (
        'gv = I.mlir_op("relax.builtin.dim", x, attrs={"index": 0}, types=(I.mlir_type("i64"),))\n'
    ) in text
    assert """I.mlir_op("relax.exp", x, attrs={"my.note": '\\x00'}, types=(R.Tensor((2,)""" in text
    bounds = 'I.mlir_op("relax.builtin.check_bounds", gv, attrs={"name": "n", "upper": 3})'
    assert f"{bounds}\n" in text
    assert 'R.func_attr({"arg_dicts": I.mlir_attr("[{my.attr}]")})' in text
    assert "I.mlir(" not in text
    assert structural_equal(from_source(text), program)


def test_a_text_of_mlir_is_part_of_a_module():
    text = module("relax.func @f(!relax.tensor<[n.x], f32>) -> !relax.object")["f"].script()
    assert "class Module:" in text
    assert "I.mlir(" in text
    assert from_source(text).get_global_vars() == [relax.GlobalVar("f")]


def test_empty_module():
    text = printer.script("module {}")
    assert text.endswith("class Module:\n    pass")
    assert structural_equal(from_source(text), "module {}")


def test_defaults_of_operators_are_those_of_the_dialect():
    """Defaults that the text leaves out are the same in Python as in the dialect."""
    program = """relax.func @f(%x: !relax.tensor<[2, 4], f32>, %g: !relax.tensor<[4], f32>, %i: !relax.tensor<[3], i64>) -> !relax.object {
      %0 = relax.sum %x : (!relax.tensor<[2, 4], f32>) -> !relax.tensor<[], f32>
      %1 = relax.softmax %x : (!relax.tensor<[2, 4], f32>) -> !relax.tensor<[2, 4], f32>
      %2 = relax.concat %x, %x : (!relax.tensor<[2, 4], f32>, !relax.tensor<[2, 4], f32>) -> !relax.tensor<[4, 4], f32>
      %3 = relax.layer_norm %x, %g, %g {axes = array<i64: -1>} : (!relax.tensor<[2, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[2, 4], f32>
      %4 = relax.take %x, %i {axis = 0} : (!relax.tensor<[2, 4], f32>, !relax.tensor<[3], i64>) -> !relax.tensor<[3, 4], f32>
      relax.return %x : !relax.tensor<[2, 4], f32>
    }"""  # noqa: E501
    stated = (
        program.replace("relax.sum %x", "relax.sum %x {keepdims = false}")
        .replace("relax.softmax %x", "relax.softmax %x {axis = -1}")
        .replace("relax.concat %x, %x", "relax.concat %x, %x {axis = 0}")
        .replace("-1>}", "-1>, epsilon = 1.0e-05, center = true, scale = true}")
        .replace(
            "{axis = 0} : (!relax.tensor<[2, 4], f32>, !relax.tensor<[3]",
            '{axis = 0, mode = "clip"} : (!relax.tensor<[2, 4], f32>, !relax.tensor<[3]',
        )
    )
    assert stated.count("{") > program.count("{")
    text = printer.script(program)
    assert printer.script(stated) == text
    assert structural_equal(from_source(text), stated)
    assert structural_equal(program, stated)


# ----------------------------------------------------------------------------------------- colours


def test_rf14_show_is_plain_where_there_are_no_colours(capsys):
    module(MAIN).show()
    assert capsys.readouterr().out == MAIN_SCRIPT + "\n"
    module(MAIN)["main"].show(show_all_ty=False)
    assert "lv = R.exp(x)" in capsys.readouterr().out


def test_rf14_show_in_colours(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    module(MAIN).show()
    text = capsys.readouterr().out
    assert "\x1b[" in text
    assert strip_colours(text) == MAIN_SCRIPT + "\n"
    monkeypatch.setenv("NO_COLOR", "1")
    module(MAIN).show()
    assert capsys.readouterr().out == MAIN_SCRIPT + "\n"


def strip_colours(text):
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("style", ["light", "dark", "ansi", "monokai"])
def test_styles(style, capsys):
    module(MAIN).show(style=style)
    text = capsys.readouterr().out
    assert "\x1b[" in text
    assert strip_colours(text) == MAIN_SCRIPT + "\n"


def test_error_of_unknown_style():
    with pytest.raises(ValueError, match=r"expected a style of Pygments, .* but got 'loud'"):
        module(MAIN).show(style="loud")


def test_rf14_html_in_notebooks(monkeypatch, capsys):
    for value in (module(MAIN), module(MAIN)["main"], from_source(module(MAIN)["main"].script())):
        html = value._repr_html_()
        assert "<span" in html
        assert "R.flatten" in html.replace("</span>", "").replace('<span style="color: #666">', "")
    shown = []
    shell = type("ZMQInteractiveShell", (), {})()
    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, shown.append
    notebook = types.ModuleType("IPython")
    notebook.get_ipython, notebook.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    module(MAIN).show()
    assert "<span" in shown[0]
    assert capsys.readouterr().out == ""


def test_show_without_pygments(tmp_path):
    (tmp_path / "pygments.py").write_text("raise ImportError")
    code = f"""
import sys
sys.modules["pygments"] = None
import relax_mlir.script.printer.highlight as h
h.importlib.util.find_spec = lambda name: None
from relax_mlir import IRModule
mod = IRModule('''{MAIN}''')
mod.show(style="dark")
print(mod._repr_html_()[:5])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{MAIN_SCRIPT}\n<pre>\n"
    assert 'pip install "pygments>=2.17,<3"' in done.stderr


def test_error_of_black_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "black", None)
    with pytest.raises(ImportError, match=r"black_format=True needs Black.*pip install black"):
        module(MAIN).show(black_format=True)


def test_black_breaks_lines(monkeypatch, capsys):
    black = types.ModuleType("black")
    black.Mode = lambda: None
    black.format_str = lambda text, mode: text.replace("class", "\nclass")
    monkeypatch.setitem(sys.modules, "black", black)
    module(MAIN).show(black_format=True)
    assert "\n\nclass Module" in capsys.readouterr().out


def test_long_metadata_is_shown_where_it_is_asked_for(capsys):
    numbers = ", ".join(str(n) for n in range(20_000))
    program = f"""relax.func @f() -> !relax.object {{
      %c = relax.constant dense<[{numbers}]> : tensor<20000xi64>
      relax.return %c : !relax.tensor<[20000], i64>
    }}"""
    module(program).show()
    assert "# Metadata omitted" in capsys.readouterr().out
    module(program).show(show_meta=True)
    assert "metadata = tvm.ir.load_json" in capsys.readouterr().out
    assert structural_equal(from_source(module(program).script()), program)


def test_context_of_the_module_is_used():
    with ir.Context():
        mine = module(MAIN)
    assert mine.script() == MAIN_SCRIPT


def test_infos_without_content_are_kept() -> None:
    text = """
@I.ir_module
class M:
    I.module_global_infos({"dummy": [I.dummy_global_info(), I.dummy_global_info()]})

    @R.function
    def main(x: R.Object):
        return x
"""
    module = from_source(text)
    printed = module.script()
    assert '"dummy": [I.dummy_global_info(), I.dummy_global_info()]' in printed
    assert structural_equal(module, from_source(printed))
    with pytest.raises(
        ScriptError, match=r"expected I.vdevice\(...\), R.device_mesh\(...\) or .* but got 3"
    ):
        from_source(text.replace("I.dummy_global_info(), ", "3, "))
