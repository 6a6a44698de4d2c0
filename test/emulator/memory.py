# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of the emulated process: a range of addresses of this one.

An address of the emulated process is the same address here, and the same physical one: system calls
take its pointers as they are, and no page is looked up. Addresses are given out once, so that the
processor, which keeps instructions that it has decoded by their physical addresses, never sees
others there. What may be accessed, the page tables say: a page without an entry is a fault of the
program, not of this process.
"""

from __future__ import annotations

import array
import ctypes
import errno
import os

PAGE = 4096
START, END = 1 << 36, 1 << 38

PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS, MAP_NORESERVE = 0x02, 0x10, 0x20, 0x4000
MAP_FIXED_NOREPLACE = 0x100000

PRESENT, WRITABLE, USER, NO_EXECUTE = 1, 2, 4, 1 << 63
TABLE = PRESENT | WRITABLE | USER
ENTRIES = 512  # of a page table

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
]


def round_up(value: int, unit: int = PAGE) -> int:
    """Return the next multiple of a unit."""
    return -(-value // unit) * unit


def map_here(address: int, size: int, prot: int, flags: int, fd: int = -1, offset: int = 0) -> None:
    """Map pages of this process."""
    found = libc.mmap(address, size, prot, flags, fd, offset)
    if found != address:
        code = ctypes.get_errno() if found in (None, 2**64 - 1) else errno.EEXIST
        raise OSError(code, f"{os.strerror(code)}: {size} bytes at {address:#x}")


class Memory:
    """Pages, and the tables that say how they may be accessed.

    Tables of the lowest level lie one after another, as if they were one for all addresses; so do
    those of the level above.

    Attributes
    ----------
    root : int
        The address of the table of the highest level.
    """

    def __init__(self) -> None:
        reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        map_here(START, END - START, 0, reserved | MAP_FIXED_NOREPLACE)
        pages = END // PAGE
        self.tables = START
        middle = self.tables + pages * 8
        upper = middle + pages // ENTRIES * 8
        self.root = upper + PAGE
        self.next = self.root + PAGE
        anywhere = PROT_READ | PROT_WRITE
        map_here(START, self.next - START, anywhere, reserved | MAP_FIXED)
        self._fill(middle, range(self.tables | TABLE, middle, PAGE))
        self._fill(upper, range(middle | TABLE, upper, PAGE))
        self._fill(self.root, [upper | TABLE])

    def _fill(self, address: int, entries: range | list[int]) -> None:
        data = array.array("Q", entries).tobytes()
        ctypes.memmove(address, data, len(data))

    def reserve(self, size: int) -> int:
        """Return the address of pages that are not in use; guarded by one that never is."""
        address = self.next
        if address + size > END - PAGE:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        self.next += round_up(size) + PAGE
        return address

    def check(self, address: int, size: int) -> None:
        """Raise an error where a range is not of this memory."""
        if address % PAGE or not (self.root + PAGE <= address <= address + size <= END):
            raise OSError(errno.EINVAL, f"{size} bytes at {address:#x} are not mapped")

    def map(
        self,
        size: int,
        prot: int,
        address: int | None = None,
        flags: int = MAP_PRIVATE | MAP_ANONYMOUS,
        fd: int = -1,
        offset: int = 0,
    ) -> int:
        """Map pages at an address, or at one that is not in use, and return it."""
        size = round_up(size)
        if address is None:
            address = self.reserve(size)
        self.check(address, size)
        # Bochs and system calls read and write them, whatever the program may do.
        here = prot if flags & 1 else PROT_READ | PROT_WRITE
        map_here(address, size, here, flags | MAP_FIXED, fd, offset)
        self.protect(address, size, prot)
        return address

    def protect(self, address: int, size: int, prot: int) -> None:
        """Set what a program may do with pages."""
        size = round_up(size)
        self.check(address, size)
        entries = self.tables + address // PAGE * 8
        if not prot:
            ctypes.memset(entries, 0, size // PAGE * 8)
            return
        flags = PRESENT | USER
        flags |= WRITABLE if prot & PROT_WRITE else 0
        flags |= 0 if prot & PROT_EXEC else NO_EXECUTE
        self._fill(entries, range(address | flags, (address | flags) + size, PAGE))

    def unmap(self, address: int, size: int) -> None:
        """Give pages back to the system."""
        size = round_up(size)
        self.protect(address, size, 0)
        map_here(address, size, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED)

    def write(self, address: int, data: bytes) -> None:
        """Write bytes."""
        ctypes.memmove(address, data, len(data))
