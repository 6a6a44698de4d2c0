# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates the programs of the lit tests and sends them through parser, verifier and all passes.

A mutant may be refused, in words. It must not crash or hang. Passes also run where they do not
stand in the pipeline: with --strict it counts, too, when one that says it succeeded leaves an
invalid module behind, and when the text of a module is not parsed again. Mutants are numbered; a
number and a seed make the same mutant again.

Mutations are of bytes and tokens of the text, of its lines, and of the parsed program: operands,
types, attributes and the order of operations.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PASS = re.compile(r'Pass<"([\w-]+)"(?:,\s*"([\w:]+)")?')
ANCHORS = {"::mlir::relax::FuncOp": "relax.func", "::mlir::func::FuncOp": "func.func"}
TOKEN = re.compile(r'"[^"\n]*"|[!#%@^]?[\w.$-]+|[^\w\s]')
HOW_OFTEN = [1, 1, 1, 2, 3]  # a program is changed before it is tried
SECONDS = 20  # a mutant that takes longer hangs
MEMORY = 6 << 30
OPTIONS = re.compile(r"^//.*$", re.MULTILINE)

# Values that programs handle badly most often.
NUMBERS = ["0", "-1", "1", "2", "127", "4294967296", "9223372036854775807", "-9223372036854775808"]
TYPES = [
    "!relax.object",
    "!relax.tensor<*>",
    "!relax.tensor<[n, 4], f32>",
    "!relax.tensor<[0], i1>",
    "!relax.tensor<ndim = 2>",
    "!relax.tensor<[n * 9223372036854775807], f32>",
    "!relax.tensor<[], i1>",
    "!relax.tensor<var = s, f32>",
    "!relax.tensor<[m], f32, @gpu>",
    "!relax.shape<*>",
    "!relax.shape<[n, m floordiv n]>",
    "!relax.shape<var = s>",
    "!relax.prim<i64, n>",
    "!relax.prim<f32>",
    "!relax.tuple<>",
    "!relax.tuple<!relax.tensor<[n], f32>, !relax.object>",
    "!relax.func<derive = @default_derive>",
    "!relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>",
    "i64",
    "tensor<?xf32>",
    "memref<4xf32>",
]

# ---------------------------------------------------------------------------------------- programs


def programs(folder: Path) -> list[str]:
    """Return the programs of the lit tests, one for each part of a split file."""
    found = []
    for path in sorted(folder.glob("**/*.mlir")):
        for part in path.read_text(encoding="utf-8").split("// -----"):
            text = OPTIONS.sub("", part).strip()
            if text:
                found.append(text)
    return found


def passes(folder: Path) -> list[str]:
    """Return each pass as a pipeline on a module."""
    found = []
    for path in sorted(folder.glob("**/Passes.td")):
        for name, anchor in PASS.findall(path.read_text(encoding="utf-8")):
            op = ANCHORS.get(anchor)
            found.append(f"builtin.module({op}({name}))" if op else f"builtin.module({name})")
    return found


# ------------------------------------------------------------------------------- mutations of text


def mutate_bytes(text: str, rng: random.Random) -> str:
    """Change, drop, double or insert single bytes."""
    data = bytearray(text.encode())
    for _ in range(rng.choice(HOW_OFTEN)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            data[at:at] = bytes([rng.randrange(256)])
        elif kind == 1:
            del data[at : at + rng.randint(1, 8)]
        elif kind == 2:
            data[at : at + 1] = bytes([rng.randrange(32, 127)])
        else:
            end = at + rng.randint(1, 40)
            data[at:at] = data[at:end]
    # The bindings cannot hand over diagnostics that are not UTF-8.
    return data.decode("ascii", errors="replace").replace("\ufffd", "?")


def mutate_tokens(text: str, rng: random.Random, pool: Sequence[str]) -> str:
    """Replace tokens by others: of the program, of other programs, or awkward ones."""
    for _ in range(rng.choice(HOW_OFTEN)):
        tokens = list(TOKEN.finditer(text))
        if not tokens:
            return text
        token = rng.choice(tokens)
        old = token.group()
        alike = [t.group() for t in tokens if t.group()[0] == old[0] and t.group() != old]
        choices: list[str] = [rng.choice(pool), ""]
        choices += [rng.choice(alike)] * 4 if alike else []
        choices += [rng.choice(NUMBERS)] * 3 if old.lstrip("-").isdigit() else []
        new = rng.choice(choices)
        text = text[: token.start()] + new + text[token.end() :]
    return text


def mutate_types(text: str, rng: random.Random) -> str:
    """Replace whole types."""
    spans = list(re.finditer(r"!relax\.\w+(<[^<>]*(?:<[^<>]*>[^<>]*)*>)?", text))
    for span in sorted(
        rng.sample(spans, min(len(spans), rng.choice(HOW_OFTEN))), key=lambda s: -s.start()
    ):
        text = text[: span.start()] + rng.choice(TYPES) + text[span.end() :]
    return text


def mutate_lines(text: str, rng: random.Random, other: str) -> str:
    """Drop, double, swap or import lines."""
    lines = text.split("\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(to, lines[at])
    elif kind == 2:
        lines[at], lines[to] = lines[to], lines[at]
    else:
        lines.insert(at, rng.choice(other.split("\n")))
    return "\n".join(lines)


# --------------------------------------------------------------------------- mutations of programs


def walk(op: Any) -> Iterator[Any]:
    """Yield all operations inside of `op`, in order."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from walk(inner.operation)


def mutate_module(module: Any, rng: random.Random) -> None:
    """Change a parsed program in place; it may become invalid."""
    from mlir import ir

    for _ in range(rng.choice(HOW_OFTEN)):
        ops = list(walk(module.operation))
        if not ops:
            return
        op = rng.choice(ops)
        values = [v for o in ops for v in o.results]
        values += [a for o in ops for r in o.regions for b in r.blocks for a in b.arguments]
        kind = rng.randrange(7)
        if kind <= 1 and len(op.operands) and values:
            op.operands[rng.randrange(len(op.operands))] = rng.choice(values)
        elif kind == 2 and values:
            rng.choice(values).set_type(ir.Type.parse(rng.choice(TYPES)))
        elif kind in (3, 4) and not op.name.startswith("relax."):
            continue  # the printers of others do not bear it
        elif kind == 3 and len(op.attributes):
            names = list(op.attributes)
            del op.attributes[rng.choice(names)]
        elif kind == 4 and len(op.attributes):
            donor = rng.choice(ops)
            theirs = [donor.attributes[name] for name in donor.attributes]
            with contextlib.suppress(Exception):
                op.attributes[rng.choice(list(op.attributes))] = rng.choice(
                    theirs or [ir.UnitAttr.get()]
                )
        elif kind == 5:
            target = rng.choice(ops)
            if target != op and target not in list(walk(op)):
                op.move_before(target)
        elif len(op.regions) == 0 and not any(len(list(v.uses)) for v in op.results):
            op.erase()


# --------------------------------------------------------------------------------------------- runs


@dataclass
class Corpus:
    """What mutants are made of, and what they go through."""

    programs: list[str]
    pipelines: list[str]
    seed: int
    strict: bool = False

    def __post_init__(self) -> None:
        words = {token.group() for text in self.programs for token in TOKEN.finditer(text)}
        self.pool = sorted(words)
        self.valid: list[str] = []

    def sort_out(self) -> None:
        """Find the valid programs: mutants of the others are refused at once, most often."""
        from mlir import ir
        from relax_mlir.context import current_context

        with current_context() as context, ir.Location.unknown():
            context.allow_unregistered_dialects = True
            for text in self.programs:
                with contextlib.suppress(ir.MLIRError):
                    ir.Module.parse(text)
                    self.valid.append(text)

    def mutant(self, number: int) -> tuple[str, random.Random, bool]:
        """Return the text of a mutant, its random numbers, and whether to change it once parsed."""
        rng = random.Random(self.seed * 1_000_003 + number)
        text = rng.choice(self.programs if number % 7 == 0 else self.valid)
        kind = number % 5
        if kind == 0:
            return mutate_bytes(text, rng), rng, False
        if kind == 1:
            return mutate_tokens(text, rng, self.pool), rng, False
        if kind == 2:
            return mutate_types(text, rng), rng, False
        if kind == 3:
            return mutate_lines(text, rng, rng.choice(self.programs)), rng, False
        return text, rng, True


def managers(corpus: Corpus) -> list[Any]:
    """Return the pass managers of all pipelines, which do not verify by themselves."""
    from mlir.passmanager import PassManager
    from relax_mlir.context import current_context

    with current_context():
        found = [PassManager.parse(pipeline) for pipeline in corpus.pipelines]
    for manager in found:
        manager.enable_verifier(False)
    return found


def run_mutant(
    corpus: Corpus, number: int, runs: Sequence[Any], enter: Callable[[int], None]
) -> Iterator[str]:
    """Send one mutant through everything; yield what should not have happened."""
    from mlir import ir
    from relax_mlir.context import current_context

    text, rng, later = corpus.mutant(number)
    with current_context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return
        if later:
            mutate_module(module, rng)
        try:
            module.operation.verify()
        except ir.MLIRError:
            return
        try:
            again = ir.Module.parse(str(module))
        except ir.MLIRError as error:
            if corpus.strict:
                yield f"printed text is not parsed again: {error}"
            return
        for index, (pipeline, manager) in enumerate(zip(corpus.pipelines, runs, strict=True)):
            enter(index)
            copy = again.operation.clone()
            try:
                manager.run(copy)
            except ir.MLIRError:
                continue
            try:
                copy.operation.verify()
            except ir.MLIRError as error:
                if corpus.strict:
                    yield f"{pipeline} made it invalid: {error}"


def work(corpus: Corpus, numbers: range, at: Any, stage: Any, findings: Any, log: str) -> None:
    """Run mutants in a process of their own; `at` and `stage` say where it is."""

    def enter(index: int) -> None:
        stage.value = index

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Path(log).open("wb", buffering=0) as file:
        os.dup2(file.fileno(), 2)
        corpus.sort_out()
        runs = managers(corpus)
        for number in numbers:
            at.value, stage.value = number, -1
            file.truncate(0)
            try:
                for finding in run_mutant(corpus, number, runs, enter):
                    findings.put((number, finding))
            except Exception as error:  # of the bindings, with what the stage is known to be
                findings.put((number, f"stage {stage.value}: {type(error).__name__}: {error}"))
    at.value = numbers.stop


class Worker:
    """A process for a range of mutants, which starts again behind one that kills it."""

    def __init__(self, corpus: Corpus, numbers: range, findings: Any) -> None:
        self.corpus, self.numbers, self.findings = corpus, numbers, findings
        self.at = multiprocessing.Value(ctypes.c_long, -1, lock=False)
        self.stage = multiprocessing.Value(ctypes.c_long, -1, lock=False)
        self.log = tempfile.NamedTemporaryFile(delete=False).name  # noqa: SIM115
        self.start(numbers)

    def start(self, numbers: range) -> None:
        """Go on with `numbers`."""
        args = (self.corpus, numbers, self.at, self.stage, self.findings, self.log)
        self.process = multiprocessing.Process(target=work, args=args, daemon=True)
        self.seen, self.since = (-2, -2), time.monotonic()
        self.at.value = -1
        self.process.start()

    def poll(self) -> bool:
        """Look after the process; return whether there is more to do."""
        now = (self.at.value, self.stage.value)
        if now != self.seen:
            self.seen, self.since = now, time.monotonic()
        hangs = self.process.is_alive() and time.monotonic() - self.since > SECONDS
        if hangs:
            self.process.kill()
            self.process.join()
        if self.process.is_alive():
            return True
        if self.at.value >= self.numbers.stop:
            return False
        if self.at.value < 0:
            sys.exit(Path(self.log).read_text(errors="replace"))
        number, stage = now
        where = self.corpus.pipelines[stage] if stage >= 0 else "parser, verifier or printer"
        code = self.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        words = Path(self.log).read_text(errors="replace").strip().split("\n")
        kind = f"hang of more than {SECONDS} s" if hangs else f"{name}: {' '.join(words[:3])[:400]}"
        self.findings.put((number, f"{where}: {kind}"))
        if number + 1 >= self.numbers.stop:
            return False
        self.start(range(number + 1, self.numbers.stop))
        return True


def fuzz(corpus: Corpus, numbers: range, jobs: int) -> list[tuple[int, str]]:
    """Run mutants in `jobs` processes; return what was found."""
    findings: Any = multiprocessing.SimpleQueue()
    share = -(-len(numbers) // jobs)
    starts = range(numbers.start, numbers.stop, max(share, 1))
    workers = [Worker(corpus, range(s, min(s + share, numbers.stop)), findings) for s in starts]
    found = []
    while True:
        busy = [worker.poll() for worker in workers]
        while not findings.empty():
            found.append(findings.get())
            print(f"mutant {found[-1][0]}: {found[-1][1]}", flush=True)
        if not any(busy):
            return sorted(found)
        time.sleep(0.1)


def main() -> int:
    """Return 1 where something was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000, help="how many mutants")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, help="print the text of one mutant and end")
    parser.add_argument("--strict", action="store_true", help="count invalid results of passes")
    options = parser.parse_args()
    pipelines = [*passes(ROOT / "include"), "builtin.module(relax-to-llvm)"]
    corpus = Corpus(programs(ROOT / "test" / "lit"), pipelines, options.seed, options.strict)
    if options.show is not None:
        corpus.sort_out()
        text, rng, later = corpus.mutant(options.show)
        if later:
            from mlir import ir
            from relax_mlir.context import current_context

            with current_context(), ir.Location.unknown():
                module = ir.Module.parse(text)
                mutate_module(module, rng)
                text = module.operation.get_asm(print_generic_op_form=True, assume_verified=False)
        print(text)
        return 0
    numbers = range(options.first, options.first + options.count)
    start = time.monotonic()
    found = fuzz(corpus, numbers, options.jobs)
    print(
        f"{len(numbers)} mutants of {len(set(corpus.programs))} programs,"
        f" {len(pipelines)} pipelines, in {time.monotonic() - start:.0f} s: {len(found)} findings"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
