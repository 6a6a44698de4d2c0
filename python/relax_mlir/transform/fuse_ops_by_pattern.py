# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion by patterns: what a pattern matches becomes a function, for an external library."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlir import ir

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from ..core.function import make_attribute
from ..core.ir_module import IRModule
from ..core.lifetimes import key_of
from ..core.variables import defining_op
from ..dialects import relax as _ops
from ..op._signatures import operator_path
from .composite_functions import annotate
from .grouping import (
    COMPOSITE,
    PRIMITIVE,
    Group,
    Outliner,
    Signature,
    copy_operation,
    dataflow_blocks,
    is_entry,
    make_function,
    result_type,
    return_outputs,
    write_ops,
)
from .python_pass import module_pass

# Operations that add nothing to the names of functions.
_UNNAMED = ("relax.get_item", "relax.tuple")

# Returns what finds matches of a pattern; `relax_mlir.dpl`, which has passes, sets it.
make_matcher: Any = None


@dataclass(frozen=True)
class PatternCheckContext:
    """What the check of a `FusionPattern` is asked about: a match.

    Attributes
    ----------
    matched_expr : mlir.ir.Value
        What the whole pattern matched. A value stands for the operation that makes it.
    annotated_expr : mapping of str to mlir.ir.Value
        What the parts of the pattern matched that have a name, without those that took no part.
    matched_bindings : mapping of mlir.ir.Value to mlir.ir.OpView
        The values that would be computed in the function, with their operations.
    """

    matched_expr: ir.Value
    annotated_expr: Mapping[str, Any]
    matched_bindings: Mapping[ir.Value, Any]

    @functools.cached_property
    def var_usages(self) -> Mapping[ir.Value, list[ir.Value]]:
        """The values that are computed of each matched value."""
        return {
            value: [result for user in self.users(value) for result in user.results]
            for value in self.matched_bindings
        }

    @functools.cached_property
    def value_to_bound_var(self) -> Mapping[Any, ir.Value]:
        """The value of each matched operation, and of each value itself."""
        found: dict[Any, ir.Value] = {}
        for value, op in self.matched_bindings.items():
            found[value] = found[op] = value
        return found

    def users(self, value: ir.Value) -> Iterator[ir.Operation]:
        """Yield the operations that use a value."""
        for use in value.uses:
            yield use.owner.operation


Check = Callable[[PatternCheckContext], bool]


@dataclass(frozen=True)
class FusionPattern:
    """A pattern with a name, and what decides about its matches.

    Parameters
    ----------
    name : str
        The name of a codegen and that of the pattern, such as "dnnl.conv2d_relu".
    pattern : DFPattern
    annotation_patterns : mapping of str to DFPattern, optional
        Parts of the pattern by names, for `check`.
    check : callable, optional
        Says of a `PatternCheckContext` whether to take the match. By default all are taken.
    attrs_getter : callable, optional
        Returns more attributes for the function of a match, as a mapping, of what the parts with
        names matched.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> FusionPattern("my.exp", is_op("relax.exp")(wildcard())).name
    'my.exp'
    """

    name: str
    pattern: Any
    annotation_patterns: Mapping[str, Any] = field(default_factory=dict)
    check: Check | None = None
    attrs_getter: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise TypeError(f"expected the name of a pattern, but got {shown(name)}")
        if self.annotation_patterns is None:
            object.__setattr__(self, "annotation_patterns", {})
        if not isinstance(self.annotation_patterns, Mapping):
            raise TypeError(
                f"pattern '{self.name}': expected annotation_patterns by name, but got "
                f"{shown(self.annotation_patterns)}"
            )
        for what in ("check", "attrs_getter"):
            given = getattr(self, what)
            if given is not None and not callable(given):
                raise TypeError(
                    f"pattern '{self.name}': expected {what} to be a function, but got "
                    f"{shown(given)}"
                )
        make_matcher(self)  # raises TypeError where a pattern is none

    @classmethod
    def of(cls, given: Any) -> FusionPattern:
        """Return a pattern that may be given as a tuple of the arguments."""
        if isinstance(given, FusionPattern):
            return given
        if isinstance(given, tuple) and len(given) >= 2:
            return cls(*given)
        raise TypeError(
            "expected a FusionPattern, or a tuple (name, pattern, annotation_patterns, check), but "
            f"got {shown(given)}"
        )


@module_pass(opt_level=0)
class FuseOpsByPattern:
    """Make a function of each match of patterns, and call it.

    Matches are looked for in dataflow blocks. A new function is private, with the attributes
    ``Composite``, the name of the pattern, and ``Primitive``.

    Parameters
    ----------
    patterns : sequence of FusionPattern or tuple
        The first ones are matched first, and what one has matched no later one matches. A tuple is
        ``(name, pattern, annotation_patterns, check)``, of which the last two may be left out.
    bind_constants : bool
        Whether constants become part of the functions, or else arguments of their calls.
    annotate_codegen : bool
        Whether to put each new function into one with the attribute ``Codegen``, the name of the
        pattern up to its first dot, and ``global_symbol``, as `RunCodegen` needs.
        `MergeCompositeFunctions` does that for several at once.
    entry_functions : sequence of str, optional
        The functions to look at. By default all that no such pass has made.

    Raises
    ------
    ValueError
        If there is no function of a name.
    RuntimeError
        If what two matches compute would depend on each other: an operation between needs one and
        is needed by the other. ``check`` can leave such a match out.

    Notes
    -----
    A larger match of a pattern replaces smaller ones of the same pattern that are part of it.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")):
    ...         with R.dataflow():
    ...             y = R.matmul(x, w)
    ...             z = R.nn.relu(y)
    ...             R.output(z)
    ...         return z
    ... ''')
    >>> pattern = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))
    >>> fused = FuseOpsByPattern([("my.matmul_relu", pattern)])(mod)
    >>> [gvar.name for gvar in fused.get_global_vars()]
    ['main', 'fused_relax_matmul_relax_nn_relu']
    """

    def __init__(
        self,
        patterns: Iterable[FusionPattern | tuple[Any, ...]],
        bind_constants: bool = True,
        annotate_codegen: bool = False,
        entry_functions: Sequence[str] | None = None,
    ) -> None:
        if isinstance(patterns, (FusionPattern, str)) or not isinstance(patterns, Iterable):
            raise TypeError(f"expected a list of patterns, but got {shown(patterns)}")
        self._patterns = [FusionPattern.of(each) for each in patterns]
        self._bind_constants = bind_constants
        self._annotate_codegen = annotate_codegen
        self._entry_functions = list(entry_functions or ())

    def transform_module(self, mod: IRModule, ctx: Any) -> IRModule:
        """Fuse in each function, then annotate what is new."""
        matchers = [make_matcher(pattern) for pattern in self._patterns]
        outliner = _CompositeOutliner(mod.module, bind_constants=self._bind_constants)
        for function in find_functions(mod, self._entry_functions):
            for block in dataflow_blocks(function):
                outliner.outline(block, _find_groups(block, self._patterns, matchers))
        if self._annotate_codegen:
            annotate(mod, outliner.names)
        return mod


def find_functions(mod: IRModule, names: Sequence[str]) -> list[ir.Operation]:
    """Return the functions of some names; by default all that no pass has made of a group."""
    functions = mod.functions
    for name in names:
        if not isinstance(functions.get(name), _ops.FuncOp):
            known = ", ".join(key for key, op in functions.items() if is_entry(op)) or "none"
            raise ValueError(f"expected the name of a Relax function ({known}), but got {name!r}")
    chosen = [functions[name] for name in names] if names else filter(is_entry, functions.values())
    return [function.operation for function in chosen]


class _CompositeOutliner(Outliner):
    """Writes functions of matches: private ones with a dataflow block."""

    def write(self, group: Group, signature: Signature, name: str) -> None:
        """Write the function of a match."""
        result = result_type(group.outputs)
        block = make_function(self.module, name, signature, result, group.attributes, private=True)
        location = ir.Location.unknown(self.module.context)
        with ir.InsertionPoint(block):
            used = set(group.outputs)
            outputs = [value for op in group.ops for value in op.results if value in used]
            dataflow = _ops.DataflowOp([value.type for value in outputs], loc=location)
            inner = dataflow.body.blocks.append()
            with ir.InsertionPoint(inner):
                known = write_ops(group, signature, block, copy_operation)
                _ops.OutputOp([known[value] for value in outputs], loc=location)
            results = dict(zip(outputs, dataflow.operation.results, strict=True))
            return_outputs([results[value] for value in group.outputs], location)


# ---------------------------------------------------------------------------------------------
# Matches
# ---------------------------------------------------------------------------------------------


def _find_groups(
    block: ir.Block, patterns: Sequence[FusionPattern], matchers: Sequence[Any]
) -> list[Group]:
    """Return the groups of the matches in a block, those of the first pattern first."""
    graph = _Graph(block)
    taken: set[int] = set()
    found: list[Group] = []
    for rank, (pattern, matcher) in enumerate(zip(patterns, matchers, strict=True)):
        search = _Search(block, pattern, matcher, taken)
        for key in graph.candidates(matcher.names):
            if key not in taken and matcher.may_end(key, graph.names, graph.makers):
                search.visit(graph.ops[key])
        groups = search.groups(graph.place)
        for group in groups:
            group.rank = rank
            taken.update(map(key_of, group.ops))
        found += groups
    return found


class _Graph:
    """The operations of a block by their keys, for a first look that leaves out most of them.

    Attributes
    ----------
    ops : dict of int to mlir.ir.Operation
    names : dict of int to str
    makers : dict of int to list of int
        The operations that make the operands, and 0 for parameters.
    place : dict of int to int
        The position in the block.
    """

    def __init__(self, block: ir.Block) -> None:
        self.ops = {key_of(op.operation): op.operation for op in block.operations}
        self.names = {key: op.name for key, op in self.ops.items()}
        self.place = {key: index for index, key in enumerate(self.ops)}
        self.makers = {
            key: [0 if maker is None else key_of(maker) for maker in map(defining_op, op.operands)]
            for key, op in self.ops.items()
        }
        self._by_name: dict[str, list[int]] = {}
        for key, name in self.names.items():
            self._by_name.setdefault(name, []).append(key)

    def candidates(self, names: frozenset[str] | None) -> Sequence[int]:
        """Return the operations with some names, or all, in order."""
        if names is None:
            return list(self.ops)
        found = [key for name in names for key in self._by_name.get(name, ())]
        return found if len(names) == 1 else sorted(found, key=self.place.__getitem__)


class _Search:
    """The matches of a pattern in a block.

    Parameters
    ----------
    block : mlir.ir.Block
    pattern : FusionPattern
    matcher : object
        What `make_matcher` returns.
    taken : set of int
        The keys of operations that earlier patterns matched.
    """

    def __init__(
        self, block: ir.Block, pattern: FusionPattern, matcher: Any, taken: set[int]
    ) -> None:
        self._block, self._pattern, self._matcher = block, pattern, matcher
        self._taken = taken
        # The operations of each match by a number, and the number for each operation.
        self._matches: dict[int, tuple[list[ir.Operation], dict[str, Any]]] = {}
        self._owners: dict[int, int] = {}

    def _may_see(self, op: ir.Operation) -> bool:
        return bool(
            op.block == self._block
            and key_of(op) not in self._taken
            and len(op.regions) == 0
            and self._matcher.may_see(op)
        )

    def visit(self, op: ir.Operation) -> None:
        """Look for a match that ends with an operation, and take it if nothing speaks against."""
        matchings = self._matcher.match(op, self._may_see)
        if matchings is None:
            return
        ops = self._matcher.operations(op, matchings)
        if not all(map(_ext.is_pure, ops)):
            return
        named = {
            name: matchings[part]
            for name, part in self._pattern.annotation_patterns.items()
            if part in matchings
        }
        bindings = {each.results[0]: each.opview for each in ops}
        check = self._pattern.check
        context = PatternCheckContext(op.results[0], named, bindings)
        if check is not None and not check(context):
            return
        self._take(op, ops, named)

    def _take(self, root: ir.Operation, ops: list[ir.Operation], named: dict[str, Any]) -> None:
        keys = set(map(key_of, ops))
        before = {self._owners[key] for key in keys if key in self._owners}
        for number in before:
            earlier = self._matches[number][0]
            if len(earlier) > 1 and not keys.issuperset(map(key_of, earlier)):
                return  # one would be computed in two functions
        for number in before:
            del self._matches[number]
        number = key_of(root)
        self._matches[number] = ops, named
        self._owners.update(dict.fromkeys(keys, number))

    def groups(self, place: Mapping[int, int]) -> list[Group]:
        """Return the matches as groups, whose operations are in the order of their places."""
        return [
            self._group(sorted(ops, key=lambda op: place[key_of(op)]), named)
            for ops, named in self._matches.values()
        ]

    def _group(self, ops: list[ir.Operation], named: dict[str, Any]) -> Group:
        name, getter = self._pattern.name, self._pattern.attrs_getter
        attributes = {COMPOSITE: ir.StringAttr.get(name), PRIMITIVE: ir.BoolAttr.get(True)}
        more = getter(named) if getter is not None else {}
        if not isinstance(more, Mapping):
            raise TypeError(
                f"pattern '{name}': expected a mapping of attributes from attrs_getter, but got "
                f"{shown(more)}"
            )
        for key, value in more.items():
            attributes[key] = make_attribute(key, value)
        labels = [_label(op) for op in ops if op.name not in _UNNAMED]
        return Group(ops, attributes, "_".join(["fused", *labels]))


@functools.cache
def _tvm_name(name: str) -> str:
    found = operator_path(name)
    path = name if found is None else "relax." + found[0].removeprefix("R.")
    return path.replace(".", "_")


def _label(op: ir.Operation) -> str:
    """Return what an operation adds to the name of a function."""
    if "callee" in op.attributes and isinstance(op.attributes["callee"], ir.FlatSymbolRefAttr):
        return str(op.attributes["callee"].value).removeprefix("fused_")
    return _tvm_name(op.name)
