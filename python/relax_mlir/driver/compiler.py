# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to something that runs."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tvm_ffi
from mlir import ir
from mlir.passmanager import PassManager

from .. import native, runtime
from .._mlir_libs import _relax_mlir as _ext
from ..artefact import Executable, LinkedCode, MachineCode
from ..core.context import default_context
from ..core.diagnostics import raise_errors
from ..core.forks import compiling
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..core.vdevice import GLOBAL_INFO
from ..external import link
from ..progress import ProgressLike, Reporter
from ..target import Target, TargetLike
from ..transform import PassContext, fold_constant, register_config_option
from ..transform.find import find
from ..transform.options import FEATURES, CompileOptions
from ..transform.phases import phase, phases, pipeline_of
from . import compilation_cache
from .pipeline import run_before

_USE_CUDA_GRAPH = "relax.backend.use_cuda_graph"
register_config_option(_USE_CUDA_GRAPH, bool, "compile: as the option cuda_graph, as in TVM")

# Makes what evaluates a module: `relax_mlir.reference` sets it.
make_reference: Any = None

_make_constant = tvm_ffi.get_global_func("relax_mlir.runtime.make_constant")


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


class _Pipelines(threading.local):
    """The pipelines of a thread: to make their patterns takes as long as to run them on little."""

    def __init__(self) -> None:
        self._kept: dict[str, PassManager] = {}

    @contextlib.contextmanager
    def __call__(self, text: str) -> Iterator[PassManager]:
        """Lend a pipeline for modules of the current context."""
        pipeline = self._kept.pop(text, None) if self._is_kept() else None
        if pipeline is None:
            pipeline = PassManager.parse(text)
            # Once for the phase: after each pass it takes as long as the passes.
            pipeline.enable_verifier(False)
        yield pipeline
        if self._is_kept():
            self._kept[text] = pipeline
            if len(self._kept) > _NUM_PIPELINES:
                del self._kept[next(iter(self._kept))]  # unused for the longest time

    def _is_kept(self) -> bool:
        """Say whether the current context is one that does not end before the pipeline."""
        return ir.Context.current is default_context()


_NUM_PIPELINES = 16
_pipelines = _Pipelines()


def _run_phase(name: str, module: ir.Module, options: CompileOptions) -> None:
    """Run a phase as a whole, or pass by pass where somebody watches."""
    context = PassContext.current()
    text = pipeline_of(name, options)
    if text is None or context.instruments:
        phase(name, options).execute(module, context)
        return
    with _pipelines(text) as pipeline, raise_errors(module.context), compiling():
        pipeline.run(module.operation)
        module.operation.verify()


def _needs_code(program: runtime.Executable) -> bool:
    return bool(program.kernels) or any(not f.is_bytecode for f in program.functions)


def _evaluated(mod: IRModule, dump_phases: str | os.PathLike[str] | None) -> Executable:
    """Return a module as what the reference interpreter evaluates."""
    if dump_phases is not None:
        raise ValueError('expected no dump_phases with the target "reference", which has no phases')
    copy = mod.clone()
    linked = link(copy)
    executable: Executable = make_reference(copy)
    executable.link(linked)
    return executable


def _lower(
    module: ir.Module,
    options: CompileOptions,
    report: Reporter,
    dump: Callable[[str, ir.Module], None],
) -> runtime.Executable:
    """Run the phases on a module; return its functions, without their machine code."""
    dump("input", module)
    with raise_errors(module.context):
        module.operation.verify()
    for name, _ in phases():
        report(name)
        _run_phase(name, module, options)
        dump(name, module)
        if name == "shapes":
            program = _assemble(module, options.exec_mode)
    return program


def _add_code(
    program: runtime.Executable,
    module: ir.Module,
    info: native.TargetInfo,
    options: CompileOptions,
    report: Reporter,
) -> Executable:
    """Return an executable with the machine code of a lowered module."""
    code: MachineCode | None = None
    if options.exec_mode != "bytecode" or _needs_code(program):
        object_file = native.emit_object(
            module,
            info.target,
            opt_level=options.opt_level,
            progress=report.machine_code if report.is_watched else None,
        )
        if info.missing:
            code = MachineCode(object_file)
        else:
            code = LinkedCode(object_file)
            code.bind(program.handle, "the compiled module")
    handle, mode = program.handle, options.exec_mode
    return Executable(
        handle,
        code,
        mode,
        info.target,
        is_profiled=options.profile,
        cuda_graph=options.cuda_graph,
    )


# Operations whose callee may write to what it is given.
_WRITERS = ("relax.call_tir_inplace", "relax.call_inplace_packed", "relax.call_packed")


def _reads_only(module: ir.Module) -> bool:
    """Say whether no operation of a module may write to an argument of its function."""
    return not find(module.operation, *_WRITERS)


def _require_functions(mod: IRModule) -> None:
    """Raise ValueError if functions of a module are code already, or in a module within it."""
    for op in mod.body.operations:
        if op.operation.name == "builtin.module":
            raise ValueError("expected functions in the module itself, but got a module within it")
        if op.operation.name == "llvm.func" and op.sym_name.value.startswith("__tvm_ffi_"):
            raise ValueError(
                "expected a module of Relax, or one after an earlier phase, but got one after the "
                f"phase llvm: it has '{op.sym_name.value}'"
            )


def _for_gpu(options: CompileOptions, module: IRModule) -> CompileOptions:
    """Return options that say whether launches are replayed.

    Raise ValueError for options of CUDA devices where no kernel runs on one.
    """
    attributes = module.operation.attributes
    devices = str(attributes[GLOBAL_INFO]) if GLOBAL_INFO in attributes else ""
    is_on_gpu = options.device == "cuda" or '#relax.vdevice<"cuda' in devices
    for name in ("cuda_graph", "tf32"):
        if getattr(options, name) and not is_on_gpu:
            raise ValueError(
                'expected the target "cuda", or a program with virtual devices of it, for '
                f"{name}=True, but no kernel runs on a CUDA device"
            )
    is_asked = is_on_gpu and PassContext.current().config.get(_USE_CUDA_GRAPH, False)
    return dataclasses.replace(options, cuda_graph=options.cuda_graph or is_asked)


def _for_machine(
    options: CompileOptions, target: Target, info: native.TargetInfo
) -> CompileOptions:
    """Return options that say what kernels should know of a machine, which has to have it."""
    # LLVM compiles no tiles of AMX that go around loops, unless it optimizes.
    known = [name for name in FEATURES if name in info.features]
    if options.opt_level == 0:
        known = [name for name in known if not name.startswith("amx-")]
    for name in filter(None, options.features.split(",")):
        if name not in known:
            level = "" if name not in info.features else " with opt_level=0"
            raise ValueError(f"expected features of {info.target.cpu}{level}, but got {name!r}")
    return dataclasses.replace(
        options,
        vector_bits=options.vector_bits or target.vector_bits or info.vector_bits,
        l1_bytes=options.l1_bytes or target.l1_bytes,
        l2_bytes=options.l2_bytes or target.l2_bytes,
        features=options.features or ",".join(known),
        device=options.device or target.device,
        device_arch=options.device_arch or target.device_arch,
    )


def compile(  # noqa: A001 (the name TVM uses)
    mod: ModuleLike,
    target: TargetLike = "llvm",
    options: CompileOptions | None = None,
    *,
    relax_pipeline: str | Callable[..., IRModule] | None = None,
    dump_phases: str | os.PathLike[str] | None = None,
    progress: ProgressLike = None,
    **changes: Any,
) -> Executable:
    """Compile a module to machine code.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
        The program; text of MLIR as str. It is not changed.
    target : str, mapping, native.NativeTarget or Target
        "llvm": the processor of this machine, with all it can do. Others are written as in TVM,
        "llvm -mcpu=skylake-avx512 -mattr=-avx512vnni", or ``{"kind": "llvm", "mcpu": "znver3"}``;
        see `relax_mlir.target.Target.parse`. "cuda": the tensors of a program that names no virtual
        device are on the GPU ``cuda:0``, and so are its kernels; "opencl": the same for the device
        ``opencl:0``. "reference": nothing is compiled, and the module is evaluated as the
        specification says, see `relax_mlir.reference`; options are without effect then, but for
        `dump_phases`, which is refused. What is compiled for a machine that can do more than this
        one can be saved and exported, and does not run here.
    options : CompileOptions, optional
        See there. The default ones by default.
    relax_pipeline : str, Pass or function of a module, optional
        What runs before the phases: a pass, or the name of a pipeline, as `get_pipeline` takes it.
        "default" and None add nothing.
    dump_phases : path, optional
        A folder where the module is written as it was given, to ``00-input.mlir``, and as it is
        after each phase. ``relax-opt`` reads these files.
    progress : bool or callable, optional
        The listener for progress of the compilation: a function of a
        `relax_mlir.progress.Progress`; for True the terminal, on ``sys.stderr``; for None, too, if
        that is a terminal and compiling takes longer than a second.
    **changes
        Options that differ, such as ``exec_mode="bytecode"``.

    Returns
    -------
    Executable

    Raises
    ------
    ValueError
        If the target, or the value of an option, is not known, or the module is lowered to LLVM, or
        has a module within it.
    TypeError
        If an option is not known.
    mlir.ir.MLIRError
        If the module is not valid, or uses what the target does not support.

    Notes
    -----
    The instruments of the current `relax_mlir.transform.PassContext` see each pass.

    Where the environment variable RELAX_MLIR_CACHE names a folder, what was compiled is kept there
    and found again by the content of the module, the options, the processor and the version of this
    package; see `relax_mlir.driver.compilation_cache`. Nothing is looked up where `dump_phases` or
    an instrument watches.

    Examples
    --------
    >>> from relax_mlir import VirtualMachine
    >>> ex = compile('''
    ... relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
    ...   relax.return %n : !relax.prim<i64>
    ... }''', exec_mode="bytecode")
    >>> ex.function_names
    ('main',)
    >>> VirtualMachine(ex)["main"](3)
    3
    """
    options = CompileOptions.of(options, changes)
    given = run_before(as_module(mod), relax_pipeline)
    _require_functions(given)
    if target == "reference":
        return _evaluated(given, dump_phases)
    machine = Target.parse(target)
    info = native.describe_target(machine.machine)
    options = _for_gpu(_for_machine(options, machine, info), given)
    # Those who watch want to see passes run.
    is_watched = dump_phases is not None or PassContext.current().instruments
    cache = None if is_watched else compilation_cache.from_environment()
    copy = given.clone()
    linked = link(copy)
    if linked and not linked.can_be_saved:
        cache = None
    key = cache.key(given.module, options, info.target) if cache else ""
    if cache and (found := cache.load(key)):
        found.reads_only = _reads_only(given.module)
        return found
    module = copy.module
    dump = _Dump(dump_phases) if dump_phases is not None else lambda name, module: None
    with module.context, Reporter(progress) as report:
        program = _lower(module, options, report, dump)
        executable = _add_code(program, module, info, options, report)
    executable.reads_only = _reads_only(given.module)
    executable.link(linked)
    if cache and not info.missing:
        cache.store(key, executable)
    return executable


def _compile_and_call(mod: IRModule, name: str) -> Any:
    return compile(mod, fold_constants=False, exec_mode="bytecode", progress=False).look_up(name)()


fold_constant.compile_and_call = _compile_and_call
