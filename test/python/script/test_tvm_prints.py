"""TVM prints programs, they are read and printed here, and TVM finds the same programs.

RELAX_MLIR_TVM_ORACLE names the Python that has test/oracle/requirements.txt.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from relax_mlir.script import from_source
from tvm_programs import sources

SIDE = Path(__file__).parents[2] / "oracle" / "printed_side.py"
VARIABLE = "RELAX_MLIR_TVM_ORACLE"


def ask(**questions):
    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        pytest.skip(f"{VARIABLE} is not set: the Python that has test/oracle/requirements.txt")
    given = json.dumps({"print": {}, "compare": {}, **questions})
    done = subprocess.run([interpreter, str(SIDE)], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.split("\n")[-1])


def test_rf14_what_tvm_prints_is_read_and_printed_as_the_same_program():
    programs = sources()
    printed = ask(print=programs)["print"]
    pairs = {name: [programs[name], from_source(text).script()] for name, text in printed.items()}
    differences = {name: why for name, why in ask(compare=pairs)["compare"].items() if why}
    assert not differences, "\n\n".join(f"{name}: {why}" for name, why in differences.items())
    assert len(pairs) > 200
