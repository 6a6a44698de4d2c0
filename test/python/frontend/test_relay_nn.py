# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of neural networks of Relay, against PyTorch and NumPy."""

import numpy as np
import pytest
from relay_programs import Known, run_operator

torch = pytest.importorskip("torch")
F = torch.nn.functional


def arrays(*shapes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def integers(*shapes, dtype="int8"):
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    return [rng.integers(info.min, info.max + 1, shape).astype(dtype) for shape in shapes]


def close(result, wanted):
    assert result.dtype == wanted.dtype
    np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=1e-5)


# -- products -----------------------------------------------------------------------------------

PRODUCTS = {
    "nn.dense": ((2, 3, 4), (5, 4), {"units": 5}, lambda x, y: x @ y.T),
    "nn.matmul": ((4, 3), (5, 4), {"transpose_a": True, "transpose_b": True},
                  lambda x, y: x.T @ y.T),
    "nn.batch_matmul": ((2, 3, 4), (1, 4, 5), {}, np.matmul),
    "nn.contrib_dense_pack": ((3, 4), (3, 4, 2), {"weight_layout": "NC2n"},
                              lambda x, y: x @ y.transpose(0, 2, 1).reshape(6, 4).T),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_ry06_products(name, exec_mode):
    first, second, attrs, function = PRODUCTS[name]
    x, y = arrays(first, second)
    shapes = [("n", *first[1:]) if name == "nn.dense" else first, second]
    close(run_operator(name, x, y, shapes=shapes, **attrs), function(x, y))


def test_ry06_products_of_integers(exec_mode):
    x, y = integers((3, 8), (5, 8))
    wanted = x.view("uint8").astype("int32") @ y.astype("int32").T
    result = run_operator("nn.dense", x.view("uint8"), y, out_dtype="int32")
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, wanted)
    x, y = integers((2, 3, 8), (2, 5, 8))
    result = run_operator("nn.batch_matmul", x, y, transpose_b=True, out_dtype="int32")
    np.testing.assert_array_equal(result, x.astype("int32") @ y.astype("int32").swapaxes(1, 2))


def test_ry06_bias_add(exec_mode):
    x, bias = arrays((2, 3, 4), (3,))
    close(run_operator("nn.bias_add", x, bias, shapes=[("n", 3, "m"), (3,)]), x + bias[:, None])
    x, bias = arrays((2, 3, 4), (4,))
    close(run_operator("nn.bias_add", x, bias, axis=-1), x + bias)


# -- activations --------------------------------------------------------------------------------

ACTIVATIONS = {
    "nn.relu": ({}, F.relu),
    "nn.leaky_relu": ({}, lambda x: F.leaky_relu(x, 0.25)),
    "nn.softmax": ({"axis": 1}, lambda x: F.softmax(x, 1)),
    "nn.fast_softmax": ({}, lambda x: F.softmax(x, -1)),
    "nn.log_softmax": ({"axis": -2}, lambda x: F.log_softmax(x, -2)),
    "nn.batch_flatten": ({}, lambda x: x.flatten(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_ry06_activations(name, exec_mode):
    attrs, function = ACTIVATIONS[name]
    (x,) = arrays((2, 3, 4))
    result = run_operator(name, x, shapes=[("n", 3, 4)], **attrs)
    close(result, function(torch.tensor(x)).numpy())


def test_ry06_prelu(exec_mode):
    x, alpha = arrays((2, 3, 4), (3,))
    close(run_operator("nn.prelu", x, alpha), np.where(x > 0, x, x * alpha[:, None]))
    x, alpha = arrays((2, 3, 4), (4,))
    close(run_operator("nn.prelu", x, alpha, axis=-1), np.where(x > 0, x, x * alpha))


def test_ry06_dropout_keeps_all(exec_mode):
    (x,) = arrays((2, 3))
    result, mask = run_operator("nn.dropout", x, rate=0.9)
    np.testing.assert_array_equal(result, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))


# -- normalization ------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [1, -1])
def test_ry06_batch_norm(axis, exec_mode):
    shape = (2, 3, 4, 3)
    x, gamma, beta, mean, variance = arrays(shape, (3,), (3,), (3,), (3,))
    variance = np.abs(variance)
    wide = np.moveaxis(x, axis, 1)
    wanted = F.batch_norm(
        *(torch.tensor(one.copy()) for one in (wide, mean, variance, gamma, beta)), eps=1e-3
    ).numpy()  # fmt: skip
    shapes = [("n", 3, "h", 3), (3,), (3,), (3,), (3,)]
    results = run_operator(
        "nn.batch_norm", x, gamma, beta, mean, variance, shapes=shapes, axis=axis, epsilon=1e-3
    )
    close(results[0], np.moveaxis(wanted, 1, axis))
    np.testing.assert_array_equal(results[1], mean)
    np.testing.assert_array_equal(results[2], variance)


def test_ry06_batch_norm_without_parameters(exec_mode):
    x, gamma, beta, mean = arrays((2, 3), (3,), (3,), (3,))
    ones = np.ones(3, "float32")
    results = run_operator("nn.batch_norm", x, gamma, beta, mean, ones, center=False, scale=False)
    close(results[0], ((x - mean) / np.sqrt(np.float32(1 + 1e-5))).astype("float32"))


def normalized(x, axes, epsilon=1e-5):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + np.float32(epsilon))


def test_ry06_layer_norm(exec_mode):
    x, gamma, beta = arrays((2, 3, 4), (4,), (4,))
    result = run_operator("nn.layer_norm", x, gamma, beta, shapes=[("n", 3, 4), (4,), (4,)])
    close(result, normalized(x, -1) * gamma + beta)
    x, gamma, beta = arrays((2, 3, 4), (3,), (3,))
    result = run_operator("nn.layer_norm", x, gamma, beta, axis=1, center=False)
    close(result, normalized(x, 1) * gamma[:, None])


def test_ry06_group_norm(exec_mode):
    x, gamma, beta = arrays((2, 4, 3, 2), (4,), (4,))
    result = run_operator("nn.group_norm", x, gamma, beta, num_groups=2, epsilon=1e-3)
    wanted = F.group_norm(*([torch.tensor(x), 2] + [torch.tensor(y) for y in (gamma, beta)]), 1e-3)
    close(result, wanted.numpy())
    x, gamma, beta = arrays((2, 3, 4), (4,), (4,))
    result = run_operator("nn.group_norm", x, gamma, beta, num_groups=2, axis=-1)
    parts = normalized(x.reshape(2, 3, 2, 2), 3).reshape(2, 3, 4)
    close(result, parts * gamma + beta)


def test_ry06_instance_norm(exec_mode):
    x, gamma, beta = arrays((2, 3, 4, 5), (3,), (3,))
    result = run_operator("nn.instance_norm", x, gamma, beta)
    close(result, normalized(x, (2, 3)) * gamma[:, None, None] + beta[:, None, None])
    x, gamma, beta = arrays((2, 3, 4, 5), (5,), (5,))
    result = run_operator("nn.instance_norm", x, gamma, beta, axis=-1, scale=False)
    close(result, normalized(x, (1, 2)) + beta)


def test_ry06_l2_normalize(exec_mode):
    (x,) = arrays((2, 3, 4))
    x[0, :, 0] = 0
    total = np.maximum((x * x).sum((1,), keepdims=True), np.float32(1e-3))
    close(run_operator("nn.l2_normalize", x, eps=1e-3, axis=[1]), x / np.sqrt(total))
    close(run_operator("nn.l2_normalize", x, eps=1e-3), x / np.sqrt((x * x).sum()))


@pytest.mark.parametrize("axis", [1, 3])
def test_ry06_lrn(axis, exec_mode):
    (x,) = arrays((2, 6, 3, 6))
    wide = torch.tensor(np.moveaxis(x, axis, 1).copy())
    wanted = np.moveaxis(F.local_response_norm(wide, 3, 0.3, 0.6, 1.5).numpy(), 1, axis)
    result = run_operator(
        "nn.lrn", x, shapes=[("n", 6, "h", 6)], size=3, axis=axis, bias=1.5, alpha=0.3, beta=0.6
    )
    close(result, np.ascontiguousarray(wanted))


# -- padding and blocks -------------------------------------------------------------------------

PADDINGS = {
    "constant": ("nn.pad", {"pad_width": [[0, 1], [2, 0]]}, "constant"),
    "edge": ("nn.pad", {"pad_width": [[3, 0], [0, 7]], "pad_mode": "edge"}, "edge"),
    "reflect": ("nn.pad", {"pad_width": [[1, 0], [2, 3]], "pad_mode": "reflect"}, "reflect"),
    "mirror": ("nn.mirror_pad", {"pad_width": [[1, 0], [2, 3]], "mode": "REFLECT"}, "reflect"),
    "symmetric": ("nn.mirror_pad", {"pad_width": [[2, 1], [4, 3]]}, "symmetric"),
}


@pytest.mark.parametrize("kind", PADDINGS)
def test_ry06_paddings(kind, exec_mode):
    name, attrs, mode = PADDINGS[kind]
    (x,) = arrays((2, 4))
    options = {"constant_values": 2.5} if mode == "constant" else {}
    wanted = np.pad(x, attrs["pad_width"], mode, **options)
    value = [Known(np.array(2.5, "float32"))] if name == "nn.pad" else []
    shapes = None if kind in ("constant", "mirror") else [("n", "m")]
    result = run_operator(name, x, *value, shapes=shapes, **attrs)
    np.testing.assert_array_equal(result, wanted)


def test_ry06_negative_padding(exec_mode):
    (x,) = arrays((3, 4))
    fill = np.array(7, "float32")
    result = run_operator("nn.pad", x, fill, pad_width=[[-1, 0], [1, -2]])
    np.testing.assert_array_equal(result, np.pad(x[1:, :2], [(0, 0), (1, 0)], constant_values=7))


def test_ry06_padding_as_operand(exec_mode):
    (x,) = arrays((3, 4))
    widths, fill = Known(np.array([[1, 0], [0, 2]], "int64")), np.array(7, "float32")
    result = run_operator("dyn.nn.pad", x, widths, fill, shapes=[("n", "m"), ()])
    np.testing.assert_array_equal(result, np.pad(x, [(1, 0), (0, 2)], constant_values=7))


def test_ry06_dilate(exec_mode):
    (x,) = arrays((2, 3))
    wanted = np.full((3, 7), 1.5, "float32")
    wanted[::2, ::3] = x
    result = run_operator("nn.dilate", x, shapes=[("n", 3)], strides=[2, 3], dilation_value=1.5)
    np.testing.assert_array_equal(result, wanted)


def test_ry06_depth_and_space(exec_mode):
    (x,) = arrays((2, 8, 3, 2))
    wanted = F.pixel_shuffle(torch.tensor(x), 2).numpy()
    result = run_operator("nn.depth_to_space", x, block_size=2, mode="CRD")
    np.testing.assert_array_equal(result, wanted)
    wanted = x.reshape(2, 2, 2, 2, 3, 2).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 6, 4)
    result = run_operator("nn.depth_to_space", x, shapes=[("n", 8, "h", 2)], block_size=2)
    np.testing.assert_array_equal(result, wanted)
    channels_last = np.ascontiguousarray(wanted.transpose(0, 2, 3, 1))
    result = run_operator("nn.space_to_depth", channels_last, block_size=2, layout="NHWC")
    np.testing.assert_array_equal(result, x.transpose(0, 2, 3, 1))


def test_ry06_space_and_batch(exec_mode):
    (x,) = arrays((1, 4, 3, 2))
    wide = np.pad(x, [(0, 0), (0, 0), (1, 2), (0, 0)], constant_values=0.5)
    wanted = wide.reshape(1, 2, 2, 2, 3, 2).transpose(2, 4, 0, 1, 3, 5).reshape(6, 2, 2, 2)
    blocks = {"block_shape": [2, 3]}
    result = run_operator(
        "nn.space_to_batch_nd", x, **blocks, paddings=[[0, 0], [1, 2]], pad_value=0.5
    )
    np.testing.assert_array_equal(result, wanted)
    result = run_operator(
        "nn.batch_to_space_nd", wanted, shapes=[(6, "h", 2, "c")], **blocks,
        crops=[[0, 0], [1, 2]],
    )  # fmt: skip
    np.testing.assert_array_equal(result, x)


# -- losses, and others -------------------------------------------------------------------------


def test_ry06_cross_entropy(exec_mode):
    x, y = np.abs(arrays((3, 4), (3, 4)))
    shapes = [("n", 4), ("n", 4)]
    wanted = np.asarray(-(np.log(x) * y).sum() / 3, "float32")
    close(run_operator("nn.cross_entropy", x, y, shapes=shapes), wanted)
    wanted = np.asarray(-(x * y).sum() / 3, "float32")
    close(run_operator("nn.cross_entropy_with_logits", x, y), wanted)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ry06_nll_loss(reduction, exec_mode):
    predictions, weights = arrays((2, 3, 4), (3,))
    weights, targets = np.abs(weights), np.random.default_rng(0).integers(0, 3, (2, 4))
    targets[0, 1] = -100
    wanted = F.nll_loss(
        torch.tensor(predictions), torch.tensor(targets), torch.tensor(weights),
        reduction=reduction,
    )  # fmt: skip
    result = run_operator(
        "nn.nll_loss", predictions, targets.astype("int32"), weights, reduction=reduction,
        ignore_index=-100,
    )  # fmt: skip
    close(result, wanted.numpy())


def test_ry06_fifo_buffer(exec_mode):
    data, buffer = arrays((2, 2, 3), (2, 5, 3))
    result = run_operator("nn.fifo_buffer", data, buffer, axis=1)
    np.testing.assert_array_equal(result, np.concatenate([buffer[:, 2:], data], 1))


@pytest.mark.parametrize("is_multiply", [True, False])
def test_ry06_correlation(is_multiply, exec_mode):
    x, y = arrays((1, 2, 5, 6), (1, 2, 5, 6))
    a, b = (np.pad(one, [(0, 0), (0, 0), (2, 2), (2, 2)]) for one in (x, y))
    wanted = np.zeros((1, 9, 2, 2), "float32")
    # Patches of 3 x 3, up to 2 away in steps of 2, at every second place.
    for q, i, j in np.ndindex(9, 2, 2):
        top, left = 2 * i + 2, 2 * j + 2
        down, right = (q // 3 - 1) * 2, (q % 3 - 1) * 2
        one = a[0, :, top : top + 3, left : left + 3]
        other = b[0, :, top + down : top + down + 3, left + right : left + right + 3]
        wanted[0, q, i, j] = (one * other if is_multiply else np.abs(one - other)).mean()
    result = run_operator(
        "nn.correlation", x, y, shapes=[("n", 2, 5, 6)] * 2, kernel_size=3, max_displacement=2,
        stride1=2, stride2=2, padding=[2, 2], is_multiply=is_multiply,
    )  # fmt: skip
    close(result, wanted)


REFUSED = {
    "units": ("nn.dense", [(2, 4), (5, 4)], {"units": 6}, ValueError, "weight for units=6"),
    "inner": ("nn.dense", [(2, 4), (5, 3)], {}, ValueError, "relax.matmul"),
    "rank": ("nn.batch_matmul", [(2, 3), (3, 4)], {}, ValueError, "tensors of rank 3"),
    "rewritten": ("nn.dense", [(2, 4), (5, 4)], {"meta_schedule_original_shape": [5, 4]},
                  NotImplementedError, "meta_schedule rewrote"),
    "axis": ("nn.bias_add", [(2, 4), (4,)], {"axis": 2}, ValueError, "an axis from -2 to 1"),
    "pairs": ("nn.pad", [(2, 4), ()], {"pad_width": [[1, 1]]}, ValueError, "2 pairs of numbers"),
    "mode": ("nn.pad", [(2, 4), ()], {"pad_width": [[1, 1]] * 2, "pad_mode": "wrap"}, ValueError,
             "expected pad_mode constant, edge, reflect"),
    "most": ("nn.mirror_pad", [(2, 4)], {"pad_width": [[2, 0], [0, 0]], "mode": "REFLECT"},
             ValueError, "up to 1 elements for mode reflect of a dimension of 2"),
    "groups": ("nn.group_norm", [(2, 4, 3), (4,), (4,)], {"num_groups": 0}, ValueError,
               "num_groups from 1 on"),
    "even": ("nn.lrn", [(2, 4, 3, 3)], {"size": 4}, ValueError, "an odd size"),
    "block": ("nn.depth_to_space", [(1, 6, 2, 2)], {"block_size": 2}, ValueError,
              "channels as a multiple of 4, but got 6"),
    "operands": ("nn.relu", [(2,), (2,)], {}, ValueError, "expected nn.relu of data, but got 2"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_ry06_refused(kind):
    name, shapes, attrs, error, message = REFUSED[kind]
    with pytest.raises(error, match=message):
        run_operator(name, *(np.asarray(one) for one in arrays(*shapes)), **attrs)
