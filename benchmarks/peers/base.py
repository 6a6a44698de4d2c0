"""The common base of the peers: see ``worker.py``."""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, Case


def arrays_of(result: Any) -> list[np.ndarray]:
    """Return the results of a call as arrays."""
    if isinstance(result, dict):
        result = list(result.values())
    if hasattr(result, "__dlpack__") or hasattr(result, "__array__"):
        result = [result]
    return [np.asarray(x) if hasattr(x, "__array__") else np.from_dlpack(x) for x in result]


class Base:
    """A peer that is timed on the cases, which are whole models."""

    def __init__(self, calls: Any, threads: int) -> None:
        self._calls = calls
        self._threads = threads
        self._model: Callable[..., Any] = self.build

    def version(self) -> str:
        """Return the version."""
        raise NotImplementedError(f"{type(self).__name__}.version")

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Compile the model of a case; return a function of arrays that runs it.

        Parameters
        ----------
        case : Case
        folder : Path
            Where ``models.prepare`` wrote it.
        """
        raise NotImplementedError(f"{type(self).__name__}.build")

    def open(
        self, path: Path, precision: str = "f32", *, rounds_rows: bool = False
    ) -> Callable[..., Any]:
        """Compile a model of ONNX; return a function of arrays that runs it.

        Products of floats may have operands of `precision`, "f32" or "bf16". Where their matrix has
        few bits, rows may be rounded to 8.
        """
        raise NotImplementedError(f"{type(self).__name__}.open")

    def open_file(self, path: str, precision: str = "f32", rounds_rows: bool = False) -> None:
        """Compile a model of ONNX."""
        self._model = self.open(Path(path), precision, rounds_rows=rounds_rows)

    def bind_file(self, path: str) -> int:
        """Make a call of the model on an array in a file; return its handle."""
        model, argument = self._model, self.convert(np.load(path))
        return self._calls.bind(lambda: model(argument))

    def convert(self, array: np.ndarray) -> Any:
        """Return an array as the peer takes it."""
        return array

    def start_compiling(self) -> None:
        """Say that compiling begins, after the export of the model for example."""
        self._start = time.perf_counter()

    def build_model(self, name: str, folder: str) -> dict[str, float]:
        """Compile a case, call it once at the size it was exported with; return the costs.

        The first call is part of it: some peers compile then, and one of them gives wrong results
        for all sizes if the first call is of size 1.
        """
        case = CASES[name]
        self.start_compiling()
        self._model = self.build(case, Path(folder))
        self._model(*map(self.convert, case.inputs(case.exported)))
        seconds = time.perf_counter() - self._start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        return {"seconds": seconds, "peak_mib": peak / 1024}

    def build_operator(self, name: str) -> None:
        """Compile an operator of `operators.py`."""
        self._model = self.build_function(name)

    def build_function(self, name: str) -> Callable[..., Any]:
        """Return an operator of `operators.py` as a function of arrays."""
        raise NotImplementedError(f"{type(self).__name__}.build_function")

    def bind_operator(self, name: str, sample: str) -> int:
        """Make a call of the operator on the arguments of a sample; return its handle."""
        from operators import OPERATORS

        arrays = OPERATORS[name].arguments(sample)
        model, arguments = self._model, [self.convert(x) for x in arrays]
        return self._calls.bind(lambda: model(*arguments))

    def save(self, handle: int, path: str) -> None:
        """Write the results of a call to a file of NumPy."""
        np.savez(path, *arrays_of(self._calls.call(handle)))

    def bind_model(self, name: str, size: int) -> int:
        """Make a call of the model at a size; return its handle."""
        model, arguments = self._model, [self.convert(x) for x in CASES[name].inputs(size)]
        return self._calls.bind(lambda: model(*arguments))

    def error(self, handle: int, name: str, size: int, folder: str) -> float:
        """Return the largest difference to the results of PyTorch, relative to the largest one."""
        results = arrays_of(self._calls.call(handle))
        with np.load(Path(folder) / f"{name}-{size}.npz") as wanted:
            pairs = list(zip(results, wanted.values(), strict=True))
        errors = [
            np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()) for ours, theirs in pairs
        ]
        return float(np.max(errors))  # NaN where one is


class Programs(Base):
    """A peer that reads TVMScript: programs by name, and how their libraries are loaded."""

    def __init__(self, calls: Any, threads: int) -> None:
        super().__init__(calls, threads)
        self._modules: dict[str, Any] = {}
        self._executables: dict[tuple[str, str], Any] = {}

    def load(self, path: str, function: str) -> Any:
        """Return a function of a library."""
        raise NotImplementedError(f"{type(self).__name__}.load")

    def artefact(self, name: str, mode: str, function: str, rounds: int) -> dict[str, float]:
        """Write and load an executable; return the size and the least seconds to load it."""
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.so"
            self._executables[name, mode].export_library(str(model))
            seconds = []
            for number in range(rounds):  # a library is loaded once only, a copy is another
                path = shutil.copy(model, Path(folder) / f"copy{number}.so")
                start = time.perf_counter()
                self.load(str(path), function)
                seconds.append(time.perf_counter() - start)
            return {"bytes": model.stat().st_size, "load_s": min(seconds)}
