"""Calls of functions of topi, with arrays: what TVM computes for them.

As a program it writes TVM's results into a file: ``python topi_cases.py OUTPUT.npz``. A result that
TVM refuses is a string.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

rng = np.random.default_rng(0)
INT = "int32"


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return (rng.standard_normal(shape) * 2).astype(dtype)


def ints(*values: Any, dtype: str = INT) -> np.ndarray:
    return np.array(values, dtype)


Case = tuple[Callable[..., Any], list[np.ndarray]]
F16 = "float16"

# Takes topi, and a function that makes a constant of type int32, before the tensors.
CASES: dict[str, Case] = {
    "sum": (lambda t, c, a: t.sum(a, 1), [floats(3, 5, dtype=F16)]),
    "sum of axes": (lambda t, c, a: t.sum(a, (0, 2), True), [floats(3, 5, 2)]),
    "prod": (lambda t, c, a: t.prod(a, 0), [ints(1, 2, 3, 4, dtype="int8")]),
    "argmax": (lambda t, c, a: t.argmax(a, None), [floats(3, 5)]),
    "argmax last": (
        lambda t, c, a: t.argmax(a, 1, True, True),
        [ints([1, 3, 3], [2, 2, 1])],
    ),
    "argmin": (lambda t, c, a: t.argmin(a, -1), [floats(3, 5)]),
    "collapse_sum": (lambda t, c, a: t.collapse_sum(a, (3, 1)), [floats(2, 3, 4)]),
    "cumsum": (lambda t, c, a: t.cumsum(a, 1, exclusive=True), [floats(2, 3)]),
    "cumsum of all": (lambda t, c, a: t.cumsum(a), [floats(2, 3)]),
    "cumprod": (lambda t, c, a: t.cumprod(a, 0, "float64"), [floats(2, 3)]),
    "slice": (lambda t, c, a: t.strided_slice(a, [-3, 4], [-1, 0], [1, -2]), [floats(5, 6)]),
    "slice open": (
        lambda t, c, a: t.strided_slice(a, [1], [2**31 - 1], [2], [1]),
        [floats(5, 6)],
    ),
    "slice sizes": (
        lambda t, c, a: t.strided_slice(a, [1, 2], [2, -1], slice_mode="size"),
        [floats(5, 6)],
    ),
    "slice back": (lambda t, c, a: t.strided_slice(a, [4], [-6], [-1]), [floats(5, 6)]),
    "split": (lambda t, c, a: t.split(a, [2, 3], 1)[1], [floats(5, 6)]),
    "take": (lambda t, c, a, b: t.take(a, b, 1), [floats(3, 5), ints([0, 4])]),
    "take of all": (lambda t, c, a, b: t.take(a, b), [floats(3, 5), ints(3, 14)]),
    "take clip": (lambda t, c, a, b: t.take(a, b, 0, mode="clip"), [floats(3, 5), ints(-1, 9)]),
    "take wrap": (lambda t, c, a, b: t.take(a, b, 0, mode="wrap"), [floats(3, 5), ints(-1, 4)]),
    "gather": (lambda t, c, a, b: t.gather(a, 1, b), [floats(2, 5), ints([3, 1], [0, 4])]),
    "gather_nd": (lambda t, c, a, b: t.gather_nd(a, b), [floats(4, 5, 2), ints([3, 1], [0, 4])]),
    "gather_nd of batches": (
        lambda t, c, a, b: t.gather_nd(a, b, 1),
        [floats(2, 5, 2), ints([3, 1])],
    ),
    "one_hot": (lambda t, c, a: t.one_hot(a, c(2), c(-1), 4, 1, INT), [ints(1, 0, 3)]),
    "tile": (lambda t, c, a: t.tile(a, (2, 1, 2)), [floats(2, 3)]),
    "repeat": (lambda t, c, a: t.repeat(a, 2, 1), [floats(2, 3)]),
    "expand_dims": (lambda t, c, a: t.expand_dims(a, 1, 2), [floats(2, 3)]),
    "expand_dims last": (lambda t, c, a: t.expand_dims(a, -1, 2), [floats(2, 3)]),
    "squeeze": (lambda t, c, a: t.squeeze(a), [floats(1, 3, 1)]),
    "flip": (lambda t, c, a: t.flip(a, 1), [floats(2, 3)]),
    "stack": (lambda t, c, a, b: t.stack([a, b], 1), [floats(2, 3), floats(2, 3)]),
    "concatenate": (lambda t, c, a, b: t.concatenate([a, b], 0), [floats(2, 3), floats(1, 3)]),
    "trilu": (lambda t, c, a: t.trilu(a, c(1), True), [floats(4, 4)]),
    "arange": (lambda t, c, a: t.arange(1, 10, 4, "float64"), [floats(1)]),
    "eye": (lambda t, c, a: t.eye(3, 4, -1, INT), [floats(1)]),
    "full": (lambda t, c, a: t.full((2,), "int8", 3), [floats(1)]),
    "broadcast_to": (lambda t, c, a: t.broadcast_to(a, (2, 3)), [floats(2, 1)]),
    "clip": (lambda t, c, a: t.clip(a, -1, 1), [floats(2, 3, dtype=F16)]),
    "sign": (lambda t, c, a: t.sign(a), [floats(2, 3)]),
    "round": (lambda t, c, a: t.round(a), [np.array([0.5, 1.5, 2.5, -0.5], "float32")]),
    "reinterpret": (lambda t, c, a: t.reinterpret(a, INT), [floats(3)]),
    "where": (
        lambda t, c, a, b, d: t.where(a, b, d),
        [np.array([True, False]), floats(2, 2), floats(1)],
    ),
    "add a number": (lambda t, c, a: t.add(a, 1.5), [floats(3, dtype=F16)]),
    "subtract a number": (lambda t, c, a: t.subtract(a, 1), [ints(1, 2, dtype="uint8")]),
    "left_shift": (lambda t, c, a: t.left_shift(a, 2), [ints(1, -3)]),
    "logical_not": (lambda t, c, a: t.logical_not(a), [np.array([True, False])]),
    "softmax": (lambda t, c, a: t.nn.softmax(a), [floats(2, 5, dtype=F16)]),
    "log_softmax": (lambda t, c, a: t.nn.log_softmax(a, axis=1), [floats(2, 5)]),
    "layer_norm": (
        lambda t, c, a, g, b: t.nn.layer_norm(a, g, b, [1, 2]),
        [floats(2, 3, 4), floats(3, 4), floats(3, 4)],
    ),
    "rms_norm": (lambda t, c, a, g: t.nn.rms_norm(a, g, [2]), [floats(2, 3, 4), floats(4)]),
    "instance_norm": (
        lambda t, c, a, g, b: t.nn.instance_norm(a, g, b, 1, [2, 3]),
        [floats(2, 3, 4, 4), floats(3), floats(3)],
    ),
    "group_norm": (
        lambda t, c, a, g, b: t.nn.group_norm(a, g, b, 2, 1, [2, 3]),
        [floats(2, 4, 3, 3), floats(4), floats(4)],
    ),
    "batch_norm": (
        lambda t, c, *args: t.nn.batch_norm(*args)[0],
        [floats(2, 3, 4), floats(3), floats(3), floats(3), abs(floats(3))],
    ),
    "batch_norm in training": (
        lambda t, c, *args: t.nn.batch_norm(*args, training=True)[2],
        [floats(2, 3, 4), floats(3), floats(3), floats(3), abs(floats(3))],
    ),
    "dense": (
        lambda t, c, a, b: t.nn.dense(a, b),
        [floats(3, 4, dtype=F16), floats(5, 4, dtype=F16)],
    ),
    "dense of integers": (
        lambda t, c, a, b: t.nn.dense(a, b, out_dtype=INT),
        [np.full((2, 9), 100, "int8"), np.full((3, 9), -100, "int8")],
    ),
    "batch_matmul": (
        lambda t, c, a, b: t.nn.batch_matmul(a, b),
        [floats(2, 3, 4), floats(2, 5, 4)],
    ),
    "matmul": (lambda t, c, a, b: t.matmul(a, b, True, False), [floats(4, 3), floats(4, 5)]),
    "tensordot": (
        lambda t, c, a, b: t.tensordot(a, b, ((1, 2), (1, 0))),
        [floats(2, 3, 4), floats(4, 3, 5)],
    ),
    "conv2d": (
        lambda t, c, a, b: t.nn.conv2d(a, b, (2, 1), (1, 0, 2, 1), (1, 2), "NCHW"),
        [floats(1, 3, 9, 9), floats(4, 3, 3, 3)],
    ),
    "conv2d of channels last": (
        lambda t, c, a, b: t.nn.conv2d(a, b, 1, "SAME", 1, "NHWC"),
        [floats(1, 7, 7, 3), floats(3, 3, 3, 2)],
    ),
    "conv2d of groups": (
        lambda t, c, a, b: t.nn.group_conv2d_nchw(a, b, 1, 1, 1, 2),
        [floats(1, 4, 5, 5), floats(6, 2, 3, 3)],
    ),
    "conv1d": (
        lambda t, c, a, b: t.nn.conv1d(a, b, 2, 1, 1, data_layout="NCW"),
        [floats(1, 4, 9), floats(6, 4, 3)],
    ),
    "pad": (lambda t, c, a: t.nn.pad(a, [1, 0], [2, 1], 3.0), [floats(2, 3)]),
    "mirror_pad": (lambda t, c, a: t.nn.mirror_pad(a, [1, 0], [1, 2]), [floats(2, 3)]),
    "reflect_pad": (lambda t, c, a: t.nn.reflect_pad(a, [1, 0], [1, 2]), [floats(2, 3)]),
    "replicate_pad": (lambda t, c, a: t.nn.replicate_pad(a, [1, 0], [1, 2]), [floats(2, 3)]),
    "circular_pad": (lambda t, c, a: t.nn.circular_pad(a, [1, 0], [1, 2]), [floats(2, 3)]),
    "dilate": (lambda t, c, a: t.nn.dilate(a, [1, 3]), [floats(2, 3)]),
    "prelu": (lambda t, c, a, b: t.nn.prelu(a, b, 1), [floats(2, 3), floats(3)]),
    "leaky_relu": (lambda t, c, a: t.nn.leaky_relu(a, 0.3), [floats(2, 3)]),
    "softplus": (lambda t, c, a: t.nn.softplus(a, 2.0, 1.0), [floats(2, 3)]),
    "flatten": (lambda t, c, a: t.nn.flatten(a), [floats(2, 3, 4)]),
    "global_pool": (lambda t, c, a: t.nn.global_pool(a, "avg"), [floats(1, 2, 3, 3)]),
}


def _binary(name: str) -> Callable[..., Any]:
    return lambda t, c, a, b: getattr(t, name)(a, b)


for _name in ("floor_mod", "mod", "divide", "floor_divide", "equal", "maximum"):
    CASES[f"{_name} of integers"] = (_binary(_name), [ints(5, -5, 7), ints(3, 3, -3)])
for _name in ("floor_mod", "mod", "divide", "floor_divide", "atan2", "log_add_exp", "power"):
    CASES[_name] = (_binary(_name), [abs(floats(4)) + 1, floats(4)])


def _pool(kind: str, ceil_mode: bool, include: bool) -> Callable[..., Any]:
    return lambda t, c, a: t.nn.pool2d(
        a, [3, 2], [2, 3], [2, 1], [1, 1, 2, 0], kind, ceil_mode, "NCHW", include
    )


def _adaptive(kind: str, size: tuple[int, int], layout: str) -> Callable[..., Any]:
    return lambda t, c, a: t.nn.adaptive_pool(a, size, kind, layout)


for _kind in ("max", "avg"):
    for _ceil in (False, True):
        for _include in (False, True):
            _label = f"pool2d {_kind} {_ceil} {_include}"
            CASES[_label] = (_pool(_kind, _ceil, _include), [floats(1, 2, 9, 8)])
    CASES[f"adaptive_pool {_kind}"] = (_adaptive(_kind, (3, 5), "NCHW"), [floats(1, 2, 8, 7)])
    CASES[f"adaptive_pool {_kind} last"] = (
        _adaptive(_kind, (4, 2), "NHWC"),
        [floats(1, 8, 8, 2)],
    )


def ask_tvm() -> dict[str, np.ndarray]:
    """Return what TVM computes, by name."""
    import tvm
    from tvm import te, tirx, topi

    def number(value: int) -> Any:
        return tirx.const(value, INT)

    results = {}
    for name, (function, arrays) in CASES.items():
        inputs = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(arrays)]
        out = function(topi, number, *inputs)
        kernel = tvm.compile(te.create_prim_func([*inputs, out]), target="llvm")
        result = tvm.runtime.tensor(np.zeros([int(dim) for dim in out.shape], out.dtype))
        kernel(*(tvm.runtime.tensor(array) for array in arrays), result)
        results[name] = result.numpy()
    return results


if __name__ == "__main__":
    np.savez(sys.argv[1], **ask_tvm())
