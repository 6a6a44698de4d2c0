# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program for Linux on an x86-64 processor that this one is not.

    python test/emulator --cpu skylake-x --host build/emulator/host.so PROGRAM ARGUMENT...

The processor is that of Bochs. The process has one thread and makes the system calls that programs
of tests need; one that is not known ends it with a message, as a fault does.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from calls import SystemCalls
from memory import Memory
from processor import MODELS, Processor
from program import load, make_stack


def main() -> None:
    parser = argparse.ArgumentParser(prog="test/emulator", description=__doc__)
    parser.add_argument("--cpu", choices=MODELS, required=True)
    parser.add_argument("--host", type=Path, required=True, help="the library of host.c")
    parser.add_argument("program", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    arguments = [str(options.program), *options.arguments]
    memory = Memory()
    processor = Processor(options.cpu, options.host, memory)
    permit_tiles = processor.permit_tiles if processor.has_tiles else None
    calls = SystemCalls(arguments[0], memory, processor.set_fs_base, permit_tiles)
    try:
        program = load(memory, options.program)
        interpreter = load(memory, Path(program.interpreter)) if program.interpreter else None
    except (OSError, ValueError) as error:
        parser.error(str(error))
    stack = make_stack(memory, arguments, os.environ, program, interpreter)
    processor.run((interpreter or program).entry, stack, calls.make)


if __name__ == "__main__":
    main()
