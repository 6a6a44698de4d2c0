"""PyTorch, eager; it writes the models for those that read files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import numpy as np
import torch
from cases import Case

from .base import Base


class Peer(Base):
    """See ``worker.py``."""

    def __init__(self, calls: Any, threads: int) -> None:
        super().__init__(calls, threads)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def version(self) -> str:
        """Return the version."""
        return f"PyTorch {torch.__version__}"

    def prepare(self, name: str, folder: str) -> None:
        """Write the files of a case."""
        models.prepare(name, Path(folder))

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Return the model."""
        return models.make(case)

    def build_function(self, name: str) -> Callable[..., Any]:
        """Return an operator."""
        from operators import OPERATORS

        return OPERATORS[name].function

    def open(
        self, path: Path, precision: str = "f32", *, rounds_rows: bool = False
    ) -> Callable[..., Any]:
        """Return the model of the file of ``torch.export`` beside a file of ONNX.

        Where there is none, the file of ONNX has one product alone, by a constant matrix.
        """
        saved = path.with_suffix(".pt2")
        if saved.exists() and precision == "f32":
            return torch.export.load(saved).module()
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(path).graph
        if [node.op_type for node in graph.node] != ["MatMul"]:
            raise NotImplementedError(
                f"no {saved.name} beside {path.name}, which is no product of floats"
            )
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[precision]
        matrix = torch.tensor(numpy_helper.to_array(graph.initializer[0])).to(dtype)
        return lambda x: (x.to(dtype) @ matrix).float()

    def convert(self, array: np.ndarray) -> Any:
        """Return an array as a tensor."""
        return torch.from_numpy(array)
