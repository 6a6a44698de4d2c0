"""The models that every peer runs: sizes, inputs and work; ``models.py`` has them in PyTorch.

A case is compiled once and run at all of its sizes. Inputs are drawn by the name and the size, so
every peer gets the same ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Inputs = list[np.ndarray]
Shapes = list[tuple[int, ...]]

# A transformer layer: width, heads, width of the feed-forward part.
WIDTH, HEADS, HIDDEN = 768, 12, 3072
# A decoder that has a cache of keys and values: width, heads, layers, size of the vocabulary.
DECODER_WIDTH, DECODER_HEADS, DECODER_LAYERS, VOCABULARY = 512, 8, 4, 1000


@dataclass(frozen=True)
class Case:
    """A model and the sizes it is run at.

    Attributes
    ----------
    name : str
    title : str
    sizes : tuple of int
        The values of the dynamic dimension; 0 where there is none.
    shapes : callable
        From a size to the shapes of the inputs.
    dynamic : tuple of (int, int)
        The dimensions, of which inputs, that have that size.
    exported : int
        The size that the model is exported with.
    flops : callable
        From a size to the multiplications and additions of matrices, twice the multiply-adds.
    traffic : callable
        From a size to the bytes that have to be read and written.
    least : int
        The least dynamic size that the model takes.
    is_inplace : bool
        Whether inputs are changed, as few peers do.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    shapes: Callable[[int], Shapes]
    dynamic: tuple[tuple[int, int], ...] = ()
    exported: int = 0
    flops: Callable[[int], float] = lambda size: 0.0
    traffic: Callable[[int], float] = lambda size: 0.0
    least: int = 1
    is_inplace: bool = False

    def inputs(self, size: int) -> Inputs:
        """Return the inputs at a size: normally distributed, those of products scaled."""
        rng = np.random.default_rng(zlib.crc32(f"{self.name}/{size}".encode()))
        return [rng.standard_normal(shape, dtype=np.float32) for shape in self.shapes(size)]


def _mlp_flops(n: int) -> float:
    return 2.0 * n * (784 * 512 + 512 * 512 + 512 * 10)


def _layer_flops(n: int, width: int, hidden: int, keys: int) -> float:
    return 2.0 * n * (4 * width * width + 2 * width * hidden + 2 * keys * width)


def _decoder_flops(n: int) -> float:
    width = DECODER_WIDTH
    layer = _layer_flops(1, width, 4 * width, n + 1)
    return DECODER_LAYERS * layer + 2.0 * width * VOCABULARY


def _decoder_traffic(n: int) -> float:
    weights = _decoder_flops(0) / 2
    return 4.0 * (weights + 2 * DECODER_LAYERS * n * DECODER_WIDTH)


def _linear(k: int, n: int, sizes: tuple[int, ...]) -> Case:
    return Case(
        f"linear_{k}x{n}",
        f"product with a constant {k}x{n} matrix, rows",
        sizes,
        lambda m: [(m, k)],
        ((0, 0),),
        8,
        lambda m: 2.0 * m * k * n,
        lambda m: 4.0 * (k * n + m * (k + n)),
    )


_CACHE = (1, DECODER_HEADS, DECODER_WIDTH // DECODER_HEADS)

_ALL = (
    Case(
        "mlp",
        "MLP 784-512-512-10, batch",
        (1, 7, 32, 128),
        lambda n: [(n, 784)],
        ((0, 0),),
        8,
        _mlp_flops,
        lambda n: 2.0 * _mlp_flops(1),
    ),
    Case(
        "transformer",
        "transformer layer 768/12/3072, length",
        (1, 16, 77, 128, 384),
        lambda n: [(1, n, WIDTH)],
        ((0, 1),),
        32,
        lambda n: _layer_flops(n, WIDTH, HIDDEN, n),
        lambda n: 2.0 * _layer_flops(1, WIDTH, HIDDEN, 0),
    ),
    Case(
        "decode",
        "decode step 512/8 heads/4 layers, cache",
        (64, 512, 1024),
        lambda n: [
            (1, 1, DECODER_WIDTH),
            *[(*_CACHE[:2], n, _CACHE[2]) for _ in range(2 * DECODER_LAYERS)],
        ],
        tuple((i, 2) for i in range(1, 2 * DECODER_LAYERS + 1)),
        64,
        _decoder_flops,
        _decoder_traffic,
    ),
    Case(
        "decode_inplace",
        "decode step 512/8 heads/4 layers, in place, rows of the cache",
        (64, 512, 1024),
        lambda n: [
            (1, 1, DECODER_WIDTH),
            *[(1, n, *_CACHE[1:]) for _ in range(2 * DECODER_LAYERS)],
        ],
        tuple((i, 1) for i in range(1, 2 * DECODER_LAYERS + 1)),
        64,
        _decoder_flops,
        _decoder_traffic,
        is_inplace=True,
    ),
    Case(
        "resnet18",
        "ResNet-18 224x224, batch",
        (1, 4),
        lambda n: [(n, 3, 224, 224)],
        ((0, 0),),
        2,
        lambda n: 3.63e9 * n,
    ),
    Case(
        "mobilenetv2",
        "MobileNetV2 224x224, batch",
        (1, 4),
        lambda n: [(n, 3, 224, 224)],
        ((0, 0),),
        2,
        lambda n: 6.0e8 * n,
    ),
    Case(
        "audio",
        "conv1d stem of speech 80/384/384, frames",
        (300, 3000),
        lambda n: [(1, 80, n)],
        ((0, 2),),
        64,
        lambda n: 2.0 * n * 384 * (80 * 3 + 384 * 3 / 2 + 31 / 2),
        least=4,
    ),
    Case(
        "chain",
        "softmax(a*x+b), layer norm (n, 1024), n",
        (1, 64, 1024),
        lambda n: [(n, 1024)],
        ((0, 0),),
        8,
        traffic=lambda n: 8.0 * n * 1024,
    ),
    Case(
        "sgemm",
        "square product, all dimensions dynamic, size",
        (128, 256, 512, 1024, 2048),
        lambda n: [(n, n), (n, n)],
        ((0, 0), (0, 1), (1, 0), (1, 1)),
        64,
        lambda n: 2.0 * n**3,
        lambda n: 12.0 * n * n,
    ),
    _linear(4096, 4096, (1, 16, 128)),
    _linear(768, 3072, (1, 16, 128)),
    Case("add", "call: one add of two numbers", (0,), lambda _: [(1,), (1,)]),
    Case("four", "call: four operators on two numbers", (0,), lambda _: [(1,), (1,)]),
)
CASES = {case.name: case for case in _ALL}
