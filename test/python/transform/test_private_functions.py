# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Private functions change with all calls of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.transform import (
    ExpandTupleArguments,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
)

X = np.arange(6, dtype="float32").reshape(2, 3)

T = "!relax.tensor<[n, m], f32>"


def module(text: str) -> relax.IRModule:
    return relax.IRModule(text.replace("T", T))


def run(mod: Any, *arguments: np.ndarray, name: str = "main") -> Any:
    result = relax.VirtualMachine(relax.compile(mod))[name](*arguments)
    fields = [result] if hasattr(result, "__dlpack__") else list(result)
    return [np.from_dlpack(field) for field in fields]


def params(mod: Any, name: str) -> list[str]:
    return [str(param.struct_info) for param in mod[name].params]


def names(mod: Any, name: str) -> list[str]:
    return [value.value for value in mod[name].attrs["arg_names"]]


def ops(mod: Any, name: str) -> list[str]:
    found: list[str] = []
    for op in mod[name].body.blocks[0].operations:
        found.append(op.operation.name.removeprefix("relax."))
        for region in op.operation.regions:
            found += [
                each.operation.name.removeprefix("relax.") for each in region.blocks[0].operations
            ]
    return found


def same_result(before: Any, after: Any, *arguments: np.ndarray) -> None:
    for one, other in zip(run(after, *arguments), run(before, *arguments), strict=True):
        np.testing.assert_array_equal(one, other)


# -- parameters -----------------------------------------------------------------------------------

UNUSED = """
relax.func VISIBILITY @helper(%x: T, %unused: T, %y: T) -> T {
  %0 = relax.add %x, %y : (T, T) -> T
  relax.return %0 : T
}
relax.func @main(%x: T) -> T {
  %0 = relax.dataflow -> T {
    %1 = relax.exp %x : (T) -> T
    %2 = relax.call @helper(%x, %1, %x) : (T, T, T) -> T
    relax.output %2 : T
  }
  relax.return %0 : T
}"""


def test_parameters_that_nobody_uses_go(exec_mode: str) -> None:
    mod = module(UNUSED.replace("VISIBILITY", "private"))
    after = RemoveUnusedParameters()(mod)
    assert names(after, "helper") == ["x", "y"]
    assert "exp" not in ops(after, "main"), "what only computed the argument goes, too"
    same_result(mod, after, X)


def test_public_functions_keep_their_parameters() -> None:
    mod = module(UNUSED.replace("VISIBILITY", ""))
    assert relax.structural_equal(RemoveUnusedParameters()(mod), mod)


def test_functions_that_are_values_keep_their_parameters() -> None:
    mod = module("""
relax.func private @helper(%x: T, %unused: T) -> T {
  relax.return %x : T
}
relax.func @main(%x: T) -> !relax.object {
  %f = relax.global_var @helper : !relax.func<(T, T) -> T, pure>
  %0 = relax.call @helper(%x, %x) : (T, T) -> T
  %1 = relax.tuple %f, %0 : !relax.func<(T, T) -> T, pure>, T
  relax.return %1 : !relax.tuple<!relax.func<(T, T) -> T, pure>, T>
}""")
    assert relax.structural_equal(RemoveUnusedParameters()(mod), mod)


SHAPES = """
relax.func private @zeros(%x: T, %s: !relax.shape<[m]>) -> T {
  %0 = relax.shape <[n, m]>
  %1 = relax.zeros %0 {dtype = f32} : (!relax.shape<[n, m]>) -> T
  relax.return %1 : T
}
relax.func @main(%x: !relax.tensor<[a, 3], f32>) -> !relax.tensor<[a, 3], f32> {
  %s = relax.shape <[3]>
  %0 = relax.call @zeros(%x, %s) : (!relax.tensor<[a, 3], f32>, !relax.shape<[3]>) -> !relax.tensor<[a, 3], f32>
  relax.return %0 : !relax.tensor<[a, 3], f32>
}"""  # noqa: E501 (the lines of MLIR)


def test_shape_variables_are_passed_as_shapes(exec_mode: str) -> None:
    mod = module(SHAPES)
    after = RemoveUnusedParameters()(mod)
    assert params(after, "zeros") == ["!relax.shape<[m]>", "!relax.shape<[n]>"]
    assert names(after, "zeros") == ["s", "param_n"]
    same_result(mod, after, X)
    assert relax.structural_equal(RemoveUnusedParameters()(after), after)


def test_parameters_stay_that_alone_know_a_dimension(exec_mode: str) -> None:
    mod = module("""
relax.func private @zeros(%x: T, %y: T) -> T {
  %0 = relax.shape <[n, m]>
  %1 = relax.zeros %0 {dtype = f32} : (!relax.shape<[n, m]>) -> T
  relax.return %1 : T
}
relax.func @main(%x: !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32> {
  %0 = relax.call @zeros(%x, %x)
    : (!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}""")
    after = RemoveUnusedParameters()(mod)
    assert names(after, "zeros") == ["x", "y"]
    same_result(mod, after, X)


def test_callers_lose_parameters_as_well(exec_mode: str) -> None:
    mod = module("""
relax.func private @inner(%x: T, %y: T) -> T {
  relax.return %x : T
}
relax.func private @outer(%x: T, %y: T) -> T {
  %0 = relax.call @inner(%x, %y) : (T, T) -> T
  relax.return %0 : T
}
relax.func @main(%x: T, %y: T) -> T {
  %0 = relax.call @outer(%x, %y) : (T, T) -> T
  relax.return %0 : T
}""")
    after = RemoveUnusedParameters()(mod)
    assert (names(after, "inner"), names(after, "outer")) == (["x"], ["x"])
    assert names(after, "main") == ["x", "y"]
    same_result(mod, after, X, 2 * X)


def test_inputs_are_counted_again() -> None:
    mod = module("""
relax.func private @helper(%x: T, %y: T, %w: T) -> T attributes {num_input = 2 : i64} {
  %0 = relax.add %y, %w : (T, T) -> T
  relax.return %0 : T
}
relax.func @main(%x: T) -> T {
  %0 = relax.call @helper(%x, %x, %x) : (T, T, T) -> T
  relax.return %0 : T
}""")
    after = RemoveUnusedParameters()(mod)
    assert names(after, "helper") == ["y", "w"]
    assert after["helper"].attrs["num_input"].value == 1


def test_bounds_of_variables_that_are_gone_go() -> None:
    mod = module("""
relax.func private @helper(%x: T, %y: !relax.tensor<[k], f32>) -> T
    attributes {tir_var_upper_bound = {k = 4 : i64, n = 8 : i64}} {
  relax.return %x : T
}
relax.func @main(%x: T, %y: !relax.tensor<[k], f32>) -> T {
  %0 = relax.call @helper(%x, %y) : (T, !relax.tensor<[k], f32>) -> T
  relax.return %0 : T
}""")
    after = RemoveUnusedParameters()(mod)
    assert str(after["helper"].attrs["tir_var_upper_bound"]) == "{n = 8 : i64}"


def test_variables_that_closures_name_are_passed_too(exec_mode: str) -> None:
    mod = module("""
relax.func private @helper(%x: T, %s: !relax.shape<[k]>) -> !relax.tensor<[2, 3], f32> {
  %f = relax.closure (%y: !relax.tensor<[k, 3], f32>) -> !relax.tensor<[k, 3], f32> {
    relax.return %y : !relax.tensor<[k, 3], f32>
  }
  %0 = relax.match_cast %x : T -> !relax.tensor<[2, 3], f32>
  %1 = relax.call %f : !relax.func<(!relax.tensor<[k, 3], f32>) -> !relax.tensor<[k, 3], f32>, pure> (%0)
    : (!relax.tensor<[2, 3], f32>) -> !relax.tensor<ndim = 2, f32>
  %2 = relax.match_cast %1 : !relax.tensor<ndim = 2, f32> -> !relax.tensor<[2, 3], f32>
  relax.return %2 : !relax.tensor<[2, 3], f32>
}
relax.func @main(%x: T) -> !relax.tensor<[2, 3], f32> {
  %s = relax.shape <[n]>
  %0 = relax.call @helper(%x, %s) : (T, !relax.shape<[n]>) -> !relax.tensor<[2, 3], f32>
  relax.return %0 : !relax.tensor<[2, 3], f32>
}""")  # noqa: E501 (the lines of MLIR)
    after = RemoveUnusedParameters()(mod)
    assert names(after, "helper") == ["x", "s"], "k of the closure is that of the function"
    same_result(mod, after, X)


def test_parameters_stay_that_bind_a_whole_shape() -> None:
    mod = module("""
relax.func private @helper(%x: !relax.tensor<var = s, f32>, %s: !relax.shape<var = s>)
    -> !relax.tensor<var = s, f32> {
  relax.return %x : !relax.tensor<var = s, f32>
}
relax.func @main(%x: T, %s: !relax.shape<[n, m]>) -> T {
  %0 = relax.call @helper(%x, %s) : (T, !relax.shape<[n, m]>) -> T
  relax.return %0 : T
}""")
    assert relax.structural_equal(RemoveUnusedParameters()(mod), mod)


def test_recursive_functions(exec_mode: str) -> None:
    mod = module("""
relax.func private @loop(%x: T, %c: !relax.tensor<[], i1>, %unused: T) -> T {
  %0 = relax.if %c : !relax.tensor<[], i1> -> T {
    %no = relax.constant dense<false> : tensor<i1>
    %1 = relax.call @loop(%x, %no, %x) : (T, !relax.tensor<[], i1>, T) -> T
    relax.yield %1 : T
  } else {
    %1 = relax.exp %x : (T) -> T
    relax.yield %1 : T
  }
  relax.return %0 : T
}
relax.func @main(%x: T) -> T {
  %yes = relax.constant dense<true> : tensor<i1>
  %0 = relax.call @loop(%x, %yes, %x) : (T, !relax.tensor<[], i1>, T) -> T
  relax.return %0 : T
}""")
    after = RemoveUnusedParameters()(mod)
    assert names(after, "loop") == ["x", "c"]
    same_result(mod, after, X)


# -- tuples ---------------------------------------------------------------------------------------

PAIR = "!relax.tuple<T, !relax.tuple<T, !relax.object>>"
TUPLES = f"""
relax.func private @helper(%a: T, %t: {PAIR}) -> T {{
  %0 = relax.get_item %t[1] : {PAIR}
  %1 = relax.get_item %0[0] : !relax.tuple<T, !relax.object>
  %2 = relax.add %a, %1 : (T, T) -> T
  relax.return %2 : T
}}
relax.func @main(%x: T) -> T {{
  %0 = relax.exp %x : (T) -> T
  %1 = relax.tuple %0, %x : T, T
  %2 = relax.tuple %x, %1 : T, !relax.tuple<T, T>
  %3 = relax.call @helper(%x, %2) : (T, !relax.tuple<T, !relax.tuple<T, T>>) -> T
  relax.return %3 : T
}}"""


def test_fields_are_passed_one_by_one(exec_mode: str) -> None:
    mod = module(TUPLES)
    after = ExpandTupleArguments()(mod)
    assert names(after, "helper") == ["a", "t_0", "t_1_0", "t_1_1"]
    assert params(after, "helper")[-1] == "!relax.object"
    assert "tuple" not in ops(after, "main") and "get_item" not in ops(after, "helper")
    same_result(mod, after, X)


def test_fields_of_tuples_that_are_not_made_at_the_call(exec_mode: str) -> None:
    mod = module("""
relax.func private @helper(%t: !relax.tuple<T, T>) -> !relax.tuple<T, T> {
  relax.return %t : !relax.tuple<T, T>
}
relax.func @main(%t: !relax.tuple<T, T>) -> !relax.tuple<T, T> {
  %0 = relax.call @helper(%t) : (!relax.tuple<T, T>) -> !relax.tuple<T, T>
  relax.return %0 : !relax.tuple<T, T>
}""")
    after = ExpandTupleArguments()(mod)
    assert ops(after, "main") == ["get_item", "get_item", "call", "return"]
    assert ops(after, "helper") == ["tuple", "return"]
    same_result(mod, after, (X, 2 * X))  # type: ignore[arg-type]


def test_empty_tuples_are_not_passed() -> None:
    mod = module("""
relax.func private @helper(%x: T, %t: !relax.tuple<>) -> T {
  relax.return %x : T
}
relax.func @main(%x: T, %t: !relax.tuple<>) -> T {
  %0 = relax.call @helper(%x, %t) : (T, !relax.tuple<>) -> T
  relax.return %0 : T
}""")
    assert names(ExpandTupleArguments()(mod), "helper") == ["x"]


@pytest.mark.parametrize(
    ("visibility", "argument"), [("", "!relax.tuple<T, T>"), ("private", "!relax.object")]
)
def test_tuples_stay_in_public_functions_and_where_one_is_not_known(
    visibility: str, argument: str
) -> None:
    mod = module(f"""
relax.func {visibility} @helper(%t: !relax.tuple<T, T>) -> !relax.tuple<T, T> {{
  relax.return %t : !relax.tuple<T, T>
}}
relax.func @main(%t: {argument}) -> !relax.object {{
  %0 = relax.call @helper(%t) : ({argument}) -> !relax.object
  relax.return %0 : !relax.object
}}""")
    assert relax.structural_equal(ExpandTupleArguments()(mod), mod)


# -- results --------------------------------------------------------------------------------------

TRIPLE = "!relax.tuple<T, T, !relax.tensor<[n], f32>>"
OUTPUTS = f"""
relax.func private @helper(%x: T) -> {TRIPLE} {{
  %0 = relax.dataflow -> {TRIPLE} {{
    %a = relax.exp %x : (T) -> T
    %b = relax.sin %x : (T) -> T
    %c = relax.sum %x {{axis = array<i64: 1>}} : (T) -> !relax.tensor<[n], f32>
    %t = relax.tuple %a, %b, %c : T, T, !relax.tensor<[n], f32>
    relax.output %t : {TRIPLE}
  }}
  relax.return %0 : {TRIPLE}
}}
relax.func @main(%x: T) -> !relax.object {{
  %0 = relax.call @helper(%x) : (T) -> {TRIPLE}
  %1 = relax.get_item %0[2] : {TRIPLE}
  relax.return %1 : !relax.tensor<[n], f32>
}}
OTHER"""
OTHER = f"""
relax.func @other(%x: T) -> !relax.object {{
  %0 = relax.call @helper(%x) : (T) -> {TRIPLE}
  %1 = relax.get_item %0[0] : {TRIPLE}
  relax.return %1 : T
}}"""


def test_a_field_that_is_left_is_returned_itself(exec_mode: str) -> None:
    mod = module(OUTPUTS.replace("OTHER", ""))
    after = RemoveUnusedOutputs()(mod)
    assert str(after["helper"].ret_struct_info) == "!relax.tensor<[n], f32>"
    assert ops(after, "main") == ["call", "return"]
    same_result(mod, after, X)


def test_fields_that_any_caller_uses_stay(exec_mode: str) -> None:
    mod = module(OUTPUTS.replace("OTHER", OTHER))
    after = RemoveUnusedOutputs()(mod)
    wanted = f"!relax.tuple<{T}, !relax.tensor<[n], f32>>"
    assert str(after["helper"].ret_struct_info) == wanted
    for name in ("main", "other"):
        np.testing.assert_array_equal(run(after, X, name=name), run(mod, X, name=name))


def test_fields_stay_where_the_tuple_is_used() -> None:
    whole = OTHER.replace("relax.return %1 : T", f"relax.return %0 : {TRIPLE}")
    mod = module(OUTPUTS.replace("OTHER", whole))
    assert relax.structural_equal(RemoveUnusedOutputs()(mod), mod)


def test_a_caller_that_drops_a_field_drops_it_of_its_callee(exec_mode: str) -> None:
    mod = module("""
relax.func private @inner(%x: T) -> !relax.tuple<T, T> {
  %0 = relax.tuple %x, %x : T, T
  relax.return %0 : !relax.tuple<T, T>
}
relax.func private @outer(%x: T) -> !relax.tuple<T, T> {
  %0 = relax.call @inner(%x) : (T) -> !relax.tuple<T, T>
  %1 = relax.get_item %0[0] : !relax.tuple<T, T>
  %2 = relax.get_item %0[1] : !relax.tuple<T, T>
  %3 = relax.tuple %1, %2 : T, T
  relax.return %3 : !relax.tuple<T, T>
}
relax.func @main(%x: T) -> T {
  %0 = relax.call @outer(%x) : (T) -> !relax.tuple<T, T>
  %1 = relax.get_item %0[1] : !relax.tuple<T, T>
  relax.return %1 : T
}""")
    after = RemoveUnusedOutputs()(mod)
    assert str(after["inner"].ret_struct_info) == T
    assert str(after["outer"].ret_struct_info) == T
    same_result(mod, after, X)


def test_types_of_callers_are_derived_again() -> None:
    any_pair = "!relax.tuple<!relax.tensor<*>, !relax.tensor<*>>"
    mod = relax.IRModule(f"""
relax.func private @helper(%x: !relax.tensor<[n], f32>) -> {any_pair} {{
  %0 = relax.tuple %x, %x : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  relax.return %0 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}}
relax.func @main(%x: !relax.tensor<[k], f32>) -> !relax.tensor<*> {{
  %0 = relax.call @helper(%x) : (!relax.tensor<[k], f32>) -> {any_pair}
  %1 = relax.get_item %0[0] : {any_pair}
  %2 = relax.exp %1 : (!relax.tensor<*>) -> !relax.tensor<*>
  relax.return %2 : !relax.tensor<*>
}}""")
    after = RemoveUnusedOutputs()(mod)
    assert str(after["main"].ret_struct_info) == "!relax.tensor<[k], f32>"
