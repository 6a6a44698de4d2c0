# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates the programs of the lit tests and sends them through parser, verifier and all passes.

A mutant may be refused, in words. It must not crash or hang. Passes also run where they do not
stand in the pipeline, and must refuse what they cannot take. It counts as a finding, too,

- when a pass that says it succeeded leaves an invalid module behind, or reported an error;
- when a pass fails, or the verifier refuses, without an error;
- when the text of a module is not parsed again, or reads otherwise then;
- when the check of well-formedness finds nothing in a module that the verifier refuses.

Mutants are numbered; a number and a seed make the same mutant again. Mutations are of bytes and
tokens of the text, of its lines, and of the parsed program: operands, types, attributes, the order
and number of operations, and their regions.

Passes and pipelines are those that relax-opt lists with "relax" in their names, in each value of
their options, and those of MLIR that suit any dialect. The phases also run one after the other.
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
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ANCHORS = ["", "relax.func", "func.func"]  # what passes run on, in a module
GENERAL = {"canonicalize", "control-flow-sink", "cse", "inline", "sccp", "symbol-dce"}
LISTED = re.compile(r"^ {6}--([\w-]+) |^ {8}--([\w-]+)=<value>|^ {4}=([\w-]+) ", re.MULTILINE)
TOKEN = re.compile(r'"[^"\n]*"|[!#%@^]?[\w.$-]+|[^\w\s]')
HOW_OFTEN = [1, 1, 1, 2, 3]  # a program is changed before it is tried
SECONDS = 20  # a mutant that takes longer hangs
MEMORY = 6 << 30
OPTIONS = re.compile(r"^//.*$", re.MULTILINE)

# The stages of a mutant before its pipelines, which count from 0.
PARSER, VERIFIER = -2, -1
STAGES = {PARSER: "parser", VERIFIER: "verifier or printer"}
# Assertions of MLIR itself, with what a program has then: its parser drops a region of wrong text
# whose blocks use one another, reads on behind a wrong string among the resources of a file, and
# takes the iterator types of linalg.generic for strings. The verifier of a schedule resolves calls
# before names are known to be unique.
OF_MLIR = {
    "expected region to contain uniquely named symbol": r"transform\.with_named_sequence",
    "Cannot destroy a value that still has uses!": "",
    "shouldn't advance past EOF or errors": "",
    "To = mlir::StringAttr; From = mlir::Attribute": r'iterator_types = \[(?!("[^"]*"(, )?)*\])',
}
# An error of MLIR's verifier that comes late: it compares the sizes of operands of linalg once all
# of them are known, so that a pass which finds one more seems to have made others wrong.
LATE = "inferred input/output operand"

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
ATTRIBUTES = [
    "unit",
    "false",
    '""',
    '"\\FF"',
    "@nowhere",
    "@outer::@inner",
    "[]",
    "[1 : i64, @f]",
    "{}",
    "dense<1> : tensor<2xi32>",
    "array<i64: 0, 0>",
    "array<i64>",
    "array<i32: 1, -1>",
    "#relax.expr<n * 2>",
    "() -> ()",
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


def registered() -> list[str]:
    """Return the passes and pipelines that relax-opt lists, with each value of their options."""
    tool = shutil.which("relax-opt")
    if tool is None:
        sys.exit("expected relax-opt in PATH")
    listed = subprocess.run([tool, "--help"], check=True, capture_output=True, text=True)
    found: list[str] = []
    name = option = ""
    ours = False
    for listed_name, listed_option, value in LISTED.findall(listed.stdout):
        if listed_name:
            name = listed_name
            ours = name in GENERAL or "relax" in name.split("-")
            found += [name] if ours else []
        elif listed_option:
            option = listed_option
        elif ours:
            if found[-1] == name:
                found.pop()
            found.append(f"{name}{{{option}={value}}}")
    return found


def on_module(name: str) -> str:
    """Return a pass as a pipeline on a module."""
    from mlir import ir
    from mlir.passmanager import PassManager
    from relax_mlir.core.context import current_context

    with current_context():
        for anchor in ANCHORS:
            pipeline = f"builtin.module({anchor}({name}))" if anchor else f"builtin.module({name})"
            with contextlib.suppress(ir.MLIRError, ValueError):
                PassManager.parse(pipeline)
                return pipeline
    sys.exit(f"expected a pass that runs on a module or function, but got {name}")


def chains() -> list[list[str]]:
    """Return lists of pipelines that run one after the other on a mutant."""
    from relax_mlir import phases
    from relax_mlir.transform.options import CHECKS, CompileOptions
    from relax_mlir.transform.phases import pipeline_of

    found = [[on_module(name)] for name in registered()]
    for checks in CHECKS:
        options = CompileOptions(checks=checks)
        pipelines = (pipeline_of(name, options) for name, _ in phases())
        found.append([pipeline for pipeline in pipelines if pipeline is not None])
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
    # Surrogates stand for bytes that are not UTF-8, which is no text of a module.
    return data.decode(errors=rng.choice(["replace"] * 7 + ["surrogateescape"]))


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


def parsed(attribute: str) -> Any:
    """Return an attribute of its text."""
    from mlir import ir

    return ir.Attribute.parse(attribute)


def mutate_attributes(op: Any, donor: Any, rng: random.Random) -> None:
    """Drop an attribute of an operation, or set it to that of another one or an awkward one."""
    if not len(op.attributes):
        return
    name = rng.choice(list(op.attributes))
    kind = rng.randrange(4)
    if kind == 0:
        del op.attributes[name]
    elif kind == 1:
        theirs = [donor.attributes[other] for other in donor.attributes]
        op.attributes[name] = rng.choice(theirs or [parsed("unit")])
    elif kind == 2:
        op.attributes[name] = parsed(rng.choice([*ATTRIBUTES, *TYPES]))
    else:
        op.attributes[name] = parsed(f"{rng.choice(NUMBERS)} : i64")


def mutate_operands(op: Any, values: Sequence[Any], rng: random.Random) -> None:
    """Replace an operand, or swap two."""
    count = len(op.operands)
    if count == 0 or not values:
        return
    one, other = rng.randrange(count), rng.randrange(count)
    if one != other and rng.randrange(2):
        first, second = op.operands[one], op.operands[other]
        op.operands[one], op.operands[other] = second, first
    else:
        op.operands[one] = rng.choice(values)


def erase(op: Any, values: Sequence[Any], rng: random.Random) -> None:
    """Remove an operation; others use other values instead, of the same type where there are."""
    inner = {op, *walk(op)}
    own = {value for o in inner for value in o.results}
    captured = [use.owner for value in own - set(op.results) for use in value.uses]
    captured += [use.owner for o in inner for a in arguments(o) for use in a.uses]
    if any(user.operation not in inner for user in captured):
        return
    for result in op.results:
        others = [v for v in values if v not in own and not is_inside(v, inner)]
        alike = [v for v in others if v.type == result.type]
        if len(list(result.uses)) and not others:
            return
        if others:
            result.replace_all_uses_with(rng.choice(alike or others))
    with contextlib.suppress(ValueError):  # what would leave uses behind is refused
        op.erase()


def arguments(op: Any) -> list[Any]:
    """Return the arguments of the blocks of an operation."""
    return [a for region in op.regions for block in region.blocks for a in block.arguments]


def is_inside(value: Any, ops: set[Any]) -> bool:
    """Say whether a value is an argument of a block of these operations."""
    from mlir import ir

    return isinstance(value.owner, ir.Block) and value.owner.owner.operation in ops


def mutate_module(module: Any, rng: random.Random) -> None:
    """Change a parsed program in place; it may become invalid."""
    from mlir import ir

    for _ in range(rng.choice(HOW_OFTEN)):
        ops = list(walk(module.operation))
        if not ops:
            return
        op, target = rng.choice(ops), rng.choice(ops)
        values = [v for o in ops for v in o.results]
        values += [a for o in ops for a in arguments(o)]
        kind = rng.randrange(9)
        if kind <= 1:
            mutate_operands(op, values, rng)
        elif kind == 2 and values:
            rng.choice(values).set_type(ir.Type.parse(rng.choice(TYPES)))
        elif kind in (3, 4) and op.name.startswith("relax."):
            with contextlib.suppress(ValueError):  # the printers of others do not bear it
                mutate_attributes(op, target, rng)
        elif kind == 5 and target != op and target not in list(walk(op)):
            op.move_before(target)
        elif kind == 6:
            erase(op, values, rng)
        elif kind == 7:
            op.clone(ip=ir.InsertionPoint(target))
        elif kind == 8 and len(op.regions) and len(op.regions[0].blocks):
            for inner in list(op.regions[0].blocks[0].operations):
                if target not in [inner.operation, *walk(inner.operation)]:
                    inner.operation.move_before(target)


# --------------------------------------------------------------------------------------------- runs


@dataclass
class Corpus:
    """The programs that mutants are made of, and the pipelines that they go through."""

    programs: list[str]
    chains: list[list[str]]
    seed: int

    def __post_init__(self) -> None:
        words = {token.group() for text in self.programs for token in TOKEN.finditer(text)}
        self.pool = sorted(words)
        self.valid: list[str] = []

    def sort_out(self) -> None:
        """Find the valid programs, once: mutants of the others are refused at once, most often."""
        if self.valid:
            return
        from mlir import ir
        from relax_mlir.core.context import current_context

        with current_context() as context, ir.Location.unknown():
            context.allow_unregistered_dialects = True
            for text in self.programs:
                with contextlib.suppress(ir.MLIRError):
                    ir.Module.parse(text)
                    self.valid.append(text)

    @property
    def stages(self) -> list[str]:
        """All pipelines, in the order in which a mutant goes through them."""
        return [pipeline for chain in self.chains for pipeline in chain]

    def mutant(self, number: int) -> tuple[str, random.Random, bool]:
        """Return the text of a mutant, its random numbers, and whether to change it once parsed."""
        rng = random.Random(self.seed * 1_000_003 + number)
        text = rng.choice(self.programs if number % 7 == 0 else self.valid)
        kind = number % 6
        if kind == 0:
            return mutate_bytes(text, rng), rng, False
        if kind == 1:
            return mutate_tokens(text, rng, self.pool), rng, False
        if kind == 2:
            return mutate_types(text, rng), rng, False
        if kind == 3:
            return mutate_lines(text, rng, rng.choice(self.programs)), rng, False
        return text, rng, True


def managers(corpus: Corpus) -> list[list[Any]]:
    """Return the pass managers of all pipelines, which do not verify by themselves."""
    from mlir.passmanager import PassManager
    from relax_mlir.core.context import current_context

    with current_context():
        found = [[PassManager.parse(pipeline) for pipeline in chain] for chain in corpus.chains]
    for manager in (manager for chain in found for manager in chain):
        manager.enable_verifier(False)
    return found


def refusals(run: Callable[[], Any]) -> tuple[bool, list[Any]]:
    """Run something that MLIR may refuse; say whether it did not, and the errors."""
    from mlir import ir
    from relax_mlir.core.context import current_context
    from relax_mlir.core.diagnostics import collect_errors

    succeeded = False
    with collect_errors(current_context()) as errors, contextlib.suppress(ir.MLIRError):
        run()
        succeeded = True
    return succeeded, errors


def in_words(errors: Sequence[Any]) -> str:
    """Return errors as text."""
    return "; ".join(f"{error.message} at {error.location}" for error in errors) or "no error"


def parse(text: str) -> Any:
    """Return the module that a text gives, not verified, or None where it is refused."""
    from relax_mlir import _mlir_libs
    from relax_mlir.core.context import current_context
    from relax_mlir.core.diagnostics import check_text, collect_errors

    try:
        check_text(text)
    except ValueError:
        return None
    with collect_errors(current_context()) as errors:
        module = _mlir_libs._relax_mlir.parse_unverified(text, current_context())
    return None if errors else module


def check_refused(module: Any) -> Iterator[str]:
    """Yield what should not have happened to a module that the verifier refuses."""
    from relax_mlir.analysis import well_formed

    str(module)
    if not well_formed(module):
        yield f"the check of well-formedness finds nothing, but: {in_words(verify(module)[1])}"


def verify(module: Any) -> tuple[bool, list[Any]]:
    """Verify a module; say whether it is valid, and the errors."""
    return refusals(module.operation.verify)


def run_chain(module: Any, pipelines: Sequence[str], runs: Sequence[Any]) -> Iterator[str | None]:
    """Run pipelines one after the other; yield what should not have happened, or None for each."""
    for pipeline, manager in zip(pipelines, runs, strict=True):
        yield None
        succeeded, errors = refusals(lambda manager=manager: manager.run(module.operation))
        if not succeeded:
            if not errors:
                yield f"{pipeline} failed without an error"
            return
        if errors:
            yield f"{pipeline} succeeded with errors: {in_words(errors)}"
            return
        valid, errors = verify(module)
        if not valid:
            if LATE not in in_words(errors):
                yield f"{pipeline} made it invalid: {in_words(errors)}"
            return


def run_mutant(
    corpus: Corpus, number: int, runs: Sequence[Any], enter: Callable[[int], None]
) -> Iterator[str]:
    """Send one mutant through everything; yield what should not have happened."""
    from mlir import ir
    from relax_mlir import _mlir_libs
    from relax_mlir.core.context import current_context

    text, rng, later = corpus.mutant(number)
    with current_context(), ir.Location.unknown():
        module = parse(text)
        if module is None:
            return
        enter(VERIFIER)
        if later:
            mutate_module(module, rng)
        valid, errors = verify(module)
        if valid == bool(errors):
            yield f"the verifier says {valid}, with {in_words(errors)}"
        if not valid:
            yield from check_refused(module)
            return
        printed = str(module)
        again = parse(printed)
        if again is None or not verify(again)[0]:
            yield f"printed text is not parsed again:\n{printed}"
            return
        # Resources of elements get new names.
        if str(again) != printed and "dense_resource" not in printed:
            yield f"printed text reads otherwise:\n{printed}\nand then:\n{again}"
        stage = 0
        for pipelines, chain in zip(corpus.chains, runs, strict=True):
            copy = _mlir_libs._relax_mlir.clone_module(again)
            enter(stage)
            for offset, finding in enumerate(run_chain(copy, pipelines, chain)):
                if finding is None:
                    enter(stage + offset)
                else:
                    yield finding
            stage += len(chain)


def work(corpus: Corpus, numbers: range, at: Any, stage: Any, findings: Any, log: str) -> None:
    """Run mutants in a process of their own; `at` and `stage` say where it is."""

    def enter(index: int) -> None:
        stage.value = index

    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which takes terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Path(log).open("wb", buffering=0) as file:
        os.dup2(file.fileno(), 2)
        corpus.sort_out()
        runs = managers(corpus)
        for number in numbers:
            at.value, stage.value = number, PARSER
            file.truncate(0)
            try:
                for finding in run_mutant(corpus, number, runs, enter):
                    findings.put((number, finding))
            except Exception as error:  # of the bindings, with what the stage is known to be
                findings.put((number, f"stage {stage.value}: {type(error).__name__}: {error}"))
    at.value = numbers.stop


class Worker:
    """A process for a range of mutants, which starts again after one that kills it."""

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
        number, stage = self.at.value, self.stage.value  # it may have gone on since `now`
        where = STAGES.get(stage) or self.corpus.stages[stage]
        code = self.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        words = Path(self.log).read_text(errors="replace").strip().split("\n")
        kind = f"hang of more than {SECONDS} s" if hangs else f"{name}: {' '.join(words[:3])[:400]}"
        if stage not in STAGES or not self.is_of_mlir(number, kind):
            self.findings.put((number, f"{where}: {kind}"))
        if number + 1 >= self.numbers.stop:
            return False
        self.start(range(number + 1, self.numbers.stop))
        return True

    def is_of_mlir(self, number: int, kind: str) -> bool:
        """Whether the parser or verifier ended by an assertion that is none of ours."""
        patterns = [has for assertion, has in OF_MLIR.items() if assertion in kind]
        if any(patterns):
            self.corpus.sort_out()
        return any(not has or re.search(has, self.corpus.mutant(number)[0]) for has in patterns)


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
    options = parser.parse_args()
    corpus = Corpus(programs(ROOT / "test" / "lit"), chains(), options.seed)
    if options.show is not None:
        corpus.sort_out()
        text, rng, later = corpus.mutant(options.show)
        if later:
            from mlir import ir
            from relax_mlir.core.context import current_context

            with current_context(), ir.Location.unknown():
                module = parse(text)
                mutate_module(module, rng)
                text = module.operation.get_asm(print_generic_op_form=True, assume_verified=False)
        print(text)
        return 0
    numbers = range(options.first, options.first + options.count)
    start = time.monotonic()
    found = fuzz(corpus, numbers, options.jobs)
    seconds = f"{time.monotonic() - start:.0f} s"
    print(
        f"{len(numbers)} mutants of {len(set(corpus.programs))} programs,"
        f" {len(corpus.stages)} pipelines, in {seconds}: {len(found)} findings"
    )
    return 1 if found else 0


if __name__ == "__main__":
    # Memory that is given back is overwritten, so that reading it does not go well by chance.
    if "MALLOC_PERTURB_" not in os.environ:
        os.environ["MALLOC_PERTURB_"] = "165"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.exit(main())
