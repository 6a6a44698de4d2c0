"""Graphs of patterns matched with dataflow blocks."""

from __future__ import annotations

import pytest
from mlir import ir
from relax_mlir.analysis import var_name
from relax_mlir.dpl import (
    PatternContext,
    PatternSeq,
    SameShapeConstraint,
    TupleGetItemPattern,
    is_call_dps_packed,
    is_const,
    is_op,
    is_var,
    wildcard,
)
from relax_mlir.script import from_source

T32 = 'R.Tensor((32, 32), "float32")'


def block(body, params="x, w", output=None):
    """A dataflow block; `f(a, b)` calls a packed function "f"."""
    lines = []
    for line in body.strip().splitlines():
        name, call = (part.strip() for part in line.split("=", 1))
        if not call.startswith(("R.", "(")) and "(" in call:
            function, args = call.rstrip(")").split("(")
            call = f'R.call_dps_packed("{function}", ({args},), {T32})'
        lines.append(f"        {name} = {call}\n")
    result = output or name
    text = ", ".join(f"{param.strip()}: {T32}" for param in params.split(","))
    func = from_source(
        f"@R.function\ndef main({text}):\n    with R.dataflow():\n{''.join(lines)}"
        f"        R.output({result})\n    return {result.split(',')[0]}"
    )
    found = func.op.body.blocks[0].operations[0]
    found.keep = func
    return found


def names(found):
    """The names of the values that patterns matched."""
    return {p: var_name(value) for p, value in found.items() if isinstance(value, ir.Value)}


CHAIN = block("a = matmul(x, w)\nb = relu(a)\nc = relu(b)")
DIAMOND = block("a = matmul(x, w)\nb = relu(a)\nc = sigmoid(a)\nd = add(b, c)")


def test_used_by():
    with PatternContext() as ctx:
        x, anything = is_var("x"), wildcard()
        x ^ anything
        found = ctx.match_dfb(CHAIN)
    assert names(found) == {x: "x", anything: "a"}


def test_chain_of_used_by():
    with PatternContext() as ctx:
        seq = is_call_dps_packed("matmul") ^ is_call_dps_packed("relu") ^ is_call_dps_packed("relu")
    found = names(ctx.match_dfb(CHAIN))
    assert [found[pattern] for pattern in seq] == ["a", "b", "c"]
    assert len(seq) == 3
    assert isinstance(seq, PatternSeq)


def test_chain_that_is_not_there():
    with PatternContext() as ctx:
        is_call_dps_packed("matmul") >> is_call_dps_packed("tanh")
    assert ctx.match_dfb(CHAIN) is None
    with PatternContext() as ctx:
        is_call_dps_packed("relu") ^ is_call_dps_packed("matmul")
    assert ctx.match_dfb(CHAIN) is None


def test_used_by_goes_back_to_earlier_choices():
    # The first relu is used by a tanh, only the second one by a sigmoid.
    blk = block("a = relu(x)\nb = tanh(a)\nc = relu(w)\nd = sigmoid(c)\ne = add(b, d)")
    with PatternContext() as ctx:
        relu, sigmoid = is_call_dps_packed("relu"), is_call_dps_packed("sigmoid")
        relu ^ sigmoid
    assert names(ctx.match_dfb(blk))[relu] == "c"


def test_only_used_by_does_not_match_where_there_is_another_use():
    with PatternContext() as used:
        matmul, relu = is_call_dps_packed("matmul"), is_call_dps_packed("relu")
        matmul ^ relu
    with PatternContext() as only:
        matmul >> relu
    assert used.match_dfb(DIAMOND)
    assert only.match_dfb(DIAMOND) is None
    assert only.match_dfb(CHAIN)


def test_output_of_the_block_is_another_use():
    blk = block("a = matmul(x, w)\nb = relu(a)", output="b, a")
    with PatternContext() as only:
        is_call_dps_packed("matmul") >> is_call_dps_packed("relu")
    assert only.match_dfb(blk) is None
    with PatternContext() as used:
        is_call_dps_packed("matmul") ^ is_call_dps_packed("relu")
    assert used.match_dfb(blk)


def make_diamond():
    return [is_call_dps_packed(name) for name in ("matmul", "relu", "sigmoid", "add")]


def test_diamond():
    with PatternContext() as ctx:
        matmul, relu, sigmoid, add = make_diamond()
        matmul ^ relu
        matmul ^ sigmoid
        relu >> add
        sigmoid >> add
    found = names(ctx.match_dfb(DIAMOND))
    assert [found[p] for p in (matmul, relu, sigmoid, add)] == ["a", "b", "c", "d"]


def test_diamond_with_fork_to():
    with PatternContext() as ctx:
        matmul, relu, sigmoid, add = make_diamond()
        matmul.fork_to(relu, sigmoid)
        relu >> add
        sigmoid >> add
    assert ctx.match_dfb(DIAMOND)[matmul].owner.name == "relax.call_dps_packed"


def test_diamond_with_only_used_by_at_the_fork():
    with PatternContext() as ctx:
        matmul, relu, sigmoid, add = make_diamond()
        matmul >> relu
        matmul >> sigmoid
        relu >> add
        sigmoid >> add
    assert ctx.match_dfb(DIAMOND) is None


def test_diamond_and_parallel_calls_are_told_apart():
    diamond = block("a = relu(x)\nb = add(a, a)", "x")
    parallel = block("a = relu(x)\nb = relu(x)\nc = add(a, b)", "x")
    with PatternContext() as fork:
        relu, add = is_call_dps_packed("relu"), is_call_dps_packed("add")
        relu.only_used_by(add, index=0)
        relu.only_used_by(add, index=1)
    assert fork.match_dfb(diamond)
    assert fork.match_dfb(parallel) is None
    with PatternContext() as two:
        add = is_call_dps_packed("add")
        is_call_dps_packed("relu") >> add
        is_call_dps_packed("relu") >> add
    assert two.match_dfb(parallel)
    assert two.match_dfb(diamond) is None


def test_index_is_a_position_among_the_arguments():
    blk = block("a = relu(x)\nb = add(w, a)")
    for index, expected in ((-1, True), (0, False), (1, True), (2, False)):
        with PatternContext() as ctx:
            is_call_dps_packed("relu").used_by(is_call_dps_packed("add"), index)
        assert (ctx.match_dfb(blk) is not None) == expected


CBR = block(
    """a = conv(x, w0)
b = bias_add(a, b0)
c = relu(b)
d = conv(x, w1)
e = bias_add(d, b1)
f = relu(e)
g = concat(c, f)""",
    "x, w0, b0, w1, b1",
)


def conv_bias_relu():
    return (
        is_call_dps_packed("conv") >> is_call_dps_packed("bias_add") >> is_call_dps_packed("relu")
    )


def test_two_branches_of_copies():
    with PatternContext() as ctx:
        first = conv_bias_relu()
        second = first.dup()
        x = is_var("x")
        x.fork_to(first, second)
    found = names(ctx.match_dfb(CBR))
    assert [found[pattern] for pattern in first] == ["a", "b", "c"]
    assert [found[pattern] for pattern in second] == ["d", "e", "f"]
    with PatternContext() as ctx:
        first = conv_bias_relu()
        is_var("w0").fork_to(first, first.dup())
    assert ctx.match_dfb(CBR) is None


def test_contexts_are_nested():
    with PatternContext() as outer:
        conv_bias_relu()
        with PatternContext() as inner:
            is_call_dps_packed("conv") >> is_call_dps_packed("relu")
            assert PatternContext.current() is inner
            assert inner.match_dfb(CBR) is None
        assert PatternContext.current() is outer
        assert outer.match_dfb(CBR)
    with pytest.raises(ValueError, match="expected a PatternContext"):
        PatternContext.current()


def test_incremental_context_begins_with_the_constraints_around():
    matmul, relu, tanh = (is_call_dps_packed(name) for name in ("matmul", "relu", "tanh"))
    blk = block("a = relu(x)\nb = tanh(a)")
    with PatternContext() as outer:
        matmul >> relu
        with PatternContext() as fresh:
            relu >> tanh
        with PatternContext(incremental=True) as more:
            relu >> tanh
    assert fresh.match_dfb(blk)
    assert more.match_dfb(blk) is None
    assert more.match_dfb(block("a = matmul(x, w)\nb = relu(a)\nc = tanh(b)"))
    assert outer.match_dfb(CHAIN)
    with pytest.raises(ValueError, match="inside of another one"):
        PatternContext(incremental=True)


def test_arguments_of_calls_are_constraints():
    blk = block("a = R.matmul(x, w0)\nb = R.matmul(x, w1)\nc = R.matmul(y, w2)", "x, y, w0, w1, w2")
    with PatternContext() as ctx:
        x, first, second = wildcard(), wildcard(), wildcard()
        p, q = is_op("relax.matmul")(x, first), is_op("relax.matmul")(x, second)
    found = names(ctx.match_dfb(blk))
    assert (found[x], found[first], found[second]) == ("x", "w0", "w1")
    assert (found[p], found[q]) == ("a", "b")
    with PatternContext() as ctx:
        x = wildcard()
        for _ in range(3):
            is_op("relax.matmul")(x, wildcard())
    assert ctx.match_dfb(blk) is None


def test_two_patterns_never_match_the_same_value():
    blk = block("a = R.add(x, x)", "x")
    with PatternContext() as ctx:
        is_op("relax.add")(wildcard(), wildcard())
    assert ctx.match_dfb(blk) is None
    with PatternContext() as ctx:
        x = wildcard()
        is_op("relax.add")(x, x)
    assert ctx.match_dfb(blk)


def test_fields_of_a_tuple():
    get = "R.TupleGetItem(a, {})".format
    blk = block(f"a = R.split(x, 2)\nb = {get(0)}\nc = {get(1)}\nd = R.add(b, c)", "x")
    with PatternContext() as ctx:
        split = is_op("relax.split")(wildcard())
        first = TupleGetItemPattern(split, 0).has_shape([16, 32])
        second = TupleGetItemPattern(split, 1).has_shape([16, 32])
        split.fork_to(first, second)
        add = is_op("relax.add")(first, second)
        first >> add
        second >> add
    found = names(ctx.match_dfb(blk))
    assert [found[p] for p in (split, first, second, add)] == ["a", "b", "c", "d"]


def test_shapes_tell_calls_apart():
    func = from_source("""
@R.function
def main(a: R.Tensor((32, 16), "float32"), b: R.Tensor((16, 48), "float32"),
         c: R.Tensor((48, 32), "float32")):
    with R.dataflow():
        p = R.matmul(a, b)
        q = R.matmul(p, c)
        R.output(q)
    return q
""")
    blk = func.op.body.blocks[0].operations[0]
    matmul = is_op("relax.matmul")
    for shape, expected in (([32, 48], True), ([32, 47], False)):
        with PatternContext() as ctx:
            first = matmul(varg_default_wildcard=True).has_shape(shape)
            first >> matmul(varg_default_wildcard=True)
        assert (ctx.match_dfb(blk) is not None) == expected


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        ((1024, 128), (1024, 128), True),
        (("n", 128), ("n", 128), True),
        ((1024, 128), (1, 128), False),
        (("n", 128), ("m", 128), False),
        (("n * 2", 128), ("n + n", 128), True),
        ((128,), (1024, 128), False),
    ],
)
def test_same_shape(lhs, rhs, expected):
    lhs, rhs = (", ".join(map(repr, dims)) for dims in (lhs, rhs))
    func = from_source(f"""
@R.function
def main(s: R.Shape(["n", "m"]), a: R.Tensor(({lhs},), "float32"),
         b: R.Tensor(({rhs},), "float32")):
    with R.dataflow():
        c = R.multiply(a, R.const(2.0))
        d = R.add(c, b)
        R.output(d)
    return d
""")
    with PatternContext() as ctx:
        left, right = wildcard(), wildcard()
        is_op("relax.add")(left, right)
        constraint = left.same_shape_as(right)
    assert isinstance(constraint, SameShapeConstraint)
    found = ctx.match_dfb(func.op.body.blocks[0].operations[0])
    assert (found is not None) == expected


def test_same_shape_of_a_pattern_that_is_not_there():
    with PatternContext() as ctx:
        x = wildcard()
        x ^ wildcard()
        x.same_shape_as(is_const())
    with pytest.raises(ValueError, match="has no constraint there"):
        ctx.match_dfb(CHAIN)


def test_context_without_constraints():
    with PatternContext() as ctx:
        wildcard()
    with pytest.raises(ValueError, match="expected constraints in the PatternContext"):
        ctx.match_dfb(CHAIN)


def test_what_is_no_dataflow_block():
    with PatternContext() as ctx:
        wildcard() ^ wildcard()
    with pytest.raises(TypeError, match="expected a dataflow block"):
        ctx.match_dfb("block")


def test_attention():
    func = from_source("""
@R.function
def main(x: R.Tensor(("b", "s", 64), "float32"), wq: R.Tensor((64, 64), "float32"),
         wk: R.Tensor((64, 64), "float32"), wv: R.Tensor((64, 64), "float32")):
    with R.dataflow():
        q = R.matmul(x, wq)
        k = R.matmul(x, wk)
        kt = R.permute_dims(k, [0, 2, 1])
        scores = R.matmul(q, kt)
        scaled = R.multiply(scores, R.const(0.125, "float32"))
        probs = R.nn.softmax(scaled, axis=-1)
        v = R.matmul(x, wv)
        out = R.matmul(probs, v)
        R.output(out)
    return out
""")
    matmul = is_op("relax.matmul")
    with PatternContext() as ctx:
        x, wq, wk, wv = (wildcard() for _ in range(4))
        q, k, v = matmul(x, wq), matmul(x, wk), matmul(x, wv)
        kt = is_op("relax.permute_dims")(k).has_attr({"axes": [0, 2, 1]})
        scale = is_const()
        scores = matmul(q, kt)
        probs = is_op("relax.nn.softmax")(is_op("relax.multiply")(scores, scale))
        out = matmul(probs, v)
        q >> scores
        probs >> out
    found = ctx.match_dfb(func.op.body.blocks[0].operations[0])
    assert [var_name(found[p]) for p in (x, wq, wk, wv, q, k, v, out)] == [
        *("x", "wq", "wk", "wv", "q", "k", "v", "out")
    ]


def test_long_chains_are_matched_in_time():
    lines = ["v0 = relu(x)", *(f"v{i} = relu(v{i - 1})" for i in range(1, 200))]
    blk = block("\n".join(lines), "x")
    with PatternContext() as ctx:
        seq = is_call_dps_packed("relu") >> is_call_dps_packed("relu")
        for _ in range(40):
            seq = seq >> is_call_dps_packed("relu")
        seq >> is_call_dps_packed("tanh")
    assert ctx.match_dfb(blk) is None
