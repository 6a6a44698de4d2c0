# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization by data: ranges of a calibration run, and what rounding does to a model.

`calibrate` observes the inputs of layers, `relax_mlir.transform.QuantizeStatic` rounds them, and
`compare_precision` says how far the layers of a rounded program are from those of another one.
`calibrate_channels` is for `relax_mlir.transform.SmoothQuant`, which evens out channels before.
"""

from .calibration import calibrate, calibrate_channels
from .precision import LayerError, PrecisionReport, compare_precision

__all__ = ["LayerError", "PrecisionReport", "calibrate", "calibrate_channels", "compare_precision"]
