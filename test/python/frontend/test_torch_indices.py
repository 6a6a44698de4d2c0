# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that move, make and look up elements give what PyTorch gives."""

from __future__ import annotations

import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)
from torch_functions import (
    Family,
    Functions,
    check_every_size,
    check_known_size,
    random,
)

aten = torch.ops.aten


def moves() -> Functions:
    return {
        "repeat": lambda x: [x.repeat(2, 1, 3), x.tile(2), x.repeat_interleave(2, 1),
                             aten.permute_copy(x, [2, 0, 1]), *aten.unbind_copy(x, 1)],
        "flip": lambda x: [x.flip(0), x.flip(-1, 1), x.fliplr()],
        "roll": lambda x: [x.roll(1, 0), x.roll((1, -2), (1, 2)), x.roll(2)],
        "unfold": lambda x: [x.unfold(1, 2, 1), x.unfold(2, 3, 2)],
        "diagonal": lambda x: [x.diagonal(0, 1, 2), x.diagonal(1, 1, 2), x.diagonal(-1, 2, 1)],
        "unbind": lambda x: [*x.unbind(1), *x.unbind(-1)[:2]],
        "narrow": lambda x: [x.narrow(1, 1, 2), x[:, -2:], x[:, :, 1:9], x[:, 3:3], x[..., ::3]],
        "split": lambda x: [*x.split(2, 1), *x.split([1, 5], 2), *torch.tensor_split(x, 2, 1)],
        "cat": lambda x: [torch.cat([x, x * 2, torch.zeros(0)]), torch.cat([x, x.int()], -1)],
        "stack": lambda x: [torch.stack([x, -x], -1), torch.hstack([x, x])],
        "scatters": lambda x: [
            torch.slice_scatter(x, x[:, :2] * 2, 1, 1, 3), torch.select_scatter(x, x[:, 0], 1, -1),
            torch.slice_scatter(x, x[:, :2] * 2, 1, 0, 4, 2),
        ],
        "expand": lambda x: [x[:, :1].expand(-1, 7, -1), x.movedim(0, 2), x.swapaxes(1, 2), x.mT],
        "triangles": lambda x: [x.tril(), x.triu(1), torch.tril(x > 0.5, -1)],
        "pads": lambda x: [
            F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=3.5), F.pad(x, (-1, 1, 1, -2)),
            F.pad(x, (2, 1), mode="reflect"), F.pad(x, (2, 3), mode="replicate"),
            F.pad(x, (1, 2), mode="circular"), F.pad(x, (0, 0, 0, 0, 1, 1)),
            F.pad(x, (-1, 2), mode="circular"), F.pad(x[None], (2, -2, -1, 1), mode="circular"),
        ],
        "in_place": written,
        "views": lambda x: [x.unflatten(2, (2, 3)), x.flatten(1), x.reshape(-1, 3), x[None, :, 1]],
    }  # fmt: skip


def written(x: torch.Tensor) -> list[torch.Tensor]:
    y = x * 2
    y[:, 1] = 0.5
    y[:, 2:, ::2] += x[:, 2:, ::2]
    z = torch.zeros_like(x)
    z[..., 1:3] = y[..., :2]
    return [y, z.clamp_(0, 1)]


def made() -> Functions:
    return {
        "arange": lambda x: [
            torch.arange(5), torch.arange(2, 9, 3), torch.arange(5, 0, -2, dtype=torch.int32),
            torch.arange(0.5, 2, 0.25), torch.arange(4.0), torch.arange(3, dtype=torch.float64),
        ],
        "by_size": lambda x: [
            torch.arange(x.shape[0]), torch.arange(1, x.shape[0] + 3, 2), torch.ones(x.shape[0], 2),
            torch.arange(x.shape[0] - 1, -1, -1), torch.arange(x.shape[0], dtype=torch.float32),
            torch.eye(x.shape[0]), torch.full((x.shape[0], 2), 1.5), x.new_full((3, 2), 2),
            torch.full((2,), x.shape[0]), torch.full_like(x, 3), x.new_zeros(2), x.new_ones(1),
        ],
        "empty": lambda x: [torch.empty_like(x).fill_(2), torch.empty(3).zero_(), x.new_empty(0)],
        "sequences": lambda x: [
            torch.linspace(0, 1, 7), torch.linspace(3, -2, 4), torch.hann_window(6),
            torch.tril_indices(3, 4), torch.eye(3, 5), torch.scalar_tensor(2.5),
        ],
        "of_size": lambda x: [
            x / x.shape[0], x * (x.shape[0] + 1), x + x.shape[0] ** 0.5, x.sum() / x.numel(),
            torch.tensor(x.shape[0] * 2) + x.int(), x.masked_fill(x > 0.5, x.shape[0]),
        ],
        "positions": lambda x: x + torch.arange(x.shape[0]).unsqueeze(1) * 0.5,
        "causal": lambda x: torch.full((x.shape[0], x.shape[0]), float("-inf")).triu(1),
        "grids": lambda x: torch.meshgrid(torch.arange(x.shape[0]), torch.arange(3), indexing="ij"),
    }  # fmt: skip


def indexed() -> Functions:
    return {
        "index": lambda x, i: [
            x[i], x[:, i[:2] % 4], x[i, i % 4], x[i, :, i % 3], x[:, i % 4, i % 3], x[-i - 1],
            x[i.unsqueeze(1), torch.tensor([0, -1])], x[:, :, torch.tensor([[0, 2], [1, -1]])],
        ],
        "select": lambda x, i: [
            x.index_select(0, i), x.index_select(-1, torch.tensor([2, 0])), x.take(i), x[0, i % 4],
        ],
        "gather": lambda x, i: [
            x.gather(0, i.view(-1, 1, 1)), x.gather(2, (i % 3).view(-1, 1, 1).expand(-1, 4, 5)),
        ],
        "scatter": lambda x, i: [
            x.scatter(1, (i % 4).view(-1, 1, 1), 9.0),
            x.scatter(2, (i % 3).view(-1, 1, 1), x[:, 1:2, :1]),
            x.scatter_add(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "amax"),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "sum",
                             include_self=False),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "prod"),
        ],
        "put": lambda x, i: [
            x.index_put((i[:1],), torch.tensor(5.0)), x.index_put((i, i % 4), x[:, 0] * 2, True),
            aten.index_put(x, (None, torch.tensor([1, -1])), torch.tensor(2.0)),
            x.index_put((x > 0.7,), torch.tensor(-1.0)), x.index_put((i > 0,), torch.ones(3)),
            aten.index_put(x, (None, torch.tensor([0, 2]), torch.tensor([1, 0])), torch.zeros(2)),
        ],
        "put_flat": lambda x, i: [
            x.put(i * 2, i.float()), x.put(i % 2, i.float(), accumulate=True),
        ],
        "reduced": lambda x, i: [
            *(x.index_reduce(1, torch.tensor([1, 3, 1]), x[:, :3] * 2, kind, include_self=itself)
              for kind in ("mean", "amax", "prod") for itself in (True, False)),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "mean",
                             include_self=False),
            x[0, 0, 0].scatter_add(0, i[:1] * 0, x[0, 0, :1]),
        ],
        "added": lambda x, i: [
            x.index_add(0, i, x, alpha=2), x.index_fill(1, torch.tensor([1, 3]), 4.0),
            x.index_copy(1, torch.tensor([3, 0]), x[:, :2]),
        ],
        "masked": lambda x, i: [
            x.masked_scatter(x > 0.7, x * 10), x.masked_fill(i.view(-1, 1, 1) > 1, float("-inf")),
        ],
        "embedding": lambda x, i: F.embedding(i, random(9, 4), padding_idx=0),
        "bags": lambda x, i: [
            F.embedding_bag(i.view(-1, 1), x[:, :, 0], mode=mode) for mode in BAG_MODES
        ],
        "losses": lambda x, i: [
            F.cross_entropy(x[:, :, 0], i % 4), F.nll_loss(x[:, :, 0], i % 4, reduction="none"),
        ],
    }  # fmt: skip


BAG_MODES = ("sum", "mean", "max")


def bags() -> Functions:
    """Bags of rows of a table, by indices, where the bags begin, and a factor of each index."""
    bag = F.embedding_bag
    return {
        "plain": lambda w, i, at, by: [bag(i, w, at, mode=mode) for mode in BAG_MODES],
        "padded": lambda w, i, at, by: [
            bag(i, w, at, mode=mode, padding_idx=one) for mode in BAG_MODES for one in (3, -1)
        ],
        "with_end": lambda w, i, at, by: [
            bag(
                i,
                w,
                torch.cat([at, torch.full((1,), i.shape[0])]),
                mode=mode,
                include_last_offset=True,
            )
            for mode in BAG_MODES
        ],
        "weighted": lambda w, i, at, by: [
            bag(i, w, at, mode="sum", per_sample_weights=by),
            bag(i, w, at, mode="sum", per_sample_weights=by, padding_idx=2),
        ],
        "rows": lambda w, i, at, by: [
            bag(i.view(-1, 1), w, mode=mode, padding_idx=0) for mode in BAG_MODES
        ],
        "equal": lambda w, i, at, by: [
            bag(torch.stack([i, i.flip(0)], 1), w, mode=mode, padding_idx=one)
            for mode in BAG_MODES
            for one in (None, 3)
        ],
        "equal_and_weighted": lambda w, i, at, by: bag(
            torch.stack([i, i], 1), w, mode="sum", per_sample_weights=torch.stack([by, -by], 1)
        ),
        "scaled": lambda w, i, at, by: bag(i, w, at, max_norm=None, scale_grad_by_freq=True),
    }


FAMILIES: dict[str, Family] = {
    "moves": Family(lambda n: (random(n, 4, 6),), moves()),
    "made": Family(lambda n: (random(n, 4),), made()),
    "indexed": Family(
        lambda n: (random(n, 4, 3), torch.arange(n).flip(0)), indexed(), dynamic=(True, True)
    ),
    "bags": Family(
        lambda n: (random(9, 4) - 0.7, torch.tensor([3, 3, 0, 8, 2])[:n],
                   torch.tensor([0, 1, 1, 2]), random(n)),
        bags(), dynamic=(False, True, False, True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_at_every_size(name: str) -> None:
    check_every_size(FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_of_a_known_size(name: str) -> None:
    check_known_size(FAMILIES[name])


@pytest.mark.parametrize("columns", [1, 39, 64, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("mode", BAG_MODES)
def test_bags_of_different_sizes(
    exec_mode: str, mode: str, padding: int | None, dtype: torch.dtype, columns: int
) -> None:
    """Bags of no rows up to many, of fewer columns than lanes and of more than registers."""

    class Model(torch.nn.Module):
        def forward(self, w: torch.Tensor, i: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
            return F.embedding_bag(i, w, at, mode=mode, padding_idx=padding)

    sizes = torch.tensor([0, 1, 3, 4, 5, 0, 8, 41, 2])
    at = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)[:-1]])
    places = torch.randint(0, 9, (int(sizes.sum()),), generator=torch.Generator().manual_seed(0))
    inputs = (random(9, columns).to(dtype) - 0.5, places, at)
    dims = ({}, {0: torch.export.Dim("n", min=2)}, {0: torch.export.Dim("b", min=2)})
    program = torch.export.export(Model(), inputs, dynamic_shapes=dims)
    compiled = relax_mlir.compile(from_exported_program(program), exec_mode=exec_mode)
    main = relax_mlir.VirtualMachine(compiled)["main"]
    (got,) = main(*inputs)
    torch.testing.assert_close(torch.from_dlpack(got), Model()(*inputs))
    # Offsets that are no begins of bags read no other memory.
    for wrong in ([5, 99, -7, 3], [-3, 64, 64, 64], [64, 60, 50, 0]):
        main(inputs[0], places, torch.tensor(wrong))
    main(inputs[0], places * 1000 - 500, at)
