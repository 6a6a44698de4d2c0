"""Operators of Relay on parts of tensors, against NumPy."""

import numpy as np
import pytest
from relay_programs import Case, Known, check_cases, run_operator

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
ROW = np.arange(3)
DIMS = [("n", 3, "m")]


def _known(*numbers, dtype="int64"):
    return Known(np.array(numbers, dtype))


def test_ry06_strided_slice(exec_mode):
    def case(expected, shapes=None, **attrs):
        return Case("strided_slice", [X], expected, attrs, shapes)

    check_cases([
        case(X[:, 1:3, 1:3], begin=[0, 1, 1], end=[2, 3, 3], strides=[1, 1, 1]),
        case(X[1:, :2], begin=[1, 0], end=[9, 2]),
        case(X[:, -2:, ::2], begin=[0, -2, 0], end=[2, 3, 4], strides=[1, 1, 2]),
        case(X[:, ::-1, 3:0:-2], begin=[0, 2, 3], end=[2, -4, 0], strides=[1, -1, -2]),
        case(X[..., 1:-1], begin=[1], end=[-1], strides=[1], axes=[-1]),
        # Without an end a negative stride stops before the first element.
        case(X[::-1][:1], begin=[1], end=[], strides=[-1]),
        case(X[:1, 1:3], begin=[0, 1, 0], end=[1, 2, -1], slice_mode="size"),
        case(X[:, 1:3], begin=[1], end=[2], slice_mode="size", axes=[1]),
        case(X[:, None][:, 0], begin=[None, 0], end=[None, 3]),
        case(X[:, 1:], begin=[0, 1], end=[2, 3], shapes=DIMS),
        case(X[..., 1:-1], begin=[1], end=[-1], axes=[2], shapes=DIMS),
        Case("dyn.strided_slice", [X, _known(0, 1), _known(2, 3), _known(1, 1)], X[:, 1:]),
        Case("dyn.strided_slice", [X, _known(0, 1), _known(1, -1), _known(1, 1)], X[:1, 1:],
             {"slice_mode": "size"}),
    ])  # fmt: skip


def test_ry06_slices_by_data(exec_mode):
    begin, end = np.array([0, 1, -1], "int64"), np.array([9, -1, 0], "int64")
    step, ones = _known(1, 1, -2), _known(1, 1)
    counts = np.array([1, -1], "int32")
    check_cases([
        Case("dyn.strided_slice", [X, begin, end, step], X[0:9, 1:-1, -1:0:-2]),
        Case("dyn.strided_slice", [X, begin, end, step], X[0:9, 1:-1, -1:0:-2], {},
             [("n", "m", 4), (3,), (3,)]),
        Case("dyn.strided_slice", [X, _known(0, 1), counts, ones], X[:1, 1:],
             {"slice_mode": "size"}),
        Case("dyn.strided_slice", [X, begin[1:2], end[1:2], _known(1)], X[..., 1:-1],
             {"axes": [2]}),
    ])  # fmt: skip


def test_ry06_slice_like(exec_mode):
    like = np.zeros((1, 2, 9), "int8")
    check_cases([
        Case("slice_like", [X, like[..., :3]], X[:1, :2, :3]),
        Case("slice_like", [X, like], X[:1, :2], {"axes": [0, -2]}),
        Case("slice_like", [X, like[0, :, :1]], X[:, :1], {"axes": [1]}),
        Case("slice_like", [X, like], X[:1], {"axes": [0]}, [("n", 3, "m"), ("k", 2, 9)]),
    ])  # fmt: skip


def _set(at, new):
    result = X.copy()
    result[at] = new
    return result


def test_ry06_strided_set(exec_mode):
    new = -1 - np.arange(24, dtype="float32").reshape(2, 3, 4)
    part, end = new[:1, :2, :2], np.array([2, 3, 4], "int64")
    begin = np.array([-1, 1, 0], "int64")
    at = np.s_[-1:2, 1:3, 0:4:2]
    step = _known(1, 1, 2)
    check_cases([
        Case("strided_set", [X, part, Known(begin), Known(end), step], _set(at, part)),
        Case("strided_set", [X, part, begin, end, step], _set(at, part)),
        Case("strided_set", [X, part, Known(begin), Known(end), step], _set(at, part), {},
             [("n", 3, "m"), (1, 2, 2)]),
        Case("strided_set", [X, new, _known(), _known(), _known(-1)], _set(np.s_[::-1], new)),
        Case("strided_set", [X, new[:, :1, :3], _known(0, 2, 3), _known(2, 0, -9),
                             _known(1, -2, -1)],
             _set(np.s_[:, 2:0:-2, 3::-1], np.pad(new[:, :1, :3], ((0, 0), (0, 0), (0, 1)), "edge"))
             ),
    ])  # fmt: skip


def test_ry06_sliding_window(exec_mode):
    view = np.lib.stride_tricks.sliding_window_view
    attrs = {"axis": 1, "window_shape": [2, 3], "strides": [1, 1]}
    wide = {"axis": 2, "window_shape": [2], "strides": [2]}
    check_cases([
        Case("sliding_window", [X], view(X, (2, 3), (1, 2)), attrs),
        Case("sliding_window", [X], view(X, (2,), (2,))[:, :, ::2], wide),
        Case("sliding_window", [X], view(X, (2,), (2,))[:, :, ::2], wide, DIMS),
    ])  # fmt: skip


def _with_diagonals(data, diagonal, k1, k2, upper_right, lower_right):
    """Set elements of diagonals one by one."""
    result = data.copy()
    rows, columns = data.shape[-2:]
    lines = diagonal if k1 != k2 else diagonal[..., None, :]
    longest = lines.shape[-1]
    for k in range(k1, k2 + 1):
        places = [(i, i + k) for i in range(rows) if 0 <= i + k < columns]
        to_right = upper_right if k >= 0 else lower_right
        shift = longest - len(places) if to_right and k1 != k2 else 0
        for number, (i, j) in enumerate(places):
            result[..., i, j] = lines[..., k2 - k, number + shift]
    return result


@pytest.mark.parametrize("right", [(True, False), (False, True), (False, False), (True, True)])
def test_ry06_matrix_set_diag(exec_mode, right):
    lines = -1 - np.arange(24, dtype="float32").reshape(2, 4, 3)
    attrs = {"super_diag_right_align": right[0], "sub_diag_right_align": right[1]}
    main = lines[:, 0]
    check_cases([
        Case("matrix_set_diag", [X, lines], _with_diagonals(X, lines, -1, 2, *right),
             {"k1": -1, "k2": 2, **attrs}),
        Case("matrix_set_diag", [X, main], _with_diagonals(X, main, 1, 1, *right),
             {"k1": 1, "k2": 1, **attrs}, [("n", "m", "k"), ("n", 3)]),
        Case("matrix_set_diag", [X, main[:, :2]], _with_diagonals(X, main[:, :2], -1, -1, *right),
             {"k1": -1, "k2": -1}),
    ])  # fmt: skip


def test_ry06_sequence_mask(exec_mode):
    lengths = np.array([1, 0, 2], "int32")
    steps = np.arange(2)[:, None] < lengths
    turned = (np.arange(3) < np.array([2, 1])[:, None])[..., None]
    check_cases([
        Case("sequence_mask", [X, lengths], np.where(steps[..., None], X, np.float32(0.5)),
             {"mask_value": 0.5}),
        Case("sequence_mask", [X, np.array([2, 1], "int64")],
             np.where(turned, X, np.float32(0)), {"axis": 1}, [("n", "m", 4), ("n",)]),
    ])  # fmt: skip


def test_ry06_layout_transform(exec_mode):
    x = np.arange(2 * 8 * 3 * 4, dtype="float32").reshape(2, 8, 3, 4)
    split = x.reshape(2, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2)
    odd = x[:, :6]
    padded = np.pad(odd, ((0, 0), (0, 2), (0, 0), (0, 0)))
    names = [("n", "c", "h", 4)]

    def case(x, expected, source, target, shapes=None):
        attrs = {"src_layout": source, "dst_layout": target}
        return Case("layout_transform", [x], expected, attrs, shapes)

    check_cases([
        case(x, x.transpose(0, 2, 3, 1), "NCHW", "NHWC", names),
        case(x, split, "NCHW", "NCHW4c"),
        case(split, x, "NCHW4c", "NCHW"),
        case(split, x.transpose(0, 2, 3, 1), "NCHW4c", "NHWC", [("n", "k", "h", 4, 4)]),
        case(split, x.reshape(2, 4, 2, 3, 4).transpose(0, 1, 3, 4, 2), "NCHW4c", "NCHW2c"),
        case(x, x.reshape(1, 2, 2, 4, 3, 4).transpose(0, 2, 4, 5, 3, 1), "OIHW", "OIHW4i2o"),
        case(odd, padded.reshape(2, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2), "NCHW", "NCHW4c"),
        case(odd, padded.reshape(2, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2), "NCHW", "NCHW4c", names),
        case(x, x, "NCHW", "NCHW"),
    ])  # fmt: skip


ENDS = {"begin": [0], "end": [2]}


@pytest.mark.parametrize(
    "name, operands, attrs, message",
    [
        ("strided_slice", [X], {"begin": [0]}, "strided_slice needs the attribute 'end'"),
        ("strided_slice", [X], {"begin": None, "end": [1]}, "expected an attribute of integers"),
        ("strided_slice", [X], {**ENDS, "strides": [0]}, "expected strides other than 0"),
        ("strided_slice", [X], {**ENDS, "axes": [3]}, "expected an axis from -3 to 2"),
        ("strided_slice", [X], {**ENDS, "axes": [0, 1]}, "a begin and an end for each of 2 axes"),
        ("strided_slice", [X], {**ENDS, "slice_mode": "all"}, "expected slice_mode end, size"),
        ("strided_slice", [X], {"begin": [-1], "end": [1], "slice_mode": "size"}, "begins of 0"),
        ("strided_slice", [X], {"begin": [0] * 4, "end": [1] * 4}, "places for up to 3 axes"),
        ("dyn.strided_slice", [X, ROW, ROW[:2], _known(1)], {}, "as many begins as ends"),
        ("dyn.strided_slice", [X, ROW, ROW, _known(0)], {}, "expected strides other than 0"),
        ("slice_like", [X, X[:, :, :2]], {"axes": [5]}, "expected an axis"),
        ("slice_like", [X[:1], X], {}, "expected up to 1 elements along axis 0, but got 2"),
        ("slice_like", [X, X], {"axes": []}, "expected axes to slice along"),
        ("strided_set", [X, X[0], _known(0), _known(1), _known(1)], {}, "expected new elements"),
        ("strided_set", [X, X, _known(0), _known(1), _known(0)], {}, "strides other than 0"),
        ("sliding_window", [X], {"axis": 1, "window_shape": [2], "strides": [1]}, "2 dimensions"),
        ("sliding_window", [X], {"axis": 2, "window_shape": [9], "strides": [1]}, "a window"),
        ("matrix_set_diag", [X, X[0]], {"k1": 1, "k2": 0}, "expected k1 up to k2"),
        ("matrix_set_diag", [X, X], {"k1": 0, "k2": 1}, "expected 2 diagonals"),
        ("sequence_mask", [X, X[0, 0]], {"axis": 2}, "expected axis 0 or 1"),
        ("layout_transform", [X], {"src_layout": "NCW", "dst_layout": "NCH"}, "expected layouts"),
        ("layout_transform", [X], {"src_layout": "NCW", "dst_layout": "NCW4h"}, "such as NCHW"),
        ("layout_transform", [X], {"src_layout": "NCW", "dst_layout": "N4C"}, "such as NCHW"),
    ],
)
def test_ry06_parts_reject(name, operands, attrs, message):
    with pytest.raises(ValueError, match=message):
        run_operator(name, *operands, **attrs)
