"""Patterns matched with values."""

from __future__ import annotations

import numpy as np
import pytest
from relax_mlir import GlobalVar, IRModule, TensorStructInfo
from relax_mlir.analysis import bound_vars, get_var2val, var_name
from relax_mlir.dpl import (
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    ExprPattern,
    ExternFunc,
    ExternFuncPattern,
    FunctionPattern,
    NotPattern,
    Op,
    TypePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    wildcard,
)
from relax_mlir.script import from_source
from relax_mlir.script import relax as R

MODULE = from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def scale(x: T.Buffer((32, 32), "float32"), y: T.Buffer((32, 32), "float32")):
        for i, j in T.grid(32, 32):
            with T.sblock():
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")):
        cls = Module
        with R.dataflow():
            product = R.matmul(x, w)
            scaled = R.call_tir(cls.scale, (product,), R.Tensor((32, 32), "float32"))
            packed = R.call_dps_packed("my.tile", (scaled, x), R.Tensor((32, 32), "float32"))
            summed = R.add(packed, R.const(1.0, "float32"))
            normed = R.nn.softmax(summed)
            halves = R.split(normed, 2, axis=1)
            pair = (halves[0], R.const(2.0, "float32"), summed)
            second = pair[2]
            shaped = R.reshape(second, (16, 64))
            total = R.sum(shaped, axis=1)
            R.output(total)
        return total

    @R.function(pure=False)
    def effects(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")):
        y = R.call_packed("my.show", x, w, sinfo_args=R.Tensor((32, 32), "float32"))
        z = R.call_pure_packed("my.count", y, sinfo_args=R.Prim("int64"))
        return z
""")


def values(name="main"):
    """The values of a function by their names."""
    return {var_name(value): value for value in bound_vars(MODULE[name])}


@pytest.fixture
def v():
    return values()


def function(text):
    return from_source("@R.function\n" + text)


def last(func):
    """The value that a function returns."""
    *_, ret = func.op.body.blocks[0].operations
    return ret.operation.operands[0]


# -- single values --------------------------------------------------------------------------------


def test_wildcard_matches_anything(v):
    assert all(wildcard().match(value) for value in v.values())
    assert wildcard().match(GlobalVar("f"))
    assert isinstance(wildcard(), WildcardPattern)


def test_var_is_a_parameter_or_binding_but_no_leaf(v):
    assert is_var("x").match(v["x"])
    assert is_var("product").match(v["product"])
    assert not is_var("y").match(v["x"])
    assert is_var().match(v["product"])
    constant = v["summed"].owner.operands[1]
    assert not is_var().match(constant)
    assert not is_var().match(GlobalVar("x"))
    assert isinstance(is_var(), VarPattern)


def test_dataflow_var_is_inside_and_no_output(v):
    assert is_dfv("product").match(v["product"])
    assert is_dfv().match(v["scaled"])
    assert not is_dfv().match(v["x"])
    assert not is_dfv().match(v["total"])
    assert not is_dfv("scaled").match(v["product"])
    assert isinstance(is_dfv(), DataflowVarPattern)


def test_global_var_by_its_whole_name():
    assert is_gv("f").match(GlobalVar("f"))
    assert is_gv().match(GlobalVar("g"))
    assert not is_gv("f").match(GlobalVar("ff"))
    assert not is_gv("f").match(ExternFunc("f"))


def test_extern_func_by_name_and_as_a_value():
    assert ExternFuncPattern("my.f").match(ExternFunc("my.f"))
    assert ExternFuncPattern().match(ExternFunc("my.f"))
    assert not ExternFuncPattern("my.g").match(ExternFunc("my.f"))
    func = function("""def main(x: R.Object):
    f = R.ExternFunc("my.f")
    y = R.call_pure_packed(f, x, sinfo_args=R.Object)
    return y""")
    call = is_op("relax.call_pure_packed")
    assert call(ExternFuncPattern("my.f"), wildcard()).match(last(func))
    assert not call(ExternFuncPattern("my.g"), wildcard()).match(last(func))


def test_constant_also_where_it_is_bound_to_a_name():
    func = function("""def main(x: R.Tensor((2,), "float32")):
    c = R.const([1.0, 2.0])
    y = R.add(x, c)
    return y""")
    add = last(func).owner
    assert is_const().match(add.operands[1])
    assert not is_const().match(add.operands[0])
    assert isinstance(is_const(), ConstantPattern)


def test_expr_is_the_value_or_an_equal_computation():
    func = function("""def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    a = R.exp(R.add(x, y))
    b = R.exp(R.add(x, y))
    c = R.exp(R.add(y, x))
    return (a, b, c)""")
    a, b, c = last(func).owner.operands
    assert is_expr(a).match(a)
    assert is_expr(a).match(b)
    assert not is_expr(a).match(c)
    assert is_expr(GlobalVar("f")).match(GlobalVar("f"))
    assert isinstance(is_expr(a), ExprPattern)


def test_unknown_operator_is_an_error():
    with pytest.raises(ValueError, match=r"expected the name of an operator.*'relax.frobnicate'"):
        is_op("relax.frobnicate")


def test_what_is_no_expression_is_an_error():
    with pytest.raises(TypeError, match="expected a value"):
        wildcard().match(3)


def test_what_is_no_pattern_is_an_error(v):
    with pytest.raises(TypeError, match="expected arguments of a call to be patterns"):
        is_op("relax.add")(v["x"], wildcard())


# -- calls ----------------------------------------------------------------------------------------


def test_call_of_an_operator(v):
    pattern = is_op("relax.matmul")(is_var("x"), is_var("w"))
    assert isinstance(pattern, CallPattern)
    assert pattern.match(v["product"])
    assert pattern.match(v["product"].owner)
    assert not is_op("relax.matmul")(is_var("w"), is_var("x")).match(v["product"])
    assert not is_op("relax.add")(wildcard(), wildcard()).match(v["product"])
    assert not is_op("relax.matmul")(wildcard()).match(v["product"])


def test_call_with_more_arguments(v):
    assert is_op("relax.matmul")(varg_default_wildcard=True).match(v["product"])
    assert is_op("relax.matmul")(is_var("x"), varg_default_wildcard=True).match(v["product"])
    assert not is_op("relax.matmul")(is_var("w"), varg_default_wildcard=True).match(v["product"])
    three = is_op("relax.matmul")(wildcard(), wildcard(), wildcard(), varg_default_wildcard=True)
    assert not three.match(v["product"])


def test_operators_that_commute_match_in_either_order(v):
    one, packed = is_const(), is_call_dps_packed("my.tile")
    found = is_op("relax.add")(one, packed).extract_matched_expr(v["summed"])
    assert found[one] == v["summed"].owner.operands[1]
    assert found[packed] == v["packed"]
    func = function("""def main(x: R.Tensor((2,), "float32")):
    return R.subtract(x, R.const(1.0))""")
    assert not is_op("relax.subtract")(is_const(), wildcard()).match(last(func))


def test_callee_is_a_part_of_the_match(v):
    op = is_op("relax.add") | is_op("relax.multiply")
    found = op(wildcard(), wildcard()).extract_matched_expr(v["summed"])
    assert found[op] == Op("relax.add")


def test_any_callee(v):
    assert wildcard()(is_var("x"), is_var("w")).match(v["product"])
    assert not wildcard()(wildcard()).match(v["x"])


def test_call_tir_with_its_arguments(v):
    assert is_call_tir("scale").match(v["scaled"])
    assert is_call_tir("").match(v["scaled"])
    assert is_call_tir("scale", [is_op("relax.matmul")(wildcard(), wildcard())]).match(v["scaled"])
    assert not is_call_tir("scale", [is_const()]).match(v["scaled"])
    assert not is_call_tir("scale", [wildcard(), wildcard()]).match(v["scaled"])
    assert not is_call_tir("other").match(v["scaled"])
    assert not is_call_tir("scale", None, wildcard()).match(v["scaled"])


def test_call_dps_packed_with_its_arguments(v):
    assert is_call_dps_packed("my.tile").match(v["packed"])
    assert is_call_dps_packed("my.tile", [is_call_tir("scale"), is_var("x")]).match(v["packed"])
    assert not is_call_dps_packed("my.tile", [is_var("x"), wildcard()]).match(v["packed"])
    args = wildcard()
    found = is_call_dps_packed("my.tile", args).extract_matched_expr(v["packed"])
    assert found[args] == (v["scaled"], v["x"])


def test_call_packed():
    v = values("effects")
    assert is_call_packed("my.show").match(v["y"])
    assert is_call_packed("my.show", [is_var("x"), is_var("w")]).match(v["y"])
    assert not is_call_packed("my.show", [is_var("x")]).match(v["y"])
    assert not is_call_packed("my.count").match(v["z"])  # calls relax.call_pure_packed
    pure = is_op("relax.call_pure_packed")(ExternFuncPattern("my.count"), wildcard())
    assert pure.match(v["z"])


def test_call_of_a_function_of_the_module_and_of_a_value():
    module = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def f(x: R.Object) -> R.Object:
        return x

    @R.function
    def main(x: R.Object, g: R.Callable((R.Object,), R.Object)):
        cls = Module
        y = cls.f(x)
        z = g(y)
        return z
""")
    *_, z, _ = module["main"].body.blocks[0].operations
    assert is_var("g")(is_gv("f")(is_var("x"))).match(z)
    assert not is_var("g")(is_gv("g")(is_var("x"))).match(z)


def test_arguments_that_are_a_tuple_in_tvm():
    func = function("""def main(a: R.Tensor((2,), "float32"), b: R.Tensor((3,), "float32")):
    return R.concat([a, b, a])""")
    a, parts = is_var("a"), wildcard()
    assert is_op("relax.concat")(is_tuple([a, wildcard(), a])).match(last(func))
    assert not is_op("relax.concat")(is_tuple([a, a, wildcard()])).match(last(func))
    found = is_op("relax.concat")(parts).extract_matched_expr(last(func))
    assert [var_name(value) for value in found[parts]] == ["a", "b", "a"]


def test_fused_bias_activation():
    func = function("""def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32"),
         b: R.Tensor((8,), "float32")):
    y = R.nn.relu(R.add(R.matmul(x, w), b))
    z = R.nn.relu(R.add(R.matmul(x, w), R.reshape(b, (1, 8))))
    return (y, z)""")
    y, z = last(func).owner.operands
    make = make_fused_bias_activation_pattern
    full = make("relax.matmul", with_bias=True, activation="relax.nn.relu")
    assert full.match(y)
    assert full.match(z)
    reshaped = make("relax.matmul", True, "relax.nn.relu", allow_reshape=True)
    assert reshaped.match(z)
    assert not reshaped.match(y)
    assert not make("relax.matmul", activation="relax.nn.relu").match(y)
    assert make("relax.matmul", with_bias=True).match(y.owner.operands[0])
    assert make("relax.matmul").match(y.owner.operands[0].owner.operands[0])


# -- functions ------------------------------------------------------------------------------------


def test_function_of_a_module_and_closure():
    func = function("""def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    with R.dataflow():
        z = R.add(x, y)
        R.output(z)
    return z""")
    a, b = wildcard(), wildcard()
    pattern = FunctionPattern([a, b], is_op("relax.add")(a, b))
    assert pattern.match(func)
    assert pattern.match(func.op)
    assert not FunctionPattern([a], is_op("relax.add")(a, wildcard())).match(func)
    assert FunctionPattern(None, is_op("relax.add")(a, b)).match(func)
    assert not FunctionPattern([a, b], is_op("relax.multiply")(a, b)).match(func)
    outer = function("""def main(x: R.Tensor((2,), "float32")):
    @R.function
    def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(y, x)
    z = inner(x)
    return z""")
    closure, call, _ = outer.op.body.blocks[0].operations
    own, captured = wildcard(), wildcard()
    pattern = FunctionPattern([own], is_op("relax.add")(own, captured))
    assert pattern.match(closure)
    assert pattern(captured).match(call)


def test_attributes_of_functions():
    func = function("""def main(x: R.Object):
    R.func_attr({"Codegen": "mine", "level": 2})
    return x""")
    pattern = FunctionPattern([wildcard()], wildcard())
    assert pattern.has_attr({"Codegen": "mine"}).match(func)
    assert pattern.has_attr({"Codegen": "mine", "level": 2}).match(func)
    assert pattern.has_attr({}).match(func)
    assert not pattern.has_attr({"Codegen": "other"}).match(func)
    assert not pattern.has_attr({"missing": 1}).match(func)


# -- tuples ---------------------------------------------------------------------------------------


def test_tuple_and_fields(v):
    pair = is_tuple([wildcard(), is_const(), is_op("relax.add")(wildcard(), wildcard())])
    assert pair.match(v["pair"])
    assert not is_tuple([wildcard(), wildcard()]).match(v["pair"])
    assert not is_tuple([is_const(), wildcard(), wildcard()]).match(v["pair"])
    assert pair[2].match(v["second"])
    assert pair[-1].match(v["second"])
    assert pair[None].match(v["second"])
    assert not pair[1].match(v["second"])
    with pytest.raises(IndexError, match="one of 3 fields"):
        pair[3]


def test_field_of_what_an_operator_returns(v):
    split = is_op("relax.split")(wildcard())
    first = v["pair"].owner.operands[0]
    assert is_tuple_get_item(split, 0).match(first)
    assert is_tuple_get_item(split).match(first)
    assert not is_tuple_get_item(split, 1).match(first)


def test_field_of_a_tuple_is_what_was_put_there(v):
    assert is_op("relax.add")(wildcard(), wildcard()).match(v["second"])
    reshape = is_op("relax.reshape")(is_op("relax.add")(wildcard(), is_const()), wildcard())
    assert reshape.match(v["shaped"])


def test_unordered_tuple(v):
    add, const, item = (
        is_op("relax.add")(wildcard(), wildcard()),
        is_const(),
        is_tuple_get_item(wildcard()),
    )
    pattern = is_tuple([add, const, item], unordered=True)
    assert isinstance(pattern, UnorderedTuplePattern)
    found = pattern.extract_matched_expr(v["pair"])
    assert found[add] == v["summed"]
    assert not is_tuple([add, const, const.dup()], unordered=True).match(v["pair"])
    assert not is_tuple([add, const], unordered=True).match(v["pair"])
    with pytest.raises(TypeError, match="no order"):
        pattern[0]


def test_unordered_tuple_goes_back_to_earlier_choices():
    func = function("""def main(x: R.Tensor((2,), "float32")):
    a = R.exp(x)
    return (a, x)""")
    anything, exp = wildcard(), is_op("relax.exp")(wildcard())
    found = is_tuple([anything, exp], unordered=True).extract_matched_expr(last(func))
    assert var_name(found[anything]) == "x"


def test_large_unordered_tuple_without_a_match_is_fast():
    names = ", ".join(f"x{i}" for i in range(14))
    params = ", ".join(f"x{i}: R.Object" for i in range(14))
    func = function(f"def main({params}):\n    return ({names})")
    pattern = is_tuple([*(wildcard() for _ in range(13)), is_const()], unordered=True)
    assert not pattern.match(last(func))  # 14! orders would take years


# -- logic ----------------------------------------------------------------------------------------


def test_or_tries_the_left_side_first(v):
    left, right = is_var("x"), is_var("w")
    assert (left | right).extract_matched_expr(v["x"]).keys() >= {left}
    found = (left | right).extract_matched_expr(v["w"])
    assert right in found
    assert left not in found
    assert not (left | right).match(v["product"])


def test_or_goes_back_where_the_rest_does_not_fit():
    func = function("""def main(x: R.Tensor((2,), "float32")):
    return R.subtract(R.exp(x), x)""")
    x = wildcard()
    # Both sides match exp(x), but only the right one leaves x for the other operand.
    either = x | is_op("relax.exp")(x)
    assert is_op("relax.subtract")(either, x).match(last(func))


def test_and(v):
    pattern = wildcard().has_shape((32, 32)) & has_dtype("float32")
    assert pattern.match(v["x"])
    assert not (wildcard().has_shape((32, 31)) & has_dtype("float32")).match(v["x"])
    assert not (is_var("x") & is_var("w")).match(v["x"])


def test_not(v):
    assert (~is_var("x")).match(v["w"])
    assert not (~is_var("x")).match(v["x"])
    assert reject(wildcard().has_shape((2,))).match(v["x"])
    assert isinstance(~wildcard(), NotPattern)
    x = wildcard()
    different = is_op("relax.matmul")(x, ~x)
    assert different.match(v["product"])


def test_same_pattern_has_to_match_the_same_value():
    func = function("""def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    a = R.add(x, x)
    b = R.add(x, y)
    c = R.add(x, R.match_cast(x, R.Tensor((2,), "float32")))
    return (a, b, c)""")
    a, b, c = last(func).owner.operands
    x = wildcard()
    twice = is_op("relax.add")(x, x)
    assert twice.match(a)
    assert not twice.match(b)
    assert twice.match(c)  # a cast is the value itself
    literals = function("""def main(x: R.Tensor((2,), "float32")):
    a = R.add(R.add(x, R.const(1.0)), R.const(1.0))
    b = R.add(R.add(x, R.const(1.0)), R.const(2.0))
    return (a, b)""")
    a, b = last(literals).owner.operands
    one = is_const()
    pattern = is_op("relax.add")(is_op("relax.add")(wildcard(), one), one)
    assert pattern.match(a)  # equal literals are the same expression
    assert not pattern.match(b)


def test_dup_may_match_something_else(v):
    x = wildcard()
    twice = is_op("relax.matmul")(x, x)
    assert not twice.match(v["product"])
    assert not twice.dup().match(v["product"])  # what occurs twice still does
    assert is_op("relax.matmul")(x, x.dup()).match(v["product"])


# -- types and attributes -------------------------------------------------------------------------


def test_dtype(v):
    assert has_dtype("float32").match(v["product"])
    assert has_dtype(np.dtype("float32"), is_var("x")).match(v["x"])
    assert not has_dtype("float16").match(v["product"])
    assert is_var("x").has_dtype("float32").match(v["x"])
    assert not has_dtype("float32").match(v["halves"])


def symbolic(*dims):
    texts = ", ".join(map(repr, dims))
    func = function(
        f'def main(s: R.Shape(["n", "m"]), x: R.Tensor(({texts}), "float32")):\n    return x'
    )
    return func, last(func)


def test_shape_speaks_of_the_variables_of_the_program():
    _func, x = symbolic("n", "m", "n + m")
    assert wildcard().has_shape(("n", "m", "n + m")).match(x)
    assert wildcard().has_shape(["n", "m", "m + n"]).match(x)
    assert not wildcard().has_shape(("m", "n", "n + m")).match(x)
    assert not wildcard().has_shape(("n", "m")).match(x)
    assert not wildcard().has_shape((1, 2, 3)).match(x)
    with pytest.raises(ValueError, match="expected a list of dimensions for has_shape, but got 3"):
        wildcard().has_shape(3)


def test_shape_is_proven_under_what_is_known():
    func = function("""def main(x: R.Tensor(("n",), "float32")):
    R.func_attr({"tir_var_upper_bound": {"n": 8}, "tir_var_lower_bound": {"n": 8}})
    y = R.exp(x)
    return y""")
    assert wildcard().has_shape((8,)).match(last(func))
    assert not wildcard().has_shape((9,)).match(last(func))


def test_shape_value(v):
    shape = v["shaped"].owner.operands[1]
    pattern = is_shape([16, 64])
    assert pattern.match(shape)
    assert not is_shape([16, 65]).match(shape)
    assert not pattern.match(v["shaped"])
    assert pattern[0].value == 16
    assert len(pattern) == 2
    with pytest.raises(IndexError):
        pattern[2]
    assert is_op("relax.reshape")(wildcard(), is_shape([16, 64])).match(v["shaped"])


def test_struct_info_has_to_cover_the_type(v):
    assert wildcard().has_struct_info(R.Tensor((32, 32), "float32")).match(v["x"])
    assert wildcard().has_ty(TensorStructInfo((32, 32))).match(v["x"])  # any data type
    assert wildcard().has_struct_info(R.Tensor(ndim=2)).match(v["x"])
    assert wildcard().has_struct_info(R.Object).match(v["x"])
    assert not wildcard().has_struct_info(R.Tensor((32, 32), "int32")).match(v["x"])
    assert not wildcard().has_struct_info(R.Tensor((32, 31))).match(v["x"])
    assert isinstance(wildcard().has_ty(R.Object), TypePattern)


@pytest.mark.parametrize(
    ("formal", "dims", "expected"),
    [
        (("p", "q"), (4, 5), True),
        (("p", "p"), (4, 5), False),
        (("p", "p"), (4, 4), True),
        (("p", "p * 2"), ("n", "n * 2"), True),
        (("p", "p * 2"), ("n", "n * 3"), False),
        (("p * 2", "p"), (8, 4), True),
        (("p * 2", 4), (8, 4), True),
        (("p * 2", 4), (7, 4), False),
        # Names of a pattern and of a program have nothing to do with each other.
        (("n", "m"), ("m", "n * 2"), True),
        (("n", "n"), ("n", "m"), False),
    ],
)
def test_struct_info_binds_the_variables_of_the_pattern(formal, dims, expected):
    _, x = symbolic(*dims)
    assert wildcard().has_struct_info(TensorStructInfo(formal)).match(x) == expected


def test_variables_are_shared_by_the_types_of_a_pattern():
    func = function("""def main(x: R.Tensor((64, 128), "float32"),
         y: R.Tensor((1, 128), "float32")):
    a = R.add(x, x)
    b = R.add(x, y)
    return (a, b)""")
    a, b = last(func).owner.operands
    lhs, rhs = (wildcard().has_struct_info(TensorStructInfo(("m", "n"))) for _ in range(2))
    assert is_op("relax.add")(lhs, rhs).match(a)
    assert not is_op("relax.add")(lhs, rhs).match(b)


def test_attributes_of_operators(v):
    split = is_op("relax.split")(wildcard())
    assert split.has_attr({"axis": 1}).match(v["halves"])
    assert split.has_attr({"indices_or_sections": 2, "axis": 1}).match(v["halves"])
    assert not split.has_attr({"axis": 0}).match(v["halves"])
    assert not split.has_attr({"axis": True}).match(v["halves"])
    assert is_op("relax.sum")(wildcard()).has_attr({"axis": [1]}).match(v["total"])
    assert has_attr({"keepdims": False}).match(v["total"])  # the default
    assert not has_attr({"keepdims": True}).match(v["total"])
    assert has_attr({"axis": -1}, is_op("relax.nn.softmax")(wildcard())).match(v["normed"])
    assert not has_attr({"unknown": 1}).match(v["total"])
    assert not has_attr({"axis": 1}).match(v["x"])
    assert isinstance(has_attr({}), AttrPattern)


def test_data_type_as_an_attribute():
    func = function("""def main(x: R.Tensor((2,), "float32")):
    return R.astype(x, "float16")""")
    pattern = is_op("relax.astype")(wildcard())
    assert pattern.has_attr({"dtype": "float16"}).match(last(func))
    assert not pattern.has_attr({"dtype": "float64"}).match(last(func))


# -- bindings -------------------------------------------------------------------------------------


def test_matching_sees_through_casts_and_dataflow_blocks():
    func = function("""def main(x: R.Tensor(ndim=1, dtype="float32")):
    with R.dataflow():
        a = R.exp(x)
        R.output(a)
    b = R.match_cast(a, R.Tensor((4,), "float32"))
    c = R.negative(b)
    return c""")
    pattern = is_op("relax.negative")(is_op("relax.exp")(wildcard()))
    assert pattern.match(last(func))
    typed = is_op("relax.negative")(is_op("relax.exp")(wildcard()).has_shape((4,)))
    assert typed.match(last(func))  # the type is that of the cast


def test_var2val_limits_what_is_looked_at(v):
    pattern = is_call_tir("scale", [is_op("relax.matmul")(wildcard(), wildcard())])
    assert pattern.match(v["scaled"], var2val=get_var2val(MODULE["main"]))
    assert not pattern.match(v["scaled"], var2val={})
    assert is_call_tir("scale").match(v["scaled"], var2val={})


def test_module_of_another_context():
    from mlir import ir

    with ir.Context():
        module = IRModule("""
        relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
          %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
          relax.return %0 : !relax.tensor<[n, 4], f32>
        }""")
    x = module["main"].body.blocks[0].operations[0].operands[0]
    assert wildcard().has_struct_info(TensorStructInfo(("k", 4))).match(x)
    assert wildcard().has_shape(("n", 4)).match(x)
    assert not wildcard().has_shape(("k", 4)).match(x)


# -- cost -----------------------------------------------------------------------------------------


def test_sums_of_sums_are_not_tried_in_all_orders():
    depth = 40
    lines = ["x0 = x", *(f"x{i} = R.add(x{i - 1}, x{i - 1})" for i in range(1, depth))]
    body = "\n    ".join(lines)
    func = function(f'def main(x: R.Tensor((2,), "float32")):\n    {body}\n    return x{depth - 1}')
    pattern = is_const()
    for _ in range(depth - 1):
        pattern = is_op("relax.add")(pattern, wildcard())
    assert not pattern.match(last(func))  # 2**39 orders would take days


def test_deep_patterns_do_not_need_deep_recursion():
    depth = 400  # several times as deep as Python calls may be nested, if each took some
    body = "\n    ".join(["y = x", *["y = R.exp(y)"] * depth])
    func = function(f'def main(x: R.Tensor((2,), "float32")):\n    {body}\n    return y')
    pattern = is_var("x")
    for _ in range(depth):
        pattern = is_op("relax.exp")(pattern)
    assert pattern.match(last(func))


def test_long_choices_take_time_in_proportion():
    func = function('def main(x: R.Tensor((2,), "float32")):\n    y = R.exp(x)\n    return y')
    pattern = wildcard()
    for _ in range(20_000):  # what takes the square of that takes minutes
        pattern = pattern | is_const()
    assert is_op("relax.exp")(pattern).match(last(func))
