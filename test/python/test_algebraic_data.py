"""Values of algebraic data types: made, taken apart and refused, in programs of Relax."""

import numpy as np
import pytest
import relax_mlir as relax
from closure_programs import f32, machine, values
from relax_mlir import op
from relax_mlir.runtime import ADT
from relax_mlir.script import from_source
from relax_mlir.script.operators import truth

pytestmark = pytest.mark.usefixtures("exec_mode")

# A list is nothing (0), or an element and a list (1).
LISTS = """
!two = !relax.tensor<[2], f32>
!truth = !relax.prim<i1>
!is_nil = !relax.prim<i64, eq(t, 0)>
relax.func @sum(%l: !relax.object, %s: !two) -> !two {
  %tag = relax.adt_tag %l : !relax.object
  %t = relax.match_cast %tag : !relax.prim<i64> -> !relax.prim<i64, t>
  %number = relax.prim_value #relax.expr<eq(t, 0)>
  %c = relax.call_pure_packed "relax_mlir.run.truth"(%number)
    {sinfo_args = [!truth]} : (!is_nil) -> !truth
  %r = relax.if %c : !truth -> !two {
    relax.yield %s : !two
  } else {
    %0 = relax.adt_get %l[0] : !relax.object
    %x = relax.match_cast %0 : !relax.object -> !two
    %rest = relax.adt_get %l[1] : !relax.object
    %1 = relax.add %s, %x : (!two, !two) -> !two
    %2 = relax.call @sum(%rest, %1) : (!relax.object, !two) -> !two
    relax.yield %2 : !two
  }
  relax.return %r : !two
}
relax.func @main(%x: !two, %y: !two) -> !two {
  %z = relax.multiply %x, %y : (!two, !two) -> !two
  %nil = relax.adt_make 0()
  %0 = relax.adt_make 1(%z, %nil) : !two, !relax.object
  %w = relax.add %x, %y : (!two, !two) -> !two
  %1 = relax.adt_make 1(%w, %0) : !two, !relax.object
  %s = relax.call @sum(%1, %x) : (!relax.object, !two) -> !two
  relax.return %s : !two
}
"""


def test_vm03_lists_hold_tensors_that_live_as_long_as_they_do():
    vm = machine(LISTS)
    x, y = f32(1, 2), f32(3, 5)
    np.testing.assert_allclose(values(vm["main"](x, y)), x * y + (x + y) + x)
    given = ADT.make(1, [x, ADT.make(1, [y, ADT.make(0)])])
    np.testing.assert_allclose(values(vm["sum"](given, x)), x + y + x)


def test_vm03_values_are_those_of_the_runtime(load, vector):
    bb = relax.BlockBuilder()
    x = vector("x")
    with bb.function("main", [x]):
        bb.emit_func_output(op.adt_make(4, [op.exp(x), op.tuple(x, x), 3]))
    value = load(bb)(f32(0, 1))
    assert isinstance(value, ADT) and value.tag == 4
    exp, pair, number = value.fields
    np.testing.assert_allclose(values(exp), np.exp(f32(0, 1)), rtol=1e-6)
    assert len(pair) == 2 and number == 3


@pytest.mark.parametrize(
    ("read", "given", "error", "message"),
    [
        (lambda v: op.adt_tag(v), 3, TypeError, "expected a value of an algebraic data type"),
        (lambda v: op.adt_get(v, 0), (1, 2), TypeError, "expected a value of an algebraic data"),
        (lambda v: op.adt_get(v, 1), ADT.make(0, [2]), IndexError, "expected a tuple with field 1"),
    ],
    ids=["tag", "field of a tuple", "field beyond"],
)
def test_vm03_other_values_are_errors_in_words(load, read, given, error, message):
    bb = relax.BlockBuilder()
    v = relax.Var("v", relax.ObjectStructInfo())
    with bb.function("main", [v]):
        bb.emit_func_output(read(v))
    with pytest.raises(error, match=message):
        load(bb)(given)


def test_vm05_fatal_ends_the_program(load, vector):
    bb = relax.BlockBuilder()
    x = vector("x")
    with bb.function("main", [x], pure=False):
        bb.if_(truth(relax.Dim("n").less(3)), op.tuple, lambda: op.fatal("too long: 3 {}"))
        bb.emit_func_output(x)
    main = load(bb)
    np.testing.assert_array_equal(values(main(f32(1, 2))), f32(1, 2))
    with pytest.raises(RuntimeError, match=r"main: too long: 3 \{\}"):
        main(f32(1, 2, 3))


def test_vm03_programs_are_written_as_tvmscript():
    source = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Object:
        pair = R.adt_make(1, (x, R.adt_make(0, ())))
        tag = R.adt_tag(pair)
        t = T.int64()
        cast: R.Prim(value=t) = R.match_cast(tag, R.Prim(value=t))
        rest = R.adt_get(pair, index=1)
        _ = R.fatal("stop")
        return rest
"""
    module = from_source(source)
    again = from_source(module.script())
    relax.assert_structural_equal(module, again)
