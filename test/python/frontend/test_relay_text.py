# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of Relay is read and printed: programs as graphs, and errors at their places."""

from __future__ import annotations

import string

import hypothesis
import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st
from relax_mlir.frontend.relay import ast, parse, parse_expr, structurally_equal, to_text
from relax_mlir.frontend.relay.converters.registry import CONVERTERS, converts

LISTS = "type List[A] { Cons(A, List[A]), Nil, }\n"
HEADER = '#[version = "0.0.5"]\n'


def printed(program):
    """Return a program as text, which has to be the same program, and its own text."""
    text = to_text(program)
    again = parse(text) if isinstance(program, ast.Module) else parse_expr(text)
    assert structurally_equal(program, again), text
    assert to_text(again) == text
    return text


def expression(text):
    """Return an expression that has come through its text."""
    expr = parse_expr(text)
    printed(expr)
    return expr


def body_of(text, name="main"):
    """Return the body of a function of a module that has come through its text."""
    module = parse(text)
    printed(module)
    return module.functions[name].body


def value_of(text):
    expr = expression(text)
    assert isinstance(expr, ast.Constant)
    return expr.data


# -- modules, calls, bindings ---------------------------------------------------------------------


def test_ry01_definitions_call_each_other_and_themselves():
    module = parse("""
        def @twice(%x: Tensor[(2, ?), float32]) -> Tensor[(2, ?), float32] { @thrice(%x) }
        def @thrice(%x: Tensor[(2, ?), float32]) { @thrice(@twice(%x)) }
    """)
    printed(module)
    assert list(module.functions) == ["twice", "thrice"]
    twice = module.functions["twice"]
    assert twice.params[0].type == ast.TensorType((2, ast.ANY), "float32") == twice.result
    assert module.functions["thrice"].result is None
    assert isinstance(twice.body.op, ast.GlobalVar)
    assert twice.body.args[0] is twice.params[0]


@pytest.mark.parametrize("header", ["", HEADER, "v0.0.4\n"])
def test_ry01_bindings_may_end_with_their_line(header):
    module = parse(
        header
        + """
        def @fused(%x, %y, %z) {
          %1 = mul(%x, %y)
          %2 = sub(%1, %z)
          %2
        }
        def @main(%x) {
          %1 = equal(%x, 1)
          if (%1) { %x } else {
            let %2a = div(%x, 2)
            %2 = @fused(%x, 1, 2)
            (%2, %2)
          }
        }""".replace("%2a", "%half")
    )
    printed(module)
    fused = module.functions["fused"].body
    assert (fused.op.name, fused.args[0].op.name) == ("subtract", "multiply")
    branch = module.functions["main"].body
    assert isinstance(branch, ast.If)
    assert branch.condition.args[1].data.dtype == np.dtype("int32")
    assert branch.otherwise.value.op.name == "divide"


def test_ry01_parentheses_on_the_next_line_are_a_call_of_a_name_alone():
    assert isinstance(parse_expr("free_var %x; exp\n(%x)"), ast.Call)
    body = parse("def @main(%x) {\n %0 = exp(%x)\n (%0, %0) }").functions["main"].body
    assert isinstance(body, ast.Tuple)
    call = parse("def @main(%x) { exp(\n fn (%y) { %y }\n (%x)) }").functions["main"].body
    assert isinstance(call.args[0], ast.Call)


def test_ry01_text_that_is_an_expression_is_the_function_main():
    module = parse("fn (%x) {\n %1 = log(%x)\n fn(%y) { add(%y, %1) }\n}")
    assert isinstance(module.functions["main"].body, ast.Function)
    module = parse("free_var %x: float32; free_var %y: float32; %x - %y")
    assert [param.name for param in module.functions["main"].params] == ["x", "y"]


def test_ry01_lets_nest_and_hide():
    let = expression("let %x = 1; let %x = add(%x, %x); %x")
    assert let.body.value.args[0] is let.var
    assert let.body.body is let.body.var
    sequence = expression("free_var %r; ref_write(%r, 1f); ref_read(%r)")
    assert isinstance(sequence, ast.Let)
    assert isinstance(sequence.value, ast.RefWrite)
    assert isinstance(sequence.body, ast.RefRead)


def test_ry01_a_function_that_is_bound_sees_its_own_name():
    let = expression("let %f: fn (int32) -> int32 = fn (%n: int32) -> int32 { %f(%n) }; %f(3)")
    assert let.value.body.op is let.var
    assert let.var.type == ast.FuncType((ast.TensorType((), "int32"),), let.value.result)


def test_ry01_tuples_and_fields():
    expr = expression("free_var %x: (float32, (int32,)); ((%x.0,), (), %x.1.0, (%x))")
    one, unit, field, parenthesized = expr.fields
    assert isinstance(one, ast.Tuple)
    assert len(one.fields) == 1
    assert unit.fields == []
    assert (field.index, field.tuple_value.index) == (0, 1)
    assert isinstance(parenthesized, ast.Var)
    assert parenthesized.type.fields[1] == ast.TupleType((ast.TensorType((), "int32"),))


def test_ry01_names_with_dots_are_names_where_they_are_bound():
    call = expression("free_var %input.1; free_var %input; add(%input.1, %input.0)")
    assert isinstance(call.args[0], ast.Var)
    assert isinstance(call.args[1], ast.TupleGetItem)
    assert parse_expr("fn (%aten::x_0.1, %b/c) { %aten::x_0.1.2 }").body.index == 2


def test_ry01_operators_bind_as_tvm_has_them():
    assert structurally_equal(
        expression("1 * 2 + 3 < 4 == True"), expression("(((1 * 2) + 3) < 4) == True")
    )
    assert structurally_equal(
        expression("True == 1 < 2 + 3 * 4"), expression("True == (1 < (2 + (3 * 4)))")
    )
    assert structurally_equal(expression("9 - 5 - 1"), expression("(9 - 5) - 1"))
    assert structurally_equal(expression("9-5/2"), expression("9 - (5 / 2)"))
    names = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
    names |= {"==": "equal", "!=": "not_equal", "/": "divide", "*": "multiply"}
    for sign, name in names.items():
        assert parse_expr(f"1 {sign} 1").op.name == name


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("1", "int32", 1), ("-05", "int32", -5), ("---10", "int32", -10), ("--10", "int32", 10),
        ("2147483648", "int64", 2147483648), ("-42i16", "int16", -42), ("7i", "int32", 7),
        ("-9223372036854775808i64", "int64", -(2**63)), ("2u8", "uint8", 2),
        ("1.5f", "float32", 1.5), ("1e-1f64", "float64", 0.1), ("3f16", "float16", 3),
        ("1.E+1f", "float32", 10), ("2.5", "float32", 2.5), ("inff", "float32", np.inf),
        ("-inff64", "float64", -np.inf), ("True", "bool", True), ("False", "bool", False),
    ],
)  # fmt: skip
def test_ry01_literals_have_data_types(text, dtype, value):
    data = value_of(text)
    assert data.dtype == np.dtype(dtype)
    assert data.shape == ()
    assert data == value


def test_ry01_zero_keeps_its_sign_and_nan_is_a_constant():
    assert np.signbit(value_of("-0f"))
    assert np.isnan(value_of("nanf"))
    assert "meta[relay.Constant][0]" in to_text(parse_expr("-nanf"))


def test_ry01_attributes_become_values_of_python():
    call = expression("""free_var %x; some.op(
        %x, strides=[1, 2], padding=(0, 1), one=(3), rate=0.5f,
        eps=1e-05f, low=-inff, keep=True, out="", axis=None, dtype=float32, old=nullptr,
        nested=[[1, None], []], text="a \\"b\\" \\\\ \\n", relay.only=1, type=2)""")
    assert call.attrs == {
        "strides": [1, 2], "padding": [0, 1], "one": 3, "rate": 0.5, "eps": 1e-05,
        "low": -np.inf, "keep": True, "out": "", "axis": None, "dtype": "float32", "old": None,
        "nested": [[1, None], []], "text": 'a "b" \\ \n', "relay.only": 1, "type": 2,
    }  # fmt: skip
    assert [type(call.attrs[name]) for name in ("rate", "keep", "one")] == [float, bool, int]


def test_ry01_functions_have_attributes_and_type_parameters():
    function = expression('fn [A, B](%x: A, %y: (B, A), Primitive=1, Compiler="c") -> A { %x }')
    first, second = function.type_params
    assert function.params[1].type == ast.TupleType((second, first))
    assert function.result is first
    assert function.attrs == {"Primitive": 1, "Compiler": "c"}
    shaped = parse_expr("fn [n: Shape](%x: Tensor[(n, 2), float32]) { %x }")
    assert shaped.params[0].type.shape[0] is shaped.type_params[0]
    printed(expression("fn [n](%x: Tensor[(n, 2), float32]) { %x }"))


def test_ry01_types_of_all_kinds():
    text = "fn (int8, Tensor[(), bool]) -> fn [A](A) -> ref((A, bfloat16))"
    type_ = expression(f"fn (%f: {text}, %g: _, %h: L[int32, M]) {{ %f }}").params[0].type
    assert type_.params == (ast.TensorType((), "int8"), ast.TensorType((), "bool"))
    (var,) = type_.result.type_params
    assert type_.result.result == ast.RefType(ast.TupleType((var, ast.TensorType((), "bfloat16"))))


def test_ry01_parentheses_around_a_type_are_a_tuple_since_version_5():
    text = "fn (%x: (int32)) { %x }"
    scalar = ast.TensorType((), "int32")
    assert parse_expr(HEADER + text).params[0].type == ast.TupleType((scalar,))
    assert parse_expr("v0.0.4 " + text).params[0].type == scalar


def test_ry01_algebraic_types_and_matching():
    module = parse(
        "def @length[A](%xs: List[A]) -> int32 {\n"
        "  match (%xs) { Cons(_, %rest: List[A]) => { 1 + @length(%rest) }, Nil => 0 } }\n"
        "def @pair(%p: (List[int32], bool)) { match? (%p) { (Cons(%x, Nil), %b) => (%x, %b), } }\n"
        "def @one() { Cons(1, Nil) } def @make[A]() -> fn (A, List[A]) -> List[A] { Cons }\n"
        + LISTS
        + "extern type Handle[A]"
    )
    printed(module)
    cons, nil = module.types["List"].constructors
    assert cons.fields == (module.types["List"].params[0], ast.DataType("List", cons.fields[:1]))
    assert module.types["Handle"].is_extern
    match = module.functions["length"].body
    assert match.complete
    assert not module.functions["pair"].body.complete
    assert match.clauses[0].pattern.constructor is cons
    assert match.clauses[1].pattern.constructor is nil
    (rest,) = ast.pattern_vars(match.clauses[0].pattern)
    assert match.clauses[0].body.args[1].args[0] is rest
    empty = module.functions["one"].body.args[1]
    assert isinstance(empty, ast.Call)
    assert isinstance(empty.op, ast.ConstructorRef)
    assert isinstance(module.functions["make"].body, ast.ConstructorRef)


def test_ry01_references_and_calls_of_values():
    expr = expression("let %f = ref(fn (%x) { fn (%y) { %x * %y } }); ref_read(%f)(2)(3)")
    assert isinstance(expr.body.op.op, ast.RefRead)
    call = expression("@f[int32, (bool,)](1)")
    assert call.type_args[1] == ast.TupleType((ast.TensorType((), "bool"),))


def test_ry01_comments_and_devices_say_nothing():
    plain = "fn (%x: float32) { add(%x, 1f) }"
    noisy = """/* a /* nested */ one */ fn (%x {virtual_device_=meta[VirtualDevice][0]}: float32
        /* ty=float32 span=main:1:2 */, virtual_device_=VirtualDevice(device_type=1, x=(2))) {
          // a line
          add(%x, 1f /* ty=float32 */) /* ty=float32 */ }"""
    assert structurally_equal(expression(noisy), expression(plain))


def test_ry01_spans_are_places_in_the_text():
    body = (
        parse("def @main(%x) {\n  let %y = exp(%x);\n    %y +\n 1\n}", "a.txt")
        .functions["main"]
        .body
    )
    assert str(body.span) == "a.txt:2:3"
    assert str(body.value.span) == "a.txt:2:12"
    assert str(body.body.args[1].span) == "a.txt:4:2"


def test_ry01_version_4_has_other_words():
    text = "v0.0.4\nfree_var %x: float32\nlet %y = -%x;\n-%y ;; %y"
    let = parse_expr(text)
    assert let.value.op.name == "negative"
    assert isinstance(let.body, ast.Let)


def test_ry01_texts_are_as_tvm_prints_them():
    """Compare with expectations of TVM's own tests."""
    call = ast.Call(parse_expr("fn (%x) { %x }"), [parse_expr("(fn (%y) { %y })(1)")])
    lines = [
        "%0 = fn (%y) {",
        "  %y",
        "};",
        "%1 = %0(1);",
        "%2 = fn (%x) {",
        "  %x",
        "};",
        "%2(%1)",
    ]
    assert printed(call) == HEADER + "\n".join(lines) + "\n"
    pair = parse_expr("(0, 0)")
    x = ast.Var("x")
    assert printed(ast.Let(x, pair, pair)) == HEADER + "%0 = (0, 0);\nlet %x = %0;\n%0\n"
    assert printed(ast.Let(x, pair, x)) == HEADER + "let %x = (0, 0);\n%x\n"
    for dtype, text in {"int16": "42i16", "int64": "42i64", "float16": "42f16"}.items():
        assert printed(ast.Constant(np.array(42, dtype))) == f"{HEADER}{text}\n"
    assert "free_var %v1;" in printed(ast.Var("1"))


def test_ry01_nodes_are_numbered_when_they_are_needed():
    """TVM names the operands of a call together, after those that they need themselves."""
    text = printed(parse_expr("fn (%x) { add(exp(%x), log(tanh(%x))) }"))
    numbers = ["%0 = tanh(%x);", "%1 = exp(%x);", "%2 = log(%0);", "add(%1, %2)"]
    assert [line.strip() for line in text.splitlines()[2:-1]] == numbers


def test_ry01_defaults_of_attributes_are_left_out():
    name = "test.relay_text_defaults"
    converts(name, axis=-1, layout="NCHW", pads=(0, 0))(lambda attrs, x: x)
    try:
        given = parse_expr(f'free_var %x; {name}(%x, axis=1, layout="NCHW", pads=[0, 0])')
        assert printed(given).endswith(f"{name}(%x, axis=1)\n")
        short = parse_expr(f"free_var %x; {name}(%x, axis=1)")
        assert structurally_equal(given, short)
        assert not structurally_equal(given, parse_expr(f"free_var %x; {name}(%x)"))
    finally:
        del CONVERTERS[name]


def test_ry01_constants_go_through_metadata():
    arrays = [
        np.arange(6, dtype="float32").reshape(2, 3), np.array([True, False]),
        np.array(200, "uint8"), np.zeros((0, 2), "int64"), np.array([1.5, np.nan], "float16"),
        np.array([1, -2.5], ml_dtypes.bfloat16), np.array(np.nan, "float64"),
    ]  # fmt: skip
    text = printed(ast.Tuple([ast.Constant(array) for array in arrays]))
    for array, field in zip(arrays, parse_expr(text).fields, strict=True):
        assert field.data.dtype == array.dtype
        assert field.data.shape == array.shape
        assert field.data.tobytes() == array.tobytes()


def test_ry01_sizes_and_dictionaries_go_through_metadata():
    size = ast.TypeVar("n")
    x, y = (ast.Var(name, ast.TensorType((size, 3), "float32")) for name in "xy")
    attrs = {"options": {"a": [1, None, 2.5, True], "b": "é\n", "c": {}}}
    function = ast.Function([x, y], x, None, (), attrs)
    again = parse(printed(ast.Module({"main": function}))).functions["main"]
    first, second = (param.type.shape[0] for param in again.params)
    assert first is second
    assert again.attrs == attrs


def chain(kind, number):
    """Return the text of a function of so many bindings, each of which uses the one before."""
    names = ["%x", *(f"%{'' if kind == 'node' else 'v'}{i}" for i in range(number))]
    keyword = "" if kind == "node" else "let "
    lines = [f"{keyword}{names[i + 1]} = exp({names[i]});" for i in range(number)]
    return "def @main(%x) {\n" + "\n".join(lines) + f"\n{names[-1]} }}"


@pytest.mark.parametrize("kind", ["node", "let"])
def test_ry01_long_programs_need_no_deep_stack(kind):
    module = parse(chain(kind, 10_000))
    calls = [one for one in ast.post_order(module.functions["main"]) if isinstance(one, ast.Call)]
    assert len(calls) == 10_000
    printed(parse(chain(kind, 1_500)))


def test_ry01_definitions_and_metadata_may_come_from_outside():
    lists = parse(LISTS + "def @head[A](%xs: List[A]) -> A { match? (%xs) { Cons(%x, _) => %x } }")
    text = "def @main() { @head(Cons(meta[relay.Constant][0], Nil)) }"
    array = np.arange(3)
    module = parse(text, module=lists, metadata={"relay.Constant": [array]})
    printed(module)
    assert list(module.functions) == ["head", "main"]
    assert list(lists.functions) == ["head"]
    (cons,) = module.functions["main"].body.args
    assert cons.op.constructor is lists.types["List"].constructors[0]
    assert cons.args[0].data is array
    with pytest.raises(ast.RelayError, match="expected one function '@head'"):
        parse("def @head() { 1 }", module=lists)
    with pytest.raises(ast.RelayError, match="a function that is defined, but got '@head'"):
        parse("def @main() { @head(1) }")


def test_ry01_devices_need_no_metadata():
    text = "on_device(1, virtual_device=meta[VirtualDevice][3], constrain_result=True)"
    assert expression(text).attrs == {"constrain_result": True}


def test_ry01_data_types_without_a_width_have_32_bits():
    params = expression("fn (%a: int, %b: Tensor[(2), float], %c: uint) { %a }").params
    assert [param.type.dtype for param in params] == ["int32", "float32", "uint32"]


# -- sharing --------------------------------------------------------------------------------------


def test_ry02_a_node_is_one_object_for_all_its_uses():
    body = body_of("def @main(%x) { %0 = exp(%x); %1 = add(%0, %0); multiply(%1, %0) }")
    node = body.args[1]
    assert body.args[0].args == [node, node]
    twice = body_of("def @main(%x) { add(exp(%x), exp(%x)) }")
    assert twice.args[0] is not twice.args[1]


def test_ry02_a_node_with_several_uses_is_printed_once():
    x = ast.Var("x")
    node = ast.Call(ast.OpRef("exp"), [x])
    for _ in range(40):  # 2 ** 40 calls as a tree
        node = ast.Call(ast.OpRef("add"), [node, node])
    text = printed(ast.Function([x], node))
    assert text.count("exp(") == 1
    assert text.count("add(") == 40


def test_ry02_equality_tells_sharing_from_copies():
    shared = parse_expr("free_var %x; %0 = exp(%x); (%0, %0)")
    copies = parse_expr("free_var %x; (exp(%x), exp(%x))")
    assert not structurally_equal(shared, copies)
    assert not structurally_equal(copies, shared)
    assert structurally_equal(copies, parse_expr("free_var %z; (exp(%z), exp(%z))"))
    swapped = parse_expr("free_var %x; %0 = exp(%x); %1 = exp(%x); (%1, %0)")
    assert structurally_equal(copies, swapped)


def test_ry02_numbers_are_scoped_and_may_be_used_again():
    text = """
        def @first(%x) { %0 = exp(%x); if (%0) { %0 = log(%x); %0 } else { %0 } }
        def @second(%x) { %0 = tanh(%x); %0 }"""
    branch = body_of(text, "first")
    assert branch.then.op.name == "log"
    assert branch.otherwise is branch.condition
    assert body_of(text, "second").op.name == "tanh"


def test_ry02_a_node_may_be_bound_in_another_scope_than_a_use():
    """TVM binds a node where it is used first."""
    branch = body_of("def @main(%c, %x) { if (%c) { %0 = exp(%x); abs(%0) } else { %0 } }")
    assert branch.then.args[0] is branch.otherwise


def test_ry02_functions_and_constants_are_shared():
    call = expression("%0 = fn (%x) { %x }; %0(%0)")
    assert call.op is call.args[0]
    data = ast.Constant(np.ones(2, "float32"))
    again = parse_expr(printed(ast.Tuple([data, data])))
    assert again.fields[0] is again.fields[1]


def test_ry02_a_let_that_is_shared_stands_in_parentheses():
    y = ast.Var("y")
    inner = ast.Let(y, ast.Constant(np.array(1)), y)
    text = printed(ast.Call(ast.OpRef("add"), [inner, inner]))
    assert text.count("let %y") == 1
    outer = ast.Let(ast.Var("z"), inner, inner)
    assert printed(outer).count("let %y") == 1


def test_ry02_names_stay_different():
    x, other = ast.Var("x"), ast.Var("x")
    text = printed(ast.Function([x, other], ast.Tuple([other, x])))
    assert "(%x, %x1)" in text
    assert "(%x1, %x)" in text


# -- random programs ------------------------------------------------------------------------------


SCALARS = st.one_of(st.integers(-(2**62), 2**62), st.floats(width=64))
ATTRS = st.one_of(st.none(), st.booleans(), SCALARS, st.text(max_size=5))


def random_node(draw, first, second):
    """Return a node of a random kind over two others."""
    inner, attrs = (
        ast.Var("inner"),
        draw(st.dictionaries(st.sampled_from("abc"), st.one_of(ATTRS, st.lists(ATTRS)))),
    )
    makers = [
        lambda: ast.Call(ast.OpRef("some.op"), [first, second], attrs),
        lambda: ast.Tuple([first] * draw(st.integers(0, 3))),
        lambda: ast.TupleGetItem(first, 1),
        lambda: ast.If(first, second, first),
        lambda: ast.Let(inner, first, ast.Call(second, [inner])),
        lambda: ast.Function([inner], ast.Tuple([inner, second]), None, (), attrs),
        lambda: ast.Constant(np.array(draw(SCALARS))),
        lambda: ast.RefWrite(ast.RefCreate(first), ast.RefRead(second)),
    ]
    return draw(st.sampled_from(makers))()


@st.composite
def programs(draw):
    """Return a function of random nodes, which share operands."""
    params = [ast.Var(draw(st.text(string.printable, max_size=4))) for _ in range(2)]
    nodes = list(params)
    for _ in range(draw(st.integers(1, 12))):
        operands = [draw(st.sampled_from(nodes)) for _ in range(2)]
        nodes.append(random_node(draw, *operands))
    return ast.Function(params, nodes[-1])


@hypothesis.settings(max_examples=40, deadline=None)
@hypothesis.given(programs())
def test_ry02_random_programs_come_through_their_text(program):
    printed(program)


PROGRAM = (
    HEADER
    + LISTS
    + """def @main[A](%x: Tensor[(2, ?), float32], %l: List[A], Primitive=1) -> (float32, List[A]) {
  let %f: fn (int32) -> int32 = fn (%n: int32) { %f(subtract(%n, 1i64)) }; // a comment
  %0 = nn.conv2d(%x, %x, padding=[1, -1], eps=1e-05f, layout="NC\\"HW", axis=None);
  %1 = match? (%l) { Cons(%h, _) => %0, Nil => { if (True) { %0 } else { ref_read(ref(%x)) } } };
  (%1.0, (%0 + %x, -inff)) /* ty=? */
}"""
)
PIECES = st.sampled_from([*'%@#(){}[]<>.,;:=-+*/?_"\n 017fex', "%0", "->", "meta[a][0]", "fn "])


@hypothesis.settings(max_examples=80, deadline=None)
@hypothesis.given(st.integers(0, len(PROGRAM)), st.integers(0, 30), st.lists(PIECES, max_size=4))
def test_ry01_damaged_text_is_refused_and_nothing_worse(start, length, pieces):
    damaged = PROGRAM[:start] + "".join(pieces) + PROGRAM[start + length :]
    try:
        program = parse(damaged)
    except ast.RelayError as error:
        assert error.span is not None
        assert "expected" in error.message
    except NotImplementedError as error:
        assert "<relay>:" in str(error)
    else:
        assert isinstance(program, ast.Module)


# -- errors ---------------------------------------------------------------------------------------

WRONG = [
    ("def @main(%x) {\n  %y\n}", 2, 3, "variable that is bound here, but got '%y'"),
    ("def @main(%data) { %dat }", 1, 20, "did you mean '%data'"),
    ("def @f() { if (True) { let %x = 1; %x } else { %x } }", 1, 48, "bound here"),
    ("def @f() { %1 }", 1, 12, "node that is bound above, but got '%1'"),
    ("def @main() { @helpr() } def @helper() { 1 }", 1, 15, "did you mean '@helper'"),
    (LISTS + "def @f(%x: List[int32]) { match (%x) { Cns(%y, _) => 1 } }", 2, 40, "'Cons'"),
    (LISTS + "def @f() { Cosn(1, Nil) }", 2, 12, "did you mean 'Cons'"),
    (LISTS + "def @f() { Cons(1) }", 2, 12, "expected 2 fields of 'Cons', but got 1"),
    (LISTS + "def @f(%x: Lst[int32]) { 1 }", 2, 12, "did you mean 'List'"),
    (LISTS + "type Tree { Nil }", 2, 13, "one constructor 'Nil', but got another"),
    (LISTS + "type List { Other }", 2, 6, "one type 'List', but got another"),
    ("def @f() { 1 }\ndef @f() { 2 }", 2, 5, "one function '@f', but got another"),
    ("def @f(%x, %x) { 1 }", 1, 12, "parameters of different names, but got two '%x'"),
    ("def f() { 1 }", 1, 5, "name of a function, such as '@main', but got 'f'"),
    ("def @f(x) { 1 }", 1, 8, "a parameter, such as '%x'"),
    ("def @f(%x { 1 }", 1, 13, "an attribute of a variable"),
    ("def @f(%x) { add(%x, 1f }", 1, 25, "',' or '\\)', but got '}'"),
    ("def @f(%x) { add(%x 1f) }", 1, 21, "',' or '\\)', but got '1f'"),
    ("def @f(%x) { add(axis=1, %x) }", 1, 26, "an attribute after an attribute"),
    ("def @f(%x) { add(%x, axis=1, axis=2) }", 1, 30, "attributes of different names"),
    ("def @f(%x) { add(%x, axis=) }", 1, 27, "the value of an attribute"),
    ("def @f(%x) { add(%x, axis=1.5i32) }", 1, 27, "an integer before its suffix"),
    ("def @f(%x) { %0 = 1 %0 }", 1, 21, "';' after a binding, but got '%0'"),
    ("def @f(%x) { let %y = 1; }", 1, 26, "an expression, but got '}'"),
    ("def @f() { let %x = add(%x, 1); %x }", 1, 25, "used by functions in its own value"),
    ("def @f() { let x = 1; () }", 1, 16, "a variable, such as '%x', but got 'x'"),
    ("def @f() { let @x = 1; () }", 1, 16, "a variable, such as '%x', but got '@x'"),
    ("def @f() { if (True) { 1 } }", 1, 28, "'else'"),
    ("def @f() { if True { 1 } }", 1, 15, "'\\('"),
    ("def @f(%x) { %x.y }", 1, 14, "bound here, but got '%x.y'"),
    ("def @f(%x) { (%x).y }", 1, 19, "the number of a field"),
    ("def @f(%x) { ref_write(%x) }", 1, 23, "expected 2 operands, but got 1"),
    ("def @f(%x: Tensor[(2,), float33]) { %x }", 1, 25, "a data type"),
    ("def @f(%x: Tensor[(-1,), int8]) { %x }", 1, 20, "a dimension, such as 2 or '\\?'"),
    ("def @f(%x: Tensor[2, int8]) { %x }", 1, 19, "'\\(', but got '2'"),
    ("def @f(%x: 3) { %x }", 1, 12, "a type, such as"),
    ("def @f[A: Kind](%x: A) { %x }", 1, 15, "a kind, one of Type, Shape"),
    ("extern type T { A }", 1, 15, "no constructors, since the type is external"),
    ("type T", 1, 7, "'{' and constructors"),
    ("def @f() { match (1) { 2 => 3 } }", 1, 24, "a pattern"),
    ("def @f() { match (1) { _ = 3 } }", 1, 26, "'=>'"),
    ('def @f() {\n "abc }', 2, 2, "a string that ends with"),
    ("def @f() { 1 /* }", 1, 14, "a comment that ends with"),
    ("def @f() { 2147483648i32 }", 1, 12, "a number that int32 holds"),
    ("def @f() { 32768i16 }", 1, 12, "a number that int16 holds"),
    ("def @f() { 65505f16 }", 1, 12, "a number that float16 holds"),
    ("def @f() { 3.40283e+38f32 }", 1, 12, "a number that float32 holds"),
    ("def @f() { 1f17 }", 1, 12, "one of the suffixes f16, f32, f64"),
    ("def @f() { 12abc }", 1, 12, "a number such as 1, 1i64 or 1.5f, but got '12abc'"),
    ("def @f() { 1 ^ 2 }", 1, 14, "a word of Relay"),
    ("def @f() { 1 } }", 1, 16, "'def', 'type' or 'extern type', but got '}'"),
    ("def @f() { 1", 1, 13, "'}', but got the end of the text"),
    ('#[version = "0.0.9"]\ndef @f() { 1 }', 1, 1, "version 0.0.4 or 0.0.5, but got .*'0.0.9'"),
    ("#[pragma]\ndef @f() { 1 }", 1, 1, "but got '#\\[pragma\\]'"),
    ("def @f() { meta[relay.Constant][0] }", 1, 12, "the text has none; print it with"),
    ("def @f() { 1 }\n#[metadata]\n{", 2, 1, "JSON"),
    ("(" * 3000, 1, None, "nested less deeply"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG)
def test_ry01_wrong_text_is_refused_at_its_place(text, line, column, message):
    with pytest.raises(ast.RelayError, match=message) as caught:
        parse(text, "a.txt")
    span = caught.value.span
    assert (span.source, span.line) == ("a.txt", line)
    assert column in (None, span.column)
    assert str(caught.value).startswith(f"a.txt:{line}:{span.column}: expected ")


def test_ry01_an_expression_is_all_of_its_text():
    with pytest.raises(ast.RelayError, match=r"1:1: .*parse reads definitions.* got 'def'"):
        parse_expr("def @main() { 1 }")
    with pytest.raises(ast.RelayError, match=r"1:3: expected an operator.*, but got '2'"):
        parse_expr("1 2")


def test_ry01_a_wrong_reference_to_metadata_is_refused():
    text = to_text(ast.Constant(np.ones(2)))
    with pytest.raises(ast.RelayError, match="an index below 1"):
        parse_expr(text.replace("Constant][0]", "Constant][7]"))
    with pytest.raises(ast.RelayError, match=r"did you mean 'relay\.Constant'"):
        parse_expr(text.replace("meta[relay.Constant", "meta[relay.Constnt"))
    with pytest.raises(ast.RelayError, match="expected a type, but got"):
        parse_expr(text.replace("meta", "fn (%x: meta[relay.Constant][0]) { meta", 1).replace(
            "\n\n#", " }\n\n#"))  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "def @f() { 1 }\n@kernel = primfn(%x)",
        "def @kernel = meta[ExternFunc][0]",
        "def @f(%x: Tensor[(1,), int8x4]) { %x }",
    ],
)
def test_ry01_what_has_no_counterpart_is_refused_in_words(text):
    with pytest.raises(NotImplementedError, match=r"<relay>:\d+:\d+: .*not supported"):
        parse(text)


def test_ry01_programs_that_text_cannot_say_are_refused():
    x = ast.Var("x")
    unbound = ast.Function([ast.Var("y", ast.TypeVar("A"))], x)
    with pytest.raises(ast.RelayError, match="a type parameter of what is around it"):
        to_text(unbound)
    with pytest.raises(ast.RelayError, match="to be used in its scope"):
        to_text(ast.Tuple([x, ast.Function([x], x)]))
    with pytest.raises(ast.RelayError, match="to be bound once"):
        to_text(ast.Function([x], ast.Function([x], x)))
    with pytest.raises(NotImplementedError, match="cannot be written"):
        to_text(ast.Call(ast.OpRef("abs"), [x], {"what": object()}))
    with pytest.raises(ast.RelayError, match="a name of letters"):
        to_text(ast.Call(ast.OpRef("abs"), [x], {"not a name": 1}))
