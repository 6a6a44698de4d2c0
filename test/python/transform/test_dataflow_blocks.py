# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bindings become dataflow blocks, and are sorted in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_mlir.transform import ConvertToDataflow, TopologicalSort

X = np.arange(1, 4, dtype="float32")
T = "!relax.tensor<[n], f32>"


def module(text: str) -> relax.IRModule:
    return relax.IRModule(text.replace("T", T))


def run(mod: Any, *arguments: Any) -> np.ndarray:
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod))["main"](*arguments))


def ops(block: Any) -> list[Any]:
    """Return the operators of a block, those with bodies with the operators of these."""
    found: list[Any] = []
    for each in block.operations:
        name = each.operation.name.removeprefix("relax.")
        inner = [ops(region.blocks[0]) for region in each.operation.regions]
        found.append((name, *inner) if inner else name)
    return found


def main_ops(mod: Any) -> list[Any]:
    return ops(mod["main"].body.blocks[0])


# -- new blocks -----------------------------------------------------------------------------------

STEPS = """
relax.func impure @main(%x: T) -> T {
  %0 = relax.exp %x : (T) -> T
  %1 = relax.sin %0 : (T) -> T
  %2 = relax.call_packed "dataflow.note"(%1) : (T) -> !relax.object
  %3 = relax.negative %1 : (T) -> T
  %4 = relax.add %3, %0 : (T, T) -> T
  %5 = relax.multiply %4, %x : (T, T) -> T
  relax.return %5 : T
}"""


@pytest.mark.parametrize(
    ("min_size", "sizes"), [(1, [2, 3]), (2, [2, 3]), (3, [None, 3]), (4, [None, None])]
)
def test_bindings_side_by_side_become_a_block(
    min_size: int, sizes: list[int | None], exec_mode: str
) -> None:
    noted: list[Any] = []
    tvm_ffi.register_global_func("dataflow.note", noted.append, override=True)
    mod = module(STEPS)
    after = ConvertToDataflow(min_size)(mod)
    first, second = ["exp", "sin"], ["negative", "add", "multiply"]
    wanted: list[Any] = []
    wanted += first if sizes[0] is None else [("dataflow", [*first, "output"])]
    wanted.append("call_packed")
    wanted += second if sizes[1] is None else [("dataflow", [*second, "output"])]
    assert main_ops(after) == [*wanted, "return"]
    np.testing.assert_array_equal(run(after, X), run(mod, X))
    assert len(noted) == 2


def test_outputs_are_what_is_used_outside() -> None:
    after = ConvertToDataflow()(module(STEPS))
    first, _, second, _ = after["main"].body.blocks[0].operations
    assert (len(first.operation.results), len(second.operation.results)) == (2, 1)


BRANCHES = """
relax.func @main(%c: !relax.tensor<[], i1>, %x: T) -> T {
  %0 = relax.exp %x : (T) -> T
  %1 = relax.sin %0 : (T) -> T
  %2 = relax.if %c : !relax.tensor<[], i1> -> T {
    %3 = relax.negative %1 : (T) -> T
    %4 = relax.negative %3 : (T) -> T
    relax.yield %4 : T
  } else {
    %f = relax.closure (%y: !relax.tensor<[k], f32>) -> !relax.tensor<[k], f32> {
      %5 = relax.exp %y : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
      %6 = relax.exp %5 : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
      relax.return %6 : !relax.tensor<[k], f32>
    }
    %3 = relax.call %f : !relax.func<(!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>, pure> (%1) : (T) -> T
    relax.yield %3 : T
  }
  relax.return %2 : T
}"""  # noqa: E501 (the lines of MLIR)


@pytest.mark.parametrize("condition", [True, False])
def test_blocks_in_branches_and_closures(condition: bool, exec_mode: str) -> None:
    mod = module(BRANCHES)
    after = ConvertToDataflow()(mod)
    closure = ("closure", [("dataflow", ["exp", "exp", "output"]), "return"])
    assert main_ops(after) == [
        ("dataflow", ["exp", "sin", "output"]),
        (
            "if",
            [("dataflow", ["negative", "negative", "output"]), "yield"],
            [("dataflow", [closure, "call", "output"]), "yield"],
        ),
        "return",
    ]
    c = np.array(condition)
    np.testing.assert_array_equal(run(after, c, X), run(mod, c, X))


def test_bindings_around_a_block_become_part_of_it(exec_mode: str) -> None:
    mod = module("""
relax.func @main(%x: T) -> T {
  %0 = relax.exp %x : (T) -> T
  %1 = relax.dataflow -> T {
    %4 = relax.sin %0 : (T) -> T
    relax.output %4 : T
  }
  %2 = relax.dataflow -> !relax.tensor<ndim = 1, f32> {
    %4 = relax.cos %1 : (T) -> T
    relax.output %4 : T
  }
  %3 = relax.match_cast %2 : !relax.tensor<ndim = 1, f32> -> T
  relax.return %3 : T
}""")
    after = ConvertToDataflow()(mod)
    inside = ["exp", "sin", "cos", "match_cast", "match_cast", "output"]
    assert main_ops(after) == [("dataflow", inside), "return"]
    np.testing.assert_array_equal(run(after, X), run(mod, X))
    assert relax.structural_equal(ConvertToDataflow()(after), after)


def test_closures_stay_outside_that_capture_what_is_computed_before(exec_mode: str) -> None:
    mod = module("""
relax.func @main(%x: T) -> T {
  %0 = relax.exp %x : (T) -> T
  %1 = relax.sin %0 : (T) -> T
  %f = relax.closure (%y: T) -> T {
    %4 = relax.add %0, %y : (T, T) -> T
    relax.return %4 : T
  }
  %3 = relax.call %f : !relax.func<(T) -> T, pure> (%1) : (T) -> T
  relax.return %3 : T
}""")
    after = ConvertToDataflow()(mod)
    closure = ("closure", ["add", "return"])
    assert main_ops(after) == [
        ("dataflow", ["exp", "sin", "output"]),
        closure,
        "call",
        "return",
    ]
    np.testing.assert_array_equal(run(after, X), run(mod, X))


def test_small_blocks_that_are_there_stay() -> None:
    mod = module("""
relax.func impure @main(%x: T) -> T {
  %0 = relax.dataflow -> T {
    %2 = relax.exp %x : (T) -> T
    relax.output %2 : T
  }
  %1 = relax.call_packed "f"(%0) : (T) -> !relax.object
  relax.return %0 : T
}""")
    assert relax.structural_equal(ConvertToDataflow()(mod), mod)


def test_casts_in_a_block_bind_shape_variables(exec_mode: str) -> None:
    mod = relax.IRModule(
        """
relax.func @main(%x: !relax.object) -> !relax.object {
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
  %1 = relax.exp %0 : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
  %2 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[k], f32> {
    relax.yield %1 : !relax.tensor<[k], f32>
  } else {
    relax.yield %0 : !relax.tensor<[k], f32>
  }
  relax.return %2 : !relax.tensor<[k], f32>
}""".replace("%x: !relax.object)", "%x: !relax.object, %c: !relax.tensor<[], i1>)")
    )
    after = ConvertToDataflow()(mod)
    assert main_ops(after)[0] == ("dataflow", ["match_cast", "exp", "output"])
    np.testing.assert_array_equal(run(after, X, np.array(False)), X)


def test_recursive_calls_stay_outside() -> None:
    mod = module("""
relax.func @main(%x: T) -> T {
  %0 = relax.exp %x : (T) -> T
  %1 = relax.exp %0 : (T) -> T
  %2 = relax.call @back(%1) : (T) -> T
  relax.return %2 : T
}
relax.func private @back(%x: T) -> T {
  %0 = relax.call @main(%x) : (T) -> T
  relax.return %0 : T
}""")
    after = ConvertToDataflow(1)(mod)
    assert main_ops(after) == [("dataflow", ["exp", "exp", "output"]), "call", "return"]
    assert relax.analysis.well_formed(after) == []


def test_calls_of_the_closure_around_stay_outside() -> None:
    f = "!relax.func<(!relax.object) -> !relax.object, pure>"
    mod = relax.IRModule(f"""
relax.func @main(%x: !relax.object) -> !relax.object {{
  %f = relax.closure rec %self (%y: !relax.object) -> !relax.object {{
    %0 = relax.call %self : {f} (%y) : (!relax.object) -> !relax.object
    relax.return %0 : !relax.object
  }}
  relax.return %f : {f}
}}""")
    after = ConvertToDataflow(1)(mod)
    assert relax.analysis.well_formed(after) == []
    assert "relax.call %self" in str(after)


def test_constants_alone_are_no_block() -> None:
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        bb.emit_func_output(op.tuple(op.const(1.0), op.shape([2]), op.prim_value(3)))
    assert relax.structural_equal(ConvertToDataflow(1)(bb.get()), bb.get())


@pytest.mark.parametrize("size", [-1, 2.5, "2"])
def test_error_of_the_size(size: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="min_size"):
        ConvertToDataflow(size)


# -- order ----------------------------------------------------------------------------------------

DIAMOND = """
relax.func @main(%x: T) -> T {
  %0 = relax.dataflow -> T {
    %b1 = relax.exp %x : (T) -> T
    %b2 = relax.sin %x : (T) -> T
    %c = relax.constant dense<2.0> : tensor<f32>
    %c1 = relax.negative %b1 : (T) -> T
    %c2 = relax.multiply %b2, %c : (T, !relax.tensor<[], f32>) -> T
    %unused = relax.cos %b1 : (T) -> T
    %d = relax.add %c2, %c1 : (T, T) -> T
    relax.output %d : T
  }
  relax.return %0 : T
}"""


@pytest.mark.parametrize(
    ("order", "direction", "wanted"),
    [
        ("depth-first", "from-inputs", "exp negative cos sin constant multiply add"),
        ("breadth-first", "from-inputs", "exp sin negative cos constant multiply add"),
        ("depth-first", "from-outputs", "exp cos sin constant multiply negative add"),
        ("breadth-first", "from-outputs", "exp sin negative constant multiply add cos"),
    ],
)
def test_bindings_are_sorted(order: str, direction: str, wanted: str, exec_mode: str) -> None:
    mod = module(DIAMOND)
    after = TopologicalSort(order, direction)(mod)
    assert main_ops(after)[0][1] == [*wanted.split(), "output"]
    np.testing.assert_array_equal(run(after, X), run(mod, X))


def test_blocks_after_each_other_and_closures(exec_mode: str) -> None:
    mod = module("""
relax.func @main(%x: T) -> T {
  %0:2 = relax.dataflow -> T, T {
    %1 = relax.exp %x : (T) -> T
    %2 = relax.sin %x : (T) -> T
    relax.output %2, %1 : T, T
  }
  %3 = relax.dataflow -> T {
    %f = relax.closure (%y: !relax.tensor<[k], f32>) -> T {
      %4 = relax.exp %0#0 : (T) -> T
      relax.return %4 : T
    }
    %5 = relax.cos %0#1 : (T) -> T
    %6 = relax.call %f : !relax.func<(!relax.tensor<[k], f32>) -> T, pure> (%5) : (T) -> T
    relax.output %6 : T
  }
  relax.return %3 : T
}""")
    for order in ("depth-first", "breadth-first"):
        for direction in ("from-inputs", "from-outputs"):
            after = TopologicalSort(order, direction)(mod)
            np.testing.assert_array_equal(run(after, X), run(mod, X))


@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_casts_stay_before_what_names_their_variables(direction: str, exec_mode: str) -> None:
    mod = relax.IRModule("""
relax.func @main(%x: !relax.object, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
    %2 = relax.shape <[k]>
    %3 = relax.zeros %2 {dtype = f32} : (!relax.shape<[k]>) -> !relax.tensor<[k], f32>
    %4 = relax.sum %3 : (!relax.tensor<[k], f32>) -> !relax.tensor<[], f32>
    %5 = relax.add %y, %4 : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n], f32>
    relax.output %5 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}""")  # noqa: E501 (the lines of MLIR)
    for order in ("depth-first", "breadth-first"):
        after = TopologicalSort(order, direction)(mod)
        assert relax.analysis.well_formed(after) == []
    np.testing.assert_array_equal(run(after, X, X), X)


def test_error_of_an_order() -> None:
    with pytest.raises(ValueError, match="expected order to be one of depth-first, breadth-first"):
        TopologicalSort("depth")
    with pytest.raises(ValueError, match="expected direction to be one of from-inputs"):
        TopologicalSort("depth-first", "from-input")
