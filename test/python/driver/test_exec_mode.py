"""The two ways to run a program: what both show, and what only bytecode can do."""

import re

import numpy as np
import pytest
import relax_mlir as relax
from closure_programs import ALIASES, PARITY
from relax_mlir import op


@pytest.fixture
def program(write, tensor):
    weights = np.arange(1000, dtype="float32")
    return write(lambda x: op.add(op.exp(x), op.const(weights)), tensor(("n", 1000)))


def test_error_unknown_mode(program):
    with pytest.raises(ValueError, match="expected exec_mode, one of compiled, bytecode, but got"):
        relax.compile(program, exec_mode="interpreted")


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_rf14_text_and_stats(program, mode):
    ex = relax.compile(program, exec_mode=mode)
    assert ex.exec_mode == mode
    text, stats = ex.as_text(), ex.stats()
    assert "constant #0 = external 0" in text
    assert ("native function main(x)" in text) == (mode == "compiled")
    assert stats.splitlines()[0].startswith(f"{int(mode == 'bytecode')} function")
    assert "1 constant, 4000 bytes of tensors" in stats


def test_rf07_rf08_instructions_and_shape_heap(program):
    text = relax.compile(program, exec_mode="bytecode").as_text()
    for line in (
        r"\$0 = call builtin dim\(site \d+, %0, 0\)",
        r'call kernel "\w+"\(read %0, write %\d+\)',
        r"ret %\d+",
    ):
        assert re.search(line, text), line


def test_vm09_machine_code_holds_no_tensors(program, tmp_path):
    ex = relax.compile(program, dump_phases=tmp_path)
    lowered = max(tmp_path.glob("*-llvm.mlir")).read_text()
    body = lowered.partition("\n")[2]  # after the pool, an attribute of the module
    assert "relax_constants" in body
    assert "0x0000803F" not in body.upper().replace("0X", "0x")
    x = np.zeros((2, 1000), "float32")
    result = np.from_dlpack(relax.VirtualMachine(ex)["main"](x))
    np.testing.assert_array_equal(result[1], 1 + np.arange(1000, dtype="float32"))


def test_vm09_equal_constants_are_one(exec_mode, write, tensor):
    twice = lambda x: op.add(op.add(x, op.const(np.ones(3, "float32"))), np.ones(3, "float32"))  # noqa: E731
    ex = relax.compile(write(twice, tensor((3,))))
    assert len(ex.constants) == 1
    main = relax.VirtualMachine(ex)["main"]
    assert np.from_dlpack(main(np.zeros(3, "float32"))).tolist() == [2, 2, 2]


def test_vm09_tail_calls_take_no_depth():
    vm = relax.VirtualMachine(relax.compile(ALIASES + PARITY, exec_mode="bytecode"))
    assert np.from_dlpack(vm["even"](np.array(20_001))) == np.False_
    assert np.from_dlpack(vm["odd"](np.array(20_001))) == np.True_


def test_profile_and_instrument(program):
    vm = relax.VirtualMachine(relax.compile(program, exec_mode="bytecode"))
    x = np.zeros((2, 1000), "float32")
    kernels = [row for row in vm.profile("main", x).rows if row.kind == "kernel"]
    assert sum(row.calls for row in kernels) == 2
    seen = []
    vm.set_instrument(lambda function, name, before, result, *args: seen.append(name))
    vm["main"](x)
    vm.set_instrument(None)
    assert {row.name for row in kernels} <= set(seen)


def test_error_observing_needs_bytecode(program):
    vm = relax.VirtualMachine(relax.compile(program))
    with pytest.raises(ValueError, match="compile with profile=True"):
        vm.profile("main", np.zeros((2, 1000), "float32"))
    with pytest.raises(ValueError, match='compile with exec_mode="bytecode"'):
        vm.set_instrument(print)


def test_time_evaluator(exec_mode, program):
    vm = relax.VirtualMachine(relax.compile(program))
    result = vm.time_evaluator("main", number=3, repeat=2)(np.zeros((2, 1000), "float32"))
    assert len(result.results) == 2
    assert result.min > 0
