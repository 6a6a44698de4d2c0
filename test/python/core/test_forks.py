"""Children of fork() compile and run, too, whatever the process did before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# With the threads of the compiler, whatever other tests do with.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "RELAX_MLIR_COMPILE_THREADS"}

COMMON = """
import multiprocessing, os, sys, threading, time, warnings
import numpy as np
import relax_mlir as relax
from mlir import ir
from relax_mlir.script import from_source

warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
X = np.ones((4, 4), "float32")
CONTEXT = multiprocessing.get_context("fork")

def program(number):
    return from_source(f'''
@R.function
def main(x: R.Tensor((4, 4), "float32")):
    y = R.nn.softmax(R.matmul(x, x))
    return R.add(y, R.const({number}.0))
''')

def check(number, module=None):
    ex = relax.compile(program(number) if module is None else module, opt_level=0)
    machine = relax.VirtualMachine(ex)
    found = np.from_dlpack(machine["main"](X))
    np.testing.assert_allclose(found, np.full((4, 4), 0.25 + number), rtol=1e-6)

def children(function, *arguments):
    started = [CONTEXT.Process(target=function, args=each) for each in arguments]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert all(process.exitcode == 0 for process in started)
"""

CASES = {
    "children_and_grandchildren": """
def tree(number, depth):
    check(number)
    if depth:
        children(tree, (10 * number, depth - 1), (10 * number + 1, depth - 1))

tree(1, 2)
""",
    "module_of_the_parent": """
module = program(3)
check(3, module)
children(check, (3, module), (3, module))
check(3, module)
""",
    "context_of_ones_own": """
def compile_here(context, number):
    with context:
        check(number)

context = ir.Context()
compile_here(context, 1)
children(compile_here, (context, 2), (ir.Context(), 3))
compile_here(context, 4)
""",
    "context_without_threads": """
context = ir.Context()
context.enable_multithreading(False)
with context:
    check(1)
    children(check, (2,))
""",
    "while_other_threads_compile": """
stop = False

def compile_on():
    number = 0
    while not stop:
        number += 1
        check(number)

check(1)
threads = [threading.Thread(target=compile_on) for _ in range(2)]
for thread in threads:
    thread.start()
for number in range(4):
    children(check, (number,))
stop = True
for thread in threads:
    thread.join()
""",
    "while_another_thread_has_a_lock": """
from relax_runtime import external
from relax_mlir.core import context, diagnostics, lifetimes

def hold(lock):
    with lock:
        is_held.set()
        time.sleep(0.3)

for lock in (context._lock, diagnostics._collecting_lock, external._lock, lifetimes._lock):
    is_held = threading.Event()
    thread = threading.Thread(target=hold, args=(lock,))
    thread.start()
    is_held.wait()
    children(check, (8,))
    thread.join()
check(9)
""",
    "in_a_pass_and_in_a_report": """
from relax_mlir.transform import module_pass

@module_pass
def forks(mod, ctx):
    children(check, (5,))

forks(program(1))

seen = []

def report(progress):
    if not seen:
        seen.append(progress)
        children(check, (6,))

relax.compile(program(2), progress=report)
assert seen
""",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.parametrize("name", CASES)
def test_forks(name):
    code = f"{COMMON}\n{CASES[name]}\nprint('done')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"
