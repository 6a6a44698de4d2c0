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

    def convert(self, array: np.ndarray) -> Any:
        """Return an array as a tensor."""
        return torch.from_numpy(array)
