"""The programs in TVM's last tests of Relay are imported and run, and the tests find them right.

RELAX_MLIR_RELAY_SOURCE names a checkout of apache/tvm at 21095b98bb, the last commit with Relay.
The tests take minutes; RELAX_MLIR_RELAY_FILES are the names of those to run, by default all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import relay_suite

CHECKOUT = os.environ.get("RELAX_MLIR_RELAY_SOURCE", "")
NAMES = os.environ.get("RELAX_MLIR_RELAY_FILES", "").split()

pytestmark = pytest.mark.skipif(
    not CHECKOUT, reason="RELAX_MLIR_RELAY_SOURCE does not name a checkout of apache/tvm"
)


@pytest.fixture(scope="module")
def results() -> list[relay_suite.Result]:
    pytest.importorskip("scipy", reason="TVM's references need scipy")
    paths = relay_suite.files(Path(CHECKOUT), NAMES)
    assert paths, f"expected the tests of Relay in {CHECKOUT}"
    return relay_suite.run_files(Path(CHECKOUT), paths)


def test_programs_of_relay_agree(results: list[relay_suite.Result]) -> None:
    programs = relay_suite.distinct(results)
    print(relay_suite.table(programs))
    agreed = [one for one in programs if one.outcome == relay_suite.AGREED]
    assert len(agreed) >= (1000 if not NAMES else 1)


def test_no_program_of_relay_is_wrong(results: list[relay_suite.Result]) -> None:
    wrong = [
        f"{one.test}: {one.outcome}: {one.message}"
        for one in relay_suite.distinct(results)
        if one.outcome in (relay_suite.WRONG, relay_suite.ERROR, relay_suite.CRASH)
    ]
    assert not wrong
