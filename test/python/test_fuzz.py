"""test/fuzz/: some mutants and faults in each run of the tests; ./dev fuzz runs many.

No finding of any kind: no crash, hang or assertion, no pass that leaves an invalid module behind or
fails without an error, no text that is not read again, no violation that a check misses.
"""

import subprocess
import sys
from pathlib import Path

from relax_mlir import CompileOptions, phases
from relax_mlir.transform.phases import pipeline_of

FUZZ = Path(__file__).parents[1] / "fuzz" / "fuzz.py"


def run(*options, script=FUZZ):
    return subprocess.run([sys.executable, script, *options], capture_output=True, text=True)


def test_mutants_do_no_harm():
    done = run("--count", "400")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 mutants" in done.stdout
    assert "0 findings" in done.stdout


def test_all_passes_and_pipelines_are_run():
    sys.path.insert(0, str(FUZZ.parent))
    try:
        import fuzz
    finally:
        sys.path.pop(0)
    stages = {stage for chain in fuzz.chains() for stage in chain}
    assert "builtin.module(relax.func(relax-normalize))" in stages
    assert "builtin.module(relax.func(relax-lower-shapes{checks=necessary}))" in stages
    assert "builtin.module(convert-relax-to-llvm)" in stages
    assert "builtin.module(relax-to-llvm{checks=necessary})" in stages
    for name, _ in phases():
        pipeline = pipeline_of(name, CompileOptions(checks="necessary"))
        assert pipeline in stages or name == "optimize"


def test_a_mutant_is_made_again():
    assert run("--show", "12").stdout == run("--show", "12").stdout != ""


def test_faults_do_no_harm():
    done = run("--failures", "40", "--seconds", "2", script=FUZZ.with_name("faults.py"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("40 allocations failed, 0 findings") == 2
    assert "8 threads, 2 s" in done.stdout
