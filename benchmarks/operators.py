"""Single operators in PyTorch, and the arguments that they are timed on.

An operator is compiled once, with dynamic dimensions, and run on several samples. Arguments are
drawn by the names, so every peer gets the same ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

Arrays = tuple[np.ndarray, ...]
Sample = Callable[[np.random.Generator], Arrays]


@dataclass(frozen=True)
class Operator:
    """An operator, and what it is timed on.

    Attributes
    ----------
    function : callable
        Of tensors of PyTorch.
    samples : dict of str to callable
        By what the table calls them, functions from a generator of random numbers to the arguments.
    fixed : dict of int to tuple of int
        By argument, the axes whose sizes the program knows; all others are dynamic.
    is_random : bool
        Whether results are random, so that they are not compared.
    """

    function: Callable[..., Any]
    samples: dict[str, Sample]
    fixed: dict[int, tuple[int, ...]]
    is_random: bool = False

    def arguments(self, sample: str) -> Arrays:
        """Return the arguments of a sample."""
        return self.samples[sample](np.random.default_rng(zlib.crc32(sample.encode())))

    def export(self) -> torch.export.ExportedProgram:
        """Return the program of the operator, with the dimensions of its first sample."""
        arguments = tuple(map(torch.from_numpy, self.arguments(next(iter(self.samples)))))
        shapes = tuple(
            {
                axis: torch.export.Dim.AUTO
                for axis in range(x.ndim)
                if axis not in self.fixed.get(i, ())
            }
            for i, x in enumerate(arguments)
        )
        model = _Module(self.function)
        return torch.export.export(model, arguments, dynamic_shapes={"arguments": shapes})


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self._function(*arguments)


# -- arguments ------------------------------------------------------------------------------------


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, "float32")


def _distinct(dtype: str, rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return numbers that all differ, so that there is one order of them."""
    count = int(np.prod(shape))
    if dtype == "int64":
        numbers = rng.integers(-(2**62), 2**62, 2 * count)
    else:
        numbers = rng.standard_normal(2 * count).astype(dtype)
    return rng.permutation(np.unique(numbers))[:count].reshape(shape)


def _near_one(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (1 + 1e-3 * rng.standard_normal(shape)).astype("float32")


def _flags(share: float, rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape) < share


def _below(limit: int, rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, limit, shape)


def _different_below(limit: int, rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.permutation(limit)[:count]


def _boundaries(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.sort(_normal(rng, count))


def _grid(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return places in an image near those of its elements."""
    along = np.linspace(-1, 1, size, dtype="float32")
    grid = np.stack(np.meshgrid(along, along), axis=-1)[None]
    return grid + 0.01 * _normal(rng, *grid.shape)


def _drawn(*parts: tuple[Callable[..., np.ndarray], tuple[int, ...]]) -> Sample:
    """Return a sample of arguments, each of which a function draws with a shape."""
    return lambda rng: tuple(draw(rng, *shape) for draw, shape in parts)


def _shapes(draw: Callable[..., np.ndarray], *shapes: tuple[int, ...]) -> dict[str, Sample]:
    """Return samples of one argument, by their shapes."""
    return {" x ".join(f"{n:,}" for n in shape): _drawn((draw, shape)) for shape in shapes}


def _of_matrices(
    function: Callable[..., Any], draw: Callable[..., np.ndarray], *shapes: tuple[int, ...]
) -> Operator:
    """Return an operator of one argument, whose dimensions are all dynamic."""
    return Operator(function, _shapes(draw, *shapes), {})


def _of_images(function: Callable[..., Any], shape: tuple[int, ...]) -> Operator:
    """Return an operator of one argument, whose dimensions the program knows."""
    return Operator(function, _shapes(_normal, shape), {0: tuple(range(len(shape)))})


def _layer(
    make: Callable[[], torch.nn.Module], draw: Callable[..., np.ndarray], shape: tuple[int, ...]
) -> Operator:
    """Return a layer with constant weights; the program knows the dimensions of its argument."""
    torch.manual_seed(0)
    layer = make().eval().requires_grad_(False)
    return Operator(layer, _shapes(draw, shape), {0: tuple(range(len(shape)))})


# -- layers ---------------------------------------------------------------------------------------


class _SqueezeExcite(torch.nn.Module):
    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self._squeeze = torch.nn.Conv2d(channels, squeezed, 1)
        self._expand = torch.nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scales = self._expand(F.relu(self._squeeze(x.mean((2, 3), keepdim=True))))
        return x * torch.sigmoid(scales)


class _Recurrent(torch.nn.Module):
    def __init__(self, kind: str, size: int) -> None:
        super().__init__()
        self._layer = getattr(torch.nn, kind)(size, size, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._layer(x)[0]


# -- operators ------------------------------------------------------------------------------------

_ROWS = ((64, 1000), (8, 100_000))
_VECTOR = (1_000_000,)
_SQUARE = (1000, 1000)


def _ordering() -> dict[str, Operator]:
    found: dict[str, Operator] = {}
    for dtype in ("float32", "int64"):
        draw = partial(_distinct, dtype)
        for name, function in (("sort", torch.sort), ("argsort", torch.argsort)):
            found[f"{name}, {dtype}, rows"] = _of_matrices(function, draw, *_ROWS)
            found[f"{name}, {dtype}"] = _of_matrices(function, draw, _VECTOR)
    floats = partial(_distinct, "float32")
    for k in (5, 50, 500):
        found[f"topk, k {k}"] = _of_matrices(
            partial(torch.topk, k=k), floats, (64, 1000), (1, 50_257)
        )
    found["kthvalue, k 500"] = _of_matrices(partial(torch.kthvalue, k=500), floats, (64, 1000))
    found["median"] = _of_matrices(partial(torch.median, dim=1), floats, (64, 1001))
    found["unique"] = Operator(
        torch.unique,
        {f"1,000,000 of {n:,}": _drawn((partial(_below, n), _VECTOR)) for n in (1000, 1_000_000)},
        {},
    )
    found["searchsorted"] = Operator(
        torch.searchsorted,
        {"1,000,000 in 10,000": _drawn((_boundaries, (10_000,)), (_normal, _VECTOR))},
        {},
    )
    return found


def _scans() -> dict[str, Operator]:
    found: dict[str, Operator] = {}
    for name, function, draw in (
        ("cumsum", torch.cumsum, _normal),
        ("cumprod", torch.cumprod, _near_one),
        ("cummax", torch.cummax, partial(_distinct, "float32")),
        ("logcumsumexp", torch.logcumsumexp, _normal),
    ):
        for axis, title in ((1, "last axis"), (0, "first axis")):
            along = partial(function, dim=axis)
            found[f"{name}, {title}"] = _of_matrices(along, draw, _SQUARE)
        found[name] = _of_matrices(partial(function, dim=0), draw, _VECTOR)
    return found


def _selections() -> dict[str, Operator]:
    def samples(*before: tuple[Callable[..., np.ndarray], tuple[int, ...]]) -> dict[str, Sample]:
        return {
            f"1,000,000, {share:.0%}": _drawn(*before, (partial(_flags, share), _VECTOR))
            for share in (0.01, 0.5)
        }

    return {
        "nonzero": Operator(torch.nonzero, samples(), {}),
        "masked_select": Operator(torch.masked_select, samples((_normal, _VECTOR)), {}),
    }


def _resizes() -> dict[str, Operator]:
    found: dict[str, Operator] = {}
    for shape, size in (((1, 3, 224, 224), 512), ((1, 64, 56, 56), 112), ((1, 3, 512, 512), 224)):
        for mode, corners in (
            ("nearest", None),
            ("bilinear", False),
            ("bilinear", True),
            ("bicubic", False),
            ("bicubic", True),
        ):
            function = partial(F.interpolate, size=(size, size), mode=mode, align_corners=corners)
            title = f"resize, {mode}{', align_corners' if corners else ''}, to {size}"
            found[title] = _of_images(function, shape)
    for mode in ("bilinear", "bicubic"):
        function = partial(F.interpolate, size=(224, 224), mode=mode, antialias=True)
        found[f"resize, {mode}, antialias, to 224"] = _of_images(function, (1, 3, 512, 512))
    for channels, size in ((3, 256), (64, 56)):
        found[f"grid_sample, {channels} channels"] = Operator(
            partial(F.grid_sample, align_corners=False),
            {f"{size} x {size}": _drawn((_normal, (1, channels, size, size)), (_grid, (size,)))},
            {0: (0, 1, 2, 3), 1: (0, 1, 2, 3)},
        )
    return found


def _scatter_add(x: torch.Tensor, i: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return x.scatter_add(0, i, values)


def _put(accumulate: bool, x: torch.Tensor, i: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return x.index_put((i,), values, accumulate)


def _indexing() -> dict[str, Operator]:
    rows, some = (10_000, 256), (4096, 256)
    one_hot = partial(F.one_hot, num_classes=1000)
    different = _drawn(
        (_normal, rows), (partial(_different_below, 10_000), (4096,)), (_normal, some)
    )
    repeated = _drawn((_normal, rows), (partial(_below, 10_000), (4096,)), (_normal, some))
    places = partial(_below, 10_000)
    return {
        "gather, last axis": Operator(
            lambda x, i: torch.gather(x, 1, i),
            {"1,000 x 1,000": lambda rng: (_normal(rng, *_SQUARE), _below(1000, rng, 1000, 500))},
            {},
        ),
        "index_select": Operator(
            lambda x, i: torch.index_select(x, 0, i),
            {"4,096 rows of 256": _drawn((_normal, rows), (places, (4096,)))},
            {},
        ),
        "scatter_add": Operator(
            _scatter_add,
            {
                "1,000,000 to 10,000": _drawn(
                    (_normal, (10_000,)), (places, _VECTOR), (_normal, _VECTOR)
                )
            },
            {},
        ),
        "scatter_add, first axis": Operator(
            _scatter_add,
            {"4,096 x 256": _drawn((_normal, rows), (places, some), (_normal, some))},
            {},
        ),
        "index_put": Operator(partial(_put, False), {"4,096 rows of 256": different}, {}),
        "index_put, accumulate": Operator(partial(_put, True), {"4,096 rows of 256": repeated}, {}),
        "one_hot": _of_matrices(one_hot, partial(_below, 1000), (4096,)),
        "tril": _of_matrices(torch.tril, _normal, (1024, 1024)),
    }


def _concat(axis: int, *parts: torch.Tensor) -> torch.Tensor:
    return torch.cat(parts, axis)


def _moves() -> dict[str, Operator]:
    image, signal = (1, 64, 56, 56), (16, 4096)
    found = {
        f"pad, {mode}": _of_images(partial(F.pad, pad=(1, 1, 1, 1), mode=mode), image)
        for mode in ("constant", "reflect", "replicate", "circular")
    }
    for axis, title in ((0, "first axis"), (-1, "last axis")):
        along = partial(_concat, axis)
        found[f"concat, {title}"] = Operator(
            along, {"2 of 1,000 x 1,000": _drawn((_normal, _SQUARE), (_normal, _SQUARE))}, {}
        )
    return found | {
        "rot90": _of_matrices(lambda x: torch.rot90(x).contiguous(), _normal, _SQUARE),
        "flip": _of_matrices(partial(torch.flip, dims=(1,)), _normal, _SQUARE),
        "roll": _of_matrices(partial(torch.roll, shifts=7, dims=1), _normal, _SQUARE),
        "windows of signals": _of_images(lambda x: x.unfold(-1, 400, 160).contiguous(), signal),
        "unfold, 3 x 3": _of_images(partial(F.unfold, kernel_size=3, padding=1), image),
        "pixel_shuffle": _of_images(partial(F.pixel_shuffle, upscale_factor=2), image),
    }


def _signals() -> dict[str, Operator]:
    signal, window = (16, 16_000), torch.hann_window(400)
    return {
        "rfft, 512": _of_images(lambda x: torch.view_as_real(torch.fft.rfft(x)), (64, 512)),
        "rfft, 400": _of_images(lambda x: torch.view_as_real(torch.fft.rfft(x)), (64, 400)),
        "stft": _of_images(
            lambda x: torch.view_as_real(
                torch.stft(x, 400, 160, window=window, return_complex=True)
            ),
            signal,
        ),
    }


def _pools() -> dict[str, Operator]:
    image, volume = (1, 64, 56, 56), (1, 32, 16, 56, 56)
    return {
        "max_pool2d": _of_images(partial(F.max_pool2d, kernel_size=3, stride=2, padding=1), image),
        "max_pool2d, indices": _of_images(
            partial(F.max_pool2d, kernel_size=2, return_indices=True), image
        ),
        "avg_pool2d": _of_images(partial(F.avg_pool2d, kernel_size=3, stride=2), image),
        "adaptive_avg_pool2d, to 7": _of_images(
            partial(F.adaptive_avg_pool2d, output_size=7), image
        ),
        "adaptive_max_pool2d, to 5": _of_images(
            partial(F.adaptive_max_pool2d, output_size=5), image
        ),
        "max_pool3d": _of_images(partial(F.max_pool3d, kernel_size=2), volume),
        "adaptive_max_pool3d, to 7": _of_images(
            partial(F.adaptive_max_pool3d, output_size=7), volume
        ),
    }


def _algebra() -> dict[str, Operator]:
    def definite(rng: np.random.Generator, n: int) -> np.ndarray:
        x = _normal(rng, n, n)
        return x @ x.T / np.float32(n) + np.eye(n, dtype="float32")

    return {
        "cholesky": _of_matrices(torch.linalg.cholesky, definite, (64,), (256,)),
        "inverse": _of_matrices(torch.linalg.inv, definite, (64,), (256,)),
        "solve": Operator(
            torch.linalg.solve,
            {f"{n} x {n}, 8": _drawn((definite, (n,)), (_normal, (n, 8))) for n in (64, 256)},
            {},
        ),
        "cdist": Operator(
            torch.cdist,
            {"1,000 x 64, 1,000 x 64": _drawn((_normal, (1000, 64)), (_normal, (1000, 64)))},
            {},
        ),
    }


def _layers() -> dict[str, Operator]:
    """Return layers with constant weights: what networks of vision, sound and language have."""

    def conv(kind: str, *sizes: int, **options: Any) -> Callable[[], torch.nn.Module]:
        return lambda: getattr(torch.nn, kind)(*sizes, **options)

    def embedding_bag(mode: str) -> Callable[[], torch.nn.Module]:
        return lambda: torch.nn.EmbeddingBag(10_000, 256, mode=mode)

    image, clip = (1, 64, 56, 56), (1, 64, 8, 28, 28)
    return {
        "conv1d, 3": _layer(conv("Conv1d", 128, 128, 3, padding=1), _normal, (1, 128, 1000)),
        "conv1d, depthwise, 31": _layer(
            conv("Conv1d", 256, 256, 31, padding=15, groups=256), _normal, (1, 256, 1000)
        ),
        "conv2d, 3 x 3": _layer(conv("Conv2d", 64, 64, 3, padding=1), _normal, image),
        "conv2d, pointwise": _layer(conv("Conv2d", 64, 256, 1), _normal, image),
        "conv2d, pointwise, 7 x 7": _layer(conv("Conv2d", 512, 512, 1), _normal, (1, 512, 7, 7)),
        "conv2d, depthwise, 3 x 3": _layer(
            conv("Conv2d", 64, 64, 3, padding=1, groups=64), _normal, image
        ),
        "conv2d, depthwise, 7 x 7": _layer(
            conv("Conv2d", 64, 64, 7, padding=3, groups=64), _normal, image
        ),
        "conv3d, 3 x 3 x 3": _layer(conv("Conv3d", 64, 64, 3, padding=1), _normal, clip),
        "conv3d, 3 x 1 x 1": _layer(
            conv("Conv3d", 64, 64, (3, 1, 1), padding=(1, 0, 0)), _normal, clip
        ),
        "conv3d, 1 x 3 x 3": _layer(
            conv("Conv3d", 64, 64, (1, 3, 3), padding=(0, 1, 1)), _normal, clip
        ),
        "conv_transpose1d, 4": _layer(
            conv("ConvTranspose1d", 128, 64, 4, stride=2, padding=1), _normal, (1, 128, 1000)
        ),
        "conv_transpose2d, 2 x 2": _layer(
            conv("ConvTranspose2d", 64, 32, 2, stride=2), _normal, image
        ),
        "conv_transpose2d, 4 x 4": _layer(
            conv("ConvTranspose2d", 64, 32, 4, stride=2, padding=1), _normal, image
        ),
        "conv_transpose3d, 2 x 2 x 2": _layer(
            conv("ConvTranspose3d", 64, 32, 2, stride=2), _normal, clip
        ),
        "squeeze and excite": _layer(lambda: _SqueezeExcite(64, 16), _normal, image),
        "lstm, batch 1": _layer(lambda: _Recurrent("LSTM", 256), _normal, (1, 64, 256)),
        "lstm, batch 8": _layer(lambda: _Recurrent("LSTM", 256), _normal, (8, 64, 256)),
        "gru, batch 1": _layer(lambda: _Recurrent("GRU", 256), _normal, (1, 64, 256)),
        "embedding": _layer(
            lambda: torch.nn.Embedding(10_000, 256), partial(_below, 10_000), (8, 512)
        ),
        "embedding_bag, sum": _layer(embedding_bag("sum"), partial(_below, 10_000), (512, 32)),
        "embedding_bag, mean": _layer(embedding_bag("mean"), partial(_below, 10_000), (512, 32)),
        "embedding_bag, max": _layer(embedding_bag("max"), partial(_below, 10_000), (512, 32)),
    }


def _random() -> dict[str, Operator]:
    return {
        name: Operator(function, _shapes(_normal, _VECTOR), {}, is_random=True)
        for name, function in (("normal", torch.randn_like), ("uniform", torch.rand_like))
    }


_TABLES = (
    *(_ordering, _scans, _selections, _resizes, _indexing, _moves, _signals, _pools, _algebra),
    *(_layers, _random),
)
OPERATORS = {name: operator for table in _TABLES for name, operator in table().items()}
