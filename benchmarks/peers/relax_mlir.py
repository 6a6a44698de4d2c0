"""relax-mlir: its default pipeline, both ways to run."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import relax_mlir
import tvm_ffi
from cases import CASES, Case
from relax_mlir import analysis, script

from .arguments import convert
from .base import Programs


class Peer(Programs):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"relax-mlir {relax_mlir.__version__}"

    def parse(self, name: str, text: str) -> None:
        """Read a program."""
        self._modules[name] = script.from_source(text)

    def compile(self, name: str, mode: str) -> float:
        """Compile a program that was read; return seconds."""
        start = time.perf_counter()
        built = relax_mlir.compile(self._modules[name], exec_mode=mode)
        self._executables[name, mode] = built
        return time.perf_counter() - start

    def bind(self, name: str, mode: str, function: str, shapes: list[list[int]], kind: str) -> int:
        """Make a call of a function on arguments of these shapes; return its handle."""
        main = relax_mlir.VirtualMachine(self._executables[name, mode])[function]
        arguments = convert(shapes, kind)
        return self._calls.bind(lambda: main(*arguments))

    def load(self, path: str, function: str) -> Any:
        """Return a function of a library."""
        return tvm_ffi.load_module(path)[function]

    def planned_bytes(self, name: str, sizes: dict[str, int]) -> int:
        """Return the number of bytes that the plan of ``main`` allocates at these sizes."""
        usage = analysis.estimate_memory_usage(self._modules[name], sizes=sizes)
        return usage["main"].planned_bytes

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Compile the model of a case."""
        module = _import(case)
        self.start_compiling()
        return relax_mlir.VirtualMachine(relax_mlir.compile(module))["main"]

    def open(
        self, path: Path, precision: str = "f32", *, rounds_rows: bool = False
    ) -> Callable[..., Any]:
        """Import and compile a model of ONNX."""
        import onnx
        from relax_mlir.frontend.onnx import from_onnx

        built = relax_mlir.compile(
            from_onnx(onnx.load(path)), dynamic_quantization=rounds_rows, precision=precision
        )
        return relax_mlir.VirtualMachine(built)["main"]

    def build_function(self, name: str) -> Callable[..., Any]:
        """Import and compile an operator; one that draws numbers has a key as an argument."""
        from operators import OPERATORS
        from relax_mlir.frontend.torch import from_exported_program

        operator = OPERATORS[name]
        module = from_exported_program(operator.export(), unwrap_unit_return_tuple=True)
        main = relax_mlir.VirtualMachine(relax_mlir.compile(module))["main"]
        if not operator.is_random:
            return main
        key = self.convert(np.array(0, "uint64"))
        return lambda *arguments: main(*arguments, key)

    def build_cached(self, name: str, folder: str) -> dict[str, float]:
        """Return the costs of `build_model` where RELAX_MLIR_CACHE has what was compiled."""
        with tempfile.TemporaryDirectory() as cache:
            os.environ["RELAX_MLIR_CACHE"] = cache
            try:
                self.build_model(name, folder)
                return self.build_model(name, folder)
            finally:
                del os.environ["RELAX_MLIR_CACHE"]

    def build_kernels(self, name: str) -> None:
        """Compile the model of a case so that its kernels can be measured."""
        executable = relax_mlir.compile(_import(CASES[name]), exec_mode="bytecode")
        self._model = relax_mlir.VirtualMachine(executable)

    def kernels(self, name: str, size: int, rounds: int) -> list[dict[str, Any]]:
        """Return microseconds and bytes of each kernel of a case, the longest first."""
        arguments = [self.convert(x) for x in CASES[name].inputs(size)]
        samples: dict[tuple[str, str], list[float]] = {}
        for _ in range(rounds + 1):
            rows = self._model.profile("main", *arguments).by_name("kernel")
            for row in rows:
                samples.setdefault((row.name, row.shapes), []).append(row.own * 1e6)
        found = [
            {
                "name": f"{row.name} {row.shapes}",
                "count": row.calls,
                "bytes": row.bytes,
                # The first call finds cold caches.
                "us": statistics.median(samples[row.name, row.shapes][1:]),
            }
            for row in rows
        ]
        return sorted(found, key=lambda row: -float(row["us"]))

    def convert(self, array: np.ndarray) -> Any:
        """Return an array as a tensor of tvm-ffi."""
        return tvm_ffi.from_dlpack(array)


def _import(case: Case) -> Any:
    import models
    from relax_mlir.frontend.torch import from_exported_program

    return from_exported_program(models.export(case), unwrap_unit_return_tuple=True)
