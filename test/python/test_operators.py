"""Operators against NumPy and PyTorch, what is derived of them, and what they refuse.

Each case is compiled once, with symbolic shapes, and run at several sizes.
"""

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op

torch = pytest.importorskip("torch")
functional = torch.nn.functional

FLOATS = ("float32", "float64", "float16")
SIGNED = ("int8", "int32", "int64")
INTEGERS = (*SIGNED, "uint8", "uint32")
TOLERANCE = {"float16": 5e-3, "float32": 3e-5, "float64": 1e-12}
SIZES = {"n": (1, 5), "m": (4, 4), "k": (2, 10), "b": (2, 3), "h": (7, 9), "w": (8, 11)}


def of_torch(function):
    """Return a function of PyTorch as one of arrays; floats of 16 bits are computed as float32."""

    def call(*arrays):
        tensors = [
            torch.from_numpy(np.asarray(a, "float32" if a.dtype == "float16" else a.dtype))
            for a in arrays
        ]
        return function(*tensors).numpy()

    return call


def arrays_of(shapes, dtypes, index, seed=0):
    """Return arrays of symbolic shapes; integers are from -7 to 7 without 0."""
    rng = np.random.default_rng(seed)
    arrays = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        dims = [SIZES[dim][index] if isinstance(dim, str) else dim for dim in shape]
        if dtype == "bool":
            arrays.append(rng.random(dims) < 0.5)
        elif dtype.startswith("float"):
            arrays.append(rng.standard_normal(dims).astype(dtype))
        else:
            signs = 1 if dtype.startswith("uint") else rng.choice([-1, 1], dims)
            arrays.append((rng.integers(1, 8, dims) * signs).astype(dtype))
    return arrays


def check(load, write, tensor, function, reference, shapes, dtypes):
    """Compare what a function and its reference give."""
    params = [
        tensor(shape, dtype, name=f"x{i}")
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    main = load(write(function, *params))
    for index in (0, 1):
        arrays = arrays_of(shapes, dtypes, index)
        expected, actual = reference(*arrays), main(*arrays)
        if not isinstance(expected, (list, tuple)):
            expected, actual = [expected], [actual]
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            ours, theirs = np.from_dlpack(ours), np.asarray(theirs)
            assert ours.shape == theirs.shape
            assert ours.dtype.kind == theirs.dtype.kind
            tolerance = TOLERANCE.get(ours.dtype.name, 0)
            theirs = theirs.astype(ours.dtype)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def cases(table):
    """Return the parameters of a table of cases, one for each data type."""
    return [
        pytest.param(function, reference, shapes, dtype, id=f"{name}-{dtype}")
        for name, function, reference, dtypes, shapes in table
        for dtype in dtypes
    ]


# ---------------------------------------------------------------------------------------------
# Elementwise
# ---------------------------------------------------------------------------------------------

N = ("n", 3)


def inside(function):
    """Return a function of numbers from -1 to 1."""
    return lambda x: function(op.tanh(x))


def selu(x):
    return of_torch(functional.selu)(x)


ELEMENTWISE = [
    ("acos", inside(op.acos), lambda x: np.arccos(np.tanh(x)), FLOATS[:2], [N]),
    (
        "acosh",
        lambda x: op.acosh(op.add(op.square(x), 1)),
        lambda x: np.arccosh(x * x + 1),
        FLOATS[:2],
        [N],
    ),
    ("asin", inside(op.asin), lambda x: np.arcsin(np.tanh(x)), FLOATS[:2], [N]),
    ("asinh", op.asinh, np.arcsinh, FLOATS, [N]),
    ("atan", op.atan, np.arctan, FLOATS, [N]),
    ("atanh", inside(op.atanh), lambda x: np.arctanh(np.tanh(x)), FLOATS[:2], [N]),
    ("bitwise_not", op.bitwise_not, np.invert, (*INTEGERS, "bool"), [N]),
    ("cosh", op.cosh, np.cosh, FLOATS, [N]),
    ("selu", op.nn.selu, selu, FLOATS, [N]),
    ("sinh", op.sinh, np.sinh, FLOATS, [N]),
    ("square", op.square, np.square, (*FLOATS, *INTEGERS), [N]),
    ("tan", op.tan, np.tan, FLOATS[:2], [N]),
    ("trunc", op.trunc, np.trunc, FLOATS, [N]),
    ("leakyrelu", op.nn.leakyrelu, of_torch(functional.leaky_relu), FLOATS, [N]),
    (
        "leakyrelu-alpha",
        lambda x: op.nn.leakyrelu(x, 0.3),
        of_torch(lambda x: functional.leaky_relu(x, 0.3)),
        ["float32"],
        [N],
    ),
    ("softplus", op.nn.softplus, of_torch(functional.softplus), FLOATS, [N]),
    (
        "softplus-beta",
        lambda x: op.nn.softplus(x, 2.0, 1.5),
        of_torch(lambda x: functional.softplus(x, 2.0, 1.5)),
        ["float32"],
        [N],
    ),
    ("relu6", op.nn.relu6, of_torch(functional.relu6), FLOATS, [N]),
    ("clip", lambda x: op.clip(x, -0.5, 0.75), lambda x: x.clip(-0.5, 0.75), FLOATS, [N]),
    ("clip-int", lambda x: op.clip(x, -3, 300), lambda x: x.clip(min=-3), SIGNED, [N]),
    ("clip-uint", lambda x: op.clip(x, -3, 4), lambda x: np.minimum(x, 4), ["uint8"], [N]),
    (
        "clip-symbolic",
        lambda x: op.clip(x, 0, "n"),
        lambda x: x.clip(0, x.shape[0]),
        ["int32", "float32"],
        [N],
    ),
    ("atan2", op.atan2, np.arctan2, FLOATS, [N, N]),
    ("bitwise_and", op.bitwise_and, np.bitwise_and, (*INTEGERS, "bool"), [N, N]),
    ("bitwise_or", op.bitwise_or, np.bitwise_or, (*INTEGERS, "bool"), [N, (3,)]),
    ("bitwise_xor", op.bitwise_xor, np.bitwise_xor, (*INTEGERS, "bool"), [N, N]),
    ("floor_mod", op.floor_mod, np.mod, (*FLOATS, *INTEGERS), [N, N]),
    ("log_add_exp", op.log_add_exp, np.logaddexp, FLOATS, [N, ("n", 1)]),
    ("logical_xor", op.logical_xor, np.logical_xor, ["bool"], [N, N]),
    (
        "ewise_fma",
        op.ewise_fma,
        lambda x, y, z: x * y + z,
        (*FLOATS[:2], *INTEGERS),
        [N, N, N],
    ),
    ("full_like", lambda x: op.full_like(x, 3), lambda x: np.full_like(x, 3), FLOATS, [N]),
    (
        "full_like-dtype",
        lambda x: op.full_like(x, op.const(2.75, "float32"), "int32"),
        lambda x: np.full_like(x, 2, "int32"),
        ["float32"],
        [N],
    ),
    ("ones_like", op.ones_like, np.ones_like, (*FLOATS, *INTEGERS, "bool"), [N]),
    (
        "zeros_like",
        lambda x: op.zeros_like(x, "int8"),
        lambda x: np.zeros_like(x, "int8"),
        ["float32"],
        [N],
    ),
]


@pytest.mark.parametrize(("function", "reference", "shapes", "dtype"), cases(ELEMENTWISE))
def test_elementwise(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype] * len(shapes))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shift(run, name, dtype):
    x = np.array([1, 3, 64, 100, 127, 5, 5], dtype)
    if dtype.startswith("int"):
        x[1:3] *= -1
    width = x.dtype.itemsize * 8
    y = np.array([0, 1, 2, 3, width - 1, width, 100], dtype)
    expected = getattr(np, name)(x, np.minimum(y, width - 1))
    # All bits are gone.
    expected[5:] = 0
    result = run(getattr(op, name), x, y, shapes=[("n",), ("n",)])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_tests(run, name, dtype):
    x = np.array([0, -1.5, np.inf, -np.inf, np.nan], "float32")
    x = x.astype(dtype) if dtype.startswith("float") else np.array([0, 1], dtype)
    np.testing.assert_array_equal(run(getattr(op, name), x), getattr(np, name)(x))


def test_log_add_exp_of_infinities(run):
    x = np.array([np.inf, -np.inf, np.inf, 1e4], "float32")
    y = np.array([np.inf, -np.inf, -np.inf, 1e4], "float32")
    np.testing.assert_array_equal(run(op.log_add_exp, x, y), np.logaddexp(x, y))


def test_clip_keeps_nan(run):
    x = np.array([np.nan, 2, -2], "float32")
    np.testing.assert_array_equal(run(lambda x: op.clip(x, -1, 1), x), [np.nan, 1, -1])


# ---------------------------------------------------------------------------------------------
# Reductions and scans
# ---------------------------------------------------------------------------------------------

REDUCTIONS = [
    ("variance", op.variance, np.var, FLOATS, [N]),
    ("variance-1", lambda x: op.variance(x, 1), lambda x: x.var(1), FLOATS, [N]),
    (
        "variance-keep",
        lambda x: op.variance(x, [0, -1], True),
        lambda x: x.var((0, 2), keepdims=True),
        ["float32"],
        [("n", 2, 3)],
    ),
    ("std", lambda x: op.std(x, [1]), lambda x: x.std(1), FLOATS, [("n", "m", 2)]),
    (
        "std-keep",
        lambda x: op.std(x, keepdims=True),
        lambda x: x.std(keepdims=True),
        ["float64"],
        [N],
    ),
    ("argmax", op.argmax, np.argmax, (*FLOATS, *INTEGERS), [("n", "m")]),
    ("argmax-1", lambda x: op.argmax(x, 1), lambda x: x.argmax(1), FLOATS, [("n", "m", 2)]),
    (
        "argmax-keep",
        lambda x: op.argmax(x, -1, True),
        lambda x: x.argmax(-1, keepdims=True),
        ["float32"],
        [("n", "m")],
    ),
    ("argmin-0", lambda x: op.argmin(x, 0), lambda x: x.argmin(0), ["int32"], [("k", "m")]),
    (
        "argmin-keep",
        lambda x: op.argmin(x, keepdims=True),
        lambda x: x.argmin().reshape(1, 1),
        ["float32"],
        [("n", "m")],
    ),
    (
        "cumsum",
        lambda x: op.cumsum(x, 1),
        lambda x: np.cumsum(x, 1, x.dtype),
        (*FLOATS, "int32", "uint8"),
        [("n", "m", 2)],
    ),
    ("cumsum-flat", op.cumsum, np.cumsum, FLOATS[:2], [("n", "m")]),
    (
        "cumsum-dtype",
        lambda x: op.cumsum(x, 0, "int64"),
        lambda x: np.cumsum(x, 0, "int64"),
        ["bool", "int8", "uint8"],
        [("k", "m")],
    ),
    (
        "cumsum-exclusive",
        lambda x: op.cumsum(x, -1, exclusive=True),
        lambda x: np.cumsum(x, -1, x.dtype) - x,
        ["int32", "int64"],
        [("n", "m")],
    ),
    (
        "cumprod",
        lambda x: op.cumprod(x, 0),
        lambda x: np.cumprod(x, 0, x.dtype),
        (*FLOATS[:2], "int64"),
        [("k", "m")],
    ),
]


@pytest.mark.parametrize(("function", "reference", "shapes", "dtype"), cases(REDUCTIONS))
def test_reduction(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype])


def test_argmax_of_nan_and_ties(run):
    x = np.array([[1, 3, 3], [np.nan, 5, np.nan], [-np.inf, -np.inf, -np.inf]], "float32")
    for function in (op.argmax, op.argmin):
        name = function.__name__
        result = run(lambda x, f=function: f(x, 1), x, shapes=[("n", 3)])
        np.testing.assert_array_equal(result, getattr(np, name)(x, 1))


def test_empty_scan_and_index(run):
    x = np.zeros((0, 3), "float32")
    assert run(lambda x: op.cumsum(x, 0), x, shapes=[("n", 3)]).shape == (0, 3)
    assert run(lambda x: op.argmax(x, 0), x, shapes=[("n", 3)]).tolist() == [0, 0, 0]


# ---------------------------------------------------------------------------------------------
# Creation and slices
# ---------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(("function", "reference", "shapes", "dtype"), cases(PLACES))
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


# ---------------------------------------------------------------------------------------------
# Convolution and pooling
# ---------------------------------------------------------------------------------------------

TORCH_CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
OURS_CONV = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
SPATIAL = {1: ("w",), 2: ("h", "w"), 3: (6, "h", "w")}


def conv(count, weight, dtypes=("float32",), **options):
    """Return a case of a convolution over `count` dimensions with a weight of this shape."""
    groups = options.get("groups", 1)
    channels = weight[1] * groups
    return (
        f"conv{count}d-" + "-".join(f"{key}={value}" for key, value in options.items()),
        lambda x, w: OURS_CONV[count](x, w, **options),
        of_torch(lambda x, w: TORCH_CONV[count](x, w, **options)),
        dtypes,
        [("n", channels, *SPATIAL[count]), weight],
    )


CONVOLUTIONS = [
    conv(1, (4, 3, 3), FLOATS),
    conv(1, (4, 3, 2), padding=1),
    conv(2, (4, 3, 3, 3), FLOATS),
    conv(2, (4, 3, 3, 2), padding=(2, 1)),
    conv(2, (4, 3, 1, 1)),
    conv(2, (4, 3, 2, 3), dilation=(2, 1), padding=1),
    conv(2, (6, 2, 3, 3), FLOATS, groups=3, padding=1),
    conv(2, (4, 1, 3, 3), groups=4),
    conv(3, (4, 3, 2, 3, 3), padding=(0, 1, 1)),
    conv(3, (4, 2, 3, 3, 3), groups=2),
    (
        "conv1d-strides",
        lambda x, w: op.nn.conv1d(x, w, 3, 1, 2),
        of_torch(lambda x, w: functional.conv1d(x, w, None, 3, 1, 2)),
        ["float32"],
        [("n", 3, "w"), (4, 3, 3)],
    ),
    (
        "conv2d-strides",
        lambda x, w: op.nn.conv2d(x, w, (2, 3), (1, 0, 2, 1)),
        of_torch(lambda x, w: functional.conv2d(functional.pad(x, (0, 1, 1, 2)), w, stride=(2, 3))),
        ["float32"],
        [("n", 3, "h", "w"), (4, 3, 3, 3)],
    ),
    (
        "conv2d-NHWC",
        lambda x, w: op.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
        of_torch(
            lambda x, w: functional.conv2d(
                x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1
            ).permute(0, 2, 3, 1)
        ),
        ["float32", "float16"],
        [("n", "h", "w", 3), (3, 3, 3, 4)],
    ),
    (
        "conv2d-NHWC-groups",
        lambda x, w: op.nn.conv2d(
            x, w, groups=2, data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW"
        ),
        of_torch(
            lambda x, w: functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), groups=2)
        ),
        ["float32"],
        [("n", "h", "w", 4), (3, 3, 2, 6)],
    ),
    (
        "conv2d-channels",
        op.nn.conv2d,
        of_torch(functional.conv2d),
        ["float32"],
        [("n", "k", "h", "w"), ("m", "k", 3, "b")],
    ),
    (
        "conv2d-groups-channels",
        lambda x, w: op.nn.conv2d(x, w, groups=2),
        of_torch(lambda x, w: functional.conv2d(x, w, groups=2)),
        ["float32"],
        [("n", "k", "h", "w"), (4, "n", 3, 3)],
    ),
    (
        "conv2d-out_dtype",
        lambda x, w: op.nn.conv2d(x, w, padding=1, out_dtype="int32"),
        lambda x, w: of_torch(lambda x, w: functional.conv2d(x, w, padding=1))(
            x.astype("float64"), w.astype("float64")
        ).astype("int32"),
        ["int8", "uint8"],
        [("n", 30, "h", "w"), (4, 30, 3, 3)],
    ),
]


@pytest.mark.parametrize(("function", "reference", "shapes", "dtype"), cases(CONVOLUTIONS))
def test_convolution(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype] * len(shapes))


def pool(kind, count, dtypes=("float32",), size=2, **options):
    """Return a case of pooling over `count` dimensions."""
    ours = getattr(op.nn, f"{kind}_pool{count}d")
    theirs = getattr(functional, f"{kind}_pool{count}d")
    names = {"strides": "stride", "padding": "padding", "ceil_mode": "ceil_mode"}
    names |= {"count_include_pad": "count_include_pad", "dilation": "dilation"}
    given = {names[key]: value for key, value in options.items()}
    if kind == "avg":
        given.setdefault("count_include_pad", False)
    given.setdefault("stride", 1)
    return (
        f"{kind}_pool{count}d-" + "-".join(f"{key}={value}" for key, value in options.items()),
        lambda x: ours(x, size, **options),
        of_torch(lambda x: theirs(x, size, **given)),
        dtypes,
        [("n", 3, *SPATIAL[count])],
    )


POOLS = [
    pool("max", 1, FLOATS),
    pool("max", 2, FLOATS),
    pool("max", 2, size=3, strides=2, padding=1),
    pool("max", 2, size=(3, 2), strides=(1, 2), dilation=(2, 1)),
    pool("max", 2, size=3, strides=2, ceil_mode=True),
    pool("max", 3, strides=2),
    pool("avg", 1, FLOATS, size=3, strides=2),
    pool("avg", 2, FLOATS, strides=2),
    pool("avg", 2, size=3, strides=2, padding=1),
    pool("avg", 2, size=3, strides=2, padding=1, count_include_pad=True),
    pool("avg", 2, size=3, strides=2, ceil_mode=True),
    pool("avg", 2, size=3, strides=2, padding=1, ceil_mode=True, count_include_pad=True),
    pool("avg", 3, padding=1),
    (
        "max_pool2d-int",
        lambda x: op.nn.max_pool2d(x, 2, 2),
        lambda x: of_torch(lambda x: functional.max_pool2d(x, 2, 2))(x.astype("float64")).astype(
            x.dtype
        ),
        ["int8", "uint8", "int32"],
        [("n", 3, "h", "w")],
    ),
    (
        "max_pool2d-NHWC",
        lambda x: op.nn.max_pool2d(x, 2, 2, layout="NHWC"),
        of_torch(lambda x: functional.max_pool2d(x.permute(0, 3, 1, 2), 2, 2).permute(0, 2, 3, 1)),
        ["float32"],
        [("n", "h", "w", 3)],
    ),
    (
        "avg_pool2d-layouts",
        lambda x: op.nn.avg_pool2d(x, (3, 2), 1, (1, 0), layout="NHWC", out_layout="NCHW"),
        of_torch(
            lambda x: functional.avg_pool2d(
                x.permute(0, 3, 1, 2), (3, 2), 1, (1, 0), count_include_pad=False
            )
        ),
        ["float32"],
        [("n", "h", "w", 3)],
    ),
]
for size in [1, (3, 4), (5, 1)]:
    POOLS.append(
        (
            f"adaptive_avg_pool2d-{size}",
            lambda x, s=size: op.nn.adaptive_avg_pool2d(x, s),
            of_torch(lambda x, s=size: functional.adaptive_avg_pool2d(x, s)),
            FLOATS,
            [("n", 3, "h", "w")],
        )
    )
POOLS += [
    (
        "adaptive_avg_pool1d",
        lambda x: op.nn.adaptive_avg_pool1d(x, 3),
        of_torch(lambda x: functional.adaptive_avg_pool1d(x, 3)),
        ["float32"],
        [("n", 3, "w")],
    ),
    (
        "adaptive_avg_pool3d",
        lambda x: op.nn.adaptive_avg_pool3d(x, (2, 3, 1)),
        of_torch(lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 1))),
        ["float32"],
        [("n", 3, 6, "h", "w")],
    ),
    (
        "adaptive_avg_pool2d-NHWC",
        lambda x: op.nn.adaptive_avg_pool2d(x, 2, "NHWC"),
        of_torch(
            lambda x: functional.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
        ),
        ["float32"],
        [("n", "h", "w", 3)],
    ),
    ("adaptive_avg_pool2d-same", op.nn.adaptive_avg_pool2d, lambda x: x, FLOATS, [("n", 3, 4, 5)]),
]


@pytest.mark.parametrize(("function", "reference", "shapes", "dtype"), cases(POOLS))
def test_pooling(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype])


def test_error_channels_at_run_time(load, write, tensor):
    x, w = tensor(("n", "c", 4, 4)), tensor(("o", "i", 3, 3), name="w")
    main = load(write(lambda x, w: op.nn.conv2d(x, w, groups=2), x, w))
    ones = np.ones
    assert np.from_dlpack(main(ones((1, 4, 4, 4), "f"), ones((2, 2, 3, 3), "f"))).shape == (
        1,
        2,
        2,
        2,
    )
    for data, weight in [((1, 3, 4, 4), (2, 2, 3, 3)), ((1, 4, 4, 4), (3, 2, 3, 3))]:
        with pytest.raises(ValueError, match=r"relax\.conv2d"):
            main(ones(data, "f"), ones(weight, "f"))


def test_error_window_does_not_fit_at_run_time(load, write, tensor):
    main = load(write(lambda x: op.nn.max_pool1d(x, 5), tensor((1, 1, "n"))))
    assert np.from_dlpack(main(np.ones((1, 1, 4), "float32"))).shape == (1, 1, 0)
    with pytest.raises(ValueError, match="-1"):
        main(np.ones((1, 1, 3), "float32"))


# ---------------------------------------------------------------------------------------------
# Normalization and attention
# ---------------------------------------------------------------------------------------------


def batch_norm(training):
    def call(x, g, b, m, v):
        m, v = m.copy(), abs(v)
        tensors = [torch.from_numpy(a.astype("float64")) for a in (x, m, v, g, b)]
        out = functional.batch_norm(*tensors, False)
        if not training:
            return [out.numpy().astype(x.dtype), m, v]
        axes = tuple(i for i in range(x.ndim) if i != 1)
        x = x.astype("float64")
        mean, variance = x.mean(axes), x.var(axes)
        out = functional.batch_norm(*tensors, True)
        return [
            out.numpy().astype(g.dtype),
            (0.9 * m + 0.1 * mean).astype(g.dtype),
            (0.9 * v + 0.1 * variance).astype(g.dtype),
        ]

    return call


def rms_norm(x, w):
    return (x / np.sqrt((x.astype("f8") ** 2).mean(-1, keepdims=True) + 1e-5) * w).astype(x.dtype)


def attend(mask=None, window=None, scale=None):
    """Return a reference of attention."""

    def call(q, k, v, bias=None):
        dtype = q.dtype
        q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
        scores = q @ k.swapaxes(2, 3) * (scale or q.shape[-1] ** -0.5)
        if bias is not None:
            scores = scores + bias
        queries, keys = scores.shape[2:]
        last = np.arange(queries)[:, None] + (keys - queries if mask == "BottomRight" else 0)
        place = np.arange(keys)[None]
        seen = place <= last if mask else place >= 0
        if window:
            seen = seen & (place > last - window)
        with np.errstate(invalid="ignore"):
            powers = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
            sums = powers.sum(-1, keepdims=True)
            weights = np.where(sums == 0, 0, powers / np.where(sums == 0, 1, sums))
        return (weights @ v).transpose(0, 2, 1, 3).astype(dtype)

    return call


QKV = [("b", "n", 2, 4), ("b", "k", 2, 4), ("b", "k", 2, 3)]
NORMS = [
    (
        "batch_norm",
        lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, op.abs(v), 1, training=False),
        batch_norm(False),
        FLOATS[:2],
        [("n", "m", "h", "w"), *[("m",)] * 4],
    ),
    (
        "batch_norm-training",
        lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, op.abs(v), 1),
        batch_norm(True),
        ["float32"],
        [("b", 3, "h"), *[(3,)] * 4],
    ),
    (
        "group_norm",
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2, 3]),
        of_torch(lambda x, g, b: functional.group_norm(x, 2, g, b)),
        FLOATS,
        [("n", 4, "h", "w"), (4,), (4,)],
    ),
    (
        "group_norm-channels",
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, 2),
        of_torch(lambda x, g, b: functional.group_norm(x, 2, g, b)),
        ["float32"],
        [("n", "k", "h"), ("k",), ("k",)],
    ),
    (
        "group_norm-last",
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, -1, [1], center=False),
        of_torch(lambda x, g, b: functional.group_norm(x.permute(0, 2, 1), 2, g).permute(0, 2, 1)),
        ["float32"],
        [("n", "h", 4), (4,), (4,)],
    ),
    (
        "instance_norm",
        lambda x, g, b: op.nn.instance_norm(x, g, b, 1, [2, 3]),
        of_torch(lambda x, g, b: functional.instance_norm(x, weight=g, bias=b)),
        FLOATS,
        [("n", "m", "h", "w"), ("m",), ("m",)],
    ),
    ("rms_norm", op.nn.rms_norm, rms_norm, FLOATS, [("n", "m", "h"), ("h",)]),
    (
        "rms_norm-axes",
        lambda x, w: op.nn.rms_norm(x, w, [1, 2], 0.1),
        lambda x, w: x / np.sqrt((x**2).mean((1, 2), keepdims=True) + 0.1) * w,
        ["float64"],
        [("n", "m", 3), ("m", 3)],
    ),
    ("attention", op.nn.attention, attend(), FLOATS, QKV),
    (
        "attention-scale",
        lambda q, k, v: op.nn.attention(q, k, v, scale=0.3),
        attend(scale=0.3),
        ["float32"],
        QKV,
    ),
    ("attention-features", op.nn.attention, attend(), ["float32"], [("b", "n", 2, "m")] * 3),
    ("attention-bias", op.nn.attention, attend(), ["float32"], [*QKV, ("b", 1, "n", "k")]),
    ("attention-heads", op.nn.attention, attend(), ["float32"], [("b", "n", 6, 4), *QKV[1:]]),
]
for options in [
    {"causal_mask": "TopLeft"},
    {"causal_mask": "BottomRight"},
    {"causal_mask": "TopLeft", "window_size": 2},
    {"causal_mask": "BottomRight", "window_size": 3},
]:
    NORMS.append(
        (
            "attention-" + "-".join(map(str, options.values())),
            lambda q, k, v, o=options: op.nn.attention(q, k, v, **o),
            attend(options["causal_mask"], options.get("window_size")),
            ["float32", "float16"],
            QKV,
        )
    )


@pytest.mark.parametrize(("function", "reference", "shapes", "dtype"), cases(NORMS))
def test_normalization(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype] * len(shapes))


def test_attention_without_keys(run):
    q, k = np.ones((1, 4, 1, 2), "float32"), np.ones((1, 2, 1, 2), "float32")
    result = run(lambda q, k: op.nn.attention(q, k, k, causal_mask="BottomRight"), q, k)
    np.testing.assert_allclose(result[0, :, 0, 0], [0, 0, 1, 1])


def test_matmul_out_dtype(run):
    a, b = np.full((3, 300), 100, "int8"), np.full((300, 2), -100, "int8")
    result = run(lambda a, b: op.matmul(a, b, "int32"), a, b, shapes=[("n", "k"), ("k", 2)])
    np.testing.assert_array_equal(result, np.full((3, 2), -3000000, "int32"))
    a = np.linspace(0, 1, 12, dtype="float16").reshape(3, 4)
    result = run(lambda a: op.matmul(a, a, "float32"), a[:, :3])
    np.testing.assert_allclose(result, a[:, :3].astype("f") @ a[:, :3].astype("f"), rtol=1e-6)


# ---------------------------------------------------------------------------------------------
# Derivation
# ---------------------------------------------------------------------------------------------

X4, W4 = ("n", 3, "h", "w"), (8, 3, 3, 3)
DERIVED = [
    (lambda x, w: op.nn.conv2d(x, w, 2, 1), [X4, W4], "[n, 8, (h - 1) floordiv 2 + 1, "),
    (op.nn.conv2d, [None, W4], "ndim = 4"),
    (op.nn.conv2d, [("n", "c", 5, 5), ("o", "i", 2, 2)], "[n, o, 4, 4]"),
    (lambda x: op.nn.max_pool2d(x, 3, 2, 1), [(1, 64, 112, 112)], "[1, 64, 56, 56]"),
    (lambda x: op.nn.avg_pool2d(x, 2, 2, ceil_mode=True), [(1, 2, 7, 8)], "[1, 2, 4, 4]"),
    (op.nn.max_pool1d, [None], "ndim = 3"),
    (lambda x: op.nn.adaptive_avg_pool2d(x, 7), [X4], "[n, 3, 7, 7]"),
    (lambda x: op.nn.adaptive_avg_pool2d(x, 7, "NHWC"), [X4], "[n, 7, 7, w]"),
    (lambda x: op.argmax(x, 1), [X4], "[n, h, w], i64"),
    (op.argmax, [None], "[], i64"),
    (lambda x: op.argmax(x, 1), [None], "tensor<i64>"),
    (op.cumsum, [("n", "m")], "[m * n]"),
    (lambda x: op.cumsum(x, 0, "int32"), [None], "tensor<i32>"),
    (op.isnan, [("n",)], "[n], i1"),
    (lambda x: op.zeros_like(x, "int8"), [None], "tensor<i8>"),
    (lambda x: op.strided_slice(x, [1], [1], [3]), [("n", 8)], "[n, 2]"),
    (lambda x: op.strided_slice(x, [0], [0], ["n"]), [("n", 8)], "[n, 8]"),
    (lambda x: op.strided_slice(x, [0], [-1], [-100], [-1]), [("n", 8)], "[min(n, 99), 8]"),
    (lambda x: op.strided_slice(x, [1], [1], [3]), [None], "tensor<f32>"),
    (lambda x: op.arange(1, "n * 2 + 1", 2), [("n",)], "[n], i64"),
    (lambda x: op.arange(1.0, 2.0, 0.3), [("n",)], "[4], f32"),
    (lambda x: op.eye("n", 3), [("n",)], "[n, 3], f32"),
    (lambda q: op.nn.attention(q, q, q), [("b", "n", 8, 64)], "[b, n, 8, 64]"),
    (lambda q: op.nn.attention(q, q, q), [None], "ndim = 4"),
    (lambda x, w: op.matmul(x, w, "float64"), [("n", 3), (3, 4)], "[n, 4], f64"),
]


@pytest.mark.parametrize(("function", "shapes", "text"), DERIVED)
def test_derivation(write, tensor, function, shapes, text):
    params = [tensor(shape, name=f"x{i}") for i, shape in enumerate(shapes)]
    types = []

    def keep(*values):
        value = function(*values)
        types.append(str(value.type))
        return value

    write(keep, *params)
    assert text in types[0]


def test_derivation_batch_norm(write, tensor):
    x, c = tensor(("n", "c", 4)), [tensor(("c",), name=name) for name in "gbmv"]
    types = []

    def keep(*values):
        types.append(op.nn.batch_norm(*values, 1).type)
        return values[0]

    write(keep, x, *c)
    fields = [str(field) for field in types[0].fields]
    assert fields == ["!relax.tensor<[n, c, 4], f32>"] + ["!relax.tensor<[c], f32>"] * 2


# ---------------------------------------------------------------------------------------------
# Diagnostics
# ---------------------------------------------------------------------------------------------

Q = (2, 5, 8, 4)
ERRORS = [
    (lambda x, w: op.nn.conv2d(x, w, data_layout="NCHW4c"), [X4, W4], "permutation of 'NCHW'"),
    (lambda x, w: op.nn.conv2d(x, w, kernel_layout="OOHW"), [X4, W4], "permutation of 'OIHW'"),
    (lambda x, w: op.nn.conv2d(x, w, out_layout="NCW"), [X4, W4], "expected out_layout"),
    (lambda x, w: op.nn.conv2d(x, w, strides=[1, 0]), [X4, W4], "expected strides from 1"),
    (lambda x, w: op.nn.conv2d(x, w, strides=[1, 1, 1]), [X4, W4], "expected 2 numbers as strides"),
    (lambda x, w: op.nn.conv2d(x, w, padding=[1, 1, 1]), [X4, W4], "expected 4 numbers as padding"),
    (lambda x, w: op.nn.conv2d(x, w, padding=-1), [X4, W4], "expected padding from 0"),
    (lambda x, w: op.nn.conv2d(x, w, dilation=0), [X4, W4], "expected dilation from 1"),
    (lambda x, w: op.nn.conv2d(x, w, groups=0), [X4, W4], "expected groups from 1"),
    (op.nn.conv2d, [("n", 3, "h"), W4], "expected data of rank 4, as its layout is 'NCHW'"),
    (op.nn.conv2d, [X4, (8, 3, 3)], "expected weight of rank 4, as its layout is 'OIHW'"),
    (op.nn.conv2d, [("n", 4, "h", "w"), W4], "expected data of 3 channels, but got 4"),
    (
        lambda x, w: op.nn.conv2d(x, w, groups=3),
        [("n", 9, "h", "w"), W4],
        "expected a multiple of 3 groups as output channels, but got 8",
    ),
    (op.nn.conv2d, [("n", 3, 2, 1), W4], "that the window fits into"),
    (lambda x: op.nn.max_pool2d(x, [2]), [("n", 3, "h")], "expected data of rank 4"),
    (lambda x: op.nn.max_pool2d(x, [2, 2, 2]), [X4], "expected 2 numbers as pool_size"),
    (lambda x: op.nn.max_pool2d(x, 0), [X4], "expected pool_size from 1"),
    (lambda x: op.nn.max_pool2d(x, 2, layout="NCW"), [X4], "expected layout"),
    (lambda x: op.nn.max_pool2d(x, 5), [(1, 1, 3, 3)], "that the window fits into"),
    (lambda x: op.nn.adaptive_avg_pool2d(x, 0), [X4], "expected output_size from 1"),
    (lambda x: op.argmax(x, 4), [X4], "expected an axis from -4 to 3"),
    (lambda x: op.cumsum(x, 4), [X4], "expected an axis from -4 to 3"),
    (lambda x: op.cumsum(x, 0, "bool"), [X4], "expected the result of integer or float"),
    (lambda x: op.tril(x), [("n",)], "expected x of rank 2 or more"),
    (lambda x: op.tril(x, 1.5), [X4], "expected k of data type 'i64'"),
    (lambda x: op.eye_like(x), [X4], "expected x of rank 2"),
    (lambda x: op.eye(-1), [X4], "expected dimensions of 0 or more"),
    (lambda x: op.eye(2.5), [X4], "expected n of data type 'i64'"),
    (lambda x: op.arange(0, 4, 0), [X4], "expected a step other than 0"),
    (lambda x: op.arange(0, 4, 0.0), [X4], "expected a step other than 0"),
    (lambda x: op.arange(0, op.prim_value(True)), [X4], "start, end and step of the same data"),
    (lambda x: op.arange(op.prim_value(True)), [X4], "start, end and step of the same data"),
    (lambda x: op.arange("n", 2.5), [X4], "expected numbers of one data type"),
    (lambda x: op.strided_slice(x, [4], [0], [1]), [X4], "expected an axis from -4 to 3"),
    (lambda x: op.strided_slice(x, [0, 0], [0, 0], [1, 1]), [X4], "expected distinct axes"),
    (lambda x: op.strided_slice(x, [0], [0, 1], [1]), [X4], "expected 1 entries of begin"),
    (lambda x: op.strided_slice(x, [0], [0], []), [X4], "expected 1 entries of end"),
    (lambda x: op.strided_slice(x, [0], [0], [1], [1, 1]), [X4], "expected 1 entries of strides"),
    (lambda x: op.strided_slice(x, [0], [0], [1], [0]), [X4], "known and not 0, but got 0"),
    (lambda x: op.strided_slice(x, [0], [0], [1], ["n"]), [X4], "known and not 0, but got n"),
    (
        lambda x: op.strided_slice(x, [0], [0], [1], [-1], True),
        [X4],
        "known and positive, but got -1",
    ),
    (
        lambda x: op.strided_slice(x, [0], [5], [1], assume_inbound=True),
        [X4],
        "expected an end not before begin",
    ),
    (lambda x, y: op.ewise_fma(x, y, x), [("n",), ("n", 1)], "tensors of the same shape"),
    (lambda x, y: op.ewise_fma(x, y, x), [("n", 3), ("n", 4)], "tensors of the same shape"),
    (lambda x: op.bitwise_and(x, x), [X4], "expected x1 of integer or Boolean data type"),
    (lambda x: op.left_shift(x, x), [X4], "expected x1 of integer data type"),
    (lambda x, v: op.full_like(x, v), [X4, (1,)], "expected fill_value of rank 0"),
    (
        lambda x, g: op.nn.batch_norm(x, g, g, g, g, 1),
        [X4, (4,)],
        "expected gamma with dimension 3",
    ),
    (lambda x, g: op.nn.batch_norm(x, g, g, g, g, 4), [X4, (3,)], "expected an axis from -4"),
    (
        lambda x, g: op.nn.group_norm(x, g, g, 2, 1, [2]),
        [X4, (3,)],
        "expected a multiple of 2 groups as channels, but got 3",
    ),
    (lambda x, g: op.nn.group_norm(x, g, g, 0, 1, [2]), [X4, (3,)], "expected one group or more"),
    (
        lambda x, g: op.nn.group_norm(x, g, g, 3, 1, [1]),
        [X4, (3,)],
        "expected axes without channel_axis",
    ),
    (lambda x, g: op.nn.group_norm(x, g, g, 3, 1, [2]), [X4, (3, 1)], "expected gamma of rank 1"),
    (lambda x, g: op.nn.instance_norm(x, g, g, 1, []), [X4, (3,)], "expected at least one axis"),
    (lambda x, g: op.nn.rms_norm(x, g, []), [X4, (3,)], "expected at least one axis"),
    (lambda x, g: op.nn.rms_norm(x, g, [1]), [X4, (4,)], "expected weight with dimension 3"),
    (lambda q, k: op.nn.attention(q, k, k), [Q, (5, 8, 4)], "expected key of rank 4"),
    (lambda q, k: op.nn.attention(q, k, k), [Q, (3, 5, 8, 4)], "key with batch size 2"),
    (lambda q, v: op.nn.attention(q, q, v), [Q, (3, 5, 8, 4)], "value with batch size 2"),
    (lambda q, k: op.nn.attention(q, k, k), [Q, (2, 5, 8, 3)], "key with number of features 4"),
    (lambda q, k: op.nn.attention(q, k, k), [Q, (2, 5, 3, 4)], "number of heads that divides 8"),
    (lambda q, v: op.nn.attention(q, q, v), [Q, (2, 6, 8, 4)], "value with sequence length 5"),
    (
        lambda q, b: op.nn.attention(q, q, q, b),
        [Q, (2, 8, 5, 4)],
        "expected bias with number of keys 5",
    ),
    (
        lambda q, b: op.nn.attention(q, q, q, b),
        [Q, (2, 7, 5, 5)],
        "expected bias with number of heads 8",
    ),
    (
        lambda q: op.nn.attention(q, q, q, causal_mask="Left"),
        [Q],
        "expected causal_mask 'TopLeft' or 'BottomRight'",
    ),
    (
        lambda q: op.nn.attention(q, q, q, window_size=2),
        [Q],
        "expected window_size of 1 or more with a causal_mask",
    ),
]


@pytest.mark.parametrize(("function", "shapes", "message"), ERRORS)
def test_error(write, tensor, function, shapes, message):
    params = [tensor(shape, name=f"x{i}") for i, shape in enumerate(shapes)]
    with pytest.raises(ValueError, match=r"relax\.") as caught:
        write(function, *params)
    assert message in str(caught.value)


def test_error_data_types(write, tensor):
    def refuse(function, dtypes, message):
        params = [tensor(X4, dtype, name=f"x{i}") for i, dtype in enumerate(dtypes)]
        with pytest.raises(ValueError, match=message):
            write(function, *params)

    refuse(op.nn.conv2d, ["float32", "float16"], "operands of the same data type")
    refuse(op.nn.conv2d, ["bool", "bool"], "expected data of integer or float data type")
    refuse(op.nn.rms_norm, ["int32", "int32"], "expected data of float data type")
    refuse(lambda q: op.nn.attention(q, q, q), ["int32"], "expected query of float data type")
    refuse(lambda x: op.clip(x, 0, 1), ["bool"], "expected x of integer or float data type")
    refuse(op.variance, ["int32"], "expected x of float data type")
    refuse(op.argmax, ["bool"], "expected x of integer or float data type")


def test_clip_takes_numbers(write, tensor):
    with pytest.raises(TypeError, match="expected a number, but got a value"):
        write(lambda x: op.clip(x, x, 1), tensor(X4))


def test_declared_types(write, tensor):
    """Operators print their attributes, and are read again."""
    x, w = tensor(X4), tensor(W4, name="w")
    module = write(lambda x, w: op.nn.conv2d(x, w, 2, 1, groups=1), x, w).get()
    text = str(module)
    assert "relax.conv2d" in text
    assert str(relax.parse_module(text)) == text
