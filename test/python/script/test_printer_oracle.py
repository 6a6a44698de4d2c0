"""TVM itself parses what is printed, where it has words for it.

RELAX_MLIR_TVM_ORACLE names the Python that has test/oracle/requirements.txt.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from mlir import ir
from programs import lit_programs
from relax_mlir import IRModule
from relax_mlir.script import printer

SIDE = Path(__file__).parents[2] / "oracle" / "script_side.py"
VARIABLE = "RELAX_MLIR_TVM_ORACLE"
# Forms that only this project writes.
OURS = re.compile(
    r"I\.mlir|I\.annotate|I\.seq|metadata|var=\"|vdevice=\"(?!\w+:)|name=\"|^ +\.\.\.$|"
    r"I\.vdevice\(\"\w+ |tensors=True|R\.(adt_\w+|cummax|cummin|fatal|kth_index|random_bits)\(",
    re.MULTILINE,
)
# Why TVM refuses a program that it has words for.
KNOWN = {
    "It is impossible to match cast": "casts that always fail are valid here, with a warning",
    "A private function may not have": "a private kernel may have a symbol for others here",
    "to be a PrimValue, but got relax.expr.Var": "the bounds of clip may be variables here",
    "but got `relax.expr.Var`": "the numbers of arange and one_hot may be variables here",
    "must be called at the top of a T.sblock": "views of parts of a buffer need no block here",
    "Undefined variable": "a closure that names itself, which TVM takes with a stated result only",
}


@pytest.fixture(scope="module")
def answers():
    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        pytest.skip(f"{VARIABLE} is not set: the Python that has test/oracle/requirements.txt")
    programs = {}
    for name, text in lit_programs().items():
        with ir.Context() as context:
            context.allow_unregistered_dialects = True
            script = printer.script(IRModule(text))
        if not OURS.search(script):
            programs[name] = script
    done = subprocess.run(
        [interpreter, str(SIDE)], input=json.dumps(programs), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.split("\n")[-1])


def test_rf14_tvm_parses_what_is_printed(answers):
    refused = {
        name: error
        for name, error in answers.items()
        if error is not None and not any(reason in error for reason in KNOWN)
    }
    assert not refused, "\n\n".join(f"{name}: {error}" for name, error in refused.items())
    assert sum(error is None for error in answers.values()) >= 50


def test_reasons_occur(answers):
    for reason in KNOWN:
        assert any(reason in (error or "") for error in answers.values()), reason
