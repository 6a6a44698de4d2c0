"""Kernels of CUDA Tile IR on one device: whether products and attention are right.

`save` compiles the programs, for which `cuda-tile` and `tileiras` have to be installed, and no
device is needed. `check` runs them on `cuda:0` at odd sizes, at none, and from addresses that are
not aligned, and compares them with PyTorch's in float64; it needs PyTorch and `relax_runtime`
alone. It ends with status 1 where one differs.

    python benchmarks/gpu_tiles.py save programs --arch sm_90
    python benchmarks/gpu_tiles.py check programs
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu import build

TOLERANCES = {"float16": 2e-3, "bfloat16": 1.5e-2}
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh")
PRODUCT_SIZES = (
    {"b": 1, "m": 64, "n": 48, "k": 96},
    {"b": 3, "m": 1, "n": 128, "k": 256},
    {"b": 2, "m": 33, "n": 1, "k": 17},
    {"b": 2, "m": 129, "n": 257, "k": 63},
    {"b": 1, "m": 2048, "n": 1032, "k": 4096},
    {"b": 2, "m": 8, "n": 8, "k": 0},
    {"b": 2, "m": 0, "n": 8, "k": 8},
)
ATTENTION_SIZES = (
    {"b": 1, "i": 128, "j": 128},
    {"b": 3, "i": 1, "j": 77},
    {"b": 2, "i": 200, "j": 131},
    {"b": 2, "i": 70, "j": 1000},
    {"b": 1, "i": 2048, "j": 2048},
    {"b": 2, "i": 5, "j": 0},
)
MASKS: tuple[dict[str, Any], ...] = (
    {},
    {"causal_mask": "TopLeft", "scale": 0.3},
    {"causal_mask": "BottomRight", "window_size": 100},
)


@dataclass(frozen=True)
class Case:
    """A program.

    Attributes
    ----------
    shapes : tuple of tuple of str or int
        Of the parameters, by the names of their sizes.
    ours : callable
        Of `relax_mlir.op` and the parameters.
    theirs : callable
        Of the module torch and its tensors.
    sizes : tuple of dict of str to int
        Each is checked.
    """

    shapes: tuple[tuple[str | int, ...], ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    sizes: tuple[dict[str, int], ...] = PRODUCT_SIZES


def products() -> Iterator[tuple[str, Case]]:
    """Yield products: transposed, of batches, and with what follows."""
    flags = (False, True)
    for left, right, is_batch in itertools.product(flags, flags, flags):
        lhs = ("b", "k", "m") if left else ("b", "m", "k")
        rhs = ("n", "k") if right else ("k", "n")
        swaps = (left, right)

        def ours(op: Any, x: Any, y: Any, swaps: tuple[bool, bool] = swaps) -> Any:
            return op.matmul(
                *(swapped(op, each, on) for each, on in zip((x, y), swaps, strict=True))
            )

        def theirs(torch: Any, x: Any, y: Any, swaps: tuple[bool, bool] = swaps) -> Any:
            return (x.mT if swaps[0] else x) @ (y.mT if swaps[1] else y)

        name = f"product{'-left' * left}{'-right' * right}{'-batch' * is_batch}"
        yield name, Case((lhs, ("b", *rhs) if is_batch else rhs), ours, theirs)
    shapes = (("m", "k"), ("k", "n"), ("n",), ("m", "n"))
    for name in ACTIVATIONS:
        yield name, Case(shapes, *followed(name))


def swapped(op: Any, x: Any, on: bool) -> Any:
    """Return a value whose last two dimensions are swapped, if wanted."""
    rank = len(x.type.shape)
    return op.permute_dims(x, (*range(rank - 2), rank - 1, rank - 2)) if on else x


def followed(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a product with a bias, a sum and an activation, as both compute it."""

    def ours(op: Any, x: Any, y: Any, bias: Any, added: Any) -> Any:
        result = op.add(op.add(op.matmul(x, y), bias), added)
        return getattr(op if name in ("sigmoid", "tanh") else op.nn, name)(result)

    def theirs(torch: Any, x: Any, y: Any, bias: Any, added: Any) -> Any:
        result = x @ y + bias + added
        if name == "gelu_tanh":
            return torch.nn.functional.gelu(result, approximate="tanh")
        return getattr(torch.nn.functional, name)(result)

    return ours, theirs


def attentions() -> Iterator[tuple[str, Case]]:
    """Yield attention: masks, with a bias and without, heads with few features and many."""
    rows = itertools.product(enumerate(MASKS), (False, True), ((64, 64), (20, 40), (256, 256)))
    for (index, mask), has_bias, (features, values) in rows:
        shapes: list[tuple[str | int, ...]] = [
            ("b", "i", 4, features),
            ("b", "j", 2, features),
            ("b", "j", 1, values),
        ]
        shapes += [("b", 1, "i", "j")] * has_bias

        def ours(op: Any, *given: Any, mask: dict[str, Any] = mask) -> Any:
            return op.nn.attention(*given, **mask)

        def theirs(torch: Any, *given: Any, mask: dict[str, Any] = mask) -> Any:
            return attention(torch, *given, **mask)

        name = f"attention-{index}{'-bias' * has_bias}-{features}"
        yield name, Case(tuple(shapes), ours, theirs, ATTENTION_SIZES)


def attention(
    torch: Any,
    q: Any,
    k: Any,
    v: Any,
    bias: Any = None,
    *,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Any:
    """Return attention as `relax_mlir.op.nn.attention` defines it."""
    k, v = (each.repeat_interleave(q.shape[2] // each.shape[2], 2) for each in (k, v))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * (scale or q.shape[3] ** -0.5)
    scores = scores if bias is None else scores + bias
    last = torch.arange(q.shape[1], device=q.device)[:, None]
    if causal_mask == "BottomRight":
        last = last + k.shape[1] - q.shape[1]
    place = torch.arange(k.shape[1], device=q.device)[None]
    visible = place <= (last if causal_mask else math.inf)
    if window_size:
        visible = visible & (place > last - window_size)
    weights = scores.masked_fill(~visible, -math.inf).softmax(-1).nan_to_num(0)
    return torch.einsum("bhij,bjhd->bihd", weights, v)


CASES = dict(itertools.chain(products(), attentions()))


def save(folder: Path, target: dict[str, str], arch: str) -> None:
    """Compile all programs, which have one kernel each."""
    import relax_mlir as relax
    from relax_mlir import backend, transform

    folder.mkdir(parents=True, exist_ok=True)
    run = transform.RunCodegen({"cuda_tile": {"arch": arch}})
    for (name, case), dtype in itertools.product(CASES.items(), TOLERANCES):
        parts = backend.partition_for_cuda_tile(build(case.shapes, dtype, case.ours))
        assert any("Codegen" in function.attrs for function in parts.functions.values()), name
        relax.compile(run(parts), target=target).save(folder / f"{name}-{dtype}.rx")


def random(torch: Any, shape: list[int], dtype: str, device: str, is_shifted: bool) -> Any:
    """Return random numbers without gaps, from an address that is aligned or not."""
    flat = torch.randn(math.prod(shape) + 1, device=device).to(getattr(torch, dtype))
    return (flat[1:] if is_shifted else flat[:-1]).view(shape)


def shape_of(shape: tuple[str | int, ...], sizes: dict[str, int]) -> list[int]:
    """Return a shape in numbers."""
    return [sizes[dim] if isinstance(dim, str) else dim for dim in shape]


def errors(torch: Any, main: Any, case: Case, dtype: str, device: str) -> Iterator[Any]:
    """Yield sizes, whether addresses are shifted, and the error relative to the result."""
    for sizes, is_shifted in itertools.product(case.sizes, (False, True)):
        given = [
            random(torch, shape_of(shape, sizes), dtype, device, is_shifted)
            for shape in case.shapes
        ]
        expected = case.theirs(torch, *(each.double() for each in given))
        found = torch.from_dlpack(main(*given)).double()
        size = expected.norm().item() or 1.0
        yield sizes, is_shifted, (found - expected).norm().item() / size


def check(folder: Path) -> int:
    """Run all programs; return how many results are wrong."""
    import relax_runtime
    import torch

    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    count = failures = 0
    for (name, case), dtype in itertools.product(CASES.items(), TOLERANCES):
        path = folder / f"{name}-{dtype}.rx"
        main = relax_runtime.VirtualMachine(relax_runtime.load(path))["main"]
        try:
            for sizes, is_shifted, error in errors(torch, main, case, dtype, "cuda"):
                count += 1
                if not error <= TOLERANCES[dtype]:
                    failures += 1
                    print(f"WRONG by {error:.1e}: {path.stem} {sizes} {'shifted' * is_shifted}")
        except RuntimeError as problem:
            failures += 1
            print(f"FAILS: {path.stem}: {problem}")
    print(f"{count} results, {failures} of them wrong")
    return failures


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("save", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", default="llvm", help="the processor of the machine with the GPU")
    parser.add_argument("--arch", default="sm_90", help="the GPU that code is made for")
    given = parser.parse_args()
    if given.verb == "save":
        save(given.folder, {"kind": "cuda", "host": given.host}, given.arch)
    else:
        sys.exit(1 if check(given.folder) else 0)


if __name__ == "__main__":
    main()
