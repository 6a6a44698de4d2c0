"""What the peers do alike: see ``worker.py``."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any


class Base:
    """Programs that were read and compiled, by name, and how their libraries are loaded."""

    def __init__(self, calls: Any, threads: int) -> None:
        self._calls = calls
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
