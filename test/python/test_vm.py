"""Compiled programs against NumPy: one table of operators, then arguments, callbacks, lifetimes."""

import gc
import math
import re
import threading
import weakref

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int8", "int32", "int64", "uint8", "uint32")
NUMERIC = FLOATS + INTEGERS
TOLERANCE = {"float16": 5e-3, "float32": 2e-5, "float64": 1e-12}

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layer_norm(x, g, b):
    deviation = x - x.mean(-1, keepdims=True)
    return deviation / np.sqrt((deviation**2).mean(-1, keepdims=True) + 1e-5) * g + b


def truncate(a, b):
    return a / b if a.dtype.kind == "f" else np.trunc(a.astype(float) / b).astype(a.dtype)


# Each case: name, operator, reference in NumPy, data types, shapes of the arguments.
N = ("n", 3)
CASES = [
    ("abs", op.abs, np.abs, NUMERIC, [N]),
    ("ceil", op.ceil, np.ceil, FLOATS, [N]),
    ("cos", op.cos, np.cos, FLOATS, [N]),
    ("erf", op.erf, erf, FLOATS, [N]),
    ("exp", op.exp, np.exp, FLOATS, [N]),
    ("floor", op.floor, np.floor, FLOATS, [N]),
    ("gelu", op.nn.gelu, lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))), FLOATS, [N]),
    ("gelu_tanh", op.nn.gelu_tanh, gelu_tanh, FLOATS, [N]),
    ("log", lambda x: op.log(op.abs(x)), lambda x: np.log(np.abs(x)), FLOATS, [N]),
    ("logical_not", op.logical_not, np.logical_not, ["bool"], [N]),
    ("negative", op.negative, np.negative, (*FLOATS, "int32"), [N]),
    ("relu", op.nn.relu, lambda x: np.maximum(x, x.dtype.type(0)), NUMERIC, [N]),
    ("round", op.round, np.round, FLOATS, [N]),
    ("rsqrt", lambda x: op.rsqrt(op.abs(x)), lambda x: 1 / np.sqrt(np.abs(x)), FLOATS, [N]),
    ("sigmoid", op.sigmoid, sigmoid, FLOATS, [N]),
    ("sign", op.sign, np.sign, NUMERIC, [N]),
    ("silu", op.nn.silu, lambda x: x * sigmoid(x), FLOATS, [N]),
    ("sin", op.sin, np.sin, FLOATS, [N]),
    ("sqrt", lambda x: op.sqrt(op.abs(x)), lambda x: np.sqrt(np.abs(x)), FLOATS, [N]),
    ("tanh", op.tanh, np.tanh, FLOATS, [N]),
    ("add", op.add, np.add, NUMERIC, [N, N]),
    ("add-broadcast", op.add, np.add, ["float32"], [("n", 1), (1, "m")]),
    ("add-rank", op.add, np.add, ["float32"], [("n", 3), (3,)]),
    ("add-scalar", lambda x: op.add(x, 2), lambda x: x + 2, ["float32", "int32"], [N]),
    ("divide", op.divide, truncate, (*FLOATS, "int32"), [N, N]),
    ("floor_divide", op.floor_divide, np.floor_divide, NUMERIC, [N, N]),
    ("maximum", op.maximum, np.maximum, NUMERIC, [N, N]),
    ("minimum", op.minimum, np.minimum, NUMERIC, [N, N]),
    ("mod", op.mod, np.mod, NUMERIC, [N, N]),
    ("multiply", op.multiply, np.multiply, NUMERIC, [N, N]),
    ("power", lambda x, y: op.power(op.abs(x), y), lambda x, y: np.abs(x) ** y, FLOATS, [N, N]),
    ("subtract", op.subtract, np.subtract, NUMERIC, [N, N]),
    ("equal", op.equal, np.equal, NUMERIC, [N, N]),
    ("greater", op.greater, np.greater, NUMERIC, [N, N]),
    ("greater_equal", op.greater_equal, np.greater_equal, NUMERIC, [N, N]),
    ("less", op.less, np.less, NUMERIC, [N, N]),
    ("less_equal", op.less_equal, np.less_equal, NUMERIC, [N, N]),
    ("not_equal", op.not_equal, np.not_equal, NUMERIC, [N, N]),
    ("logical_and", op.logical_and, np.logical_and, ["bool"], [N, N]),
    ("logical_or", op.logical_or, np.logical_or, ["bool"], [N, N]),
    (
        "where",
        lambda x: op.where(op.less(x, 0), x, 1),
        lambda x: np.where(x < 0, x, 1),
        FLOATS,
        [N],
    ),
    ("matmul", op.matmul, np.matmul, (*FLOATS, "int32"), [("n", "k"), ("k", "m")]),
    ("matmul-batch", op.matmul, np.matmul, ["float32"], [("b", "n", 3), (3, "m")]),
    ("matmul-batches", op.matmul, np.matmul, ["float32"], [("b", 1, "n", 3), ("c", 3, "m")]),
    ("matmul-vector", op.matmul, np.matmul, ["float32"], [("n", "k"), ("k",)]),
    ("matmul-row", op.matmul, np.matmul, ["float32"], [("k",), ("b", "k", "m")]),
    ("matmul-dot", op.matmul, np.matmul, ["float32"], [("k",), ("k",)]),
    ("reshape", lambda x: op.reshape(x, (-1,)), np.ravel, NUMERIC, [N]),
    ("flatten", op.flatten, np.ravel, ["float32"], [("n", "m", 2)]),
    ("permute_dims", op.permute_dims, np.transpose, ["float32"], [("n", "m", 2)]),
    (
        "permute_dims-axes",
        lambda x: op.permute_dims(x, (1, 0, 2)),
        lambda x: x.transpose(1, 0, 2),
        ["int64"],
        [("n", "m", 2)],
    ),
    (
        "concat",
        lambda x, y: op.concat([x, y, x]),
        lambda x, y: np.concatenate([x, y, x]),
        ["float32", "bool"],
        [("n", 3), ("m", 3)],
    ),
    ("expand_dims", lambda x: op.expand_dims(x, 1), lambda x: x[:, None], ["float32"], [N]),
    ("squeeze", lambda x: op.squeeze(x, 1), lambda x: x[:, 0], ["float32"], [("n", 1)]),
    (
        "broadcast_to",
        lambda x: op.broadcast_to(x, ("n", 4, 3)),
        lambda x: np.broadcast_to(x, (x.shape[0], 4, 3)),
        ["float32"],
        [("n", 1, 3)],
    ),
    (
        "take",
        lambda x: op.take(x, np.array([[2, 0], [9, -1]]), 1),
        lambda x: x[:, [[2, 0], [2, 0]]],
        ["float32"],
        [N],
    ),
    (
        "take-wrap",
        lambda x: op.take(x, [-1, 4], 1, mode="wrap"),
        lambda x: x[:, [2, 1]],
        ["float32"],
        [N],
    ),
    ("softmax", op.nn.softmax, softmax, FLOATS, [N]),
    ("softmax-0", lambda x: op.nn.softmax(x, 0), lambda x: softmax(x, 0), ["float32"], [N]),
    ("log_softmax", op.nn.log_softmax, lambda x: np.log(softmax(x)), FLOATS, [N]),
    (
        "layer_norm",
        lambda x, g, b: op.nn.layer_norm(x, g, b, -1),
        layer_norm,
        ["float32", "float64"],
        [N, (3,), (3,)],
    ),
    ("zeros", lambda x: op.zeros(("n", 2)), lambda x: np.zeros((len(x), 2), "f"), ["float32"], [N]),
    ("ones", lambda x: op.ones(("n",)), lambda x: np.ones(len(x), "f"), ["float32"], [N]),
    ("full", lambda x: op.full(("n",), 2.5), lambda x: np.full(len(x), 2.5, "f"), ["float32"], [N]),
    (
        "constant",
        lambda x: op.add(x, [1, 2, 3]),
        lambda x: x + np.float32([1, 2, 3]),
        ["float32"],
        [N],
    ),
]
for name in ("sum", "mean", "max", "min", "prod"):
    function, numpy = getattr(op, name), getattr(np, name)
    dtypes = FLOATS if name == "mean" else ("float32", "float64", "int32", "int64")
    CASES += [
        (name, function, lambda x, f=numpy: f(x), dtypes, [N]),
        (f"{name}-1", lambda x, f=function: f(x, 1), lambda x, f=numpy: f(x, axis=1), dtypes, [N]),
        (
            f"{name}-keep",
            lambda x, f=function: f(x, [0, -1], True),
            lambda x, f=numpy: f(x, axis=(0, 2), keepdims=True),
            ["float32"],
            [("n", 2, 3)],
        ),
    ]


def arrays_of(shapes, dtype, sizes, seed=0):
    """Return arrays of symbolic shapes; integers from 1 so that they can divide."""
    rng = np.random.default_rng(seed)
    arrays = []
    for shape in shapes:
        dims = [sizes[dim] if isinstance(dim, str) else dim for dim in shape]
        if dtype == "bool":
            arrays.append(rng.random(dims) < 0.5)
        elif dtype.startswith("float"):
            arrays.append(rng.standard_normal(dims).astype(dtype))
        else:
            numbers = rng.integers(1, 8, dims)
            signs = 1 if dtype.startswith("uint") else rng.choice([-1, 1], dims)
            arrays.append((numbers * signs).astype(dtype))
    return arrays


def assert_close(actual, expected, dtype):
    assert actual.shape == expected.shape
    tolerance = TOLERANCE.get(dtype, 0)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("function", "reference", "dtype", "shapes"),
    [
        pytest.param(function, reference, dtype, shapes, id=f"{name}-{dtype}")
        for name, function, reference, dtypes, shapes in CASES
        for dtype in dtypes
    ],
)
def test_operator(write, load, tensor, function, reference, dtype, shapes):
    params = [tensor(shape, dtype, name=f"x{i}") for i, shape in enumerate(shapes)]
    main = load(write(function, *params))
    for size in (1, 5):
        sizes = {"n": size, "m": 4, "k": 2 * size, "b": 2, "c": 3}
        arrays = arrays_of(shapes, dtype, sizes)
        expected = np.asarray(reference(*arrays))
        actual = np.from_dlpack(main(*arrays))
        kind = expected.dtype.kind
        assert actual.dtype == (expected.dtype if kind == "b" else np.dtype(dtype))
        assert_close(actual, expected.astype(actual.dtype), dtype)


def test_split(run):
    x = np.arange(12, dtype="float32").reshape(2, 6)
    halves = run(lambda x: op.split(x, 2, 1), x, shapes=[("n", 6)])
    parts = run(lambda x: op.split(x, [1, 4], 1), x, shapes=[("n", 6)])
    for actual, expected in [(halves, np.split(x, 2, 1)), (parts, np.split(x, [1, 4], 1))]:
        assert len(actual) == len(expected)
        for part, array in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(np.from_dlpack(part), array)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (3, [0, 2, 4, 5]),
        (4, [0, 2, 4, 5, 5]),
        ([-2, 2, 4, 3, 9], [0, 0, 2, 4, 3, 5, 5]),
    ],
)
def test_split_unevenly(run, given, bounds):
    x = np.arange(10, dtype="float32").reshape(2, 5)
    parts = run(lambda x: op.split(x, given, 1), x)
    starts = [0, 2, 4, 5, 5, 5][: len(parts)] if isinstance(given, int) else [0, 0, 2, 4, 3, 5]
    assert len(parts) == len(starts)
    for part, start, stop in zip(parts, starts, bounds[1:], strict=True):
        np.testing.assert_array_equal(np.from_dlpack(part), x[:, start : max(start, stop)])


def test_softmax_does_not_overflow(run):
    x = np.array([[1e4, 1e4 - 1], [-1e4, 0]], "float32")
    np.testing.assert_allclose(run(op.nn.softmax, x), softmax(x), rtol=1e-5)
    np.testing.assert_allclose(
        run(op.nn.log_softmax, x), [[-0.313262, -1.313262], [-1e4, 0]], rtol=1e-4
    )


@pytest.mark.parametrize("target", ["float64", "float16", "int8", "int64", "uint8", "bool"])
def test_astype(run, target):
    x = np.array([0, 1.75, 2.5, 100.25], "float32")
    result = run(lambda x: op.astype(x, target), x)
    np.testing.assert_array_equal(result, x.astype(target))


def test_empty_tensors(run):
    x = np.zeros((0, 3), "float32")
    assert run(op.exp, x, shapes=[("n", 3)]).shape == (0, 3)
    assert run(lambda x: op.sum(x, 0), x, shapes=[("n", 3)]).tolist() == [0, 0, 0]


# ---------------------------------------------------------------------------------------------
# Values other than tensors
# ---------------------------------------------------------------------------------------------


def test_gr11_gr12_values(write, load, tensor):
    x = tensor(("n", 4))
    main = load(
        write(lambda x: (op.shape_of(x), relax.Dim("n * 2"), 2.5, True, "a long string", None), x)
    )
    shape, twice, number, truth, text, nothing = main(np.zeros((3, 4), "float32"))
    assert tuple(shape) == (3, 4)
    assert (twice, number, truth, text, nothing) == (6, 2.5, True, "a long string", None)


def test_gr12_shape_and_prim_arguments(write, load):
    s = relax.Var("s", relax.ShapeStructInfo(("n", "m")))
    k = relax.Var("k", relax.PrimStructInfo("int64", "k"))
    main = load(write(lambda s, k: op.zeros(("n * m", "k")), s, k))
    assert np.from_dlpack(main(tvm_ffi.Shape((2, 3)), 4)).shape == (6, 4)


def test_gr10_tuple_argument(write, load, tensor):
    x = relax.TensorStructInfo(("n",), "float32")
    t = relax.Var("t", relax.TupleStructInfo([x, x]))
    main = load(write(lambda t: op.add(op.get_item(t, 0), op.get_item(t, 1)), t))
    result = main((np.ones(2, "float32"), np.ones(2, "float32")))
    assert np.from_dlpack(result).tolist() == [2, 2]
    with pytest.raises(ValueError, match="argument 't'"):
        main((np.ones(2, "float32"), np.ones(3, "float32")))


# ---------------------------------------------------------------------------------------------
# Arguments: kinds of tensors
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def double(write, load, tensor):
    return load(write(lambda x: op.add(x, x), tensor(("n", "m"))))


@pytest.fixture
def identity(write, load, tensor):
    return load(write(lambda x: x, tensor(("n",))))


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::2, 1::3],
        lambda a: a[::-1, ::-1],
        lambda a: np.broadcast_to(a[0], a.shape).copy(),
        lambda a: a[2:3, 1:1],
        np.asfortranarray,
    ],
)
def test_strided_arrays(double, view):
    x = view(np.arange(42, dtype="float32").reshape(6, 7))
    np.testing.assert_array_equal(np.from_dlpack(double(x)), x + x)


def test_misaligned_array(double):
    memory = np.zeros(6 * 4 + 1, "uint8")
    x = memory[1:].view("float32").reshape(2, 3)
    x[:] = 1.5
    assert not x.flags.aligned
    assert np.from_dlpack(double(x)).tolist() == [[3, 3, 3], [3, 3, 3]]


def test_read_only_array(double):
    x = np.ones((2, 2), "float32")
    x.flags.writeable = False
    np.testing.assert_array_equal(double(x), x + x)
    broadcast = np.broadcast_to(np.float32(3), (2, 2))
    np.testing.assert_array_equal(double(broadcast), broadcast + broadcast)
    assert not x.flags.writeable


def test_result_shares_nothing_with_read_only_arguments(identity):
    x = np.arange(3, dtype="float32")
    x.flags.writeable = False
    result = np.asarray(identity(x))
    np.testing.assert_array_equal(result, x)
    assert not np.may_share_memory(result, x)


def test_arguments_are_not_copied(identity):
    x = np.zeros(3, "float32")
    assert np.from_dlpack(identity(x)).ctypes.data == x.ctypes.data


def test_tvm_ffi_tensor(identity):
    x = tvm_ffi.from_dlpack(np.arange(3, dtype="float32"))
    assert np.from_dlpack(identity(x)).tolist() == [0, 1, 2]


def test_torch_tensors(double, identity):
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert torch.equal(torch.from_dlpack(double(x)), x + x)
    assert torch.equal(torch.from_dlpack(double(x.T)), x.T + x.T)
    assert torch.from_dlpack(identity(x[0])).data_ptr() == x.data_ptr()


def test_error_torch_dtype(double):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"argument 'x0?'.*float64"):
        double(torch.zeros(2, 3, dtype=torch.float64))


# ---------------------------------------------------------------------------------------------
# Arguments that do not fit (MC07, MC08)
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def checked(write, load, tensor):
    x = tensor(("n", 4))
    y = tensor(("n * 2",), "int32", name="y")
    return load(write(lambda x, y: x, x, y))


GOOD = np.zeros((3, 4), "float32"), np.zeros(6, "int32")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), TypeError, "main() missing 2 required positional arguments: 'x' and 'y'"),
        ((*GOOD, 1), TypeError, "main() takes 2 positional arguments but 3 were given"),
        ((GOOD[0][0], GOOD[1]), ValueError, "argument 'x': expected !relax.tensor<[n, 4], f32>"),
        ((GOOD[0][0], GOOD[1]), ValueError, "rank 1"),
        ((GOOD[0].astype("float64"), GOOD[1]), TypeError, "float64"),
        ((GOOD[0].astype("int32"), GOOD[1]), TypeError, "int32"),
        ((GOOD[0][:, :3], GOOD[1]), ValueError, "dimension 1 is 3, expected 4"),
        ((GOOD[0], GOOD[1][:5]), ValueError, "argument 'y': expected !relax.tensor<[n * 2], i32>"),
        ((GOOD[0], GOOD[1][:5]), ValueError, "dimension 0 is 5"),
        ((1, GOOD[1]), TypeError, "the integer 1"),
        ((None, GOOD[1]), TypeError, "argument 'x'"),
        (("text", GOOD[1]), TypeError, "argument 'x'"),
        (((GOOD[0],), GOOD[1]), TypeError, "argument 'x'"),
        ((GOOD[1], GOOD[0]), (TypeError, ValueError), "argument 'x'"),
    ],
)
def test_error_mc07_mc08_argument(checked, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        checked(*arguments)
    assert np.from_dlpack(checked(*GOOD)).shape == (3, 4)  # the process goes on


def test_error_mc07_match_cast(write, load, tensor):
    x, u = tensor(("n",)), tensor(None, None, name="u")
    wanted = relax.TensorStructInfo(("n", "m"), "float32")
    main = load(write(lambda x, u: op.match_cast(u, wanted), x, u))
    ones = np.ones(2, "float32")
    assert np.from_dlpack(main(ones, np.ones((2, 5), "float32"))).shape == (2, 5)
    for wrong, error, message in [
        (np.ones((3, 5), "float32"), ValueError, "dimension 0 is 3, where n = 2"),
        (np.ones(2, "float32"), ValueError, "rank 1"),
        (np.ones((2, 5)), TypeError, "float64"),
    ]:
        with pytest.raises(error, match=message) as caught:
            main(ones, wrong)
        assert "main: match_cast" in str(caught.value)
        assert "!relax.tensor<[n, m], f32>" in str(caught.value)


def test_mc09_match_cast_without_use(write, load, tensor):
    u = tensor(None, None, name="u")
    main = load(write(lambda u: (op.match_cast(u, relax.TensorStructInfo((2,))), u)[1], u))
    assert np.from_dlpack(main(np.ones(2))).shape == (2,)
    with pytest.raises(ValueError, match="dimension 0 is 3, expected 2"):
        main(np.ones(3))


def test_error_reshape_of_unknown_size(run):
    x, y = np.ones((3, 2), "float32"), np.ones(2, "float32")
    both = lambda x, y: op.reshape(x, ("m", 2))  # noqa: E731
    assert run(both, x, np.ones(3, "float32"), shapes=[("n", 2), ("m",)]).shape == (3, 2)
    with pytest.raises(
        ValueError, match=r"the operands of relax.reshape: .* is 6, where m \* 2 = 4"
    ):
        run(both, x, y, shapes=[("n", 2), ("m",)])


# ---------------------------------------------------------------------------------------------
# Packed functions (OP03, OP04)
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def register():
    """Register Python functions for the time of a test."""
    names = []

    def register(name, function):
        tvm_ffi.register_global_func(name, function, override=True)
        names.append(name)
        return name

    yield register
    for name in names:
        tvm_ffi.registry.remove_global_func(name)


def test_op04_call_packed(write, load, tensor, register):
    seen = []

    def record(*values):
        seen.extend(values)
        return values[0]

    name = register("test_vm.record", record)
    call = lambda x: op.call_packed(name, x, 1, 2.5, "text", None, op.shape(("n",)))  # noqa: E731
    x = np.arange(3, dtype="float32")
    result = load(write(call, tensor(("n",)), pure=False))(x)
    assert np.from_dlpack(result).ctypes.data == x.ctypes.data
    assert seen[1:5] == [1, 2.5, "text", None]
    assert tuple(seen[5]) == (3,)


def test_op04_result_is_checked(write, load, tensor, register):
    name = register("test_vm.wrong", lambda: "no tensor")
    wanted = relax.TensorStructInfo((2,), "float32")
    main = load(write(lambda: op.call_packed(name, sinfo_args=wanted), pure=False))
    with pytest.raises(TypeError, match=r"test_vm\.wrong|expected !relax.tensor<\[2\], f32>"):
        main()


def test_op03_call_dps_packed(write, load, tensor, register):
    def repeat(x, out):
        np.from_dlpack(out)[:] = np.tile(np.from_dlpack(x), 2)

    name = register("test_vm.repeat", repeat)
    out = relax.TensorStructInfo(("n * 2",), "float32")
    main = load(write(lambda x: op.call_dps_packed(name, x, out), tensor(("n",))))
    assert np.from_dlpack(main(np.array([1, 2], "float32"))).tolist() == [1, 2, 1, 2]


# SE04
def test_gr13_extern_func(write, load, tensor, register):
    name = register("test_vm.triple", lambda x: 3 * x)
    k = relax.Var("k", relax.PrimStructInfo("int64"))
    assert load(write(lambda k: op.call(op.extern_func(name), k), k, pure=False))(4) == 12


def test_error_op04_not_registered(write, load):
    main = load(write(lambda: op.call_packed("test_vm.missing"), pure=False))
    with pytest.raises(ValueError, match=r"test_vm\.missing.*register_global_func"):
        main()


def test_error_op04_callback_keeps_message_and_traceback(write, load, register):
    def inner_function():
        raise KeyError("my message")

    name = register("test_vm.fail", lambda: inner_function())
    main = load(write(lambda: op.call_packed(name), pure=False))
    for _ in range(3):  # the process goes on
        with pytest.raises(KeyError, match="my message") as caught:
            main()
        assert "inner_function" in [entry.name for entry in caught.traceback]


def test_error_op04_own_exception_class(write, load, register):
    class MyError(Exception):
        pass

    def fail():
        raise MyError("mine")

    main = load(write(lambda: op.call_packed(register("test_vm.own", fail)), pure=False))
    with pytest.raises(Exception, match="mine"):
        main()


# ---------------------------------------------------------------------------------------------
# Recursion, threads, lifetimes, names
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def countdown(load):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((), "int64"))
    with bb.function("main", [x], ret_struct_info=x.struct_info):
        # Not a tail call, which would take no more depth.
        again = lambda: op.abs(op.call(relax.GlobalVar("main"), op.subtract(x, 1)))  # noqa: E731
        bb.emit_func_output(bb.if_(op.greater(x, 0), again, lambda: x))
    return load(bb)


def test_error_recursion_limit(countdown):
    assert np.from_dlpack(countdown(np.array(900))) == 0
    with pytest.raises(RecursionError):
        countdown(np.array(5000))
    old = relax.set_recursion_limit(50)
    try:
        with pytest.raises(RecursionError, match="main"):
            countdown(np.array(60))
    finally:
        assert relax.set_recursion_limit(old) == 50
    assert np.from_dlpack(countdown(np.array(60))) == 0


def test_threads(double):
    wrong = []

    def work(number):
        x = np.full((16, 16), number, "float32")
        for _ in range(200):
            if not (np.from_dlpack(double(x)) == 2 * number).all():
                wrong.append(number)
            try:
                double(x[0])
                wrong.append("no error")
            except ValueError:
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_function_keeps_the_code_alive(write, tensor, exec_mode):
    executable = relax.compile(write(lambda x: op.add(x, np.ones(3, "float32")), tensor((3,))))
    code = weakref.ref(executable.code)
    main = relax.VirtualMachine(executable)["main"]
    del executable
    gc.collect()
    assert np.from_dlpack(main(np.zeros(3, "float32"))).tolist() == [1, 1, 1]
    del main
    gc.collect()
    assert code() is None


def test_results_outlive_the_code(write, load, tensor):
    weights = np.arange(1000, dtype="float32")
    main = load(write(lambda x: (op.const(weights), op.add(x, 1)), tensor(("n",))))
    constant, total = main(np.zeros(1000, "float32"))
    del main
    gc.collect()
    assert (np.from_dlpack(constant) == weights).all()
    assert (np.from_dlpack(total) == 1).all()


def test_views_outlive_the_result(double):
    view = np.from_dlpack(double(np.ones((100, 100), "float32")))
    gc.collect()
    assert (view == 2).all()


def test_constants_are_not_shared_with_callers(write, load):
    main = load(write(lambda: op.const(np.zeros(3, "float32"))))
    np.from_dlpack(main())[:] = 7
    assert np.from_dlpack(main()).tolist() == [0, 0, 0]


def test_arguments_are_released(identity):
    x = np.zeros(3, "float32")
    alive = weakref.ref(x)
    identity(x)
    del x
    gc.collect()
    assert alive() is None


@pytest.fixture
def machine(tensor, exec_mode):
    bb = relax.BlockBuilder()
    for name, private in (("one", False), ("two", False), ("hidden", True)):
        x = tensor(("n",))
        with bb.function(name, [x], private=private):
            bb.emit_func_output(x)
    return relax.VirtualMachine(relax.compile(bb))


def test_names(machine):
    assert list(machine) == ["one", "two"]
    assert ("one" in machine, "hidden" in machine) == (True, False)
    assert machine["one"] is machine["one"]


@pytest.mark.parametrize("name", ["three", "hidden", ""])
def test_error_unknown_name(machine, name):
    with pytest.raises(KeyError, match=r"a public function \(one, two\), but got"):
        machine[name]
