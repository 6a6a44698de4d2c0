"""Dimension expressions: the canonical form against plain evaluation (GR01, ST12)."""

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given
from mlir import ir
from relax_mlir import PrimExpr, var

NAMES = ("n", "m", "k")
VALUES = (0, 1, 2, 3, 7)

leaves = st.sampled_from(NAMES) | st.integers(-9, 9)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "//", "%"]), inner, inner),
        st.tuples(st.sampled_from(["min", "max", "equal", "less", "less_equal"]), inner, inner),
        st.tuples(st.sampled_from(["logical_and", "logical_or"]), inner, inner),
        st.tuples(st.just("select"), inner, inner, inner),
        st.tuples(st.just("logical_not"), inner),
    ),
    max_leaves=10,
)

OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
NUMBERS = {
    "min": min,
    "max": max,
    "equal": lambda a, b: int(a == b),
    "less": lambda a, b: int(a < b),
    "less_equal": lambda a, b: int(a <= b),
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
    "logical_not": lambda a: int(not a),
    "select": lambda c, a, b: a if c else b,
    **OPERATIONS,
}


def build(tree):
    """Return the expression of a tree; ZeroDivisionError where a divisor folds to 0."""
    if not isinstance(tree, tuple):
        return PrimExpr(tree)
    kind, *operands = tree
    exprs = [build(operand) for operand in operands]
    if kind in OPERATIONS:
        return OPERATIONS[kind](*exprs)
    return getattr(exprs[0], kind)(*exprs[1:])


def evaluate(tree, values):
    """Return the value of a tree by Python's own arithmetic; None where a divisor is 0."""
    if not isinstance(tree, tuple):
        return values.get(tree, tree)
    kind, *operands = tree
    numbers = [evaluate(operand, values) for operand in operands]
    if None in numbers:
        return None
    try:
        return NUMBERS[kind](*numbers)
    except ZeroDivisionError:
        return None


def assignments():
    for numbers in itertools.product(VALUES, repeat=len(NAMES)):
        yield dict(zip(NAMES, numbers, strict=True))


@given(trees)
def test_gr01_canonical_form_keeps_the_value(tree):
    try:
        expr = build(tree)
    except ZeroDivisionError:
        return
    for values in assignments():
        expected = evaluate(tree, values)
        if expected is not None:  # a division by 0 may have been simplified away
            assert expr.evaluate(values) == expected, (expr.text, values)


@given(trees)
def test_gr01_text_round_trip(tree):
    try:
        expr = build(tree)
    except ZeroDivisionError:
        return
    assert PrimExpr(expr.text) == expr


@given(trees, trees)
def test_st12_prove_equal_is_never_refuted(lhs, rhs):
    try:
        answer = build(lhs).prove_equal(build(rhs))
    except ZeroDivisionError:
        return
    for values in assignments():
        pair = evaluate(lhs, values), evaluate(rhs, values)
        if answer is None or None in pair:
            continue
        assert (pair[0] == pair[1]) is answer, (lhs, rhs, values)


@given(trees)
def test_st12_equal_to_itself(tree):
    try:
        expr = build(tree)
    except ZeroDivisionError:
        return
    assert expr.prove_equal(build(tree)) is True


@pytest.mark.parametrize(
    ("lhs", "rhs", "answer"),
    [
        ("n * m", "m * n", True),
        ("(n + 1) * 2", "n * 2 + 2", True),
        ("n * 4 floordiv 2", "n * 2", True),
        ("n", "n + 1", False),
        ("n * 2", "m * 2 + 1", False),
        ("n", "m", None),
        ("n", "4", None),
    ],
)
def test_st12_prove_equal(lhs, rhs, answer):
    assert PrimExpr(lhs).prove_equal(rhs) is answer


def test_gr01_accessors():
    n = var("n")
    expr = n * 4 + 1
    assert (expr.kind, n.kind, PrimExpr(3).kind) == ("add", "var", "int")
    assert (n.name, n.value, PrimExpr(3).value, expr.name) == ("n", None, 3, None)
    assert (expr.text, str(expr)) == ("n * 4 + 1", "#relax.expr<n * 4 + 1>")
    assert (expr + var("a")).variables == ["a", "n"]
    assert {operand.text for operand in expr.operands} == {"n * 4", "1"}
    assert all(isinstance(operand, PrimExpr) for operand in expr.operands)


def test_gr01_python_operators():
    n = var("n")
    assert [e.text for e in (1 + n, 2 * n, 1 - n, n - 1, -n)] == [
        PrimExpr(text).text for text in ("n + 1", "n * 2", "1 - n", "n - 1", "-n")
    ]
    assert (10 // n).evaluate({"n": 3}) == 3
    assert (10 % n).evaluate({"n": 3}) == 1
    assert n.select("m", 3).evaluate({"n": 0, "m": 5}) == 3


def test_gr01_equality_is_that_of_attributes():
    n = var("n")
    assert n + n == n * 2
    assert hash(n + n) == hash(n * 2)
    assert n != var("m")
    assert n != 4


def test_gr01_substitute():
    expr = PrimExpr("n * m + n")
    assert expr.substitute({"n": "m", "m": 2}).text == PrimExpr("m * 3").text


def test_gr01_evaluate_without_a_value():
    assert var("n").evaluate({}) is None
    assert (4 // var("n")).evaluate({"n": 0}) is None
    assert (var("n") * 4).evaluate({"n": 2**62}) is None


def test_error_gr01_division_by_zero():
    with pytest.raises(ZeroDivisionError):
        var("n") // 0
    with pytest.raises(ZeroDivisionError):
        var("n") % 0


def test_error_gr01_wrong_operand():
    with pytest.raises(TypeError):
        var("n") + 1.5


@pytest.mark.parametrize("text", ["", "n +", "n //", "f(n)", "n % 2", "(n", "n)", "1 mod 0", "é"])
def test_error_gr01_text(text):
    with pytest.raises(ValueError, match="expected a dimension such as"):
        PrimExpr(text)


def test_error_gr01_nesting():
    with pytest.raises(ValueError, match="nested at most"):
        PrimExpr("(" * 10_000 + "n" + ")" * 10_000)


def test_error_nesting_is_bounded() -> None:
    expr = var("n")
    with pytest.raises(ValueError, match="nested at most 64 deep"):
        for _ in range(1000):
            expr = (expr + 1) // var("m")
    assert ir.Attribute.parse(str(expr), context=expr.context) == expr
