"""The number of threads that compile: the same code, whatever it is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Saves what is compiled of kernels that differ, which are several parts, and prints the number of
# threads that did it.
PROGRAM = """
import sys, os
import relax_mlir as relax
from relax_mlir.script import from_source

lines = ["@R.function", 'def main(x: R.Tensor((4, 9), "float32")):', "    y = x"]
for number in range(24):
    lines += [f"    y = R.nn.softmax(R.cumsum(R.add(y, R.const({number}.0)), axis={number % 2}))"]
relax.compile(from_source("\\n".join([*lines, "    return y"]))).save(sys.argv[1])
tasks = "/proc/self/task"
names = [open(f"{tasks}/{task}/comm").read() for task in os.listdir(tasks)]
print(sum(name.startswith("llvm-worker") for name in names))
"""


def compile_with(threads: str | None, path: Path) -> tuple[int, str, str]:
    """Return the number of threads of the compiler, the hash of what it made, and its warnings."""
    env = {k: v for k, v in os.environ.items() if k != "RELAX_MLIR_COMPILE_THREADS"}
    if threads is not None:
        env["RELAX_MLIR_COMPILE_THREADS"] = threads
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return int(done.stdout), hashlib.sha256(path.read_bytes()).hexdigest(), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_number_of_threads(tmp_path):
    """All cores by default; with one thread there are no others."""
    path = tmp_path / "compiled.rx"
    one, code, _ = compile_with("1", path)
    assert one == 0
    two, same_code, _ = compile_with("2", path)
    assert 1 <= two <= 2
    some, code_of_default, _ = compile_with(None, path)
    assert some >= 1
    assert code == same_code == code_of_default


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize("threads", ["0", "many", "-1", ""])
def test_wrong_number_of_threads(tmp_path, threads):
    """A warning says what is expected, and all cores are used."""
    count, _, warnings = compile_with(threads, tmp_path / "compiled.rx")
    assert count >= 1
    assert (
        "RELAX_MLIR_COMPILE_THREADS: expected a number from 1 on, but got "
        f"'{threads}'; all cores are used" in warnings
    )
