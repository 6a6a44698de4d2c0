"""Prints programs with TVM, and compares programs with them: JSON in, JSON out.

``{"print": {name: source}}`` becomes the texts of `script(show_meta=True)` by name, and
``{"compare": {name: [source, other]}}`` what is not equal, or null, by name.

Runs in the environment of requirements.txt and imports nothing of this project.
"""

import json
import sys

import numpy
import tvm
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812


def read(text):
    names = {"I": I, "R": R, "T": T, "tvm": tvm, "numpy": numpy}
    return tvm.script.from_source(text, extra_vars=names, check_well_formed=False)


def difference(source, other):
    try:
        program, found = read(source), read(other)
        if isinstance(found, tvm.IRModule) and not isinstance(program, tvm.IRModule):
            found = found["main"]
        tvm.ir.assert_structural_equal(program, found)
    except Exception as error:
        return str(error) or repr(error)
    return None


def main():
    given = json.load(sys.stdin)
    texts = {name: read(text).script(show_meta=True) for name, text in given["print"].items()}
    differences = {name: difference(*pair) for name, pair in given["compare"].items()}
    json.dump({"print": texts, "compare": differences}, sys.stdout)


if __name__ == "__main__":
    main()
