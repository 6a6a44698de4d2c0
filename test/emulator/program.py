# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Linux does to start a program: its segments, its interpreter, and the first stack."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory import (
    MAP_FIXED,
    MAP_PRIVATE,
    PAGE,
    PROT_EXEC,
    PROT_READ,
    PROT_WRITE,
    Memory,
    round_up,
)

PT_LOAD, PT_INTERP = 1, 3
ET_DYN, EM_X86_64 = 3, 62
STACK = 8 << 20

AT_PHDR, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_ENTRY = 3, 4, 5, 6, 7, 9
AT_UID, AT_EUID, AT_GID, AT_EGID, AT_PLATFORM, AT_CLKTCK = 11, 12, 13, 14, 15, 17
AT_SECURE, AT_RANDOM, AT_EXECFN = 23, 25, 31


@dataclass(frozen=True)
class Image:
    """A file that is mapped: where it begins and is entered, and where its segments are listed."""

    base: int
    entry: int
    headers: int
    header_count: int
    interpreter: str | None


def load(memory: Memory, path: Path) -> Image:
    """Map the segments of a position-independent program, or of an interpreter."""
    with path.open("rb") as file:
        data = file.read(64)
        if len(data) < 64 or data[:6] != b"\x7fELF\2\1":
            raise ValueError(f"{path}: expected a program in ELF of 64 bits")
        kind, machine, _, entry, offset = struct.unpack_from("<HHIQQ", data, 16)
        if (kind, machine) != (ET_DYN, EM_X86_64):
            raise ValueError(f"{path}: expected a position-independent program for x86-64")
        size, count = struct.unpack_from("<HH", data, 54)
        file.seek(offset)
        headers = [struct.unpack("<IIQQQQQQ", file.read(size)) for _ in range(count)]
        segments = [header for header in headers if header[0] == PT_LOAD]
        base = memory.reserve(max(header[3] + header[6] for header in segments))
        for segment in segments:
            _map(memory, file.fileno(), base, segment)
        interpreter = None
        for header in headers:
            if header[0] == PT_INTERP:
                file.seek(header[2])
                interpreter = file.read(header[5]).rstrip(b"\0").decode()
    return Image(base, base + entry, base + offset, count, interpreter)


def _map(memory: Memory, fd: int, base: int, segment: tuple[int, ...]) -> None:
    _, flags, offset, address, _, in_file, in_memory, _ = segment
    prot = (flags & 4 and PROT_READ) | (flags & 2 and PROT_WRITE) | (flags & 1 and PROT_EXEC)
    start = base + address // PAGE * PAGE
    skipped = address % PAGE
    mapped = round_up(skipped + in_file)
    memory.map(mapped, prot, start, MAP_PRIVATE | MAP_FIXED, fd, offset - skipped)
    if in_memory <= in_file:
        return
    end = base + address + in_file
    memory.write(end, bytes(start + mapped - end))
    if rest := round_up(skipped + in_memory) - mapped:
        memory.map(rest, prot, start + mapped)


def make_stack(
    memory: Memory,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    program: Image,
    interpreter: Image | None,
) -> int:
    """Return where the stack begins: arguments, variables, and what the kernel tells a process."""
    top = memory.map(STACK, PROT_READ | PROT_WRITE) + STACK

    def push(data: bytes) -> int:
        nonlocal top
        top -= len(data)
        memory.write(top, data)
        return top

    name = push(os.fsencode(arguments[0]) + b"\0")
    given = [push(os.fsencode(text) + b"\0") for text in arguments]
    settings = [push(os.fsencode(f"{key}={text}") + b"\0") for key, text in variables.items()]
    auxiliary = {
        AT_PHDR: program.headers,
        AT_PHENT: 56,
        AT_PHNUM: program.header_count,
        AT_PAGESZ: PAGE,
        AT_BASE: interpreter.base if interpreter else 0,
        AT_ENTRY: program.entry,
        AT_UID: os.getuid(),
        AT_EUID: os.geteuid(),
        AT_GID: os.getgid(),
        AT_EGID: os.getegid(),
        AT_PLATFORM: push(b"x86_64\0"),
        AT_CLKTCK: 100,
        AT_SECURE: 0,
        AT_RANDOM: push(os.urandom(16)),
        AT_EXECFN: name,
    }
    words = [len(given), *given, 0, *settings, 0]
    words += [word for pair in auxiliary.items() for word in pair]
    words += [0, 0]
    top = (top - 8 * len(words)) // 16 * 16
    memory.write(top, struct.pack(f"<{len(words)}Q", *words))
    return top
