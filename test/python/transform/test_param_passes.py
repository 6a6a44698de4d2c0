# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of functions get other types, values and forms; functions and devices other names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from relax_mlir.transform import (
    AttachGlobalSymbol,
    BindSymbolicVars,
    BundleModelParams,
    NormalizeGlobalVar,
    PassError,
    UpdateParamStructInfo,
    UpdateParamType,
    UpdateVDevice,
)

X = np.arange(6, dtype="float32").reshape(2, 3)


def run(mod: Any, *arguments: Any, name: str = "main") -> list[np.ndarray]:
    result = relax.VirtualMachine(relax.compile(mod))[name](*arguments)
    fields = [result] if hasattr(result, "__dlpack__") else list(result)
    return [np.from_dlpack(field) for field in fields]


def params(mod: Any, name: str = "main") -> list[str]:
    return [str(param.struct_info) for param in mod[name].params]


def names(mod: Any, name: str = "main") -> list[str]:
    return [value.value for value in mod[name].attrs["arg_names"]]


def tensor(*dims: Any, dtype: str = "float32") -> relax.TensorStructInfo:
    return relax.TensorStructInfo(dims, dtype)


# -- types ----------------------------------------------------------------------------------------

CALLS = """
relax.func private @scale(%v: !relax.tensor<[n, m], f32>, %w: !relax.tensor<[m], f32>)
    -> !relax.tensor<[n, m], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, m], f32> {
    %1 = relax.multiply %v, %w : (!relax.tensor<[n, m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>
    relax.output %1 : !relax.tensor<[n, m], f32>
  }
  relax.return %0 : !relax.tensor<[n, m], f32>
}
relax.func @main(%v: !relax.tensor<[n, m], f32>, %w: !relax.tensor<[m], f32>)
    -> !relax.tensor<[n], f32> {
  %0 = relax.call @scale(%v, %w) : (!relax.tensor<[n, m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>
  %1 = relax.sum %0 {axis = array<i64: 1>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}"""  # noqa: E501 (the lines of MLIR)


def as_half(param: relax.Var) -> ir.Type | None:
    type_ = param.struct_info
    return relax.TensorStructInfo(type_.shape, "float16")


def test_types_of_parameters_reach_results_and_callers(exec_mode: str) -> None:
    after = UpdateParamStructInfo(as_half)(CALLS)
    assert str(after["main"].ret_struct_info) == "!relax.tensor<[n], f16>"
    assert "f32" not in str(after)
    (result,) = run(after, X.astype("float16"), np.ones(3, "float16"))
    np.testing.assert_array_equal(result, X.sum(axis=1))


def test_parameters_stay_for_which_there_is_no_type() -> None:
    seen = []

    def static(param: relax.Var) -> ir.Type | None:
        seen.append(param.name)
        return tensor(2, 3) if param.name == "v" else None

    after = UpdateParamType(ty_func=static)(CALLS)
    assert seen == ["v", "w"] * 2
    assert params(after) == ["!relax.tensor<[2, 3], f32>", "!relax.tensor<[m], f32>"]
    assert str(after["main"].ret_struct_info) == "!relax.tensor<ndim = 1, f32>"


def test_parameters_of_closures_and_branches(exec_mode: str) -> None:
    mod = relax.IRModule("""
relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %f = relax.closure (%y: !relax.tensor<[k], f32>) -> !relax.tensor<[k], f32> {
    %1 = relax.exp %y : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    relax.return %1 : !relax.tensor<[k], f32>
  }
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %1 = relax.call %f : !relax.func<(!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %1 : !relax.tensor<[n], f32>
  } else {
    relax.yield %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}""")  # noqa: E501 (the lines of MLIR)

    def change(param: relax.Var) -> ir.Type | None:
        return None if param.name == "c" else as_half(param)

    after = UpdateParamStructInfo(change)(mod)
    assert "f32" not in str(after)
    (result,) = run(after, np.array(True), X[0].astype("float16"))
    np.testing.assert_allclose(result, np.exp(X[0]), rtol=2e-3)


def test_error_of_types_that_do_not_fit() -> None:
    with pytest.raises(PassError, match="UpdateParamStructInfo"):
        UpdateParamStructInfo(lambda p: tensor(2, 3) if p.name == "v" else tensor(5))(CALLS)
    with pytest.raises(TypeError, match="expected the StructInfo of parameter 'v', or None"):
        UpdateParamStructInfo(lambda _: "float32")(CALLS)  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="expected a function of a parameter"):
        UpdateParamStructInfo("float32")  # type: ignore[arg-type]


# -- shape variables ------------------------------------------------------------------------------

DYNAMIC = """
relax.func @main(%x: !relax.tensor<[n, m], f32>, %s: !relax.shape<[k]>) -> !relax.object
    attributes {tir_var_upper_bound = {m = 9 : i64, n = 8 : i64}} {
  %0 = relax.shape <[m, n * 1 + k - k]>
  %1 = relax.reshape %x, %0 : (!relax.tensor<[n, m], f32>, !relax.shape<[m, n]>) -> !relax.tensor<[m, n], f32>
  %2 = relax.prim_value #relax.expr<n * k>
  %3 = relax.match_cast %1 : !relax.tensor<[m, n], f32> -> !relax.tensor<[p, n], f32>
  %4 = relax.tuple %3, %2 : !relax.tensor<[p, n], f32>, !relax.prim<i64, n * k>
  relax.return %4 : !relax.tuple<!relax.tensor<[p, n], f32>, !relax.prim<i64, n * k>>
}
relax.func @other(%x: !relax.tensor<[n, m], f32>, %s: !relax.shape<[k]>) -> !relax.object {
  %0 = relax.call @main(%x, %s) : (!relax.tensor<[n, m], f32>, !relax.shape<[k]>) -> !relax.object
  relax.return %0 : !relax.object
}"""  # noqa: E501 (the lines of MLIR)


@pytest.mark.parametrize("key", ["n", relax.shape_var("n")])
def test_variables_get_values(key: Any, exec_mode: str) -> None:
    after = BindSymbolicVars({key: 2, "k": 5}, "main")(DYNAMIC)
    assert params(after) == ["!relax.tensor<[2, m], f32>", "!relax.shape<[5]>"]
    assert params(after, "other")[0] == "!relax.tensor<[n, m], f32>"
    assert "relax.prim_value 10 : i64" in str(after)
    assert str(after["main"].attrs["tir_var_upper_bound"]) == "{m = 9 : i64}"
    vm = relax.VirtualMachine(relax.compile(after))
    for name in ("main", "other"):
        value, number = vm[name](X, tvm_ffi.Shape([5]))
        np.testing.assert_array_equal(np.from_dlpack(value), X.reshape(3, 2))
        assert number == 10
    with pytest.raises(ValueError, match="expected"):
        vm["other"](X[:1], tvm_ffi.Shape([5]))


def test_variables_of_all_functions_by_name() -> None:
    after = BindSymbolicVars({"n": 2, "p": 3})(DYNAMIC)
    assert params(after, "other")[0] == params(after)[0] == "!relax.tensor<[2, m], f32>"
    assert "-> !relax.tensor<[3, 2], f32>" in str(after)


def test_expressions_as_values(exec_mode: str) -> None:
    mod = relax.IRModule("""
relax.func @main(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n, m], f32> {
  relax.return %x : !relax.tensor<[n, m], f32>
}""")  # noqa: E501 (the lines of MLIR)
    after = BindSymbolicVars({"m": "n + 1"})(mod)
    assert str(after["main"].ret_struct_info) == "!relax.tensor<[n, n + 1], f32>"
    np.testing.assert_array_equal(run(after, X, X[:, 0])[0], X)


def test_callers_see_the_new_type() -> None:
    mod = relax.IRModule(CALLS)
    after = BindSymbolicVars({"m": 3}, "scale")(mod)
    assert str(after["main"].struct_info.params[0]) == "!relax.tensor<[n, m], f32>"
    assert "-> !relax.tensor<[n, 3], f32>" in str(after)


@pytest.mark.parametrize(
    ("bound", "name", "message"),
    [
        ({"q": 1}, None, r"expected a shape variable that a function binds \(k, m, n, p\), but"),
        ({"p": 1}, "other", r"that a function binds \(k, m, n\), but got 'p'"),
        ({"n": 9}, "main", "expected n of function 'main' to be at most 8, but got 9"),
        ({"n": -1}, None, "expected n to be 0 or more, but got -1"),
        ({"n": 1}, "none", "expected the name of a Relax function, but got 'none'"),
    ],
)
def test_error_of_variables_that_cannot_be_bound(bound: Any, name: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BindSymbolicVars(bound, name)(DYNAMIC)


def test_error_of_what_is_no_variable() -> None:
    with pytest.raises(TypeError, match="expected a shape variable, but got 3"):
        BindSymbolicVars({3: 4})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="expected values by variable"):
        BindSymbolicVars("n")  # type: ignore[arg-type]


# -- tuples of weights ----------------------------------------------------------------------------

WEIGHTS = """
relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n, m], f32>, %v: !relax.tensor<[m], f32>, %unused: !relax.object, %w: !relax.tensor<[m], f32>)
    -> !relax.tensor<[n, m], f32> attributes {num_input = 2 : i64} {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n, m], f32> {
    %1 = relax.add %x, %v : (!relax.tensor<[n, m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>
    relax.yield %1 : !relax.tensor<[n, m], f32>
  } else {
    %1 = relax.dataflow -> !relax.tensor<[n, m], f32> {
      %2 = relax.multiply %v, %w : (!relax.tensor<[m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
      %3 = relax.add %x, %2 : (!relax.tensor<[n, m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>
      relax.output %3 : !relax.tensor<[n, m], f32>
    }
    relax.yield %1 : !relax.tensor<[n, m], f32>
  }
  relax.return %0 : !relax.tensor<[n, m], f32>
}
relax.func @other(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n, m], f32>, %w: !relax.tensor<[m], f32>)
    -> !relax.tensor<[n, m], f32> {
  %0 = relax.call @main(%c, %x, %w, %x, %w)
    : (!relax.tensor<[], i1>, !relax.tensor<[n, m], f32>, !relax.tensor<[m], f32>, !relax.tensor<[n, m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}"""  # noqa: E501 (the lines of MLIR)


@pytest.mark.parametrize("condition", [True, False])
def test_weights_become_a_tuple(condition: bool, exec_mode: str) -> None:
    after = BundleModelParams()(WEIGHTS)
    assert names(after) == ["c", "x", "model_params"]
    assert str(after).count("relax.get_item") == 2, "one for each weight that is used"
    c, v, w = np.array(condition), X[0] + 1, X[1]
    np.testing.assert_array_equal(run(after, c, X, (v, 0, w))[0], run(WEIGHTS, c, X, v, 0, w)[0])
    (result,) = run(after, c, X, w, name="other")
    np.testing.assert_array_equal(result, run(WEIGHTS, c, X, w, name="other")[0])


def test_items_are_taken_where_they_are_used_first() -> None:
    body = BundleModelParams()(WEIGHTS)["main"].body.blocks[0]
    take, branch, _ = body.operations
    assert take.operation.name == "relax.get_item"
    assert "model_params[2]" in str(branch), "where only one branch uses it"


def test_items_are_taken_outside_of_blocks_whose_closures_use_them(exec_mode: str) -> None:
    mod = relax.IRModule("""
relax.func @main(%x: !relax.tensor<[n], f32>, %w: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    attributes {num_input = 1 : i64} {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.exp %w : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %f = relax.closure (%y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %3 = relax.add %y, %w : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %3 : !relax.tensor<[n], f32>
    }
    %2 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%1)
      : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %2 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}""")  # noqa: E501 (the lines of MLIR)
    after = BundleModelParams()(mod)
    assert after["main"].body.blocks[0].operations[0].operation.name == "relax.get_item"
    np.testing.assert_array_equal(run(after, X[0], (X[1],))[0], run(mod, X[0], X[1])[0])


def test_the_name_of_the_tuple() -> None:
    assert names(BundleModelParams("weights")(WEIGHTS)) == ["c", "x", "weights"]
    assert names(BundleModelParams("x")(WEIGHTS)) == ["c", "x", "x1"]
    with pytest.raises(TypeError, match="expected the name of a parameter, but got 3"):
        BundleModelParams(3)  # type: ignore[arg-type]


def test_without_weights_the_tuple_is_empty() -> None:
    after = BundleModelParams()(WEIGHTS.replace("num_input = 2", "num_input = 5"))
    assert params(after)[-1] == "!relax.tuple<>" and len(params(after)) == 6


def test_functions_without_inputs_stay() -> None:
    mod = relax.IRModule(WEIGHTS.replace("attributes {num_input = 2 : i64}", ""))
    assert relax.structural_equal(BundleModelParams()(mod), mod)


def test_error_of_too_many_inputs() -> None:
    with pytest.raises(ValueError, match="expected num_input of function 'main' to be from 0 to 5"):
        BundleModelParams()(WEIGHTS.replace("num_input = 2", "num_input = 6"))


# -- names ----------------------------------------------------------------------------------------

KERNEL = """
module attributes {relax.module_attrs = {ATTRS}} {
  func.func private @zeros(%x: memref<2xf32>) {
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%x : memref<2xf32>)
    return
  }
  relax.func private @main() -> !relax.tensor<[2], f32> {
    %0 = relax.call_tir @zeros() : () -> !relax.tensor<[2], f32>
    relax.return %0 : !relax.tensor<[2], f32>
  }
}"""


@pytest.mark.parametrize("prefix", ["", "lib_"])
def test_functions_become_visible(prefix: str, exec_mode: str) -> None:
    attrs = f'system_lib_prefix = "{prefix}"' if prefix else ""
    after = AttachGlobalSymbol()(KERNEL.replace("ATTRS", attrs))
    assert set(after) == {"main", f"{prefix}zeros"}
    assert after[f"{prefix}zeros"].operation.attributes["global_symbol"].value == f"{prefix}zeros"
    assert "private" not in str(after)
    np.testing.assert_array_equal(run(after)[0], np.zeros(2))
    assert relax.structural_equal(AttachGlobalSymbol()(after), after)


def test_declarations_and_lifted_closures_stay_private() -> None:
    mod = relax.IRModule("""
func.func private @elsewhere(memref<2xf32>)
relax.func private @lifted(%x: !relax.object, %y: !relax.object) -> !relax.object
    attributes {relax.captures = 1 : i64} {
  relax.return %y : !relax.object
}
relax.func @main(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}""")
    assert relax.structural_equal(AttachGlobalSymbol()(mod), mod)


IDENTITY = """
relax.func {0} @{1}(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {{
  %0 = relax.{2} %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}}"""


def test_functions_get_the_names_of_their_symbols(exec_mode: str) -> None:
    text = IDENTITY.format("private", "f", "exp") + IDENTITY.format("", "g", "sin")
    mod = relax.IRModule(
        text
        + IDENTITY.format("", "main", "exp")
        .replace("relax.exp", "relax.call @f(")
        .replace("%x :", "%x) :")
    )
    mod["g"] = mod["g"].with_attr("global_symbol", "main")
    mod["main"] = mod["main"].with_attr("global_symbol", "f")
    assert len(relax.analysis.well_formed(mod)) == 2
    after = NormalizeGlobalVar()(mod)
    assert relax.analysis.well_formed(after) == []
    assert list(after) == ["f1", "main", "f"]
    np.testing.assert_allclose(run(after, X[0], name="f")[0], np.exp(X[0]), rtol=1e-5)
    np.testing.assert_allclose(run(after, X[0], name="main")[0], np.sin(X[0]), rtol=1e-5, atol=1e-6)


def test_error_of_two_functions_with_one_symbol() -> None:
    mod = relax.IRModule(IDENTITY.format("", "f", "exp") + IDENTITY.format("", "g", "sin"))
    mod["g"] = mod["g"].with_attr("global_symbol", "f")
    with pytest.raises(ValueError, match="distinct names, but got 'f' twice"):
        NormalizeGlobalVar()(mod)


# -- devices --------------------------------------------------------------------------------------

DEVICES = """
module attributes {relax.global_info = {d0 = #relax.vdevice<"llvm", 0>, d1 = #relax.vdevice<"llvm", 1>}} {
  relax.func @main(%x: !relax.tensor<[n], f32, @d1>) -> !relax.tensor<[n], f32, @d1> {
    relax.return %x : !relax.tensor<[n], f32, @d1>
  }
}"""  # noqa: E501 (the lines of MLIR)


def test_a_device_becomes_another_one() -> None:
    after = UpdateVDevice(relax.VDevice("cuda", 2), 1)(DEVICES)
    assert 'd0 = #relax.vdevice<"llvm", 0>, d1 = #relax.vdevice<"cuda", 2>' in str(after)
    assert params(after) == params(relax.IRModule(DEVICES))


def test_error_of_a_device_that_is_not_listed() -> None:
    with pytest.raises(ValueError, match="expected index below 2, the number of virtual devices"):
        UpdateVDevice(relax.VDevice(), 2)(DEVICES)
    with pytest.raises(TypeError, match="expected a VDevice, but got 'cuda'"):
        UpdateVDevice("cuda", 0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="index"):
        UpdateVDevice(relax.VDevice(), -1)
