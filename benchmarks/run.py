"""Measure what a call of a compiled function costs: ``./dev bench``.

One kernel, ``x + y`` on 4x4 float32, is called from Python in several ways. The ways are
interleaved round by round, so that a disturbance hits all of them, and each is given by the median
of its rounds: in nanoseconds, and as a ratio to ``numpy.add`` with ``out=`` in the same run.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import relax_mlir
import tvm_ffi

ADD = """
relax.func @main(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<[n, m], f32>)
    -> !relax.tensor<[n, m], f32> {
  %0 = relax.add %x, %y
    : (!relax.tensor<[n, m], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}
"""

Call = Callable[[], object]


def cases() -> dict[str, Call]:
    """Return the ways of adding two arrays; all give the same sums."""
    main = relax_mlir.VirtualMachine(relax_mlir.compile(ADD))["main"]
    rng = np.random.default_rng(0)
    x, y = (rng.random((4, 4), dtype=np.float32) for _ in range(2))
    out = np.empty_like(x)
    tx, ty = map(tvm_ffi.from_dlpack, (x, y))
    np.testing.assert_array_equal(np.from_dlpack(main(x, y)), x + y)
    return {
        "numpy.add, out=": lambda: np.add(x, y, out=out),
        "numpy.add": lambda: np.add(x, y),
        "compiled, tvm_ffi tensors": lambda: main(tx, ty),
        "compiled, NumPy arrays": lambda: main(x, y),
    }


def time_ns(call: Call, count: int) -> float:
    """Return nanoseconds per call over `count` calls."""
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - start) / count


def measure(ways: dict[str, Call], rounds: int, count: int) -> dict[str, float]:
    """Return the median over `rounds` interleaved rounds, in nanoseconds per call."""
    for call in ways.values():
        time_ns(call, count)
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, call in ways.items():
            samples[name].append(time_ns(call, count))
    return {name: statistics.median(values) for name, values in samples.items()}


def main() -> None:
    """Print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21, help="interleaved rounds")
    parser.add_argument("--count", type=int, default=20000, help="calls in a round")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()

    medians = measure(cases(), options.rounds, options.count)
    base = medians["numpy.add, out="]
    print(f"per call, 4x4 float32, median of {options.rounds} rounds on {platform.machine()}")
    for name, value in medians.items():
        print(f"  {name:28} {value:8.0f} ns   {value / base:5.2f} x numpy.add with out=")
    if options.json:
        rows = {name: {"ns": value, "ratio": value / base} for name, value in medians.items()}
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
