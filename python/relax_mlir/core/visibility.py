# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values are used where they are visible: in their own function, and in or below their block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

# Operations whose bodies see nothing of what is around them.
_ISOLATED = ("relax.func", "func.func", "builtin.module")
_HINTS = {
    "relax.dataflow": "a dataflow block: emit_output makes it visible after it",
    "relax.if": "a branch: what the branch returns is visible after it",
    "relax.closure": "a closure: what it returns is the value of a call of it",
}


def require_visible(what: str, operands: Sequence[Any], block: ir.Block) -> None:
    """Raise ValueError if a value is not visible at the end of a block.

    Parameters
    ----------
    what : str
        The user of the values, for the message.
    operands : sequence
        Those that are no values are left out; lists are looked into.
    block : mlir.ir.Block
    """
    for operand in operands:
        if isinstance(operand, list):
            require_visible(what, operand, block)
        elif isinstance(operand, ir.Value):
            home = _home(operand)
            if home != block and not _is_around(home, block):
                raise ValueError(f"{what}: {_misuse(operand, home, block)}")


def _home(value: ir.Value) -> ir.Block:
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def _is_around(home: ir.Block, block: ir.Block) -> bool:
    """Say whether a block is around another one, or may be once that is inserted somewhere."""
    op = block.owner.operation
    while op.name not in _ISOLATED:
        parent = op.parent if op.attached else None
        if parent is None:
            return True
        if op.block == home:
            return True
        op = parent.operation
    return False


def _function(block: ir.Block) -> ir.Operation:
    op: ir.Operation = block.owner.operation
    while op.name not in _ISOLATED and op.attached and op.parent is not None:
        op = op.parent.operation
    return op


def _misuse(value: ir.Value, home: ir.Block, block: ir.Block) -> str:
    owner, function = home.owner.operation, _function(home)
    if function != _function(block):
        name = function.attributes["sym_name"].value if "sym_name" in function.attributes else "?"
        return (
            "expected values of the function that is being written, but got "
            f"{_described(value)} of function '{name}'"
        )
    place = _HINTS.get(owner.name, f"{owner.name}, which ends before")
    return f"expected a value that is visible here, but {_described(value)} is bound in {place}"


def _described(value: ir.Value) -> str:
    """Return the name of a value, or what makes it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return f"parameter {value.get_name(use_local_scope=True).removeprefix('%')!r}"
    if owner.location.is_a_name():
        return f"'{owner.location.name_str}'"
    return f"a result of {owner.operation.name}"
