"""test/fuzz/fuzz.py: some mutants in each run of the tests; ./dev fuzz runs many."""

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[1] / "fuzz" / "fuzz.py"


def run(*options):
    return subprocess.run([sys.executable, FUZZ, *options], capture_output=True, text=True)


def test_mutants_do_no_harm():
    done = run("--count", "1000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1000 mutants" in done.stdout


def test_a_mutant_is_made_again():
    assert run("--show", "12").stdout == run("--show", "12").stdout != ""
