"""Proofs and simplification of dimension expressions under facts (GR01, ST12)."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from mlir import ir
from relax_mlir import Dim, Facts, shape_var
from test_dim import NAMES, assignments, build, evaluate, trees

DIMS = dict.fromkeys("nmkr", (0, None))


# ---------------------------------------------------------------------------------------------
# Proofs
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lhs", "rhs", "answer"),
    [
        # The normal form is enough.
        ("n * 4 + 8", "4 * (n + 2)", True),
        ("(n * 4) mod 4", "0", True),
        ("n * 2", "m * 2 + 1", False),
        ("n * 6 + m * 9", "k * 3 + 1", False),
        # Quotients and remainders.
        ("n floordiv 2 + (n + 1) floordiv 2", "n", True),
        ("n floordiv 4 * 4 + n mod 4", "n", True),
        ("n floordiv 2 floordiv 3", "n floordiv 6", True),
        ("n mod 8 mod 4", "n mod 4", True),
        ("n mod 2", "2", False),
        ("(n + 3) floordiv 4 * 4", "n + 4", False),
        ("-((-n) floordiv 4)", "(n + 3) floordiv 4", True),
        ("n floordiv (-2)", "(-n) floordiv 2", True),
        ("n * m floordiv m", "n", True),
        ("n mod 4", "3", None),
        ("n mod 4", "n mod 2", None),
        # Cases.
        ("max(n, m) + min(n, m)", "n + m", True),
        ("min(min(n, m), k)", "min(n, min(m, k))", True),
        ("select(lt(n, m), n, m)", "min(n, m)", True),
        ("select(n, n, 0)", "n", True),
        ("and(le(n, m), le(m, n))", "eq(n, m)", True),
        ("or(lt(n, m), lt(m, n))", "not(eq(n, m))", True),
        ("not(not(n))", "select(n, 1, 0)", True),
        ("max(n, n + 1)", "n", False),
        ("max(n, m)", "n", None),
        # Nothing is known of products but their terms.
        ("n * m + min(n, m)", "min(m, n) + m * n", True),
        ("n * m", "n", None),
        ("n * n", "-1", False),
        # Nothing is assumed of variables: they may be negative.
        ("n + 1", "0", None),
        ("max(n, 0)", "n", None),
    ],
)
def test_st12_prove_equal_without_facts(lhs, rhs, answer):
    assert Dim(lhs).prove_equal(rhs) is answer
    assert Dim(rhs).prove_equal(lhs) is answer


@pytest.mark.parametrize(
    ("lhs", "rhs", "facts", "answer"),
    [
        ("n + 1", "0", Facts(DIMS), False),
        ("max(n, 0)", "n", Facts(DIMS), True),
        ("n floordiv 8", "0", Facts({"n": (0, 7)}), True),
        ("n", "4", Facts({"n": (4, 4)}), True),
        ("n", "m", Facts({"n": (0, 3), "m": (4, None)}), False),
        ("n", "m + 1", Facts(equalities=[("n * 4", "m * 4 + 4")]), True),
        ("n", "m", Facts(equalities=[("n * 2", "m * 2")]), True),
        ("n", "4", Facts(equalities=[("n * 2", 8)]), True),
        ("n", "k", Facts(equalities=[("n", "m + 1"), ("m", "k - 1")]), True),
        ("n", "m", Facts(equalities=[("n", "m + k")], bounds={"k": (1, None)}), False),
        ("n", "m", Facts(inequalities=[("n", "m"), ("m", "n")]), True),
        ("(n + 7) floordiv 8 * 8", "n", Facts(equalities=[("n mod 8", 0)]), True),
        ("n * m", "m * 4", Facts(equalities=[("n", 4)]), True),
        ("n * m", "n * k", Facts(equalities=[("m", "k")]), None),
        ("n mod m", "n", Facts(DIMS, inequalities=[("n + 1", "m")]), True),
        ("n", "m", Facts(equalities=[("r", 3)]), None),
        # Both have the same form, once it is known what they choose.
        (
            "max(0, min(99, select(lt(n + 48, 0), n + 147, n + 48)) "
            "- max(0, min(99, select(lt(51 - n, 0), 150 - n, 51 - n))))",
            "max(0, min(99, n + 48) - max(0, select(lt(51 - n, 0), 150 - n, 51 - n)))",
            Facts(DIMS),
            True,
        ),
    ],
)
def test_st12_prove_equal_under_facts(lhs, rhs, facts, answer):
    assert Dim(lhs).prove_equal(rhs, facts) is answer
    assert Dim(rhs).prove_equal(lhs, facts) is answer


@pytest.mark.parametrize(
    ("lhs", "rhs", "facts", "answer"),
    [
        ("min(n, m)", "n", Facts(), True),
        ("n", "max(n, m)", Facts(), True),
        ("n + 1", "n", Facts(), False),
        ("n floordiv 4 * 4", "n", Facts(), True),
        ("n", "n floordiv 4 * 4 + 3", Facts(), True),
        ("n mod 4", "3", Facts(), True),
        ("4", "n mod 4", Facts(), False),
        ("n", "m", Facts(), None),
        ("n", "n * 2", Facts(), None),
        ("n", "n * 2", Facts(DIMS), True),
        ("n", "k", Facts(inequalities=[("n", "m"), ("m", "k")]), True),
        ("k + 1", "n", Facts(inequalities=[("n", "m"), ("m", "k")]), False),
        ("0", "n * m", Facts(DIMS), True),
        ("n * m", "20", Facts(inequalities=[("n * m", 16)]), True),
        ("n floordiv m", "n", Facts(DIMS), True),
    ],
)
def test_st12_prove_less_equal(lhs, rhs, facts, answer):
    assert Dim(lhs).prove_less_equal(rhs, facts) is answer


# From facts that contradict each other everything would follow; nothing is concluded.
@pytest.mark.parametrize(
    "facts",
    [
        Facts({"n": (0, 3)}, equalities=[("n", 5)]),
        Facts(equalities=[("n * 2", 3)]),
        Facts(equalities=[(1, 2)]),
        Facts(equalities=[("n + m", 5), ("n + m", 6)]),
        Facts(inequalities=[("n", "m - 1"), ("m", "n - 1")]),
        Facts({"n": (0, 3), "m": (9, 9)}, equalities=[("n * 2 + m", "m + 1")]),
    ],
    ids=repr,
)
def test_st12_contradictory_facts(facts):
    n = shape_var("n")
    assert n.prove_equal("m", facts) is None
    assert n.prove_equal(7, facts) is None
    assert n.prove_less_equal("m", facts) is None
    assert n.prove_equal(n, facts) is True  # needs no fact


# ---------------------------------------------------------------------------------------------
# Simplification
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("min(n, n + 4)", Facts(), "n"),
        ("max(n, 0)", Facts(DIMS), "n"),
        ("n mod 8", Facts({"n": (0, 7)}), "n"),
        ("n mod 8", Facts({"n": (8, 15)}), "n - 8"),
        ("n floordiv 8", Facts({"n": (8, 15)}), "1"),
        ("(n * 4 + r) floordiv 4", Facts({"r": (0, 3)}), "n"),
        ("(n * 4 + r) mod 4", Facts({"r": (0, 3)}), "r"),
        ("(n * 6 + 4) floordiv 4", Facts(), "n + n floordiv 2 + 1"),
        ("(n * 4 + 3) floordiv 8", Facts(), "n floordiv 2"),
        ("n * 4 mod 8", Facts(), "n mod 2 * 4"),
        ("(n floordiv 2 + 1) floordiv 3", Facts(), "(n + 2) floordiv 6"),
        ("(n mod 8 + m) mod 4", Facts(), "(n + m) mod 4"),
        ("n floordiv 4 * 4 + n mod 4", Facts(), "n"),
        ("n floordiv m * m + n mod m + k", Facts(), "n + k"),
        ("(n * m + r) floordiv m", Facts(DIMS, inequalities=[("r", "m - 1")]), "n"),
        ("(n * m * 2) floordiv (m * 2)", Facts(), "n"),
        ("(n * m + r) mod m", Facts(), "r mod m"),
        ("(n + 1) floordiv (n + 1)", Facts(), "1"),
        ("n mod m", Facts(DIMS, inequalities=[("n", "m - 1")]), "n"),
        ("min(min(n, m), min(n, k))", Facts(), "min(n, min(m, k))"),
        ("min(n, max(n, m))", Facts(), "n"),
        ("max(max(n, 3), 5)", Facts(), "max(n, 5)"),
        ("min(n, m)", Facts(inequalities=[("n", "m")]), "n"),
        ("n * m + k", Facts(equalities=[("n", 4), ("k", 0)]), "m * 4"),
        ("select(lt(n, m), n, m)", Facts(), "min(n, m)"),
        ("select(le(n, m), m, n)", Facts(), "max(n, m)"),
        ("select(not(n), m, k)", Facts(), "select(n, k, m)"),
        ("select(n, 0, 1)", Facts(), "not(n)"),
        ("select(le(0, n), m, k)", Facts(DIMS), "m"),
        ("not(lt(n, m))", Facts(), "le(m, n)"),
        ("not(le(n, m))", Facts(), "lt(m, n)"),
        ("not(not(eq(n, m)))", Facts(), "eq(n, m)"),
        ("not(not(n))", Facts(), "not(not(n))"),
        ("and(lt(n, m), n + 1)", Facts(DIMS), "lt(n, m)"),
        ("or(n, le(0, m))", Facts(DIMS), "1"),
        ("eq(n, m)", Facts(equalities=[("n * 2", "m * 2")]), "1"),
        ("lt(n mod 4, 4)", Facts(), "1"),
        ("n floordiv m", Facts(), "n floordiv m"),
        ("max(n, 0)", Facts(), "max(n, 0)"),
    ],
)
def test_gr01_simplify(text, facts, expected):
    simplified = Dim(text).simplify(facts)
    assert simplified == Dim(expected).simplify(facts)
    assert simplified.text == Dim(expected).text


# ---------------------------------------------------------------------------------------------
# Against plain evaluation
# ---------------------------------------------------------------------------------------------

small_trees = trees.filter(lambda tree: evaluate(tree, dict.fromkeys(NAMES, 1)) is not None)


@st.composite
def facts_of_a_witness(draw):
    """Return facts that some assignment satisfies, with the relations as trees."""
    witness = {name: draw(st.integers(0, 7)) for name in NAMES}
    bounds = {}
    for name in draw(st.sets(st.sampled_from(NAMES))):
        below, above = draw(st.none() | st.integers(0, 3)), draw(st.none() | st.integers(0, 3))
        bounds[name] = (
            None if below is None else witness[name] - below,
            None if above is None else witness[name] + above,
        )
    equalities, inequalities = [], []
    for tree in draw(st.lists(small_trees, max_size=2)):
        value = evaluate(tree, witness)
        if value is None:
            continue
        if draw(st.booleans()):
            equalities.append((tree, value))
        else:
            inequalities.append((tree, value + draw(st.integers(0, 2))))
    return bounds, equalities, inequalities


def build_facts(bounds, equalities, inequalities):
    return Facts(
        bounds,
        [(build(lhs), build(rhs)) for lhs, rhs in equalities],
        [(build(lhs), build(rhs)) for lhs, rhs in inequalities],
    )


def satisfying(bounds, equalities, inequalities):
    """Yield the assignments of the box for which the facts hold."""
    for values in assignments():
        in_bounds = all(
            (lower is None or lower <= values[name]) and (upper is None or values[name] <= upper)
            for name, (lower, upper) in bounds.items()
        )
        left = [evaluate(lhs, values) for lhs, _ in equalities]
        below = [evaluate(lhs, values) for lhs, _ in inequalities]
        if (
            in_bounds
            and all(a == b for a, (_, b) in zip(left, equalities, strict=True))
            and all(a is not None and a <= b for a, (_, b) in zip(below, inequalities, strict=True))
        ):
            yield values


@given(trees, facts_of_a_witness())
def test_gr01_simplify_keeps_the_value(tree, known):
    try:
        expr, facts = build(tree), build_facts(*known)
    except ZeroDivisionError:
        return
    simplified = expr.simplify(facts)
    for values in satisfying(*known):
        expected = evaluate(tree, values)
        if expected is not None:
            assert simplified.evaluate(values) == expected, (expr.text, simplified.text, values)


@given(trees, trees, facts_of_a_witness())
def test_st12_proofs_under_facts_are_never_refuted(lhs, rhs, known):
    try:
        pair, facts = (build(lhs), build(rhs)), build_facts(*known)
    except ZeroDivisionError:
        return
    equal, less_equal = (
        pair[0].prove_equal(pair[1], facts),
        pair[0].prove_less_equal(pair[1], facts),
    )
    for values in satisfying(*known):
        left, right = evaluate(lhs, values), evaluate(rhs, values)
        if left is None or right is None:
            continue
        assert equal in (None, left == right), (lhs, rhs, facts, values)
        assert less_equal in (None, left <= right), (lhs, rhs, facts, values)


@given(trees, st.dictionaries(st.sampled_from(NAMES), trees, min_size=1))
def test_gr01_substitution_commutes_with_evaluation(tree, replacements):
    try:
        expr = build(tree).substitute({name: build(new) for name, new in replacements.items()})
    except (ZeroDivisionError, ValueError):  # a divisor folds to 0, or the result is too large
        return
    for values in assignments():
        inner = {name: evaluate(new, values) for name, new in replacements.items()}
        if None in inner.values():
            continue
        expected = evaluate(tree, {**values, **inner})
        if expected is not None:
            assert expr.evaluate(values) == expected, (tree, replacements, values)


# ---------------------------------------------------------------------------------------------
# Limits and errors
# ---------------------------------------------------------------------------------------------


# Questions with too many columns, constraints, cases or too large numbers stay open.
@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        (
            " + ".join(f"min(a{i}, b{i})" for i in range(40)),
            " + ".join(f"max(a{i}, b{i})" for i in range(40)),
        ),
        (
            " + ".join(f"a{i} floordiv {i + 2}" for i in range(40)),
            " + ".join(f"b{i} mod {i + 3}" for i in range(40)),
        ),
        ("n * 4611686018427387904 + m floordiv 3", "m * 4611686018427387904 + n floordiv 5"),
        ("n * 9223372036854775807 * 9223372036854775807 + n mod 3", "m"),
    ],
    ids=["cases", "columns", "numbers", "overflow"],
)
def test_st12_large_questions_stay_open(lhs, rhs):
    facts = Facts(inequalities=[(f"a{i} + b{j}", f"n * {j}") for i in range(20) for j in range(9)])
    assert Dim(lhs).prove_equal(rhs, facts) is None
    assert Dim(lhs).prove_less_equal(rhs, facts) is None


def test_st12_facts_that_are_too_many_are_left_out():
    """Each relation has minima, which would be split into too many cases with those of n."""
    rows = "(max(0, min(1000, n - 1) - max(-1, n - 9)) + 1) floordiv 2"
    facts = Facts({"n": (0, None)}, inequalities=[(0, rows), (0, "n - max(-1, n - 1000) - 1")])
    length = "min(n, 1000) - min(n, 1)"
    assert Dim(0).prove_less_equal(length, facts)
    assert Dim(f"max(0, {length})").prove_equal(length, facts)


def test_st12_bounds_of_64_bits():
    facts = Facts({"n": (-(2**63), 2**63 - 1), "m": (2**62, 2**63 - 1)})
    assert shape_var("n").prove_less_equal("m", facts) is None
    assert (shape_var("m") * 4).prove_less_equal(0, facts) is False
    assert (shape_var("n") - shape_var("m")).simplify(facts) == shape_var("n") - shape_var("m")


def test_error_st12_facts():
    with pytest.raises(ValueError, match="expected bounds of 'n' in order, but got 3 and 2"):
        Facts({"n": (3, 2)})
    with pytest.raises(ValueError, match="expected the name of a variable, but got 'n \\+ 1'"):
        Facts({"n + 1": (0, None)})
    with pytest.raises(ValueError, match="expected an integer of 64 bits"):
        Facts({"n": (0, 2**63)})
    with pytest.raises(TypeError, match="expected a dimension"):
        Facts(equalities=[("n", 1.5)])
    with pytest.raises(TypeError, match="expected Facts, but got"):
        shape_var("n").simplify({"n": (0, None)})


def test_error_st12_facts_of_another_context():
    facts = Facts(equalities=[("n", "m")])
    with ir.Context():
        n = shape_var("n")
        with pytest.raises(ValueError, match="expected types and expressions of one context"):
            n.prove_equal("m", facts)
        # Bounds are of no context.
        assert n.prove_less_equal(3, Facts({"n": (0, 3)})) is True


def test_st12_facts_describe_themselves():
    facts = Facts({"n": (0, None)}, [("n", "m + 1")], [("m", 4)])
    assert repr(facts) == (
        "Facts(bounds={'n': (0, None)}, equalities=[('n', 'm + 1')], inequalities=[('m', '4')])"
    )
