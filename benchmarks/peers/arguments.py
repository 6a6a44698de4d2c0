"""The arguments of a call, as a peer is given them."""

from __future__ import annotations

from typing import Any

import numpy as np


def convert(shapes: list[list[int]], kind: str) -> list[Any]:
    """Return random float32 arguments, the same for every peer.

    Parameters
    ----------
    shapes : list of list of int
    kind : str
        "tvm_ffi", "numpy" or "torch": whose tensors they are.
    """
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, dtype=np.float32) for shape in shapes]
    if kind == "numpy":
        return arrays
    if kind == "torch":
        import torch

        return [torch.from_numpy(array) for array in arrays]
    import tvm_ffi

    return [tvm_ffi.from_dlpack(array) for array in arrays]
