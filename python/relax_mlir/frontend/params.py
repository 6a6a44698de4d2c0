# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of imported models that are parameters of their functions."""

from __future__ import annotations

from typing import Any

from .._arguments import shown
from ..core.ir_module import IRModule

__all__ = ["detach_params"]


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Any]]]:
    """Return a module and the weights that an importer has kept beside it.

    Parameters
    ----------
    mod : IRModule
        What an importer returned that was told to keep weights as parameters, such as
        `from_exported_program` with ``keep_params_as_input``. A pass does not pass weights on.

    Returns
    -------
    IRModule
        A copy without weights.
    dict of str to list
        By the name of the function, its arguments after the inputs, whose number is its attribute
        ``num_input``: tensors of PyTorch or NumPy arrays.

    Raises
    ------
    TypeError
        If it is no IRModule.

    Examples
    --------
    >>> from onnx import parser
    >>> from relax_mlir.frontend.onnx import from_onnx
    >>> mod, params = detach_params(from_onnx(parser.parse_model('''
    ... <ir_version: 8, opset_import: ["" : 17]>
    ... scaled (float[n, 2] x) => (float[n, 2] y) <float[2] w = {1.0, 2.0}> { y = Mul(x, w) }'''),
    ... keep_params_in_input=True))
    >>> params
    {'main': [array([1., 2.], dtype=float32)]}
    """
    if not isinstance(mod, IRModule):
        raise TypeError(f"detach_params: expected mod to be an IRModule, but got {shown(mod)}")
    copy = mod.clone()
    copy.name = mod.name
    return copy, {name: list(weights) for name, weights in mod.params.items()}
