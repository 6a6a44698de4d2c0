# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of compilation, which Python and C++ declare."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import relax_mlir as relax
from mlir.passmanager import PassManager
from relax_mlir import CompileOptions, transform
from relax_mlir.transform.phases import pipeline_of

DOUBLE = """
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.add %x, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>)
      -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
"""


def accepts(name: str, value: str) -> bool:
    """Whether a pipeline has an option."""
    try:
        PassManager.parse(
            f"builtin.module(relax-to-llvm{{{name}={value}}})", context=relax.default_context()
        )
    except ValueError:
        return False
    return True


def test_pipelines_take_all_options() -> None:
    given = CompileOptions(device="cuda", device_arch="sm_90", features="sse2,avx512f")
    options = given.pipeline_options()
    assert len(options) == len(dataclasses.fields(CompileOptions)) - 6  # those of Python
    assert all(accepts(name, value) for name, value in options.items())
    assert not accepts("opt-level", "3")


def test_pipelines_have_the_same_defaults() -> None:
    def printed(text: str) -> str:
        return str(PassManager.parse(text, context=relax.default_context()))

    for name, _ in relax.phases():
        text = pipeline_of(name, CompileOptions())
        if text is not None:
            assert printed(text) == printed(f"builtin.module(relax-phase-{name})")


def test_every_option_is_documented() -> None:
    doc = CompileOptions.__doc__ or ""
    for field in dataclasses.fields(CompileOptions):
        assert re.search(rf"^    .*\b{field.name}\b.* : ", doc, re.MULTILINE), field.name


def test_options_and_changes() -> None:
    x = np.ones(3, "float32")
    options = CompileOptions(exec_mode="bytecode", fuse=False)
    for ex in (
        relax.compile(DOUBLE, "llvm", options),
        relax.compile(DOUBLE, options=options, checks="necessary"),
        relax.compile(DOUBLE, exec_mode="bytecode"),
    ):
        assert ex.exec_mode == "bytecode"
        np.testing.assert_array_equal(np.from_dlpack(relax.VirtualMachine(ex)["main"](x)), x + x)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fues": False}, TypeError, "but got fues; did you mean 'fuse'?"),
        ({"zzz": 1}, TypeError, "expected options, any of exec_mode, .*, but got zzz$"),
        ({"fuse": 1}, TypeError, "expected fuse to be True or False, but got 1"),
        ({"opt_level": 4}, ValueError, "expected opt_level, one of 0, 1, 2, 3, but got 4"),
        ({"l1_bytes": -1}, ValueError, "expected l1_bytes to be between 0 and .*, but got -1"),
        ({"l2_bytes": "1"}, TypeError, "expected l2_bytes to be a number, but got '1'"),
        ({"vector_bits": 96}, ValueError, "expected vector_bits, one of 0, 128, .*, but got 96"),
    ],
)
def test_errors_of_options(options: dict[str, object], error: type, message: str) -> None:
    for call in (relax.compile, transform.phase):
        first = DOUBLE if call is relax.compile else "normalize"
        with pytest.raises(error, match=message.replace("?", r"\?")):
            call(first, **options)
