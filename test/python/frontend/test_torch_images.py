# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen on images give what PyTorch gives."""

from __future__ import annotations

import functools

import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)
from torch_functions import (
    Family,
    Functions,
    check_every_size,
    check_known_size,
    load,
    random,
)


def windows() -> Functions:
    weight, bias = random(6, 2, 3, 3), random(6)
    back = random(4, 3, 3, 2)
    return {
        "conv": lambda x: [
            F.conv2d(x, weight, bias, padding="same", groups=2), F.conv2d(x[0], random(3, 4, 2, 2)),
            F.conv2d(x, random(3, 4, 2, 4), padding="same", dilation=2),
            F.conv1d(x[:, 0], random(2, 8, 3), padding=1, stride=2),
            F.conv3d(x.unsqueeze(2), random(2, 4, 1, 3, 3)),
        ],
        "transposed": lambda x: [
            F.conv_transpose2d(x, back, stride=2, padding=1, output_padding=1),
            F.conv_transpose2d(x, back, random(3), stride=(3, 1), dilation=(1, 2)),
            F.conv_transpose2d(x, random(4, 3, 3, 3), random(6), groups=2, padding=2),
            F.conv_transpose1d(x[:, 0], random(8, 2, 4), stride=2, padding=1),
            F.conv_transpose3d(x.unsqueeze(2), random(4, 2, 2, 2, 2), stride=2),
        ],
        "max_pools": lambda x: [
            F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.max_pool2d(x[0], 2),
            F.max_pool1d(x[:, 0], 2), F.max_pool3d(x, 2, 1), F.max_pool2d(x, 2, 1, 0, 2),
        ],
        "avg_pools": lambda x: [
            F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, divisor_override=3), F.avg_pool3d(x, 2),
            F.avg_pool1d(x[:, 0], 3, 1, 1, count_include_pad=False),
            F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.lp_pool2d(x, 2, 2),
        ],
        "adaptive": lambda x: [
            F.adaptive_avg_pool2d(x, (3, None)), F.adaptive_avg_pool1d(x[:, 0], 4),
            F.adaptive_avg_pool3d(x, (2, 1, 5)), F.adaptive_max_pool2d(x, (4, 1)),
            F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, (3, 5)),
            F.adaptive_max_pool1d(x[0, 0], 3),
        ],
        "places": lambda x: [
            F.max_pool2d(x, 2, return_indices=True),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
            F.max_pool2d(-x[0], 3, 1, 1, 2, return_indices=True),
            F.max_pool1d(x[:, 0], 3, 2, return_indices=True),
            F.max_pool3d((x * 9).int().float().unsqueeze(2), (1, 2, 3), return_indices=True),
            F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
            F.adaptive_max_pool2d(x[1], 1, return_indices=True),
            F.adaptive_max_pool3d((x * 3).round()[None], (2, 2, 3), return_indices=True),
        ],
        "unpooled": lambda x: [
            F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
            F.max_unpool2d(*F.max_pool2d(x, 3, 2, return_indices=True), 3, 2, output_size=(8, 10)),
            F.max_unpool1d(*F.max_pool1d(x[0], 2, return_indices=True), 2),
            F.max_unpool3d(*F.max_pool3d(x[None], 2, return_indices=True), 2),
        ],
        "shuffles": lambda x: [F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2),
                               F.channel_shuffle(x, 2)],
        "pads": lambda x: [F.pad(x, (1, 2, 3, 1), mode=mode)
                           for mode in ("reflect", "replicate", "circular")],
        "unfolded": lambda x: F.unfold(x, 3, padding=1),
        "folded": lambda x: [
            F.fold(x.flatten(1, 2), (3, 6), (2, 2), stride=(1, 1)),
            F.fold(F.unfold(x, (3, 2), 2, (1, 0), 2), (8, 10), (3, 2), 2, (1, 0), 2),
        ],
    }  # fmt: skip


def resized() -> Functions:
    modes = ("nearest", "nearest-exact", "bilinear", "bicubic")
    return {
        "by_scale": lambda x: [F.interpolate(x, scale_factor=2.0, mode=mode) for mode in modes],
        "by_fraction": lambda x: [F.interpolate(x, scale_factor=0.7, mode=mode) for mode in modes],
        "by_size": lambda x: [F.interpolate(x, (5, 11), mode=mode) for mode in modes],
        "corners": lambda x: [
            F.interpolate(x, (5, 1), mode=mode, align_corners=True) for mode in modes[2:]
        ],
        "smooth": lambda x: [
            F.interpolate(x, (5, 17), mode=mode, antialias=True) for mode in modes[2:]
        ],
        "others": lambda x: [
            F.interpolate(x[:, 0], 5, mode="linear"), F.interpolate(x[:, 0], scale_factor=3.0),
            F.interpolate(x.unsqueeze(2), (2, 3, 5), mode="trilinear"),
            *(F.interpolate(x, scale_factor=1.1, mode=mode) for mode in modes),
        ],
    }  # fmt: skip


def sampled() -> Functions:
    return {
        f"{mode}_{padding}_{corners}": functools.partial(
            F.grid_sample, mode=mode, padding_mode=padding, align_corners=corners
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    }


# Of torchvision, which the tests do not need: the samples of regions are those of `grid_sample`.
ROI_ALIGN = torch.library.Library("torchvision", "FRAGMENT")
if not hasattr(torch.ops.torchvision, "roi_align"):
    ROI_ALIGN.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
        "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    )

    def roi_align(
        x: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, count: int,
        aligned: bool,
    ) -> torch.Tensor:  # fmt: skip
        results = []
        for image, *edges in rois.tolist():
            left, top, right, bottom = (one * scale - aligned / 2 for one in edges)
            least = 0.0 if aligned else 1.0
            samples = []
            for size, low, high, bins in zip(
                x.shape[2:], (top, left), (bottom, right), (height, width), strict=True
            ):
                step = max(high - low, least) / (bins * count)
                at = low + (torch.arange(bins * count) + 0.5) * step
                inside = (at >= -1) & (at <= size)
                samples.append((at.clamp(0, size - 1) / (size - 1) * 2 - 1, inside))
            (y, in_rows), (x_at, in_columns) = samples
            grid = torch.stack(torch.meshgrid(x_at, y, indexing="xy"), -1)[None]
            values = F.grid_sample(x[int(image)][None], grid, align_corners=True)
            values = values * (in_rows.unsqueeze(1) & in_columns)
            results.append(F.avg_pool2d(values, count)[0])
        return torch.stack(results)

    ROI_ALIGN.impl("roi_align", roi_align, "CPU")
    torch.library.register_fake(
        "torchvision::roi_align",
        lambda x, rois, scale, height, width, *_: x.new_empty(
            rois.shape[0], x.shape[1], height, width
        ),
        lib=ROI_ALIGN,
    )


def regions() -> Functions:
    align = torch.ops.torchvision.roi_align
    return {
        "scaled": lambda x, rois: [align(x, rois, 0.5, 3, 2, 2, aligned) for aligned in
                                   (False, True)],
        "plain": lambda x, rois: align(x, rois, 1.0, 2, 2, 3, True),
    }  # fmt: skip


FAMILIES: dict[str, Family] = {
    "windows": Family(lambda n: (random(n, 4, 8, 10) - 0.7,), windows()),
    "resized": Family(lambda n: (random(n, 2, 7, 8),), resized()),
    "sampled": Family(
        lambda n: (random(n, 2, 5, 4), random(n, 3, 6, 2) * 4 - 3), sampled(), dynamic=(True, True)
    ),
    "regions": Family(
        lambda n: (random(n, 2, 6, 7), torch.tensor([[0, 1, 2, 9, 7.5], [1, -3, 4, 30, 9],
                                                     [1, 3, 3, 3.5, 3.5]])),
        regions(), dynamic=(True, False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_at_every_size(name: str) -> None:
    check_every_size(FAMILIES[name])


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("channels", [1, 3, 4, 5, 6, 20])
def test_samples_of_planes(exec_mode: str, batch: int, channels: int) -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
            return F.grid_sample(x, grid, align_corners=False)

    inputs = random(batch, channels, 19, 23), random(batch, 7, 37, 2) * 3 - 1.5
    mod = from_exported_program(torch.export.export(Model(), inputs))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    torch.testing.assert_close(torch.from_dlpack(main(*inputs)[0]), Model()(*inputs))


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_of_a_known_size(name: str) -> None:
    check_known_size(FAMILIES[name])


def test_resizing_of_sizes_that_are_not_known() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.interpolate(x, scale_factor=2.0) + 1

    dims = {2: torch.export.Dim("h", min=2), 3: torch.export.Dim("w", min=2)}
    program = torch.export.export(Model(), (random(1, 2, 5, 6),), dynamic_shapes=(dims,))
    main = load(from_exported_program(program))
    for shape in ((1, 2, 5, 6), (1, 2, 3, 7)):
        x = random(*shape)
        torch.testing.assert_close(torch.from_dlpack(main(x)[0]), Model()(x))


class Pyramid(nn.Module):
    """Resizes images to the size of others."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        size = y.shape[-2:]
        return [
            F.interpolate(x, size=size, mode="bilinear"),
            F.interpolate(x, size=size, mode="bilinear", align_corners=True),
            F.interpolate(x, size=size),
            F.interpolate(x, size=size, mode="nearest-exact"),
            F.interpolate(x[:, :, 0], size=y.shape[-1], mode="linear"),
            F.interpolate(x, size=(3, y.shape[-1]), mode="bilinear"),
            F.interpolate(x, size=size, mode="bicubic"),
            F.interpolate(x, size=size, mode="bicubic", align_corners=True),
            F.interpolate(x, size=size, mode="bilinear", antialias=True),
            F.interpolate(x, size=size, mode="bicubic", antialias=True),
            *(F.interpolate(x, scale_factor=1.5, mode=mode)
              for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")),
        ]  # fmt: skip


def test_resizing_to_sizes_that_are_not_known(exec_mode: str) -> None:
    h, w, other_h, other_w = (torch.export.Dim(name, min=2) for name in ("h", "w", "oh", "ow"))
    program = torch.export.export(
        Pyramid(),
        (random(1, 2, 5, 6), random(1, 2, 9, 4)),
        dynamic_shapes=({2: h, 3: w}, {2: other_h, 3: other_w}),
    )
    mod = from_exported_program(program)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    for first, second in (((5, 6), (9, 4)), ((7, 3), (14, 9)), ((8, 13), (3, 2)), ((4, 4), (4, 4))):
        x, y = random(1, 2, *first), random(1, 2, *second)
        for actual, expected in zip(main(x, y), Pyramid()(x, y), strict=True):
            torch.testing.assert_close(torch.from_dlpack(actual), expected)


class Pools(nn.Module):
    """Pools that say which elements are the largest ones, and those of a number of windows."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [
            F.max_unpool2d(*F.max_pool2d(x, 3, 1, return_indices=True), 3, 1),
            *F.max_pool2d(x, 3, 2, 1, return_indices=True),
            *F.max_pool2d(-x[0], (2, 3), 1, 1, (1, 2), return_indices=True),
            *F.max_pool1d(x[:, 0], 3, 2, return_indices=True),
            *F.max_pool3d((x * 9).round().unsqueeze(2), (1, 2, 3), return_indices=True),
            *F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
            *F.adaptive_max_pool2d((x[0] * 3).round(), (4, 1), return_indices=True),
            F.adaptive_max_pool2d(x, (2, 7)),
            F.adaptive_max_pool1d(x[:, 0], 3),
            F.adaptive_max_pool2d(x, 1),
        ]


def test_pools_of_sizes_that_are_not_known(exec_mode: str) -> None:
    dims = {2: torch.export.Dim("h", min=6), 3: torch.export.Dim("w", min=6)}
    program = torch.export.export(Pools(), (random(2, 3, 8, 10),), dynamic_shapes=(dims,))
    mod = from_exported_program(program)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    for shape in ((2, 3, 8, 10), (2, 3, 7, 6), (2, 3, 11, 21)):
        x = random(*shape) - 0.7
        x[0, 0, 1, 1] = x[1, 1, 2, 2] = x[1, 1, 2, 3] = torch.nan
        results = [torch.from_dlpack(one) for one in main(x)]
        torch.testing.assert_close(results, Pools()(x), equal_nan=True)
