# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processor of Bochs, by the package bochscpu, as a process of Linux sees it."""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from memory import PAGE, PROT_EXEC, PROT_READ, Memory

# Processors of Bochs, by their places in its list.
MODELS = {"haswell": 24, "skylake-x": 26, "icelake": 28, "tigerlake": 29, "sapphire-rapids": 30}
MODELS_WITH_TILES = ("sapphire-rapids",)

# bx_param_enum_c::set
SET_PARAMETER = "_ZN15bx_param_enum_c3setEl"

# What corrections.c and tiles.c use of Bochs.
USED = {
    "relax_assign_operands": "_Z11assign_srcsP15bxInstruction_cjbjjjjbb",
    "relax_opcode_name": "_Z18get_bx_opcode_namet",
    "relax_get_pc": "cpu_get_pc",
    "relax_set_pc": "cpu_set_pc",
    "relax_get_zmm": "cpu_get_zmm",
    "relax_set_zmm": "cpu_set_zmm",
    "relax_registers": "bx_cpu",
    "relax_refuse": "_ZN8BX_CPU_C7BxErrorEP15bxInstruction_c",
    "relax_get_control": "_ZN8BX_CPU_C6XGETBVEP15bxInstruction_c",
    "relax_describe": "_ZNK17sapphire_rapids_t20get_std_cpuid_leaf_7EjP16cpuid_function_t",
    "relax_raise": "_ZN8BX_CPU_C9exceptionEjt",
    "relax_read": "_ZN8BX_CPU_C18access_read_linearEmjjjjPv",
    "relax_write": "_ZN8BX_CPU_C19access_write_linearEmjjjjPv",
    "relax_get_register": "cpu_get_reg64",
    "relax_set_register": "cpu_set_reg64",
    "relax_get_segment": "cpu_get_seg",
    "relax_get_xcr0": "cpu_get_xcr0",
}

# After a system call: forget translations of addresses, as tables may have changed, and return.
#   mov cr3, r11;  mov r11d, 0x202;  sysretq
RETURN = bytes.fromhex("41 0f 22 db  41 bb 02 02 00 00  48 0f 07")

CR0 = 0x80050033  # paging, protection of pages, numeric errors
CR4 = 0x000506A0  # 64-bit pages, SSE with exceptions, FSGSBASE, XSAVE
EFER = 0xD01  # long mode, SYSCALL, pages without code
XCR0 = 0xE7  # x87, SSE, AVX, AVX-512; tiles.c adds tiles to what programs see
USER_CODE, USER_DATA, SELECTORS = 0xA0FB, 0xC0F3, 0x0023_0010 << 32

EXCEPTIONS = {
    0: "division by zero",
    3: "breakpoint",
    6: "illegal instruction",
    13: "general protection fault",
    14: "page fault",
    16: "floating-point error",
    17: "misaligned access",
    19: "floating-point error",
}
PAGE_FAULT = 14
SIGNALS = {0: "SIGFPE", 3: "SIGTRAP", 6: "SIGILL", 16: "SIGFPE", 17: "SIGBUS", 19: "SIGFPE"}


def import_bochs(host: Path) -> Any:
    """Import bochscpu, whose symbols a library of ours defines first."""
    ctypes.CDLL(str(host.resolve()), ctypes.RTLD_GLOBAL)
    return importlib.import_module("bochscpu")


class Processor:
    """A processor in user mode.

    Parameters
    ----------
    model : str
        One of MODELS.
    host : pathlib.Path
        The library of host.c.
    memory : Memory

    Attributes
    ----------
    has_tiles : bool
        Whether it has AMX.
    """

    def __init__(self, model: str, host: Path, memory: Memory) -> None:
        self.bochs = import_bochs(host)
        self.hooks = ctypes.CDLL(str(host.resolve()))
        library = ctypes.CDLL(self.bochs._bochscpu.__file__)
        library.sim_get_param_enum.restype = ctypes.c_void_p
        parameter = ctypes.c_void_p(library.sim_get_param_enum(b"cpu.model"))
        getattr(library, SET_PARAMETER)(parameter, ctypes.c_long(MODELS[model]))
        for ours, name in USED.items():
            self._set_pointer(ours, getattr(library, name))
        self.has_tiles = model in MODELS_WITH_TILES
        self._set_flag("relax_has_tiles", self.has_tiles)
        self.session = self.bochs.Session()
        self.cpu = self.session.cpu
        self.memory = memory
        self.fault: tuple[int, str] | None = None
        self.keep: list[Any] = []  # what C calls

    def _segment(self, attributes: int, selector: int, base: int = 0) -> Any:
        segment = self.bochs.Segment()
        segment.present = True
        segment.attr = attributes
        segment.selector = selector
        segment.base = base
        segment.limit = 0xFFFFFFFF
        return segment

    def set_fs_base(self, base: int) -> None:
        """Set where the segment of the thread begins."""
        self.cpu.fs = self._segment(USER_DATA, 0, base)

    def permit_tiles(self) -> None:
        """Let the program use tiles: until then, instructions of AMX are illegal."""
        self._set_flag("relax_may_use_tiles", self.has_tiles)

    def run(self, entry: int, stack: int, make: Callable[[int, tuple[int, ...]], int]) -> NoReturn:
        """Run a program, which makes system calls by a function, until it ends this process."""
        returns = self.memory.map(len(RETURN), PROT_READ | PROT_EXEC)
        self.memory.write(returns, RETURN)
        state = self.cpu.state
        state.rip, state.rsp, state.rflags = entry, stack, 0x202
        state.cr0, state.cr3, state.cr4 = CR0, self.memory.root, CR4
        state.efer, state.xcr0 = EFER, XCR0
        state.star, state.lstar, state.sfmask = SELECTORS, returns, 0
        state.fpcw, state.mxcsr = 0x37F, 0x1F80
        state.cs = self._segment(USER_CODE, 0x33)
        state.ss = state.ds = state.es = self._segment(USER_DATA, 0x2B)
        state.fs = state.gs = self._segment(USER_DATA, 0)
        none = self.bochs.GlobalSegment()
        none.base = none.limit = 0
        state.idtr = state.gdtr = none  # see `on_exception`
        self.cpu.state = state
        self._call_back("relax_on_system_call", lambda: self.on_system_call(make))
        self._call_back("relax_on_exception", self.on_exception, ctypes.c_uint32, ctypes.c_uint32)
        self.session.run([])
        raise SystemExit("the processor has stopped")

    def _call_back(self, name: str, function: Callable[..., None], *types: Any) -> None:
        def guarded(*arguments: int) -> None:
            try:
                function(*arguments)
            except BaseException as error:
                self.end(f"{type(error).__name__}: {error}", "SIGABRT")

        made = ctypes.CFUNCTYPE(None, *types)(guarded)
        self.keep.append(made)
        self._set_pointer(name, made)

    def _set_pointer(self, name: str, function: Any) -> None:
        pointer = ctypes.cast(function, ctypes.c_void_p)
        ctypes.c_void_p.in_dll(self.hooks, name).value = pointer.value

    def _set_flag(self, name: str, value: bool) -> None:
        ctypes.c_bool.in_dll(self.hooks, name).value = value

    def on_system_call(self, make: Callable[[int, tuple[int, ...]], int]) -> None:
        """Make the call that registers say; the code at LSTAR returns from it."""
        cpu = self.cpu
        arguments = (cpu.rdi, cpu.rsi, cpu.rdx, cpu.r10, cpu.r8, cpu.r9)
        cpu.rax = make(cpu.rax, arguments) & (2**64 - 1)
        cpu.r11 = self.memory.root

    def on_exception(self, vector: int, error: int) -> None:
        """End the process.

        As there is no table of handlers, an exception is followed by another one, before which the
        processor goes back to the instruction that is to blame.
        """
        if self.fault is None:
            message = EXCEPTIONS.get(vector, f"exception {vector}")
            if vector == PAGE_FAULT:
                access = "execute" if error & 16 else "write" if error & 2 else "read"
                message += f": cannot {access} {self.cpu.cr2:#x}"
            self.fault = (vector, message)
            return
        vector, message = self.fault
        address = self.cpu.rip
        code = "?"
        if not (vector == PAGE_FAULT and address == self.cpu.cr2):
            code = ctypes.string_at(address, min(16, PAGE - address % PAGE)).hex(" ")
        self.end(f"{message}, at {address:#x}: {code}", SIGNALS.get(vector, "SIGSEGV"))

    def end(self, message: str, name: str) -> NoReturn:
        """End the process by a signal."""
        print(f"emulator: {message}", file=sys.stderr, flush=True)
        number = signal.Signals[name]
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(128 + number)
