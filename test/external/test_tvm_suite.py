"""The programs in TVM's own tests are read, printed and read again.

RELAX_MLIR_TVM_SOURCE names a checkout of apache/tvm at v0.25.0.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tvm_suite

CHECKOUT = os.environ.get("RELAX_MLIR_TVM_SOURCE", "")

pytestmark = pytest.mark.skipif(
    not CHECKOUT, reason="RELAX_MLIR_TVM_SOURCE does not name a checkout of apache/tvm"
)


@pytest.fixture(scope="module")
def results() -> list[tvm_suite.Result]:
    paths = tvm_suite.files(Path(CHECKOUT))
    assert len(paths) >= 80, f"expected the tests of apache/tvm v0.25.0 in {CHECKOUT}"
    return [result for path in paths for result in tvm_suite.run_file(path, tvm_suite.round_trip)]


def test_programs_of_tvm_are_read(results: list[tvm_suite.Result]) -> None:
    print(tvm_suite.table(results))
    print(tvm_suite.summary(results))
    assert len(results) >= 1800
    assert tvm_suite.share(results) >= 0.97


def test_error_messages_are_not_empty(results: list[tvm_suite.Result]) -> None:
    wrong = [
        result
        for result in results
        if result.outcome not in (tvm_suite.OK, tvm_suite.ACCEPTED)
        and not result.message.partition(":")[2].strip()
    ]
    assert not wrong
