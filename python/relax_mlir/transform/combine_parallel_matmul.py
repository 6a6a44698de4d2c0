# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Horizontal fusion: products that share their left matrix become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlir import ir

from .. import op
from .._mlir_libs import _relax_mlir as _ext
from ..core.ir import TensorStructInfo
from ..core.variables import blocks_of, defining_op, walk
from ..op import get_item
from ..op._ops_gen import ELEMENTWISE
from .fold_constant import is_computed_of_constants
from .python_pass import function_pass

Check = Callable[[ir.Value, list[ir.Value], list[ir.Value], Mapping[ir.Value, ir.Operation]], bool]

# Activations that may follow in all branches.
_ACTIVATIONS: dict[str, Callable[[Any], ir.Value]] = {
    "relax.relu": op.nn.relu,
    "relax.gelu": op.nn.gelu,
    "relax.gelu_tanh": op.nn.gelu_tanh,
    "relax.silu": op.nn.silu,
}


@function_pass(opt_level=0)
class CombineParallelMatmul:
    """Compute products that share their left matrix as one, and split the result.

    ``matmul(x, a)`` and ``matmul(x, b)`` become the parts of ``matmul(x, concat([a, b]))``. A bias
    that is added and an activation (`relu`, `gelu`, `gelu_tanh`, `silu`) are part of it where all
    products are followed by the same.

    Right matrices have the same rank, data type and batch dimensions. One of them may have an
    unknown number of columns, and comes last then. Right matrices and biases have to be known
    before the first of the products; what they are made of is moved there where it is pure.

    Parameters
    ----------
    check : callable, optional
        ``check(x, rights, biases, bindings)`` says whether to combine: the left matrix, the right
        matrices and the biases as values, and the operation that makes each value of the function.
        Without, all that can be combined is.
    worthwhile : bool
        Whether to combine only what makes a program faster, as `relax_mlir.compile` does: right
        matrices and biases are put together when constants are folded, and no operation on the
        elements of a product is left that would have been a part of its kernel. Products are
        combined with those that have the same after them.

    Examples
    --------
    >>> from relax_mlir.transform import CombineParallelMatmul
    >>> mod = CombineParallelMatmul()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %a: !relax.tensor<[4, 3], f32>,
    ...                  %b: !relax.tensor<[4, 5], f32>) -> !relax.tensor<[n, 5], f32> {
    ...   %0 = relax.matmul %x, %a : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 3], f32>) -> !relax.tensor<[n, 3], f32>
    ...   %1 = relax.matmul %x, %b : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 5], f32>) -> !relax.tensor<[n, 5], f32>
    ...   relax.return %1 : !relax.tensor<[n, 5], f32>
    ... }''')
    >>> str(mod).count("relax.matmul")
    1
    """  # noqa: E501 (the lines of MLIR)

    def __init__(self, check: Check | None = None, *, worthwhile: bool = False) -> None:
        self._check = check
        self._worthwhile = worthwhile

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Combine the products of each block of a function."""
        combine_parallel_matmuls(func.operation, self._check, worthwhile=self._worthwhile)
        return func


def combine_parallel_matmuls(
    function: ir.Operation, check: Check | None = None, *, worthwhile: bool = False
) -> None:
    """Combine the products of each block of a function, which is changed.

    Parameters
    ----------
    function : mlir.ir.Operation
    check : callable, optional
    worthwhile : bool
        See `CombineParallelMatmul`.
    """
    # Combined products may be operands of later ones.
    for block in [block for each in walk(function) for block in blocks_of(each)]:
        _combine_block(block, check, worthwhile)


@dataclass
class _Branch:
    """A product and what follows it."""

    matmul: ir.Operation
    right: ir.Value
    bias: ir.Value | None = None
    biased: ir.Operation | None = None
    activation: ir.Operation | None = None
    hoisted: list[ir.Operation] = field(default_factory=list)

    def last(self, with_bias: bool, with_activation: bool) -> ir.Operation:
        """Return the operation that makes the result where so much is combined."""
        if with_activation and self.activation is not None:
            return self.activation
        return self.biased if with_bias and self.biased is not None else self.matmul


def _dims(value: ir.Value) -> list[Any] | None:
    """Return the dimensions of a tensor whose data type is known; None for anything else."""
    type_ = value.type
    if not isinstance(type_, TensorStructInfo) or type_.shape is None or type_.dtype is None:
        return None
    return list(type_.shape)


def _only_user(operation: ir.Operation) -> ir.Operation | None:
    """Return the operation of the same block that alone uses a result, in one place."""
    uses = list(operation.results[0].uses)
    if len(uses) != 1 or uses[0].owner.operation.block != operation.block:
        return None
    return uses[0].owner.operation


def _find_branch(matmul: ir.Operation) -> _Branch | None:
    left, right = matmul.operands
    rows, columns, made = (_dims(value) for value in (left, right, matmul.results[0]))
    if rows is None or columns is None or made is None or len(columns) < 2:
        return None
    branch = _Branch(matmul, right)
    user = _only_user(matmul)
    if user is not None and user.name == "relax.add":
        biases = [value for value in user.operands if value != matmul.results[0]]
        dims = _dims(biases[0]) if len(biases) == 1 else None
        if (
            dims
            and len(dims) <= len(made)
            and dims[-1] == columns[-1]
            and user.results[0].type == matmul.results[0].type
        ):
            branch.bias, branch.biased = biases[0], user
            user = _only_user(user)
    # A product of one branch may be the bias of another one: who takes part decides later.
    if user is not None and user.name in _ACTIVATIONS:
        branch.activation = user
    return branch


def _hoistable(
    value: ir.Value, before: ir.Operation, positions: dict[ir.Operation, int]
) -> list[ir.Operation] | None:
    """Return the operations to move before another one for a value to be known there, in order.

    None where that is not possible.
    """
    found: dict[ir.Operation, None] = {}
    limit = positions[before]

    def visit(value: ir.Value) -> bool:
        owner = defining_op(value)
        if owner is None or positions.get(owner, -1) < limit or owner in found:
            return True
        if owner == before or len(owner.regions) or not _ext.is_pure(owner):
            return False
        if not all(visit(operand) for operand in owner.operands):
            return False
        found[owner] = None
        return True

    return list(found) if visit(value) else None


def _groups(block: ir.Block) -> Iterator[list[_Branch]]:
    """Yield the products of a block that can be combined, in order."""
    found: dict[Any, list[_Branch]] = {}
    for operation in block.operations:
        if operation.operation.name != "relax.matmul":
            continue
        branch = _find_branch(operation.operation)
        if branch is None:
            continue
        columns = _dims(branch.right)
        assert columns is not None
        key = (
            operation.operation.operands[0],
            branch.right.type.dtype,
            operation.operation.results[0].type.dtype,
            len(columns),
            tuple(str(dim) for dim in columns[:-1]),
        )
        found.setdefault(key, []).append(branch)
    yield from (branches for branches in found.values() if len(branches) > 1)


def _combine_block(block: ir.Block, check: Check | None, worthwhile: bool) -> None:
    for branches in list(_groups(block)):
        # Operations after one may have become part of others.
        found = [_find_branch(branch.matmul) for branch in branches]
        fresh = [branch for branch in found if branch]
        for group in _worthwhile_groups(fresh) if worthwhile else [fresh]:
            positions = {operation.operation: i for i, operation in enumerate(block.operations)}
            _combine(group, positions, check)


def _worthwhile_groups(branches: Iterable[_Branch]) -> Iterable[list[_Branch]]:
    """Return the branches of which all becomes one product that is better than many."""
    groups: dict[Any, list[_Branch]] = {}
    for branch in branches:
        if _is_worthwhile(branch):
            key = _bias_key(branch), branch.activation and branch.activation.name
            groups.setdefault(key, []).append(branch)
    return groups.values()


def _is_worthwhile(branch: _Branch) -> bool:
    # A concatenation when the program runs would copy each weight for one use.
    given = [branch.right] if branch.bias is None else [branch.right, branch.bias]
    if not all(map(is_computed_of_constants, given)) or _is_dynamic(branch):
        return False
    # Elementwise operations that follow are computed in the kernel of a product, but not after
    # the split.
    made = branch.last(with_bias=True, with_activation=True).results[0]
    return all(use.owner.operation.name not in ELEMENTWISE for use in made.uses)


def _bias_key(branch: _Branch) -> Any:
    """Return the key that has to be the same in all biases."""
    if branch.bias is None:
        return None
    dims = _dims(branch.bias)
    assert dims is not None
    return branch.bias.type.dtype, len(dims), tuple(str(dim) for dim in dims[:-1])


def _is_dynamic(branch: _Branch) -> bool:
    dims = _dims(branch.right)
    assert dims is not None
    return dims[-1].value is None


def _known_before(
    branches: Iterable[_Branch],
    first: ir.Operation,
    positions: dict[ir.Operation, int],
    with_bias: bool,
) -> list[_Branch]:
    """Return the branches whose operands are, or can be, known before the first of them."""
    known = []
    for branch in branches:
        moved = _hoistable(branch.right, first, positions)
        if moved is not None and with_bias and branch.bias is not None:
            more = _hoistable(branch.bias, first, positions)
            moved = None if more is None else list(dict.fromkeys([*moved, *more]))
        if moved is not None:
            branch.hoisted = moved
            known.append(branch)
    return known


@dataclass
class _Plan:
    """Branches that become one product, and what of them does."""

    branches: list[_Branch]
    with_bias: bool
    with_activation: bool

    @property
    def rights(self) -> list[ir.Value]:
        """The right matrices."""
        return [branch.right for branch in self.branches]

    @property
    def biases(self) -> list[ir.Value]:
        """The biases that are added; none where they stay in the branches."""
        given = [branch.bias for branch in self.branches if branch.bias is not None]
        return given if self.with_bias else []

    @property
    def results(self) -> list[ir.Operation]:
        """The operations that the parts of the split replace."""
        return [branch.last(self.with_bias, self.with_activation) for branch in self.branches]

    def write(self, left: ir.Value) -> ir.Value:
        """Write the product and return the tuple of its parts."""
        out_dtype = self.branches[0].matmul.results[0].type.dtype
        made = op.matmul(left, _joined(self.rights), out_dtype)
        if self.with_bias:
            made = op.add(made, _joined(self.biases))
        activation = self.branches[0].activation
        if self.with_activation and activation is not None:
            made = _ACTIVATIONS[activation.name](made)
        dims = [_dims(right) for right in self.rights[:-1]]
        sizes = [known[-1].value for known in dims if known]
        begins = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return op.split(made, begins, axis=made.type.ndim - 1)


def _joined(tensors: list[ir.Value]) -> ir.Value:
    """Return tensors that are put together along the last axis."""
    return op.concat(tensors, axis=tensors[0].type.ndim - 1)


def _plan(branches: list[_Branch], positions: dict[ir.Operation, int]) -> _Plan:
    # Epilogues are combined where they are the same everywhere, so that no product is left out.
    bias_keys = {_bias_key(branch) for branch in branches}
    with_bias = len(bias_keys) == 1 and None not in bias_keys
    names = {branch.activation and branch.activation.name for branch in branches}
    is_plain = all(branch.biased is None for branch in branches)
    with_activation = len(names) == 1 and None not in names and (with_bias or is_plain)
    first = branches[0].matmul
    known = _known_before(branches, first, positions, with_bias)
    if with_bias and len(known) < len(branches):
        with_bias = with_activation = False
        known = _known_before(branches, first, positions, with_bias)
    # All parts but the last one have a known size.
    static = [branch for branch in known if not _is_dynamic(branch)]
    last = [branch for branch in known if _is_dynamic(branch)][:1]
    return _Plan(static + last, with_bias, with_activation)


def _bindings(operation: ir.Operation) -> dict[ir.Value, ir.Operation]:
    """Return the definition of each value of the function that an operation is in."""
    while operation.name != "relax.func":
        operation = operation.parent.operation
    return {value: inner for inner in walk(operation) for value in inner.results}


def _combine(
    branches: list[_Branch],
    positions: dict[ir.Operation, int],
    check: Check | None,
) -> None:
    if len(branches) < 2:
        return
    plan = _plan(branches, positions)
    if len(plan.branches) < 2:
        return
    old = plan.results
    first = branches[0].matmul
    left = first.operands[0]
    if check is not None and not check(left, plan.rights, plan.biases, _bindings(first)):
        return
    hoisted = {moved for branch in plan.branches for moved in branch.hoisted}
    for moved in sorted(hoisted, key=lambda operation: positions[operation]):
        moved.move_before(first)
    with ir.InsertionPoint(first), first.location:
        parts = plan.write(left)
    for i, operation in enumerate(old):
        with ir.InsertionPoint(operation), operation.location:
            part = get_item(parts, i)
        operation.results[0].replace_all_uses_with(part)
    for branch in plan.branches:
        for made in (branch.activation, branch.biased, branch.matmul):
            if made is not None and not list(made.results[0].uses):
                made.erase()
