"""relax-mlir: its default pipeline, both ways to run."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import relax_mlir
from relax_mlir import analysis, script

from .arguments import convert


class Peer:
    """See ``worker.py``."""

    def __init__(self, calls: Any, threads: int) -> None:
        self._calls = calls
        self._modules: dict[str, Any] = {}
        self._executables: dict[tuple[str, str], Any] = {}

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

    def artefact(self, name: str, mode: str, function: str, rounds: int) -> dict[str, float]:
        """Write and load an executable; return the size and the least seconds to load it."""
        import tvm_ffi

        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.so"
            self._executables[name, mode].export_library(str(model))
            seconds = []
            for number in range(rounds):  # a library is loaded once only, a copy is another
                path = shutil.copy(model, Path(folder) / f"copy{number}.so")
                start = time.perf_counter()
                tvm_ffi.load_module(str(path))[function]
                seconds.append(time.perf_counter() - start)
            return {"bytes": model.stat().st_size, "load_s": min(seconds)}

    def planned_bytes(self, name: str, sizes: dict[str, int]) -> int:
        """Return how many bytes the plan of ``main`` allocates at these sizes."""
        usage = analysis.estimate_memory_usage(self._modules[name], sizes=sizes)
        return usage["main"].planned_bytes
