"""Kernels, operation by operation, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from relax_mlir import as_module, reference
from relax_mlir.reference.kernels import Kernels


def call(text, *args, name="kernel"):
    """Call a kernel on arrays and return its results."""
    return Kernels(as_module(text).functions).call(name, args)


def scalar(text, *args):
    """Return the one scalar that a kernel computes of scalars."""
    (result,) = call(text, *args)
    return result


# ---------------------------------------------------------------------------------------------
# arith, math
# ---------------------------------------------------------------------------------------------

I8 = np.int8

BINARY = [
    ("addi", I8(127), I8(1), -128),
    ("subi", I8(-128), I8(1), 127),
    ("muli", I8(16), I8(16), 0),
    ("divsi", I8(-7), I8(2), -3),
    ("divui", I8(-7), I8(2), 124),
    ("floordivsi", I8(-7), I8(2), -4),
    ("ceildivsi", I8(-7), I8(2), -3),
    ("ceildivui", I8(-1), I8(2), -128),
    ("remsi", I8(-7), I8(2), -1),
    ("remui", I8(-7), I8(4), 1),
    ("shli", I8(65), I8(1), -126),
    ("shrsi", I8(-128), I8(1), -64),
    ("shrui", I8(-128), I8(1), 64),
    ("maxsi", I8(-1), I8(1), 1),
    ("maxui", I8(-1), I8(1), -1),
    ("minui", I8(-1), I8(1), 1),
    ("xori", I8(5), I8(3), 6),
]


@pytest.mark.parametrize(("name", "a", "b", "expected"), BINARY, ids=lambda v: str(v))
def test_integers(name, a, b, expected):
    text = f"""func.func @kernel(%a: i8, %b: i8) -> i8 {{
      %0 = arith.{name} %a, %b : i8
      return %0 : i8
    }}"""
    result = scalar(text, a, b)
    assert (result.dtype, result) == ("int8", expected)


CASTS = [
    ("extsi", "i8", "i32", I8(-1), -1),
    ("extui", "i8", "i32", I8(-1), 255),
    ("extsi", "i1", "i8", np.True_, -1),
    ("extui", "i1", "i8", np.True_, 1),
    ("trunci", "i32", "i8", np.int32(300), 44),
    ("trunci", "i32", "i1", np.int32(2), False),
    ("sitofp", "i8", "f32", I8(-1), -1.0),
    ("uitofp", "i8", "f32", I8(-1), 255.0),
    ("fptosi", "f32", "i8", np.float32(-2.9), -2),
    ("fptoui", "f32", "i8", np.float32(254.9), -2),
    ("truncf", "f32", "bf16", np.float32(1.005), 1.0078125),
    ("extf", "f16", "f32", np.float16(0.1), np.float32(np.float16(0.1))),
    ("bitcast", "f32", "i32", np.float32(1), 0x3F800000),
]


@pytest.mark.parametrize(("name", "of", "to", "a", "expected"), CASTS, ids=lambda v: str(v))
def test_casts(name, of, to, a, expected):
    text = f"""func.func @kernel(%a: {of}) -> {to} {{
      %0 = arith.{name} %a : {of} to {to}
      return %0 : {to}
    }}"""
    assert scalar(text, a) == expected


@pytest.mark.parametrize(
    ("predicate", "values"),
    [
        ("oeq", [False, True, False]),
        ("olt", [True, False, False]),
        ("one", [True, False, False]),
        ("ueq", [False, True, True]),
        ("ult", [True, False, True]),
        ("une", [True, False, True]),
        ("ord", [True, True, False]),
        ("uno", [False, False, True]),
        ("true", [True, True, True]),
        ("false", [False, False, False]),
    ],
)
def test_comparisons_of_floats(predicate, values):
    text = f"""func.func @kernel(%a: f32, %b: f32) -> i1 {{
      %0 = arith.cmpf {predicate}, %a, %b : f32
      return %0 : i1
    }}"""
    pairs = [(1, 2), (2, 2), (np.nan, 2)]
    assert [bool(scalar(text, *map(np.float32, pair))) for pair in pairs] == values


def test_sums_of_few_digits_are_rounded_each_time():
    text = """func.func @kernel(%a: bf16, %b: bf16) -> bf16 {
      %0 = arith.addf %a, %b : bf16
      %1 = arith.addf %0, %b : bf16
      return %1 : bf16
    }"""
    assert scalar(text, np.float32(256), np.float32(1)) == 256


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [("ctpop", 5, 2), ("ctlz", 1, 7), ("ctlz", 0, 8), ("cttz", 8, 3), ("cttz", 0, 8)],
)
def test_bits_are_counted(name, number, expected):
    text = f"""func.func @kernel(%a: i8) -> i8 {{
      %0 = math.{name} %a : i8
      return %0 : i8
    }}"""
    assert scalar(text, I8(number)) == expected


# ---------------------------------------------------------------------------------------------
# scf, affine, func
# ---------------------------------------------------------------------------------------------


def test_while_and_calls():
    """Count how often 3 n + 1 and n / 2 lead to 1."""
    text = """
    func.func private @next(%n: i64) -> i64 {
      %one = arith.constant 1 : i64
      %two = arith.constant 2 : i64
      %three = arith.constant 3 : i64
      %rest = arith.remui %n, %two : i64
      %odd = arith.cmpi eq, %rest, %one : i64
      %r = scf.if %odd -> i64 {
        %0 = arith.muli %n, %three : i64
        %1 = arith.addi %0, %one : i64
        scf.yield %1 : i64
      } else {
        %0 = arith.divui %n, %two : i64
        scf.yield %0 : i64
      }
      return %r : i64
    }
    func.func @kernel(%n: i64) -> i64 {
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %r:2 = scf.while (%m = %n, %steps = %zero) : (i64, i64) -> (i64, i64) {
        %more = arith.cmpi ne, %m, %one : i64
        scf.condition(%more) %m, %steps : i64, i64
      } do {
      ^bb0(%m: i64, %steps: i64):
        %0 = func.call @next(%m) : (i64) -> i64
        %1 = arith.addi %steps, %one : i64
        scf.yield %0, %1 : i64, i64
      }
      return %r#1 : i64
    }"""
    assert scalar(text, np.int64(27)) == 111


def test_parallel_loops_reduce():
    text = """func.func @kernel(%x: memref<?x?xf32>) -> f32 {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %n = memref.dim %x, %zero : memref<?x?xf32>
      %m = memref.dim %x, %one : memref<?x?xf32>
      %init = arith.constant 0.0 : f32
      %sum = scf.parallel (%i, %j) = (%zero, %zero) to (%n, %m) step (%one, %one)
          init (%init) -> f32 {
        %e = memref.load %x[%i, %j] : memref<?x?xf32>
        scf.reduce(%e : f32) {
        ^bb0(%a: f32, %b: f32):
          %0 = arith.addf %a, %b : f32
          scf.reduce.return %0 : f32
        }
      }
      return %sum : f32
    }"""
    assert scalar(text, np.arange(12, dtype="float32").reshape(3, 4)) == 66


def test_affine_loops():
    text = """func.func @kernel(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
      affine.for %i = 0 to min affine_map<(n) -> (n, 5)>(%n) step 2 {
        %v = affine.load %x[%i] : memref<?xf32>
        affine.if affine_set<(i)[n] : (n - i - 2 >= 0)>(%i)[%n] {
          affine.store %v, %y[%i + 1] : memref<?xf32>
        }
      }
      return
    }"""
    x, y = np.arange(4, dtype="float32") + 1, np.zeros(4, "float32")
    call(text, x, y, np.int64(4))
    assert y.tolist() == [0, 1, 0, 3]


# ---------------------------------------------------------------------------------------------
# memref, tensor
# ---------------------------------------------------------------------------------------------


def test_views_share_memory():
    text = """func.func @kernel(%x: memref<4x6xf32>) {
      %v = memref.subview %x[1, 2] [2, 1] [2, 1] : memref<4x6xf32>
          to memref<2xf32, strided<[12], offset: 8>>
      %i = arith.constant 1 : index
      %seven = arith.constant 7.0 : f32
      memref.store %seven, %v[%i] : memref<2xf32, strided<[12], offset: 8>>
      %f = memref.collapse_shape %x [[0, 1]] : memref<4x6xf32> into memref<24xf32>
      %r = memref.reinterpret_cast %f to offset: [1], sizes: [3], strides: [2]
          : memref<24xf32> to memref<3xf32, strided<[2], offset: 1>>
      memref.store %seven, %r[%i] : memref<3xf32, strided<[2], offset: 1>>
      return
    }"""
    x = np.zeros((4, 6), "float32")
    call(text, x)
    assert np.argwhere(x == 7).tolist() == [[0, 3], [3, 2]]


def test_tensors_do_not_change():
    text = """func.func @kernel(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
      %i = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      %0 = tensor.insert %one into %x[%i, %i] : tensor<2x3xf32>
      %1 = tensor.pad %0 low[1, 0] high[1, 0] {
      ^bb0(%a: index, %b: index):
        tensor.yield %one : f32
      } : tensor<2x3xf32> to tensor<4x3xf32>
      return %x, %1 : tensor<2x3xf32>, tensor<4x3xf32>
    }"""
    x = np.zeros((2, 3), "float32")
    same, padded = call(text, x)
    assert not same.any() and not x.any()
    assert padded.tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]


def test_slices_of_tensors():
    text = """func.func @kernel(%x: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> {
      %row = tensor.extract_slice %x[%n, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<4xf32>
      %0 = tensor.insert_slice %row into %x[0, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<?x4xf32>
      return %0 : tensor<?x4xf32>
    }"""
    x = np.arange(12, dtype="float32").reshape(3, 4)
    (result,) = call(text, x, np.int64(2))
    np.testing.assert_array_equal(result, x[[2, 1, 2]])


def test_unpack_is_the_inverse_of_pack():
    text = """func.func @kernel(%x: tensor<5x7xf32>) -> (tensor<4x2x2x3xf32>, tensor<5x7xf32>) {
      %zero = arith.constant 0.0 : f32
      %tiles = tensor.empty() : tensor<3x3x2x3xf32>
      %p = linalg.pack %x padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 3]
          into %tiles : tensor<5x7xf32> -> tensor<3x3x2x3xf32>
      %whole = tensor.empty() : tensor<5x7xf32>
      %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %whole
          : tensor<3x3x2x3xf32> -> tensor<5x7xf32>
      return %p, %u : tensor<3x3x2x3xf32>, tensor<5x7xf32>
    }""".replace("4x2x2x3", "3x3x2x3")
    x = np.arange(35, dtype="float32").reshape(5, 7)
    packed, whole = call(text, x)
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(packed[1, 2], [[20, 0, 0], [27, 0, 0]])


def test_error_place_outside_of_an_array():
    text = """func.func @kernel(%x: memref<?xf32>, %i: index) -> f32 {
      %0 = memref.load %x[%i] : memref<?xf32>
      return %0 : f32
    }"""
    x = np.ones(3, "float32")
    for place in (3, -1):
        with pytest.raises(IndexError, match=rf"expected a place in shape \(3,\), but got {place}"):
            call(text, x, np.int64(place))


def test_error_operation_that_is_not_known():
    text = """func.func @kernel(%x: vector<4xf32>) -> f32 {
      %0 = vector.reduction <add>, %x : vector<4xf32> into f32
      return %0 : f32
    }"""
    with pytest.raises(NotImplementedError, match=r"'kernel'.*does not know vector.reduction"):
        call(text, np.ones(4, "float32"))


# ---------------------------------------------------------------------------------------------
# linalg
# ---------------------------------------------------------------------------------------------


def test_generic_reduces_along_a_window():
    """A convolution: places are sums of loops."""
    text = """func.func @kernel(%x: tensor<?xf32>, %w: tensor<3xf32>, %y: tensor<?xf32>)
        -> tensor<?xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>,
          affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%y : tensor<?xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %1 = arith.mulf %a, %b : f32
        %2 = arith.addf %c, %1 : f32
        linalg.yield %2 : f32
      } -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    x, w = np.arange(9, dtype="float32"), np.array([1, 2, 4], "float32")
    (result,) = call(text, x, w, np.zeros(4, "float32"))
    np.testing.assert_array_equal(result, np.convolve(x, w[::-1], "valid")[::2])
    with pytest.raises(IndexError, match="kernel 'kernel': expected a place"):
        call(text, x, w, np.zeros(5, "float32"))


@pytest.mark.parametrize("size", [0, 1, 5])
def test_generic_gathers(size):
    """The element at an index out of range is not taken."""
    text = """func.func @kernel(%x: tensor<?xf32>, %at: tensor<?xi64>, %y: tensor<?xf32>)
        -> tensor<?xf32> {
      %zero = arith.constant 0 : index
      %n = tensor.dim %x, %zero : tensor<?xf32>
      %none = arith.constant -1.0 : f32
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
          iterator_types = ["parallel"]} ins(%at : tensor<?xi64>) outs(%y : tensor<?xf32>) {
      ^bb0(%a: i64, %c: f32):
        %i = arith.index_cast %a : i64 to index
        %inside = arith.cmpi ult, %i, %n : index
        %1 = scf.if %inside -> f32 {
          %2 = tensor.extract %x[%i] : tensor<?xf32>
          scf.yield %2 : f32
        } else {
          scf.yield %none : f32
        }
        linalg.yield %1 : f32
      } -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    x, at = np.arange(size, dtype="float32"), np.array([0, 4, -1, 9], "int64")
    (result,) = call(text, x, at, np.zeros(4, "float32"))
    assert result.tolist() == [x[i] if 0 <= i < size else -1 for i in at.tolist()]


def test_generic_with_an_output_that_points_share_runs_in_order():
    text = """func.func @kernel(%x: tensor<?xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (0)>],
          iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%y : tensor<1xf32>) {
      ^bb0(%a: f32, %c: f32):
        %1 = arith.addf %a, %c : f32
        linalg.yield %1 : f32
      } -> tensor<1xf32>
      return %0 : tensor<1xf32>
    }"""
    (result,) = call(text, np.arange(5, dtype="float32"), np.zeros(1, "float32"))
    assert result.tolist() == [10]


def test_what_is_allocated_is_not_a_number():
    """A kernel that does not write its output is seen."""
    main = reference.VirtualMachine("""
    func.func private @kernel(%x: memref<?xf32>) { return }
    relax.func @main(%n: !relax.prim<i64, n>) -> !relax.tensor<[n], f32> {
      %0 = relax.call_tir @kernel() : () -> !relax.tensor<[n], f32>
      relax.return %0 : !relax.tensor<[n], f32>
    }""")["main"]
    assert np.isnan(main(3).data).all()


def test_shape_variables_of_a_kernel_have_one_value():
    module = as_module("""
    func.func private @copy(%x: memref<?xf32> {relax.struct_info = !relax.tensor<[k], f32>},
        %y: memref<?xf32> {relax.struct_info = !relax.tensor<[k], f32>}) {
      memref.copy %x, %y : memref<?xf32> to memref<?xf32>
      return
    }
    relax.func @main(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[m]>)
        -> !relax.tensor<[m], f32> {
      %0 = relax.call_tir @copy(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[m], f32>
      relax.return %0 : !relax.tensor<[m], f32>
    }""")
    x = np.arange(3, dtype="float32")
    assert reference.run(module, "main", x, tvm_ffi.Shape((3,))).data.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"the operands of relax.call_tir: .* dimension 1 is 4"):
        reference.run(module, "main", x, tvm_ffi.Shape((4,)))
