# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations say how far they have come."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
import relax_mlir
from relax_mlir import op, progress
from relax_mlir.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def model(products: int = 2) -> relax_mlir.IRModule:
    bb = relax_mlir.BlockBuilder()
    x = relax_mlir.Var("x", relax_mlir.TensorStructInfo(("n", 8), "float32"))
    with bb.function("main", [x]):
        y = x
        for i in range(products):
            y = op.matmul(y, op.const(np.full((8, 8), i, dtype="float32")))
            y = bb.emit(op.nn.softmax(op.add(y, x)))
        bb.emit_func_output(y)
    return bb.get()


def test_a_function_is_told_of_each_phase() -> None:
    told: list[Progress] = []
    relax_mlir.compile(model(), progress=told.append)
    phases = list(dict.fromkeys(event.phase for event in told))
    assert phases == [*(name for name, _ in relax_mlir.phases()), "machine code"]
    code = [event for event in told if event.phase == "machine code"]
    assert code[0].done == 0
    assert code[-1].done == code[-1].total >= 3  # main and two kernels at least
    assert [event.done for event in code] == sorted(event.done for event in code)
    assert all(event.total == 0 for event in told if event not in code)
    seconds = [event.seconds for event in told]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


def test_what_the_function_raises_ends_the_compilation() -> None:
    def refuse(event: Progress) -> None:
        if event.phase == "machine code":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        relax_mlir.compile(model(), progress=refuse)


def test_a_terminal_shows_a_line_that_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    relax_mlir.compile(model(), progress=True)
    lines = terminal.getvalue().split("\r")
    assert any(line.startswith("relax-mlir: legalize (") for line in lines)
    assert any(line.startswith("relax-mlir: machine code ") for line in lines)
    assert "\n" not in terminal.getvalue()
    assert lines[-1] == ""
    assert lines[-2].strip() == ""


def test_short_compilations_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 1000.0)
    relax_mlir.compile(model(1))
    assert terminal.getvalue() == ""
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    relax_mlir.compile(model(1))
    assert terminal.getvalue() != ""
    terminal.seek(0)
    terminal.truncate()
    relax_mlir.compile(model(1), progress=False)
    assert terminal.getvalue() == ""


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    relax_mlir.compile(model(1))
    monkeypatch.setattr(sys, "stderr", None)
    relax_mlir.compile(model(1))
    assert stream.getvalue() == ""
