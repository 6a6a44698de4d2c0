"""PyTorch with ``torch.compile``, dynamic where the case is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Nothing that was compiled before.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()

import models
import torch
from cases import Case

from . import pytorch


class Peer(pytorch.Peer):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"torch.compile {torch.__version__}"

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Compile the model."""
        return torch.compile(models.make(case), dynamic=bool(case.dynamic))
