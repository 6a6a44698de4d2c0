"""Operators of Relay whose sizes the program computes from data."""

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.frontend.relay import from_relay
from relay_programs import Case, Known, check_cases, run_operator

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
ROW = X[:1, :1, :3].reshape(1, 3)
IMAGE = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)


def ints(*numbers, dtype="int64"):
    return np.array(numbers, dtype)


def one(value, dtype="int32"):
    return np.array(value, dtype)


def test_ry06_shapes_by_data(exec_mode):
    check_cases([
        Case("dyn.reshape", [X, ints(4, 3, 2)], X.reshape(4, 3, 2)),
        Case("dyn.reshape", [X, ints(0, -1)], X.reshape(2, 12)),
        Case("dyn.reshape", [X, ints(-1, 0, 2, 2)], X.reshape(2, 3, 2, 2)),
        Case("dyn.reshape", [X, ints(-1, dtype="int32")], X.reshape(-1), {},
             [("n", 3, "m"), (1,)]),
        Case("dyn.reshape", [X[:0], ints(0, 12)], X[:0].reshape(0, 12), {"allowzero": True}),
        Case("dyn.broadcast_to", [ROW, ints(2, 5, 3)], np.broadcast_to(ROW, (2, 5, 3))),
        Case("dyn.tile", [X, ints(2, 1, 3)], np.tile(X, (2, 1, 3))),
        Case("dyn.tile", [X, ints(1, 2, 1, 1)], np.tile(X, (1, 2, 1, 1))),
        Case("dyn.zeros", [ints(2, 3)], np.zeros((2, 3), "int8"), {"dtype": "int8"}),
        Case("dyn.ones", [ints(0, 3)], np.ones((0, 3), "float32"), {"dtype": "float32"}),
        Case("dyn.full", [one(7), ints(2)], np.full(2, 7, "int32")),
        Case("dyn.squeeze", [X[:1, :, :1], ints(0, -1)], X[0, :, 0]),
        Case("dyn.squeeze", [X[:1], ints(0)], X[0], {}, [("n", 3, 4), (1,)]),
        Case("dyn.expand_dims", [X, one(1)], X[:, None, None], {"num_newaxis": 2}),
        Case("dyn.expand_dims", [X, one(-1)], X[..., None]),
        Case("dyn.sparse_to_dense",
             [ints(0, 2), np.float32([3, 4]), one(9, "float32"), ints(4)],
             np.float32([3, 9, 4, 9])),
    ])  # fmt: skip


def test_ry06_shapes_by_data_are_checked(exec_mode):
    with pytest.raises(ValueError, match=r"24, where"):
        run_operator("dyn.reshape", X, ints(5, 5))
    with pytest.raises(ValueError, match=r"dimension 0 is 4, expected 3"):
        run_operator("dyn.broadcast_to", ROW, ints(2, 5, 4))
    with pytest.raises(ValueError, match="at least 0"):
        run_operator("dyn.reshape", X, ints(-3, 4))
    with pytest.raises(ValueError, match="expected a shape as a vector of known length"):
        run_operator("dyn.zeros", ints(2, 3), shapes=[("n",)], dtype="float32")
    with pytest.raises(ValueError, match="expected a shape of 2 or more, but got 1 sizes"):
        run_operator("dyn.broadcast_to", ROW, ints(3))


def test_ry06_counts_by_data(exec_mode):
    places = np.arange(3, dtype="int32")
    on, off = (Known(np.array(value, "float32")) for value in (1, 0))
    order = np.array([3, 2], "int32")
    check_cases([
        Case("dyn.one_hot", [places, on, off, one(4)], np.eye(3, 4, dtype="float32")),
        Case("arange", [one(1, "float32"), one(3, "float32"), one(0.75, "float32")],
             np.float32([1, 1.75, 2.5]), {"dtype": "float32"}),
        Case("arange", [one(5), one(-1), one(-2)], ints(5, 3, 1, dtype="int32"),
             {"dtype": "int32"}),
        Case("arange", [one(5), one(1), Known(one(1))], ints(dtype="int32"), {"dtype": "int32"}),
        Case("dyn.topk", [X, one(2)], [X[..., :1:-1], np.broadcast_to(order, (2, 3, 2))]),
        Case("dyn.topk", [X, one(0)], np.sort(X), {"ret_type": "values", "is_ascend": True}),
        Case("dyn.topk", [X, one(9)], X[:, ::-1], {"ret_type": "values", "axis": 1}),
    ])  # fmt: skip


def test_ry06_images_of_sizes_by_data(exec_mode):
    doubled = IMAGE.repeat(2, 2).repeat(2, 3)
    nearest = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric",
               "rounding_method": "floor"}  # fmt: skip
    roi, two = Known(np.zeros(4, "float32")), one(2, "float32")
    check_cases([
        Case("dyn.image.resize2d", [IMAGE, ints(8, 8), roi], doubled, nearest),
        Case("dyn.nn.upsampling", [IMAGE, two, two], doubled),
        Case("dyn.nn.upsampling", [IMAGE, two, Known(two)], doubled, {},
             [("n", 1, "h", 4), ()]),
        Case("dyn.nn.upsampling3d", [IMAGE[..., None], two, two, Known(np.array(1, "float32"))],
             doubled[..., None], {"coordinate_transformation_mode": "asymmetric"}),
        Case("dyn.nn.pad", [X[0], ints([1, 0], [0, 2]), one(7, "float32")],
             np.pad(X[0], [(1, 0), (0, 2)], constant_values=7)),
        Case("dyn.nn.pad", [X[0], ints([1, 0], [0, 2]), one(7, "float32")],
             np.pad(X[0], [(1, 0), (0, 2)], "reflect"), {"pad_mode": "reflect"}),
    ])  # fmt: skip


def test_ry06_strides_by_data(exec_mode):
    check_cases([
        Case("dyn.strided_slice", [X, ints(0, 2), ints(2, 0), ints(1, -1)], X[0:2, 2:0:-1]),
        Case("dyn.strided_slice", [X, ints(0, 0, 1), ints(9, 3, 4), ints(1, 2, 2)],
             X[:, ::2, 1::2], {}, [("n", 3, "m"), (3,), (3,), (3,)]),
        Case("dyn.strided_slice", [X, ints(1), ints(1), ints(5)], X[1:],
             {"slice_mode": "size"}),
    ])  # fmt: skip
    with pytest.raises(NotImplementedError, match="a stride for each of the first axes"):
        run_operator("dyn.strided_slice", X, ints(0), ints(1), ints(1), axes=[1])


def test_ry06_more_updates_than_indices(exec_mode):
    rows, new = np.zeros((4, 3), "float32"), X[0, :, :3]
    indices = np.int64([[0, 0, 0], [2, 2, 2]])
    expected = np.zeros((4, 3), "float32")
    expected[[0, 2]] = new[:2]
    check_cases([
        Case("scatter_elements", [rows, indices, new], expected),
        Case("scatter_elements", [rows, indices[:, :2], new], expected * np.float32([1, 1, 0]), {},
             [(4, 3), ("n", 2), (3, "m")]),
    ])  # fmt: skip


def test_ry06_sparse_places_outside_of_a_shape_that_stays(exec_mode):
    places, shape = np.int32([[0, 100], [3, 2]]), np.int32([5, 20])
    check_cases([
        Case("sparse_reshape", [places, shape, shape], [places, shape]),
        Case("sparse_reshape", [places, shape, np.int32([5, -1])], [places, shape]),
        Case("sparse_reshape", [places, shape, shape], [places, shape], {},
             [(2, "r"), ("s",), ("k",)]),
    ])  # fmt: skip


def test_ry06_shapes_whose_rank_data_says(exec_mode):
    places, shape = np.int32([[0, 0], [0, 1], [3, 4]]), np.int32([9, 5])
    flat = places @ np.int32([5, 1])
    check_cases([
        Case("sparse_reshape", [places, shape, np.int32([3, -1, 5])],
             [np.stack([flat // 15, flat // 5 % 3, flat % 5], 1), np.int32([3, 3, 5])], {},
             [("n", 2), ("r",), ("k",)]),
        Case("sparse_fill_empty_rows", [places, ints(7, 8, 9), ints(5, 5), one(1, "int64")],
             [np.int64([[0, 0], [0, 1], [1, 0], [2, 0], [3, 4], [4, 0]]),
              ints(7, 8, 1, 1, 9, 1), ints(0, 1, 1, 0, 1)], {},
             [("n", "r"), ("n",), ("k",), ()]),
    ])  # fmt: skip


def test_ry06_products_of_dimensions_that_are_taken_to_be_equal(exec_mode):
    rng = np.random.default_rng(0)
    x, y = rng.random((3, 2, 5), "float32"), rng.random((3, 4, 5), "float32")
    check_cases([
        Case("nn.batch_matmul", [x, y], x @ y.transpose(0, 2, 1), {"transpose_b": True},
             [("a", "b", "c"), ("d", "e", "f")]),
        Case("nn.batch_matmul", [x[:1], y], x[:1] @ y.transpose(0, 2, 1), {"transpose_b": True},
             [(1, "b", "c"), ("d", "e", 5)]),
        Case("nn.dense", [x[0], y[0]], x[0] @ y[0].T, {}, [("a", "b"), ("c", "d")]),
    ], rtol=1e-4)  # fmt: skip
    boxes, grid = rng.random((3, 4), "float32"), rng.random((1, 2, 3, 5), "float32") - 0.5
    static = [
        run_operator("image.grid_sample", IMAGE, grid),
        run_operator("image.crop_and_resize", IMAGE, boxes, np.zeros(3, "int32"), crop_size=[2, 3]),
    ]
    check_cases([
        Case("image.grid_sample", [IMAGE, grid], static[0], {},
             [("n", 1, 4, 4), (1, 2, 3, 5)]),
        Case("image.crop_and_resize", [IMAGE, boxes, np.zeros(3, "int32")], static[1],
             {"crop_size": [2, 3]}, [(1, 1, 4, 4), ("n", 4), ("m",)]),
        Case("searchsorted", [np.sort(x), x[..., :2]],
             np.int32([[np.searchsorted(np.sort(a), a[:2]) for a in rows] for rows in x]), {},
             [("a", "b", "c"), (3, "e", "f")]),
    ])  # fmt: skip
    with pytest.raises(ValueError, match="is 4, expected 5"):
        run_operator("nn.dense", x[0], y[0][:, :4], shapes=[("a", 5), ("c", "d")])


def test_ry01_parameters_of_one_name(exec_mode):
    from relax_mlir.frontend.relay import ast

    params = [ast.Var(name, ast.TensorType((), "float32")) for name in ("x", "x", "x_1")]
    difference = ast.Call(ast.OpRef("subtract"), params[:2])
    body = ast.Call(ast.OpRef("multiply"), [difference, params[2]])
    mod = from_relay(ast.Function(params, body))
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    assert main(*(np.array(value, "float32") for value in (7, 3, 2))).numpy() == 8


def test_ry02_polymorphic_functions_whose_result_is_not_stated(exec_mode):
    mod = from_relay("""
    def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) { fn (%x: A) -> C { %f(%g(%x)) } }
    def @main(%x: float32, %n: int32) {
      let %h = @compose(fn (%y: float32) { cast(%y, dtype="int32") }, fn (%z: float32) { -%z });
      let %k = @compose(fn (%y: int32) { %y + 1 }, fn (%z: int32) { %z * 2 });
      (%h(%x), %k(%n))
    }""")
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    results = main(np.array(2.5, "float32"), np.array(5, "int32"))
    assert [result.numpy() for result in results] == [-2, 11]
