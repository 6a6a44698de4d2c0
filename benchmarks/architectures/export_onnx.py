# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write architectures with random weights as files for ``./dev bench files``.

python benchmarks/architectures/export_onnx.py FOLDER mobilenetv2_100 transformers/BertModel

Names are those of timm, whose input is an image of the size that the architecture is made for, or
of models of transformers that take tokens, in their default configurations. Each becomes a file of
ONNX and, for PyTorch itself, one of ``torch.export``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import vision_operators  # noqa: F401 (timm wants it)
from torch import nn

LENGTH = 128  # of sentences


class _FirstOutput(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens, use_cache=False, return_dict=False)[0]


def make(name: str) -> tuple[nn.Module, torch.Tensor]:
    """Return a model with random weights, and an input."""
    family, _, kind = name.rpartition("/")
    if family == "transformers":
        import transformers

        model_class = getattr(transformers, kind)
        model = model_class(model_class.config_class()).eval()
        return _FirstOutput(model), torch.randint(1, 90, (1, LENGTH))
    import timm

    model = timm.create_model(name, pretrained=False, exportable=True).eval()
    return model, torch.randn(1, *timm.data.resolve_model_data_config(model)["input_size"])


def main() -> None:
    """Write two files for each name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", help="such as efficientnet_b0")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        torch.manual_seed(0)
        model, example = make(name)
        path = options.folder / f"{name.rpartition('/')[2]}.onnx"
        program = torch.export.export(model, (example,))
        torch.export.save(program, path.with_suffix(".pt2"))
        torch.onnx.export(program, (), path, dynamo=True, external_data=False, verbose=False)
        print(path)


if __name__ == "__main__":
    main()
