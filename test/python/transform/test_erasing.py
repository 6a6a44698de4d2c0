"""Misuse of operations in passes is an error, not the end of the process."""

from __future__ import annotations

import gc

import pytest
import relax_mlir as relax
from mlir import ir
from mlir.passmanager import PassManager
from mlir.rewrite import RewritePatternSet, apply_patterns_and_fold_greedily
from relax_mlir.dialects import relax as _ops
from relax_mlir.transform import PassError, dataflowblock_pass, function_pass, module_pass

TENSOR = "!relax.tensor<[n, 4], f32>"
TEXT = f"""
relax.func @main(%x: {TENSOR}) -> {TENSOR} {{
  %0 = relax.exp %x : ({TENSOR}) -> {TENSOR}
  %1 = relax.add %0, %0 : ({TENSOR}, {TENSOR}) -> {TENSOR}
  relax.return %1 : {TENSOR}
}}
relax.func @other(%x: {TENSOR}) -> {TENSOR} {{
  %0 = relax.log %x : ({TENSOR}) -> {TENSOR}
  relax.return %0 : {TENSOR}
}}
"""
USED = r"expected relax\.exp without uses where it is erased, but relax\.add uses it"


def body(func):
    return func.operation.regions[0].blocks[0]


def first(func):
    return body(func).operations[0].operation


def in_main(change):
    """Return a pass that changes one function."""

    @function_pass
    def changed(func, mod, ctx):
        if func.sym_name.value == "main":
            change(func)

    return changed


def test_error_erased_while_used():
    with pytest.raises(ValueError, match=USED):
        in_main(lambda func: first(func).erase())(TEXT)


def test_error_erased_while_used_in_a_pass_manager():
    with ir.Context():
        module = ir.Module.parse(TEXT)
        pm = PassManager("builtin.module")
        in_main(lambda func: first(func).erase()).add_to(pm)
        with pytest.raises(ir.MLIRError, match=USED) as caught:
            pm.run(module.operation)
        assert "in <lambda>" in str(caught.value)
        assert module.operation.verify()
        # Nothing is at work in the context, which takes more of what passes need.
        PassManager.parse("builtin.module(convert-to-llvm)").run(ir.Module.parse("").operation)


def test_error_erased_while_the_program_is_built():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        a = relax.op.exp(x)
        b = relax.op.add(a, a)
        with pytest.raises(ValueError, match=USED):
            a.owner.operation.erase()
        bb.emit_func_output(b)
    assert "relax.exp" in str(bb.get())


def test_error_erased_by_a_pattern():
    def erase(op, rewriter):
        try:
            rewriter.erase_op(op)
        except ValueError as error:
            found.append(str(error))
        return True

    found: list[str] = []
    with relax.default_context():
        module = ir.Module.parse(TEXT)
        patterns = RewritePatternSet()
        patterns.add(_ops.ExpOp, erase)
        apply_patterns_and_fold_greedily(module, patterns.freeze())
    assert "expected relax.exp without uses" in found[0]


def test_error_function_erased_of_which_a_value_is_used():
    @module_pass
    def mix(mod, ctx):
        use = body(mod["main"]).operations[1].operation
        use.operands[0] = first(mod["other"]).results[0]
        mod["other"].operation.erase()

    message = r"expected relax\.func without uses .*, but relax\.add uses a value of it"
    with pytest.raises(ValueError, match=message):
        mix(TEXT)


def test_erased_when_it_is_used_no_more():
    def change(func):
        op = first(func)
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()

    assert "relax.exp" not in str(in_main(change)(TEXT))


def test_functions_that_use_themselves_inside_are_erased():
    @module_pass
    def erase(mod, ctx):
        mod["main"].operation.erase()

    assert "@main" not in str(erase(TEXT))


def test_error_detached_while_used():
    message = r"expected relax\.exp without uses where it is detached \(move_before .* keep uses\)"
    with pytest.raises(ValueError, match=message):
        in_main(lambda func: first(func).detach_from_parent())(TEXT)


def test_detached_and_put_back():
    def change(func):
        copy = first(func).clone(ip=ir.InsertionPoint(first(func))).operation
        copy.detach_from_parent()
        gc.collect()
        ir.InsertionPoint(first(func)).insert(copy)
        copy.erase()

    assert str(in_main(change)(TEXT)) == str(in_main(lambda func: None)(TEXT))


def test_error_argument_erased_while_used():
    message = r"expected argument 0 without uses where it is erased, but relax\.exp uses it"
    with pytest.raises(ValueError, match=message):
        in_main(lambda func: body(func).erase_argument(0))(TEXT)
    with pytest.raises(IndexError, match="expected an argument below 1, but got 1"):
        in_main(lambda func: body(func).erase_argument(1))(TEXT)


@pytest.mark.parametrize("move", ["move_before", "move_after"])
def test_error_moved_into_itself(move):
    message = r"expected a place outside of relax\.func, but got one inside of it"
    with pytest.raises(ValueError, match=message):
        in_main(lambda func: getattr(func.operation, move)(first(func)))(TEXT)


def test_error_moved_to_another_function():
    @module_pass
    def move(mod, ctx):
        first(mod["main"]).move_before(first(mod["other"]))

    with pytest.raises(PassError, match="using value defined outside the region"):
        move(TEXT)


def test_error_of_what_a_pass_returns():
    @function_pass
    def wrong(func, mod, ctx):
        return "main"

    @dataflowblock_pass
    def wrong_block(block, mod, ctx):
        return 3

    with pytest.raises(TypeError, match=r"expected a relax\.func or nothing .*, but got 'main'"):
        wrong(TEXT)
    text = """
relax.func @main() -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    %1 = relax.null_value
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}"""
    with pytest.raises(TypeError, match=r"expected a relax\.dataflow or nothing"):
        wrong_block(text)
