# ruff: noqa: E501 (the lines of MLIR)
"""Programs whose tensors share memory give the results that NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir
import tvm_ffi
from relax_mlir.analysis import estimate_memory_usage
from relax_mlir.script import from_source

Arrays = tuple[np.ndarray, ...]


def load(text: str, **options: Any) -> Callable[..., Any]:
    return relax_mlir.VirtualMachine(relax_mlir.compile(text, **options))["main"]


def array(tensor: Any) -> np.ndarray:
    return np.from_dlpack(tensor)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape).astype("float32")


def check(text: str, wanted: np.ndarray, *arguments: Any) -> None:
    """Run with and without a plan, twice each, as the second call finds used memory."""
    for planned in (True, False):
        main = load(text, plan_memory=planned)
        for _ in range(2):
            np.testing.assert_allclose(array(main(*arguments)), wanted, rtol=1e-5)


def tensor(*dims: object) -> str:
    return f"!relax.tensor<[{', '.join(map(str, dims))}], f32>"


def unary(result: str, name: str, operand: str, type_: str) -> str:
    return f"{result} = relax.{name} {operand} : ({type_}) -> {type_}\n"


# apache/tvm issues 20191 and 20190 and their kin: programs that are compiled to wrong results there.


@pytest.mark.parametrize("taken", [True, False])
def test_rf10_reshapes_in_both_branches(taken: bool) -> None:
    x = random(2, 3)
    check(
        """
        relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[2, 3], f32>) -> !relax.tensor<[6], f32> {
          %s6 = relax.shape <[6]>
          %s32 = relax.shape <[3, 2]>
          %r = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[6], f32> {
            %0 = relax.exp %x : (!relax.tensor<[2, 3], f32>) -> !relax.tensor<[2, 3], f32>
            %1 = relax.reshape %0, %s32 : (!relax.tensor<[2, 3], f32>, !relax.shape<[3, 2]>) -> !relax.tensor<[3, 2], f32>
            %2 = relax.reshape %1, %s6 : (!relax.tensor<[3, 2], f32>, !relax.shape<[6]>) -> !relax.tensor<[6], f32>
            %3 = relax.negative %2 : (!relax.tensor<[6], f32>) -> !relax.tensor<[6], f32>
            relax.yield %3 : !relax.tensor<[6], f32>
          } else {
            %0 = relax.log %x : (!relax.tensor<[2, 3], f32>) -> !relax.tensor<[2, 3], f32>
            %1 = relax.reshape %0, %s32 : (!relax.tensor<[2, 3], f32>, !relax.shape<[3, 2]>) -> !relax.tensor<[3, 2], f32>
            %2 = relax.reshape %1, %s6 : (!relax.tensor<[3, 2], f32>, !relax.shape<[6]>) -> !relax.tensor<[6], f32>
            %3 = relax.sqrt %2 : (!relax.tensor<[6], f32>) -> !relax.tensor<[6], f32>
            relax.yield %2 : !relax.tensor<[6], f32>
          }
          %o = relax.add %r, %r : (!relax.tensor<[6], f32>, !relax.tensor<[6], f32>) -> !relax.tensor<[6], f32>
          relax.return %o : !relax.tensor<[6], f32>
        }""",
        2 * (-np.exp(x) if taken else np.log(x)).reshape(6),
        np.array(taken),
        x,
    )


def test_rf10_a_cast_keeps_its_tensor() -> None:
    x = random(4)
    check(
        """
        relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
          %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %1 = relax.match_cast %0 : !relax.tensor<[4], f32> -> !relax.tensor<ndim = 1, f32>
          %2 = relax.match_cast %1 : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
          %3 = relax.sin %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %4 = relax.negative %3 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %5 = relax.match_cast %2 : !relax.tensor<[k], f32> -> !relax.tensor<[4], f32>
          %6 = relax.add %4, %5 : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          relax.return %6 : !relax.tensor<[4], f32>
        }""",
        np.exp(x) - np.sin(x),
        x,
    )


def test_rf10_two_views_of_one_tensor() -> None:
    # The product of two views may be written over neither while the tensor is needed.
    x = random(4, 4)
    check(
        """
        relax.func @main(%x: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[16], f32> {
          %s = relax.shape <[16]>
          %0 = relax.exp %x : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
          %1 = relax.reshape %0, %s : (!relax.tensor<[4, 4], f32>, !relax.shape<[16]>) -> !relax.tensor<[16], f32>
          %2 = relax.reshape %0, %s : (!relax.tensor<[4, 4], f32>, !relax.shape<[16]>) -> !relax.tensor<[16], f32>
          %3 = relax.multiply %1, %2 : (!relax.tensor<[16], f32>, !relax.tensor<[16], f32>) -> !relax.tensor<[16], f32>
          %4 = relax.permute_dims %0 {axes = array<i64: 1, 0>} : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
          %5 = relax.reshape %4, %s : (!relax.tensor<[4, 4], f32>, !relax.shape<[16]>) -> !relax.tensor<[16], f32>
          %6 = relax.subtract %3, %5 : (!relax.tensor<[16], f32>, !relax.tensor<[16], f32>) -> !relax.tensor<[16], f32>
          relax.return %6 : !relax.tensor<[16], f32>
        }""",
        (np.exp(x) ** 2 - np.exp(x).T).reshape(16),
        x,
    )


def test_rf10_a_kernel_updates_what_was_viewed() -> None:
    # The update of the tensor must not be seen through its reshape, nor the other way around.
    x = random(4)
    check(
        """
        func.func private @double(%x: memref<4xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          scf.for %i = %c0 to %c4 step %c1 {
            %0 = memref.load %x[%i] : memref<4xf32>
            %1 = arith.addf %0, %0 : f32
            memref.store %1, %x[%i] : memref<4xf32>
          }
          return
        }
        relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
          %s = relax.shape <[2, 2]>
          %t = relax.shape <[4]>
          %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %1 = relax.reshape %0, %s : (!relax.tensor<[4], f32>, !relax.shape<[2, 2]>) -> !relax.tensor<[2, 2], f32>
          %2 = relax.call_tir_inplace @double(%0) inplace [0] : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %3 = relax.reshape %1, %t : (!relax.tensor<[2, 2], f32>, !relax.shape<[4]>) -> !relax.tensor<[4], f32>
          %4 = relax.subtract %2, %3 : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          relax.return %4 : !relax.tensor<[4], f32>
        }""",
        np.exp(x),
        x,
    )


def test_rf10_an_argument_is_not_written_over() -> None:
    x = random(4)
    before = x.copy()
    text = """
    relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[2, 2], f32> {
      %s = relax.shape <[2, 2]>
      %0 = relax.reshape %x, %s : (!relax.tensor<[4], f32>, !relax.shape<[2, 2]>) -> !relax.tensor<[2, 2], f32>
      %1 = relax.exp %0 : (!relax.tensor<[2, 2], f32>) -> !relax.tensor<[2, 2], f32>
      %2 = relax.exp %1 : (!relax.tensor<[2, 2], f32>) -> !relax.tensor<[2, 2], f32>
      relax.return %2 : !relax.tensor<[2, 2], f32>
    }"""
    check(text, np.exp(np.exp(x)).reshape(2, 2), x)
    assert (x == before).all()


def test_rf10_a_reshaped_argument_that_is_returned_is_a_copy() -> None:
    # A pure function gives a tensor of its own: who gets it may change it.
    text = """
    relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[2, 2], f32> {
      %s = relax.shape <[2, 2]>
      %0 = relax.reshape %x, %s : (!relax.tensor<[4], f32>, !relax.shape<[2, 2]>) -> !relax.tensor<[2, 2], f32>
      relax.return %0 : !relax.tensor<[2, 2], f32>
    }"""
    x = random(4)
    result = array(load(text)(x))
    assert (result == x.reshape(2, 2)).all()
    assert not np.shares_memory(result, x)


def test_rf09_what_functions_get_keeps_its_memory() -> None:
    kept: list[np.ndarray] = []
    tvm_ffi.register_global_func(
        "memory_plan.keep", lambda value: kept.append(array(value)), override=True
    )
    text = """
    relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> attributes {is_pure = false} {
      %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      %1 = relax.call_packed "memory_plan.keep"(%0) : (!relax.tensor<[4], f32>) -> !relax.object
      %2 = relax.negative %0 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      %3 = relax.negative %2 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      %4 = relax.negative %3 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      relax.return %4 : !relax.tensor<[4], f32>
    }"""
    x = random(4)
    np.testing.assert_allclose(array(load(text)(x)), -np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(kept[0], np.exp(x), rtol=1e-6)


def test_rf10_symbolic_products_share() -> None:
    x = random(3, 5)
    text = """
    relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32> {
      %0 = relax.exp %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
      %1 = relax.permute_dims %0 {axes = array<i64: 1, 0>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32>
      %2 = relax.softmax %1 : (!relax.tensor<[m, n], f32>) -> !relax.tensor<[m, n], f32>
      %3 = relax.permute_dims %2 {axes = array<i64: 1, 0>} : (!relax.tensor<[m, n], f32>) -> !relax.tensor<[n, m], f32>
      %4 = relax.permute_dims %3 {axes = array<i64: 1, 0>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32>
      relax.return %4 : !relax.tensor<[m, n], f32>
    }"""
    powers = np.exp(np.exp(x.T))
    check(text, powers / powers.sum(-1, keepdims=True), x)
    usage = estimate_memory_usage(text)["main"]
    assert usage.planned.text == "m * n * 12"
    assert sum(storage.is_shared for storage in usage.storages) == 2


def test_rf10_upper_bounds_give_static_plans() -> None:
    text = """
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        attributes {tir_var_upper_bound = {n = 64 : i64}} {
      %0 = relax.softmax %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.softmax %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %2 = relax.softmax %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %3 = relax.add %2, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %3 : !relax.tensor<[n], f32>
    }"""

    def softmax(v: np.ndarray) -> np.ndarray:
        return np.exp(v) / np.exp(v).sum()

    for n in (0, 1, 7, 64):
        x = random(n)
        check(text, softmax(softmax(softmax(x))) + x, x)
    usage = estimate_memory_usage(text)["main"]
    assert [s.bytes for s in usage.storages if s.is_shared] == [512]


def test_rf10_rejects_what_is_beyond_a_bound() -> None:
    text = """
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        attributes {tir_var_upper_bound = {n = 4 : i64}} {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %1 : !relax.tensor<[n], f32>
    }"""
    with pytest.raises(ValueError, match="tir_var_upper_bound"):
        load(text)(random(5))


# apache/tvm issue 18663: only a lower bound says nothing of the size.
def test_rf10_a_lower_bound_is_no_size() -> None:
    text = """
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        attributes {tir_var_lower_bound = {n = 2 : i64}} {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.softmax %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %2 = relax.softmax %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %2 : !relax.tensor<[n], f32>
    }"""

    def softmax(v: np.ndarray) -> np.ndarray:
        return np.exp(v) / np.exp(v).sum()

    x = random(100)
    check(text, softmax(softmax(np.exp(x))), x)


# apache/tvm issue 17488: dataflow blocks, and bindings outside of them.
def test_rf10_dataflow_blocks_share() -> None:
    x = random(4)
    check(
        """
        relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
          %a = relax.dataflow -> !relax.tensor<[4], f32> {
            %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
            %1 = relax.sin %0 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
            relax.output %1 : !relax.tensor<[4], f32>
          }
          %b = relax.negative %a : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %c = relax.dataflow -> !relax.tensor<[4], f32> {
            %0 = relax.exp %b : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
            %1 = relax.add %0, %a : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
            relax.output %1 : !relax.tensor<[4], f32>
          }
          relax.return %c : !relax.tensor<[4], f32>
        }""",
        np.exp(-np.sin(np.exp(x))) + np.sin(np.exp(x)),
        x,
    )


# apache/tvm issues 17876 and 20177: a product is read before anything computes it.
def test_rf10_products_that_nothing_computed() -> None:
    text = """
    relax.func @main(%x: !relax.tensor<[2, n], f32>, %shape: !relax.shape<ndim = 1>) -> !relax.tuple<!relax.tensor<ndim = 2, f32>, !relax.shape<ndim = 1>> {
      %0 = relax.match_cast %shape : !relax.shape<ndim = 1> -> !relax.shape<[s]>
      %1 = relax.shape <[s * 4]>
      %2 = relax.reshape %x, %1 : (!relax.tensor<[2, n], f32>, !relax.shape<[s * 4]>) -> !relax.tensor<[s * 4], f32>
      %3 = relax.shape <[s, 4]>
      %4 = relax.reshape %2, %3 : (!relax.tensor<[s * 4], f32>, !relax.shape<[s, 4]>) -> !relax.tensor<[s, 4], f32>
      %5 = relax.shape <[s * 4 + 1]>
      %6 = relax.tuple %4, %5 : !relax.tensor<[s, 4], f32>, !relax.shape<[s * 4 + 1]>
      relax.return %6 : !relax.tuple<!relax.tensor<[s, 4], f32>, !relax.shape<[s * 4 + 1]>>
    }"""
    x = random(2, 6)
    for planned in (True, False):
        main = load(text, plan_memory=planned)
        tensor, shape = main(x, tvm_ffi.Shape([3]))
        np.testing.assert_array_equal(array(tensor), x.reshape(3, 4))
        assert tuple(shape) == (13,)
        with pytest.raises(ValueError, match=r"dimension 0 is 12, where s \* 4 = 8"):
            main(x, tvm_ffi.Shape([2]))


def test_rf10_tuples_keep_their_tensors() -> None:
    x = random(4)
    check(
        """
        relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
          %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %1 = relax.sin %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %t = relax.if %c : !relax.tensor<[], i1> -> !relax.tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>> {
            %2 = relax.tuple %0, %1 : !relax.tensor<[4], f32>, !relax.tensor<[4], f32>
            relax.yield %2 : !relax.tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>>
          } else {
            %2 = relax.tuple %1, %0 : !relax.tensor<[4], f32>, !relax.tensor<[4], f32>
            relax.yield %2 : !relax.tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>>
          }
          %3 = relax.cos %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %4 = relax.negative %3 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %5 = relax.get_item %t[0] : !relax.tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>>
          %6 = relax.add %4, %5 : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          relax.return %6 : !relax.tensor<[4], f32>
        }""",
        np.exp(x) - np.cos(x),
        np.array(True),
        x,
    )


def test_rf10_functions_that_call_each_other() -> None:
    x = random(4)
    check(
        """
        relax.func private @inner(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
          %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
          %1 = relax.softmax %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
          %2 = relax.negative %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
          relax.return %2 : !relax.tensor<[n], f32>
        }
        relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
          %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %1 = relax.call @inner(%0) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %2 = relax.sin %1 : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          %3 = relax.add %2, %0 : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
          relax.return %3 : !relax.tensor<[4], f32>
        }""",
        np.sin(-_softmax(np.exp(np.exp(x)))) + np.exp(x),
        x,
    )


def _softmax(v: np.ndarray) -> np.ndarray:
    return np.exp(v) / np.exp(v).sum()


def test_se07_deep_self_tail_recursion_needs_no_stack() -> None:
    # Each round makes tensors; the arguments change places.
    text = """
    relax.func @main(%n: !relax.tensor<[], i64>, %x: !relax.tensor<[2], f32>, %y: !relax.tensor<[2], f32>)
        -> !relax.tensor<[2], f32> {
      %zero = relax.constant dense<0> : tensor<i64>
      %one = relax.constant dense<1> : tensor<i64>
      %c = relax.equal %n, %zero : (!relax.tensor<[], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[], i1>
      %r = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[2], f32> {
        relax.yield %x : !relax.tensor<[2], f32>
      } else {
        %m = relax.subtract %n, %one : (!relax.tensor<[], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[], i64>
        %z = relax.add %x, %x : (!relax.tensor<[2], f32>, !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
        %w = relax.subtract %z, %x : (!relax.tensor<[2], f32>, !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
        %0 = relax.call @main(%m, %y, %w) : (!relax.tensor<[], i64>, !relax.tensor<[2], f32>, !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
        relax.yield %0 : !relax.tensor<[2], f32>
      }
      relax.return %r : !relax.tensor<[2], f32>
    }"""
    x, y = random(2), -random(2)
    main = load(text)
    for rounds, wanted in ((0, x), (1, y), (2, x), (20001, y)):
        np.testing.assert_allclose(array(main(np.array(rounds), x, y)), wanted, rtol=1e-6)


def test_rf09_sizes_that_overflow_are_an_error() -> None:
    # 2**32 * 2**32 elements: the dimensions are there without memory, as the strides are 0.
    text = """
    relax.func @main(%x: !relax.tensor<[n], i8>, %y: !relax.tensor<[m], i8>) -> !relax.tensor<[], i8> {
      %s = relax.shape <[n, m]>
      %a = relax.zeros %s {dtype = i8} : (!relax.shape<[n, m]>) -> !relax.tensor<[n, m], i8>
      %b = relax.max %a : (!relax.tensor<[n, m], i8>) -> !relax.tensor<[], i8>
      relax.return %b : !relax.tensor<[], i8>
    }"""
    wide = np.lib.stride_tricks.as_strided(np.zeros(1, "int8"), (1 << 33,), (0,))
    main = load(text)
    with pytest.raises((MemoryError, ValueError)):
        main(wide, wide)


@pytest.mark.parametrize("plan_memory", [True, False])
def test_views_of_results_keep_them_alive(exec_mode: str, plan_memory: bool) -> None:
    """A view that only kernels read is an address: the tensor dies after it."""
    program = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def double(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        y = Module.double(x)
        z = R.reshape(y, (4, n))
        a = R.negative(x)
        b = R.exp(z)
        return a, b
""")
    main = load(program, plan_memory=plan_memory, fuse=False, exec_mode=exec_mode)
    x = np.linspace(0, 1, 12, dtype="float32").reshape(3, 4)
    for _ in range(3):
        a, b = main(x)
        np.testing.assert_array_equal(array(a), -x)
        np.testing.assert_allclose(array(b), np.exp(2 * x).reshape(4, 3), rtol=1e-6)
