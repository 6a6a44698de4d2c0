"""Errors of MLIR as exceptions: all of them, in any spelling."""

import pytest
from mlir import ir
from relax_mlir import BlockBuilder, analysis, default_context
from relax_mlir import compile as compile_module
from relax_mlir.core.diagnostics import collect_errors, parse_module, raise_errors

DECLARATION = "relax.func private @f() -> !relax.object"
# The parser takes the end of the file for the one of the type, and goes on.
LEXER_ERROR = DECLARATION + "@"
NOT_UTF8 = 'relax.func private @"\\FF"() -> !relax.object\n' * 2


@pytest.mark.parametrize("parse", [parse_module, compile_module, BlockBuilder().add_func])
def test_errors_that_the_parser_goes_on_behind_are_raised(parse):
    with pytest.raises(ir.MLIRError, match="identifier expected to start with letter"):
        parse(LEXER_ERROR)


def test_well_formed_reports_what_the_parser_goes_on_behind():
    violation = analysis.well_formed(LEXER_ERROR)[0]
    assert "identifier expected" in violation.message


def test_bytes_that_are_no_text_are_escaped():
    with pytest.raises(ir.MLIRError, match=r"redefinition of symbol named '\\xff'") as caught:
        parse_module(NOT_UTF8)
    (error,) = caught.value.error_diagnostics
    assert error.severity == ir.DiagnosticSeverity.ERROR
    assert [note.message for note in error.notes][-1] == "see existing symbol definition here"


def test_well_formed_escapes_bytes_that_are_no_text():
    messages = [violation.message for violation in analysis.well_formed(NOT_UTF8)]
    assert any("\\xff" in message for message in messages)


@pytest.mark.parametrize("parse", [parse_module, compile_module, analysis.well_formed])
def test_text_without_utf8_is_refused(parse):
    with pytest.raises(
        ValueError, match=r"encoded as UTF-8, but got '.udcff' in line 2, column 13"
    ):
        parse(DECLARATION + "\nrelax.func @\udcff()")


def test_what_is_valid_raises_nothing():
    assert str(parse_module(DECLARATION)) == f"module {{\n  {DECLARATION}\n}}\n"


def test_errors_come_through_two_statements():
    context = default_context()
    with (
        pytest.raises(ir.MLIRError, match="expected valid '@'"),
        raise_errors(context),
        raise_errors(context),
    ):
        ir.Module.parse("relax.func", context=context)


def test_errors_go_their_usual_way_afterwards():
    context = default_context()
    with collect_errors(context) as errors:
        pass
    assert errors == []
    assert not context.emit_error_diagnostics
    with pytest.raises(ir.MLIRError, match="expected valid '@'"):
        ir.Module.parse("relax.func", context=context)


@pytest.mark.parametrize(
    "text", ["module {" * 5000 + "}" * 5000, "#a = " + "[" * 50_000, "\n\n" + "(" * 1001]
)
def test_text_that_is_nested_too_deeply_is_refused(text):
    line = text.count("\n") + 1
    with pytest.raises(ValueError, match=f"at most 1000 open brackets, .* in line {line}"):
        parse_module(text)


def test_text_that_is_nested_deeply_is_parsed():
    assert str(parse_module("module {" * 900 + "}" * 900)).count("module") == 900


def test_errors_of_statements_that_end_in_any_order_are_collected():
    context = default_context()
    first, second = collect_errors(context), collect_errors(context)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert context.emit_error_diagnostics  # the second one still collects
    second.__exit__(None, None, None)
    assert not context.emit_error_diagnostics
