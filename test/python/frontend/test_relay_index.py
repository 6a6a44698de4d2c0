"""Operators of Relay that take, put, sort, search and transform, against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from relay_programs import Case, Known, check_cases, run_operator

RNG = np.random.default_rng(2)
X = RNG.permutation(24).astype("float32").reshape(2, 3, 4)
DIMS = ("n", 3, "m")


def _known(*numbers, dtype="int64"):
    return Known(np.array(numbers, dtype))


def test_ry06_take(exec_mode):
    places = np.array([[1, -1], [5, 0]], "int32")
    batch = np.array([[2, 0], [1, 9]], "int64")
    inside = np.clip(batch, 0, 3)
    by_batch = np.stack([X[b][:, inside[b]] for b in range(2)])
    by_row = np.stack([X[b][np.array([[0, 2], [1, -1]])[b]] for b in range(2)])
    check_cases([
        Case("take", [X, places], np.take(X, np.clip(places, 0, 23))),
        Case("take", [X, places], np.take(X, places, 1, mode="clip"), {"axis": 1}),
        Case("take", [X, places], np.take(X, places, 2, mode="wrap"), {"axis": -1, "mode": "wrap"},
             [DIMS, (2, 2)]),
        Case("take", [X, np.abs(places) % 3], np.take(X, np.abs(places) % 3, 1),
             {"axis": 1, "mode": "fast"}),
        Case("take", [X, batch], by_batch, {"axis": 2, "batch_dims": 1}),
        Case("take", [X, np.array([[0, 2], [1, -1]])], by_row,
             {"axis": 1, "batch_dims": 1, "mode": "wrap"}, [("n", 3, "m"), ("n", "k")]),
        Case("take", [X, np.array(1)], X[:, 1], {"axis": 1}),
    ])  # fmt: skip


def test_ry06_gather(exec_mode):
    at = RNG.integers(0, 3, (2, 2, 4))
    places = np.array([[0, 1, 1], [2, 0, 1]])
    batched = np.array([[[0, 2], [1, 1]], [[3, 0], [2, 1]]])  # [row or column, batch, k]
    batched[0] %= 3
    rows = np.stack([X[b][batched[0, b], batched[1, b]] for b in range(2)])
    check_cases([
        Case("gather", [X, at], np.take_along_axis(X, at, 1), {"axis": 1}),
        Case("gather", [X, at], np.take_along_axis(X, at, 1), {"axis": -2},
             [DIMS, ("n", "k", "m")]),
        Case("gather_nd", [X, places], X[places[0], places[1]]),
        Case("gather_nd", [X, places], X[places[0], places[1]], {"index_rank": 2},
             [DIMS, (2, "k")]),
        Case("gather_nd", [X, batched], rows, {"batch_dims": 1}),
        Case("adv_index", [[X, places % 2, np.array([-1])]], X[places % 2, np.array([-1])]),
        Case("adv_index", [[X, places[0], places[1]]], X[places[0], places[1]], {},
             [DIMS, ("k",), ("k",)]),
    ])  # fmt: skip


def _scattered(data, indices, updates, axis, reduce):
    kinds = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}
    tensors = [torch.from_numpy(one) for one in (data, indices, updates)]
    if reduce == "update":
        return tensors[0].scatter(axis, *tensors[1:]).numpy()
    return tensors[0].scatter_reduce(axis, *tensors[1:], kinds[reduce]).numpy()


def test_ry06_scatter(exec_mode):
    at = np.stack([RNG.permutation(3)[:2] for _ in range(8)]).reshape(2, 4, 2).transpose(0, 2, 1)
    at = np.ascontiguousarray(at)
    updates = RNG.uniform(1, 9, at.shape).astype("float32")
    places = np.array([[0, 1], [2, 0]])
    rows = RNG.uniform(1, 9, (2, 4)).astype("float32")
    combine = {"update": lambda _, new: new, "add": np.add, "mul": np.multiply,
               "min": np.minimum, "max": np.maximum}  # fmt: skip

    def put(function):
        result = X.copy()
        for k, (i, j) in enumerate(places.T):
            result[i, j] = function(result[i, j], rows[k])
        return result

    check_cases([
        *(Case("scatter_elements", [X, at, updates], _scattered(X, at, updates, 1, how),
               {"axis": 1, "reduction": how}) for how in (*combine, "mean")),
        *(Case("scatter_nd", [X, places, rows], put(function), {"mode": how})
          for how, function in combine.items()),
        Case("scatter_nd", [X, places, rows], put(np.add), {"mode": "add"},
             [DIMS, (2, "k"), ("k", "m")]),
    ])  # fmt: skip


def test_ry06_scatter_of_vectors(exec_mode):
    order = np.array([2, 0, 3, 1], "int32")
    places, values = np.array([[0, 1], [2, 3]]), np.array([5, 7], "int32")
    dense = np.full((3, 4), 9, "int32")
    dense[0, 1], dense[2, 3] = 5, 7
    rest, shape = np.array(9, "int32"), Known(np.array([3, 4]))
    check_cases([
        Case("invert_permutation", [order], np.argsort(order).astype("int32")),
        Case("invert_permutation", [order], np.argsort(order).astype("int32"), {}, [("n",)]),
        Case("sparse_to_dense", [places, values, rest], dense, {"output_shape": [3, 4]}),
        Case("sparse_to_dense", [places[1], values, rest], np.array([9, 9, 5, 7], "int32"),
             {"output_shape": [4]}),
        Case("sparse_to_dense", [np.array(1), np.array(5, "int32"), rest],
             np.array([9, 5, 9], "int32"), {"output_shape": [3]}),
        Case("dyn.sparse_to_dense", [places, values, rest, shape], dense),
    ])  # fmt: skip


@pytest.mark.parametrize("shapes", [None, [DIMS]], ids=["known", "symbolic"])
def test_ry06_argwhere(exec_mode, shapes):
    flags, numbers = X > 11, np.floor(X / 13)
    check_cases([
        Case("argwhere", [flags], np.argwhere(flags).astype("int32"), {}, shapes),
        Case("argwhere", [numbers], np.argwhere(numbers).astype("int32"), {}, shapes),
        Case("argwhere", [flags[0, 0]], np.argwhere(flags[0, 0]).astype("int32")),
        Case("argwhere", [np.array(True)], np.zeros((1, 0), "int32")),
    ])  # fmt: skip


def test_ry06_places(exec_mode):
    flat, shape = np.array([22, 41, 37], "int32"), np.array([7, 6], "int32")
    expected = np.array(np.unravel_index(flat, shape)).astype("int32")
    sparse = np.array([[0, 1, 2], [1, 0, 3], [1, 2, 1]])
    before, after = np.array([2, 3, 4]), np.array([4, -1])
    moved = np.array(np.unravel_index(np.ravel_multi_index(sparse.T, before), (4, 6))).T
    check_cases([
        Case("unravel_index", [flat, Known(shape)], expected),
        Case("unravel_index", [flat, shape], expected),
        Case("unravel_index", [np.array(22), Known(shape)], np.array([3, 4])),
        Case("sparse_reshape", [sparse, before, after], [moved, np.array([4, 6])]),
        Case("sparse_reshape", [sparse, Known(before), Known(after)], [moved, np.array([4, 6])]),
    ])  # fmt: skip


@pytest.mark.parametrize("shapes", [None, [("n", 2), ("n",)]], ids=["known", "symbolic"])
def test_ry06_sparse_fill_empty_rows(exec_mode, shapes):
    places, values = np.array([[0, 1], [0, 3], [2, 0], [3, 1]]), np.array([1, 2, 3, 4])
    filled = np.array([[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]])
    check_cases([
        Case("sparse_fill_empty_rows", [places, values, _known(5, 6), _known(10)],
             [filled, np.array([1, 2, 10, 3, 4, 10]), np.array([0, 1, 0, 0, 1])], {}, shapes),
        Case("sparse_fill_empty_rows", [places[:, :1], values, _known(4), _known(10)],
             [filled[[0, 1, 2, 3, 4]][:, :1], np.array([1, 2, 10, 3, 4]), np.array([0, 1, 0, 0])]),
    ])  # fmt: skip


def test_ry06_order(exec_mode):
    equal = np.array([[3, 1, 3, 1], [0, 5, 5, 0]], "int32")
    both = [np.sort(X, 1)[:, ::-1][:, :2], np.argsort(X, 1)[:, ::-1][:, :2].astype("int32")]
    down = {"axis": 1, "is_ascend": 0}
    k = {"k": 2, "axis": 1}
    check_cases([
        Case("sort", [X], np.sort(X)),
        Case("sort", [X], np.sort(X, 1)[:, ::-1], down, [DIMS]),
        Case("argsort", [X], np.argsort(X, 0).astype("int32"), {"axis": 0}),
        Case("argsort", [equal], np.argsort(equal, 1, kind="stable").astype("float32"),
             {"dtype": "float32"}),
        Case("argsort", [X], np.argsort(-X, 1), {**down, "dtype": "int64"}),
        Case("topk", [X], both, k),
        Case("topk", [X], both[0], {**k, "ret_type": "values"}, [DIMS]),
        Case("topk", [X], both[1].astype("int64"), {**k, "ret_type": "indices", "dtype": "int64"}),
        Case("topk", [X], np.sort(X), {"k": 0, "is_ascend": True, "ret_type": "values"}),
        Case("dyn.topk", [X, _known(2)], both, {"axis": 1}),
    ])  # fmt: skip


def test_ry06_search(exec_mode):
    line = np.array([1.0, 3.0, 3.0, 7.0], "float32")
    values = np.array([[0.0, 3.0, 9.0], [7.0, 1.0, 4.0]], "float32")
    lines = np.sort(X[0, :2] % 7)
    left, right = (np.stack([np.searchsorted(lines[i], values[i], side) for i in range(2)])
                   for side in ("left", "right"))  # fmt: skip
    check_cases([
        Case("searchsorted", [line, values], np.searchsorted(line, values).astype("int32")),
        Case("searchsorted", [line, values], np.searchsorted(line, values, "right"),
             {"right": True, "dtype": "int64"}),
        Case("searchsorted", [lines, values], left.astype("int32")),
        Case("searchsorted", [lines, values], right.astype("int32"), {"right": 1},
             [("n", 4), ("n", "m")]),
    ])  # fmt: skip


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("shapes", [None, [("n",)]], ids=["known", "symbolic"])
def test_ry06_unique(exec_mode, is_sorted, shapes):
    data = np.array([4, 5, 1, 2, 3, 3, 4, 5], "int32")
    values, first, inverse, counts = np.unique(data, True, True, True)
    if not is_sorted:
        order = np.argsort(first)
        values, first, counts = values[order], first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    rest = (0, len(data) - len(values))
    padded = [np.pad(one, rest).astype("int32") for one in (values, first)]
    expected = [*padded, inverse.astype("int32"), np.array([len(values)], "int32")]
    attrs = {"sorted": is_sorted}
    check_cases([
        Case("unique", [data], expected, attrs, shapes),
        Case("unique", [data], [*expected, np.pad(counts, rest).astype("int32")],
             {**attrs, "return_counts": True}, shapes),
    ])  # fmt: skip


def test_ry06_einsum(exec_mode):
    a, b = X / 24, X[0].T / 24
    square = X[0, :, :3] / 24

    def case(equation, *operands, shapes=None):
        expected = np.asarray(np.einsum(equation, *operands))
        return Case("einsum", [list(operands)], expected, {"equation": equation}, shapes)

    check_cases([
        case("bij,jk->bik", a, b),
        case("bij,jk", a, b, shapes=[("n", 3, "m"), ("m", "k")]),
        case("bij->jb", a),
        case("ii", square),
        case("ii->i", square),
        case("...ij,jk->...ik", a, b),
        case("bij,bij->b", a, a),
        case("ij,kl->ijkl", b, square),
        case("ij,jk,kl->il", b, square, square),
    ], 1e-4)  # fmt: skip


def test_ry06_dft(exec_mode):
    re, im = (RNG.uniform(-1, 1, (2, 6)) for _ in range(2))
    forward, backward = np.fft.fft(re + 1j * im), np.fft.ifft(re + 1j * im)
    single = [one.astype("float32") for one in (re, im)]
    check_cases([
        Case("dft", [re, im], [forward.real, forward.imag]),
        Case("dft", [re, im], [backward.real, backward.imag], {"inverse": True}, [("n", 6)] * 2),
        Case("dft", single, [forward.real.astype("float32"), forward.imag.astype("float32")]),
    ], 1e-4, 1e-5)  # fmt: skip


@pytest.mark.parametrize("width, onesided", [(8, True), (6, False)])
def test_ry06_stft(exec_mode, width, onesided):
    signal = RNG.uniform(-1, 1, (2, 20))
    window = RNG.uniform(0.5, 1, width)

    def expected(x, normalized):
        how = {"center": False, "normalized": normalized, "onesided": onesided}
        tensors = torch.from_numpy(x), 8, 3, width, torch.from_numpy(window)
        found = torch.stft(*tensors, **how, return_complex=True)
        return torch.view_as_real(found).numpy()

    attrs = {"n_fft": 8, "hop_length": 3, "win_length": width, "onesided": onesided}
    check_cases([
        Case("stft", [signal, window], expected(signal, False), attrs),
        Case("stft", [signal, window], expected(signal, True), {**attrs, "normalized": True},
             [("n", "m"), (width,)]),
        Case("stft", [signal[0], window], expected(signal[0], False), attrs),
    ])  # fmt: skip


AT = np.array([0, 1])


@pytest.mark.parametrize(
    "name, operands, attrs, message",
    [
        ("take", [X, X], {}, "expected indices of integers, but got float32"),
        ("take", [X, AT], {"axis": 3}, "expected an axis from -3 to 2"),
        ("take", [X, AT], {"mode": "raise"}, "expected mode clip, wrap, fast, but got 'raise'"),
        ("take", [X, AT], {"axis": 1, "batch_dims": 2}, "expected batch_dims from 0"),
        ("gather", [X, AT], {"axis": 0}, "expected indices of rank 3, but got 1"),
        ("gather", [X, AT], {}, "gather needs the attribute 'axis'"),
        ("gather_nd", [X, np.zeros((4, 1), "int64")], {}, "expected places in up to 3 dimensions"),
        ("adv_index", [[X, X]], {}, "expected indices of integers"),
        ("adv_index", [X], {}, "expected a tuple of tensors"),
        ("scatter_elements", [X, AT, X], {"reduction": "sum"}, "expected reduction update, add"),
        ("scatter_nd", [X, AT, X], {"mode": "mean"}, "expected mode update, add"),
        ("scatter_nd", [X, AT], {}, "expected scatter_nd of data, indices, updates"),
        ("sparse_to_dense", [X.astype("int32"), AT, AT], {"output_shape": [3]}, "of rank 0 to 2"),
        ("sparse_fill_empty_rows", [AT, X[0, 0], _known(1), _known(1)], {}, "values of integers"),
        ("sort", [X], {"axis": 3}, "expected an axis"),
        ("topk", [X], {"ret_type": "all"}, "expected ret_type both, values, indices"),
        ("dyn.topk", [X, _known(1, 2)], {}, "a number of elements of one element, but got 2"),
        ("searchsorted", [X, X[0]], {}, "expected a sequence of rank 1 or 2, but got 3"),
        ("unique", [X], {}, "expected a vector, but got a tensor of rank 3"),
        ("einsum", [[X]], {"equation": "ij,jk"}, "expected 2 operands for 'ij,jk', but got 1"),
        ("einsum", [[X]], {"equation": "ij->i"}, "expected a tensor of rank 2 for 'ij'"),
        ("einsum", [[X]], {"equation": "ijk->l"}, "expected letters of operands"),
        ("einsum", [[X, AT]], {"equation": "ijk,l->i"}, "expected operands of one data type"),
        ("stft", [X, X[0, 0]], {"n_fft": 4, "hop_length": 1}, "a signal of rank 1 or 2"),
        ("stft", [X[0], X[0, 0]], {"n_fft": 2, "hop_length": 1}, "a window of up to 2"),
    ],
)
def test_ry06_places_reject(name, operands, attrs, message):
    with pytest.raises(ValueError, match=message):
        run_operator(name, *operands, **attrs)


def test_ry06_lengths_reject():
    x = np.zeros((1, 4099), "float32")
    with pytest.raises(NotImplementedError, match="prime factors up to 4096, but got 4099"):
        run_operator("dft", x, x)
