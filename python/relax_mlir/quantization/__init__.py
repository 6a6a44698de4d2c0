# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization by data: ranges of a calibration run, and what rounding does to a model.

`calibrate` observes the inputs of layers, `relax_mlir.transform.QuantizeStatic` rounds them, and
`compare_precision` says how far the layers of a rounded program are from those of another one.
"""

from .calibration import calibrate
from .precision import LayerError, PrecisionReport, compare_precision

__all__ = ["LayerError", "PrecisionReport", "calibrate", "compare_precision"]
