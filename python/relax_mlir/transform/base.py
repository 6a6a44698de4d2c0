# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes as objects, from module to module: those of MLIR, and sequences of passes."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mlir import ir
from mlir.passmanager import PassManager
from relax_runtime.near_misses import did_you_mean

from .._mlir_libs import _relax_mlir as _ext
from .._warnings import warn
from ..core.diagnostics import raise_errors
from ..core.forks import compiling, within_compilation
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..core.struct_info import StructInfoWarning
from ..core.violations import violation
from .pass_context import KNOWN_PASSES, PassContext, PassInfo, register_config_option


class PassError(ir.MLIRError):
    """A pass failed.

    Attributes
    ----------
    pass_name : str
    diagnostics : list of Violation
        The reports of MLIR: messages with their places, notes and rules.
    """

    def __init__(self, pass_name: str, error: ir.MLIRError, reason: str = "") -> None:
        self.pass_name = pass_name
        self.diagnostics = [violation(found) for found in error.error_diagnostics]
        head = f"pass {pass_name} failed" + (f": {reason}" if reason else "")
        self._text = "\n".join([head, *map(str, self.diagnostics)])
        super().__init__(self._text, error.error_diagnostics)

    def __str__(self) -> str:
        return self._text


class Pass:
    """Something that makes a module of a module.

    Attributes
    ----------
    info : PassInfo
        Level, name and required passes.

    Notes
    -----
    A subclass defines `run_on_module`. Most passes are written with `module_pass`,
    `function_pass` or `dataflowblock_pass`.
    """

    info: PassInfo

    def __call__(self, mod: ModuleLike) -> IRModule:
        """Run the pass.

        Parameters
        ----------
        mod : IRModule, mlir.ir.Module, str or BlockBuilder
            It is not changed.

        Returns
        -------
        IRModule

        Raises
        ------
        PassError
            If a pass of MLIR fails, or what a pass leaves is not valid.
        """
        given = as_module(mod)
        result = IRModule(self.execute(given.clone().module, PassContext.current()))
        result.name = given.name
        return result

    def execute(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the pass, seen by instruments, on a module that may be changed.

        Parameters
        ----------
        module : mlir.ir.Module
        ctx : PassContext

        Returns
        -------
        mlir.ir.Module
            The same one or a new one.
        """
        if not ctx.instruments:
            return self.run_on_module(module, ctx)
        if not ctx._before(IRModule(module), self.info):
            return module
        result = self.run_on_module(module, ctx)
        ctx._after(IRModule(result), self.info)
        return result

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Do what the pass does, to a module that may be changed.

        Parameters
        ----------
        module : mlir.ir.Module
        ctx : PassContext

        Returns
        -------
        mlir.ir.Module
            The same one or a new one.
        """
        raise NotImplementedError(f"{type(self).__name__}.run_on_module")

    def add_to(self, pm: PassManager) -> None:
        """Add the pass to a pipeline of MLIR on modules.

        Parameters
        ----------
        pm : mlir.passmanager.PassManager
            Reports an exception of the pass as an error of MLIR, with the traceback.

        Examples
        --------
        >>> from relax_mlir import default_context
        >>> from relax_mlir.transform import LegalizeOps, Normalize
        >>> pm = PassManager("builtin.module", default_context())
        >>> for pass_ in (Normalize(), LegalizeOps()):
        ...     pass_.add_to(pm)
        >>> print(pm)
        builtin.module(relax.func(relax-normalize),relax-legalize-ops)
        """

        @within_compilation
        def run(op: ir.Operation, external: Any) -> None:
            try:
                # The pipeline owns the module, so it gets the contents of another one.
                module = _ext.copy_as_module(op)
                assign(op, self.run_on_module(module, PassContext.current()))
            except Exception:
                # An exception that leaves `pm.run` would leave the context at work for good.
                op.location.emit_error(f"pass {self.info.name} failed\n{traceback.format_exc()}")
                external.signal_pass_failure()

        pm.add(run, self.info.name)

    def __repr__(self) -> str:
        return f"{self.info.name}()"


# Functions that make a pass, by its name.
_passes: dict[str, Callable[[], Pass]] = {}


def register_pass(name: str, make: Callable[[], Pass]) -> None:
    """Make a pass known by its name, for passes that require it."""
    _passes[name] = make
    KNOWN_PASSES.add(name)


def get_pass(name: str) -> Callable[[], Pass]:
    """Return the function that makes the pass of a name.

    Parameters
    ----------
    name : str
        The name of a pass of this project, in TVM, or of a pass that was written in Python.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> get_pass("CallTIRRewrite")().pipeline()
    'relax.func(relax-lower-call-tir)'
    """
    known = _passes.get(name)
    if known is None:
        hint = did_you_mean(name, _passes)
        raise ValueError(f"expected the name of a pass, but got {name!r}{hint}")
    return known


def assign(target: ir.Operation, source: ir.Module) -> None:
    """Give a module the contents of another one, which is not used any more."""
    block = target.regions[0].blocks[0]
    for op in list(block.operations):
        op.operation.erase()
    for op in list(source.body.operations):
        block.append(op)
    given = dict(source.operation.attributes.items())
    for name in [name for name in target.attributes if name not in given]:
        del target.attributes[name]
    for name, attr in given.items():
        target.attributes[name] = attr


# ---------------------------------------------------------------------------------------------
# Passes of MLIR
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of a pass of MLIR.

    Attributes
    ----------
    name, keyword : str
        The name in a pipeline, and in Python.
    choices : tuple of str
        The values that it can have; empty where there is no such list.
    default : object
        None where the pass decides.
    """

    name: str
    keyword: str
    choices: tuple[str, ...] = ()
    default: Any = None

    def check(self, owner: str, value: Any) -> None:
        """Raise ValueError if this is not a value of the option; none is a number below 0."""
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if isinstance(one, int) and one < 0:
                raise ValueError(f"{owner}: expected {self.keyword} to be 0 or more, but got {one}")
        for one in values if self.choices else ():
            if one not in self.choices:
                raise ValueError(
                    f"{owner}: expected {self.keyword}, one of {', '.join(self.choices)}, but got "
                    f"{one!r}"
                )

    def text(self, value: Any) -> str:
        """Return the option as a pipeline has it."""
        if isinstance(value, (list, tuple)):
            return f"{self.name}={','.join(map(_option_text, value))}"
        return f"{self.name}={_option_text(value)}"


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if text.isidentifier() or not isinstance(value, str) else f'"{text}"'


class MLIRPass(Pass):
    """A pass of MLIR.

    Each pass of this project is a subclass, with its options as keyword arguments. Any other pass
    of MLIR, or pipeline of them, is made from its text.

    Parameters
    ----------
    pipeline : str
        The text between the parentheses of ``builtin.module(...)`` in a pipeline.
    name : str, optional
        By default the text.
    opt_level : int

    Raises
    ------
    TypeError
        If an option is given beside the text.
    ValueError
        If the value of an option is not one of its values.

    Examples
    --------
    >>> from relax_mlir.transform import MLIRPass, VMShapeLower
    >>> MLIRPass("func.func(canonicalize,cse)", "CleanKernels")
    CleanKernels()
    >>> VMShapeLower(checks="necessary").pipeline()
    'relax.func(relax-lower-shapes{checks=necessary})'
    """

    argument: ClassVar[str] = ""
    anchor: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()
    #: The name that TVM has for the pass, where it has one of its own.
    tvm_name: ClassVar[str] = ""

    def __init__(
        self,
        pipeline: str | None = None,
        name: str | None = None,
        opt_level: int = 0,
        **values: Any,
    ) -> None:
        if (pipeline is None) != bool(self.argument):
            raise TypeError("expected the text of a pipeline")
        known = {option.keyword for option in self.options}
        for keyword in values:
            if keyword not in known:
                raise TypeError(
                    f"{name or pipeline or self.name()}: expected options in the text of the "
                    f"pipeline, such as 'canonicalize{{max-iterations=5}}', but got {keyword!r}"
                )
        self._pipeline = pipeline
        self._values = {keyword: v for keyword, v in values.items() if v is not None}
        self.info = PassInfo(opt_level, name or pipeline or self.name())
        KNOWN_PASSES.add(self.info.name)
        for option in self.options:
            if option.keyword in self._values:
                option.check(self.info.name, self._values[option.keyword])

    @classmethod
    def name(cls) -> str:
        """Return the name of a pass of this project: TVM's, or else its own."""
        return cls.tvm_name or cls.__name__

    @classmethod
    def register(cls) -> None:
        """Make the options of the pass known to the configuration."""
        for option in cls.options:
            type_ = str if option.choices else type(option.default)
            help_ = f"the option '{option.name}' of {cls.name()}"
            register_config_option(
                f"relax.{cls.name()}.{option.keyword}",
                object if option.default is None else type_,
                help_,
            )

    def pipeline(self, ctx: PassContext | None = None) -> str:
        """Return the pass as the text of a pipeline on a module.

        Parameters
        ----------
        ctx : PassContext, optional
            Its configuration gives the options that were not stated.
        """
        if self._pipeline is not None:
            return self._pipeline
        config = (ctx or PassContext.current()).config
        texts = []
        for option in self.options:
            default = config.get(f"relax.{self.name()}.{option.keyword}", option.default)
            value = self._values.get(option.keyword, default)
            if value is not None:
                option.check(self.info.name, value)
                texts.append(option.text(value))
        text = self.argument + (f"{{{' '.join(texts)}}}" if texts else "")
        return text if self.anchor in ("", "builtin.module") else f"{self.anchor}({text})"

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the pass of MLIR."""
        run_pipeline(self.pipeline(ctx), module, self.info.name)
        return module

    def add_to(self, pm: PassManager) -> None:
        """Add the pass to a pipeline of MLIR on modules."""
        pm.add(self.pipeline())

    def __repr__(self) -> str:
        values = ", ".join(f"{keyword}={value!r}" for keyword, value in self._values.items())
        return f"{self.info.name}({values})"


def run_pipeline(pipeline: str, module: ir.Module, name: str) -> None:
    """Run a pipeline on a module, which it changes.

    Errors become a PassError, warnings are warnings of Python.
    """
    found: list[str] = []

    def record(diagnostic: ir.Diagnostic) -> bool:
        if diagnostic.severity != ir.DiagnosticSeverity.WARNING:
            return False
        found.append(str(violation(diagnostic)))
        return True

    with module.context, module.context.attach_diagnostic_handler(record):
        pm = _parsed(pipeline)
        try:
            with raise_errors(module.context), compiling():
                pm.run(module.operation)
        except ir.MLIRError as error:
            raise PassError(name, error) from None
    for message in found:
        warn(message, StructInfoWarning)


def _parsed(pipeline: str) -> PassManager:
    try:
        pm = PassManager.parse(f"builtin.module({pipeline})")
    except ValueError as error:
        reason = str(error).strip().splitlines()[0].rpartition("error: ")[2]
        raise ValueError(
            f"expected the text of a pipeline, but got {pipeline!r}: {reason}"
        ) from None
    _ext.keep_signatures(pm)
    return pm


def verify(module: ir.Module, name: str) -> None:
    """Check what a pass in Python leaves."""
    try:
        with raise_errors(module.context):
            module.operation.verify()
    except ir.MLIRError as error:
        raise PassError(name, error, "what it leaves is not valid") from None


# ---------------------------------------------------------------------------------------------
# Sequences
# ---------------------------------------------------------------------------------------------


class Sequential(Pass):
    """Passes one after the other.

    Parameters
    ----------
    passes : sequence of Pass
        They may be sequences themselves.
    opt_level : int
    name : str
    required : sequence of str
        The names of passes to run before, where this is itself part of a sequence.

    Attributes
    ----------
    passes : tuple of Pass

    Notes
    -----
    `PassContext` decides which passes run. Before a pass run those that it requires.

    Examples
    --------
    >>> from relax_mlir.transform import DeadCodeElimination, LegalizeOps, Normalize
    >>> lower = Sequential([Normalize(), Sequential([DeadCodeElimination(), LegalizeOps()])])
    >>> mod = lower('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> "relax.call_tir" in str(mod)
    True
    """

    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(opt_level, int):
            raise TypeError(f"{name}: expected an int as opt_level, but got {opt_level!r}")
        if passes is not None and not isinstance(passes, Iterable):
            raise TypeError(f"{name}: expected a list of passes, but got {passes!r}")
        self.passes = tuple(passes or ())
        for pass_ in self.passes:
            if not isinstance(pass_, Pass):
                raise TypeError(f"{name}: expected passes, but got {pass_!r}{_call_it(pass_)}")
        self.info = PassInfo(opt_level, name, tuple(required or ()))

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the passes in order."""
        for pass_ in self._enabled(ctx):
            module = pass_.execute(module, ctx)
        return module

    def _enabled(self, ctx: PassContext) -> Iterator[Pass]:
        for pass_ in self.passes:
            if ctx.pass_enabled(pass_.info):
                for name in pass_.info.required:
                    yield get_pass(name)()
                yield pass_

    def add_to(self, pm: PassManager) -> None:
        """Add the passes to a pipeline of MLIR on modules."""
        for pass_ in self._enabled(PassContext.current()):
            pass_.add_to(pm)

    def __repr__(self) -> str:
        return f"Sequential([{', '.join(map(repr, self.passes))}], name={self.info.name!r})"


def _call_it(pass_: Any) -> str:
    if isinstance(pass_, type) and issubclass(pass_, Pass):
        return f": write {pass_.__name__}()"
    return ""
