# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchvision, also where its C++ extension does not fit the PyTorch that is installed.

Then the operators of the extension are declared, which torchvision wants to exist when it is
imported. None of the models calls them.
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

import torchvision  # noqa: E402 (wants the operators)

__all__ = ["torchvision"]
