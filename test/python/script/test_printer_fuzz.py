"""test/fuzz/script.py: some random programs in each run of the tests; the command runs many."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"


@pytest.fixture
def fuzz(monkeypatch):
    """Return the modules of the fuzzer."""
    monkeypatch.syspath_prepend(FUZZ)
    import generator
    import script

    return generator, script


def test_rf14_random_programs_are_the_same_again(fuzz):
    generator, script = fuzz
    valid = 0
    for seed, module in generator.programs(0, 40):
        if module is not None:
            valid += 1
            problem = script.check(module)
            assert problem is None, f"program {seed}: {problem}"
    assert valid >= 30


def test_a_program_is_drawn_again(fuzz):
    generator, _ = fuzz
    first, second = (str(generator.Generator(3).module()) for _ in range(2))
    assert first == second
    assert first != str(generator.Generator(4).module())


def test_programs_have_most_operations(fuzz):
    generator, _ = fuzz
    texts = [str(module) for _, module in generator.programs(0, 30) if module is not None]
    for name in ("closure", "if", "dataflow", "match_cast", "call_tir", "call_packed", "constant"):
        assert any(f"relax.{name}" in text for text in texts), name


def test_error_of_a_round_trip_is_found(fuzz, monkeypatch):
    generator, script = fuzz
    from relax_mlir.script import printer

    module = generator.Generator(3).module()
    write = printer.script
    monkeypatch.setattr(
        printer, "script", lambda mod: write(mod).replace("return ", "return missing")
    )
    assert "ScriptError" in script.check(module)
    monkeypatch.setattr(
        printer, "script", lambda mod: write(mod).replace("private=True", "private=False")
    )
    module = next(m for _, m in generator.programs(0, 30) if m and "relax.func private" in str(m))
    assert "AssertionError: expected the same module" in script.check(module)


def test_command():
    command = [sys.executable, FUZZ / "script.py", "--count", "5", "--first", "40", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("5 programs of ")
    shown = subprocess.run([*command, "--show", "40"], capture_output=True, text=True)
    assert "class Module:" in shown.stdout
