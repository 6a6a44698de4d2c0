"""Operators of Relay that move elements, against NumPy."""

import numpy as np
import pytest
from relay_programs import Case, Known, check_cases, run_operator

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
ROW = np.arange(4, dtype="int32")
DIMS = [("n", 3, "m")]


def _known(*numbers, dtype="int64"):
    return Known(np.array(numbers, dtype))


RESHAPES = [
    ([4, 0, 2], (4, 3, 2)),
    ([2, 0, 0], (2, 3, 4)),
    ([6, 1, -1], (6, 1, 4)),
    ([3, -1, 8], (3, 1, 8)),
    ([-1], (24,)),
    ([-2], (2, 3, 4)),
    ([2, -2], (2, 3, 4)),
    ([-2, 1, 1], (2, 3, 4, 1, 1)),
    ([-3, 4], (6, 4)),
    ([0, -3], (2, 12)),
    ([-3, -2], (6, 4)),
    ([-4, 1, 2, -2], (1, 2, 3, 4)),
    ([2, -4, -1, 3, -2], (2, 1, 3, 4)),
    ([0, -4, 3, -1, -1], (2, 3, 1, 4)),
    ([-4, -1, 2, -1, 0], (1, 2, 3, 4)),
]


def test_ry06_reshape(exec_mode):
    check_cases(
        [Case("reshape", [X], X.reshape(to), {"newshape": codes}) for codes, to in RESHAPES]
    )


def test_ry06_reshape_of_symbolic_dimensions(exec_mode):
    empty = np.zeros((0, 4), "float32")
    check_cases([
        Case("reshape", [X], X.reshape(2, 12), {"newshape": [0, -1]}, DIMS),
        Case("reshape", [X], X.reshape(24), {"newshape": [-1]}, DIMS),
        Case("reshape", [X], X.reshape(6, 4), {"newshape": [-3, 0]}, DIMS),
        Case("reshape", [X], X.reshape(2, 3, 2, 2), {"newshape": [0, 0, -4, -1, 2]},
             [(2, 3, "m")]),
        Case("reshape", [X], X.reshape(3, 8), {"newshape": [3, -1]}, DIMS),
        Case("reshape", [empty], empty.reshape(4, 0), {"newshape": [4, 0], "allowzero": True}),
        Case("dyn.reshape", [X, _known(0, -1)], X.reshape(2, 12), {}, DIMS),
        Case("dyn.reshape", [X, _known(-3, 4)], X.reshape(6, 4)),
        Case("reshape_like", [X, X.reshape(4, 6)], X.reshape(4, 6)),
        Case("reshape_like", [X, np.zeros((9, 6, 2), "int8")], X.reshape(2, 6, 2),
             {"lhs_begin": 1, "rhs_begin": 1}),
        Case("reshape_like", [X, np.zeros((6,), "int8")], X.reshape(6, 4),
             {"lhs_end": -1}, [("n", "m", 4), ("k",)]),
    ])  # fmt: skip


def test_ry06_reverse_reshape(exec_mode):
    x = np.arange(200, dtype="int32").reshape(10, 5, 4)
    check_cases([
        Case("contrib_reverse_reshape", [x], x.reshape(50, 4), {"newshape": [-1, 0]}),
        Case("contrib_reverse_reshape", [x], x.reshape(10, 20), {"newshape": [0, -3]}),
    ])  # fmt: skip


def test_ry06_dimensions(exec_mode):
    y = X.reshape(1, 2, 1, 12)
    check_cases([
        Case("transpose", [X], X.T),
        Case("transpose", [X], X.transpose(1, 2, 0), {"axes": [1, -1, 0]}, DIMS),
        Case("transpose", [X], X, {"axes": [0, 1, 2]}),
        Case("squeeze", [y], X.reshape(2, 12)),
        Case("squeeze", [y], X.reshape(1, 2, 12), {"axis": [-2]}),
        Case("squeeze", [y], y, {"axis": []}),
        Case("squeeze", [y], X.reshape(2, 1, 12), {"axis": [0]}, [(1, "n", "m", 12)]),
        Case("dyn.squeeze", [y, _known(0, 2)], X.reshape(2, 12)),
        Case("expand_dims", [X], X[:, None, None], {"axis": 1, "num_newaxis": 2}),
        Case("expand_dims", [X], X[..., None], {"axis": -1}, DIMS),
        Case("expand_dims", [X], X[None], {"axis": -4}),
        Case("dyn.expand_dims", [X, Known(np.array(1))], X[:, None]),
    ])  # fmt: skip


def test_ry06_parts(exec_mode):
    check_cases([
        Case("split", [X], np.split(X, 2, 2), {"indices_or_sections": 2, "axis": -1}),
        Case("split", [X], np.split(X, [1, 2], 1), {"indices_or_sections": [1, 2], "axis": 1}),
        Case("split", [X], np.split(X, 3, 1), {"indices_or_sections": 3, "axis": 1}, DIMS),
        Case("split", [X], np.split(X, 2, 2), {"indices_or_sections": 2, "axis": 2}, DIMS),
        Case("split", [X], np.split(X, [1], 2), {"indices_or_sections": [1], "axis": 2}, DIMS),
        Case("concatenate", [[X, X + 1]], np.concatenate([X, X + 1])),
        Case("concatenate", [[X, X[:, :1]]], np.concatenate([X, X[:, :1]], 1), {"axis": -2},
             [("n", "m", 4), ("k", 1, 4)]),
        Case("concatenate", [[X]], X),
        Case("stack", [[X, X + 1]], np.stack([X, X + 1])),
        Case("stack", [[X, X + 1]], np.stack([X, X + 1], -1), {"axis": -1},
             [("n", 3, 4), ("m", 3, "k")]),
    ])  # fmt: skip


def test_ry06_copies(exec_mode):
    target = np.zeros((2, 3, 4), "int8")
    y = X[:, :1]
    check_cases([
        Case("tile", [X], np.tile(X, (2, 1, 3)), {"reps": [2, 1, 3]}),
        Case("tile", [ROW], np.tile(ROW, (2, 3)), {"reps": [2, 3]}, [("n",)]),
        Case("dyn.tile", [X, _known(2, 2)], np.tile(X, (2, 2))),
        Case("repeat", [X], np.repeat(X, 3, 1), {"repeats": 3, "axis": -2}, DIMS),
        Case("broadcast_to", [y], np.broadcast_to(y, (5, 2, 3, 4)), {"shape": [5, 2, 3, 4]}),
        Case("broadcast_to_like", [y, target], np.broadcast_to(y, (2, 3, 4))),
        Case("broadcast_to_like", [y, target], np.broadcast_to(y, (2, 3, 4)), {},
             [("n", 1, 4), ("n", "m", 4)]),
        Case("dyn.broadcast_to", [ROW, _known(3, 4)], np.broadcast_to(ROW, (3, 4))),
        Case("collapse_sum_like", [X, target[:, :1]], X.sum(1, keepdims=True)),
        Case("collapse_sum_to", [X, _known(3, 1)], X.sum((0, 2))[:, None]),
    ])  # fmt: skip


def test_ry06_order(exec_mode):
    lengths = np.array([2, 0, 3], "int32")
    expected = X.copy()
    expected[:, 0, :2] = X[:, 0, 1::-1]
    expected[:, 2, :3] = X[:, 2, 2::-1]
    check_cases([
        Case("reverse", [X], X[:, ::-1], {"axis": 1}, DIMS),
        Case("reverse_sequence", [X, lengths], expected, {"seq_axis": 2, "batch_axis": -2}),
    ])  # fmt: skip


@pytest.mark.parametrize(
    "name, operands, attrs, message",
    [
        ("reshape", [X], {"newshape": [5, 5]}, "expected a shape of 24 elements"),
        ("reshape", [X], {"newshape": [-1, -1]}, "expected one dimension of -1, but got 2"),
        ("reshape", [X], {"newshape": [-5]}, "a code from -4 to 0, but got -5"),
        ("reshape", [X], {"newshape": [1, 1, 1, 0]}, "expected a dimension for each code 0"),
        ("reshape", [X], {"newshape": [-4, -1, -1]}, "two sizes after -4"),
        ("reshape", [X], {"newshape": [-4, 2]}, "two sizes after -4"),
        ("reshape", [X], {"newshape": [0, -1], "allowzero": 1}, "no dimension of 0 beside"),
        ("reshape", [X], {"newshape": ["n"]}, "expected an attribute of integers"),
        ("reshape", [[X, X]], {"newshape": [-1]}, "expected tensors for reshape, but got"),
        ("reshape", [X], {}, "reshape needs the attribute 'newshape'"),
        ("reshape", [X], {"shape": [24]}, "reshape has no attribute 'shape'"),
        ("dyn.reshape", [X, _known(-2)], {}, "expected no codes -2 and -4"),
        ("reshape_like", [X, ROW], {}, "expected a shape of 24 elements"),
        ("reshape_like", [X, ROW], {"rhs_end": 3}, "expected a range of 1 dimensions"),
        ("transpose", [X], {"axes": [0, 1]}, "expected 3 axes, but got 2"),
        ("transpose", [X], {"axes": [0, 1, 1]}, "expected axes that differ"),
        ("squeeze", [X], {"axis": [1]}, "expected a dimension of 1 at axis 1, but got 3"),
        ("expand_dims", [X], {"axis": 4}, "expected an axis from -4 to 3"),
        ("split", [X], {"indices_or_sections": 2, "axis": 1}, "expected parts of equal size"),
        ("split", [X], {"indices_or_sections": [2, 1]}, "expected ascending places"),
        ("split", [X], {"indices_or_sections": 2, "axis": 3}, "expected an axis"),
        ("concatenate", [X], {}, "expected a tuple of tensors"),
        ("concatenate", [[X, X[:, :1]]], {}, "expected dimensions"),
        ("concatenate", [[X, ROW]], {}, "expected tensors of one rank"),
        ("stack", [[X, X]], {"axis": 4}, "expected an axis"),
        ("tile", [X], {"reps": [0]}, "expected repetitions of 1 or more"),
        ("repeat", [X], {"repeats": 0, "axis": 0}, "expected repeats of 1 or more"),
        ("broadcast_to", [X], {"shape": [2, 3, 5]}, "expected"),
        ("reverse", [X], {"axis": 3}, "expected an axis from -3 to 2"),
        ("reverse_sequence", [X], {}, "expected reverse_sequence of data, seq_lengths"),
    ],
)
def test_ry06_movement_rejects(name, operands, attrs, message):
    with pytest.raises(ValueError, match=message):
        run_operator(name, *operands, **attrs)


def test_ry06_unequal_parts_of_a_symbolic_dimension_reject(exec_mode):
    with pytest.raises(ValueError, match="dimension 1 is 3"):
        run_operator("split", X, shapes=[(2, "n", 4)], indices_or_sections=2, axis=1)


def test_ry06_unknown_shapes_reject():
    with pytest.raises(NotImplementedError, match="expected an axis for a tensor of symbolic"):
        run_operator("squeeze", X[:1], shapes=[("n", 3, 4)])
