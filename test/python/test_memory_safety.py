"""No argument makes a program touch memory that is not its own: `memory_programs.py` has the cases.

All cases of a mode run in one process of their own, as a crash is what they look for.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_programs import CASES, Error

MODES = ["compiled", "bytecode"]
CHECKS = ["all", "necessary"]


@cache
def outcomes(mode: str, checks: str) -> dict[str, Any]:
    """Return the results of all cases; one that ended the process has none."""
    script = Path(__file__).with_name("memory_programs.py")
    done = subprocess.run(
        [sys.executable, str(script), mode, checks], capture_output=True, text=True, timeout=300
    )
    results: dict[str, Any] = {}
    for line in map(json.loads, done.stdout.splitlines()):
        name = line.get("begins") or line["ends"]
        results[name] = line.get("result", f"crash: {done.returncode}\n{done.stderr[-2000:]}")
    if done.returncode != 0:
        results["crash"] = done.stderr
    return results


def check_error(due: Error, result: Any) -> None:
    kind, what, text = due
    assert isinstance(result, dict), f"expected an error that names {what!r}, but got {result}"
    assert not kind or result["error"] == kind
    assert what in result["text"]
    assert re.search(text, result["text"])


RUNS = [
    (name, mode, checks)
    for name, case in CASES.items()
    for mode in MODES
    for checks in CHECKS
    if checks == "all" or not case.sizes_are_trusted
]


@pytest.mark.parametrize(("name", "mode", "checks"), RUNS)
def test_memory_is_safe(name: str, mode: str, checks: str) -> None:
    case = CASES[name]
    results = outcomes(mode, checks)
    assert name in results, f"not run, as one before ended the process: {results.get('crash')}"
    result = results[name]
    if isinstance(case.due, Error):
        check_error(case.due, result)
    elif case.due is not None:
        np.testing.assert_allclose(result, case.due)
    else:
        assert isinstance(result, list)
