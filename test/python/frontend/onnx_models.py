# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX from text, and comparison with ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator
from relax_mlir.frontend.onnx import InferenceSession

RNG = np.random.default_rng(0)


def graph(text: str, opset: int = 18, functions: str = "") -> Any:
    header = f'<ir_version: 10, opset_import: ["" : {opset}, "local" : 1]>'
    return parser.parse_model(f"{header}\nmodel {text}\n{functions}")


def random(*shape: int) -> np.ndarray:
    return RNG.random(shape, "float32") - 0.5


def check(model: Any, *feeds: dict[str, np.ndarray], **options: Any) -> InferenceSession:
    """Compile a model once, and compare it with the reference for each of some inputs."""
    session = InferenceSession(model, **options)
    reference = ReferenceEvaluator(model)
    for feed in feeds:
        for ours, theirs in zip(session.run(None, feed), reference.run(None, feed), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    return session
