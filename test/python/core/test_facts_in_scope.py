"""Facts about shape variables at a place, and their users (ST12, DR06, DR11-DR13)."""

import contextlib
import itertools
import re
import time

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import assume, given, settings
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import Dim, Facts, analysis
from test_dim import NAMES, assignments, build, evaluate, trees
from test_dim_facts import build_facts, facts_of_a_witness, satisfying, small_trees

Tensor, Shape = relax.TensorStructInfo, relax.ShapeStructInfo


def parse(text):
    return ir.Module.parse(text, relax.default_context())


def run_pass(mod, name):
    with mod.context:
        PassManager.parse(f"builtin.module({name})").run(mod.operation)
    return mod


def last_op(mod):
    *_, last = mod.body.operations[0].regions[0].blocks[0].operations
    return last


# ---------------------------------------------------------------------------------------------
# Relations of types under facts, against all small values
# ---------------------------------------------------------------------------------------------


def dims_of(shape, values):
    """The dimensions for these values; None where no tensor has them."""
    dims = [evaluate(tree, values) for tree in shape]
    return None if any(dim is None or dim < 0 for dim in dims) else dims


shapes = st.lists(trees, min_size=1, max_size=2)


@given(shapes, shapes, facts_of_a_witness())
def test_st12_relations_under_facts_are_never_refuted(lhs, rhs, known):
    try:
        facts = build_facts(*known)
        sub, super_ = (Tensor([build(tree) for tree in shape]) for shape in (lhs, rhs))
    except (ZeroDivisionError, ValueError):  # a divisor, or a dimension, folds to 0 or less
        return
    answers = (
        analysis.is_subtype(sub, super_, facts),
        analysis.check_compatibility(sub, super_, facts),
    )
    bound = analysis.unify_struct_info(sub, super_, facts)
    shape_of_bound = {str(sub): lhs, str(super_): rhs}.get(str(bound))
    for values in satisfying(*known):
        left, right = dims_of(lhs, values), dims_of(rhs, values)
        raw = [evaluate(tree, values) for tree in rhs]
        if left is not None and None not in raw:
            for answer in answers:
                assert answer in (None, left == raw), (lhs, rhs, facts, values)
        if shape_of_bound is not None:
            upper = [evaluate(tree, values) for tree in shape_of_bound]
            for dims in (left, right):
                assert dims is None or None in upper or dims == upper, (lhs, rhs, facts, values)


@pytest.mark.parametrize(
    ("lhs", "rhs", "facts", "answer"),
    [
        (("n",), ("max(n, 0)",), None, True),
        (("n",), ("-1 - n",), None, False),
        (("n", "n - 4"), ("max(n, 4)", "n - 4"), None, True),
        (("n",), ("m",), None, None),
        (("n",), ("m",), Facts(equalities=[("n + k", "m + k")]), True),
        (("n",), ("m",), Facts({"n": (None, 4), "m": (5, None)}), False),
        (("n", "n"), ("m", "n + 1"), None, False),
    ],
)
def test_st12_relations_of_tensors(lhs, rhs, facts, answer):
    assert analysis.is_subtype(Tensor(lhs), Tensor(rhs), facts) is answer
    assert analysis.check_compatibility(Tensor(lhs), Tensor(rhs), facts) is answer


def test_st12_a_shape_value_may_be_negative():
    assert analysis.is_subtype(Shape(("n",)), Shape(("max(n, 0)",))) is None


def test_st07_bound_of_shapes_of_which_one_has_the_values_of_the_other():
    small, large = Tensor(("n - 1",)), Tensor(("max(n - 1, 0)",))
    assert analysis.unify_struct_info(small, large) == large
    assert analysis.unify_struct_info(large, small) == large


# ---------------------------------------------------------------------------------------------
# Facts of programs
# ---------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(NAMES), st.tuples(st.integers(-2, 1), st.integers(1, 3))),
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.lists(st.tuples(small_trees, small_trees, st.booleans()), max_size=3),
)
def test_st12_facts_of_a_program_hold(bounds, dims, casts):
    """The answer of `facts_at` holds for all values with which the program gets there."""
    try:
        pairs = [(build(lhs).text, build(rhs).text) for lhs, rhs, _ in casts]
    except ZeroDivisionError:
        return
    params = [f"%s: !relax.shape<[{', '.join(NAMES)}]>", "%u: !relax.object"]
    params += [f"%x{i}: !relax.tensor<[{name}], f32>" for i, name in enumerate(dims)]
    lines = []
    for i, (lhs, rhs) in enumerate(pairs):
        left, right = f"!relax.shape<[{lhs}]>", f"!relax.shape<[{rhs}]>"
        if casts[i][2]:
            left, right = f"!relax.tensor<[{lhs}], f32>", f"!relax.tensor<[{rhs}], f32>"
            lines.append(f"%v{i} = relax.match_cast %u : !relax.object -> {left}")
        else:
            lines.append(f"%v{i} = relax.shape <[{lhs}]>")
        lines.append(f"%c{i} = relax.match_cast %v{i} : {left} -> {right}")
    attributes = ", ".join(
        f"tir_var_{end}_bound = {{{', '.join(f'{n} = {bounds[n][i]}' for n in bounds)}}}"
        for i, end in enumerate(("lower", "upper"))
    )
    text = (
        f"relax.func @main({', '.join(params)}) -> !relax.object attributes {{{attributes}}} {{\n"
        + "\n".join(lines)
        + "\nrelax.return %u : !relax.object\n}"
    )
    try:
        mod = parse(text)
    except ir.MLIRError:  # a negative constant as the dimension of a tensor
        assume(False)
    facts = analysis.facts_at(last_op(mod))
    reached = False
    for values in assignments():
        sides = [(evaluate(lhs, values), evaluate(rhs, values)) for lhs, rhs, _ in casts]
        if (
            any(not low <= values[name] <= high for name, (low, high) in bounds.items())
            or any(values[name] < 0 for name in dims)
            or any(lhs is None or lhs != rhs for lhs, rhs in sides)
            or any(
                is_tensor and lhs < 0
                for (lhs, _), (_, _, is_tensor) in zip(sides, casts, strict=True)
            )
        ):
            continue
        reached = True
        for name, (lower, upper) in facts.bounds.items():
            assert lower is None or lower <= values[name]
            assert upper is None or values[name] <= upper
        for lhs, rhs in facts.equalities:
            assert lhs.evaluate(values) == rhs.evaluate(values), (lhs.text, rhs.text, values)
        for lhs, rhs in facts.inequalities:
            assert lhs.evaluate(values) <= rhs.evaluate(values), (lhs.text, rhs.text, values)
    assume(reached)
    for lhs, rhs in pairs:  # and it says what the casts do
        assert Dim(lhs).prove_equal(rhs, facts) is not False


def test_st12_facts_at_a_place():
    mod = parse("""
        relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n, n - 2], f32>)
            -> !relax.object attributes {tir_var_upper_bound = {n = 128}} {
          %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 2, f32> {
            %1 = relax.match_cast %x : !relax.tensor<[n, n - 2], f32> -> !relax.tensor<[4, j], f32>
            relax.yield %1 : !relax.tensor<[4, j], f32>
          } else {
            %1 = relax.match_cast %x : !relax.tensor<[n, n - 2], f32>
                -> !relax.tensor<[k, n - 2], f32>
            relax.yield %1 : !relax.tensor<[k, n - 2], f32>
          }
          relax.return %0 : !relax.tensor<ndim = 2, f32>
        }""")
    branch, ret = mod.body.operations[0].regions[0].blocks[0].operations
    assert repr(analysis.facts_at(ret)) == repr(Facts({"n": (2, 128)}))
    then, other = (list(region.blocks[0].operations) for region in branch.regions)
    assert repr(analysis.facts_at(then[0])) == repr(Facts({"n": (2, 128)}))
    after = analysis.facts_at(then[1])
    assert after.bounds == {"n": (4, 4), "j": (0, None)}
    assert Dim("j").prove_equal(2, after) is True
    assert Dim("k").prove_equal("n", analysis.facts_at(other[1])) is True


def test_st12_facts_that_contradict_each_other():
    mod = parse("""
        relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object
            attributes {tir_var_upper_bound = {n = 4}} {
          %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[5], f32>
          relax.return %0 : !relax.tensor<[5], f32>
        }""")
    facts = analysis.facts_at(last_op(mod))
    assert [(a.text, b.text) for a, b in facts.inequalities] == [("5", "n"), ("n", "4")]
    assert Dim("n").prove_equal("m", facts) is None


# ---------------------------------------------------------------------------------------------
# Programs that rely on facts
# ---------------------------------------------------------------------------------------------


SUM = """
relax.func @main(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>)
    -> !relax.tensor<[m], f32> {
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
  %1 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>)
      -> !relax.tensor<ndim = 1, f32>
  relax.return %1 : !relax.tensor<ndim = 1, f32>
}"""


def run(text, *args, checks="all", function="main"):
    vm = relax.VirtualMachine(relax.compile(text, checks=checks))
    return np.from_dlpack(vm[function](*args))


@pytest.mark.usefixtures("exec_mode")
@pytest.mark.parametrize("checks", ["all", "necessary"])
def test_dr11_operands_that_fit_by_a_cast(checks):
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(run(SUM, x, x, checks=checks), x + x)


@pytest.mark.usefixtures("exec_mode")
def test_error_dr11_operands_that_do_not_fit_by_a_cast():
    x = np.zeros(3, "float32")
    with pytest.raises(ValueError, match=r"match_cast: .*dimension 0 is 3, where m = 4"):
        run(SUM, x, np.zeros(4, "float32"))


def test_se06_a_cast_stays_while_types_rely_on_it():
    """Without it the sum would not be known to be valid."""
    text = """
    relax.func @main(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object {{
      %0 = relax.dataflow -> !relax.tensor<{type}, f32> {{
        %1 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
        %2 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>)
            -> !relax.tensor<{type}, f32>
        relax.output %2 : !relax.tensor<{type}, f32>
      }}
      relax.return %0 : !relax.tensor<{type}, f32>
    }}"""
    for type_, stays in (("[n]", True), ("ndim = 1", False)):
        mod = run_pass(parse(text.format(type=type_)), "relax.func(relax-dead-code-elimination)")
        assert mod.operation.verify()
        assert ("relax.match_cast" in str(mod)) is stays


# ---------------------------------------------------------------------------------------------
# Declared bounds at run time
# ---------------------------------------------------------------------------------------------


BOUNDED = """
relax.func @double(%x: !relax.tensor<[n], f32>, %k: !relax.prim<i64, k>) -> !relax.tensor<[n], f32>
    attributes {tir_var_lower_bound = {n = 2, k = -1}, tir_var_upper_bound = {n = 4}} {
  %0 = relax.add %x, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>)
      -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}"""


@pytest.mark.usefixtures("exec_mode")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_mc08_declared_bounds(size):
    x = np.arange(size, dtype="float32")
    np.testing.assert_array_equal(run(BOUNDED, x, -1, function="double"), x + x)


@pytest.mark.usefixtures("exec_mode")
@pytest.mark.parametrize(
    ("size", "k", "message"),
    [
        (
            5,
            0,
            "double: shape variable 'n': expected n <= 4, but it is 5, "
            "where tir_var_upper_bound['n'] = 4",
        ),
        (
            1,
            0,
            "double: shape variable 'n': expected n >= 2, but it is 1, "
            "where tir_var_lower_bound['n'] = 2",
        ),
        (
            3,
            -2,
            "double: shape variable 'k': expected k >= -1, but it is -2, "
            "where tir_var_lower_bound['k'] = -1",
        ),
    ],
    ids=["upper", "lower", "prim"],
)
def test_error_mc08_declared_bounds(size, k, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run(BOUNDED, np.zeros(size, "float32"), k, function="double")


# ---------------------------------------------------------------------------------------------
# Cost
# ---------------------------------------------------------------------------------------------


def branches(count):
    """Branches that each bind a variable, one after the other."""
    tensor = "!relax.tensor<ndim = 1, f32>"
    text = "".join(
        f"""
        %{i} = relax.if %c : !relax.tensor<[], i1> -> !relax.object {{
          %a = relax.match_cast %x : {tensor} -> !relax.tensor<[k], f32>
          relax.yield %a : !relax.tensor<[k], f32>
        }} else {{
          relax.yield %x : {tensor}
        }}"""
        for i in range(count)
    )
    return parse(
        f"relax.func @main(%c: !relax.tensor<[], i1>, %x: {tensor}) -> !relax.object {{{text}\n"
        f"relax.return %x : {tensor} }}"
    )


def test_dr06_many_branches_take_time_in_proportion():
    def seconds(count):
        mod = branches(count)
        start = time.process_time()
        run_pass(mod, "relax-derive-struct-info")
        taken = time.process_time() - start
        assert str(mod).count("-> !relax.tensor<ndim = 1, f32> {") == count
        return taken

    small = min(seconds(500) for _ in range(3))
    assert min(seconds(2000) for _ in range(2)) < 10 * small  # 4 in proportion, 16 squared


def test_error_gr01_a_check_beyond_the_limits():
    """The condition that a kernel relies on may be too large to be written."""
    deep = Dim("n")
    with contextlib.suppress(ValueError):
        for i in itertools.count():  # as deep as an expression may be
            deep = (deep // 2) if i % 2 else deep.min("m")
    tensor = f"!relax.tensor<[{deep.text}, n, m], f32>"
    mod = parse(f"""
        relax.func @main(%s: !relax.shape<[n, m, k]>, %x: {tensor}) -> !relax.object {{
          %0 = relax.shape <[k]>
          %1 = relax.reshape %x, %0 : ({tensor}, !relax.shape<[k]>) -> !relax.tensor<[k], f32>
          relax.return %1 : !relax.tensor<[k], f32>
        }}""")
    with pytest.raises(
        ir.MLIRError, match=r"'relax.reshape' op cannot be lowered: .* beyond the limits"
    ):
        run_pass(mod, "relax-legalize-ops")


def test_st12_many_casts_take_bounded_time():
    """Each cast states another relation; a question only looks at some of them."""
    count = 300
    text = "".join(
        f"%{i} = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k{i}], f32>\n"
        for i in range(count)
    )
    adds = "".join(
        f"%s{i} = relax.add %x, %{i} : (!relax.tensor<[n], f32>, !relax.tensor<[k{i}], f32>) "
        "-> !relax.tensor<ndim = 1, f32>\n"
        for i in range(count)
    )
    mod = parse(
        "relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object {\n"
        f"{text}{adds}relax.return %x : !relax.tensor<[n], f32>\n}}"
    )
    start = time.process_time()
    run_pass(mod, "relax-derive-struct-info")
    assert time.process_time() - start < 60
    assert mod.operation.verify()
