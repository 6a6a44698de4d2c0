# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients as operators: against what PyTorch differentiates, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
import torch.nn.functional as F  # noqa: N812 (as everybody calls it)
from relax_mlir import op
from relax_mlir.script import from_source

RNG = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def close(result: Any, expected: torch.Tensor) -> None:
    got = np.asarray(result)
    assert got.shape == tuple(expected.shape)
    np.testing.assert_allclose(got, expected.numpy(), rtol=1e-5, atol=1e-5)


def differentiated(function: Any, x: np.ndarray) -> tuple[np.ndarray, torch.Tensor]:
    """Return a gradient of the result of a function, and the one of `x` that PyTorch computes."""
    leaf = torch.from_numpy(x).requires_grad_()
    result = function(leaf)
    g = floats(*result.shape)
    result.backward(torch.from_numpy(g))
    assert leaf.grad is not None
    return g, leaf.grad


# Dimensions of the data, size, strides, padding, dilation, and whether windows may end beyond.
POOLS = [
    ((2, 3, 6, 8), (2, 2), (2, 2), (0, 0), 1, False),
    ((2, 3, 7, 6), (3, 2), (1, 2), (1, 0), 1, False),
    ((1, 2, 7, 8), (3, 3), (2, 3), (1, 1), 1, True),
    ((1, 2, 9, 8), (2, 3), (2, 1), (1, 1), 2, False),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), 1, False),
    ((1, 1, 3, 4), (3, 4), (1, 1), (0, 0), 1, False),
    ((0, 3, 4, 4), (2, 2), (2, 2), (0, 0), 1, False),
]


@pytest.mark.parametrize("is_symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize(("dims", "size", "strides", "padding", "dilation", "ceil"), POOLS)
def test_max_pool2d_backward(run, dims, size, strides, padding, dilation, ceil, is_symbolic):
    x = floats(*dims)
    g, expected = differentiated(
        lambda x: F.max_pool2d(x, size, strides, padding, dilation, ceil), x
    )
    symbols = [("n", 3 if dims[1] == 3 else "c", "h", "w"), ("n", "k", "p", "q")]
    result = run(
        lambda x, g: op.grad.max_pool2d_backward(g, x, size, strides, padding, dilation, ceil),
        x, g, shapes=symbols if is_symbolic else None,
    )  # fmt: skip
    close(result, expected)


@pytest.mark.parametrize(("is_symbolic", "counts"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("dims", "size", "strides", "padding", "dilation", "ceil"), POOLS)
def test_avg_pool2d_backward(
    run, dims, size, strides, padding, dilation, ceil, is_symbolic, counts
):
    if dilation != 1:
        size, strides, padding = (2, 2), (1, 1), (1, 1)
    x = floats(*dims)
    g, expected = differentiated(lambda x: F.avg_pool2d(x, size, strides, padding, ceil, counts), x)
    result = run(
        lambda x, g: op.grad.avg_pool2d_backward(
            g, x, size, strides, padding, ceil_mode=ceil, count_include_pad=counts
        ),
        x, g, shapes=[("n", "c", "h", "w"), ("n", "c", "p", "q")] if is_symbolic else None,
    )  # fmt: skip
    close(result, expected)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pools_of_other_layouts(run, kind):
    x = floats(2, 4, 6, 6)
    g, expected = differentiated(lambda x: getattr(F, f"{kind}_pool2d")(x, 2, 2), x)
    backward = getattr(op.grad, f"{kind}_pool2d_backward")
    last = [np.ascontiguousarray(each.transpose(0, 2, 3, 1)) for each in (x, g)]
    result = run(lambda x, g: backward(g, x, 2, 2, layout="NHWC"), *last)
    close(result, expected.permute(0, 2, 3, 1))
    # The gradient has the layout of the result.
    result = run(lambda x, g: backward(g, x, 2, 2, layout="NCHW", out_layout="NHWC"), x, last[1])
    close(result, expected)
    blocks = [
        np.ascontiguousarray(each.reshape(2, 2, 2, *each.shape[2:]).transpose(0, 1, 3, 4, 2))
        for each in (x, g, expected.numpy())
    ]
    result = run(lambda x, g: backward(g, x, 2, 2, layout="NCHW2c"), *blocks[:2])
    close(result, torch.from_numpy(blocks[2]))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("dims", "ignored", "weighted"),
    [
        ((5,), -100, True),
        ((2, 5), -100, False),
        ((1, 3), 2, True),
        ((2, 5, 3, 4), 2, True),
        ((2, 5, 3, 4), 1, False),
        ((0, 5, 2), -100, True),
    ],
)
def test_nll_loss_backward(run, dims, ignored, weighted, reduction):
    x = floats(*dims)
    has_batch = len(dims) > 1
    count = dims[1] if has_batch else dims[0]
    targets = np.asarray(RNG.integers(0, count, (dims[0], *dims[2:]) if has_batch else ()))
    if has_batch:
        targets = np.where(RNG.random(targets.shape) < 0.3, ignored, targets)
    weights = [RNG.random(count).astype("float32")] if weighted else []
    g, expected = differentiated(
        lambda x: F.nll_loss(
            x, torch.from_numpy(targets), *map(torch.from_numpy, weights),
            reduction=reduction, ignore_index=ignored,
        ),
        x,
    )  # fmt: skip
    if (targets == ignored).all():
        expected = torch.zeros_like(expected)  # also of a mean of nothing
    places = tuple(f"d{i}" for i in range(len(dims)) if i != 1) if has_batch else ()
    data = (places[0], count, *places[1:]) if has_batch else dims
    shapes = [places if reduction == "none" else (), data, places, *[(count,)] * len(weights)]
    result = run(
        lambda g, x, t, w=None: op.grad.nll_loss_backward(g, x, t, w, reduction, ignored),
        np.asarray(g), x, targets, *weights, shapes=shapes,
    )  # fmt: skip
    close(result, expected)


TAKES = [
    ((5,), (3,), None),
    ((5,), (), 0),
    ((1, 4), (6,), 0),
    ((4, 5, 3), (2, 3), 1),
    ((4, 5), (7,), -1),
    ((4, 5), (0,), 0),
    ((0, 5), (3,), 1),
]


@pytest.mark.parametrize("is_symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize(("dims", "places", "axis"), TAKES)
def test_take_backward(run, dims, places, axis, is_symbolic):
    x = floats(*dims)
    at = axis or 0
    indices = RNG.integers(0, dims[at], places).astype("int32")
    flat = torch.from_numpy(indices.reshape(-1).astype("int64"))
    whole = at % len(dims)
    g, expected = differentiated(
        lambda x: x.index_select(at, flat).reshape(
            [*dims[:whole], *places, *dims[whole + 1 :]]
        ),
        x,
    )  # fmt: skip
    shapes = None
    if is_symbolic:
        names, inner = [f"d{i}" for i in range(len(dims))], [f"k{i}" for i in range(len(places))]
        shapes = [(*names[:whole], *inner, *names[whole + 1 :]), tuple(names), tuple(inner)]
    result = run(lambda g, x, i: op.grad.take_backward(g, x, i, axis), g, x, indices, shapes=shapes)
    close(result, expected)


def test_take_backward_of_places_out_of_range(run):
    g, x, places = floats(4, 2), floats(3, 2), np.array([-7, 0, 2, 9])
    wanted = np.stack([g[0] + g[1], np.zeros(2, "float32"), g[2] + g[3]])
    close(run(lambda g, x, i: op.grad.take_backward(g, x, i, 0), g, x, places),
          torch.from_numpy(wanted))  # fmt: skip
    # Nothing can be at a place of an empty dimension.
    close(
        run(lambda g, x, i: op.grad.take_backward(g, x, i, 0), g, x[:0], places,
            shapes=[("k", 2), ("n", 2), ("k",)]),
        torch.zeros(0, 2),
    )  # fmt: skip


def test_in_tvmscript():
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3, 8, 8), "float32"), g: R.Tensor(("n", 3, 4, 4), "float32"),
             p: R.Tensor(("n", 10), "float32"), t: R.Tensor(("n",), "int64"),
             w: R.Tensor((10,), "float32"), d: R.Tensor((), "float32")):
        with R.dataflow():
            a = R.grad.max_pool2d_backward(g, x, pool_size=[2, 2], strides=[2, 2])
            b = R.grad.avg_pool2d_backward(g, x, (2, 2), (2, 2), padding=(0, 0, 0, 0),
                                           dilation=(1, 1), ceil_mode=False,
                                           count_include_pad=False, layout="NCHW",
                                           out_layout=None)
            c = R.grad.nll_loss_backward(d, p, t, w, reduction="mean", ignore_index=-1)
            e = R.grad.take_backward(output_grad=R.take(w, t), x=w, indices=t, axis=0)
            R.output(a, b, c, e)
        return (a, b, c, e)
""")
    assert [str(field) for field in module["main"].ret_struct_info.fields] == [
        "!relax.tensor<[n, 3, 8, 8], f32>",
        "!relax.tensor<[n, 3, 8, 8], f32>",
        "!relax.tensor<[n, 10], f32>",
        "!relax.tensor<[10], f32>",
    ]
    assert relax.structural_equal(module, from_source(module.script()))


X = relax.TensorStructInfo((2, 3, 4, 4), "float32")
ERRORS = [
    (lambda x, i: op.grad.max_pool2d_backward(x, x, 2, 2), "expected dimensions"),
    (lambda x, i: op.grad.avg_pool2d_backward(x, x, 2, 2), "expected dimensions"),
    (lambda x, i: op.grad.max_pool2d_backward(x, x, layout="NCW"), "expected a layout of the dim"),
    (lambda x, i: op.grad.nll_loss_backward(x, x, i, None, "max"), "expected reduction mean"),
    (lambda x, i: op.grad.nll_loss_backward(x, x, i), "expected targets of rank 3"),
    (lambda x, i: op.grad.nll_loss_backward(i, op.sum(x, [2, 3]), i), "expected output_grad of r"),
    (lambda x, i: op.grad.take_backward(x, x, i), "expected an axis, as x has rank 4"),
    (lambda x, i: op.grad.take_backward(x, x, i, 4), "expected an axis from -4 to 3"),
    (lambda x, i: op.grad.take_backward(i, x, i, 0), "expected output_grad of rank 4"),
]


@pytest.mark.parametrize(("write_", "message"), ERRORS)
def test_error_of_arguments(write_, message):
    bb = relax.BlockBuilder()
    x, i = relax.Var("x", X), relax.Var("i", relax.TensorStructInfo((2,), "int64"))
    with bb.function("main", [x, i]):
        with pytest.raises(ValueError, match=message):
            write_(x, i)
        bb.emit_func_output(x)
