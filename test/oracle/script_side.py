"""Parses programs with TVM: a JSON object of texts by name in, one of errors by name out.

Runs in the environment of requirements.txt and imports nothing of this project.
"""

import json
import sys

import tvm
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812
from tvm.script.parser import relax as R  # noqa: N812 (with R.DTensor)


def error_of(program):
    names = {"I": I, "R": R, "T": T}
    try:
        tvm.script.from_source(program, extra_vars=names, check_well_formed=False)
    except Exception as error:
        return str(error) or repr(error)
    return None


def main():
    programs = json.load(sys.stdin)
    json.dump({name: error_of(text) for name, text in programs.items()}, sys.stdout)


if __name__ == "__main__":
    main()
