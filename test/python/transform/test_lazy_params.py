# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights are loaded when they are needed, and results are handed over at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_mlir.transform import (
    LazyGetInput,
    LazySetOutput,
    LazyTransformParams,
    LiftTransformParams,
    Sequential,
)

V = np.arange(6, dtype="float32").reshape(2, 3)
W = V[:, :2] + 1


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def bundled(*params: relax.Var) -> relax.Var:
    return relax.Var("params", relax.TupleStructInfo([param.struct_info for param in params]))


def build(params: list[relax.Var], write: Any, name: str = "transform_params", **attrs: Any) -> Any:
    bb = relax.BlockBuilder()
    with bb.function(name, params, attrs=attrs):
        with bb.dataflow():
            out = bb.emit_output(write(*params))
        bb.emit_func_output(out)
    return bb.get()


def items(bundle: Any, count: int) -> list[Any]:
    return [op.get_item(bundle, place) for place in range(count)]


def ops(mod: Any, name: str = "transform_params") -> list[str]:
    block = mod[name].body.blocks[0]
    found = [each.operation.name.removeprefix("relax.") for each in block.operations]
    return [each for each in found if each not in ("prim_value", "string", "constant")]


class Store:
    """Keeps weights, and what is handed over; notes each event."""

    def __init__(self, *weights: Any) -> None:
        self.weights = weights
        self.results: dict[int, Any] = {}
        self.events: list[str] = []
        for name, function in (("get_item", self.get), ("set_item", self.set)):
            tvm_ffi.register_global_func(name, function, override=True)

    def get(self, *arguments: Any) -> Any:
        *extra, place = arguments
        self.events.append(f"get {' '.join(map(str, [*extra, place]))}")
        return relax.runtime.tensor(self.weights[place])

    def set(self, *arguments: Any) -> None:
        *extra, place, value = arguments
        self.events.append(f"set {' '.join(map(str, [*extra, place]))}")
        assert place not in self.results
        is_tensor = hasattr(value, "__dlpack__")
        self.results[place] = np.from_dlpack(value).copy() if is_tensor else value

    def check(self, *wanted: Any) -> None:
        assert sorted(self.results) == list(range(len(wanted)))
        for place, value in enumerate(wanted):
            np.testing.assert_allclose(self.results[place], value, rtol=1e-6)


def call(mod: Any, *arguments: Any, name: str = "transform_params") -> Any:
    assert relax.analysis.well_formed(mod) == []
    return relax.VirtualMachine(relax.compile(mod, opt_level=1))[name](*arguments)


# -- LazyTransformParams --------------------------------------------------------------------------


def two_results(bundle: Any) -> Any:
    v, w = items(bundle, 2)
    return op.tuple(op.permute_dims(v), w, op.matmul(op.permute_dims(v), w))


PAIR = bundled(tensor("v", "n", 3), tensor("w", "n", 2))


def test_weights_and_results_come_and_go_one_by_one(exec_mode: str) -> None:
    after = LazyTransformParams()(build([PAIR], two_results))
    assert len(after["transform_params"].params) == 0
    assert not after["transform_params"].struct_info.is_pure
    assert str(after["transform_params"].ret_struct_info) == "!relax.tuple<>"
    store = Store(V, W)
    assert len(call(after)) == 0
    store.check(V.T, W, V.T @ W)


def test_the_order_of_events(exec_mode: str) -> None:
    bb = relax.BlockBuilder()
    with bb.function("transform_params", [PAIR]):
        first = bb.emit(op.exp(bb.emit(op.get_item(PAIR, 0))))
        second = bb.emit(op.exp(bb.emit(op.get_item(PAIR, 1))))
        bb.emit_func_output(op.tuple(second, first, second))
    after = LazyTransformParams()(bb.get())
    one = ["call_packed", "match_cast", "exp", "builtin.kill", "call_packed"]
    assert ops(after) == [*one, *one, "call_packed", "tuple", "return"]
    store = Store(V, W)
    call(after)
    assert store.events == ["get 0", "set 1", "get 1", "set 0", "set 2"]
    store.check(np.exp(W), np.exp(V), np.exp(W))


def test_after_lifting(exec_mode: str) -> None:
    def write(x: Any, v: Any, w: Any) -> Any:
        return op.add(
            op.matmul(x, op.permute_dims(v)), op.sum(op.add(w, op.zeros(["m"], "float32")))
        )

    params = [tensor("x", "n", 3), tensor("v", 2, 3), tensor("w", "m")]
    mod = build(params, write, "main", num_input=1)
    after = Sequential([LiftTransformParams(), LazyTransformParams()])(mod)
    store = Store(V, W[:, 0])
    call(after, name="main_transform_params")
    weights = [store.results[place] for place in range(len(store.results))]
    result = relax.VirtualMachine(relax.compile(after))["main"](V, *weights)
    np.testing.assert_allclose(np.from_dlpack(result), V @ V.T + W[:, 0].sum(), rtol=1e-6)


def test_results_may_be_returned(exec_mode: str) -> None:
    after = LazyTransformParams(fset_item=None)(build([PAIR], two_results))
    store = Store(V, W)
    results = call(after)
    for one, other in zip(results, (V.T, W, V.T @ W), strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), other, rtol=1e-6)
    assert store.results == {}


def test_more_parameters_are_passed_on(exec_mode: str) -> None:
    any_ = relax.ObjectStructInfo()
    loader, saver = relax.Var("loader", any_), relax.Var("saver", relax.PrimStructInfo("int64"))
    lazy = LazyTransformParams(extra_get_item_params=[loader], extra_set_item_params=[saver])
    after = lazy(build([PAIR], two_results))
    assert [name.value for name in after["transform_params"].attrs["arg_names"]] == [
        "loader",
        "saver",
    ]
    store = Store(V, W)
    call(after, "disk", 7)
    assert [event[:7] for event in store.events].count("get dis") == 2
    assert all(event.startswith(("get disk", "set 7")) for event in store.events)
    store.check(V.T, W, V.T @ W)


def test_inputs_and_weights_without_a_tuple(exec_mode: str) -> None:
    params = [tensor("x", "k"), tensor("v", "n", 3), tensor("w", "n", 2)]
    mod = build(params, lambda x, v, w: op.tuple(op.exp(v), x, w, op.const(2.5)), num_input=1)
    after = LazyTransformParams()(mod)
    assert len(after["transform_params"].params) == 1
    store = Store(V, W)
    call(after, V[0])
    store.check(np.exp(V), V[0], W, 2.5)


def test_all_weights_at_once(exec_mode: str) -> None:
    after = LazyTransformParams()(build([PAIR], lambda bundle: bundle))
    store = Store(V, W)
    call(after)
    store.check(V, W)


def test_a_result_that_is_no_tuple(exec_mode: str) -> None:
    after = LazyTransformParams()(build([PAIR], lambda bundle: op.exp(items(bundle, 2)[1])))
    store = Store(V, W)
    call(after)
    store.check(np.exp(W))
    assert store.events == ["get 1", "set 0"]


def test_shapes_and_scalars_stay_parameters(exec_mode: str) -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(["m"]))

    def write(bundle: Any) -> Any:
        return op.tuple(op.add(op.get_item(bundle, 0), op.sum(op.ones(["m"], "float32"))))

    after = LazyTransformParams()(build([bundled(tensor("v", "n", 3), shape)], write))
    assert [str(param.struct_info) for param in after["transform_params"].params] == [
        "!relax.shape<[m]>"
    ]
    store = Store(V)
    call(after, tvm_ffi.Shape([5]))
    store.check(V + 5)


def test_a_weight_is_loaded_before_its_dimensions_are_used(exec_mode: str) -> None:
    def write(bundle: Any) -> Any:
        filled = op.full(["n", 2], 3.0, "float32")
        return op.tuple(filled, op.exp(op.get_item(bundle, 1)))

    after = LazyTransformParams()(build([PAIR], write))
    store = Store(V, W)
    call(after)
    store.check(np.full((2, 2), 3.0), np.exp(W))
    assert store.events == ["get 1", "set 0", "set 1"]


def test_weights_that_bind_variables_come_before_expressions(exec_mode: str) -> None:
    bundle = bundled(tensor("flat", "n * k"), tensor("v", "n", "k"), tensor("unused", "n"))

    def write(bundle: Any) -> Any:
        flat, v = items(bundle, 2)
        return op.tuple(op.exp(flat), op.exp(v))

    after = LazyTransformParams()(build([bundle], write))
    store = Store(V.reshape(6), V)
    call(after)
    store.check(np.exp(V.reshape(6)), np.exp(V))
    assert store.events[:2] == ["get 1", "get 0"]


def test_other_functions_stay() -> None:
    mod = build([PAIR], two_results, "main")
    for lazy in (LazyTransformParams(), LazyTransformParams("a", None)):
        assert relax.structural_equal(lazy(mod), mod)


def test_error_of_a_function_that_is_called() -> None:
    bb = relax.BlockBuilder(build([PAIR], two_results))
    with bb.function("main", [PAIR]):
        bb.emit_func_output(op.call(relax.GlobalVar("transform_params"), PAIR))
    with pytest.raises(ValueError, match="not use, but got 'transform_params'"):
        LazyTransformParams()(bb.get())


def test_error_of_names_and_parameters() -> None:
    with pytest.raises(TypeError, match="expected fget_item to be the name of a function"):
        LazyTransformParams(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected fset_item to be the name of a function"):
        LazyTransformParams("get", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Var as a parameter, but got 'loader'"):
        LazyTransformParams(extra_get_item_params=["loader"])  # type: ignore[list-item]


# -- LazyGetInput, LazySetOutput ------------------------------------------------------------------


def test_a_function_is_asked_for_weights(exec_mode: str) -> None:
    params = [tensor("x", 3, 2), tensor("v", "n", 3), tensor("unused", "n"), tensor("w", "n", 2)]
    mod = build(params, lambda x, v, _, w: op.add(op.matmul(v, x), w), "main", num_input=1)
    after = LazyGetInput()(mod)
    assert after["main"].attrs["num_input"].value == 2
    asked: list[Any] = []

    def get(place: int, name: str) -> Any:
        asked.append((place, name))
        return relax.runtime.tensor((V, None, W)[place])

    x = V.T[:, :2].copy()
    result = call(after, x, tvm_ffi.convert(get), name="main")
    np.testing.assert_allclose(np.from_dlpack(result), V @ x + W, rtol=1e-6)
    assert asked == [(0, "v"), (2, "w")]


def test_results_are_handed_to_a_function(exec_mode: str) -> None:
    params = [tensor("x", "n"), tensor("w", "n")]

    def write(x: Any, w: Any) -> Any:
        y = op.add(x, w)
        return op.tuple(op.exp(y), w, y, op.const(4.0), y)

    after = LazySetOutput()(build(params, write, "main", num_input=1))
    assert after["main"].attrs["num_input"].value == 2
    assert [name.value for name in after["main"].attrs["arg_names"]] == ["x", "fset_output", "w"]
    results: dict[int, Any] = {}

    def put(place: int, value: Any) -> None:
        results[place] = np.from_dlpack(value).copy()

    x, w = V[0], V[1]
    assert len(call(after, x, tvm_ffi.convert(put), w, name="main")) == 0
    assert list(results) == [1, 2, 4, 0, 3]
    for place, wanted in enumerate([np.exp(x + w), w, x + w, 4.0, x + w]):
        np.testing.assert_allclose(results[place], wanted, rtol=1e-6)


def test_both_together(exec_mode: str) -> None:
    params = [tensor("v", "n", 3), tensor("w", "n", 2)]
    mod = build(params, lambda v, w: op.matmul(op.permute_dims(v), w), "main", num_input=0)
    after = Sequential([LazySetOutput(), LazyGetInput()])(mod)
    results: list[Any] = []

    def put(place: int, value: Any) -> None:
        results.append((place, np.from_dlpack(value).copy()))

    def get(place: int, name: str) -> Any:
        return relax.runtime.tensor({"v": V, "w": W}[name])

    call(after, tvm_ffi.convert(put), tvm_ffi.convert(get), name="main")
    ((place, value),) = results
    assert place == 0
    np.testing.assert_allclose(value, V.T @ W, rtol=1e-6)


def test_error_of_inputs_whose_types_only_weights_complete() -> None:
    params = [tensor("x", "n * 2"), tensor("w", "n")]
    mod = build(params, lambda x, w: op.tuple(op.exp(x), w), num_input=1)
    for lazy in (LazyGetInput(), LazyTransformParams()):
        with pytest.raises(ValueError, match="that only weights determine, but got 'n'"):
            lazy(mod)


def test_a_single_result_has_number_0() -> None:
    after = LazySetOutput()(build([tensor("x", "n")], op.exp, "main"))
    assert "relax.prim_value 0" in str(after)


@pytest.mark.parametrize("lazy", [LazyGetInput, LazySetOutput])
def test_functions_that_the_module_uses_stay(lazy: Any) -> None:
    bb = relax.BlockBuilder(build([tensor("x", "n")], op.exp, "helper"))
    x = tensor("x", "n")
    with bb.function("main", [x], private=True):
        bb.emit_func_output(op.call(relax.GlobalVar("helper"), x))
    with bb.function("value", []):
        bb.emit_func_output(
            relax.global_var("main") if hasattr(relax, "global_var") else op.const(1.0)
        )
    mod = bb.get()
    after = lazy()(mod)
    for name in ("helper", "main"):
        assert str(after[name].struct_info) == str(mod[name].struct_info)
