"""Products of cuBLASLt on one device: whether they are right, and how fast calls are.

It needs PyTorch, which brings the library along, and `relax_runtime`; no compiler. All kinds of
products are computed: transposed, batched, with a bias, a sum and an activation, of odd sizes and
of none. It ends with status 1 where one differs.

    python benchmarks/gpu_library.py
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TOLERANCES = {"float32": 2e-5, "float16": 2e-3, "bfloat16": 1.5e-2}
ACTIVATIONS = (None, "relax.relu", "relax.gelu_tanh")
SIZES = (
    (64, 48, 96),
    (1, 128, 256),
    (33, 1, 17),
    (7, 13, 1),
    (1, 1, 1),
    (129, 257, 63),
    (16, 1000, 4096),
    (0, 8, 8),
    (8, 8, 0),
    (2048, 2048, 8192),
)
# The batches of both matrices.
BATCHES = (((), ()), ((3,), ()), ((), (3,)), ((2, 3), (2, 3)), ((1, 1), (2, 3)), ((5,), (1,)))


@dataclass(frozen=True)
class Case:
    """A product.

    Attributes
    ----------
    sizes : tuple of int
        Rows, columns and the length of sums.
    batches : tuple of tuple of int
        Of both matrices.
    transposed : tuple of bool
    shifted : bool
        Whether operands begin at addresses that are multiples of one element alone.
    """

    dtype: str
    sizes: tuple[int, int, int]
    batches: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    transposed: tuple[bool, bool] = (False, False)
    bias: bool = False
    residual: bool = False
    activation: str | None = None
    shifted: bool = False
    tf32: bool = False

    @property
    def tolerance(self) -> float:
        """Return the largest error, relative to the result, that rounding explains.

        The library computes tanh by an instruction with ten bits.
        """
        has_tanh = self.activation == "relax.gelu_tanh"
        return max(2e-3 if self.tf32 else 0, 1e-3 if has_tanh else 0, TOLERANCES[self.dtype])

    def program(self) -> dict[str, Any]:
        """Return the product as the codegen writes it."""
        slots = [f"arg{index}" for index in range(2 + self.bias + self.residual)]
        return {
            "symbol": "product",
            "params": len(slots),
            "dtype": self.dtype,
            "tf32": self.tf32,
            "src": "arg0",
            "weights": "arg1",
            "bias": "arg2" if self.bias else None,
            "sum": slots[-1] if self.residual else None,
            "transposed": list(self.transposed),
            "activation": self.activation,
        }

    def inputs(self, torch: Any) -> list[Any]:
        """Return random operands on the device."""
        m, n, k = self.sizes
        left, right = self.batches
        shapes: list[tuple[int, ...]] = [
            (*left, k, m) if self.transposed[0] else (*left, m, k),
            (*right, n, k) if self.transposed[1] else (*right, k, n),
        ]
        shapes += [(n,)] * self.bias + [self.out_shape(torch)] * self.residual
        return [self.random(torch, shape) for shape in shapes]

    def out_shape(self, torch: Any) -> tuple[int, ...]:
        """Return the shape of the result."""
        m, n, _ = self.sizes
        return (*torch.broadcast_shapes(*self.batches), m, n)

    def random(self, torch: Any, shape: tuple[int, ...]) -> Any:
        """Return a tensor of random numbers, without gaps."""
        count = 1
        for size in shape:
            count *= size
        flat = torch.randn(count + 1, device="cuda").to(getattr(torch, self.dtype))
        return flat[1:].view(shape) if self.shifted else flat[:-1].view(shape)

    def expected(self, torch: Any, x: Any, y: Any, *added: Any) -> Any:
        """Return what PyTorch computes of the operands, with more digits."""
        left, right = self.transposed
        x, y, *added = (each.double() for each in (x, y, *added))
        result = (x.mT if left else x) @ (y.mT if right else y)
        for each in added:
            result = result + each
        if self.activation == "relax.relu":
            return result.relu()
        if self.activation == "relax.gelu_tanh":
            return torch.nn.functional.gelu(result, approximate="tanh")
        return result


def cases() -> Iterator[Case]:
    """Yield all products."""
    flags = (False, True)
    for dtype, sizes in itertools.product(TOLERANCES, SIZES):
        for batches, left, right in itertools.product(BATCHES, flags, flags):
            yield Case(dtype, sizes, batches, (left, right))
        for bias, residual, activation in itertools.product(flags, flags, ACTIVATIONS):
            for batches, shifted in itertools.product((((), ()), ((2,), (2,))), flags):
                ends = (bias, residual, activation)
                yield Case(dtype, sizes, batches, (False, True), *ends, shifted)
    yield Case("float32", (64, 48, 96), tf32=True)


def run(torch: Any, case: Case) -> float:
    """Return the error of a product, of the size of its numbers."""
    import tvm_ffi
    from relax_runtime.cublas import CublasFunction

    given = case.inputs(torch)
    out = case.random(torch, case.out_shape(torch))
    CublasFunction(case.program(), {})(*map(tvm_ffi.from_dlpack, (*given, out)))
    expected = case.expected(torch, *given)
    if expected.numel() == 0:
        return 0.0
    size = expected.norm().item() or 1.0
    return float((out.double() - expected).norm().item() / size)


def check(torch: Any) -> int:
    """Compute all products; return how many are wrong."""
    worst: dict[str, float] = dict.fromkeys(TOLERANCES, 0.0)
    count = failures = 0
    for case in cases():
        count += 1
        try:
            error = run(torch, case)
        except RuntimeError as problem:
            failures += 1
            print("FAILS", case, problem)
            continue
        if not error <= case.tolerance:
            failures += 1
            print(f"WRONG by {error:.1e}", case)
        if not case.tf32:
            worst[case.dtype] = max(worst[case.dtype], error)
    shown = ", ".join(f"{name} {error:.1e}" for name, error in worst.items())
    print(f"{count} products, {failures} of them wrong; largest errors: {shown}")
    return failures


def measure(torch: Any) -> None:
    """Print how long the host takes for a call."""
    import tvm_ffi
    from relax_runtime.cublas import CublasFunction

    case = Case("float16", (8, 8, 8), transposed=(False, True), bias=True)
    given = case.inputs(torch)
    out = case.random(torch, (8, 8))
    function = CublasFunction(case.program(), {})
    tensors = [tvm_ffi.from_dlpack(each) for each in (*given, out)]
    calls = {
        "cuBLASLt here": lambda: function(*tensors),
        "PyTorch": lambda: torch.nn.functional.linear(*given),
    }
    for name, call in calls.items():
        call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(500):  # as many as the device takes before the host waits
            call()
        duration = time.perf_counter() - begin
        torch.cuda.synchronize()
        print(f"a call of {name}: {duration / 500 * 1e6:.1f} us of the host")


def main() -> None:
    """Run the command line."""
    import torch
    from relax_runtime import cublas

    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "cuBLASLt", cublas.version())
    failures = check(torch)
    measure(torch)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
