# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples as vectors."""

from __future__ import annotations

from ..transform import reshape
from ..utils import Tensor, canonical, product


def flatten(data: Tensor) -> Tensor:
    """Return each sample, along the first dimension, as a vector.

    Parameters
    ----------
    data : Tensor

    Returns
    -------
    Tensor
        Of rank 2.
    """
    return reshape(data, (data.shape[0], canonical(product(data.shape[1:]))))
