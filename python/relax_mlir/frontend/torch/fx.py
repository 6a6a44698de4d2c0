# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of ``torch.fx``, which name modules of PyTorch: ``torch.export`` makes ATen of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...core.ir_module import IRModule
from .dynamo import backend
from .exported_program import from_exported_program
from .registry import Converter

# Sizes of the example at which a graph is exported, which no model treats as special.
_FIRST_SIZE = 5


def from_fx(
    model: torch.fx.GraphModule,
    input_info: Sequence[tuple[Sequence[int | str], str | torch.dtype]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, Converter] | None = None,
    default_image_layout: str = "NCHW",
) -> IRModule:
    """Return a graph of ``torch.fx`` as a module with a function ``main``.

    The graph is exported with ``torch.export`` first, so that what `from_exported_program`
    says holds here, too.

    Parameters
    ----------
    model : torch.fx.GraphModule
        As ``torch.fx.symbolic_trace`` makes it. Modules compute in the mode in which they are: call
        ``model.eval()`` before for inference.
    input_info : sequence of (shape, data type)
        One for each input. A dimension is an int, or a str: a shape variable, the same wherever the
        name is the same.
    keep_params_as_input, unwrap_unit_return_tuple, no_bind_return_tuple, custom_convert_map
        As of `from_exported_program`.
    default_image_layout : str
        "NCHW", which is that of PyTorch.

    Returns
    -------
    IRModule

    Raises
    ------
    TypeError
        If the model is no graph of ``torch.fx``.
    ValueError
        If the inputs are not as many as those of the graph, or one cannot be made as stated.
    NotImplementedError
        If an operator has no converter.

    Examples
    --------
    >>> import torch
    >>> graph = torch.fx.symbolic_trace(torch.nn.Linear(4, 2).eval())
    >>> mod = from_fx(graph, [(("n", 4), "float32")], unwrap_unit_return_tuple=True)
    >>> print(mod["main"].ret_struct_info)
    !relax.tensor<[n, 2], f32>
    """
    if not isinstance(model, torch.fx.GraphModule):
        raise TypeError(
            f"expected a torch.fx.GraphModule, but got {type(model).__name__}: "
            "torch.fx.symbolic_trace makes one of a model"
        )
    if default_image_layout != "NCHW":
        raise ValueError(
            f"expected the layout of PyTorch, 'NCHW', but got {default_image_layout!r}: the pass "
            "ConvertLayout changes it"
        )
    names = [node.name for node in model.graph.nodes if node.op == "placeholder"]
    if len(names) != len(input_info):
        raise ValueError(
            f"expected the shape and data type of {len(names)} inputs ({', '.join(names)}), but "
            f"got {len(input_info)}"
        )
    program = _exported(model, *_example(names, input_info))
    return from_exported_program(
        program,
        keep_params_as_input=keep_params_as_input,
        unwrap_unit_return_tuple=unwrap_unit_return_tuple,
        no_bind_return_tuple=no_bind_return_tuple,
        custom_convert_map=custom_convert_map,
    )


def _exported(
    model: torch.fx.GraphModule,
    example: tuple[torch.Tensor, ...],
    shapes: tuple[dict[int, Any], ...],
) -> torch.export.ExportedProgram:
    try:
        with torch.no_grad():
            return torch.export.export(model, example, dynamic_shapes=shapes)
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # about operators, not about shapes
            raise
        given = ", ".join(str(list(tensor.shape)) for tensor in example)
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"expected input_info of inputs that the graph takes, but with shapes such as {given} "
            f"it fails: {reason}"
        ) from error


def _example(
    names: Sequence[str], input_info: Sequence[tuple[Sequence[int | str], str | torch.dtype]]
) -> tuple[tuple[torch.Tensor, ...], tuple[dict[int, Any], ...]]:
    """Return tensors of the shapes that are stated, and which of their sizes are dynamic."""
    sizes = itertools.count(_FIRST_SIZE)
    known: dict[str, tuple[int, Any]] = {}
    tensors, dynamic = [], []
    for name, (shape, dtype) in zip(names, input_info, strict=True):
        _check_shape(name, shape)
        for dim in shape:
            if isinstance(dim, str) and dim not in known:
                known[dim] = (next(sizes), torch.export.Dim(dim))
        given = [known[dim][0] if isinstance(dim, str) else int(dim) for dim in shape]
        kind = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
        if not isinstance(kind, torch.dtype):
            raise ValueError(f"expected a data type for input '{name}', but got {dtype!r}")
        tensors.append(torch.zeros(given, dtype=kind))
        axes = enumerate(shape)
        dynamic.append({axis: known[dim][1] for axis, dim in axes if isinstance(dim, str)})
    return tuple(tensors), tuple(dynamic)


def _check_shape(name: str, shape: Any) -> None:
    for dim in shape if isinstance(shape, (tuple, list)) else (shape,):
        is_size = isinstance(dim, int) and dim >= 0
        if shape is dim or not (is_size or (isinstance(dim, str) and dim.isidentifier())):
            raise ValueError(
                f"expected a shape of sizes and names of shape variables for input '{name}', but "
                f"got {shape!r}"
            )


def relax_dynamo(pipeline: Any = None) -> Callable[..., Any]:
    """Return a backend of ``torch.compile``, with a pipeline of passes of its own.

    ``torch.compile(model, backend="relax_mlir")`` needs no import; see
    `relax_mlir.frontend.torch.dynamo.backend` for what it takes.

    Parameters
    ----------
    pipeline : str or Pass, optional
        What runs before the phases of `relax_mlir.compile`.

    Examples
    --------
    >>> import torch
    >>> compiled = torch.compile(torch.nn.ReLU(), backend=relax_dynamo("zero"))
    >>> with torch.no_grad():
    ...     compiled(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def compile_graph(
        graph_module: torch.fx.GraphModule,
        example_inputs: Sequence[Any],
        *,
        options: Mapping[str, Any] | None = None,
        mode: str | None = None,
    ) -> Callable[..., Any]:
        chosen = {"relax_pipeline": pipeline, **(options or {})}
        return backend(graph_module, example_inputs, options=chosen, mode=mode)

    return compile_graph
