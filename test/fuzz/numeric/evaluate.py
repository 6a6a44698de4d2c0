# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs a program with each set of its options, at each of its sizes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from compare import Counts, Difference, Expected, flatten
from inputs import elements, laid_out
from memory import GuardedTensor, as_argument, elements_of
from mlir import ir
from options import arguments
from plan import Node, Program, build, dims_of, needs_shape, size_of
from relax_mlir import VirtualMachine, compile  # noqa: A004
from relax_mlir.core.context import current_context
from relax_mlir.reference import Tensor
from relax_mlir.runtime import set_num_threads
from relax_runtime.disco import communicator

CONFIRMATIONS = 64
MEASURED = 8  # one of so many programs is measured

Progress = Callable[[int, int], None]


@dataclass
class Outcome:
    """The outcome of a program.

    Attributes
    ----------
    kind : str
        "ok", or what is wrong: "wrong number", "error", "no error" where the reference has one,
        "compile error", "build error", "written", "crash", "timeout"; "misfit": nothing was drawn.
    message : str
    option, size : int
        With which options and at which size.
    counts : Counts
    refused : list of str
        Runs that the reference refuses, or cannot do.
    difference : Difference, optional
    """

    kind: str = "ok"
    message: str = ""
    option: int = 0
    size: int = 0
    counts: Counts = field(default_factory=Counts)
    refused: list[str] = field(default_factory=list)
    difference: Difference | None = None
    program: Program | None = None


@dataclass
class Arguments:
    """The arguments of a run: for the reference, and for the compiled program."""

    plain: list[Any]
    tensors: list[GuardedTensor]
    given: list[Any]


def make_arguments(program: Program, sizes: dict[str, int], at_end: bool) -> Arguments:
    """Return the arguments of a program at some sizes."""
    plain: list[Any] = []
    tensors: list[GuardedTensor] = []
    with current_context():
        for param in program.params:
            type_ = ir.Type.parse(param.type)
            shape = tuple(size_of(d, sizes) for d in dims_of(type_))
            dtype = str(type_.dtype)
            array = laid_out(elements(param.data, shape, dtype), param.data.layout)
            plain.append(Tensor(array, dtype))
            tensors.append(as_argument(array, dtype, at_end))
    extra = []
    if needs_shape(program):
        extra = [tvm_ffi.Shape(tuple(sizes[name] for name in program.variables))]
    return Arguments(plain + extra, tensors, [*tensors, *extra])


def has_winograd(nodes: tuple[Node, ...]) -> bool:
    """Say whether some convolution may be one of Winograd's."""
    return any(
        node.op == "conv2d" or any(has_winograd(body.nodes) for body in node.bodies)
        for node in nodes
    )


@functools.cache
def become_worker() -> None:
    """Make this thread the only worker of a session, for operators that all compute together."""
    communicator.become_worker(communicator.make(1, 1, 0.0), 0, 0)
    communicator.begin(1)


def evaluate(program: Program, progress: Progress = lambda option, size: None) -> Outcome:
    """Run a program; return the first thing that is wrong."""
    become_worker()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = build(program)
        return Evaluation(program, module, progress).outcome()


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class Evaluation:
    """The runs of a program."""

    def __init__(self, program: Program, module: Any, progress: Progress) -> None:
        self.program, self.module, self.progress = program, module, progress
        self.expected: dict[int, Expected | BaseException] = {}
        self.found = Outcome()
        number = program.name.rsplit(" ", 1)[-1]
        self.is_measured = number.isdigit() and int(number) % MEASURED == 0

    def outcome(self) -> Outcome:
        """Run it."""
        for option, row in enumerate(self.program.options):
            self.progress(option, -1)
            try:
                executable = compile(self.module, **arguments(row))
                function = VirtualMachine(executable)["main"]
            except Exception as error:
                return self._finding("compile error", _sentence(error), option, 0)
            set_num_threads(row.get("threads", 1))
            for size in range(len(self.program.sizes)):
                self.progress(option, size)
                found = self._run(function, option, size)
                if found is not None:
                    return found
        return self.found

    def _finding(self, kind: str, message: str, option: int, size: int) -> Outcome:
        self.found.kind, self.found.message = kind, message
        self.found.option, self.found.size = option, size
        return self.found

    def _expect(self, size: int, args: Arguments) -> Expected | BaseException:
        if size not in self.expected:
            try:
                self.expected[size] = Expected(self.module, args.plain, self.is_measured)
            except Exception as error:
                self.expected[size] = error
                self.found.refused.append(_sentence(error)[:300])
        return self.expected[size]

    def _run(self, function: Any, option: int, size: int) -> Outcome | None:
        row = self.program.options[option]
        at_end = (option + size) % 2 == 0
        args = make_arguments(self.program, self.program.sizes[size], at_end)
        expected = self._expect(size, args)
        try:
            actual = [elements_of(tensor) for tensor in flatten(function(*args.given))]
        except Exception as error:
            if isinstance(expected, BaseException):
                return None
            return self._finding("error", _sentence(error), option, size)
        if isinstance(expected, BaseException):
            if row.get("checks") == "necessary":
                return None
            return self._finding("no error", f"expected {_sentence(expected)}", option, size)
        if not all(tensor.is_unchanged() for tensor in args.tensors):
            return self._finding("written", "an argument was written to", option, size)
        is_winograd = bool(row.get("winograd", True)) and has_winograd(self.program.nodes)
        counts, difference = expected.compare(actual, row, is_winograd)
        if difference is not None:
            expected.more(CONFIRMATIONS, bool(row.get("fast_math")))
            counts, difference = expected.compare(actual, row, is_winograd)
        self.found.counts.add(counts)
        if difference is None:
            return None
        self.found.difference = difference
        return self._finding("wrong number", str(difference), option, size)
