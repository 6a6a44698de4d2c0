# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules of differentiation, by the names of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mlir import ir

from ...core.dtypes import dtype_name

#: The adjoint of a value: a tensor, a list for the fields of a tuple, or None for zero.
Adjoint: TypeAlias = Any

#: What an operand gets: an adjoint, or a function that writes it where it is needed.
Contribution: TypeAlias = Any

Rule: TypeAlias = "Callable[[Forward, Any], Sequence[Contribution]]"


@dataclass(frozen=True)
class Forward:
    """An operation whose gradient is written, with the values that it has there.

    Attributes
    ----------
    operation : mlir.ir.Operation
    operands : list of mlir.ir.Value
    result : mlir.ir.Value
    emit_te : callable
        Calls a function of tensor expressions as a kernel, as `BlockBuilder.call_te` does.
    """

    operation: ir.Operation
    operands: list[Any]
    result: Any
    emit_te: Callable[..., Any]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return the value of an attribute; `default` where the operation has none."""
        attributes = self.operation.attributes
        return value_of(attributes[name]) if name in attributes else default

    def axis(self, name: str = "axis", default: int = 0) -> int:
        """Return an attribute that counts the dimensions of the first operand, from 0 on."""
        axis: int = self.attribute(name, default)
        return axis % int(self.operands[0].type.ndim)


def value_of(attribute: Any) -> Any:
    r"""Return an attribute as a value of Python.

    Parameters
    ----------
    attribute : mlir.ir.Attribute
        A number, a string, a type, or an array or dictionary of them.

    Examples
    --------
    >>> from mlir import ir
    >>> with ir.Context():
    ...     value_of(ir.Attribute.parse("{names = [\"a\", 2.5]}"))
    {'names': ['a', 2.5]}
    """
    if isinstance(attribute, ir.TypeAttr):
        return dtype_name(attribute.value)
    if isinstance(attribute, ir.DictAttr):
        return {item.name: value_of(item.attr) for item in attribute}
    if isinstance(attribute, ir.ArrayAttr):
        return [value_of(each) for each in attribute]
    if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseF64ArrayAttr)):
        return list(attribute)
    return getattr(attribute, "value", attribute)


RULES: dict[str, Rule] = {}

#: Operations whose result does not change with small changes of the operands, and why.
NO_GRADIENT: dict[str, str] = {}


def gradient(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of operators, under their names without the dialect."""

    def register(rule: Rule) -> Rule:
        for name in names:
            register_gradient(f"relax.{name}", rule)
        return rule

    return register


def register_gradient(name: str, rule: Rule) -> None:
    """Register the rule of differentiation of an operation, or replace it.

    Parameters
    ----------
    name : str
        The name of the operation, such as "relax.exp".
    rule : callable
        ``rule(forward, adjoint)`` gets a `Forward` and the gradient of the result, writes
        operations, and returns for each operand its gradient: a value, None for zero, or a
        function that writes it, which is called if it is needed. For a tuple, a gradient is a list
        of those of its fields.

    Raises
    ------
    ValueError
        If the name has no dialect.

    Examples
    --------
    >>> from relax_mlir import op
    >>> from relax_mlir.transform.gradient import RULES, register_gradient
    >>> register_gradient("relax.exp", lambda forward, adjoint: [adjoint * forward.result])
    >>> "relax.exp" in RULES
    True
    """
    if "." not in name:
        raise ValueError(
            f"expected the name of an operation, such as 'relax.exp', but got {name!r}"
        )
    RULES[name] = rule


def no_gradient(reason: str, names: str) -> None:
    """Declare operators, by names separated by blanks, to have no gradient."""
    NO_GRADIENT.update({f"relax.{name}": reason for name in names.split()})


#: Gradients of kernels, by the attribute ``te_grad_name`` of their calls.
TE_GRADIENTS: dict[str, Callable[..., Any]] = {}


def register_te_gradient(te_grad_name: str, te_grad_func: Any = None) -> Any:
    """Register the gradient of kernels that `BlockBuilder.call_te_with_grad` calls.

    Parameters
    ----------
    te_grad_name : str
        The name that the calls state.
    te_grad_func : callable, optional
        A function of tensor expressions that takes the gradient of the result, then the arguments
        of the call, and the `te_grad_kwargs` of the call by name. It returns the gradient of each
        argument. Without it, the result is a decorator.

    Returns
    -------
    callable
        The function.

    Examples
    --------
    >>> from relax_mlir import te
    >>> @register_te_gradient("twice_grad")
    ... def twice_grad(gradient, x):
    ...     return te.compute(x.shape, lambda *i: gradient(*i) * 2.0)
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        TE_GRADIENTS[te_grad_name] = function
        return function

    return register if te_grad_func is None else register(te_grad_func)


def te_gradient_arguments(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by name that a call states for the gradient of its kernel."""
    found: dict[str, Any] = attributes.get("te_grad_kwargs") or {}
    return found
