# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to something that runs."""

from __future__ import annotations

import os
from pathlib import Path

from mlir import ir
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager

from ._mlir_libs import RUNTIME_LIBRARY
from ._mlir_libs import _relax_mlir as _ext
from .diagnostics import raise_errors
from .dialects import relax as _ops
from .ir_module import ModuleLike, as_module
from .vdevice import GLOBAL_INFO

TARGETS = ("llvm",)
CHECKS = ("all", "necessary")


def phases() -> list[tuple[str, str]]:
    """Return the phases of compilation in order: name, and what it does.

    The phase `name` is the pipeline ``relax-phase-<name>``, here and in ``relax-opt``.

    Examples
    --------
    >>> phases()[0][0]
    'normalize'
    """
    return _ext.phases()


class Executable:
    """A compiled module, for `VirtualMachine`.

    Attributes
    ----------
    engine : mlir.execution_engine.ExecutionEngine
        Holds the machine code and the constants.
    struct_infos : dict of str to str
        The functions that can be called, with their StructInfo at run time.
    """

    def __init__(self, engine: ExecutionEngine, struct_infos: dict[str, str]) -> None:
        self.engine = engine
        self.struct_infos = struct_infos

    @property
    def function_names(self) -> tuple[str, ...]:
        """The functions that can be called."""
        return tuple(self.struct_infos)


def _copy(mod: ModuleLike) -> ir.Module:
    return as_module(mod).clone().module


def _struct_infos(module: ir.Module) -> dict[str, str]:
    """Return the StructInfo at run time of each public function."""
    struct_infos = {}
    devices = module.operation.attributes.get(GLOBAL_INFO)
    for op in module.body.operations:
        if isinstance(op, _ops.FuncOp) and "sym_visibility" not in op.attributes:
            type_ = _ext.function_struct_info(op.operation)
            assert type_ is not None
            struct_infos[op.sym_name.value] = _ext.runtime_struct_info(type_, devices)
    return struct_infos


class _Dump:
    """Writes the module before the first phase and after each."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def __call__(self, name: str, module: ir.Module) -> None:
        path = self.folder / f"{self.count:02}-{name}.mlir"
        path.write_text(str(module), encoding="utf-8")
        self.count += 1


def _run_phase(name: str, module: ir.Module, checks: str) -> None:
    """Run a phase as a whole, or pass by pass where somebody watches."""
    from .transform import PassContext, phase  # which needs this module

    context = PassContext.current()
    if context.instruments:
        phase(name, checks=checks).execute(module, context)
    else:
        pipeline = f"builtin.module(relax-phase-{name}{{checks={checks}}})"
        with raise_errors(module.context):
            PassManager.parse(pipeline).run(module.operation)


def compile(  # noqa: A001 (the name TVM uses)
    mod: ModuleLike,
    target: str = "llvm",
    *,
    checks: str = "all",
    dump_phases: str | os.PathLike[str] | None = None,
    opt_level: int = 3,
) -> Executable:
    """Compile a module to machine code.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
        The program; text of MLIR as str. It is not changed.
    target : str
        "llvm": the processor of this machine.
    checks : str
        Which checks of structural information the program makes when it runs. "all": of arguments,
        casts, results of packed functions and operands of operators. "necessary": the caller is
        trusted, see the notes.
    dump_phases : path, optional
        A folder where the module is written as it was given, to ``00-input.mlir``, and as it is
        after each phase. ``relax-opt`` reads these files.
    opt_level : int
        How much LLVM optimizes, from 0 to 3.

    Returns
    -------
    Executable

    Raises
    ------
    ValueError
        If the target, the checks or the level are not known.
    mlir.ir.MLIRError
        If the module is not valid, or uses what the target does not support.

    Notes
    -----
    The instruments of the current `relax_mlir.transform.PassContext` see each pass.

    With ``checks="necessary"`` a program that fails no check gives the same results, and any other
    may give wrong ones or read memory that is not its own. What stays is: the number of
    arguments; before a value is first read (by a kernel, as a condition, as a shape, for its
    dimensions or to be called), that it is of the kind and rank that its type says, and a tensor in
    host memory; dimensions that bind shape variables; divisors of dimensions that are 0; sizes of
    tuples where a field is taken; allocations. What goes is the comparison of data types,
    devices, dimensions, primitive values and closures, and any check of values that only pass
    through.

    Examples
    --------
    >>> from relax_mlir import VirtualMachine
    >>> ex = compile('''
    ... relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
    ...   relax.return %n : !relax.prim<i64>
    ... }''')
    >>> ex.function_names
    ('main',)
    >>> VirtualMachine(ex)["main"](3)
    3
    """
    if target not in TARGETS:
        raise ValueError(f"expected a target, one of {', '.join(TARGETS)}, but got {target!r}")
    if checks not in CHECKS:
        raise ValueError(f"expected checks, one of {', '.join(CHECKS)}, but got {checks!r}")
    if opt_level not in range(4):
        raise ValueError(f"expected opt_level from 0 to 3, but got {opt_level!r}")
    module = _copy(mod)
    dump = _Dump(dump_phases) if dump_phases is not None else lambda name, module: None
    dump("input", module)
    with module.context:
        with raise_errors(module.context):
            module.operation.verify()
        struct_infos = _struct_infos(module)
        for name, _ in phases():
            _run_phase(name, module, checks)
            dump(name, module)
        engine = ExecutionEngine(module, opt_level=opt_level, shared_libs=[RUNTIME_LIBRARY])
    return Executable(engine, struct_infos)
