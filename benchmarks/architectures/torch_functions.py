# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and layers of PyTorch, one a program.

Random numbers differ from PyTorch's, so that their programs return what all numbers have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as everybody calls it)
from case import Case, Input, Outputs, image, tokens
from torch import nn
from torch._higher_order_ops import while_loop

X = Input(("batch", 8))
SEQUENCE = Input(("batch", 6, 8))
WORDS = tokens(20, 6)
SIGNAL = Input(("batch", 4, 12))
IMAGE = image(8, 4)
VOLUME = Input(("batch", 4, 6, 6, 6))


class _SelfAttention(nn.MultiheadAttention):
    def forward(self, x: torch.Tensor) -> Any:  # type: ignore[override]
        return super().forward(x, x, x)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> Any:
        """Return what the function returns."""
        return self.function(*arguments)


def _function(name: str, family: str, function: Callable[..., Any], *inputs: Input) -> Case:
    return Case(name, family, lambda: Outputs(Function(function)), inputs or (X,))


def _layer(name: str, make: Callable[[], nn.Module], *inputs: Input) -> Case:
    return Case(name, "layers", lambda: Outputs(make()), inputs or (X,))


def _ints(x: torch.Tensor) -> torch.Tensor:
    return (x * 10).to(torch.int32)


def _unit(x: torch.Tensor) -> torch.Tensor:
    return x.sigmoid() * 1.8 - 0.9


def _with_infinities(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.log(), x / x.relu()], 1)


def _has_mean(x: torch.Tensor, mean: float) -> torch.Tensor:
    return ((x - mean).mean() < 0.2).float()


def _in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[:, 1:3] = 7.0
    return y


def _slice_scatter(x: torch.Tensor) -> torch.Tensor:
    return torch.slice_scatter(x, x[:, :3] * 2, 1, 2, 5)


def _windows(x: torch.Tensor) -> torch.Tensor:
    n, c, h, w = x.shape
    parts = x.view(n, c, h // 4, 4, w // 4, 4)
    return parts.permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, c)


def _affine_grid(x: torch.Tensor) -> torch.Tensor:
    theta = x[:, :6].reshape(-1, 2, 3)
    return F.affine_grid(theta, [x.shape[0], 1, 5, 7], align_corners=False)


def _cond(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


def _while_loop(x: torch.Tensor) -> torch.Tensor:
    first = (torch.tensor(0), x)
    return while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2), first)[1]


def _item(x: torch.Tensor) -> torch.Tensor:
    return x * x.sum().item()


def _float8(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float8_e4m3fn).to(torch.float32)


def _heads(x: torch.Tensor, count: int = 4) -> torch.Tensor:
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def _attention(x: torch.Tensor, **options: Any) -> torch.Tensor:
    groups = 2 if options.get("enable_gqa") else 4
    keys = _heads(x[..., : 2 * groups], groups)
    return F.scaled_dot_product_attention(_heads(x), keys, keys * 2, **options)


def _causal_mask() -> torch.Tensor:
    return torch.ones(6, 6, dtype=torch.bool).tril()


def _spectrum(x: torch.Tensor) -> torch.Tensor:
    window = torch.hann_window(8)
    return torch.view_as_real(torch.stft(x, 8, 4, window=window, return_complex=True))


def _fake_quantize(x: torch.Tensor) -> torch.Tensor:
    return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)


def _integer_product(x: torch.Tensor) -> torch.Tensor:
    y = (x * 10).to(torch.int8)
    return torch._int_mm(y.repeat(20, 1), y.new_ones(8, 16))


def _half_product(x: torch.Tensor) -> torch.Tensor:
    return (x.half() @ x.half().T).float()


def _indices(x: torch.Tensor) -> torch.Tensor:
    return (x[:, :3].abs() * 3).long().clamp(max=7)


def _labels(x: torch.Tensor) -> torch.Tensor:
    return _indices(x)[:, 0]


def _each(
    module: Any, names: list[str], prepare: Callable[[torch.Tensor], torch.Tensor] | None = None
) -> dict[str, Callable[..., Any]]:
    """Return functions of a module, by name; `prepare` makes their argument of the input."""

    def prepared(function: Callable[..., Any]) -> Callable[..., Any]:
        return function if prepare is None else lambda x: function(prepare(x))

    return {name: prepared(getattr(module, name)) for name in names}


ELEMENTWISE = {
    **_each(F, ["softplus", "mish", "logsigmoid", "hardtanh", "softsign", "softshrink", "glu"]),
    **_each(F, ["tanhshrink", "elu", "celu", "selu", "relu6", "hardswish", "hardsigmoid"]),
    **_each(torch, ["asinh", "atan", "sinh", "cosh", "trunc", "expm1"]),
    **_each(torch, ["acos", "asin", "atanh", "tan", "log1p"], _unit),
    **_each(torch, ["acosh", "log2", "log10"], lambda x: x.abs() + 1.1),
    **_each(torch, ["isnan", "isinf", "isfinite"], _with_infinities),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.2])),
    "leaky_relu_inplace": lambda x: F.leaky_relu(x * 2, 0.1, inplace=True),
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "atan2": lambda x: torch.atan2(x, x.flip(1)),
    "max_other": lambda x: torch.maximum(x, x * 2 - 1),
    "isin": lambda x: torch.isin(_ints(x), torch.tensor([1, 3, 5], dtype=torch.int32)),
    "bitwise_and": lambda x: _ints(x) & 3,
    "bitwise_or": lambda x: _ints(x) | 3,
    "bitwise_xor": lambda x: _ints(x) ^ 3,
    "bitwise_not": lambda x: ~_ints(x),
    "bool_and": lambda x: (x > 0) & (x < 1),
    "logical_xor": lambda x: torch.logical_xor(x > 0, x < 1),
    "floor_divide": lambda x: _ints(x) // 3,
    "div_mode_floor": lambda x: torch.div(x, 0.3, rounding_mode="floor"),
    "div_mode_trunc": lambda x: torch.div(x, 0.3, rounding_mode="trunc"),
    "fmod": lambda x: torch.fmod(x, 0.3),
    "remainder": lambda x: torch.remainder(x, 0.3),
    "logaddexp": lambda x: torch.logaddexp(x, x.flip(1)),
    "clamp_tensor": lambda x: torch.clamp(x, x * 0 - 0.5, x * 0 + 0.5),
    "clamp_max": lambda x: torch.clamp_max(x, 0.5),
    "rsub_tensor": lambda x: torch.rsub(x, x.flip(1)),
    "where": lambda x: torch.where(x > 0, x, -x * 3),
    "masked_fill": lambda x: x.masked_fill(x > 0, 2.0),
    "dropout_eval": lambda x: F.dropout(x, 0.5, training=False),
}
REDUCTIONS = {
    "any_dim": lambda x: (x > 1).any(1),
    "all_dim": lambda x: (x > -1).all(1),
    "max_default": torch.max,
    "max_dim": lambda x: tuple(x.max(1)),
    "min_dim": lambda x: tuple(x.min(1)),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1),
    "amax": lambda x: x.amax(1),
    "prod": lambda x: x.prod(1),
    "std": lambda x: x.std(1),
    "var": lambda x: x.var(1),
    "var_mean": lambda x: torch.var_mean(x, 1),
    "median": lambda x: tuple(x.median(1)),
    "norm": lambda x: x.norm(dim=1),
    "linalg_norm": lambda x: torch.linalg.norm(x, dim=1),
    "normalize": lambda x: F.normalize(x),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(1)),
    "logsumexp": lambda x: x.logsumexp(1),
    "count_nonzero": lambda x: torch.count_nonzero(x > 0, 1),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(1),
}
CREATION = {
    "arange": lambda x: torch.arange(x.shape[0]) + x[:, 0],
    "arange_step": lambda x: torch.arange(1, 17, 2) + x,
    "linspace": lambda x: torch.linspace(0, 1, 8) + x,
    "eye": lambda x: torch.eye(8) + x[:1],
    "empty_like": lambda x: torch.empty_like(x).copy_(x),
    "scalar_tensor": lambda x: torch.scalar_tensor(3.0) * x,
    "hamming_window": lambda x: torch.hamming_window(8) * x,
    "new_zeros": lambda x: x.new_zeros(x.shape) + x,
    "new_ones": lambda x: x.new_ones(x.shape) + x,
    "full_like": lambda x: torch.full_like(x, 4.0) + x,
    "zeros": lambda x: torch.zeros(x.shape[0], 8) + x,
    "tril": lambda x: torch.tril(x),
    "triu": lambda x: torch.triu(x, 1),
    "one_hot": lambda x: F.one_hot(_labels(x), 8),
    "rand": lambda x: _has_mean(torch.rand(256, 8), 0.5) + x,
    "randn_like": lambda x: _has_mean(torch.randn_like(x.repeat(100, 1)), 0.0) + x,
    "multinomial": lambda x: (torch.multinomial(x.softmax(1), 3) < 8).float() + x[:, :3],
    "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="ij"),
}
INDICES = {
    "gather": lambda x: x.gather(1, _indices(x)),
    "index_tensor": lambda x: x[:, torch.tensor([0, 2, 5])],
    "index_2": lambda x: x[torch.tensor([0, 1]), torch.tensor([3, 4])],
    "index_select": lambda x: x.index_select(1, torch.tensor([0, 2, 5])),
    "index_put": lambda x: x.index_put((torch.tensor([0, 1]),), torch.ones(8)),
    "index_add": lambda x: x.index_add(0, torch.tensor([0, 1]), torch.ones(2, 8)),
    "scatter": lambda x: x.scatter(1, torch.tensor([[0, 2]]).expand(x.shape[0], 2), x[:, :2] * 2),
    "scatter_value": lambda x: x.scatter(1, _indices(x), 2.0),
    "scatter_add": lambda x: x.scatter_add(1, _indices(x), x[:, :3]),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x * 2),
    "masked_select": lambda x: x.masked_select(x > 0),
    "nonzero": lambda x: torch.nonzero(x > 0),
    "take": lambda x: torch.take(x, torch.tensor([0, 9, 3])),
    "slice_scatter": _slice_scatter,
    "setitem": _in_place,
    "sort": lambda x: tuple(x.sort(1)),
    "argsort": lambda x: x.argsort(1),
    "topk": lambda x: tuple(x.topk(3, 1)),
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
    "searchsorted": lambda x: torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x),
    "unique": lambda x: torch.unique(_ints(x)),
    "as_strided": lambda x: x.as_strided((2, 3), (8, 2)),
    "diagonal": lambda x: x.reshape(-1, 2, 4).diagonal(0, 1, 2),
    "unfold": lambda x: x.unfold(1, 3, 2),
}
SHAPES = {
    "flip": lambda x: x.flip(1),
    "roll": lambda x: x.roll(2, 1),
    "roll2": lambda x: x.roll((1, 2), (0, 1)),
    "repeat": lambda x: x.repeat(2, 3),
    "tile": lambda x: x.tile(2, 3),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "unbind": lambda x: x.unbind(1),
    "narrow": lambda x: x.narrow(1, 2, 4),
    "movedim": lambda x: x.reshape(-1, 2, 4).movedim(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 1) + 1,
    "reshape_as": lambda x: x.reshape(-1, 2, 4).reshape_as(x),
    "chunk": lambda x: x.chunk(3, 1),
    "split": lambda x: x.split([2, 5, 1], 1),
    "tensor_split": lambda x: x.tensor_split(3, 1),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "hstack": lambda x: torch.hstack([x, x * 2]),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "atleast": lambda x: torch.atleast_3d(x),
    "sym_size_tensor": lambda x: x / torch.scalar_tensor(x.shape[0]),
    "sym_mul": lambda x: x * x.shape[0],
    "constant_pad_neg": lambda x: F.pad(x, (-1, 2)),
    "pad_const": lambda x: F.pad(x, (1, 2), value=3.0),
}
IMAGES = {
    "pad_reflect": lambda x: F.pad(x, (1, 2, 3, 4), "reflect"),
    "pad_replicate": lambda x: F.pad(x, (1, 2, 3, 4), "replicate"),
    "interp_nearest": lambda x: F.interpolate(x, scale_factor=2),
    "interp_bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "interp_bicubic": lambda x: F.interpolate(x, size=(5, 11), mode="bicubic"),
    "grid_sample": lambda x: F.grid_sample(x, x[:, :2].movedim(1, 3), align_corners=False),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "window_partition": _windows,
    "MaxPool2d_idx": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "Conv2d_same": lambda x: F.conv2d(x, torch.ones(4, 4, 3, 3), padding="same"),
}
PRODUCTS = {
    "bmm": lambda x: torch.bmm(x, x.mT),
    "baddbmm": lambda x: torch.baddbmm(x[:, :, :6], x, x.mT, beta=0.5),
    "tensordot": lambda x: torch.tensordot(x, torch.ones(6, 8, 3), 2),
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "outer": lambda x: torch.outer(x[0, 0], x[0, 1]),
    "cdist": lambda x: torch.cdist(x, x * 2),
    "cross": lambda x: torch.linalg.cross(x[..., :3], x[..., 3:6]),
    "sdpa_causal": lambda x: _attention(x, is_causal=True),
    "sdpa_mask": lambda x: _attention(x, attn_mask=_causal_mask()),
    "sdpa_gqa": lambda x: _attention(x, enable_gqa=True),
    "sdpa_causal_mask_gqa": lambda x: _attention(x, attn_mask=_causal_mask(), enable_gqa=True),
    "bf16": lambda x: (x.bfloat16() + 1).float(),
}
OTHERS = {
    "f16_mm": _half_product,
    "int_mm": _integer_product,
    "fp8": _float8,
    "quant_fake": _fake_quantize,
    "mse": lambda x: F.mse_loss(x, x.flip(1)),
    "cross_entropy": lambda x: F.cross_entropy(x, _labels(x)),
    "nll_loss": lambda x: F.nll_loss(x.log_softmax(1), _labels(x)),
    "affine_grid": _affine_grid,
    "cond": _cond,
    "while_loop": _while_loop,
    "item": _item,
    "fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "stft": _spectrum,
    "complex": lambda x: torch.view_as_real(torch.polar(x.abs(), x) * 2),
}
FUNCTIONS = [
    *(_function(name, "elementwise", function) for name, function in ELEMENTWISE.items()),
    *(_function(name, "reductions", function) for name, function in REDUCTIONS.items()),
    *(_function(name, "creation", function) for name, function in CREATION.items()),
    *(_function(name, "indices", function) for name, function in INDICES.items()),
    *(_function(name, "shapes", function) for name, function in SHAPES.items()),
    *(_function(name, "images", function, IMAGE) for name, function in IMAGES.items()),
    *(_function(name, "products", function, SEQUENCE) for name, function in PRODUCTS.items()),
    *(_function(name, "others", function) for name, function in OTHERS.items()),
]
LAYERS = [
    _layer("AvgPool1d", lambda: nn.AvgPool1d(3, 2, 1), SIGNAL),
    _layer("AvgPool2d", lambda: nn.AvgPool2d(3, 2, 1), IMAGE),
    _layer("AvgPool3d", lambda: nn.AvgPool3d(3, 2, 1), VOLUME),
    _layer("AdAvg1d", lambda: nn.AdaptiveAvgPool1d(5), SIGNAL),
    _layer("AdAvg2d", lambda: nn.AdaptiveAvgPool2d((3, 5)), IMAGE),
    _layer("AdAvg3d", lambda: nn.AdaptiveAvgPool3d(4), VOLUME),
    _layer("AdMax2d", lambda: nn.AdaptiveMaxPool2d((3, 5)), IMAGE),
    _layer("LPPool2d", lambda: nn.LPPool2d(2, 3), IMAGE),
    _layer("MaxPool1d", lambda: nn.MaxPool1d(3, 2), SIGNAL),
    _layer("MaxPool2d", lambda: nn.MaxPool2d(3, 2, 1), IMAGE),
    _layer("MaxPool3d", lambda: nn.MaxPool3d(3, 2), VOLUME),
    _layer("GroupNorm", lambda: nn.GroupNorm(2, 4), IMAGE),
    _layer("InstanceNorm2d", lambda: nn.InstanceNorm2d(4, affine=True), IMAGE),
    _layer("LocalResponseNorm", lambda: nn.LocalResponseNorm(3), IMAGE),
    _layer("BatchNorm2d", lambda: nn.BatchNorm2d(4), IMAGE),
    _layer("LayerNorm", lambda: nn.LayerNorm(8)),
    _layer("RMSNorm", lambda: nn.RMSNorm(8)),
    _layer("Softmax2d", nn.Softmax2d, IMAGE),
    _layer("BiLSTM", lambda: nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True), SEQUENCE),
    _layer("LSTM", lambda: nn.LSTM(8, 5, batch_first=True), SEQUENCE),
    _layer("GRU", lambda: nn.GRU(8, 5, batch_first=True), SEQUENCE),
    _layer("RNN", lambda: nn.RNN(8, 5, batch_first=True), SEQUENCE),
    _layer("LSTMCell", lambda: nn.LSTMCell(8, 5)),
    _layer("EmbeddingBag", lambda: nn.EmbeddingBag(20, 8), WORDS),
    _layer("Embedding", lambda: nn.Embedding(20, 8), WORDS),
    _layer("Bilinear", lambda: nn.Bilinear(8, 8, 4), X, X),
    _layer("Linear", lambda: nn.Linear(8, 4)),
    _layer("MHA", lambda: _SelfAttention(8, 2, batch_first=True), SEQUENCE),
    _layer(
        "TransformerEncoderLayer",
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        SEQUENCE,
    ),
    _layer(
        "TransformerDecoderLayer",
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
        SEQUENCE,
        SEQUENCE,
    ),
    _layer("Conv1d", lambda: nn.Conv1d(4, 6, 3), SIGNAL),
    _layer("Conv2d", lambda: nn.Conv2d(4, 6, 3, 2, 1), IMAGE),
    _layer("Conv3d", lambda: nn.Conv3d(4, 6, 3), VOLUME),
    _layer("Conv2d_reflect", lambda: nn.Conv2d(4, 6, 3, 1, 1, padding_mode="reflect"), IMAGE),
    _layer("ConvT1d", lambda: nn.ConvTranspose1d(4, 6, 3, 2), SIGNAL),
    _layer("ConvT2d", lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), IMAGE),
    _layer("ConvT3d", lambda: nn.ConvTranspose3d(4, 6, 3, 2), VOLUME),
]
CASES = FUNCTIONS + LAYERS
