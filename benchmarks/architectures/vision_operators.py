# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Declare operators that torchvision wants to exist, where its extension does not load.

Import this before torchvision, timm or transformers. The extension fits one version and build of
PyTorch. None of the models calls its operators.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

_OPERATORS = ("nms", "qnms")


def _has_extension() -> bool:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("expected torchvision: see requirements.txt")
    try:
        for path in Path(spec.submodule_search_locations[0]).glob("_C*.so"):
            torch.ops.load_library(str(path))
            return True
    except OSError:
        pass
    return False


if not _has_extension():
    LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
    for name in _OPERATORS:
        LIBRARY.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
