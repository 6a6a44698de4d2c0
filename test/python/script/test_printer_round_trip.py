"""Printed text is parsed back to an equal module, and that is printed as the same text."""

from __future__ import annotations

import ast
import warnings

import pytest
from mlir import ir
from programs import lit_programs
from relax_mlir import IRModule, assert_structural_equal
from relax_mlir.script import from_source, printer


def round_trip(module):
    """Print and parse a module; return the text."""
    text = printer.script(module)
    ast.parse(text)
    # With the resources of constants under names of their own.
    with ir.Context() as context, ir.Location.unknown(), warnings.catch_warnings():
        context.allow_unregistered_dialects = True
        warnings.simplefilter("ignore")
        again = from_source(text, check_well_formed=False)
        assert_structural_equal(module, again)
        assert printer.script(again) == text
    return text


@pytest.mark.parametrize("name", lit_programs())
def test_rf14_programs_of_lit_tests(name):
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        round_trip(IRModule(lit_programs()[name]))
