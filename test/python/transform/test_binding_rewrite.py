"""Dataflow blocks that are changed binding by binding."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import DataflowBlockRewrite, IRModule, op
from relax_mlir.analysis import name_to_binding

TEXT = """
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("a")
    %b = relax.negative %a : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("b")
    %c = relax.sqrt %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("c")
    relax.output %b, %c : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  }
  relax.return %0#0 : !relax.tensor<[n], f32>
}
"""


class Case:
    def __init__(self) -> None:
        self.mod = IRModule(TEXT)
        self.main = self.mod["main"]
        self.block = self.main.body.blocks[0].operations[0]
        names = name_to_binding(self.main)
        self.x = self.main.body.blocks[0].arguments[0]
        self.a, self.b, self.c = (names[name][0].operation.results[0] for name in "abc")
        self.rewrite = DataflowBlockRewrite(self.block, self.main)

    def names(self) -> list[str]:
        block = self.rewrite.dfb.body.blocks[0]
        return [inner.operation.name.removeprefix("relax.") for inner in block.operations]


@pytest.fixture
def case() -> Case:
    return Case()


def test_ad01_replace_and_remove(case: Case, load) -> None:
    before = str(case.mod)
    rewrite = case.rewrite
    square = rewrite.add(lambda: op.multiply(rewrite[case.x], rewrite[case.x]), is_dfvar=True)
    rewrite.replace_all_uses(case.a, square)
    assert case.names() == ["exp", "multiply", "negative", "sqrt", "output"]
    rewrite.remove_unused(case.a)
    assert case.names() == ["multiply", "negative", "sqrt", "output"]
    new = rewrite.mutate_irmodule(case.mod)
    assert str(case.mod) == before
    result = load(new)(np.array([3], "float32"))
    assert np.from_dlpack(result).tolist() == [-9]
    assert 'loc("tmp0"' in str(rewrite.mutated_root_fn().operation.get_asm(enable_debug_info=True))
    assert rewrite.mutated_dfb() == rewrite.dfb


def test_ad02_new_value_computed_of_the_old_one(case: Case, load) -> None:
    rewrite = case.rewrite
    twice = rewrite.add(lambda: op.add(rewrite[case.a], rewrite[case.a]), "twice", is_dfvar=True)
    rewrite.replace_all_uses(case.a, twice)
    assert case.names() == ["exp", "add", "negative", "sqrt", "output"]
    result = load(rewrite.mutate_irmodule(case.mod))(np.zeros(1, "float32"))
    assert np.from_dlpack(result).tolist() == [-2]


def test_outputs_come_and_go(case: Case) -> None:
    rewrite = case.rewrite
    out = rewrite.add(lambda: op.exp(rewrite[case.b]), "out")
    assert len(rewrite.dfb.operation.results) == 3
    assert rewrite[rewrite.dfb.operation.results[2]] == out
    rewrite.remove_unused(case.c)
    assert len(rewrite.dfb.operation.results) == 2
    rewrite.remove_unused(out)
    assert case.names() == ["exp", "negative", "output"]
    # Later bindings use the output that stays.
    *_, last = rewrite.root_fn.op.body.blocks[0].operations
    assert last.operation.operands[0] == rewrite.dfb.operation.results[0]
    rewrite.mutate_irmodule(case.mod)


def test_output_is_replaced_behind_the_block(case: Case) -> None:
    rewrite = case.rewrite
    rewrite.replace_all_uses(case.b, case.c)
    assert rewrite.dfb.body.blocks[0].operations[3].operation.operands[0] == rewrite[case.c]
    rewrite.remove_unused(case.b)
    rewrite.remove_unused(case.a)
    assert case.names() == ["sqrt", "output"]


def test_what_is_used_or_not_there_stays(case: Case) -> None:
    rewrite = case.rewrite
    with pytest.raises(ValueError, match="expected a variable that is not used"):
        rewrite.remove_unused(case.a)
    with pytest.raises(ValueError, match="expected a variable that is not used"):
        rewrite.remove_unused(case.b)
    with pytest.raises(ValueError, match="expected a variable that the block binds"):
        rewrite.remove_unused(case.x)
    rewrite.remove_unused(case.c)
    with pytest.raises(ValueError, match="expected a variable that the block binds"):
        rewrite.remove_unused(case.c)
    rewrite.remove_unused(case.c, allow_undef=True)
    shape = rewrite.add(lambda: op.shape_of(rewrite[case.x]), is_dfvar=True)
    with pytest.raises(ValueError, match="expected a variable of type"):
        rewrite.replace_all_uses(case.a, shape)


def test_remove_all_unused(case: Case) -> None:
    rewrite = case.rewrite
    rewrite.add(lambda: op.exp(rewrite[case.x]), is_dfvar=True)
    rewrite.remove_all_unused()
    assert case.names() == ["exp", "negative", "output"]
    assert "rewritten_block" not in str(rewrite.root_fn)
    rewrite.mutate_irmodule(case.mod)


def test_added_operation_and_wrong_arguments(case: Case) -> None:
    rewrite = case.rewrite
    with relax.default_context(), ir.Location.unknown():
        null = ir.Operation.create("relax.null_value", results=[relax.ObjectStructInfo()])
    value = rewrite.add(null, "null")
    assert value.type == relax.ObjectStructInfo()
    with pytest.raises(TypeError, match="expected a dataflow block"):
        DataflowBlockRewrite(case.main, case.main)
    other = IRModule(TEXT)
    with pytest.raises(ValueError, match="expected a dataflow block of the function"):
        DataflowBlockRewrite(case.block, other["main"])
