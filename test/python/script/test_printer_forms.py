"""This project's own forms, for programs that TVMScript has no words for."""

from __future__ import annotations

import pytest
from relax_mlir import structural_equal
from relax_mlir.script import ScriptError, from_source, printer


def text_of(program: str) -> str:
    """Return the text of a program, which is parsed back to an equal one."""
    text = printer.script(program)
    assert "I.mlir(" not in text
    again = from_source(text)
    assert structural_equal(again, program)
    assert again.script() == text
    return text


def test_rf14_sequences():
    text = text_of("""
    relax.func @f(%x: !relax.tensor<[n], f32>) -> !relax.object {
      %0 = relax.seq -> !relax.tensor<[n], f32> {
        %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        %2 = relax.seq -> !relax.tensor<[n], f32> {
          relax.yield %1 : !relax.tensor<[n], f32>
        }
        %3 = relax.add %1, %2 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.yield %3 : !relax.tensor<[n], f32>
      }
      relax.return %0 : !relax.tensor<[n], f32>
    }""")  # noqa: E501
    body = text.split("n = T.int64()\n")[1]
    assert [line[8:] for line in body.split("\n")] == [
        "with I.seq():",
        '    gv1: R.Tensor((n,), dtype="float32") = R.exp(x)',
        "    with I.seq():",
        '        gv2: R.Tensor((n,), dtype="float32") = gv1',
        '    gv: R.Tensor((n,), dtype="float32") = R.add(gv1, gv2)',
        "return gv",
    ]


def test_rf14_sequences_in_dataflow_blocks():
    text = text_of("""
    relax.func @f(%x: !relax.object) -> !relax.object {
      %0 = relax.dataflow -> !relax.object {
        %1 = relax.seq -> !relax.object {
          %2 = relax.dataflow -> !relax.object {
            %3 = relax.shape <[2]>
            relax.output %x : !relax.object
          }
          relax.yield %2 : !relax.object
        }
        relax.output %1 : !relax.object
      }
      relax.return %0 : !relax.object
    }""")
    assert text.count("with R.dataflow():") == 2


@pytest.mark.parametrize(
    ("stated", "written"),
    [
        ("!relax.tensor<ndim = 1>", "R.Tensor(ndim=1)"),
        ("!relax.object", "R.Object"),
        ("!relax.tensor<[n], f32>", None),
    ],
)
def test_rf14_types_of_branches_sequences_and_outputs(stated, written):
    text = text_of(f"""
    relax.func @f(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.object {{
      %0 = relax.if %c : !relax.tensor<[], i1> -> {stated} {{
        relax.yield %x : !relax.tensor<[n], f32>
      }} else {{
        %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.yield %1 : !relax.tensor<[n], f32>
      }}
      %2 = relax.seq -> {stated} {{
        relax.yield %x : !relax.tensor<[n], f32>
      }}
      %3:2 = relax.dataflow -> {stated}, !relax.tensor<[n], f32> {{
        relax.output %x, %x : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
      }}
      %4 = relax.tuple %0, %2, %3#0 : {stated}, {stated}, {stated}
      relax.return %4 : !relax.tuple<{stated}, {stated}, {stated}>
    }}""")
    if written is None:
        assert "I.annotate" not in text
        return
    assert text.count(f"I.annotate(types=({written},))\n") == 2
    assert f'I.annotate(types=({written}, R.Tensor((n,), dtype="float32")))\n' in text


def test_rf14_attributes_of_regions_and_arguments():
    text = text_of("""
    relax.func private @g(!relax.object {my.a = 1 : i64}) -> (!relax.object {my.b}) attributes {my.c = "d"}
    relax.func @f(%x: !relax.object {my.attr = 2 : i64}, %c: !relax.tensor<[], i1>) -> !relax.object {
      %0 = relax.dataflow -> !relax.object attributes {my.first = 1 : i64} {
        relax.output %x : !relax.object
      }
      %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object attributes {my.note} {
        relax.yield %x : !relax.object
      } else {
        relax.yield %0 : !relax.object
      }
      %2 = relax.seq -> !relax.object attributes {my.second = "t"} {
        relax.yield %1 : !relax.object
      }
      relax.return %2 : !relax.object
    }""")  # noqa: E501
    assert 'R.func_attr({"arg_dicts": [{"my.attr": 2}, {}]})' in text
    assert 'I.annotate(attrs={"my.first": 1})\n        with R.dataflow():' in text
    assert 'I.annotate(attrs={"my.note": I.mlir_attr("unit")})\n        if c:' in text
    assert 'I.annotate(attrs={"my.second": "t"})\n        with I.seq():' in text


def test_rf14_kernels_that_are_declared():
    text = text_of("""
    func.func private @a(memref<?xf32>, i64, memref<4x?xi8>) attributes {my.note = 1 : i64}
    func.func private @b(tensor<?x4xf32>, i64, tensor<?x4xf32>) -> tensor<?x4xf32>
    func.func private @c()
    func.func private @d(memref<2xf32>)""")
    assert text.endswith("""
    @T.prim_func(private=True)
    def d(A: T.Buffer((2,), "float32")):
        ...""")
    assert 'T.func_attr({"my.note": 1})' in text


def test_hints_name_a_device():
    text = text_of("""
    module attributes {relax.global_info = {
        vdevice0 = #relax.vdevice<"llvm", 0>, vdevice1 = #relax.vdevice<"cuda", 1>}} {
      relax.func @f(%x: !relax.tensor<[2], f32>) -> !relax.object {
        %0 = relax.hint_on_device %x on 1 : !relax.tensor<[2], f32>
        %1 = relax.hint_on_device %0 on 0 : !relax.tensor<[2], f32>
        relax.return %1 : !relax.tensor<[2], f32>
      }
    }""")
    assert 'R.hint_on_device(x, R.device("cuda", 1))' in text
    assert 'R.hint_on_device(gv, R.device("cpu", 0))' in text


PROGRAM = """
@R.function
def f(x: R.Object, c: R.Tensor((), "bool")):
    {body}
    return x
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "I.annotate(attrs={'a': 1})\n    y = x",
            "expected an if statement, a dataflow block or I.seq after I.annotate",
        ),
        (
            "I.annotate(types=(R.Object, R.Object))\n    with I.seq():\n        y = x",
            "expected 1 types, one for each value of the statement, but got 2",
        ),
        (
            "I.annotate(types=(R.Tensor,))\n    with I.seq():\n        y = x",
            "expected a value of type '!relax.tensor<*>', but got '!relax.object'",
        ),
        (
            "I.annotate(attrs={'a': x})\n    with I.seq():\n        y = x",
            "expected a bool, int, float, str, list, dict or Attribute as 'a', but got",
        ),
        ("with I.seq():\n        pass", "expected the branch to end with a binding of its value"),
        ("with I.seq() as y:\n        pass", "expected 'with R.dataflow():'"),
        ("I.annotate(types=(3,))", "expected StructInfo"),
    ],
    ids=["next", "count", "type", "attribute", "value", "name", "no-type"],
)
def test_errors_of_our_own_forms(body, message):
    with pytest.raises(ScriptError) as caught:
        from_source(PROGRAM.format(body=body))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@T.prim_func\ndef k():\n    ...", "expected private=True in the decorator"),
        (
            "@T.prim_func(private=True)\ndef k(A: T.Buffer((1,))):\n    A[0] = 1.0\n    ...",
            "expected no statements in a declaration",
        ),
        (
            "@R.function\ndef f(x: R.Object):\n    y = x\n    ...",
            "expected nothing but R.func_attr({...}) and ... in a declaration",
        ),
        (
            "@R.function\ndef f(x: R.Object):\n    R.func_attr({'sym_name': 'g'})\n    ...",
            "expected another name of an attribute than 'sym_name'",
        ),
    ],
    ids=["public", "statements", "relax", "name"],
)
def test_errors_of_declarations(text, message):
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    assert message in str(caught.value)
