# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors where the Python bindings of MLIR would end the process.

MLIR takes for granted that what is destroyed is not used any more, and ends the process where it
is. Once this package is imported, the functions of ``mlir.ir`` and ``mlir.rewrite`` that destroy
or move operations raise ValueError instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlir.rewrite
from mlir import ir

from .._mlir_libs import _relax_mlir as _ext

_Base: Any = ir.Operation.__mro__[1]


def check_unused(op: Any, what: str = "erased") -> None:
    """Raise ValueError if an operation cannot be erased, as another one uses its results.

    Parameters
    ----------
    op : mlir.ir.Operation or mlir.ir.OpView
    what : str
        The action on it, for the message.

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> module = ir.Module.parse('''
    ... relax.func @f(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    ...   relax.return %0 : !relax.tensor<[4], f32>
    ... }''', default_context())
    >>> module.body.operations[0].body.blocks[0].operations[0].operation.erase()
    Traceback (most recent call last):
        ...
    ValueError: expected relax.exp without uses where it is erased, but relax.return uses it: ...
    """
    operation = op.operation
    user = _ext.user_of_erased(operation)
    if user is not None:
        raise ValueError(
            f"expected {operation.name} without uses where it is {what}, but {user.name} uses "
            f"{'it' if len(operation.results) else 'a value of it'}: replace_all_uses_with, or "
            "erase its users, first"
        )


def _checked_erase(erase: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: Any) -> None:
        check_unused(self)
        erase(self)

    return checked


def _checked_erase_op(erase_op: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: Any, op: Any) -> None:
        check_unused(op)
        erase_op(self, op)

    return checked


def _checked_erase_argument(erase_argument: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: Any, index: int) -> None:
        count = len(self.arguments)
        if not 0 <= index < count:
            raise IndexError(f"expected an argument below {count}, but got {index}")
        for use in self.arguments[index].uses:
            raise ValueError(
                f"expected argument {index} without uses where it is erased, but "
                f"{use.owner.operation.name} uses it: replace_all_uses_with first"
            )
        erase_argument(self, index)

    return checked


def _checked_move(move: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: Any, other: Any) -> None:
        operation = self.operation
        place = _parent(other.operation)
        while place is not None:
            if place == operation:
                raise ValueError(
                    f"expected a place outside of {operation.name}, but got one inside of it"
                )
            place = _parent(place)
        move(self, other)

    return checked


def _checked_detach(detach: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: Any) -> Any:
        # It would be erased with the last Python object of it.
        check_unused(self, "detached (move_before and move_after keep uses)")
        return detach(self)

    return checked


def _parent(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent if op.attached else None
    return None if parent is None else parent.operation


# For who keeps the operation, and the module of its users.
detach_unchecked: Callable[[ir.Operation], ir.Operation] = _Base.detach_from_parent

_Base.erase = _checked_erase(_Base.erase)
_Base.detach_from_parent = _checked_detach(_Base.detach_from_parent)
_Base.move_before = _checked_move(_Base.move_before)
_Base.move_after = _checked_move(_Base.move_after)
_block: Any = ir.Block
_block.erase_argument = _checked_erase_argument(_block.erase_argument)
_rewriter: Any = mlir.rewrite.PatternRewriter
_rewriter.erase_op = _checked_erase_op(_rewriter.erase_op)
