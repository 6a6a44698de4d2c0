"""Programs that TVM 0.25 and this project have words for: expressions over the parameters that
they name, and functions with effects.
"""

from __future__ import annotations

import re

PARAMS = {
    "x": 'R.Tensor(("n", 8), "float32")',
    "y": 'R.Tensor(("n", 8), "float32")',
    "z": 'R.Tensor((4, 6), "float32")',
    "i": 'R.Tensor((3,), "int64")',
    "ib": 'R.Tensor((4, 6), "int32")',
    "b": 'R.Tensor(("n", 8), "bool")',
    "b0": 'R.Tensor((), "bool")',
    "v": 'R.Tensor((8,), "float32")',
    "img": 'R.Tensor((1, 4, 16, 16), "float32")',
    "w": 'R.Tensor((8, 4, 3, 3), "float32")',
    "w1": 'R.Tensor((8, 4, 3), "float32")',
    "sig": 'R.Tensor((1, 4, 16), "float32")',
    "vol": 'R.Tensor((1, 4, 8, 8, 8), "float32")',
    "w3": 'R.Tensor((8, 4, 3, 3, 3), "float32")',
    "wt": 'R.Tensor((4, 8, 3, 3), "float32")',
    "wt1": 'R.Tensor((4, 8, 3), "float32")',
    "c4": 'R.Tensor((4,), "float32")',
    "q": 'R.Tensor((2, 5, 3, 8), "float32")',
    "u8": 'R.Tensor((4, 6), "uint8")',
    "h": 'R.Tensor((4, 6), "float16")',
    "f64": 'R.Tensor((4,6), "float64")',
    "idx2": 'R.Tensor((2, 2), "int64")',
    "s0": 'R.Tensor((), "float32")',
    "pn": 'R.Prim("int64")',
    "o": "R.Object",
    "t2": 'R.Tuple(R.Tensor((4, 6), "float32"), R.Tensor((), "int64"))',
}

PURE = r"""
R.add(x, y)
R.add(x, R.const(1.5))
R.add(x, R.const(1.5, "float32"))
R.multiply(ib, R.const(2, "int32"))
x + y
x * y - x
x / y
ib // ib
ib % ib
-x
x > y
x == y
R.abs(x)
R.exp(x)
R.round(x)
R.rsqrt(x)
R.bitwise_not(ib)
R.logical_not(b)
R.logical_and(b, b)
R.left_shift(ib, ib)
R.mod(x, y)
R.floor_mod(ib, ib)
R.power(x, y)
R.atan2(x, y)
R.log_add_exp(x, y)
R.clip(x, 0, 6)
R.clip(x, 0.5, 6.25)
R.clip(ib, 1, 3)
R.ewise_fma(x, y, x)
R.arange(10)
R.arange(1, 10, 2, "int32")
R.arange(1, 10, 2, "float32")
R.eye(4)
R.eye(4, 5, 1, "float32")
R.eye_like(z)
R.eye_like(z, 1, "int32")
R.full((4, 6), R.const(1, "float32"))
R.full((4, 6), R.const(1, "float32"), dtype="float32")
R.full((4, 6), R.const(1, "float32"), "int32")
R.full_like(z, s0)
R.full_like(z, s0, "float16")
R.ones((4, 6), "float32")
R.zeros((4, 6), "int32")
R.zeros_like(z)
R.zeros_like(z, "int32")
R.ones_like(z)
R.ones_like(x, "float16")
R.astype(x, "float16")
R.tril(z)
R.triu(z, 1)
R.tril(z, -1)
R.strided_slice(z, axes=[0], begin=[1], end=[3])
R.strided_slice(z, axes=[0, 1], begin=[1, 0], end=[3, 5], strides=[1, 2])
R.strided_slice(z, axes=[0], begin=[-1], end=[-4], strides=[-1])
R.strided_slice(z, axes=[0], begin=[1], end=[3], assume_inbound=True)
R.take(z, i, axis=1, mode="clip")
R.take(z, i, axis=1, mode="wrap")
R.matmul(x, v)
R.matmul(x, R.permute_dims(y))
R.linear(x, y)
R.broadcast_to(v, (4, 8))
R.reshape(z, (3, 8))
R.reshape(z, (-1,))
R.concat((x, y), axis=1)
R.concat([x, y])
R.stack((x, y), axis=1)
R.stack([x, y])
R.expand_dims(x, 0)
R.expand_dims(x, [0, 1])
R.squeeze(R.expand_dims(x, 0), [0])
R.flatten(x)
R.flip(z, 0)
R.gather_elements(z, R.astype(ib, "int64"), axis=1)
R.gather_nd(z, idx2)
R.gather_nd(z, idx2, batch_dims=0)
R.one_hot(i, R.prim_value(1.0), R.prim_value(0.0), 5)
R.one_hot(i, R.prim_value(1), R.prim_value(0), 5, axis=0)
R.permute_dims(x)
R.permute_dims(x, [1, 0])
R.repeat(x, 2)
R.repeat(x, 2, axis=1)
R.scatter_elements(z, R.astype(ib, "int64"), z, axis=0)
R.scatter_elements(z, R.astype(ib, "int64"), z, axis=0, reduction="add")
R.scatter_nd(z, idx2, R.zeros((2,), "float32"))
R.scatter_nd(z, idx2, R.zeros((2,), "float32"), "add")
R.split(z, 2)
R.split(z, 3, axis=1)
R.split(z, [1, 3], axis=0)
R.tile(z, 2)
R.tile(z, (2, 1))
R.dequantize(R.astype(z, "int8"), R.const(0.5, "float32"), R.const(1, "int8"))
R.quantize(z, R.const(0.5, "float32"), R.const(1, "int8"), axis=0, out_dtype="int8")
R.argmax(x)
R.argmin(x, axis=1)
R.argmax(x, axis=-1, keepdims=True)
R.max(x)
R.max(x, axis=1)
R.sum(x, axis=[0, 1], keepdims=True)
R.mean(x, axis=[1])
R.prod(x, 1)
R.std(x, 1)
R.variance(x)
R.where(b, x, y)
R.unique(z)
R.unique(z, sorted=True)
R.unique(z, sorted=True, return_index=True, return_inverse=True, return_counts=True)
R.unique(z, return_counts=True)
R.unique(z, return_index=True, axis=0)
R.cumsum(z)
R.cumsum(z, axis=1)
R.cumsum(z, axis=0, dtype="float64", exclusive=True)
R.cumprod(z, axis=0, exclusive=0)
R.nn.conv1d(sig, w1)
R.nn.conv1d(sig, w1, strides=2, padding=1, dilation=1, out_dtype="float32")
R.nn.conv2d(img, w)
R.nn.conv2d(img, w, strides=(2, 1), padding=(1, 2), out_dtype="float32")
R.nn.conv2d(img, w, padding=(1, 2, 0, 1), dilation=2)
R.nn.conv2d(R.permute_dims(img, [0, 2, 3, 1]), w, data_layout="NHWC", kernel_layout="OIHW")
R.nn.conv3d(vol, w3)
R.nn.max_pool1d(sig, pool_size=2)
R.nn.max_pool2d(img, pool_size=[2, 2], strides=[2, 2], padding=[0, 0])
R.nn.max_pool2d(img, 3, ceil_mode=True)
R.nn.max_pool3d(vol, 2)
R.nn.avg_pool1d(sig, 2)
R.nn.avg_pool2d(img, (2, 2), count_include_pad=True)
R.nn.avg_pool2d(img, 2, layout="NCHW", out_layout="NHWC")
R.nn.avg_pool3d(vol, 2)
R.nn.adaptive_avg_pool1d(sig, 4)
R.nn.adaptive_avg_pool2d(img)
R.nn.adaptive_avg_pool2d(img, (4, 4))
R.nn.adaptive_avg_pool3d(vol, 2)
R.nn.attention(q, q, q)
R.nn.attention(q, q, q, scale=0.5, causal_mask="TopLeft")
R.nn.attention(q, q, q, causal_mask="BottomRight", window_size=3)
R.nn.attention(q, q, q, R.zeros((2, 3, 5, 5), "float32"))
R.nn.gelu(x)
R.nn.gelu_tanh(x)
R.nn.relu(x)
R.nn.relu6(x)
R.nn.selu(x)
R.nn.silu(x)
R.nn.batch_norm(img, c4, c4, c4, c4, axis=1)
R.nn.group_norm(img, c4, c4, 2, 1, [2, 3])
R.nn.instance_norm(img, c4, c4, 1, [2, 3])
R.nn.layer_norm(x, v, v, axes=[-1])
R.nn.layer_norm(x, v, v, axes=-1, epsilon=1e-3, center=False, scale=False)
R.nn.leakyrelu(x)
R.nn.leakyrelu(x, 0.2)
R.nn.softmax(x)
R.nn.log_softmax(x, axis=0)
R.nn.rms_norm(x, v)
R.nn.rms_norm(x, v, axes=[-1], epsilon=1e-3)
R.nn.softplus(x)
R.nn.softplus(x, 2.0, 10.0)
R.grad.no_grad(x)
R.grad.start_checkpoint(x)
R.shape_of(x)
R.call_pure_packed("my.func", x, sinfo_args=R.Tensor((n, 8), "float32"))
R.call_pure_packed("vm.builtin.copy", x, sinfo_args=R.Tensor((n, 8), "float32"))
R.call_dps_packed("my.dps", (x, y), out_sinfo=R.Tensor((4, 8), "float32"))
R.call_dps_packed("my.dps", R.tuple(x, y), out_sinfo=R.Tensor((4, 8), "float32"))
R.const([1.0, 2.0, 3.0], "float32")
R.const([[1, 2], [3, 4]], "int64")
R.const(numpy.arange(6, dtype="float32").reshape(2, 3))
R.const(numpy.array([True, False]))
R.const(numpy.array([1, -2], dtype="int8"))
R.const(numpy.array([1.5, -2], dtype="float16"))
R.const(True, "bool")
R.add(x, R.const(numpy.arange(8, dtype="float32")))
(x, y)
R.tuple(x)
R.tuple()
t2[0]
(x, (y, z))[1]
R.prim_value(3)
R.prim_value(T.float32(1.5))
R.prim_value(n + 1)
R.shape([n, 8, n * 2])
R.str("hello \"quoted\" \n newline")
R.dtype("float16")
R.null_value()
R.hint_on_device(x, R.cpu())
R.match_cast(o, R.Tensor((m, 3), "float32"))
R.match_cast(o, R.Tensor((n, 3)))
R.match_cast(o, R.Tensor(ndim=3))
R.match_cast(o, R.Shape([m, 3]))
R.match_cast(o, R.Tuple(R.Tensor, R.Object))
R.ones((n, n + 1, n * 2 - 1, n // 2, n % 3), "float32")
R.ones((T.max(n, 4), T.min(n, 8), T.int64(3)), "float32")
R.reshape(x, (n * 8,))
R.full((n,), R.const(2, "int32"))
R.builtin.stop_lift_params(x)
R.add(R.const(float("inf")), R.const(float("nan")))
R.const(-0.0, "float32")
R.const(1e-45, "float32")
R.const(1e300, "float64")
R.const(2**62, "int64")
R.prim_value(True)
R.add(R.expand_dims(v, 0), x)
R.layout_transform(z, index_map=lambda i, j: (j, i))
R.layout_transform(z, index_map=lambda i, j: (i, j // 4, j % 4), pad_value=0.0)
R.layout_transform(z, index_map=lambda i, j: (i // 2, j, i % 2))
R.astype(R.zeros((2,), "bfloat16"), "float32")
R.astype(z, "float8_e4m3fn")
R.isnan(x)
R.isfinite(x)
R.sign(ib)
R.erf(x)
R.trunc(x)
R.minimum(x, R.const(0, "float32"))
R.not_equal(x, y)
R.add(z, R.const(numpy.arange(24, dtype="float32").reshape(4, 6) * numpy.nan))
R.const(numpy.arange(60, dtype="float32").reshape(3, 20))
R.const(numpy.arange(60, dtype="int16"))
R.const(numpy.arange(60, dtype="float64"))
R.const(numpy.arange(60, dtype="uint64"))
R.const(numpy.arange(60) % 3 == 0)
R.const(numpy.ones(60, "float16"))
R.const(numpy.ones((0, 3), "float32"))
R.tril(z, pn)
R.nn.relu(z)
R.repeat(z, 3, 0)
R.add(R.const(1.0, "bfloat16"), R.const(2.0, "bfloat16"))
R.astype(z, "bfloat16")
"""

EFFECTS = r"""
R.print(x, y, format="x {} y {}")
R.print(x)
R.print(format="hello")
R.assert_op(b0)
R.assert_op(b0, x, format="x is {}")
R.assert_op(b0, [x, y], format="x is {} {}")
R.assert_op(R.const(True), format="no")
R.call_packed("my.effect", x, sinfo_args=R.Tensor((n, 8), "float32"))
R.call_packed("my.effect", x, R.prim_value(2), R.str("s"), sinfo_args=[R.Object])
R.call_packed("vm.builtin.copy", x, sinfo_args=R.Tensor((n, 8), "float32"))
"""


def source(expression: str, is_pure: bool) -> str:
    """Return a function of TVM for an expression."""
    used = [name for name in PARAMS if re.search(rf"\b{name}\b", expression)]
    dims = [name for name in ("n", "m") if re.search(rf"\b{name}\b", expression)]
    if "n" in dims and not {"x", "y", "b"} & set(used):
        used.insert(0, "x")
    if {"x", "y", "b"} & set(used):
        dims = ["n", *(name for name in dims if name != "n")]
    params = ", ".join(f"{name}: {PARAMS[name]}" for name in used)
    return "\n".join(
        [
            f"@R.function(pure={is_pure})",
            f"def main({params}):",
            *(f"    {name} = T.int64()" for name in dims),
            f"    lv = {expression}",
            "    return lv",
            "",
        ]
    )


def sources() -> dict[str, str]:
    """Return all programs by their expressions."""
    pure = {each: source(each, True) for each in PURE.strip().splitlines()}
    return pure | {each: source(each, False) for each in EFFECTS.strip().splitlines()}
