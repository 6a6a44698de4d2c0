"""The StructInfo of calls of operators is what TVM derives.

RELAX_MLIR_TVM_ORACLE names the Python that has test/oracle/requirements.txt. Without it the calls
are read, printed and read again.
"""

from __future__ import annotations

import collections
import os
import re
import sys
from pathlib import Path

import pytest
from relax_mlir import script

sys.path.insert(0, str(Path(__file__).parents[2] / "external"))
import compare_bindings
import operator_cases
import tvm_suite

ORACLE = os.environ.get("RELAX_MLIR_TVM_ORACLE", "")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return operator_cases.write(tmp_path_factory.mktemp("operators"))


@pytest.fixture(scope="module")
def results(paths: list[Path]) -> list[tvm_suite.Result]:
    return [result for path in paths for result in tvm_suite.run_file(path, tvm_suite.round_trip)]


def test_calls_are_read(results: list[tvm_suite.Result]) -> None:
    assert len(results) >= 180
    assert not [result for result in results if result.outcome != tvm_suite.OK]


@pytest.mark.skipif(not ORACLE, reason="RELAX_MLIR_TVM_ORACLE does not name a Python with TVM")
def test_struct_info_of_calls(paths: list[Path], results: list[tvm_suite.Result]) -> None:
    theirs = compare_bindings.ask(paths, ORACLE)
    refused = [
        entry for entries in theirs.values() for entry in entries if "functions" not in entry
    ]
    assert not refused
    reports = compare_bindings.compare(results, theirs)
    print(compare_bindings.table(reports))
    print(compare_bindings.listing(reports))
    verdicts = collections.Counter(pair.verdict for report in reports for pair in report.pairs)
    assert sum(report.programs for report in reports) == len(results)
    assert set(verdicts) == {compare_bindings.EQUAL}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("nn.adaptive_avg_pool2d(x, n)", "R.nn.adaptive_avg_pool2d with a symbolic output_size is"),
        ("nn.adaptive_avg_pool2d(x, [n, 2])", "R.nn.adaptive_avg_pool2d with a symbolic output_si"),
    ],
)
def test_error_windows_that_the_dialect_has_not(call: str, message: str) -> None:
    text = f"""
@R.function
def main(x: R.Tensor(("n", 3, 8, 8), "float32")):
    n = T.int64()
    y = R.{call}
    return y
"""
    with pytest.raises(script.ScriptError, match=re.escape(message)):
        script.from_source(text)
