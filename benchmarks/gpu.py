"""Kernels for GPUs beside PyTorch's, on one device.

`save` compiles the programs, for which no device is needed; `measure` runs them on `cuda:0`, where
PyTorch is, and prints medians and ratios (above 1: faster than PyTorch). Inputs are random, and
results are compared with PyTorch's in float32. With `--cublas`, products are those of cuBLASLt,
which PyTorch brings along; with `--tiles`, products and attention of floats of 16 bits are kernels
of CUDA Tile IR, for the architecture that `--arch` names.

    python benchmarks/gpu.py save programs
    python benchmarks/gpu.py measure programs

The case `layers` is a stack of small layers, whose time is that of launches: without CUDA graphs,
and with, in PyTorch too.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DTYPES = ("float32", "float16", "bfloat16")
ROWS = 8192
# The end of the names of programs that replay launches.
GRAPHS = "-graphs"


@dataclass(frozen=True)
class Case:
    """A program: its parameters by the names of their sizes, and what PyTorch computes.

    Attributes
    ----------
    shapes : tuple of tuple of str or int
    ours : callable
        Of `relax_mlir.op` and the parameters.
    theirs : callable
        Of the module torch and its tensors.
    passes : int
        How often memory of the size of the first parameter is read or written.
    flops : callable
        Of the sizes, where the speed is that of arithmetic.
    sizes : tuple of dict
        Each is measured.
    graphs : tuple of bool
        Whether launches are replayed as CUDA graphs; each is measured.
    """

    shapes: tuple[tuple[str | int, ...], ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    passes: int = 0
    flops: Callable[[dict[str, int]], int] | None = None
    sizes: tuple[dict[str, int], ...] = ({"m": ROWS, "n": ROWS},)
    graphs: tuple[bool, ...] = (False,)

    def shape_of(self, index: int, sizes: dict[str, int]) -> list[int]:
        """Return the shape of a parameter."""
        return [sizes[size] if isinstance(size, str) else size for size in self.shapes[index]]

    def work(self, sizes: dict[str, int], item: int) -> tuple[float, str]:
        """Return the work of a call in units of a microsecond, and the name of the unit."""
        if self.flops:
            return self.flops(sizes) / 1e6, "TFLOP/s"
        return self.passes * math.prod(self.shape_of(0, sizes)) * item / 1e6, "TB/s"


def functional(torch: Any) -> Any:
    """Return the functions of neural networks."""
    return torch.nn.functional


def layer_norm(torch: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """Return the rows of a tensor, normalized."""
    return functional(torch).layer_norm(x, (x.shape[-1],), gamma, beta)


def attention(torch: Any, q: Any, k: Any, v: Any) -> Any:
    """Return attention of tensors of batch, length, heads and features."""
    heads = (x.transpose(1, 2) for x in (q, k, v))
    return functional(torch).scaled_dot_product_attention(*heads).transpose(1, 2)


M, N, K = "m", "n", "k"
PRODUCTS = tuple(
    dict(zip((M, N, K), sizes, strict=True))
    for sizes in (
        (4096, 4096, 4096),
        (1024, 1024, 1024),
        (1000, 1000, 1000),
        (8, 8192, 8192),
        (1, 8192, 8192),
        (1, 4096, 4096),
    )
)


def product(shapes: Any, ours: Callable[..., Any], theirs: Callable[..., Any]) -> Case:
    """Return the case of a product of matrices, with what follows it."""
    return Case(shapes, ours, theirs, flops=lambda s: 2 * s[M] * s[N] * s[K], sizes=PRODUCTS)


LAYERS = 20


def stack(op: Any, x: Any, *params: Any) -> Any:
    """Return small layers, one after the other: a product, an addition and a normalization."""
    for weights, bias in zip(params[::2], params[1::2], strict=True):
        y = op.nn.relu(op.add(op.matmul(x, weights), bias))
        x = op.nn.softmax(op.add(x, y))
    return x


def stack_of_torch(torch: Any, x: Any, *params: Any) -> Any:
    """Return the same, of PyTorch."""
    for weights, bias in zip(params[::2], params[1::2], strict=True):
        x = functional(torch).softmax(x + torch.relu(x @ weights + bias), -1)
    return x


HEADS, FEATURES = 16, 64
CASES = {
    "add": Case(((M, N), (M, N)), lambda op, x, y: op.add(x, y), lambda torch, x, y: x + y, 3),
    "gelu": Case(((M, N),), lambda op, x: op.nn.gelu(x), lambda t, x: functional(t).gelu(x), 2),
    "transpose": Case(
        ((M, N),),
        lambda op, x: op.permute_dims(x, [1, 0]),
        lambda torch, x: x.t().contiguous(),
        2,
    ),
    "softmax": Case(
        ((M, N),), lambda op, x: op.nn.softmax(x), lambda t, x: functional(t).softmax(x, -1), 2
    ),
    "layer_norm": Case(
        ((M, N), (N,), (N,)), lambda op, *x: op.nn.layer_norm(*x, axes=[-1]), layer_norm, 2
    ),
    "sum_of_rows": Case(((M, N),), lambda op, x: op.sum(x, axis=[1]), lambda torch, x: x.sum(1), 1),
    "sum_of_columns": Case(
        ((M, N),), lambda op, x: op.sum(x, axis=[0]), lambda torch, x: x.sum(0), 1
    ),
    "matmul": product(
        ((M, K), (K, N)), lambda op, x, y: op.matmul(x, y), lambda torch, x, y: x @ y
    ),
    "linear": product(
        ((M, K), (N, K)),
        lambda op, x, y: op.matmul(x, op.permute_dims(y, [1, 0])),
        lambda torch, x, y: functional(torch).linear(x, y),
    ),
    "linear_gelu": product(
        ((M, K), (N, K), (N,)),
        lambda op, x, y, z: op.nn.gelu(op.add(op.matmul(x, op.permute_dims(y, [1, 0])), z)),
        lambda torch, *x: functional(torch).gelu(functional(torch).linear(*x)),
    ),
    "linear_gelu_tanh": product(
        ((M, K), (N, K), (N,)),
        lambda op, x, y, z: op.nn.gelu_tanh(op.add(op.matmul(x, op.permute_dims(y, [1, 0])), z)),
        lambda torch, *x: functional(torch).gelu(functional(torch).linear(*x), approximate="tanh"),
    ),
    "attention": Case(
        tuple(("b", length, HEADS, FEATURES) for length in ("s", "t", "t")),
        lambda op, *x: op.nn.attention(*x),
        attention,
        flops=lambda s: 4 * s["b"] * HEADS * FEATURES * s["s"] * s["t"],
        sizes=(
            {"b": 4, "s": 2048, "t": 2048},
            {"b": 4, "s": 2000, "t": 500},
            {"b": 16, "s": 1, "t": 4096},
        ),
    ),
    "conv2d": Case(
        (("n", 64, 56, 56), (64, 64, 3, 3)),
        lambda op, x, w: op.nn.conv2d(x, w, padding=1),
        lambda torch, x, w: functional(torch).conv2d(x, w, padding=1),
        flops=lambda s: 2 * s["n"] * 64 * 64 * 9 * 56 * 56,
        sizes=({"n": 32}, {"n": 1}),
    ),
    "layers": Case(
        ((M, 256), *(((256, 256), (256,)) * LAYERS)),
        stack,
        stack_of_torch,
        flops=lambda s: LAYERS * 2 * s[M] * 256 * 256,
        sizes=({M: 1}, {M: 16}, {M: 64}),
        graphs=(False, True),
    ),
}


def path_of(folder: Path, name: str, dtype: str, graphs: bool) -> Path:
    """Return the file of a program."""
    return folder / f"{name}-{dtype}{GRAPHS if graphs else ''}.rx"


def partitioned(mod: Any, library: str, arch: str) -> Any:
    """Return a program whose products a library computes, if one is named."""
    from relax_mlir import backend, transform

    if library == "cublas":
        return transform.RunCodegen()(backend.partition_for_cublas(mod))
    if library == "cuda_tile":
        run = transform.RunCodegen({library: {"arch": arch}})
        return run(backend.partition_for_cuda_tile(mod))
    return mod


def build(shapes: tuple[tuple[str | int, ...], ...], dtype: str, write: Callable[..., Any]) -> Any:
    """Return a module of what `write` makes of `relax_mlir.op` and parameters of shapes."""
    import relax_mlir as relax
    from relax_mlir import op

    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, dtype)) for i, shape in enumerate(shapes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(write(op, *(param.value for param in params)))
        builder.emit_func_output(result)
    return builder.get()


def save(folder: Path, names: list[str], target: dict[str, str], library: str) -> None:
    """Compile all programs, or those that are named; with products of a library, if wanted."""
    import relax_mlir as relax

    folder.mkdir(parents=True, exist_ok=True)
    for name in names or CASES:
        case = CASES[name]
        for dtype in DTYPES:
            mod = build(case.shapes, dtype, case.ours)
            made = partitioned(mod, library, target["arch"])
            for graphs in case.graphs:
                ex = relax.compile(made, target={"kind": "cuda", **target}, cuda_graph=graphs)
                ex.save(path_of(folder, name, dtype, graphs))


def timed(torch: Any, call: Callable[[], Any], count: int = 20, repeats: int = 5) -> float:
    """Return the median time of a call, in microseconds."""
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / count * 1e3)
    return statistics.median(times)


def captured(torch: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    """Return what replays the launches of a call of PyTorch."""
    call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return lambda: graph.replay()


def measure_case(torch: Any, path: Path, case: Case, sizes: dict[str, int], dtype: str) -> None:
    """Print the times of a program and of PyTorch."""
    import relax_runtime

    main = relax_runtime.VirtualMachine(relax_runtime.load(path))["main"]
    scale = sizes[K] ** -0.5 if K in sizes else 1.0
    inputs = [
        (torch.randn(case.shape_of(i, sizes), device="cuda") * scale).to(getattr(torch, dtype))
        for i in range(len(case.shapes))
    ]
    exact = case.theirs(torch, *[x.float() for x in inputs])
    error = (torch.from_dlpack(main(*inputs)).float() - exact).norm() / exact.norm()
    ours = timed(torch, lambda: main(*inputs))
    reference = lambda: case.theirs(torch, *inputs)  # noqa: E731
    has_graphs = path.stem.endswith(GRAPHS)
    theirs = timed(torch, captured(torch, reference) if has_graphs else reference)
    work, unit = case.work(sizes, inputs[0].element_size())
    print(
        f"{path.stem:24} {'x'.join(map(str, sizes.values())):16} {ours:9.1f} us "
        f"{work / ours:7.2f} {unit:7} ratio {theirs / ours:5.2f}  error {error.item():.0e}"
    )


def measure(folder: Path, names: list[str]) -> None:
    """Print a line for each program and size; of some cases only, where they are named."""
    import torch

    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for name in names or CASES:
        case = CASES[name]
        for dtype in DTYPES:
            for graphs, each in itertools.product(case.graphs, case.sizes):
                measure_case(torch, path_of(folder, name, dtype, graphs), case, each, dtype)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("save", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--case", action="append", choices=list(CASES), default=[])
    parser.add_argument("--host", default="llvm", help="the processor of the machine with the GPU")
    parser.add_argument("--arch", default="sm_80", help="the GPU that code is made for")
    libraries = parser.add_mutually_exclusive_group()
    for name, value, words in (
        ("--cublas", "cublas", "save programs that call cuBLASLt"),
        ("--tiles", "cuda_tile", "save programs with kernels of CUDA Tile IR"),
    ):
        libraries.add_argument(
            name, dest="library", action="store_const", const=value, default="", help=words
        )
    given = parser.parse_args()
    if given.verb == "save":
        target = {"host": given.host, "arch": given.arch}
        save(given.folder, given.case, target, given.library)
    else:
        measure(given.folder, given.case)


if __name__ == "__main__":
    main()
