# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The system calls that programs of tests make, by number.

Most of them are made as they are: their pointers are those of this process, see memory.py. The
others are about what this process is not: its memory, its threads and its signals.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from typing import NoReturn

from memory import MAP_FIXED, MAP_FIXED_NOREPLACE, Memory, libc

libc.syscall.restype = ctypes.c_long

# Calls that are made as they are.
MADE = {
    0: "read",
    1: "write",
    3: "close",
    4: "stat",
    5: "fstat",
    6: "lstat",
    7: "poll",
    8: "lseek",
    16: "ioctl",
    17: "pread64",
    19: "readv",
    20: "writev",
    21: "access",
    24: "sched_yield",
    28: "madvise",
    32: "dup",
    33: "dup2",
    35: "nanosleep",
    39: "getpid",
    62: "kill",
    63: "uname",
    72: "fcntl",
    79: "getcwd",
    89: "readlink",
    96: "gettimeofday",
    99: "sysinfo",
    102: "getuid",
    104: "getgid",
    107: "geteuid",
    108: "getegid",
    186: "gettid",
    201: "time",
    217: "getdents64",
    228: "clock_gettime",
    229: "clock_getres",
    230: "clock_nanosleep",
    234: "tgkill",
    262: "newfstatat",
    267: "readlinkat",
    269: "faccessat",
    292: "dup3",
    302: "prlimit64",
    318: "getrandom",
    332: "statx",
    439: "faccessat2",
}

# Calls that have no effect: of signals, which end this process, and of threads, of which is one.
IGNORED = {13: "rt_sigaction", 14: "rt_sigprocmask", 131: "sigaltstack", 273: "set_robust_list"}

# Calls that fail, after which the C library does without: memory grows by mmap and by copies.
REFUSED = {
    25: ("mremap", errno.ENOMEM),
    324: ("membarrier", errno.ENOSYS),
    334: ("rseq", errno.ENOSYS),
}

DEBUG_INFORMATION = b"/usr/lib/debug/"
ARCH_SET_FS = 0x1002
# What processors with AMX ask for: states that XSAVE saves, by their bits in XCR0.
ARCH_GET_XCOMP_SUPP, ARCH_GET_XCOMP_PERM, ARCH_REQ_XCOMP_PERM = 0x1021, 0x1022, 0x1023
TILE_DATA = 18
SAVED = 0xE7 | 1 << 17  # as XCR0 in processor.py, and configurations of tiles
FUTEX_WAKE, FUTEX_COMMANDS = 1, 0x7F


class UnknownCallError(Exception):
    """A call that is none of these."""


class SystemCalls:
    """The system calls of a process.

    Parameters
    ----------
    program : str
        The file of the program.
    memory : Memory
    set_fs_base : callable
        Sets where the segment of the thread begins.
    permit_tiles : callable or None
        Lets the program use tiles, where the processor has some.
    """

    def __init__(
        self,
        program: str,
        memory: Memory,
        set_fs_base: Callable[[int], None],
        permit_tiles: Callable[[], None] | None = None,
    ) -> None:
        self.program = os.fsencode(program)
        self.memory = memory
        self.set_fs_base = set_fs_base
        self.permit_tiles = permit_tiles
        self.permitted = SAVED
        self.own: dict[int, Callable[..., int]] = {
            9: self.mmap,
            10: self.mprotect,
            11: self.munmap,
            12: self.brk,
            60: self.exit,
            158: self.arch_prctl,
            202: self.futex,
            204: self.sched_getaffinity,
            218: self.set_tid_address,
            231: self.exit,
            257: self.openat,
        }

    def make(self, number: int, arguments: tuple[int, ...]) -> int:
        """Make a call, and return its result, or a negative number of an error."""
        if number in MADE:
            result: int = libc.syscall(number, *map(ctypes.c_uint64, arguments))
            return -ctypes.get_errno() if result == -1 else result
        if number in IGNORED:
            return 0
        if number in REFUSED:
            return -REFUSED[number][1]
        if number not in self.own:
            raise UnknownCallError(f"system call {number} is not one that is emulated: {__file__}")
        try:
            return self.own[number](*arguments)
        except OSError as error:
            return -(error.errno or errno.EINVAL)

    def mmap(self, address: int, size: int, prot: int, flags: int, fd: int, offset: int) -> int:
        fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)
        flags &= ~MAP_FIXED_NOREPLACE
        signed = ctypes.c_int(fd).value
        return self.memory.map(size, prot, address if fixed else None, flags, signed, offset)

    def mprotect(self, address: int, size: int, prot: int, *_: int) -> int:
        self.memory.protect(address, size, prot)
        return 0

    def munmap(self, address: int, size: int, *_: int) -> int:
        self.memory.unmap(address, size)
        return 0

    def brk(self, *_: int) -> int:
        return 0  # there is no heap of this kind: `malloc` uses mmap then

    def exit(self, status: int, *_: int) -> NoReturn:
        os._exit(status & 0xFF)

    def openat(self, folder: int, path: int, flags: int, mode: int, *_: int) -> int:
        name = ctypes.string_at(path)
        if name == b"/proc/self/exe":
            name = self.program
        if name.startswith(DEBUG_INFORMATION):
            return -errno.ENOENT  # which a traceback would read for seconds
        result: int = libc.openat(ctypes.c_int(folder), name, ctypes.c_int(flags), mode)
        return -ctypes.get_errno() if result == -1 else result

    def arch_prctl(self, code: int, argument: int, *_: int) -> int:
        if code == ARCH_SET_FS:
            self.set_fs_base(argument)
        elif self.permit_tiles is None:
            return -errno.EINVAL
        elif code == ARCH_REQ_XCOMP_PERM:
            if argument != TILE_DATA:
                return -errno.EOPNOTSUPP
            self.permit_tiles()
            self.permitted |= 1 << TILE_DATA
        elif code == ARCH_GET_XCOMP_PERM:
            self.memory.write(argument, struct.pack("<Q", self.permitted))
        elif code == ARCH_GET_XCOMP_SUPP:
            self.memory.write(argument, struct.pack("<Q", SAVED | 1 << TILE_DATA))
        else:
            return -errno.EINVAL
        return 0

    def futex(self, _: int, command: int, *__: int) -> int:
        if command & FUTEX_COMMANDS != FUTEX_WAKE:
            raise UnknownCallError(f"futex {command:#x}: there is no other thread to wait for")
        return 0

    def sched_getaffinity(self, _: int, size: int, mask: int, *__: int) -> int:
        """Name one processor, so that programs have one thread."""
        ctypes.memset(mask, 0, min(size, 8))
        self.memory.write(mask, b"\1")
        return min(size, 8)

    def set_tid_address(self, *_: int) -> int:
        return os.getpid()
