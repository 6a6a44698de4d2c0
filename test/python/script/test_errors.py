"""Errors of programs in TVMScript: each shows its place, and says what was expected."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from relax_mlir.script import ScriptError, from_source
from relax_mlir.script import relax as R

# Sections of a name, a program and its error.
CASES = {
    match[1]: (match[2], match[3].strip("\n"))
    for match in re.finditer(
        r"^== (\w+)\n(.*?)\n--\n(.*?)(?=^== |\Z)",
        Path(__file__).with_name("errors.txt").read_text(),
        re.DOTALL | re.MULTILINE,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_error_at_its_place(case: str) -> None:
    program, expected = CASES[case]
    with pytest.raises(ScriptError) as caught:
        from_source(program, filename="program.py")
    assert str(caught.value) == expected


def test_there_are_many_kinds_of_errors() -> None:
    assert len(CASES) >= 70


def test_error_in_a_file_names_the_line_of_the_file() -> None:
    with pytest.raises(ScriptError) as caught:

        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            return R.exp(y)

    error = caught.value
    assert error.filename == __file__
    assert Path(__file__).read_text().splitlines()[error.lineno - 1] == error.text
    assert error.text[error.offset - 1 : error.end_offset - 1] == "y"


def test_error_is_shown_by_python_too() -> None:
    with pytest.raises(ScriptError) as caught:
        from_source("@R.function\ndef f(x: R.Tensor):\n    return z\n", filename="program.py")
    shown = "".join(traceback.format_exception_only(caught.type, caught.value))
    assert 'File "program.py", line 3' in shown
    assert "    return z\n           ^\n" in shown


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python reads it from 3.12 on")
def test_error_of_a_type_parameter_before_python_3_12() -> None:
    with pytest.raises(ScriptError, match=r"expected Python 3\.12 or newer"):
        from_source("@R.function\ndef f[n](x: R.Tensor((n,))):\n    return x\n")


def test_error_without_text() -> None:
    names: dict[str, object] = {"R": R}
    code = "@R.function\ndef f(x: R.Tensor):\n    return x\n"
    with pytest.raises(ScriptError, match="expected function 'f' from a file, but its text"):
        exec(compile(code, "<nowhere>", "exec"), names)


def test_error_of_a_text_without_a_program() -> None:
    with pytest.raises(ScriptError, match="expected one decorated class or function in the text"):
        from_source("x = 1\n")


def test_error_of_what_is_decorated() -> None:
    with pytest.raises(TypeError, match=r"expected a function under @R\.function, but got 3"):
        R.function(3)


def test_traceback_of_a_decorator_ends_at_it(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "from relax_mlir.script import relax as R\n"
        "@R.function\n"
        "def main(x: R.Object):\n"
        "    return R.sum(x, axis='a')\n"
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    files = re.findall(r'  File "(.*)", line', done.stderr)
    assert [Path(file).name for file in files if "relax_mlir" in file] == ["entry.py"] * 2
    assert "direct cause" not in done.stderr
    assert "return R.sum(x, axis='a')\n           ^" in done.stderr


def test_traceback_of_a_function_of_the_program_is_kept():
    def helper(x):
        raise KeyError("inside")

    with pytest.raises(ScriptError, match="KeyError: inside") as caught:

        @R.function
        def main(x: R.Object):
            return helper(x)

    assert isinstance(caught.value.__cause__, KeyError)
