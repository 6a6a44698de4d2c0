"""Calls of operators, of which TVM and relax-mlir derive the StructInfo.

A line is a call. Before it, lines that end with a colon declare its parameters; they hold for the
calls below them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

# By family.
CALLS = {
    "conv": """
x: F("n", 3, "w"), k: F(8, 3, 5):
R.nn.conv1d(x, k)
R.nn.conv1d(x, k, strides=2, padding=[1, 2], dilation=2)
x: F("n", "w", 4), k: F(3, 2, "o"):
R.nn.conv1d(x, k, groups=2, data_layout="NWC", kernel_layout="WIO", out_layout="NCW")
x: F(2, 3, 28, 28), k: F(4, 3, 3, 3):
R.nn.conv2d(x, k)
R.nn.conv2d(x, k, strides=[2, 1], padding=[1, 2, 3, 4], dilation=[1, 2])
R.nn.conv2d(x, k, padding=1, out_dtype="float16")
x: F("n", "c", "h", "w"), k: F("o", "i", 3, "s"):
R.nn.conv2d(x, k)
R.nn.conv2d(x, k, strides=2, padding=1)
x: R.Tensor(("n", 4, 9, 9), "int8"), k: R.Tensor((4, 1, 3, 3), "int8"):
R.nn.conv2d(x, k, groups=4, out_dtype="int32")
x: F("n", "h", "w", 3), k: F(3, 3, 3, 8):
R.nn.conv2d(x, k, data_layout="NHWC", kernel_layout="HWIO")
x: R.Tensor("float32", ndim=4), k: F(8, 3, 3, 3):
R.nn.conv2d(x, k)
x: R.Tensor("float32"), k: R.Tensor("float32", ndim=4):
R.nn.conv2d(x, k)
x: F("n", 2, "d", "h", "w"), k: F(8, 2, 3, 3, 3):
R.nn.conv3d(x, k)
R.nn.conv3d(x, k, strides=[1, 2, 3], padding=1, dilation=[2, 1, 1])
x: F("n", "d", 7, 7, 2), k: F(8, 2, 3, 3, 3):
R.nn.conv3d(x, k, data_layout="NDHWC", padding=[0, 1, 2, 0, 1, 2])
""",
    "pool": """
x: F("n", 3, "w"):
R.nn.max_pool1d(x, 2, strides=2)
R.nn.avg_pool1d(x, 3, strides=2, padding=1, dilation=2)
R.nn.adaptive_avg_pool1d(x, 7)
R.nn.adaptive_avg_pool1d(x)
x: F(1, 3, 32, 33):
R.nn.max_pool2d(x, 3, strides=2)
R.nn.max_pool2d(x, 3, strides=2, ceil_mode=True)
R.nn.avg_pool2d(x, [4, 2], strides=[3, 2], padding=[1, 0, 1, 1], ceil_mode=True)
R.nn.adaptive_avg_pool2d(x, [7, 5])
x: F("n", "h", "w", "c"):
R.nn.max_pool2d(x, [2, 3], strides=[2, 1], layout="NHWC")
R.nn.avg_pool2d(x, 2, layout="NHWC", out_layout="NCHW")
R.nn.adaptive_avg_pool2d(x, 1, layout="NHWC")
x: R.Tensor("float16", ndim=4):
R.nn.max_pool2d(x, 2)
R.nn.avg_pool2d(x, 2)
R.nn.adaptive_avg_pool2d(x, 2)
x: R.Tensor("float32"):
R.nn.max_pool2d(x, 2)
R.nn.adaptive_avg_pool2d(x)
x: F("n", 2, "d", "h", 9):
R.nn.max_pool3d(x, 3, strides=2, padding=1)
R.nn.avg_pool3d(x, [1, 2, 3], strides=2)
R.nn.adaptive_avg_pool3d(x, [1, 2, 3])
x: F(1, 2, 8, 9, 10):
R.nn.avg_pool3d(x, [1, 2, 3], ceil_mode=True, strides=2)
R.nn.max_pool3d(x, 2, strides=[3, 4, 3], padding=1, ceil_mode=True)
R.nn.max_pool3d(x, 3, strides=3, padding=[1, 0, 0, 0, 1, 1], dilation=2, ceil_mode=True)
""",
    "norm": """
x: F("n", "c", "h", 5), g: F("c"):
R.nn.batch_norm(x, g, g, g, g, axis=1)
R.nn.batch_norm(x, g, g, g, g, axis=-3, epsilon=0.1, momentum=0.3, training=False)
R.nn.group_norm(x, g, g, num_groups=2, channel_axis=1, axes=[2, 3])
R.nn.instance_norm(x, g, g, channel_axis=1, axes=[2, 3])
x: F(2, 4, 5), g: F(4), h: F(5):
R.nn.batch_norm(x, g, g, g, g, axis=1)
R.nn.group_norm(x, g, g, num_groups=4, channel_axis=-2, axes=[2], center=False, scale=False)
R.nn.rms_norm(x, h, axes=-1)
x: F("n", "m", "k"), g: F("m", "k"):
R.nn.rms_norm(x, g, axes=[1, 2], epsilon=0.5)
x: R.Tensor("float32", ndim=4), g: R.Tensor("float32", ndim=1):
R.nn.batch_norm(x, g, g, g, g, axis=1)
R.nn.group_norm(x, g, g, num_groups=2, channel_axis=1, axes=[2, 3])
R.nn.instance_norm(x, g, g, channel_axis=1, axes=[2, 3])
R.nn.rms_norm(x, g, axes=[-1])
""",
    "attention": """
q: F("b", "n", 8, 64), k: F("b", "m", 8, 64), v: F("b", "m", 8, 32):
R.nn.attention(q, k, v)
R.nn.attention(q, k, v, scale=0.1, causal_mask="TopLeft")
R.nn.attention(q, k, v, causal_mask="BottomRight", window_size=4)
q: F(2, 5, 8, 4), k: F(2, 7, 8, 4), b: F(2, 8, 5, 7):
R.nn.attention(q, k, k)
R.nn.attention(q, k, k, bias=b)
R.nn.attention(q, k, k, b)
b: F(2, 1, 5, 7), q: F(2, 5, 8, 4), k: F(2, 7, 8, 4):
R.nn.attention(q, k, k, bias=b)
""",
    "reduction": """
x: F("n", "m", 4):
R.variance(x)
R.variance(x, axis=1, keepdims=True)
R.std(x, axis=[0, -1])
R.std(x, keepdims=True)
R.argmax(x)
R.argmax(x, axis=1)
R.argmin(x, axis=-1, keepdims=True)
R.argmin(x, keepdims=True)
R.cumsum(x)
R.cumsum(x, axis=1)
R.cumsum(x, axis=-1, dtype="int64", exclusive=True)
R.cumprod(x, axis=0)
R.cumprod(x)
x: F(2, 3, 4):
R.variance(x, axis=[1, 2])
R.std(x, axis=0)
R.argmax(x, axis=2)
R.cumsum(x)
R.cumprod(x, axis=1, dtype="float64")
x: R.Tensor("float32", ndim=3):
R.variance(x, axis=1)
R.std(x, axis=[0, 1, 2])
R.argmax(x, axis=1)
R.argmax(x)
R.argmin(x, keepdims=True)
R.std(x, keepdims=True)
R.cumsum(x, axis=1)
x: R.Tensor("float32"):
R.variance(x, axis=1)
R.argmax(x, axis=1)
R.argmax(x)
R.cumsum(x, axis=0)
""",
    "create": """
x: F("n", 4), s: R.Shape(["n", 4]):
R.full_like(x, R.const(1, "float32"))
R.full_like(x, R.const(1, "float32"), dtype="int8")
R.ones_like(x)
R.zeros_like(x, dtype="bool")
R.tril(x)
R.triu(x, 1)
R.eye_like(x)
R.eye_like(x, 1, dtype="int32")
R.eye(4)
R.eye(3, 5, k=-1, dtype="int8")
R.arange(10)
R.arange(1, 10, 3)
R.arange(1, 10, 3, dtype="float16")
R.arange(0.5, 3.0, 0.25)
x: R.Tensor("float32", ndim=2):
R.ones_like(x)
R.zeros_like(x, dtype="float16")
R.tril(x)
x: R.Tensor("int32"):
R.ones_like(x)
R.triu(x)
""",
    "slice": """
x: F("n", 10, "m"):
R.strided_slice(x, axes=[1], begin=[1], end=[7])
R.strided_slice(x, axes=[1], begin=[1], end=[8], strides=[3])
R.strided_slice(x, axes=[-2], begin=[8], end=[0], strides=[-2])
R.strided_slice(x, axes=[1], begin=[-3], end=[100])
R.strided_slice(x, axes=[1], begin=[1], end=[8], assume_inbound=True)
x: F(6, 7), y: F("n", "n * 2"):
R.strided_slice(x, axes=[0, 1], begin=[1, 2], end=[5, 7], strides=[1, 2])
R.strided_slice(x, axes=[0, 1], begin=[5, -1], end=[-9, -9], strides=[-1, -2])
x: R.Tensor("float32", ndim=3):
R.strided_slice(x, axes=[1], begin=[1], end=[7])
x: R.Tensor("float32"):
R.strided_slice(x, axes=[1], begin=[1], end=[7])
""",
    "index": """
x: F("n", 4, "m"), i: R.Tensor(("n", 2, "m"), "int64"), u: F("n", 2, "m"):
R.flip(x, axis=1)
R.flip(x, axis=-1)
R.repeat(x, 2, axis=0)
R.repeat(x, 3, axis=-1)
R.repeat(x, 2)
R.tile(x, 2)
R.tile(x, [2, 3])
R.tile(x, (2, 1, 3, 4))
R.stack([x, x], axis=1)
R.stack((x, x, x))
R.gather_elements(x, i, axis=1)
R.scatter_elements(x, i, u, axis=1)
R.scatter_elements(x, i, u, axis=1, reduction="add")
R.quantize(x, R.const(0.5, "float32"), R.const(1, "int8"), axis=1, out_dtype="int8")
x: F(2, 3, 4), i: R.Tensor((5, 2), "int64"), u: F(5, 4):
R.repeat(x, 2)
R.tile(x, [2, 1, 3, 1])
R.stack([x, x], axis=-1)
R.gather_nd(x, i)
R.scatter_nd(x, i, u)
R.scatter_nd(x, i, u, reduction="max")
x: F("b", "n", "m"), i: R.Tensor(("b", "k", 1), "int64"):
R.gather_nd(x, i, batch_dims=1)
R.gather_nd(x, i)
i: R.Tensor(("n", "m"), "int64"):
R.one_hot(i, R.prim_value(T.float32(1)), R.prim_value(T.float32(0)), depth=8)
R.one_hot(i, R.prim_value(T.int8(1)), R.prim_value(T.int8(0)), depth=3, axis=0)
x: R.Tensor("float32", ndim=3), i: R.Tensor("int64", ndim=2):
R.flip(x, axis=1)
R.repeat(x, 2, axis=0)
R.repeat(x, 2)
R.tile(x, [2, 3])
R.stack([x, x], axis=1)
R.gather_elements(x, x.astype("int64"), axis=1)
R.one_hot(i, R.prim_value(T.float32(1)), R.prim_value(T.float32(0)), depth=8)
x: R.Tensor("float32"), i: R.Tensor("int64"):
R.flip(x, axis=1)
R.repeat(x, 2, axis=0)
R.tile(x, [2, 3])
R.one_hot(i, R.prim_value(T.float32(1)), R.prim_value(T.float32(0)), depth=8)
x: R.Tensor(("n", 4), "int8"), s: F(4), z: R.Tensor((4,), "int8"):
R.dequantize(x, s, z, axis=1, out_dtype="float32")
R.dequantize(x, R.const(2.0, "float16"), R.const(1, "int8"), out_dtype="float16")
x: F("n", 8), s: F(8), z: R.Tensor((8,), "int8"):
R.quantize(x, s, z, axis=-1, out_dtype="int8")
R.quantize(x, s, z, axis=-1, out_dtype="uint8")
R.layout_transform(x, index_map=lambda i, j: (j, i))
R.layout_transform(x, index_map=lambda i, j: (i, j // 4, j % 4))
x: F(10, 16):
R.layout_transform(x, index_map=lambda i, j: (i, j // 4, j % 4))
R.layout_transform(x, index_map=lambda i, j: (i // 4, j, i % 4), pad_value=2.0)
R.layout_transform(x, index_map=lambda i, j: (i * 16 + j,))
R.layout_transform(x, index_map=T.index_map(lambda i, j: (j // 4, i, j % 4)))
R.layout_transform(x, index_map=lambda i, j: (i % 32, j // 64, j % 64))
""",
    "elementwise": """
x: F("n", 4), y: F(4):
R.acos(x)
R.asinh(x)
R.square(x)
R.trunc(x)
R.isnan(x)
R.isinf(x)
R.isfinite(x)
R.clip(x, 0, 6)
R.atan2(x, y)
R.floor_mod(x, y)
R.log_add_exp(x, y)
R.ewise_fma(x, x, x)
R.nn.selu(x)
R.nn.leakyrelu(x, 0.2)
R.nn.softplus(x, 1.0, 10.0)
R.nn.relu6(x)
R.matmul(x, y, out_dtype="float16")
x: R.Tensor(("n", 4), "int32"), y: R.Tensor("int32", ndim=2):
R.bitwise_not(x)
R.bitwise_and(x, y)
R.bitwise_or(x, x)
R.bitwise_xor(y, y)
R.left_shift(x, x)
R.right_shift(x, y)
x: R.Tensor(("n",), "bool"):
R.logical_xor(x, x)
x: R.Tensor("float32"):
R.isnan(x)
R.nn.leakyrelu(x)
R.clip(x, 0, 1)
R.grad.no_grad(x)
R.grad.start_checkpoint(x)
R.grad.end_checkpoint(x)
R.builtin.stop_lift_params(x)
""",
}


def programs() -> dict[str, str]:
    """Return functions of one call each, by the name of their family.

    Examples
    --------
    >>> print(programs()["pool"].partition("@R.function")[2].partition("@R.function")[0])
    <BLANKLINE>
    def call_0(x: R.Tensor(("n", 3, "w",), "float32")):
        y = R.nn.max_pool1d(x, 2, strides=2)
        return y
    <BLANKLINE>
    <BLANKLINE>
    <BLANKLINE>
    """
    return {family: _HEAD + "".join(_functions(table)) for family, table in CALLS.items()}


_HEAD = """from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


"""


def _functions(table: str) -> Iterator[str]:
    count = itertools.count()
    params = ""
    for line in table.strip().splitlines():
        if line.endswith(":"):
            params = re.sub(r"F\(([^)]*)\)", r'R.Tensor((\1,), "float32")', line[:-1])
        else:
            yield f"@R.function\ndef call_{next(count)}({params}):\n"
            yield f"    y = {line}\n    return y\n\n\n"


def write(folder: Path) -> list[Path]:
    """Write the functions into files, one for each family."""
    paths = []
    for family, text in programs().items():
        path = folder / f"{family}.py"
        path.write_text(text)
        paths.append(path)
    return paths
