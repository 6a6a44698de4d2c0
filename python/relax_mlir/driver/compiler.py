# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to something that runs."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import tvm_ffi
from mlir import ir
from mlir.passmanager import PassManager

from .. import artefact, native, runtime
from .._mlir_libs import _relax_mlir as _ext
from ..artefact import Executable, MachineCode
from ..core.diagnostics import raise_errors
from ..core.forks import compiling
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..progress import ProgressLike, Reporter
from ..target import VECTOR_BITS, Target, TargetLike
from ..transform import (
    CombineParallelMatmul,
    ConvertLayout,
    FoldBatchnormToConv2D,
    FoldConstant,
    Pass,
    PassContext,
    fold_constant,
    phase,
)
from . import compilation_cache

CHECKS = ("all", "necessary")
EXEC_MODES = ("compiled", "bytecode")

# Makes what evaluates a module: `relax_mlir.reference` sets it.
make_reference: Any = None

_make_constant = tvm_ffi.get_global_func("relax_mlir.runtime.make_constant")


def phases() -> list[tuple[str, str]]:
    """Return the phases of compilation in order: name, and what it does.

    The phase `name` is the pipeline ``relax-phase-<name>``, here and in ``relax-opt``.

    Examples
    --------
    >>> phases()[0][0]
    'normalize'
    """
    return _ext.phases()


def _address(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def _make_constants(module: ir.Module) -> list[Any]:
    """Return the pool of constants as tensors: views of attributes that are large and aligned."""
    return [
        _make_constant(
            address if data is None else _address(data),
            size,
            tvm_ffi.Shape(tuple(dims)),
            tvm_ffi.dtype(dtype),
            module.context if data is None else None,
        )
        for dtype, dims, address, size, data in _ext.constants(module)
    ]


def _assemble(module: ir.Module, exec_mode: str) -> runtime.Executable:
    """Return the functions of a module whose shapes are lowered, without machine code."""
    with raise_errors(module.context):
        text = _ext.translate_to_vm(module, exec_mode == "compiled")
    assert text is not None
    return runtime.Executable.assemble(text, _make_constants(module))


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


def _run_phase(name: str, module: ir.Module, options: dict[str, str]) -> None:
    """Run a phase as a whole, or pass by pass where somebody watches."""
    context = PassContext.current()
    if context.instruments:
        phase(name, **options).execute(module, context)
    else:
        given = " ".join(f"{option}={value}" for option, value in options.items())
        pipeline = PassManager.parse(f"builtin.module(relax-phase-{name}{{{given}}})")
        # Once for the phase: after each pass it takes as long as the passes.
        pipeline.enable_verifier(False)
        with raise_errors(module.context), compiling():
            pipeline.run(module.operation)
            module.operation.verify()


def _check_choice(what: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ValueError(f"expected {what}, one of {', '.join(choices)}, but got {given!r}")


def _check_options(exec_mode: str, checks: str, opt_level: int, vector_bits: int) -> None:
    _check_choice("exec_mode", exec_mode, EXEC_MODES)
    _check_choice("checks", checks, CHECKS)
    if opt_level not in range(4):
        raise ValueError(f"expected opt_level from 0 to 3, but got {opt_level!r}")
    if vector_bits not in VECTOR_BITS:
        raise ValueError(f"expected vector_bits to be in {VECTOR_BITS}, but got {vector_bits!r}")


def _needs_code(program: runtime.Executable) -> bool:
    return bool(program.kernels) or any(not f.is_bytecode for f in program.functions)


def _foldings(combine_matmuls: bool) -> list[Pass]:
    """Return the passes that compute what depends on constants alone."""
    # Those of the kernels of convolutions.
    layouts = {"relax.nn.conv2d": ["NCHW", "OIHW"]}
    passes: list[Any] = [ConvertLayout(layouts), FoldBatchnormToConv2D()]
    if combine_matmuls:
        # It puts constants together, which is left to do then.
        passes.append(CombineParallelMatmul(worthwhile=True))
    return [*passes, FoldConstant()]


def _evaluated(mod: ModuleLike, dump_phases: str | os.PathLike[str] | None) -> Executable:
    """Return a module as what the reference interpreter evaluates."""
    if dump_phases is not None:
        raise ValueError('expected no dump_phases with the target "reference", which has no phases')
    return make_reference(as_module(mod).clone())


def compile(  # noqa: A001 (the name TVM uses)
    mod: ModuleLike,
    target: TargetLike = "llvm",
    *,
    exec_mode: str = "compiled",
    checks: str = "all",
    dump_phases: str | os.PathLike[str] | None = None,
    opt_level: int = 3,
    plan_memory: bool = True,
    fuse: bool = True,
    emit_kernels: bool = True,
    vector_bits: int = 0,
    fold_constants: bool = True,
    combine_matmuls: bool = True,
    winograd: bool = True,
    fast_math: bool = False,
    progress: ProgressLike = None,
) -> Executable:
    """Compile a module to machine code.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
        The program; text of MLIR as str. It is not changed.
    target : str, mapping, native.NativeTarget or Target
        "llvm": the processor of this machine, with all it can do. Others are written as in TVM,
        "llvm -mcpu=skylake-avx512 -mattr=-avx512vnni", or ``{"kind": "llvm", "mcpu": "znver3"}``;
        see `relax_mlir.target.Target.parse`. "reference": nothing is compiled, and the module is
        evaluated as the specification says, see `relax_mlir.reference`; the options below are
        without effect then, but for `dump_phases`, which is refused. What is compiled for a machine
        that can do more than this one can be saved and exported, and does not run here.
    exec_mode : str
        "compiled": functions and kernels become machine code. "bytecode": kernels do, and functions
        become bytecode, which `VirtualMachine` interprets and can observe. Both mean the same.
    checks : str
        Checks of structural information that the program makes when it runs. "all": of arguments,
        casts, results of packed functions and operands of operators. "necessary": the caller is
        trusted, see the notes.
    dump_phases : path, optional
        A folder where the module is written as it was given, to ``00-input.mlir``, and as it is
        after each phase. ``relax-opt`` reads these files.
    opt_level : int
        How much LLVM optimizes loops over numbers, from 0 to 3. Kernels of vectors, and functions
        that call kernels, are cleaned up from 1 on, and no level makes them faster.
    plan_memory : bool
        Whether tensors that are not in use at the same time share memory, reshapes are views, and
        kernels write over inputs that die. The results are the same without.
    fuse : bool
        Whether kernels that are called one after the other become one where that saves passes over
        memory; see `relax_mlir.transform.FuseOps`. Each element is computed as without.
    emit_kernels : bool
        Whether kernels of known classes (elementwise, rows, ...) are written as loops over vectors.
        Without, all of them become plain loops, which sum up in another order.
    vector_bits : int
        The width of the vectors in those kernels; 0 means that of the target.
    fold_constants : bool
        Whether what depends on constants alone is computed once, now; see
        `relax_mlir.transform.FoldConstant` and `FoldBatchnormToConv2D`. Convolutions in other
        layouts are computed in NCHW then, see `ConvertLayout`.
    combine_matmuls : bool
        Whether products of a matrix with several constants become one, where constants are folded
        and kernels fused; see `relax_mlir.transform.CombineParallelMatmul`.
    winograd : bool
        Whether convolutions by constant windows of 3 x 3 may use the algorithm of Winograd, where
        that is faster. A result then depends on all elements that a tile of up to 6 x 6 elements
        has, with rounding errors about twice as large as otherwise in relation to these.
    fast_math : bool
        Whether sums may be computed in another order, and elementary functions less accurately;
        `docs/dev/math.md` has the errors of both. Infinities and NaN stay what they are.
    progress : bool or callable, optional
        The listener for progress of the compilation: a function of a
        `relax_mlir.progress.Progress`; for True the terminal, on ``sys.stderr``; for None, too, if
        that is a terminal and compiling takes longer than a second.

    Returns
    -------
    Executable

    Raises
    ------
    ValueError
        If the target, the mode, the checks, the level or the width are not known.
    mlir.ir.MLIRError
        If the module is not valid, or uses what the target does not support.

    Notes
    -----
    The instruments of the current `relax_mlir.transform.PassContext` see each pass.

    Where the environment variable RELAX_MLIR_CACHE names a folder, what was compiled is kept there
    and found again by the content of the module, the options, the processor and the version of this
    package; see `relax_mlir.driver.compilation_cache`. Nothing is looked up where `dump_phases` or
    an instrument watches.

    With ``checks="necessary"`` a program that fails no check gives the same results, and any other
    may give wrong ones or read memory that is not its own. What stays is: the number of
    arguments; before a value is first read (by a kernel, as a condition, as a shape, for its
    dimensions or to be called), that it is of the kind and rank that its type says, and a tensor in
    host memory; dimensions that bind shape variables, and that variables of sizes and dimensions of
    allocations are not negative; that no step of a dimension is beyond 64 bits, or divides by 0;
    sizes of tuples where a field is taken; allocations. What goes is the comparison of data types,
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
    _check_options(exec_mode, checks, opt_level, vector_bits)
    if target == "reference":
        return _evaluated(mod, dump_phases)
    machine = Target.parse(target)
    info = native.describe_target(machine.machine)
    options = {
        "checks": checks,
        "exec-mode": exec_mode,
        "plan-memory": str(plan_memory).lower(),
        "fuse": str(fuse).lower(),
        "emit-kernels": str(emit_kernels).lower(),
        "vector-bits": str(vector_bits or machine.vector_bits or info.vector_bits),
        "l1-bytes": str(machine.l1_bytes),
        "l2-bytes": str(machine.l2_bytes),
        "winograd": str(winograd).lower(),
        "fast-math": str(fast_math).lower(),
        "has-scalef": str(info.vector_bits == 512).lower(),
    }
    foldings = _foldings(fuse and combine_matmuls) if fold_constants else []
    given = as_module(mod)
    # Those who watch want to see passes run.
    watched = dump_phases is not None or PassContext.current().instruments
    cache = None if watched else compilation_cache.from_environment()
    if cache:
        others = {"opt-level": str(opt_level), "foldings": str(len(foldings))}
        key = cache.key(given.module, options | others, info.target)
        if found := cache.load(key):
            return found
    module = given.clone().module
    dump = _Dump(dump_phases) if dump_phases is not None else lambda name, module: None
    dump("input", module)
    with module.context, Reporter(progress) as report:
        with raise_errors(module.context):
            module.operation.verify()
        for name, _ in phases():
            report(name)
            _run_phase(name, module, options)
            if name == "normalize" and foldings:
                report("fold constants")
                for folding in foldings:
                    folding.execute(module, PassContext.current())
            dump(name, module)
            if name == "shapes":
                program = _assemble(module, exec_mode)
        if exec_mode == "bytecode" and not _needs_code(program):
            return Executable(program, None, exec_mode)
        object_file = native.emit_object(
            module,
            info.target,
            opt_level=opt_level,
            progress=report.machine_code if report.is_watched else None,
        )
        code: MachineCode
        if info.missing:
            code = artefact.ForeignCode(object_file)
        else:
            code = linked = artefact.LinkedCode(object_file, program)
            linked.bind("the compiled module")
        executable = Executable(program, code, exec_mode)
        if cache and not info.missing:
            cache.store(key, executable)
        return executable


def _compile_and_call(mod: IRModule, name: str) -> Any:
    return compile(mod, fold_constants=False, progress=False).look_up(name)()


fold_constant.compile_and_call = _compile_and_call
