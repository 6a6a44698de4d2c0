"""A signal ends a program that runs on and on, in both modes, soon and with its own exception."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest

PROGRAMS = {
    # One function that calls kernels, each of some 0.1 s, for most of a minute.
    "kernels": """
        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorStructInfo((2048, 2048), "float32"))
        with bb.function("main", [x]):
            y = x
            for _ in range(400):
                y = bb.emit(op.matmul(y, x))
            bb.emit_func_output(y)
        arguments = [np.zeros((2048, 2048), "float32")]
        """,
    # An endless loop by calls of itself, which take no stack.
    "tail-recursion": '''
        bb = """
        relax.func @main(%c: !relax.tensor<[], i1>) -> !relax.tensor<[], i1> {
          %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[], i1> {
            %1 = relax.call @main(%c) : (!relax.tensor<[], i1>) -> !relax.tensor<[], i1>
            relax.yield %1 : !relax.tensor<[], i1>
          } else {
            relax.yield %c : !relax.tensor<[], i1>
          }
          relax.return %0 : !relax.tensor<[], i1>
        }"""
        arguments = [np.array(True)]
        ''',
}
PROGRAM = """
import signal, sys, time
import numpy as np
import relax_mlir as relax
from relax_mlir import op
{program}
signal.signal(signal.SIGINT, signal.default_int_handler)
{handler}
main = relax.VirtualMachine(relax.compile(bb, exec_mode={mode!r}, opt_level=1))["main"]
print("runs", flush=True)
try:
    main(*arguments)
except BaseException as error:
    print(type(error).__name__, error.args, flush=True)
    raise
"""


def run(name: str, mode: str, number: int, handler: str = "") -> tuple[str, int]:
    """Send a signal to a program that runs on; return its last line and its exit."""
    program = textwrap.dedent(PROGRAMS[name])
    text = PROGRAM.format(program=program, mode=mode, handler=handler)
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout and process.stdout.readline() == "runs\n", process.communicate()[1]
        time.sleep(0.3)
        process.send_signal(number)
        line, _ = process.communicate(timeout=120)  # the program itself would take longer
        return line.strip(), process.returncode
    finally:
        process.kill()


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_control_c_ends_a_run(name: str, mode: str) -> None:
    line, _ = run(name, mode, signal.SIGINT)
    assert line == "KeyboardInterrupt ()"


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_a_handler_chooses_the_exception(mode: str) -> None:
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    line, code = run("kernels", mode, signal.SIGTERM, handler)
    assert (line, code) == ("SystemExit (7,)", 7)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_sigterm_is_not_swallowed(mode: str) -> None:
    line, code = run("tail-recursion", mode, signal.SIGTERM)
    assert (line, code) == ("", -signal.SIGTERM)
