"""Convolution and pooling against PyTorch."""

import numpy as np
import pytest
from operator_tables import FLOATS, check, of_torch, table_of
from relax_mlir import op
from torch.nn import functional

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


@table_of(CONVOLUTIONS)
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
    pool("max", 1, size=1, strides=4, ceil_mode=True),
    pool("max", 3, strides=2),
    pool("avg", 1, FLOATS, size=3, strides=2),
    pool("avg", 2, FLOATS, strides=2),
    pool("avg", 2, size=3, strides=2, padding=1),
    pool("avg", 2, size=3, strides=2, padding=1, count_include_pad=True),
    pool("avg", 2, size=3, strides=2, ceil_mode=True),
    pool("avg", 2, size=3, strides=2, padding=1, ceil_mode=True, count_include_pad=True),
    pool("avg", 2, size=2, strides=3, padding=1, ceil_mode=True),
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


@table_of(POOLS)
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
