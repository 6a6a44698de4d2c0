"""Operators that create and slice tensors against NumPy."""

import numpy as np
import pytest
from operator_tables import FLOATS, N, check, table_of
from relax_mlir import op

PLACES = [
    ("tril", op.tril, np.tril, ("float32", "int64", "bool"), [("n", "m")]),
    ("tril-1", lambda x: op.tril(x, -1), lambda x: np.tril(x, -1), ["int32"], [("b", "n", "m")]),
    ("triu", op.triu, np.triu, ("float16", "uint8"), [("k", "m")]),
    ("triu-symbolic", lambda x: op.triu(x, "n"), lambda x: np.triu(x, len(x)), FLOATS, [N]),
    ("eye", lambda x: op.eye("n"), lambda x: np.eye(len(x), dtype="f"), ["float32"], [N]),
    (
        "eye-k",
        lambda x: op.eye("n", 4, -1, "int8"),
        lambda x: np.eye(len(x), 4, -1, "int8"),
        ["float32"],
        [N],
    ),
    (
        "eye_like",
        lambda x: op.eye_like(x, 1),
        lambda x: np.eye(*x.shape, 1, x.dtype),
        FLOATS,
        [("n", "m")],
    ),
    ("arange", lambda x: op.arange("n"), lambda x: np.arange(len(x)), ["float32"], [N]),
    (
        "arange-step",
        lambda x: op.arange(7, "n", -2, "float32"),
        lambda x: np.arange(7, len(x), -2).astype("f"),
        ["float32"],
        [N],
    ),
    (
        "arange-float",
        lambda x: op.add(op.arange(0.5, 3, 0.25), op.sum(x)),
        lambda x: np.arange(0.5, 3, 0.25, "f") + x.sum(),
        ["float32"],
        [N],
    ),
    (
        "arange-none",
        lambda x: op.arange("n", 0),
        lambda x: np.arange(len(x), 0),
        ["float32"],
        [N],
    ),
]
# Slices of Python: (begin, end, stride) of axis 0, then of axis 1.
for slices in [
    [(1, 5, 1)],
    [(0, 100, 2)],
    [(-3, -1, 1)],
    [(-100, 100, 3), (1, 3, 1)],
    [(100, -100, -1)],
    [(-1, -100, -2), (3, 0, -1)],
    [(5, 2, 1)],
    [(2, 2, 1), (0, 4, 3)],
]:
    PLACES.append(
        (
            "slice-" + "-".join(":".join(map(str, part)) for part in slices),
            lambda x, s=slices: op.strided_slice(x, list(range(len(s))), *zip(*s, strict=True)),
            lambda x, s=slices: x[tuple(slice(*part) for part in s)],
            ["float32"],
            [("k", "m")],
        )
    )
PLACES += [
    (
        "slice-symbolic",
        lambda x: op.strided_slice(x, [-1], ["n"], ["k - 1"]),
        lambda x: x[:, len(x) : 2 * len(x) - 1],
        ["int8", "bool"],
        [("n", "k")],
    ),
    (
        "slice-inbound",
        lambda x: op.strided_slice(x, [1], ["n"], ["k"], assume_inbound=True),
        lambda x: x[:, len(x) :],
        ["float16"],
        [("n", "k")],
    ),
]


@table_of(PLACES)
def test_places(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype])


def test_error_slice_is_not_inbound(load, write, tensor):
    x = tensor(("n", 4))
    main = load(write(lambda x: op.strided_slice(x, [0], [1], [5], assume_inbound=True), x))
    assert np.from_dlpack(main(np.ones((6, 4), "float32"))).shape == (4, 4)
    with pytest.raises(ValueError, match="strided_slice"):
        main(np.ones((3, 4), "float32"))


@pytest.mark.parametrize("name", ["end_checkpoint", "no_grad", "start_checkpoint"])
def test_hints(run, name):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    function = getattr(op.grad, name)
    result = run(lambda x: op.add(function(x), op.builtin.stop_lift_params(x)), x)
    np.testing.assert_array_equal(result, x + x)
