# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects say what they hold."""

from relax_mlir import BlockBuilder, IRModule, VirtualMachine
from relax_mlir import compile as compile_module

SOURCE = """
relax.func @main(%n: !relax.prim<i64, n>) -> !relax.shape<[n, 2]> {
  %0 = relax.shape <[n, 2]>
  relax.return %0 : !relax.shape<[n, 2]>
}"""


def test_modules_and_functions():
    mod = IRModule(SOURCE)
    assert repr(mod) == "<IRModule Module: ['main']>"
    assert repr(IRModule()) == "<IRModule Module: []>"
    assert repr(BlockBuilder(mod)) == "<BlockBuilder: ['main']>"


def test_many_functions_are_cut_short():
    mod = IRModule({f"f{i}": IRModule(SOURCE)["main"] for i in range(9)})
    assert repr(mod) == "<IRModule Module: ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', ...]>"


def test_executables_and_machines():
    for exec_mode in ("compiled", "bytecode"):
        ex = compile_module(SOURCE, exec_mode=exec_mode)
        assert repr(ex) == f"<Executable ({exec_mode}): ['main']>"
        assert repr(VirtualMachine(ex)) == f"<VirtualMachine ({exec_mode}): ['main']>"
