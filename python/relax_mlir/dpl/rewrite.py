# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting of what patterns match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlir import ir

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from ..core.ir_module import FreeFunction, IRModule, ModuleLike, as_module
from ..core.variables import bound_vars
from ..dialects import relax as _ops
from ..script import rewriter
from ..transform.base import Pass, verify
from ..transform.pass_context import PassContext, PassInfo
from .context import Graph, PatternContext
from .driver import Driver, ExprRule, GraphRule, Rule, TupleRule
from .inline import Replacement, check_rule, pattern_of
from .pattern import DFPattern, ExprPattern
from .structure import OrPattern, TuplePattern


class PatternMatchingRewriter(Pass):
    """Something that replaces what patterns match, again and again until nothing matches.

    It is called with a function or a module, and is a pass: it may be in a `Sequential`. What it is
    given is not changed. Matching does not look over impure operations, branches and the borders of
    dataflow blocks. In its place a replacement has to be of the type of what it replaces, or of a
    subtype. Operations that are not used any more since they were replaced are removed; the result
    is verified.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> from relax_mlir.script import relax as R
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor(("n",), "float32")):
    ...     y = R.add(x, x)
    ...     return y
    ... ''')
    >>> x = wildcard()
    >>> twice = PatternMatchingRewriter.from_pattern(
    ...     is_op("relax.add")(x, x), lambda expr, matchings: R.multiply(matchings[x], R.const(2.0))
    ... )
    >>> result = twice(func)
    >>> [op.name for op in result.op.body.blocks[0].operations]
    ['relax.constant', 'relax.multiply', 'relax.return']
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self.info = PassInfo(0, type(self).__name__)

    @staticmethod
    def from_pattern(pattern: DFPattern, func: Callable[..., Any]) -> PatternMatchingRewriter:
        """Return the rewriter of a pattern.

        Parameters
        ----------
        pattern : DFPattern
            The sides of an `OrPattern` are tried one by one: where `func` declines what the left
            one matched, the right one is. A `TuplePattern` matches a tuple that the program makes,
            and also values that might be in one.
        func : callable
            As of `rewrite_call`. For values that are not in a tuple, it gets a tuple of them.

        Returns
        -------
        PatternMatchingRewriter
        """
        if not callable(func):
            raise TypeError(f"expected a function that makes replacements, but got {shown(func)}")
        return PatternMatchingRewriter(_rules_of(pattern, func, ()))

    @staticmethod
    def from_module(mod: ModuleLike) -> PatternMatchingRewriter:
        """Return the rewriter of a rule that is written as two functions.

        Parameters
        ----------
        mod : IRModule, mlir.ir.Module or str
            It has the functions ``pattern`` and ``replacement``, with the same parameters. Shape
            variables stand for any dimensions, and literals for equal ones. Private functions are
            added where the replacement calls them.

        Returns
        -------
        PatternMatchingRewriter

        Raises
        ------
        KeyError, TypeError, ValueError
            If the functions are not there, or no rule.

        Examples
        --------
        >>> from relax_mlir.script import from_source
        >>> rule = PatternMatchingRewriter.from_module(from_source('''
        ... @I.ir_module
        ... class Rule:
        ...     @R.function
        ...     def pattern(x: R.Tensor(("n",), "float32")):
        ...         return R.exp(R.log(x))
        ...     @R.function
        ...     def replacement(x: R.Tensor(("n",), "float32")):
        ...         return x
        ... '''))
        >>> func = from_source('''
        ... @R.function
        ... def main(x: R.Tensor((4,), "float32")):
        ...     y = R.exp(R.log(x))
        ...     return R.negative(y)
        ... ''')
        >>> result = rule(func)
        >>> [op.name for op in result.op.body.blocks[0].operations]
        ['relax.negative', 'relax.return']
        """
        module = as_module(mod).clone()
        check_rule(module)
        params, pattern = pattern_of(module["pattern"].operation)
        replacement = Replacement(module, "replacement")

        def write(expr: Any, matchings: Mapping[DFPattern, Any]) -> ir.Value:
            return replacement.write([matchings[param] for param in params])

        return PatternMatchingRewriter.from_pattern(pattern, write)

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        """Return the rewriter that applies both: where both could, this one."""
        return OrRewriter(self, other)

    def __call__(self, obj: Any) -> Any:
        """Rewrite a function or a module.

        Parameters
        ----------
        obj : Function, relax.FuncOp, IRModule, mlir.ir.Module, str or BlockBuilder

        Returns
        -------
        Function or IRModule
            A copy: of a function one in a copy of its module.

        Raises
        ------
        RewriteError
            If a replacement cannot stand for what it replaces, or rewriting does not end.
        PassError
            If the result is not valid.
        """
        if isinstance(obj, FreeFunction):
            return FreeFunction(self._rewritten(obj.module, obj.name), obj.name)
        operation = getattr(obj, "operation", None)
        if isinstance(operation, ir.Operation) and isinstance(operation.opview, _ops.FuncOp):
            if operation.parent is None or operation.parent.operation.name != "builtin.module":
                raise ValueError("expected a function in a module")
            name = operation.attributes["sym_name"].value
            return FreeFunction(self._rewritten(operation.parent.operation, name), name)
        is_module = isinstance(obj, (IRModule, ir.Module))
        if isinstance(operation, ir.Operation) and not is_module:
            raise TypeError(f"expected a Relax function or a module, but got {operation.name}")
        return super().__call__(obj)

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Rewrite the functions of a module."""
        self._run(module, None, {})
        return module

    def _rewritten(self, source: IRModule | ir.Operation, name: str) -> IRModule:
        """Return a copy of a module with a function rewritten."""
        operation = source.operation
        copy = IRModule(_ext.copy_as_module(operation))
        renamed = {}
        if any(_has_values(rule) for rule in self._rules):
            renamed = dict(zip(bound_vars(operation), bound_vars(copy), strict=True))
        self._run(copy.module, name, renamed)
        return copy

    def _run(self, module: ir.Module, name: str | None, renamed: dict[ir.Value, ir.Value]) -> None:
        with module.context:
            driver = Driver(self._rules, renamed)
            for func in [op.operation for op in module.body.operations]:
                if isinstance(func.opview, _ops.FuncOp) and (
                    name in (None, func.attributes["sym_name"].value)
                ):
                    driver.run(func)
            verify(module, self.info.name)


def _has_values(rule: Rule) -> bool:
    return any(
        isinstance(pattern, ExprPattern) and isinstance(pattern.expr, ir.Value)
        for pattern in rule.patterns.patterns
    )


def _rules_of(
    pattern: DFPattern, func: Callable[..., Any], others: Sequence[DFPattern]
) -> list[Rule]:
    if isinstance(pattern, OrPattern):
        inner = (*others, pattern)
        return [
            *_rules_of(pattern.left, func, inner),
            *_rules_of(pattern.right, func, inner),
        ]
    rules: list[Rule] = [ExprRule(pattern, func, others)]
    if type(pattern) is TuplePattern and len(pattern) > 0:
        rules.append(TupleRule(pattern.fields, func, (*others, pattern)))
    return rules


class ExprPatternRewriter(PatternMatchingRewriter):
    """A rewriter of values that a pattern matches as a whole.

    Parameters
    ----------
    pattern : DFPattern
    func : callable
        As of `rewrite_call`.
    """

    def __init__(self, pattern: DFPattern, func: Callable[..., Any]) -> None:
        super().__init__([ExprRule(pattern, func)])


class OrRewriter(PatternMatchingRewriter):
    """A rewriter that applies two: where both could, the first one.

    Parameters
    ----------
    lhs, rhs : PatternMatchingRewriter
    """

    def __init__(self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter) -> None:
        for side in (lhs, rhs):
            if not isinstance(side, PatternMatchingRewriter):
                raise TypeError(f"expected a PatternMatchingRewriter, but got {side!r}")
        super().__init__([*lhs._rules, *rhs._rules])


class TupleRewriter(PatternMatchingRewriter):
    """A rewriter of values that might be fields of one tuple.

    None of them is computed of another one by way of anything that is not replaced.

    Parameters
    ----------
    patterns : sequence of DFPattern
    func : callable
        ``(values, matchings)`` to a tuple, or None.
    """

    def __init__(self, patterns: Sequence[DFPattern], func: Callable[..., Any]) -> None:
        super().__init__([TupleRule(patterns, func)])


def rewrite_call(pattern: DFPattern, rewriter: Callable[..., Any], func: Any) -> Any:
    """Replace each value that a pattern matches, until nothing matches any more.

    Parameters
    ----------
    pattern : DFPattern
    rewriter : callable
        ``rewriter(expr, matchings)`` gets the value and what each pattern matched, and returns what
        replaces it: a value, or Python values as `relax_mlir.op` takes them. The
        operators that it calls are inserted in front of the value. The value itself, an
        equal computation, or None says that nothing is to be replaced.
    func : Function, relax.FuncOp, IRModule or other module

    Returns
    -------
    Function or IRModule
        A copy; see `PatternMatchingRewriter`.

    Raises
    ------
    RewriteError
        If a replacement is not of the type of the value, or rewriting does not end.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor((2, 3), "float32")):
    ...     y = R.permute_dims(R.permute_dims(x))
    ...     return R.exp(y)
    ... ''')
    >>> x = wildcard()
    >>> transpose = is_op("relax.permute_dims")
    >>> result = rewrite_call(transpose(transpose(x)), lambda expr, found: found[x], func)
    >>> [op.name for op in result.op.body.blocks[0].operations]
    ['relax.exp', 'relax.return']
    """
    return PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)


def rewrite_bindings(ctx: PatternContext, rewriter: Callable[..., Any], func: Any) -> Any:
    """Replace values of what the patterns of a context match together, until nothing matches.

    Parameters
    ----------
    ctx : PatternContext
    rewriter : callable
        ``rewriter(matchings, bindings)`` gets what each pattern matched, and for each value of the
        part of the block the operation that computes it. It returns a mapping of values to what
        replaces them; an empty one, or None, to look for another match. The operators
        that it calls are inserted after the match, and the users of the values come later. A
        match is left out, with a `RewriteWarning`, if a value would depend on itself.
    func : Function, relax.FuncOp, IRModule or other module

    Returns
    -------
    Function or IRModule
        A copy; see `PatternMatchingRewriter`.

    Raises
    ------
    RewriteError
        If a replacement is not of the type of the value, or rewriting does not end.

    Warns
    -----
    RewriteWarning
        If a match is left out, since a value would depend on itself.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> from relax_mlir.script import relax as R
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor((4, 8), "float32"), a: R.Tensor((8, 2), "float32"),
    ...          b: R.Tensor((8, 2), "float32")):
    ...     with R.dataflow():
    ...         p = R.matmul(x, a)
    ...         q = R.matmul(x, b)
    ...         out = R.add(p, q)
    ...         R.output(out)
    ...     return out
    ... ''')
    >>> with PatternContext() as ctx:
    ...     x, a, b = wildcard(), wildcard(), wildcard()
    ...     p, q = is_op("relax.matmul")(x, a), is_op("relax.matmul")(x, b)
    >>> def rewriter(matchings, bindings):
    ...     both = R.matmul(matchings[x], R.concat([matchings[a], matchings[b]], axis=1))
    ...     parts = R.split(both, 2, axis=1)
    ...     return {matchings[p]: parts[0], matchings[q]: parts[1]}
    >>> result = rewrite_bindings(ctx, rewriter, func)
    >>> [op.name for op in result.op.body.blocks[0].operations[0].body.blocks[0].operations]
    ['relax.concat', 'relax.matmul', 'relax.split', 'relax.get_item', 'relax.get_item', \
'relax.add', 'relax.output']
    """
    return PatternMatchingRewriter([GraphRule(Graph(ctx), rewriter)])(func)


rewriter.from_module = PatternMatchingRewriter.from_module
