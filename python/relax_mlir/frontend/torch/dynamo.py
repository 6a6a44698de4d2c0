# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of ``torch.compile``: ``torch.compile(model, backend="relax_mlir")``.

Each graph that Dynamo captures is lowered to ATen by AOTAutograd, imported, and compiled. A graph
that is not taken runs in PyTorch as it is.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import logging
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import torch
from relax_runtime.near_misses import did_you_mean
from torch._decomp import get_decompositions
from torch._dynamo.backends import registry
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from torch.utils._python_dispatch import _disable_current_modes

from ...driver.compiler import compile as compile_module
from ...driver.pipeline import get_pipeline
from ...runtime import VirtualMachine
from ...target import Target
from ...transform.options import CompileOptions
from .callable import as_complex, as_torch
from .complex_numbers import is_complex, real_view
from .exported_program import draws_numbers, import_program
from .random import new_key
from .registry import CONVERTERS

NAME = "relax_mlir"
_GROUP = "torch_dynamo_backends"

# What `relax_mlir.compile` takes beside the options of compilation.
_OF_COMPILE = ("target", "options", "relax_pipeline", "dump_phases", "progress")

logger = logging.getLogger(__name__)
_logged: set[str] = set()


def backend(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compile a graph of Dynamo; ``torch.compile`` calls it.

    A graph that is not taken is returned as it is, so that PyTorch runs it, and a warning of this
    module's logger says why, once for each reason. These are graphs that compute gradients (call
    the model under ``torch.no_grad()``), have tensors that are not in host memory, or operators
    without a converter.

    Parameters
    ----------
    graph_module : torch.fx.GraphModule
    example_inputs : sequence of torch.Tensor or torch.SymInt
    options : mapping of str to object, optional
        Those of `relax_mlir.compile`, and these:

        - ``fallback`` (bool): whether a graph that is not taken runs in PyTorch, which is the
          default; otherwise it is an error.
        - ``freeze`` (bool): whether parameters and buffers are constants, which lets the compiler
          fold and pack them. A call after one of them has changed computes with the new values,
          but without that. Changes through ``tensor.data`` are not seen. Not by default.
    mode : str, optional
        Not supported: it is an option of PyTorch's own compiler.

    Returns
    -------
    callable
        It takes and returns tensors of PyTorch, which share memory with those of the runtime.

    Raises
    ------
    TypeError, ValueError
        If there is a mode, or an option that `relax_mlir.compile` does not take.
    NotImplementedError
        If the graph is not taken, and there is no fallback.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(4, 2).eval()
    >>> compiled = torch.compile(model, backend=backend, dynamic=True)
    >>> with torch.no_grad():
    ...     compiled(torch.rand(3, 4)).shape
    torch.Size([3, 2])
    """
    if mode is not None:
        raise ValueError(
            f"expected no mode for the backend '{NAME}', but got {mode!r}: give options of "
            "relax_mlir.compile as options={'opt_level': 3}"
        )
    chosen = dict(options or {})
    falls_back, freezes = _flag(chosen, "fallback", True), _flag(chosen, "freeze", False)
    _check_options(chosen)
    frozen = _frozen(graph_module, example_inputs) if freezes else {}
    try:
        _check_inputs(example_inputs)
        return _compile(graph_module, example_inputs, chosen, frozen)
    except Exception as error:
        if not falls_back:
            raise
        _log_once(f"PyTorch runs a graph that relax-mlir does not take: {error}")
        return graph_module.forward


def _flag(options: dict[str, Any], name: str, default: bool) -> bool:
    """Return an option that is True or False, and take it out of the options."""
    value = options.pop(name, default)
    if not isinstance(value, bool):
        raise TypeError(f"expected {name} to be True or False, but got {value!r}")
    return value


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise what `relax_mlir.compile` would raise of options: no graph is the reason."""
    changes = {name: value for name, value in options.items() if name not in _OF_COMPILE}
    known = ["freeze", "fallback", *_OF_COMPILE, *vars(CompileOptions())]
    if unknown := next((name for name in changes if name not in known), None):
        hint = did_you_mean(unknown, known) or f": there are {', '.join(known)}"
        raise TypeError(f"expected an option of the backend, but got {unknown}{hint}")
    CompileOptions.of(options.get("options"), changes)
    target, pipeline = options.get("target", "llvm"), options.get("relax_pipeline")
    if target != "reference":
        Target.parse(target)
    if isinstance(pipeline, str):
        get_pipeline(pipeline)


def _log_once(message: str) -> None:
    if message not in _logged:
        _logged.add(message)
        logger.warning(message)


def _check_inputs(inputs: Sequence[Any]) -> None:
    """Raise NotImplementedError if a graph has inputs that it cannot be compiled for."""
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            continue
        if value.device.type != "cpu":
            raise NotImplementedError(
                f"expected tensors in host memory, but got one on {value.device}"
            )
        if value.requires_grad and torch.is_grad_enabled():
            raise NotImplementedError(
                "expected inputs and parameters that require no gradients: call the model under "
                "torch.no_grad() or torch.inference_mode()"
            )


# -- parameters as constants --------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Frozen:
    """A tensor that is a constant as long as nobody writes it."""

    tensor: torch.Tensor
    version: int
    address: int

    @staticmethod
    def of(tensor: torch.Tensor) -> _Frozen:
        return _Frozen(tensor, tensor._version, tensor.data_ptr())

    def is_changed(self, tensor: torch.Tensor) -> bool:
        return (
            self.tensor._version != self.version
            or tensor._version != self.version
            or tensor.data_ptr() != self.address
        )


def _frozen(graph_module: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[int, _Frozen]:
    """Return the parameters and buffers among the inputs of a graph, by place."""
    nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    values = [_example(node, value) for node, value in zip(nodes, inputs, strict=True)]
    return {
        place: _Frozen.of(value)
        for place, value in enumerate(values)
        if isinstance(value, torch.Tensor) and _is_of_model(value)
    }


def _example(node: torch.fx.Node, value: Any) -> Any:
    """Return the tensor that a graph was captured with."""
    known = node.meta.get("grapharg")
    return value if known is None else known.example


def _is_of_model(tensor: torch.Tensor) -> bool:
    is_static = getattr(tensor, "_dynamo_static_input_type", None) is not None
    return isinstance(tensor, torch.nn.Parameter) or is_static


# -- graphs of ATen -----------------------------------------------------------------------------


@dataclasses.dataclass
class _Program:
    """A graph of ATen, as a program of ``torch.export``."""

    graph_module: torch.fx.GraphModule
    graph: torch.fx.Graph
    graph_signature: ExportGraphSignature
    state_dict: Mapping[str, torch.Tensor]
    constants: Mapping[str, Any]
    range_constraints: Mapping[Any, Any]


def _compile(
    graph_module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    options: dict[str, Any],
    frozen: dict[int, _Frozen],
) -> Callable[..., Any]:
    def compile_inference(graph: torch.fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        with _disable_current_modes():  # tensors are not those of FakeTensorMode
            return make_boxed_func(_Inference(graph, options, frozen))

    def compile_training(*_: Any) -> Any:
        raise NotImplementedError("expected a graph without gradients")

    def compile_with(decompositions: dict[Any, Callable[..., Any]]) -> Callable[..., Any]:
        compiler = aot_autograd(
            fw_compiler=compile_training,
            inference_compiler=compile_inference,
            decompositions=decompositions,
        )
        return compiler(graph_module, inputs)

    try:
        return compile_with(_decompositions(CONVERTERS))
    except NotImplementedError:
        # A converter may not take the arguments of its operator, which PyTorch decomposes.
        return compile_with(_decompositions(()))


def _decompositions(kept: Container[str]) -> dict[Any, Callable[..., Any]]:
    """Return the decompositions of operators, but of those that are kept."""
    table = dict(torch.export.default_decompositions().items())
    # What AOTAutograd makes of normalization in training mode.
    table |= get_decompositions([torch.ops.aten._native_batch_norm_legit_functional])
    return {target: function for target, function in table.items() if str(target) not in kept}


class _Inference:
    """A compiled graph, which takes its inputs by place and returns a tuple."""

    def __init__(
        self, graph: torch.fx.GraphModule, options: dict[str, Any], frozen: dict[int, _Frozen]
    ) -> None:
        nodes = list(graph.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        outputs = nodes[-1].args[0]
        self._frozen = frozen if _is_same(placeholders, frozen) else {}
        self._graph, self._options = graph, options
        self._results = [_result(node) for node in outputs]
        self._complex = [
            place for place, node in enumerate(placeholders) if is_complex(node.meta.get("val"))
        ]
        self._given = [i for i in range(len(placeholders)) if i not in self._frozen]
        self._draws_numbers = draws_numbers(graph)
        self._main = self._compiled(self._frozen)
        self._general: Any = None

    def _compiled(self, frozen: Mapping[int, _Frozen]) -> Any:
        module = import_program(_program(self._graph, frozen), CONVERTERS)
        return VirtualMachine(compile_module(module, **self._options))["main"]

    def __call__(self, *inputs: Any) -> list[Any]:
        if self._complex:
            inputs = tuple(map(real_view, inputs))
        keys = [new_key()] if self._draws_numbers else []
        if not self._frozen:
            results = self._main(*inputs, *keys)
        elif any(one.is_changed(inputs[place]) for place, one in self._frozen.items()):
            self._general = self._general or self._compiled({})
            results = self._general(*inputs, *keys)
        else:
            results = self._main(*(inputs[place] for place in self._given), *keys)
        return [finish(value) for finish, value in zip(self._results, results, strict=True)]


def _is_same(placeholders: Sequence[torch.fx.Node], frozen: Mapping[int, _Frozen]) -> bool:
    """Say whether inputs are at the places that they have in the graph of Dynamo."""
    values = {place: node.meta["val"] for place, node in enumerate(placeholders)}
    return all(
        place in values
        and isinstance(values[place], torch.Tensor)
        and tuple(values[place].shape) == tuple(one.tensor.shape)
        and values[place].dtype == one.tensor.dtype
        for place, one in frozen.items()
    )


def _program(graph: torch.fx.GraphModule, frozen: Mapping[int, _Frozen]) -> _Program:
    nodes = list(graph.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    inputs = []
    for place, node in enumerate(placeholders):
        kind = InputKind.PARAMETER if place in frozen else InputKind.USER_INPUT
        inputs.append(InputSpec(kind, _argument(node), node.name))
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, _argument(node), None) for node in nodes[-1].args[0]
    ]
    state = {placeholders[place].name: one.tensor for place, one in frozen.items()}
    ranges: dict[Any, Any] = {}
    for node in placeholders:
        mode = getattr(node.meta.get("val"), "fake_mode", None)
        if mode is not None and mode.shape_env is not None:
            ranges = dict(mode.shape_env.var_to_range)
    return _Program(graph, graph.graph, ExportGraphSignature(inputs, outputs), state, {}, ranges)


def _argument(node: Any) -> Any:
    if not isinstance(node, torch.fx.Node):
        return ConstantArgument("", node)
    if isinstance(node.meta.get("val"), torch.Tensor):
        return TensorArgument(node.name)
    return SymIntArgument(node.name)


def _result(node: Any) -> Callable[[Any], Any]:
    """Return what makes a value of PyTorch of a result, with the strides that are expected."""
    meta = node.meta.get("val") if isinstance(node, torch.fx.Node) else node
    if meta is None:
        return lambda _: None
    if not isinstance(meta, torch.Tensor):
        return as_torch
    finish = as_complex if is_complex(meta) else as_torch
    order = _order(meta)
    if order == sorted(order):
        return finish
    back = [order.index(axis) for axis in range(len(order))]
    return lambda value: finish(value).permute(order).contiguous().permute(back)


def _order(meta: torch.Tensor) -> list[int]:
    """Return the axes of a tensor by descending strides, as those of the example are."""
    hints = [_hint(size) for size in meta.shape]
    strides = [_hint(stride) for stride in meta.stride()]
    axes = [axis for axis, size in enumerate(hints) if size != 1 and strides[axis] != 0]
    if [strides[axis] for axis in axes] == sorted((strides[axis] for axis in axes), reverse=True):
        return list(range(meta.dim()))
    return sorted(range(meta.dim()), key=lambda axis: -strides[axis])


def _hint(size: Any) -> int:
    if not isinstance(size, torch.SymInt):
        return int(size)
    hint = size.node.hint
    if hint is None:
        raise NotImplementedError(f"expected sizes that do not depend on data, but got {size}")
    return int(hint)


def _register() -> None:
    """Make the backend known by name, unless the installed package does."""
    known = importlib.metadata.entry_points(group=_GROUP, name=NAME)
    if not known and NAME not in registry._BACKENDS:
        registry.register_backend(backend, name=NAME)


_register()
