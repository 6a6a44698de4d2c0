"""onnxruntime, its provider for the processor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
from cases import Case

from .base import Base


class Peer(Base):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"onnxruntime {onnxruntime.__version__}"

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Load the model."""
        return self.open(folder / f"{case.name}.onnx")

    def open(
        self, path: Path, precision: str = "f32", *, rounds_rows: bool = False
    ) -> Callable[..., Any]:
        """Load a model of ONNX."""
        if precision != "f32":
            raise NotImplementedError(f"onnxruntime has no products of {precision} on processors")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        names = [given.name for given in session.get_inputs()]

        def run(*arguments: Any) -> Any:
            return session.run(None, dict(zip(names, arguments, strict=True)))

        return run
