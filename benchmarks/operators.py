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
    for k in (5, 50):
        found[f"topk, k {k}"] = _of_matrices(
            partial(torch.topk, k=k), partial(_distinct, "float32"), (64, 1000), (1, 50_257)
        )
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
            found[title] = Operator(function, _shapes(_normal, shape), {0: (0, 1, 2, 3)})
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


def _random() -> dict[str, Operator]:
    return {
        name: Operator(function, _shapes(_normal, _VECTOR), {}, is_random=True)
        for name, function in (("normal", torch.randn_like), ("uniform", torch.rand_like))
    }


OPERATORS = {**_ordering(), **_scans(), **_selections(), **_resizes(), **_indexing(), **_random()}
