# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages artefacts and loads them.

Each damaged artefact must be refused with a ValueError that names a section. Half of them are
sealed again: they get the checksums that a hostile file would have, so that what is behind the
checksums is reached; these may also load, as what changed may make sense, but must not crash.

    python test/fuzz/artefacts.py --count 10000

Damages are numbered; a number and a seed make the same damage again. Each batch of them runs in a
process of its own, so that a crash is a finding and not the end. What runs is what reads files: the
machine code of a sealed artefact, which can do anything, is left alone.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import random
import re
import signal
import sys
import time

import numpy as np
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_mlir.op import const

HEADER, ENTRY = 64, 48
NUMBERS = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1]
SECTION = re.compile(r"section '([^']+)'")
BATCH = 1000

_load_bytes = tvm_ffi.get_global_func("relax_mlir.artefact.load_bytes")


def models() -> list[bytes]:
    """Return artefacts of both modes."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 3), "float32"))
    with bb.function("main", [x]):
        weights = const(np.arange(6, dtype="float32").reshape(3, 2))
        bb.emit_func_output(op.nn.relu(op.matmul(x, weights)))
    module = bb.get()
    modes = relax.transform.options.EXEC_MODES
    return [relax.compile(module, exec_mode=mode).to_bytes() for mode in modes]


def make_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def checksum(data: bytes) -> int:
    """Return the CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def seal(data: bytearray) -> None:
    """Give an artefact that still has a header the checksums and the size that it should have."""
    if len(data) < HEADER:
        return
    data[16:24] = len(data).to_bytes(8, "little")
    count = min(int.from_bytes(data[24:28], "little"), (len(data) - HEADER) // ENTRY)
    for place in range(HEADER, HEADER + count * ENTRY, ENTRY):
        offset = int.from_bytes(data[place + 16 : place + 24], "little")
        size = int.from_bytes(data[place + 24 : place + 32], "little")
        # Object files are large and not looked at.
        if data[place : place + 6] != b"object" and offset + size <= len(data):
            data[place + 32 : place + 36] = checksum(data[offset : offset + size]).to_bytes(
                4, "little"
            )
    table = checksum(data[HEADER : HEADER + count * ENTRY])
    data[28:32] = table.to_bytes(4, "little")
    data[60:64] = checksum(data[:60]).to_bytes(4, "little")


def damage(good: bytes, generator: random.Random) -> bytearray:
    """Change an artefact in one to four places."""
    data = bytearray(good)
    # Most of a file is machine code, which is not read: prefer what comes before.
    limit = len(data) if generator.random() < 0.2 else min(len(data), 4096)
    for _ in range(generator.choice([1, 1, 1, 2, 4])):
        place = generator.randrange(max(1, min(limit, len(data))))
        kind = generator.randrange(6)
        if kind == 0 and data:
            data[place] ^= 1 << generator.randrange(8)
        elif kind == 1 and data:
            data[place] = generator.randrange(256)
        elif kind == 2:
            number = generator.choice(NUMBERS).to_bytes(8, "little")
            width = generator.choice([1, 2, 4, 8])
            data[place : place + width] = number[:width]
        elif kind == 3:
            del data[generator.randrange(len(data) + 1) :]
        elif kind == 4:
            del data[place : place + generator.randrange(1, 64)]
        else:
            start = generator.randrange(max(1, len(data)))
            data[place:place] = data[start : start + generator.randrange(1, 64)]
    return data


def run_batch(first: int, count: int, seed: int, results: multiprocessing.Queue[object]) -> None:
    """Load a number of damaged artefacts; report what each came to."""
    signal.alarm(600)
    good = models()
    for number in range(first, first + count):
        generator = random.Random(f"{seed}-{number}")
        original = good[number % len(good)]
        data = damage(original, generator)
        is_sealed = generator.random() < 0.5
        if is_sealed:
            seal(data)
        outcome = ""
        try:
            _load_bytes(bytes(data), True)
            if is_sealed or data == original:
                outcome = "loaded"
            else:
                outcome = "finding: a damaged artefact was loaded"
        except ValueError as error:
            named = SECTION.search(str(error))
            outcome = f"refused: {named[1]}" if named else f"finding: no section in <{error}>"
        except Exception as error:
            outcome = f"finding: {error!r}"
        results.put((number, outcome))
    results.put(None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start = time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    findings: list[str] = []
    context = multiprocessing.get_context("spawn")
    for first in range(arguments.first, arguments.first + arguments.count, BATCH):
        count = min(BATCH, arguments.first + arguments.count - first)
        results = context.Queue()
        process = context.Process(target=run_batch, args=(first, count, arguments.seed, results))
        process.start()
        done, last = 0, None
        while done < count:
            try:
                item = results.get(timeout=1)
            except Exception:
                if process.is_alive():
                    continue
                findings.append(f"after {last}: the process ended with {process.exitcode}")
                break
            last, outcome = item
            done += 1
            counts[outcome.split(": <")[0]] += 1
            if outcome.startswith("finding"):
                findings.append(f"{last}: {outcome}")
        process.join()
    total = sum(counts.values())
    print(f"{total} artefacts in {time.monotonic() - start:.0f} s, {len(findings)} findings")
    for outcome, number in counts.most_common():
        print(f"{number:7} {outcome}")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
