"""Derivation of the results of operators, and their errors."""

import pytest
from relax_mlir import op
from relax_mlir.core.diagnostics import parse_module

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
    (op.argmax, [None], "<ndim = 0, i64>"),
    (lambda x: op.argmax(x, 1), [None], "tensor<*, i64>"),
    (op.cumsum, [("n", "m")], "[m * n]"),
    (lambda x: op.cumsum(x, 0, "int32"), [None], "tensor<*, i32>"),
    (op.isnan, [("n",)], "[n], i1"),
    (lambda x: op.zeros_like(x, "int8"), [None], "tensor<*, i8>"),
    (lambda x: op.strided_slice(x, [1], [1], [3]), [("n", 8)], "[n, 2]"),
    (lambda x: op.strided_slice(x, [0], [0], ["n"]), [("n", 8)], "[n, 8]"),
    (
        lambda x: op.strided_slice(x, [0], [-1], [-100], [-1]),
        [("n", 8)],
        "[n - max(-1, n - 100) - 1, 8]",
    ),
    (lambda x: op.strided_slice(x, [1], [1], [3]), [None], "tensor<*, f32>"),
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


Q = (2, 5, 8, 4)
ERRORS = [
    (lambda x, w: op.nn.conv2d(x, w, data_layout="NCHWC"), [X4, W4], "permutation of 'NCHW'"),
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
    assert str(parse_module(text)).strip() == text.strip()
