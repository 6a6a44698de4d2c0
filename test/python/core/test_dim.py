"""Dimension expressions: the canonical form against plain evaluation (GR01, ST12)."""

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given
from mlir import ir
from relax_mlir import Dim, FuncStructInfo, TensorStructInfo, analysis, shape_var

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
    **OPERATIONS,
}


def build(tree):
    """Return the expression of a tree; ZeroDivisionError where a divisor folds to 0."""
    if not isinstance(tree, tuple):
        return Dim(tree)
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
    if kind == "select":  # only the branch that is taken has to have a value
        condition = evaluate(operands[0], values)
        return None if condition is None else evaluate(operands[1 if condition else 2], values)
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
    assert Dim(expr.text) == expr


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
    assert Dim(lhs).prove_equal(rhs) is answer


def test_gr01_accessors():
    n = shape_var("n")
    expr = n * 4 + 1
    assert (expr.kind, n.kind, Dim(3).kind) == ("add", "var", "int")
    assert (n.name, n.value, Dim(3).value, expr.name) == ("n", None, 3, None)
    assert (expr.text, str(expr)) == ("n * 4 + 1", "#relax.expr<n * 4 + 1>")
    assert (expr + shape_var("a")).variables == ["a", "n"]
    assert {operand.text for operand in expr.operands} == {"n * 4", "1"}
    assert all(isinstance(operand, Dim) for operand in expr.operands)


def test_gr01_python_operators():
    n = shape_var("n")
    assert [e.text for e in (1 + n, 2 * n, 1 - n, n - 1, -n)] == [
        Dim(text).text for text in ("n + 1", "n * 2", "1 - n", "n - 1", "-n")
    ]
    assert (10 // n).evaluate({"n": 3}) == 3
    assert (10 % n).evaluate({"n": 3}) == 1
    assert n.select("m", 3).evaluate({"n": 0, "m": 5}) == 3


def test_gr01_equality_is_that_of_attributes():
    n = shape_var("n")
    assert n + n == n * 2
    assert hash(n + n) == hash(n * 2)
    assert n != shape_var("m")
    assert n != 4


def test_gr01_substitute():
    expr = Dim("n * m + n")
    assert expr.substitute({"n": "m", "m": 2}).text == Dim("m * 3").text


def test_gr01_evaluate_without_a_value():
    assert shape_var("n").evaluate({}) is None
    assert (4 // shape_var("n")).evaluate({"n": 0}) is None
    assert (shape_var("n") * 4).evaluate({"n": 2**62}) is None


def test_error_gr01_division_by_zero():
    with pytest.raises(ZeroDivisionError):
        shape_var("n") // 0
    with pytest.raises(ZeroDivisionError):
        shape_var("n") % 0


def test_error_gr01_wrong_operand():
    with pytest.raises(TypeError):
        shape_var("n") + 1.5


@pytest.mark.parametrize("text", ["", "n +", "n //", "f(n)", "n % 2", "(n", "n)", "1 mod 0", "é"])
def test_error_gr01_text(text):
    with pytest.raises(ValueError, match="expected a dimension such as"):
        Dim(text)


def test_error_gr01_nesting():
    with pytest.raises(ValueError, match="nested at most"):
        Dim("(" * 10_000 + "n" + ")" * 10_000)


# Each grows an expression: deeper, or wider where its parts are shared.
GROWTH = {
    "division": lambda e: (e + 1) // shape_var("m"),
    "not": lambda e: e.logical_not(),
    "min": lambda e: (e * 2).min(e + 1),
    "select": lambda e: e.select(e * 2 + "m", e - "m"),
    "product": lambda e: (e + "m") * (e + 1),
    "remainder": lambda e: (e * e + "m") % 7,
    "overflow": lambda e: e * 2**62,
}


@pytest.mark.parametrize("grow", GROWTH.values(), ids=GROWTH.keys())
def test_error_gr01_size_is_bounded(grow):
    expr = shape_var("n")
    with pytest.raises(ValueError, match="nested at most 128 deep, with at most 4096 nodes"):
        for _ in range(1000):
            expr = grow(expr)
    # The largest one that was made is one like any other.
    assert ir.Attribute.parse(str(expr), context=expr.context) == expr
    assert "n" in expr.variables
    assert expr.substitute({"n": "k"}).substitute({"k": "n"}) == expr
    assert expr.prove_equal(expr) is True
    expr.evaluate({"n": 2, "m": 3})
    expr.simplify()


def test_error_gr01_size_of_a_substitution():
    expr = shape_var("n").min("m") * 2
    with pytest.raises(ValueError, match="with at most 4096 nodes"):
        for _ in range(1000):
            expr = expr.substitute({"n": expr})


# Terms and factors beyond the normal form nest, and so are bounded as well.
@pytest.mark.parametrize("operator", [" + ", " * ", " mod "])
def test_error_gr01_size_of_text(operator):
    with pytest.raises(ValueError, match="nested at most 128 deep"):
        Dim(operator.join(f"v{i}" for i in range(1000)))


def test_gr01_large_polynomials():
    names = [f"v{i}" for i in range(64)]
    total = Dim(" + ".join(names))
    assert total == Dim(" + ".join(reversed(names)))
    assert (total - total).value == 0
    assert total.substitute(dict.fromkeys(names, 2)).value == 128
    # The product has too many terms to be multiplied out.
    assert (total * total).substitute(dict.fromkeys(names, 1)).value == 4096


def test_gr01_dims_that_grow_too_large_are_not_known():
    dim = Dim("(n * 2 + m) floordiv 3")
    step = FuncStructInfo(
        [TensorStructInfo(("n", "m"), "float32")], TensorStructInfo((dim, "m"), "float32")
    )
    current = TensorStructInfo(("n", "m"), "float32")
    for _ in range(100):
        current = analysis.derive_call_result(step, [current])
    assert (current.shape, current.ndim, current.dtype) == (None, 2, "float32")


def test_st12_subtypes_whose_dims_grow_too_large_are_not_decided():
    def nested(name):
        return Dim("not(" * 100 + name + ")" * 100)

    def closure(*dims):
        params = [TensorStructInfo((dim,), "float32") for dim in dims]
        return FuncStructInfo(params, TensorStructInfo(ndim=1, dtype="float32"))

    # `n` is to be the first dimension of the other one, and so the second one is too large.
    general = closure("n", nested("n"))
    assert analysis.is_subtype(general, closure("m", nested("m"))) is True
    assert analysis.is_subtype(general, closure(nested("m"), "k")) is None
