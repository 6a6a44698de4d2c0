# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write architectures of timm with random weights as files of ONNX, for ``./dev bench files``.

python benchmarks/architectures/export_onnx.py FOLDER mobilenetv2_100 resnet50
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import vision_operators  # noqa: F401 (timm wants it)


def main() -> None:
    """Write a file for each name: an image of the size that the architecture is made for."""
    import timm

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", help="of timm, such as efficientnet_b0")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name in options.names:
        model = timm.create_model(name, pretrained=False, exportable=True).eval()
        size = timm.data.resolve_model_data_config(model)["input_size"]
        path = options.folder / f"{name}.onnx"
        torch.onnx.export(
            model, (torch.randn(1, *size),), path, dynamo=True, external_data=False, verbose=False
        )
        print(path)


if __name__ == "__main__":
    main()
