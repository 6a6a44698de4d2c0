"""Rewriting of what patterns match, and what the results compute."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import IRModule, assert_structural_equal, op
from relax_mlir.analysis import bound_vars, var_name
from relax_mlir.dpl import (
    ExprPatternRewriter,
    OrRewriter,
    PatternContext,
    PatternMatchingRewriter,
    RewriteError,
    RewriteWarning,
    TupleRewriter,
    driver,
    is_call_dps_packed,
    is_const,
    is_expr,
    is_op,
    is_shape,
    is_tuple,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from relax_mlir.script import from_source
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.transform import PassError, Sequential

pytestmark = pytest.mark.usefixtures("exec_mode")

rng = np.random.default_rng(0)


def function(text):
    return from_source("@R.function\n" + text)


def ops_of(func, deep=True):
    """The names of the operations of a function, without those that end blocks."""
    found = []

    def visit(block):
        for inner in block.operations:
            name = inner.operation.name.removeprefix("relax.")
            if name not in ("return", "output", "yield", "dataflow"):
                found.append(name)
            for region in inner.operation.regions:
                for nested in region.blocks:
                    visit(nested)

    own = func.op
    visit(own.body.blocks[0])
    return found


def run(func, *args):
    module = func if isinstance(func, IRModule) else func.module
    result = relax.VirtualMachine(relax.compile(module))["main"](*args)
    if hasattr(result, "__dlpack__"):
        return np.from_dlpack(result)
    return [np.from_dlpack(field) for field in result]


def array(*shape):
    return rng.standard_normal(shape).astype("float32")


def check_same(before, after, *args):
    """Both functions compute the same."""
    lhs, rhs = run(before, *args), run(after, *args)
    if not isinstance(lhs, list):
        lhs, rhs = [lhs], [rhs]
    for left, right in zip(lhs, rhs, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


X4 = 'def main(x: R.Tensor(("n", 4), "float32")):\n'


# -- rewrite_call ---------------------------------------------------------------------------------


def twice():
    x = wildcard()
    return is_op("relax.add")(x, x), lambda _, found: R.multiply(found[x], R.const(2.0, "float32"))


def test_each_match_is_rewritten_and_the_result_computes_the_same():
    func = function(X4 + "    a = R.add(x, x)\n    b = R.add(a, a)\n    return b")
    text = str(func)
    after = rewrite_call(*twice(), func)
    assert ops_of(after) == ["constant", "multiply", "constant", "multiply"]
    assert str(func) == text  # what was given stays
    check_same(func, after, array(3, 4))


def test_a_larger_pattern_replaces_what_only_it_used():
    func = function(X4 + "    a = R.add(x, x)\n    b = R.add(a, a)\n    return b")
    x = wildcard()
    inner = is_op("relax.add")(x, x)
    pattern = is_op("relax.add")(inner, inner)
    after = rewrite_call(pattern, lambda _, found: op.multiply(found[x], 4.0), func)
    assert ops_of(after) == ["constant", "multiply"]
    check_same(func, after, array(3, 4))


def test_what_others_use_stays():
    func = function(X4 + "    a = R.exp(x)\n    b = R.log(a)\n    return (a, b)")
    x = wildcard()
    pattern = is_op("relax.log")(is_op("relax.exp")(x))
    after = rewrite_call(pattern, lambda _, found: found[x], func)
    assert ops_of(after) == ["exp", "tuple"]
    check_same(func, after, array(3, 4))


def test_names_of_values_stay():
    func = function(X4 + "    total = R.add(x, x)\n    return total")
    after = rewrite_call(*twice(), func)
    assert [var_name(value) for value in bound_vars(after)][-1] == "total"


@pytest.mark.parametrize("answer", ["value", "none", "equal"])
def test_rewriter_may_decline(answer):
    func = function(X4 + "    a = R.add(x, R.exp(x))\n    return a")
    lhs, rhs = wildcard(), wildcard()
    answers = {
        "value": lambda expr, found: expr,
        "none": lambda expr, found: None,
        "equal": lambda expr, found: op.add(found[lhs], found[rhs]),
    }
    after = rewrite_call(is_op("relax.add")(lhs, rhs), answers[answer], func)
    assert_structural_equal(after, func)


def test_declined_side_of_an_or_leaves_the_other_one():
    func = function("""def main():
    a = R.ones((4,), "float32")
    b = R.zeros((4,), "float32")
    c = R.add(a, b)
    return c""")
    anything = is_op("relax.add")(wildcard(), wildcard())
    arg = wildcard()
    zero = is_op("relax.add")(arg, is_op("relax.zeros")(wildcard()))
    pattern = anything | zero

    def rewriter(expr, found):
        assert found[pattern] == expr
        return found[arg] if zero in found else expr

    assert ops_of(rewrite_call(pattern, rewriter, func)) == ["shape", "ones"]


def test_callee_of_a_match_can_be_called():
    func = function(
        X4 + "    a = R.add(R.const(1.0), x)\n    b = R.multiply(a, R.const(1.0))\n    return b"
    )
    callee = is_op("relax.add") | is_op("relax.multiply")
    arg, const = wildcard(), is_const()

    def rewriter(expr, found):
        value = np.array(found[const].owner.attributes["value"])
        return found[callee](found[arg], 2.0) if value == 1.0 else expr

    after = rewrite_call(callee(arg, const), rewriter, func)
    x = array(2, 4)
    np.testing.assert_allclose(run(after, x), (x + 2) * 2, rtol=1e-6)


def test_what_rewriting_makes_is_rewritten():
    func = function(
        'def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32"), '
        'z: R.Tensor((8,), "float32")):\n'
        "    with R.dataflow():\n        a = R.add(x, y)\n        b = R.add(a, z)\n"
        "        out = R.multiply(b, R.const(5.0))\n        R.output(out)\n    return out"
    )
    lhs, rhs, const = wildcard(), wildcard(), is_const()
    pattern = is_op("relax.multiply")(is_op("relax.add")(lhs, rhs), const)

    def rewriter(_, found):
        return found[lhs] * found[const] + found[rhs] * found[const]

    after = rewrite_call(pattern, rewriter, func)
    assert ops_of(after) == ["constant", "multiply", "multiply", "add", "multiply", "add"]
    check_same(func, after, array(8), array(8), array(8))


def test_fields_of_a_tuple_that_replaces_another_one_are_used_directly():
    func = function("""def main(a: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
    with R.dataflow():
        c = R.concat([a, b])
        d = R.split(c, 2)
        e = R.add(a, d[0])
        f = R.add(d[1], e)
        R.output(f)
    return f""")
    args, arg = wildcard(), wildcard()
    split = is_op("relax.split")(is_op("relax.concat")(args)).has_attr({"indices_or_sections": 2})
    same = is_op("relax.add")(arg, arg)

    def rewriter(expr, found):
        if split in found:
            return found[args]
        return op.multiply(found[arg], 2.0)

    after = rewrite_call(split | same, rewriter, func)
    assert ops_of(after) == ["constant", "multiply", "add"]
    check_same(func, after, array(8), array(8))


def test_reshape_to_the_same_shape_is_left_out():
    func = function(
        X4
        + '    a = R.exp(x)\n    b = R.reshape(a, ("n", 4))\n    return b'.replace(
            '("n", 4)', "R.shape_of(x)"
        )
    )
    arg, shape = wildcard(), wildcard()

    def rewriter(expr, found):
        return found[arg] if is_shape(found[arg].type.shape).match(found[shape]) else None

    after = rewrite_call(is_op("relax.reshape")(arg, shape), rewriter, func)
    assert ops_of(after) == ["exp"]


def test_matmul_of_a_transposed_weight():
    func = function("""def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((5, 4), "float32")):
    with R.dataflow():
        wt = R.permute_dims(w)
        y = R.matmul(x, wt)
        R.output(y)
    return y""")
    x, w = wildcard(), wildcard()
    transposed = is_op("relax.permute_dims")(w)
    pattern = is_op("relax.matmul")(x, transposed)

    def rewriter(_, found):
        return op.sum(op.multiply(op.expand_dims(found[x], [1]), found[w]), axis=2)

    after = rewrite_call(pattern, rewriter, func)
    assert ops_of(after) == ["expand_dims", "multiply", "sum"]
    check_same(func, after, array(3, 4), array(5, 4))


def test_wrapping_what_matched_happens_once():
    func = function(X4 + "    y = R.exp(x)\n    return y")
    pattern = is_op("relax.exp")(wildcard())
    after = rewrite_call(pattern, lambda expr, _: op.negative(expr), func)
    assert ops_of(after) == ["exp", "negative"]


def test_expression_of_the_function_that_is_rewritten():
    func = function(X4 + "    a = R.exp(x)\n    b = R.exp(a)\n    return R.add(a, b)")
    a = func.op.body.blocks[0].operations[0].result
    after = rewrite_call(is_expr(a), lambda *_: None, func)
    assert_structural_equal(after, func)
    pattern = is_op("relax.exp")(is_expr(a))
    after = rewrite_call(pattern, lambda _, found: op.negative(a_of(found, pattern)), func)
    assert ops_of(after) == ["exp", "negative", "add"]


def a_of(found, pattern):
    return found[pattern.args[0]]


def test_values_inside_branches_and_closures():
    func = function("""def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
    if c:
        y = R.add(x, x)
    else:
        z = R.exp(x)
        y = R.add(z, z)
    return y""")
    after = rewrite_call(*twice(), func)
    assert ops_of(after).count("multiply") == 2
    assert "add" not in ops_of(after)
    x = array(4)
    np.testing.assert_allclose(run(after, np.array(True), x), 2 * x, rtol=1e-6)
    np.testing.assert_allclose(run(after, np.array(False), x), 2 * np.exp(x), rtol=1e-6)


def test_matching_does_not_look_over_impure_operations():
    text = """def main(x: R.Tensor((4,), "float32")):
    a = R.exp(x)
{}    b = R.log(a)
{}    return b"""
    x = wildcard()
    pattern = is_op("relax.log")(is_op("relax.exp")(x))
    call = '    _ = R.call_packed("my.show", x, sinfo_args=R.Object)\n'
    before = from_source("@R.function(pure=False)\n" + text.format(call, ""))
    assert_structural_equal(rewrite_call(pattern, lambda _, f: f[x], before), before)
    behind = from_source("@R.function(pure=False)\n" + text.format("", call))
    assert ops_of(rewrite_call(pattern, lambda _, f: f[x], behind)) == ["call_packed"]


# -- errors ---------------------------------------------------------------------------------------


def test_replacement_of_another_type_is_an_error_at_the_place():
    func = function(X4 + "    total = R.exp(x)\n    return total")
    with pytest.raises(
        RewriteError, match=r'"total".*expected a replacement of the type of'
    ) as info:
        rewrite_call(is_op("relax.exp")(wildcard()), lambda e, _: op.flatten(e), func)
    assert "!relax.tensor<[n * 4], f32>" in str(info.value)
    assert "match_cast" in str(info.value)


def test_replacement_of_a_subtype():
    func = function(
        'def main(x: R.Tensor(ndim=1, dtype="float32")):\n    y = R.exp(x)\n    return y'
    )

    def rewriter(expr, found):
        return op.match_cast(expr, relax.TensorStructInfo((4,), "float32"))

    after = rewrite_call(is_op("relax.exp")(wildcard()), rewriter, func)
    assert ops_of(after) == ["exp", "match_cast"]


def test_rewriting_without_an_end_is_an_error():
    func = function(
        'def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):\n'
        "    a = R.add(x, y)\n    return a"
    )
    lhs, rhs = wildcard(), wildcard()
    with pytest.raises(RewriteError, match=r"expected rewriting to end, but 'relax.add'"):
        rewrite_call(is_op("relax.add")(lhs, rhs), lambda _, f: op.add(f[rhs], f[lhs]), func)


def test_error_of_a_rewriter_says_where():
    func = function(X4 + "    y = R.exp(x)\n    return y")

    def rewriter(expr, found):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as info:
        rewrite_call(is_op("relax.exp")(wildcard()), rewriter, func)
    if hasattr(info.value, "__notes__"):
        assert "in the replacement of 'relax.exp'" in info.value.__notes__[0]


def test_impure_replacement_in_a_dataflow_block_is_not_valid():
    func = function("""def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
    return y""")
    with pytest.raises(PassError, match="what it leaves is not valid"):
        rewrite_call(
            is_op("relax.exp")(wildcard()),
            lambda e, _: op.call_packed("my.exp", e, sinfo_args=e.type),
            func,
        )


def test_what_is_no_function_is_an_error():
    with pytest.raises(TypeError, match="expected a"):
        rewrite_call(*twice(), 3)


# -- rewrite_bindings -----------------------------------------------------------------------------


def qkv():
    with PatternContext() as ctx:
        x, wq, wk, wv = (wildcard() for _ in range(4))
        q, k, v = (is_op("relax.matmul")(x, w) for w in (wq, wk, wv))

    def rewriter(found, bindings):
        assert found[q] in bindings
        weights = op.concat([found[w] for w in (wq, wk, wv)], axis=1)
        parts = op.split(op.matmul(found[x], weights), 3, axis=2)
        return {found[out]: parts[i] for i, out in enumerate((q, k, v))}

    return ctx, rewriter


W = 'R.Tensor((6, 5), "float32")'


def projections(body, outputs, groups=1):
    params = ", ".join(
        [f'x{g}: R.Tensor((2, 3, 6), "float32")' for g in range(groups)]
        + [f"w{i}: {W}" for i in range(3 * groups)]
    )
    lines = "".join(f"        {line}\n" for line in body)
    return function(
        f"def main({params}):\n    with R.dataflow():\n{lines}        out = ({outputs},)\n"
        "        R.output(out)\n    return out"
    )


def test_three_products_become_one():
    func = projections([f"y{i} = R.matmul(x0, w{i})" for i in range(3)], "y0, y1, y2")
    after = rewrite_bindings(*qkv(), func)
    assert ops_of(after) == ["concat", "matmul", "split", *["get_item"] * 3, "tuple"]
    check_same(func, after, array(2, 3, 6), *(array(6, 5) for _ in range(3)))


def test_each_group_is_rewritten():
    body = [f"y{i} = R.matmul(x{i // 3}, w{i})" for i in (0, 3, 1, 4, 2, 5)]
    func = projections(body, ", ".join(f"y{i}" for i in range(6)), groups=2)
    after = rewrite_bindings(*qkv(), func)
    assert ops_of(after).count("matmul") == 2
    inputs = [*(array(2, 3, 6) for _ in range(2)), *(array(6, 5) for _ in range(6))]
    check_same(func, after, *inputs)


def test_users_move_behind_what_they_use():
    body = [
        "y0 = R.matmul(x0, w0)",
        "r0 = R.exp(y0)",
        "y1 = R.matmul(x0, w1)",
        "t = R.negative(w2)",
        "y2 = R.matmul(x0, t)",
    ]
    func = projections(body, "r0, y1, y2")
    after = rewrite_bindings(*qkv(), func)
    assert ops_of(after).count("matmul") == 1
    assert ops_of(after).index("exp") > ops_of(after).index("split")
    check_same(func, after, array(2, 3, 6), *(array(6, 5) for _ in range(3)))


def test_products_of_different_inputs_stay():
    body = ["y0 = R.matmul(x0, w0)", "y1 = R.matmul(x1, w1)", "y2 = R.matmul(x1, w2)"]
    func = projections(body, "y0, y1, y2", groups=2)
    assert_structural_equal(rewrite_bindings(*qkv(), func), func)


def test_values_that_depend_on_each_other_stay():
    func = function("""def main(x: R.Tensor((4, 4), "float32"), a: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        p = R.matmul(x, a)
        b = R.exp(p)
        q = R.matmul(x, b)
        R.output(q)
    return q""")
    with PatternContext() as ctx:
        x, a, b = wildcard(), wildcard(), wildcard()
        p, q = is_op("relax.matmul")(x, a), is_op("relax.matmul")(x, b)

    def rewriter(found, _):
        parts = op.split(op.matmul(found[x], op.concat([found[a], found[b]], axis=1)), 2, axis=1)
        return {found[p]: parts[0], found[q]: parts[1]}

    with pytest.warns(RewriteWarning, match="would depend on itself") as caught:
        assert_structural_equal(rewrite_bindings(ctx, rewriter, func), func)
    assert len(caught) == 1
    assert "'relax.matmul'" in str(caught[0].message)


def test_rewrites_of_one_block_look_at_each_operation_a_few_times(monkeypatch):
    """The work is in proportion to the block, not to its square."""
    count = 400
    lines = "".join(f"    y{i + 1} = R.add(y{i}, y{i})\n" for i in range(count))
    func = function(f'def main(y0: R.Tensor((4,), "float32")):\n{lines}    return R.exp(y{count})')
    listed = 0
    original = driver.operations

    def operations(block):
        nonlocal listed
        found = original(block)
        listed += len(found)
        return found

    monkeypatch.setattr(driver, "operations", operations)
    x = wildcard()
    pattern = is_op("relax.add")(x, x)
    after = rewrite_call(pattern, lambda _, found: op.multiply(found[x], op.const(2.0)), func)
    assert ops_of(after).count("multiply") == count
    assert ops_of(after).count("add") == 0
    assert listed < 10 * count


def test_dataflow_block_that_begins_with_casts():
    func = function("""def main(x0: R.Tensor(ndim=2), a0: R.Tensor(ndim=2), b0: R.Tensor(ndim=2)):
    with R.dataflow():
        x = R.match_cast(x0, R.Tensor((4, 4), "float32"))
        a = R.match_cast(a0, R.Tensor((4, 4), "float32"))
        p = R.matmul(x, a)
        e = R.exp(p)
        b = R.match_cast(b0, R.Tensor((4, 4), "float32"))
        q = R.matmul(x, b)
        out = R.add(e, q)
        R.output(out)
    return out""")
    with PatternContext() as ctx:
        x, a, b = wildcard(), wildcard(), wildcard()
        p, q = is_op("relax.matmul")(x, a), is_op("relax.matmul")(x, b)

    def rewriter(found, _):
        parts = op.split(op.matmul(found[x], op.concat([found[a], found[b]], axis=1)), 2, axis=1)
        return {found[p]: parts[0], found[q]: parts[1]}

    after = rewrite_bindings(ctx, rewriter, func)
    assert ops_of(after).count("match_cast") == 3
    assert ops_of(after).count("matmul") == 1
    check_same(func, after, array(4, 4), array(4, 4), array(4, 4))


def test_other_values_cannot_be_replaced():
    func = projections([f"y{i} = R.matmul(x0, w{i})" for i in range(3)], "y0, y1, y2")
    ctx, _ = qkv()
    x = next(iter(ctx._nodes))
    with pytest.raises(RewriteError, match="expected values of the matched part"):
        rewrite_bindings(ctx, lambda found, _: {found[x]: found[x]}, func)
    with pytest.raises(TypeError, match="expected a mapping"):
        rewrite_bindings(ctx, lambda found, _: [1], func)


# -- rewriters ------------------------------------------------------------------------------------


def test_rewriter_of_a_module_and_in_a_sequence():
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        return y

    @R.function
    def other(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        return y
""")
    rewriter = PatternMatchingRewriter.from_pattern(*twice())
    for after in (rewriter(module), Sequential([rewriter])(module), rewriter(module.module)):
        assert isinstance(after, IRModule)
        assert "relax.add" not in str(after)
        assert str(after).count("relax.multiply") == 2
    only = rewriter(module["main"])
    assert only.name == "main"
    assert str(only.module).count("relax.multiply") == 1
    assert isinstance(ExprPatternRewriter(*twice()), PatternMatchingRewriter)


def test_two_rewriters():
    func = function(X4 + "    a = R.add(x, x)\n    b = R.exp(R.log(a))\n    return b")
    x = wildcard()
    first = PatternMatchingRewriter.from_pattern(*twice())
    second = ExprPatternRewriter(is_op("relax.exp")(is_op("relax.log")(x)), lambda _, f: f[x])
    for both in (first | second, OrRewriter(second, first)):
        assert ops_of(both(func)) == ["constant", "multiply"]
    with pytest.raises(TypeError, match="expected a PatternMatchingRewriter"):
        OrRewriter(first, None)


@R.rewriter
class AddToCall:
    @R.function
    def pattern(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")):
        c = R.add(a, b)
        return c

    @R.function
    def replacement(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")):
        c = R.subtract(a, R.negative(b))
        return c


def test_rule_as_functions():
    func = function("""def main(x: R.Tensor((8,), "float32")):
    parts = R.split(x, 2)
    y = parts[0] + parts[1]
    z = R.add(y, R.const(1.0))
    return z""")
    after = AddToCall(func)
    names = ["split", "get_item", "get_item", "negative", "subtract", "constant", "add"]
    assert ops_of(after) == names  # a scalar is no vector
    check_same(func, after, array(8))


def test_variables_of_a_rule_are_not_those_of_a_program():
    @R.rewriter
    class Square:
        @R.function
        def pattern(a: R.Tensor(("m", "n"), "float32"), b: R.Tensor(("n", "n"), "float32")):
            return R.matmul(a, b)

        @R.function
        def replacement(a: R.Tensor(("m", "n"), "float32"), b: R.Tensor(("n", "n"), "float32")):
            n = T.int64()
            m = T.int64()
            c = R.call_dps_packed("my.square", (a, b), R.Tensor((m, n), "float32"))
            return c

    func = function("""def main(a: R.Tensor(("n", "n * 2"), "float32"),
         b: R.Tensor(("n * 2", "n * 2"), "float32"), c: R.Tensor(("n * 2", "n"), "float32")):
    d = R.matmul(a, b)
    e = R.matmul(d, c)
    return e""")
    after = Square(func)
    assert ops_of(after) == ["call_dps_packed", "matmul"]
    call = after.op.body.blocks[0].operations[0]
    assert str(call.result.type) == "!relax.tensor<[n, n * 2], f32>"


def test_attributes_and_literals_of_a_rule_count():
    @R.rewriter
    class Rule:
        @R.function
        def pattern(x: R.Tensor(("n", "m"), "float32")):
            return R.add(R.sum(x, axis=1), R.const(1.0, "float32"))

        @R.function
        def replacement(x: R.Tensor(("n", "m"), "float32")):
            return R.negative(R.sum(x, axis=1))

    func = function("""def main(x: R.Tensor((4, 4), "float32")):
    a = R.add(R.sum(x, axis=1), R.const(1.0, "float32"))
    b = R.add(R.sum(x, axis=0), R.const(1.0, "float32"))
    c = R.add(R.sum(x, axis=1), R.const(2.0, "float32"))
    return (a, b, c)""")
    assert ops_of(Rule(func)).count("negative") == 1


def test_rule_with_a_dataflow_block_and_private_functions():
    @R.rewriter
    class Rule:
        @R.function
        def pattern(a: R.Tensor((4,), "float32")):
            return R.add(a, a)

        @R.function
        def replacement(a: R.Tensor((4,), "float32")):
            with R.dataflow():
                b = Rule.double(a)
                R.output(b)
            return b

        @R.function(private=True)
        def double(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.multiply(a, R.const(2.0))

        @R.function(private=True)
        def unused(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return a

    func = function("""def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        z = R.add(y, y)
        R.output(z)
    return z""")
    after = Rule(func.module)
    assert list(after) == ["main", "double"]
    x = array(4)
    np.testing.assert_allclose(run(after, x), 4 * x, rtol=1e-6)
    # A function of that name which is another one stays.
    taken = IRModule(str(func.module))
    taken["double"] = function("def double(x: R.Object) -> R.Object:\n    return x")
    after = Rule(taken)
    assert list(after) == ["main", "double", "double_1"]
    np.testing.assert_allclose(run(after, x), 4 * x, rtol=1e-6)


TUPLE_RULE = """
@I.ir_module
class Rule:
    @R.function
    def pattern(a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32"),
                x: R.Tensor((4,), "float32")):
        p = R.matmul(a, x)
        q = R.matmul(b, x)
        return (p, q)

    @R.function
    def replacement(a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32"),
                    x: R.Tensor((4,), "float32")):
        both = R.matmul(R.concat([a, b]), x)
        return R.split(both, 2)
"""


@pytest.mark.parametrize("form", ["explicit", "implicit", "output"])
def test_rule_of_a_tuple(form):
    ends = {
        "explicit": "t = (p, q)\n    out = t[0] + t[1]\n    return out",
        "implicit": "out = p + q\n    return out",
        "output": "out = (p, q)\n    return out",
    }
    func = function(f"""def main(x: R.Tensor((4,), "float32"), a: R.Tensor((4, 4), "float32"),
         b: R.Tensor((4, 4), "float32")):
    p = R.matmul(a, x)
    q = R.matmul(b, x)
    {ends[form]}""")
    after = PatternMatchingRewriter.from_module(from_source(TUPLE_RULE))(func)
    assert ops_of(after).count("matmul") == 1
    check_same(func, after, array(4), array(4, 4), array(4, 4))


def test_rule_of_a_tuple_where_one_value_depends_on_the_other():
    func = function("""def main(x: R.Tensor((4,), "float32"), a: R.Tensor((4, 4), "float32"),
         b: R.Tensor((4, 4), "float32")):
    p = R.matmul(a, x)
    e = R.exp(b)
    q = R.matmul(R.add(e, p), x)
    return R.add(p, q)""")
    after = PatternMatchingRewriter.from_module(from_source(TUPLE_RULE))(func)
    assert_structural_equal(after, func)


def test_tuple_rewriter():
    func = function(X4 + "    a = R.sin(x)\n    b = R.cos(x)\n    return R.add(a, b)")
    x = wildcard()
    rewriter = TupleRewriter(
        [is_op("relax.sin")(x), is_op("relax.cos")(x)],
        lambda values, f: (op.negative(values[0]), op.exp(f[x])),
    )
    assert ops_of(rewriter(func)) == ["sin", "negative", "exp", "add"]
    wrong = TupleRewriter([is_op("relax.sin")(x)], lambda values, f: (f[x], f[x]))
    with pytest.raises(RewriteError, match="expected a tuple of 1 values, but got 2"):
        wrong(func)


# -- rules that are none --------------------------------------------------------------------------

F = '(a: R.Tensor((4,), "float32")):\n        return '


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        (f"@R.function\n    def replacement{F}a", KeyError, "a function 'pattern'"),
        (f"@R.function\n    def pattern{F}a", KeyError, "a function 'replacement'"),
        (
            f"@R.function\n    def pattern{F}R.exp(a)\n    @R.function\n    def replacement"
            '(a: R.Tensor((5,), "float32")):\n        return a',
            ValueError,
            "the same signature",
        ),
        (
            f"@R.function\n    def pattern{F}R.exp(a)\n    @R.function\n    def replacement{F}"
            "R.sum(a)",
            ValueError,
            "the same signature",
        ),
        (
            f"@R.function\n    def pattern{F}R.exp(a)\n    @R.function\n    def replacement{F}a\n"
            f"    @R.function\n    def more{F}a",
            ValueError,
            "'more' is publicly exposed",
        ),
    ],
    ids=["no-pattern", "no-replacement", "parameters", "result", "public"],
)
def test_wrong_rules(functions, error, message):
    with pytest.raises(error, match=message):
        PatternMatchingRewriter.from_module(
            from_source(f"@I.ir_module\nclass Rule:\n    {functions}\n")
        )


def test_rule_with_a_branch_in_its_pattern():
    text = """@I.ir_module
class Rule:
    @R.function
    def pattern(c: R.Tensor((), "bool"), a: R.Tensor((4,), "float32")):
        if c:
            b = R.exp(a)
        else:
            b = a
        return b
"""
    text += text.split("class Rule:")[1].replace("pattern", "replacement")
    with pytest.raises(TypeError, match=r"expected calls, tuples, casts and literals.*relax\.if"):
        PatternMatchingRewriter.from_module(from_source(text))


# -- fusion ---------------------------------------------------------------------------------------


def test_convolution_bias_relu_becomes_one_call():
    t = 'R.Tensor((2, 8), "float32")'
    func = function(f"""def main(x: {t}, w: {t}, b: {t}):
    with R.dataflow():
        c = R.call_dps_packed("my.conv", (x, w), {t})
        s = R.add(c, b)
        y = R.nn.relu(s)
        R.output(y)
    return y""")
    x, w, b = wildcard(), wildcard(), wildcard()
    conv = is_call_dps_packed("my.conv", [x, w])
    pattern = is_op("relax.nn.relu")(is_op("relax.add")(conv, b))

    def rewriter(expr, found):
        return op.call_dps_packed("my.conv_bias_relu", [found[x], found[w], found[b]], expr.type)

    after = rewrite_call(pattern, rewriter, func)
    assert ops_of(after) == ["call_dps_packed"]


def test_matching_a_tuple_of_arguments_in_a_rewriter():
    func = function(X4 + "    y = R.concat([x, x], axis=0)\n    return y")
    parts = is_tuple([wildcard(), wildcard()])

    def rewriter(expr, found):
        return op.concat([op.exp(part) for part in found[parts]], axis=0)

    with pytest.raises(RewriteError, match="rewriting to end"):
        rewrite_call(is_op("relax.concat")(parts), rewriter, func)
