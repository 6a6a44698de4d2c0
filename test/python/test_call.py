"""The call operators OP01 to OP06: kernels and packed functions, with updates in place."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from relax_mlir import op

F32 = "float32"
VECTOR = relax.TensorStructInfo(("n",), F32)


def array(tensor: Any) -> np.ndarray:
    return np.from_dlpack(tensor)


@pytest.fixture
def packed():
    """Register a packed function and return its name."""
    count = 0

    def register(function: Callable[..., Any]) -> str:
        nonlocal count
        count += 1
        name = f"test_call.{function.__name__}{count}"
        tvm_ffi.register_global_func(name, function, override=True)
        return name

    return register


def function(params, body, kernel=None, **options):
    """Return a program with one function, whose body gets the kernel and the parameters."""
    bb = relax.BlockBuilder()
    given = () if kernel is None else (bb.add_func(kernel),)
    with bb.function("main", params, **options):
        bb.emit_func_output(body(*given, *params))
    return bb


# Kernels that are called in destination-passing style (OP01).

NONE = "func.func @kernel(%x: memref<?xf32>) { return }"
IOTA = """
func.func @kernel(%x: memref<?xf32>, %n: i64, %m: i64, %y: memref<?xi64>, %z: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = memref.dim %y, %zero : memref<?xi64>
  scf.for %i = %zero to %rows step %one {
    %i64 = arith.index_cast %i : index to i64
    %0 = arith.muli %i64, %n : i64
    %1 = arith.addi %0, %m : i64
    memref.store %1, %y[%i] : memref<?xi64>
  }
  memref.copy %x, %z : memref<?xf32> to memref<?xf32>
  return
}
"""


def test_op01_no_outputs(tensor, load):
    bb = function([tensor(("n",))], lambda k, x: op.call_tir(k, [x], []), NONE)
    assert "-> !relax.tuple<>" in str(bb.get())
    assert tuple(load(bb)(np.ones(2, F32))) == ()


def test_op01_integers_and_several_outputs(tensor, load):
    out = [relax.TensorStructInfo(("n + m",), "int64"), VECTOR]
    bb = function(
        [tensor(("n",)), tensor(("m",), name="y")],
        lambda k, x, y: op.call_tir(k, [x], out, ["n * 10", "m"]),
        IOTA,
    )
    first, second = load(bb)(np.arange(2, dtype=F32), np.zeros(3, F32))
    assert array(first).tolist() == [3, 23, 43, 63, 83]
    assert array(second).tolist() == [0, 1]


def test_op01_is_pure(tensor):
    bb = relax.BlockBuilder()
    kernel, x = bb.add_func(NONE), tensor(("n",))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.call_tir(kernel, [x], []))
        bb.emit_func_output(out)
    bb.get()


def test_error_op01_result_does_not_fit_the_kernel(tensor):
    for out in (relax.TensorStructInfo(("n",), "int64"), relax.TensorStructInfo(("n", 1), F32)):
        kernel = "func.func @kernel(%x: memref<?xf32>, %y: memref<?xf32>) { return }"
        bb = function([tensor(("n",))], lambda k, x, out=out: op.call_tir(k, [x], out), kernel)
        with pytest.raises(ir.MLIRError, match="expected a value for kernel parameter 1"):
            bb.get()


# Kernels that update their arguments (OP02).

RELU_TENSOR = """
func.func @kernel(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%x : tensor<?xf32>) {
  ^bb0(%e: f32):
    %r = arith.maximumf %e, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
# Computes into memory of its own first.
RELU_ELSEWHERE = """
func.func @kernel(%x: tensor<?xf32>) -> tensor<?xf32> {
  %i = arith.constant 0 : index
  %n = tensor.dim %x, %i : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %r = arith.maximumf %e, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
RELU_MEMREF = """
func.func @kernel(%x: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%x : memref<?xf32>) {
  ^bb0(%e: f32):
    %r = arith.maximumf %e, %zero : f32
    linalg.yield %r : f32
  }
  return
}
"""
SWAP = """
func.func @kernel(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  return %y, %x : tensor<?xf32>, tensor<?xf32>
}
"""
# Parameters: what is read, what is updated, an integer, what is allocated.
SCALE = """
func.func @kernel(%x: memref<?xf32>, %y: memref<?xf32>, %k: i64, %z: memref<?xf32>) {
  %f = arith.sitofp %k : i64 to f32
  linalg.map { arith.addf } ins(%x, %y : memref<?xf32>, memref<?xf32>) outs(%y : memref<?xf32>)
  linalg.fill ins(%f : f32) outs(%z : memref<?xf32>)
  return
}
"""


@pytest.mark.parametrize("kernel", [RELU_TENSOR, RELU_ELSEWHERE, RELU_MEMREF])
def test_op02_updates_the_argument(tensor, load, kernel):
    bb = function(
        [tensor(("n",))],
        lambda k, x: op.call_tir_inplace(k, x, 0, VECTOR),
        kernel,
        pure=False,
    )
    data = np.array([-1, 2, -3], F32)
    result = load(bb)(data)
    assert data.tolist() == array(result).tolist() == [0, 2, 0]
    assert array(result).ctypes.data == data.ctypes.data


def test_op02_updates_a_tensor_of_its_own(tensor, load):
    def body(kernel, x):
        y = op.negative(x)
        return op.tuple(op.call_tir_inplace(kernel, y, 0, VECTOR), x)

    data = np.array([-1, 2], F32)
    result, same = load(function([tensor(("n",))], body, RELU_TENSOR))(data)
    assert array(result).tolist() == [1, 0]
    assert array(same).tolist() == data.tolist() == [-1, 2]


def test_op02_swaps(tensor, load):
    bb = function(
        [tensor(("n",)), tensor(("n",), name="y")],
        lambda k, x, y: op.call_tir_inplace(k, [x, y], [0, 1], [VECTOR, VECTOR]),
        SWAP,
        pure=False,
    )
    x, y = np.array([1, 2], F32), np.array([3, 4], F32)
    load(bb)(x, y)
    assert (x.tolist(), y.tolist()) == ([3, 4], [1, 2])


def test_op02_allocates_where_the_index_is_negative(tensor, load):
    out = [relax.TensorStructInfo((2,), F32), VECTOR]
    bb = function(
        [tensor(("n",)), tensor(("n",), name="y")],
        lambda k, x, y: op.call_tir_inplace(k, [x, y], [-1, 1], out, ["n + 1"]),
        SCALE,
        pure=False,
    )
    x, y = np.array([1, 2, 3], F32), np.array([3, 4, 5], F32)
    allocated, updated = load(bb)(x, y)
    assert array(allocated).tolist() == [4, 4]
    assert array(updated).tolist() == y.tolist() == [4, 6, 8]
    assert x.tolist() == [1, 2, 3]


def test_op02_a_constant_is_new_each_time(load):
    def body(kernel):
        constant = op.const(np.array([-1.0, 2.0], F32))
        return op.call_tir_inplace(kernel, constant, 0, constant.type)

    # Were the memory shared, the second call would find what the first one left.
    increment = RELU_TENSOR.replace("arith.constant 0.0", "arith.constant 1.0").replace(
        "arith.maximumf", "arith.addf"
    )
    main = load(function([], body, increment))
    assert [array(main()).tolist() for _ in range(2)] == [[0, 3], [0, 3]]


def test_op02_an_argument_known_by_a_cast(tensor, load):
    def body(kernel, x):
        y = op.exp(op.match_cast(x, VECTOR))
        weaker = op.match_cast(y, relax.TensorStructInfo(ndim=1))
        return op.call_tir_inplace(kernel, op.match_cast(weaker, VECTOR), 0, VECTOR)

    bb = function([tensor(ndim=1)], body, RELU_MEMREF)
    np.testing.assert_allclose(array(load(bb)(np.zeros(3, F32))), np.ones(3))


def test_error_op02_strided_argument(tensor, load):
    bb = function(
        [tensor(("n",))],
        lambda k, x: op.call_tir_inplace(k, x, 0, VECTOR),
        RELU_MEMREF,
        pure=False,
    )
    data = -np.ones(4, F32)
    with pytest.raises(ValueError, match=r"expected a compact, aligned tensor.*strided"):
        load(bb)(data[::2])
    assert data.tolist() == [-1] * 4


def test_error_op02_arguments_share_memory(tensor, load):
    out = [relax.TensorStructInfo((2,), F32), VECTOR]
    bb = function(
        [tensor(("n",)), tensor(("n",), name="y")],
        lambda k, x, y: op.call_tir_inplace(k, [x, y], [-1, 1], out, ["n"]),
        SCALE,
        pure=False,
    )
    main, data = load(bb), np.zeros(6, F32)
    main(data[:3], data[3:])
    with pytest.raises(
        ValueError, match="argument 1 is updated in place, but shares memory with argument 0"
    ):
        main(data[:4], data[2:])
    main(data[:0], data[:0])


def test_error_op02_later_use(tensor):
    def body(kernel, x):
        y = op.negative(x)
        return op.tuple(op.call_tir_inplace(kernel, y, 0, VECTOR), y)

    with pytest.raises(ir.MLIRError, match="what may alias it, is used later"):
        function([tensor(("n",))], body, RELU_TENSOR).get()


def test_error_op02_indices(tensor):
    for indices, message in [
        ([0, 0], "one of inplace_indices for each of the 1 outputs, but got 2"),
        ([1], "positions of the 1 arguments, but got 1"),
    ]:
        bb = function(
            [tensor(("n",))],
            lambda k, x, i=indices: op.call_tir_inplace(k, x, i, VECTOR),
            RELU_MEMREF,
            pure=False,
        )
        with pytest.raises(ir.MLIRError, match=message):
            bb.get()


# Packed functions (OP03 to OP06).


def as_value_of(name, by_value):
    return op.extern_func(name) if by_value else name


@pytest.mark.parametrize("by_value", [False, True])
def test_op03_call_dps_packed(tensor, load, packed, by_value):
    def fill(x, out, more):
        array(out)[:] = array(x) + 1
        array(more)[...] = len(array(x))

    name = packed(fill)
    out = [VECTOR, relax.TensorStructInfo((), "int64")]
    bb = function(
        [tensor(("n",))],
        lambda x: op.call_dps_packed(as_value_of(name, by_value), x, out),
    )
    first, second = load(bb)(np.zeros(3, F32))
    assert (array(first).tolist(), array(second)[()]) == ([1, 1, 1], 3)


def test_op03_no_outputs(tensor, load, packed):
    seen = []

    def look(x):
        seen.append(tuple(x.shape))

    name = packed(look)
    bb = function([tensor(("n",))], lambda x: op.call_dps_packed(name, x, []), pure=False)
    assert tuple(load(bb)(np.zeros(3, F32))) == ()
    assert seen == [(3,)]


@pytest.mark.parametrize("by_value", [False, True])
def test_op05_call_pure_packed(tensor, load, packed, by_value):
    def count(x):
        return int(x.shape[0])

    name = packed(count)
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        callee = as_value_of(name, by_value)
        with bb.dataflow():
            rows = op.call_pure_packed(callee, x, sinfo_args=relax.PrimStructInfo("int64"))
            out = bb.emit_output(rows)
        bb.emit_func_output(out)
    assert load(bb)(np.zeros(5, F32)) == 5


def test_op05_dr10_several_sinfo_args(tensor, load, packed):
    def pair(x):
        return (x, 1)

    name = packed(pair)
    types = [VECTOR, relax.PrimStructInfo("int64")]
    bb = function([tensor(("n",))], lambda x: op.call_pure_packed(name, x, sinfo_args=types))
    assert load(bb)(np.zeros(2, F32))[1] == 1


def test_error_op05_result_is_checked(tensor, load, packed):
    def wrong(x):
        return tvm_ffi.from_dlpack(np.zeros(3, F32))

    name = packed(wrong)
    bb = function([tensor(("n",))], lambda x: op.call_pure_packed(name, x, sinfo_args=VECTOR))
    load(bb)(np.zeros(3, F32))
    with pytest.raises(ValueError, match=r"the result of test_call\.wrong1"):
        load(bb)(np.zeros(2, F32))


def test_error_op05_no_sinfo_args(write):
    for call in (op.call_pure_packed, op.call_packed):
        with pytest.raises(ValueError, match="at least one StructInfo as sinfo_args"):
            write(lambda call=call: call("f", sinfo_args=[]), pure=False)


@pytest.mark.parametrize("by_value", [False, True])
def test_op06_call_inplace_packed(tensor, load, packed, by_value):
    def double(y, x):
        view = array(y)
        view += array(x)
        return y

    name = packed(double)

    def body(x):
        y = op.exp(x)
        callee = as_value_of(name, by_value)
        z = op.call_inplace_packed(callee, y, x, inplace_indices=[0], sinfo_args=VECTOR)
        return op.tuple(z, x)

    z, x = load(function([tensor(("n",))], body))(np.zeros(2, F32))
    assert (array(z).tolist(), array(x).tolist()) == ([1, 1], [0, 0])


def test_op06_objects(load, packed):
    """An object is updated as a cache would be."""
    cache = packed(lambda: tvm_ffi.from_dlpack(np.zeros(1, F32)))

    def append(state):
        view = array(state)
        view += 1
        return state

    name = packed(append)
    any_ = relax.ObjectStructInfo()

    def body():
        state = op.call_packed(cache)
        state = op.call_inplace_packed(name, state, inplace_indices=0, sinfo_args=any_)
        return op.call_inplace_packed(name, state, inplace_indices=0, sinfo_args=any_)

    assert array(load(function([], body, pure=False))()).tolist() == [2]


def test_error_op06_parameter_of_a_pure_function(tensor):
    bb = function(
        [tensor(("n",))],
        lambda x: op.call_inplace_packed("f", x, inplace_indices=0, sinfo_args=VECTOR),
    )
    with pytest.raises(ir.MLIRError, match="it may be argument 'x' of a pure function"):
        bb.get()


def test_op06_force_pure(tensor, load, packed):
    def touch(x):
        array(x)[:] = 1
        return x

    name = packed(touch)
    bb = function(
        [tensor(("n",))],
        lambda x: op.call_inplace_packed(name, x, inplace_indices=0, sinfo_args=VECTOR),
        attrs={"relax.force_pure": True},
    )
    data = np.zeros(2, F32)
    load(bb)(data)
    assert data.tolist() == [1, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: op.call_dps_packed(f, x, VECTOR),
        lambda f, x: op.call_pure_packed(f, x, sinfo_args=VECTOR),
        lambda f, x: op.call_inplace_packed(f, x, inplace_indices=0, sinfo_args=VECTOR),
    ],
    ids=["op03", "op05", "op06"],
)
def test_error_op03_op05_op06_closure(tensor, call):
    closure = relax.Var("f", relax.FuncStructInfo([VECTOR], VECTOR))
    bb = function([closure, tensor(("n",))], call, pure=False)
    with pytest.raises(ir.MLIRError, match="expected a packed function as the function value"):
        bb.get()
