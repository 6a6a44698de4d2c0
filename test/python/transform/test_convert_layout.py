"""Layouts of convolutions, and what carries them on, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.core import expr
from relax_mlir.transform import ConvertLayout
from torch.nn import functional

TO_NCHW = {"relax.nn.conv2d": ["NCHW", "OIHW"]}


def weights(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


K = weights(3, 3, 4, 16)  # HWIO
K2 = weights(3, 3, 16, 16)
BIAS = weights(16)


def conv(x, k=K, **options):
    given = {"padding": 1, "data_layout": "NHWC", "kernel_layout": "HWIO"} | options
    return op.nn.conv2d(x, op.const(k), **given)


def build(body, *others):
    """Build a function of an image in NHWC, and of other tensors of these shapes."""
    params = [relax.Var("x", relax.TensorStructInfo(("n", 9, 8, 4), "float32"))]
    params += [
        relax.Var(f"y{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(others)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            results = body(*params)
            if isinstance(results, tuple):
                results = expr.tuple(*results)
            out = bb.emit_output(results)
        bb.emit_func_output(out)
    return bb.get()


def names(mod):
    return [
        line.split(" = relax.")[1].split()[0]
        for line in str(mod).splitlines()
        if " = relax." in line and "dataflow" not in line and "constant" not in line
    ]


def torch_conv(x, k=K, **options):
    x, k = torch.as_tensor(x).permute(0, 3, 1, 2), torch.as_tensor(k).permute(3, 2, 0, 1)
    return functional.conv2d(x, k, **{"padding": 1} | options).permute(0, 2, 3, 1)


def run(mod, *inputs, **options):
    results = relax.VirtualMachine(relax.compile(mod, **options))["main"](*inputs)
    single = not isinstance(results, (tuple, list)) and hasattr(results, "__dlpack__")
    return [np.from_dlpack(out) for out in ([results] if single else results)]


def check(body, expected, permutes, *others, exec_mode="compiled"):
    """Compare with PyTorch what is converted, and count how often something is permuted.

    Those of weights and of what is broadcast are not counted.
    """
    mod = build(body, *others)
    converted = ConvertLayout(TO_NCHW)(mod)
    text = str(converted)
    images = [line for line in text.splitlines() if "relax.permute_dims" in line and "[n, " in line]
    assert len(images) == permutes, text
    assert 'data_layout = "NHWC"' not in text
    x = weights(2, 9, 8, 4)
    inputs = [x] + [weights(*[2 if size == "n" else size for size in shape]) for shape in others]
    results = expected(*map(torch.from_numpy, inputs))
    results = results if isinstance(results, tuple) else (results,)
    for program in (mod, converted):
        for fold in (True, False):
            outs = run(program, *inputs, fold_constants=fold, exec_mode=exec_mode)
            for out, wanted in zip(outs, results, strict=True):
                np.testing.assert_allclose(out, wanted.numpy(), rtol=1e-4, atol=1e-4)


def test_a_convolution_alone(exec_mode):
    check(conv, torch_conv, 2, exec_mode=exec_mode)


def test_operations_on_elements_carry_it():
    check(
        lambda x: op.nn.relu(op.add(op.multiply(conv(x), 2.0), op.const(BIAS))),
        lambda x: functional.relu(torch_conv(x) * 2 + torch.from_numpy(BIAS)),
        2,
    )


def test_a_bias_that_is_no_constant():
    check(lambda x, b: op.add(conv(x), b), lambda x, b: torch_conv(x) + b, 2, (16,))


def test_residuals():
    def body(x):
        y = op.nn.relu(conv(x))
        return op.add(op.nn.relu(conv(y, K2)), y)

    def expected(x):
        y = functional.relu(torch_conv(x))
        return functional.relu(torch_conv(y, K2)) + y

    check(body, expected, 2)


def test_another_image_is_not_permuted():
    """The result is permuted back, as without."""
    check(lambda x, y: op.add(conv(x), y), lambda x, y: torch_conv(x) + y, 2, ("n", 9, 8, 16))


def test_pools_and_normalization():
    rng = np.random.default_rng(0)
    gamma, beta, mean, variance = (rng.uniform(0.5, 1, 16).astype("float32") for _ in range(4))

    def body(x):
        y = op.nn.max_pool2d(conv(x), (2, 2), strides=(2, 2), layout="NHWC")
        y = op.nn.batch_norm(y, gamma, beta, mean, variance, axis=-1, training=False)[0]
        y = op.nn.avg_pool2d(y, (2, 3), layout="NHWC")
        return op.nn.adaptive_avg_pool2d(y, (1, 1), layout="NHWC")

    def expected(x):
        y = functional.max_pool2d(torch_conv(x).permute(0, 3, 1, 2), 2)
        y = functional.batch_norm(
            y, *map(torch.from_numpy, (mean, variance, gamma, beta)), training=False
        )
        return (
            functional.avg_pool2d(y, (2, 3), stride=1)
            .mean((2, 3), keepdim=True)
            .permute(0, 2, 3, 1)
        )

    check(body, expected, 2)


def test_reductions():
    check(
        lambda x: (
            op.mean(conv(x), axis=[1, 2]),
            op.sum(conv(x), axis=[-1]),
            op.max(conv(x), axis=[2]),
            op.min(conv(x), axis=[1, 2], keepdims=True),
            op.sum(conv(x)),
        ),
        lambda x: (
            torch_conv(x).mean((1, 2)),
            torch_conv(x).sum(3),
            torch_conv(x).amax(2),
            torch_conv(x).amin((1, 2), keepdim=True),
            torch_conv(x).sum(),
        ),
        # Of the image for each of five; of rows without columns; of what keeps its dimensions; of
        # what is reduced as a whole.
        5 + 1 + 1 + 1,
    )


def test_concatenations():
    check(
        lambda x: op.concat([conv(x), op.nn.relu(conv(x))], axis=3),
        lambda x: torch.cat([torch_conv(x), functional.relu(torch_conv(x))], 3),
        3,
    )


def test_what_permutes_takes_what_was_before():
    check(
        lambda x: (op.permute_dims(conv(x), [0, 3, 1, 2]), op.permute_dims(conv(x))),
        lambda x: (torch_conv(x).permute(0, 3, 1, 2), torch_conv(x).permute(3, 2, 1, 0)),
        3,
    )


NORM = weights(8), weights(9)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda y: op.nn.softmax(y, axis=-1), lambda y: y.softmax(-1)),
        (lambda y: op.nn.log_softmax(y), lambda y: y.log_softmax(-1)),
        (lambda y: op.flip(y, 2), lambda y: y.flip(2)),
        (lambda y: op.repeat(y, 3, 3), lambda y: y.repeat_interleave(3, 3)),
        (lambda y: op.tile(y, [2, 1, 3]), lambda y: y.tile(2, 1, 3)),
        (
            lambda y: op.strided_slice(y, [1, 3], [1, 2], [9, 16], [2, 3]),
            lambda y: y[:, 1:9:2, :, 2:16:3],
        ),
        (
            lambda y: op.nn.layer_norm(y, op.const(NORM[0]), op.const(NORM[0]), axes=[2]),
            lambda y: functional.layer_norm(
                y.transpose(2, 3), (8,), torch.from_numpy(NORM[0]), torch.from_numpy(NORM[0])
            ).transpose(2, 3),
        ),
        (lambda y: op.squeeze(op.max(y, 1, keepdims=True), [1]), lambda y: y.amax(1)),
        (
            lambda y: op.squeeze(op.expand_dims(y, [-3, 1]), [1]),
            lambda y: y[:, :, None],
        ),
        (lambda y: op.split(y, 2, 3)[1], lambda y: y.split(8, 3)[1]),
    ],
)
def test_operations_along_axes_carry_it(body, expected):
    def ours(x):
        return op.nn.relu(body(conv(x)))

    check(ours, lambda x: functional.relu(expected(torch_conv(x))), 2)
    mod = ConvertLayout(TO_NCHW)(build(ours))
    assert names(mod)[-1] == "permute_dims"


def test_a_tuple_that_is_returned_is_made_again():
    def body(x):
        return op.split(conv(x), [5], 3)

    check(body, lambda x: tuple(torch_conv(x).split([5, 11], 3)), 3)


def test_layer_norm_over_axes_in_another_order_needs_the_result_as_it_is():
    gamma = weights(9, 8, 16)
    mod = ConvertLayout(TO_NCHW)(
        build(lambda x: op.nn.layer_norm(conv(x), op.const(gamma), op.const(gamma), [1, 2, 3]))
    )
    assert names(mod)[-1] == "layer_norm"


def test_what_needs_the_result_as_it_is():
    check(lambda x: op.reshape(conv(x), (-1, 16)), lambda x: torch_conv(x).reshape(-1, 16), 2)


def test_strides_groups_and_layouts_of_results():
    k = weights(16, 2, 3, 3)
    check(
        lambda x: conv(x, k, groups=2, strides=(2, 1), kernel_layout="OIHW", out_layout="NCHW"),
        lambda x: torch_conv(
            x, torch.from_numpy(k).permute(2, 3, 1, 0), groups=2, stride=(2, 1)
        ).permute(0, 3, 1, 2),
        1,
    )


def test_the_other_direction():
    x = relax.Var("x", relax.TensorStructInfo(("n", 4, 9, 8), "float32"))
    k = np.ascontiguousarray(K.transpose(3, 2, 0, 1))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = op.nn.relu(op.nn.conv2d(x, op.const(k), padding=1))
            out = bb.emit_output(op.mean(y, axis=[2, 3]))
        bb.emit_func_output(out)
    mod = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(bb.get())
    assert names(mod) == ["permute_dims", "permute_dims", "conv2d", "relu", "mean"]
    assert 'data_layout = "NHWC", kernel_layout = "OHWI"' in str(mod)
    image = weights(1, 4, 9, 8)
    exact = torch_conv(image.transpose(0, 2, 3, 1)).relu().mean((1, 2))
    np.testing.assert_allclose(run(mod, image)[0], exact.numpy(), rtol=1e-4, atol=1e-4)


def test_other_convolutions():
    """The result of one is expanded, so it is permuted back before the other."""
    x = relax.Var("x", relax.TensorStructInfo(("n", 12, 4), "float32"))
    k, k3 = weights(3, 4, 8), weights(2, 1, 3, 8, 5)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = op.nn.conv1d(x, op.const(k), data_layout="NWC", kernel_layout="WIO")
            y = op.reshape(y, (-1, 5, 2, 1, 8))
            y = op.nn.conv3d(y, op.const(k3), padding=1, data_layout="NDHWC", kernel_layout="DHWIO")
            out = bb.emit_output(y)
        bb.emit_func_output(out)
    layouts = {"relax.nn.conv1d": ["NCW", "OIW"], "relax.nn.conv3d": ["NCDHW", "OIDHW"]}
    mod = ConvertLayout(layouts)(bb.get())
    assert names(mod).count("permute_dims") == 6
    image = weights(2, 12, 4)
    y = functional.conv1d(torch.from_numpy(image).mT, torch.from_numpy(k).permute(2, 1, 0)).mT
    y = y.reshape(-1, 5, 2, 1, 8).permute(0, 4, 1, 2, 3)
    k3 = torch.from_numpy(k3).permute(4, 3, 0, 1, 2)
    exact = functional.conv3d(y, k3, padding=1).permute(0, 2, 3, 4, 1)
    for program in (bb.get(), mod):
        np.testing.assert_allclose(run(program, image)[0], exact.numpy(), rtol=1e-4, atol=1e-4)


def test_programs_in_these_layouts_do_not_change():
    x = relax.Var("x", relax.TensorStructInfo(("n", 4, 9, 8), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(op.nn.conv2d(x, op.const(weights(16, 4, 3, 3))))
    before = str(bb.get())
    assert str(ConvertLayout(TO_NCHW)(bb.get())) == before


def test_compile_computes_convolutions_in_nchw(tmp_path):
    relax.compile(build(lambda x: op.nn.relu(conv(x))), dump_phases=tmp_path)
    (phase,) = tmp_path.glob("*-kernels.mlir")
    assert phase.read_text().count('relax.kernel_class = "conv2d"') == 1


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"relax.add": ["NCHW", "OIHW"]}, "desired_layouts of convolutions, .* but got relax.add"),
        ({"relax.nn.conv2d": ["NCHW"]}, "expected 2 or 3 layouts of relax.conv2d"),
        ({"relax.nn.conv2d": "NCHW"}, "expected 2 or 3 layouts of relax.conv2d"),
        ({"relax.nn.conv2d": ["NCHW4x", "OIHW"]}, "with blocks as in 'NCHW4c' or without"),
        ({"relax.nn.conv2d": ["NCHW", "OIHWH"]}, "a permutation of OIHW, but got 'OIHWH'"),
        ({"relax.nn.conv2d": ["NCHW", "OIHW", "NHW"]}, "a permutation of NCHW, but got 'NHW'"),
    ],
)
def test_layouts_that_are_none(layouts, message):
    with pytest.raises(ValueError, match=message):
        ConvertLayout(layouts)


# ------------------------------------------------------------------------------
# Blocks
# ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layouts", [["NCHW4c", "OIHW4i8o"], ["NCHW2c", "OIHW"], ["NHWC", "HWIO", "NCHW16c"]]
)
def test_layouts_with_blocks(layouts, load):
    mod = build(lambda x: op.nn.relu(conv(x, strides=2)))
    converted = ConvertLayout({"relax.nn.conv2d": layouts})(mod)
    assert names(converted).count("conv2d") == 1
    assert "reshape" in names(converted)
    x = weights(2, 9, 8, 4)
    result = np.from_dlpack(load(converted)(x))
    np.testing.assert_allclose(result, torch_conv(x, stride=2).relu(), rtol=1e-4, atol=1e-4)


def test_axes_that_blocks_do_not_divide():
    mod = build(lambda x: conv(x))
    for layouts in (["NCHW3c", "OIHW"], ["NCHW4c", "OIHW3i4o"], ["NCHW", "OIHW", "N2nCHW"]):
        assert str(ConvertLayout({"relax.nn.conv2d": layouts})(mod)) == str(mod)
