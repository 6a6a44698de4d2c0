# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models with the signature of the model: nested arguments and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.utils import _pytree as pytree

from ..._arguments import shown
from ...core.ir_module import IRModule
from ...driver.compiler import compile as compile_module
from ...runtime import VirtualMachine
from .bounds import describe_violation
from .complex_numbers import is_complex, real_view
from .exported_program import (
    decomposed,
    draws_numbers,
    import_program,
    is_omitted,
    with_custom,
)
from .random import new_key
from .registry import Converter
from .updates import changed_arguments

_is_grad_enabled = torch.is_grad_enabled


def as_torch(value: Any) -> Any:
    """Return a tensor of the runtime as one of PyTorch, which shares its memory."""
    if isinstance(value, torch.Tensor) or not hasattr(value, "__dlpack__"):
        return value
    return torch.from_dlpack(value)


def as_complex(value: Any) -> torch.Tensor:
    """Return pairs of the runtime as complex numbers of PyTorch, which share their memory."""
    return torch.view_as_complex(as_torch(value))


class CompiledModel:
    """A model that `compile` compiled, called as the model itself.

    It computes without gradients: where they are enabled, arguments must not require them.
    Random numbers follow ``torch.manual_seed``, but are others than those of PyTorch.

    Parameters
    ----------
    program : torch.export.ExportedProgram
    signature : inspect.Signature
        That of the model, which says what a name of an argument stands for.
    converters : mapping of str to callable, optional
        As `custom_convert_map` of `from_exported_program`.
    options : mapping of str to object, optional
        Those of `relax_mlir.compile`.

    Attributes
    ----------
    program : torch.export.ExportedProgram
        The model, as PyTorch exported it.
    module : IRModule
        The model, as it was imported.
    buffers : dict of str to torch.Tensor
        By name those that the model changes, as they are now: they are its own, no longer those of
        the model of PyTorch.

    See Also
    --------
    compile : Makes it from a model.
    """

    def __init__(
        self,
        program: torch.export.ExportedProgram,
        signature: inspect.Signature,
        converters: Mapping[str, Converter] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.program = program
        converters = with_custom(converters)
        pure = decomposed(program, converters)
        self.module: IRModule = import_program(pure, converters)
        executable = compile_module(self.module, **(options or {}))
        self._main = VirtualMachine(executable)["main"]
        self._draws_numbers = draws_numbers(pure)
        inputs = pure.graph_signature.input_specs
        kept = {one.target for one in inputs if one.kind != InputKind.USER_INPUT}
        names = [name for name in changed_arguments(pure) if name in kept]
        weights = self.module.params.get("main", [])
        self.buffers = {name: one.clone() for name, one in zip(names, weights, strict=True)}
        self._signature = signature
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        specs = program.graph_signature.input_specs
        self._inputs = [one.arg for one in specs if one.kind == InputKind.USER_INPUT]
        self._outputs = [
            one.arg
            for one in program.graph_signature.output_specs
            if one.kind == OutputKind.USER_OUTPUT
        ]
        self._constants = [
            (place, one) for place, one in enumerate(self._inputs)
            if isinstance(one, ConstantArgument)
        ]  # fmt: skip
        values = {node.name: node.meta.get("val") for node in program.graph.nodes}
        self._complex = [
            place for place, one in enumerate(self._inputs) if is_complex(values.get(one.name))
        ]
        self._finish = [
            as_complex if is_complex(values.get(one.name)) else as_torch for one in self._outputs
        ]
        self._has_omitted = any(_is_omitted(one) for one in self._inputs)

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self._inputs)
        return f"<CompiledModel: {names}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the results of the model.

        Parameters
        ----------
        *args, **kwargs
            As the model takes them: tensors of the processor, of the data types and sizes that it
            was compiled for, and numbers, strings and None that are what they were then.

        Returns
        -------
        object
            Tensors of PyTorch in the nesting of the model's result.

        Raises
        ------
        TypeError
            If arguments are missing or unknown, nested in another way, or of another data type.
        ValueError
            If a size or a constant is none that the model was compiled for.
        RuntimeError
            If a tensor requires gradients, where they are enabled.
        """
        leaves = self._flat(args, kwargs)
        self._check(leaves)
        if self._complex:
            leaves = self._with_pairs(leaves)
        given = leaves
        if self._has_omitted:
            pairs = zip(leaves, self._inputs, strict=True)
            given = [leaf for leaf, one in pairs if not _is_omitted(one)]
        try:
            keys = [new_key()] if self._draws_numbers else []
            results = self._main(*given, *keys, *self.buffers.values())
        except ValueError as error:
            if problem := describe_violation(self.program, leaves):
                raise ValueError(problem) from error
            raise
        values = [
            one.value if isinstance(one, ConstantArgument) else finish(value)
            for one, finish, value in zip(self._outputs, self._finish, results, strict=True)
        ]
        return pytree.tree_unflatten(values, self._out_spec)

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if kwargs:
            args, kwargs = _normal(self._signature, args, kwargs)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise TypeError(
                f"expected arguments as in the example that the model was compiled with, "
                f"{_described(self._in_spec)}, but got {_described(spec)}"
            )
        return leaves

    def _with_pairs(self, leaves: Sequence[Any]) -> list[Any]:
        given = list(leaves)
        for place in self._complex:
            if not is_complex(given[place]):
                raise TypeError(
                    f"argument '{self._inputs[place].name}': expected a tensor of complex numbers, "
                    f"but got {getattr(given[place], 'dtype', None) or shown(given[place])}"
                )
            given[place] = real_view(given[place])
        return given

    def _check(self, leaves: Sequence[Any]) -> None:
        for place, one in self._constants:
            leaf = leaves[place]
            if type(leaf) is not type(one.value) or leaf != one.value:
                raise ValueError(
                    f"argument '{one.name}': expected {one.value!r}, which the model was compiled "
                    f"for, but got {leaf!r}"
                )
        if not _is_grad_enabled():
            return
        for leaf, one in zip(leaves, self._inputs, strict=True):
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                raise RuntimeError(
                    f"argument '{one.name}': expected a tensor that requires no gradient, as the "
                    "compiled model computes none: call it under torch.no_grad(), or detach it"
                )


def _is_omitted(one: Any) -> bool:
    """Say whether an input is no argument of the compiled function."""
    return isinstance(one, ConstantArgument) and is_omitted(one.value)


def _described(spec: pytree.TreeSpec) -> str:
    """Return a nesting of arguments, with * for each value."""
    args, kwargs = pytree.tree_unflatten([_Star()] * spec.num_leaves, spec)
    named = (f"{name}={value!r}" for name, value in kwargs.items())
    return f"({', '.join([*map(repr, args), *named])})"


class _Star:
    def __repr__(self) -> str:
        return "*"


def _normal(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments by place, where they have one, and the others in order of the signature."""
    bound = signature.bind(*args, **kwargs)
    return bound.args, dict(sorted(bound.kwargs.items()))


def compile(  # noqa: A001 (as torch.compile)
    model: Callable[..., Any],
    example_args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic: bool | Mapping[str, Any] | Sequence[Any] | None = None,
    custom_convert_map: Mapping[str, Converter] | None = None,
    **options: Any,
) -> CompiledModel:
    """Return a model of PyTorch, compiled for this processor, with the signature of the model.

    Parameters
    ----------
    model : torch.nn.Module or callable
        It is compiled in the mode that it is in: call ``model.eval()`` for inference.
    example_args : tuple
        Arguments of the model: tensors in tuples, lists and dicts, numbers, strings and None.
        Those that are not tensors are constants of the compiled model.
    kwargs : mapping of str to object, optional
        Arguments by name.
    dynamic : bool, mapping or sequence, optional
        Which sizes may differ from those of the example: none by default; with True each one that
        the model does not fix; or as `dynamic_shapes` of ``torch.export.export``.
    custom_convert_map : mapping of str to callable, optional
        As that of `from_exported_program`.
    **options
        Those of `relax_mlir.compile`.

    Returns
    -------
    CompiledModel

    Raises
    ------
    TypeError
        If the example is a tensor and no tuple.
    NotImplementedError
        As `from_exported_program`.

    Examples
    --------
    >>> import torch
    >>> class Model(torch.nn.Module):
    ...     def forward(self, x, y=None, *, scale):
    ...         return {"sum": x + y["bias"], "scaled": x * scale}
    >>> example = torch.ones(3, 4), {"bias": torch.ones(4)}
    >>> compiled = compile(Model(), example, {"scale": 2}, dynamic=True)
    >>> result = compiled(torch.ones(5, 4), y={"bias": torch.ones(4)}, scale=2)
    >>> {name: tuple(value.shape) for name, value in result.items()}
    {'sum': (5, 4), 'scaled': (5, 4)}
    """
    if not isinstance(example_args, (tuple, list)):
        raise TypeError(
            f"expected a tuple of arguments as example_args, but got {type(example_args).__name__}"
            ": write (x,) for one argument"
        )
    module = model if isinstance(model, torch.nn.Module) else _FunctionModule(model)
    signature = inspect.signature(module.forward)
    args, named = _normal(signature, tuple(example_args), dict(kwargs or {}))
    if not isinstance(dynamic, (bool, Mapping, tuple, list, type(None))):
        raise TypeError(
            "expected dynamic to be True, False, or as dynamic_shapes of torch.export.export, but "
            f"got {dynamic!r}"
        )
    shapes = _all_sizes(signature, args, named) if dynamic is True else dynamic or None
    with torch.no_grad():
        program = torch.export.export(module, args, named, dynamic_shapes=shapes)
    return CompiledModel(program, signature, custom_convert_map, options)


class _FunctionModule(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        if not callable(function):
            raise TypeError(f"expected a model or a function, but got {type(function).__name__}")
        try:
            inspect.signature(function)
        except ValueError:  # one of C has none
            self.forward = lambda *args, **kwargs: function(*args, **kwargs)
        else:
            self.forward = function


def _all_sizes(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    def sizes(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return None
        return dict.fromkeys(range(leaf.dim()), torch.export.Dim.AUTO)

    return {
        name: pytree.tree_map(sizes, value)
        for name, value in signature.bind(*args, **kwargs).arguments.items()
    }
