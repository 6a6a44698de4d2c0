"""The StructInfo of the bindings of TVM's own programs is what TVM derives.

RELAX_MLIR_TVM_SOURCE names a checkout of apache/tvm at v0.25.0, RELAX_MLIR_TVM_ORACLE the Python
that has test/oracle/requirements.txt.
"""

from __future__ import annotations

import collections
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import compare_bindings
import tvm_suite

CHECKOUT = os.environ.get("RELAX_MLIR_TVM_SOURCE", "")
ORACLE = os.environ.get("RELAX_MLIR_TVM_ORACLE", "")

pytestmark = [
    pytest.mark.skipif(
        not CHECKOUT, reason="RELAX_MLIR_TVM_SOURCE does not name a checkout of apache/tvm"
    ),
    pytest.mark.skipif(
        not ORACLE, reason="RELAX_MLIR_TVM_ORACLE does not name a Python that has TVM"
    ),
]


@pytest.fixture(scope="module")
def reports() -> list[compare_bindings.Report]:
    paths = tvm_suite.files(Path(CHECKOUT))
    results = [result for path in paths for result in tvm_suite.run_file(path, lambda module: None)]
    return compare_bindings.compare(results, compare_bindings.ask(paths, ORACLE))


def test_struct_info_of_bindings(reports: list[compare_bindings.Report]) -> None:
    print(compare_bindings.table(reports))
    print(compare_bindings.listing(reports))
    verdicts = collections.Counter(pair.verdict for report in reports for pair in report.pairs)
    assert not [pair.place for pair in compare_bindings.unexplained(reports)]
    assert not [report.file for report in reports if report.failure]
    assert verdicts[compare_bindings.EQUAL] >= 6500
    assert verdicts[compare_bindings.UNMAPPABLE] <= 20


def test_agreed_reasons_occur(reports: list[compare_bindings.Report]) -> None:
    found = {pair.agreed for report in reports for pair in report.pairs}
    assert found >= compare_bindings.AGREED.keys()


def test_bindings_have_counterparts(reports: list[compare_bindings.Report]) -> None:
    assert sum(len(report.missing) for report in reports) <= 10
    assert sum(len(report.pairs) for report in reports) >= 20 * sum(r.alone for r in reports)
