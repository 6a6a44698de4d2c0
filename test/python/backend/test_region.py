# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for a codegen as codegens read them (RF15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.analysis import var_name
from relax_mlir.backend import Region, constant_of
from relax_mlir.dpl import is_op, wildcard
from relax_mlir.script import from_source
from relax_mlir.transform import FuseOpsByPattern, MergeCompositeFunctions, Sequential

EXP_ADD = is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard())


def region(body: str) -> Region:
    lines = "\n".join("            " + line for line in body.splitlines())
    mod = from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), y: R.Tensor((2, 2), "float32")):
        with R.dataflow():
{lines}
            R.output(out)
        return out
""")
    passes = [FuseOpsByPattern([("my.exp_add", EXP_ADD)]), MergeCompositeFunctions()]
    merged = Sequential(passes)(mod)
    (name,) = [name for name, f in merged.functions.items() if "Codegen" in f.attrs]
    return Region(merged[name])


def test_rf15_steps_of_a_region() -> None:
    found = region("a = R.add(R.exp(x), y)\nout = R.add(R.exp(a), a)")
    first, second = found.steps
    assert found.symbol == "fused_relax_exp_relax_add_relax_exp_relax_add1_my"
    assert [var_name(value) for value in found.params] == ["x", "y"]
    assert [step.composite for step in found.steps] == ["my.exp_add"] * 2
    assert [op.operation.name for op in first.ops] == ["relax.exp", "relax.add"]
    assert first.inputs == found.params
    # An argument that is used twice is passed once, and read twice.
    assert second.args == [first.result]
    assert second.inputs == [first.result, first.result]
    assert found.outputs == [second.result]


def test_rf15_constants_of_a_region() -> None:
    found = region('out = R.add(R.exp(x), R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))')
    _, constant = found.steps[0].inputs
    np.testing.assert_array_equal(found.constants[constant], [[1, 2], [3, 4]])
    array = constant_of(constant)
    assert array is not None and array.dtype == np.float32
    assert constant_of(found.params[0]) is None


def test_rf15_outputs_of_a_region() -> None:
    found = region("a = R.add(R.exp(x), y)\nb = R.add(R.exp(a), y)\nout = (a, b)")
    assert found.outputs == [step.result for step in found.steps]


def test_rf15_values_outlive_the_module() -> None:
    def inner() -> Any:
        return region("out = R.add(R.exp(x), y)").steps

    (step,) = inner()
    assert [str(value.type) for value in step.args] == ["!relax.tensor<[2, 2], f32>"] * 2


def test_rf15_rejects_other_operations() -> None:
    mod = relax.IRModule("""
relax.func @f(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
    attributes {Codegen = "my", global_symbol = "f"} {
  %0 = relax.exp %x : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
  relax.return %0 : !relax.tensor<[2], f32>
}""")
    with pytest.raises(ValueError, match="function 'f': expected calls of functions of patterns"):
        Region(mod["f"])
