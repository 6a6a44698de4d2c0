"""OpenVINO on the processor, in float32 unless another precision is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openvino
from cases import Case

from .base import Base


class Peer(Base):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"OpenVINO {openvino.__version__}"

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Load and compile the model."""
        return self.open(folder / f"{case.name}.onnx")

    def open(
        self, path: Path, precision: str = "f32", *, rounds_rows: bool = False
    ) -> Callable[..., Any]:
        """Load and compile a model of ONNX."""
        options = {
            "INFERENCE_NUM_THREADS": self._threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": precision,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": 32 if rounds_rows else 0,
            "PERFORMANCE_HINT": "LATENCY",
        }
        model = openvino.Core().compile_model(path, "CPU", options)
        request = model.create_infer_request()

        def run(*arguments: Any) -> Any:
            results = request.infer(
                dict(enumerate(arguments)), share_inputs=True, share_outputs=True
            )
            return list(results.values())

        return run
