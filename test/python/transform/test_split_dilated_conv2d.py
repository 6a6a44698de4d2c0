# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dilated convolutions are those of every other pixel: against PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.transform import SplitDilatedConv2D
from torch.nn import functional

RNG = np.random.default_rng(0)


def program(weight, shape, dtype="float32", bias=16, **options):
    """Return a convolution by a constant, with a bias."""
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = op.nn.conv2d(x, op.const(weight), **options)
            out = bb.emit_output(op.nn.relu(op.add(out, op.const(np.ones((bias, 1, 1), dtype)))))
        bb.emit_func_output(out)
    return bb.get()


def weights(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def is_split(mod):
    (conv,) = (line for line in str(SplitDilatedConv2D()(mod)).splitlines() if "conv2d" in line)
    return "dilation" not in conv


CASES = [
    # Height and width, dilation, padding.
    ((16, 16), 2, 2),
    ((16, 20), (2, 4), (2, 4)),
    ((28, 28), 4, 4),
    # Padded to the next multiple, and the result cut.
    ((17, 15), 2, 2),
    ((33, 35), 3, 3),
    # Other paddings that are a multiple of the dilation, before and after.
    ((16, 16), 2, 0),
    ((16, 19), 2, 4),
    ((20, 20), 2, (2, 0, 4, 2)),
    ((20, 20), (1, 3), (1, 3)),
]


LINES = [
    # Shape, window, dilation, padding.
    ((40, 1, 64), (1, 3), 8, 8),
    ((40, 1, 65), (1, 3), 8, 16),
    ((40, 1, 70), (1, 3), 9, (0, 9)),
    ((64, 1, 40), (1, 3), 7, 7),
    ((40, 12, 7), (3, 1), 2, 2),
    ((40, 17, "w"), (3, 1), 2, 2),
]


@pytest.mark.parametrize(("shape", "window", "dilation", "padding"), LINES)
def test_rows_have_what_the_dilation_passes_over(exec_mode, shape, window, dilation, padding):
    weight = weights(48, shape[0], *window)
    before, after = (padding, padding) if np.ndim(padding) == 0 else padding
    axis = window.index(3)
    around = [0] * 4
    around[axis], around[2 + axis] = before, after
    steps = [1, 1]
    steps[axis] = dilation
    mod = program(weight, ("n", *shape), bias=48, padding=around, dilation=steps)
    assert is_split(mod)
    x = weights(2, *[9 if isinstance(size, str) else size for size in shape])
    padded = functional.pad(torch.from_numpy(x), (around[1], around[3], around[0], around[2]))
    wanted = functional.conv2d(padded, torch.from_numpy(weight), torch.ones(48), dilation=steps)
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    np.testing.assert_allclose(main(x), wanted.relu(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("shape", "window", "options"),
    [
        ((40, 1, 64), (1, 3), {"padding": (0, 2, 0, 2), "dilation": (1, 2)}),  # few columns
        ((16, 1, 64), (1, 3), {"padding": (0, 8, 0, 8), "dilation": (1, 8)}),  # few channels
        ((40, 2, 64), (1, 3), {"padding": (0, 8, 0, 8), "dilation": (1, 8)}),  # several rows
        ((40, 1, 64), (1, 3), {"padding": (1, 8, 1, 8), "dilation": (1, 8)}),
        ((40, 1, 64), (1, 3), {"dilation": (1, 8), "strides": (1, 2)}),
        ((40, 1, "w"), (1, 3), {"padding": (0, 8, 0, 8), "dilation": (1, 8)}),
        ((40, 1, 64), (1, 5), {"padding": (0, 16, 0, 16), "dilation": (1, 8)}),
    ],
)
def test_other_lines_are_left_alone(shape, window, options):
    mod = program(weights(48, shape[0], *window), ("n", *shape), bias=48, **options)
    assert not is_split(mod)


@pytest.mark.parametrize(("size", "dilation", "padding"), CASES)
@pytest.mark.parametrize("batch", [1, 3])
def test_phases_are_images(exec_mode, size, dilation, padding, batch):
    weight = weights(16, 12, 3, 3)
    mod = program(weight, ("n", 12, *size), padding=padding, dilation=dilation)
    assert is_split(mod)
    x = weights(batch, 12, *size)
    before, after = (padding, padding) if np.ndim(padding) == 0 else (padding[:2], padding[-2:])
    top, left = np.broadcast_to(before, 2)
    bottom, right = np.broadcast_to(after, 2)
    padded = functional.pad(torch.from_numpy(x), (int(left), int(right), int(top), int(bottom)))
    wanted = functional.conv2d(padded, torch.from_numpy(weight), None, 1, 0, dilation)
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"]
    np.testing.assert_allclose(main(x), (wanted + 1).relu(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "splits"),
    [({}, True), ({"winograd": False}, False), ({"precision": "bf16"}, True)],
)
def test_compilation_splits_for_the_algorithm_of_winograd(tmp_path, options, splits):
    mod = program(weights(16, 16, 3, 3), (1, 16, 28, 28), padding=2, dilation=2)
    relax.compile(mod, dump_phases=tmp_path, opt_level=0, **options)
    optimized = sorted(tmp_path.iterdir())[2].read_text()
    (conv,) = (line for line in optimized.splitlines() if "relax.conv2d" in line)
    assert ("dilation" not in conv) == splits


@pytest.mark.parametrize(
    ("weight", "shape", "options"),
    [
        # No dilation, and windows without the algorithm of Winograd.
        (weights(16, 12, 3, 3), (1, 12, 16, 16), {"padding": 1}),
        (weights(16, 12, 5, 5), (1, 12, 24, 24), {"padding": 4, "dilation": 2}),
        (weights(16, 12, 3, 3), (1, 12, 24, 24), {"padding": 2, "dilation": 2, "strides": 2}),
        (weights(16, 6, 3, 3), (1, 12, 24, 24), {"padding": 2, "dilation": 2, "groups": 2}),
        (weights(16, 4, 3, 3), (1, 4, 24, 24), {"padding": 2, "dilation": 2}),
        # Images of unknown size, small ones, and results that are cut off for the most part.
        (weights(16, 12, 3, 3), (1, 12, "h", 24), {"padding": 2, "dilation": 2}),
        (weights(16, 12, 3, 3), (1, 12, 14, 14), {"padding": 12, "dilation": 12}),
        (weights(16, 12, 3, 3), (1, 12, 25, 25), {"padding": 6, "dilation": 6}),
        # Images that do not begin together.
        (weights(16, 12, 3, 3), (1, 12, 24, 24), {"padding": 1, "dilation": 2}),
    ],
)
def test_others_stay(weight, shape, options):
    mod = program(weight, shape, **options)
    assert str(SplitDilatedConv2D()(mod.clone())) == str(mod)


def test_other_types_stay():
    weight = weights(16, 12, 3, 3, dtype="float64")
    mod = program(weight, (1, 12, 16, 16), "float64", padding=2, dilation=2)
    assert not is_split(mod)
