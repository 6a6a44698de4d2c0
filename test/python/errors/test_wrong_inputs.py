# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong inputs over every public entry: each has an error that says what is wrong, in our words.

A row of a table is the input, the class of the exception, and a part of its message.
"""

import re

import cases_api
import cases_ops
import cases_run
import numpy as np
import pytest
from wrong_program import run

# What others say of a wrong argument, and what nobody wants to read.
FOREIGN = re.compile(
    r"incompatible function arguments|std::|Mismatched type on argument|see current operation|"
    r"'\w+' object has no attribute '(items|operation|value|name|struct_info|make_machine)'|"
    r"<unknown> at|failed to infer returned types"
)
LONGEST = 700


def check(code, error_name, part):
    error = run(code)
    assert error is not None, "expected an error"
    message = str(error.args[0]) if isinstance(error, KeyError) else str(error)
    assert (type(error).__name__, part in message) == (error_name, True), message
    # relax-opt reports as mlir-opt does.
    assert error_name == "CommandError" or not FOREIGN.search(message), message
    assert len(message) < LONGEST, message


@pytest.mark.parametrize(("code", "error", "part"), cases_ops.CASES)
def test_error_of_operators(code, error, part):
    check(code, error, part)


@pytest.mark.parametrize(("code", "error", "part"), cases_api.CASES)
def test_error_of_the_api(code, error, part):
    check(code, error, part)


@pytest.mark.parametrize(("code", "error", "part"), cases_run.CASES)
def test_error_of_files_texts_and_commands(code, error, part):
    check(code, error, part)


@pytest.mark.parametrize(("code", "error", "part"), cases_run.CALLS)
def test_error_of_calls(code, error, part, exec_mode):
    function, rest = code.split("(", 1)
    check(f"machine({exec_mode!r})[{function!r}]({rest}", error, part)


def test_machines_still_run_after_the_errors(exec_mode):
    zeros = np.zeros((2, 4), "float32")
    for code, _, _ in cases_run.CALLS:
        function, rest = code.split("(", 1)
        assert run(f"machine({exec_mode!r})[{function!r}]({rest}") is not None
    assert run(f"assert machine({exec_mode!r})['main'](zeros).shape == (2, 4)") is None
    assert zeros.sum() == 0


def test_there_are_enough_inputs():
    tables = (cases_ops.CASES, cases_api.CASES, cases_run.CASES, cases_run.CALLS)
    inputs = [code for table in tables for code, _, _ in table]
    assert len(inputs) == len(set(inputs)) >= 250
