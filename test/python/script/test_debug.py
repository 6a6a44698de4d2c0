"""R.print and R.assert_op: written, printed as text, and run."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Printing:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), n: R.Prim("int64"), s: R.Shape(ndim=2)):
        R.print(x, n, format="x is {}, n is {}")
        R.print(format="only text")
        _ = R.print(n, (x, (n, n)), R.str("text"))
        y = R.print(s, format=R.str("s is {0}{0}"))
        return y


@I.ir_module
class Asserting:
    @R.function(pure=False)
    def scalar(c: R.Prim("bool"), x: R.Tensor((2,), "int32"), n: R.Prim("int64")):
        R.assert_op(c, [x, n], format="x is {}, n is {}")
        return x

    @R.function(pure=False)
    def values(c: R.Tensor((), "bool"), x: R.Tensor((2,), "int32"), n: R.Prim("int64")):
        _ = R.assert_op(c, (x, n))
        return x

    @R.function(pure=False)
    def text(c: R.Tensor, x: R.Object):
        R.assert_op(c, format="it is {{wrong}}")
        return x

    @R.function(pure=False)
    def nothing(c: R.Prim("bool"), x: R.Object):
        R.assert_op(c)
        return x

    @R.function(pure=False)
    def one(c: R.Prim("bool"), x: R.Object):
        R.assert_op(c, x, "x: {}")
        return x

    @R.function(pure=False)
    def dimension(x: R.Tensor(("n",), "int32")):
        n = T.int64()
        R.assert_op(n % 8 == 0, format="n is no multiple of 8")
        R.assert_op(R.prim_value(n > 0), R.prim_value(n))
        return x


@pytest.fixture(scope="module")
def asserting():
    return relax.VirtualMachine(relax.compile(Asserting))


X = np.array([1, 2], "int32")


def test_print(capsys):
    vm = relax.VirtualMachine(relax.compile(Printing))
    assert len(vm["main"](np.array([1, 2.5], "float32"), 7, tvm_ffi.Shape((3, 4)))) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["x is [1.  2.5], n is 7", "only text", "7 ([1.  2.5], (7, 7)) text"]
    shape = lines[3].removeprefix("s is ")
    assert shape == 2 * shape[: len(shape) // 2]
    assert "3, 4" in shape


@pytest.mark.parametrize(
    ("name", "false", "args", "message"),
    [
        ("scalar", False, (X, 7), r"x is \[1 2\], n is 7"),
        ("values", np.array(False), (X, 7), r"\[1 2\], 7"),
        ("text", np.array(False), (X,), r"it is {wrong}"),
        ("nothing", False, (X,), "Assertion Failed"),
        ("one", False, ((X, X),), r"x: \(\[1 2\], \[1 2\]\)"),
    ],
)
def test_assertion(asserting, name, false, args, message):
    true = np.array(True) if isinstance(false, np.ndarray) else True
    asserting[name](true, *args)
    with pytest.raises(AssertionError, match=message):
        asserting[name](false, *args)


def test_assertion_of_a_dimension(asserting):
    asserting["dimension"](np.zeros(16, "int32"))
    with pytest.raises(AssertionError, match="n is no multiple of 8"):
        asserting["dimension"](np.zeros(12, "int32"))
    with pytest.raises(AssertionError, match=r"^0"):
        asserting["dimension"](np.zeros(0, "int32"))


@pytest.mark.parametrize("wrong", [np.array([True]), np.array(1.0)])
def test_condition_that_is_no_boolean_scalar(asserting, wrong):
    with pytest.raises(TypeError, match="expected a condition that is a scalar of data type bool"):
        asserting["text"](wrong, X)


@pytest.mark.parametrize("module", [Printing, Asserting], ids=["print", "assert_op"])
def test_round_trip(module):
    again = from_source(module.script())
    relax.assert_structural_equal(module, again)
    assert again.script() == module.script()


def test_text_as_a_value_leaves_nothing_behind():
    assert "relax.string" not in str(Printing).split("text")[-1]
    assert str(Printing).count("relax.string") == 1


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("R.assert_op(x)", r"expected a Boolean scalar as condition, but got '!relax.tensor<\[2\]"),
        ("R.assert_op(1)", "expected a Boolean scalar as condition, but got '!relax.prim<i64"),
        ('R.assert_op(R.str("c"))', "must be a Relax tensor or primitive value"),
        (
            "R.assert_op(True, format=x)",
            "expected the format as a string, but got a value of type !relax.tensor",
        ),
        ("R.print(x, format=3)", "expected the format as a string, but got 3"),
    ],
)
def test_wrong_arguments(statement, message):
    text = f"""
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    {statement}
    return x
"""
    with pytest.raises(ValueError, match=message):
        from_source(text)


def test_dr15_pure_function():
    text = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    R.print(x)
    return x
"""
    with pytest.raises(ValueError, match=r"is impure, which is not allowed in a pure function"):
        from_source(text)


@I.ir_module
class Branches:
    @R.function(pure=False)
    def main(x: R.Tensor((), "int32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")):
        if c:
            R.print(x, format="yes {}")
        else:
            R.print(x, format="no {}")
            if d:
                R.print(format="inside")
            else:
                R.call_packed("test_debug.nothing")
        return x


def test_branches_that_end_with_an_effect(capsys):
    tvm_ffi.register_global_func("test_debug.nothing", lambda: None, override=True)
    vm = relax.VirtualMachine(relax.compile(Branches))
    x, yes, no = np.array(3, "int32"), np.array(True), np.array(False)
    for c, d in [(yes, yes), (no, yes), (no, no)]:
        vm["main"](x, c, d)
    assert capsys.readouterr().out.splitlines() == ["yes 3", "no 3", "inside", "no 3"]


def test_branches_that_end_with_an_effect_round_trip():
    relax.assert_structural_equal(Branches, from_source(Branches.script()))


def test_branches_of_which_one_binds_a_name():
    text = """
@R.function(pure=False)
def main(x: R.Tensor((), "bool")):
    if x:
        R.print(x)
    else:
        y = x
    return x
"""
    with pytest.raises(ValueError, match="to bind the same name last, but got none and 'y'"):
        from_source(text)
