"""Functions of topi, compared with TVM's: shapes, data types and numbers.

The comparison needs TVM, which lives in an environment of its own (see test_oracle.py).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import te, topi

ORACLE = Path(__file__).parents[2] / "oracle"
VARIABLE = "RELAX_MLIR_TVM_ORACLE"


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        pytest.skip(f"{VARIABLE} is not set: the Python that has test/oracle/requirements.txt")
    path = tmp_path_factory.mktemp("topi") / "expected.npz"
    command = [interpreter, str(ORACLE / "topi_cases.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(path)


def compute(function, arrays):
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(array.shape, array.dtype))
        for i, array in enumerate(arrays)
    ]
    with bb.function("main", params):
        bb.emit_func_output(
            bb.emit_te(lambda *args: function(topi, lambda n: te.const(n, "int32"), *args), *params)
        )
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    return np.from_dlpack(main(*arrays))


def test_rf11_topi_computes_what_tvm_does(expected, monkeypatch):
    monkeypatch.syspath_prepend(ORACLE)
    from topi_cases import CASES

    for name, (function, arrays) in CASES.items():
        actual, wanted = compute(function, arrays), expected[name]
        assert (actual.shape, actual.dtype) == (wanted.shape, wanted.dtype), name
        tolerance = 2e-3 if wanted.dtype == "float16" else 1e-4
        np.testing.assert_allclose(actual, wanted, tolerance, tolerance, err_msg=name)
    assert len(CASES) >= 90
