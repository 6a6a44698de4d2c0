# ruff: noqa: E501 (the lines of MLIR)
"""Programs mean what the specification says: order, effects, aliasing, control flow, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir
import tvm_ffi
from mlir import ir
from mlir.passmanager import PassManager

pytestmark = pytest.mark.usefixtures("exec_mode")


def load(text: str | ir.Module, name: str = "main") -> Callable[..., Any]:
    return relax_mlir.VirtualMachine(relax_mlir.compile(text))[name]


def array(tensor: Any) -> np.ndarray:
    return np.from_dlpack(tensor)


@pytest.fixture
def calls() -> list[Any]:
    """The values that the packed function "semantics.record" was called with."""
    seen: list[Any] = []

    def record(value: Any) -> Any:
        seen.append(value)
        return value

    tvm_ffi.register_global_func("semantics.record", record, override=True)
    return seen


def test_se01_bindings_run_in_order(calls: list[Any]) -> None:
    load("""
    relax.func @main() -> !relax.object attributes {is_pure = false} {
      %a = relax.prim_value 1 : i64
      %b = relax.prim_value 2 : i64
      %c = relax.prim_value 3 : i64
      %0 = relax.call_packed "semantics.record"(%b) : (!relax.prim<i64, 2>) -> !relax.object
      %1 = relax.call_packed "semantics.record"(%a) : (!relax.prim<i64, 1>) -> !relax.object
      %2 = relax.call_packed "semantics.record"(%c) : (!relax.prim<i64, 3>) -> !relax.object
      %3 = relax.tuple %2, %0 : !relax.object, !relax.object
      relax.return %3 : !relax.tuple<!relax.object, !relax.object>
    }""")()
    assert calls == [2, 1, 3]


def test_se05_effects_stay_as_many_as_they_are(calls: list[Any]) -> None:
    load("""
    relax.func @main(%n: !relax.prim<i64>) -> !relax.object attributes {is_pure = false} {
      %0 = relax.call_packed "semantics.record"(%n) : (!relax.prim<i64>) -> !relax.object
      %1 = relax.call_packed "semantics.record"(%n) : (!relax.prim<i64>) -> !relax.object
      relax.return %n : !relax.prim<i64>
    }""")(7)
    assert calls == [7, 7]


def test_gr15_dr06_only_the_taken_branch_runs(calls: list[Any]) -> None:
    choose = load("""
    relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>,
                     %y: !relax.tensor<[m], f32>)
        -> !relax.tensor<ndim = 1, f32> attributes {is_pure = false} {
      %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
        %1 = relax.string "then"
        %2 = relax.call_packed "semantics.record"(%1) : (!relax.object) -> !relax.object
        relax.yield %x : !relax.tensor<[n], f32>
      } else {
        %1 = relax.string "else"
        %2 = relax.call_packed "semantics.record"(%1) : (!relax.object) -> !relax.object
        relax.yield %y : !relax.tensor<[m], f32>
      }
      relax.return %0 : !relax.tensor<ndim = 1, f32>
    }""")
    x, y = np.ones(2, "float32"), np.zeros(3, "float32")
    assert array(choose(np.array(True), x, y)).tolist() == [1, 1]
    assert array(choose(np.array(False), x, y)).tolist() == [0, 0, 0]
    assert [str(call) for call in calls] == ["then", "else"]


def test_se02_bindings_alias() -> None:
    def add_one(tensor: Any) -> None:
        view = array(tensor)
        view += 1

    tvm_ffi.register_global_func("semantics.add_one", add_one, override=True)
    main = load("""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.match_cast %0 : !relax.tensor<[n], f32> -> !relax.tensor<ndim = 1, f32>
      %2 = relax.call_packed "semantics.add_one"(%1) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
      %3 = relax.tuple %0, %1 : !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>
      relax.return %3 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>>
    }""")
    first, second = main(np.zeros(2, "float32"))
    assert array(first).tolist() == [2, 2]
    assert first.data_ptr() == second.data_ptr()


@pytest.fixture
def add_one() -> None:
    """Register "semantics.add_one", which mutates its argument."""

    def add_one(tensor: Any) -> None:
        view = array(tensor)
        view += 1

    tvm_ffi.register_global_func("semantics.add_one", add_one, override=True)


# Each binds %y to the tensor %a in its own way.
ALIASES = {
    "match_cast": "%y = relax.match_cast %a : T -> T",
    "tuple": "%t = relax.tuple %a : T  %y = relax.get_item %t[0] : !relax.tuple<T>",
    "nested": """%t = relax.tuple %a, %x : T, T
                 %u = relax.tuple %t : !relax.tuple<T, T>
                 %v = relax.get_item %u[0] : !relax.tuple<!relax.tuple<T, T>>
                 %y = relax.get_item %v[0] : !relax.tuple<T, T>""",
    "if": """%y = relax.if %c : !relax.tensor<[], i1> -> T {
                 relax.yield %a : T
             } else {
                 relax.yield %x : T
             }""",
    "dataflow": """%y = relax.dataflow -> T {
                     relax.output %a : T
                   }""",
    "seq": """%y = relax.seq -> T {
                relax.yield %a : T
              }""",
    "function": "%y = relax.call @id(%a) : (T) -> T",
    "packed": '%y = relax.call_packed "semantics.record"(%a) : (T) -> T',
    "pure_packed": '%y = relax.call_pure_packed "semantics.record"(%a) : (T) -> T',
}


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES)
@pytest.mark.parametrize(
    "source", ["%a = relax.exp %x : (T) -> T", "%a = relax.match_cast %x : T -> T"]
)
@pytest.mark.usefixtures("add_one", "calls")
def test_se02_a_mutation_is_seen_through_each_alias(alias: str, source: str) -> None:
    main = load(
        f"""
    relax.func private @id(%x: T) -> T {{
      relax.return %x : T
    }}
    relax.func @main(%x: T, %c: !relax.tensor<[], i1>) -> !relax.object attributes {{is_pure = false}} {{
      {source}
      {alias}
      %m = relax.call_packed "semantics.add_one"(%y) : (T) -> !relax.object
      %r = relax.tuple %a, %y : T, T
      relax.return %r : !relax.tuple<T, T>
    }}""".replace("T,", "T ,").replace("T", "!relax.tensor<[2], f32>")
    )
    x = np.zeros(2, "float32")
    first, second = main(x, np.array(True))
    assert first.data_ptr() == second.data_ptr()
    expected = [2, 2] if "exp" in source else [1, 1]
    assert array(first).tolist() == array(second).tolist() == expected
    # The argument is the caller's own tensor.
    assert x.tolist() == ([0, 0] if "exp" in source else [1, 1])


@pytest.mark.usefixtures("add_one")
def test_se02_a_constant_is_new_at_each_evaluation() -> None:
    main = load("""
    relax.func @main() -> !relax.object attributes {is_pure = false} {
      %0 = relax.constant dense<0.0> : tensor<2xf32>
      %1 = relax.call_packed "semantics.add_one"(%0) : (!relax.tensor<[2], f32>) -> !relax.object
      %2 = relax.constant dense<0.0> : tensor<2xf32>
      %3 = relax.tuple %0, %2 : !relax.tensor<[2], f32>, !relax.tensor<[2], f32>
      relax.return %3 : !relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[2], f32>>
    }""")
    for _ in range(2):
        first, second = main()
        assert (array(first).tolist(), array(second).tolist()) == ([1, 1], [0, 0])


def test_se01_arguments_run_in_order(calls: list[Any]) -> None:
    """Operands of a tuple and a call run from left to right, before the call itself."""
    load("""
    relax.func private @swap(%a: !relax.object, %b: !relax.object) -> !relax.object attributes {is_pure = false} {
      %0 = relax.call_packed "semantics.record"(%b) : (!relax.object) -> !relax.object
      %1 = relax.call_packed "semantics.record"(%a) : (!relax.object) -> !relax.object
      relax.return %1 : !relax.object
    }
    relax.func @main() -> !relax.object attributes {is_pure = false} {
      %a = relax.prim_value 1 : i64
      %b = relax.prim_value 2 : i64
      %0 = relax.call_packed "semantics.record"(%a) : (!relax.prim<i64, 1>) -> !relax.object
      %1 = relax.call_packed "semantics.record"(%b) : (!relax.prim<i64, 2>) -> !relax.object
      %2 = relax.call @swap(%0, %1) : (!relax.object, !relax.object) -> !relax.object
      relax.return %2 : !relax.object
    }""")()
    assert calls == [1, 2, 2, 1]


def test_error_se01_dimensions_run_in_order() -> None:
    main = load("""
    relax.func @main(%n: !relax.prim<i64, n>, %m: !relax.prim<i64, m>) -> !relax.object {
      %0 = relax.shape <[4 floordiv n, 4 floordiv m]>
      relax.return %0 : !relax.shape<[4 floordiv n, 4 floordiv m]>
    }""")
    assert tuple(main(2, 1)) == (2, 4)
    with pytest.raises(ZeroDivisionError, match="floordiv n"):
        main(0, 0)
    with pytest.raises(ZeroDivisionError, match="floordiv m"):
        main(1, 0)


def test_error_se05_errors_come_after_the_effects_before_them(calls: list[Any]) -> None:
    """A cast whose result is not used fails, and where it stands."""
    main = load("""
    relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object attributes {is_pure = false} {
      %a = relax.prim_value 1 : i64
      %0 = relax.call_packed "semantics.record"(%a) : (!relax.prim<i64, 1>) -> !relax.object
      %1 = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[3], f32>
      %2 = relax.call_packed "semantics.record"(%a) : (!relax.prim<i64, 1>) -> !relax.object
      relax.return %2 : !relax.object
    }""")
    main(np.zeros(3, "float32"))
    assert calls == [1, 1]
    calls.clear()
    with pytest.raises(ValueError, match="match_cast"):
        main(np.zeros(2, "float32"))
    assert calls == [1]


UNUSED = """
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.dataflow -> !relax.tensor<ndim = 1, f32> {
    %1 = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[3], f32>
    %2 = relax.call_pure_packed "semantics.record"(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
    relax.output %x : !relax.tensor<ndim = 1, f32>
  }
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}
"""


def test_se06_a_program_becomes_more_defined(calls: list[Any]) -> None:
    """In a dataflow block what nobody uses may go, errors with it."""
    module = ir.Module.parse(UNUSED, context=relax_mlir.default_context())
    with module.context:
        pipeline = "builtin.module(relax.func(relax-dead-code-elimination))"
        PassManager.parse(pipeline).run(module.operation)
    main = load(module)
    assert main(np.zeros(2, "float32")).shape == (2,)
    assert calls == []


def test_error_se06_it_need_not() -> None:
    with pytest.raises(ValueError, match="match_cast"):
        load(UNUSED)(np.zeros(2, "float32"))


def test_se02_equal_operators_give_different_tensors() -> None:
    main = load("""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %2 = relax.tuple %0, %1 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
      relax.return %2 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
    }""")
    first, second = main(np.zeros(2, "float32"))
    assert first.data_ptr() != second.data_ptr()


EVEN_ODD = """
relax.func private @is_zero(%n: !relax.tensor<[], i64>) -> !relax.tensor<[], i1> {
  %0 = relax.constant dense<0> : tensor<i64>
  %1 = relax.equal %n, %0 : (!relax.tensor<[], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[], i1>
  relax.return %1 : !relax.tensor<[], i1>
}
relax.func @even(%n: !relax.tensor<[], i64>) -> !relax.object {
  %0 = relax.call @is_zero(%n) : (!relax.tensor<[], i64>) -> !relax.tensor<[], i1>
  %1 = relax.if %0 : !relax.tensor<[], i1> -> !relax.object {
    relax.yield %0 : !relax.tensor<[], i1>
  } else {
    %2 = relax.constant dense<1> : tensor<i64>
    %3 = relax.subtract %n, %2 : (!relax.tensor<[], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[], i64>
    %4 = relax.call @odd(%3) : (!relax.tensor<[], i64>) -> !relax.object
    relax.yield %4 : !relax.object
  }
  relax.return %1 : !relax.object
}
relax.func @odd(%n: !relax.tensor<[], i64>) -> !relax.object {
  %0 = relax.call @is_zero(%n) : (!relax.tensor<[], i64>) -> !relax.tensor<[], i1>
  %1 = relax.if %0 : !relax.tensor<[], i1> -> !relax.object {
    %2 = relax.logical_not %0 : (!relax.tensor<[], i1>) -> !relax.tensor<[], i1>
    relax.yield %2 : !relax.tensor<[], i1>
  } else {
    %2 = relax.constant dense<1> : tensor<i64>
    %3 = relax.subtract %n, %2 : (!relax.tensor<[], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[], i64>
    %4 = relax.call @even(%3) : (!relax.tensor<[], i64>) -> !relax.object
    relax.yield %4 : !relax.object
  }
  relax.return %1 : !relax.object
}
"""


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_sc01_gr14_mutual_recursion(n: int) -> None:
    assert bool(array(load(EVEN_ODD, "even")(np.array(n)))) == (n % 2 == 0)


def test_error_private_functions_are_no_entries() -> None:
    with pytest.raises(KeyError, match="even, odd"):
        load(EVEN_ODD, "is_zero")


def test_dr12_shape_variables_of_a_callee_are_its_own() -> None:
    main = load("""
    relax.func private @twice(%n: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n * 2], f32> {
      %0 = relax.flatten %n : (!relax.tensor<[n, 2], f32>) -> !relax.tensor<[n * 2], f32>
      relax.return %0 : !relax.tensor<[n * 2], f32>
    }
    relax.func @main(%x: !relax.tensor<[m + 1, 2], f32>, %y: !relax.tensor<[m], f32>)
        -> !relax.tensor<[2 * m + 2], f32> {
      %0 = relax.call @twice(%x) : (!relax.tensor<[m + 1, 2], f32>) -> !relax.tensor<[2 * m + 2], f32>
      relax.return %0 : !relax.tensor<[2 * m + 2], f32>
    }""")
    x = np.arange(8, dtype="float32").reshape(4, 2)
    assert array(main(x, np.zeros(3, "float32"))).tolist() == list(range(8))


RF02 = """
func.func private @tir_matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
relax.func @relax_func(%x: !relax.tensor<[m, n], f32>, %y: !relax.tensor<[n, k], f32>)
    -> !relax.tensor<[m, k * 2], f32> attributes {is_pure = false} {
  %gv0 = relax.dataflow -> !relax.tensor<[m, k], f32> {
    %0 = relax.call_tir @tir_matmul(%x, %y)
      : (!relax.tensor<[m, n], f32>, !relax.tensor<[n, k], f32>) -> !relax.tensor<[m, k], f32>
    relax.output %0 : !relax.tensor<[m, k], f32>
  }
  %p = relax.call_packed "semantics.record"(%gv0) : (!relax.tensor<[m, k], f32>) -> !relax.object
  %gv1 = relax.call_packed "semantics.add"(%gv0, %gv0)
    : (!relax.tensor<[m, k], f32>, !relax.tensor<[m, k], f32>) -> !relax.tensor<[m, k], f32>
  %gv2 = relax.call_dps_packed "semantics.tile"(%gv1)
    : (!relax.tensor<[m, k], f32>) -> !relax.tensor<[m, k * 2], f32>
  relax.return %gv2 : !relax.tensor<[m, k * 2], f32>
}
"""


def test_rf02_call_family(calls: list[Any]) -> None:
    def add(x: Any, y: Any) -> Any:
        return tvm_ffi.from_dlpack(array(x) + array(y))

    def tile(x: Any, out: Any) -> None:
        array(out)[:] = np.tile(array(x), 2)

    tvm_ffi.register_global_func("semantics.add", add, override=True)
    tvm_ffi.register_global_func("semantics.tile", tile, override=True)
    main = load(RF02, "relax_func")
    rng = np.random.default_rng(0)
    for m, n, k in [(1, 1, 1), (3, 4, 5)]:
        x, y = rng.random((m, n), "float32"), rng.random((n, k), "float32")
        np.testing.assert_allclose(array(main(x, y)), np.tile(2 * (x @ y), 2), rtol=1e-5)
    assert [tuple(call.shape) for call in calls] == [(1, 1), (3, 5)]


def test_rf03_rf04_data_dependent_shape() -> None:
    def unique(x: Any) -> Any:
        return tvm_ffi.from_dlpack(np.unique(array(x)))

    tvm_ffi.register_global_func("semantics.unique", unique, override=True)
    main = load("""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
      %0 = relax.call_packed "semantics.unique"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32>
      %1 = relax.match_cast %0 : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
      %2 = relax.exp %1 : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
      %3 = relax.shape <[n, m, n * m]>
      %4 = relax.tuple %2, %3 : !relax.tensor<[m], f32>, !relax.shape<[n, m, n * m]>
      relax.return %4 : !relax.tuple<!relax.tensor<[m], f32>, !relax.shape<[n, m, n * m]>>
    }""")
    result, shape = main(np.array([0, 1, 1, 0, 1], "float32"))
    np.testing.assert_allclose(array(result), np.exp([0, 1]), rtol=1e-6)
    assert tuple(shape) == (5, 2, 10)


def test_rf05_two_dataflow_blocks_with_an_effect_between(calls: list[Any]) -> None:
    main = load("""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {is_pure = false} {
      %0 = relax.dataflow -> !relax.tensor<[n], f32> {
        %1 = relax.negative %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.output %1 : !relax.tensor<[n], f32>
      }
      %2 = relax.call_packed "semantics.record"(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %3 = relax.dataflow -> !relax.tensor<[n], f32> {
        %4 = relax.abs %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.output %4 : !relax.tensor<[n], f32>
      }
      relax.return %3 : !relax.tensor<[n], f32>
    }""")
    assert array(main(np.array([1, 2], "float32"))).tolist() == [1, 2]
    assert array(calls[0]).tolist() == [-1, -2]


def test_error_division_by_zero_in_a_dimension() -> None:
    main = load("""
    relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
      %0 = relax.shape <[n floordiv m]>
      relax.return %0 : !relax.shape<[n floordiv m]>
    }""")
    assert tuple(main(np.zeros((7, 2), "float32"))) == (3,)
    with pytest.raises(ZeroDivisionError, match=r"main: dimension n floordiv m: .*divisor is zero"):
        main(np.zeros((7, 0), "float32"))


def test_error_out_of_memory() -> None:
    main = load("""
    relax.func @main(%n: !relax.prim<i64, n>) -> !relax.object {
      %0 = relax.shape <[n, 1000000]>
      %1 = relax.zeros %0 {dtype = f32} : (!relax.shape<[n, 1000000]>) -> !relax.tensor<[n, 1000000], f32>
      relax.return %1 : !relax.tensor<[n, 1000000], f32>
    }""")
    for too_large in (10**12, 2**62):
        with pytest.raises(MemoryError, match="main"):
            main(too_large)
    with pytest.raises(ValueError, match="-1"):
        main(-1)
    assert array(main(1)).shape == (1, 1000000)
