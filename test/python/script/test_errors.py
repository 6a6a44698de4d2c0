"""Errors of programs in TVMScript: each shows its place, and says what was expected."""

from __future__ import annotations

import pytest
from relax_mlir.script import ScriptError, from_source

# By what is wrong: a body of a function of x, and the error.
BODIES = {
    "unbound_name": (
        "y = R.exp(z)\nreturn y",
        """
        program.py:3:15: expected a name that is bound, but got 'z'
          y = R.exp(z)
                    ^
        """,
    ),
    "missing_operator": (
        "y = R.ccl.allreduce(x)\nreturn y",
        """
        program.py:3:9: R.ccl.allreduce is not an operator of the dialect yet
          y = R.ccl.allreduce(x)
              ^^^^^^^^^^^^^^^
        """,
    ),
    "dataflow_variable_outside": (
        "with R.dataflow():\n    y = R.exp(x)\n    z = R.exp(y)\n    R.output(z)\nreturn y",
        """
        program.py:7:12: expected a name that is visible here, but 'y' is bound in the dataflow \
block of line 3 and can be used there only; R.output makes it visible after the block
          return y
                 ^
        """,
    ),
}


def dedent(text: str) -> str:
    lines = text.strip("\n").splitlines()
    return "\n".join(line[8:] for line in lines if line.strip())


@pytest.mark.parametrize("case", BODIES)
def test_error_of_a_body(case: str) -> None:
    body, expected = BODIES[case]
    lines = ["@R.function", 'def main(x: R.Tensor(("n", 4), "float32")):']
    lines += [f"    {line}" for line in body.splitlines()]
    with pytest.raises(ScriptError) as caught:
        from_source("\n".join(lines), filename="program.py")
    assert str(caught.value) == dedent(expected)
