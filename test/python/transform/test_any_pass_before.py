"""RF13: compile takes a module whatever passes ran before, and it means the same."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import transform
from relax_mlir.core.context import current_context
from relax_mlir.transform import PassError
from relax_mlir.transform.base import get_pass
from relax_mlir.transform.registry import PASSES as REGISTERED

ALIASES = """
!x = !relax.tensor<[n, 4], f32>
!c = !relax.tensor<[4], f32>
!k = !relax.tensor<[k, 4], f32>
!m = !relax.tensor<[m, 4], f32>
!flag = !relax.tensor<[], i1>
!flat = !relax.tensor<[n * 4], f32>
!shape = !relax.shape<[n, n * 4 + 1]>
!zero = !relax.tensor<[n, 4], f32, @cpu0>
!one = !relax.tensor<[n, 4], f32, @cpu1>
!t = tensor<?x4xf32>
"""

# A program of each kind: operators and constants; branches and shapes; closures and recursion;
# packed functions and casts; kernels; devices.
PROGRAMS = {
    "operators": """
    relax.func @main(%x: !x, %f: !flag) -> !relax.object {
      %0 = relax.dataflow -> !x {
        %c = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        %d = relax.exp %x : (!x) -> !x
        %a = relax.add %x, %c : (!x, !c) -> !x
        %b = relax.softmax %a {axis = -1} : (!x) -> !x
        relax.output %b : !x
      }
      %c = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %1 = relax.tuple %0, %c : !x, !c
      relax.return %1 : !relax.tuple<!x, !c>
    }""",
    "branches": """
    relax.func @main(%x: !x, %f: !flag) -> !relax.object {
      %0 = relax.if %f : !flag -> !x {
        %1 = relax.negative %x : (!x) -> !x
        %2 = relax.exp %1 : (!x) -> !x
        relax.yield %2 : !x
      } else {
        relax.yield %x : !x
      }
      %3 = relax.flatten %0 : (!x) -> !flat
      %4 = relax.shape <[n, n * 4 + 1]>
      %5 = relax.tuple %3, %4 : !flat, !shape
      relax.return %5 : !relax.tuple<!flat, !shape>
    }""",
    "calls": """
    relax.func private @twice(%x: !m) -> !m {
      %0 = relax.add %x, %x : (!m, !m) -> !m
      relax.return %0 : !m
    }
    relax.func @main(%x: !x, %f: !flag) -> !relax.object attributes {is_pure = false} {
      %g = relax.closure(%y: !x) -> !x {
        %3 = relax.add %x, %y : (!x, !x) -> !x
        relax.return %3 : !x
      }
      %0 = relax.call @twice(%x) : (!x) -> !x
      %1 = relax.call %g : !relax.func<(!x) -> !x, pure> (%0) : (!x) -> !x
      %2 = relax.call_packed "any_pass_before.copy"(%1) : (!x) -> !relax.object
      %4 = relax.match_cast %2 : !relax.object -> !k
      %5 = relax.exp %4 : (!k) -> !k
      relax.return %5 : !k
    }""",
    "kernels": """
    func.func private @scale(%x: !t, %y: !t) -> !t {
      %0 = linalg.add ins(%x, %x : !t, !t) outs(%y : !t) -> !t
      return %0 : !t
    }
    func.func private @halve(%x: memref<?x4xf32>) {
      %h = arith.constant 0.5 : f32
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %4 = arith.constant 4 : index
      %n = memref.dim %x, %0 : memref<?x4xf32>
      scf.for %i = %0 to %n step %1 {
        scf.for %j = %0 to %4 step %1 {
          %v = memref.load %x[%i, %j] : memref<?x4xf32>
          %w = arith.mulf %v, %h : f32
          memref.store %w, %x[%i, %j] : memref<?x4xf32>
        }
      }
      return
    }
    relax.func @main(%x: !x, %f: !flag) -> !relax.object attributes {is_pure = false} {
      %0 = relax.call_tir @scale(%x) : (!x) -> !x
      %1 = relax.call_tir @scale(%0) : (!x) -> !x
      %2 = relax.call @halve(%1) : (!x) -> !relax.tuple<>
      relax.return %1 : !x
    }""",
    "devices": """
    module attributes {relax.global_info = {
      cpu0 = #relax.vdevice<"llvm", 0>, cpu1 = #relax.vdevice<"llvm", 1>}} {
    relax.func @main(%x: !zero, %f: !flag) -> !relax.object {
      %0 = relax.to_vdevice %x to @cpu1 : !zero -> !one
      %1 = relax.exp %0 : (!one) -> !one
      %2 = relax.to_vdevice %1 to @cpu0 : !one -> !zero
      relax.return %2 : !zero
    }}""",
}

PROGRAMS = {name: ALIASES + text for name, text in PROGRAMS.items()}

# After the passes that are left out there is no module of Relax any more.
PASSES = sorted(set(REGISTERED) - {"ConvertToLLVM", "MakeKernelEntries"})
# Passes in Python that leave the parameters of a program without weights as they are.
IN_PYTHON = [
    "AttachGlobalSymbol",
    "BundleModelParams",
    "ConvertToDataflow",
    "ExpandTupleArguments",
    "LazyTransformParams",
    "LiftTransformParams",
    "LowerAllocTensor",
    "NormalizeGlobalVar",
    "RemovePurityChecking",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "TopologicalSort",
]
MODES = itertools.cycle(["compiled", "bytecode"])


def leaves(value):
    if hasattr(value, "__dlpack__"):
        return [np.from_dlpack(value).copy()]
    if isinstance(value, tvm_ffi.Shape):
        return [np.array(value)]
    return [leaf for field in value for leaf in leaves(field)]


def run(mod, exec_mode="compiled"):
    """Return what a program gives, in arrays."""
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode, opt_level=0))["main"]
    x = np.arange(12, dtype="float32").reshape(3, 4)
    return [leaf for flag in (True, False) for leaf in leaves(main(x, np.array(flag)))]


@pytest.fixture(scope="module")
def expected():
    def copy(x):
        return tvm_ffi.from_dlpack(np.from_dlpack(x).copy())

    tvm_ffi.register_global_func("any_pass_before.copy", copy, override=True)
    return {name: run(text) for name, text in PROGRAMS.items()}


def apply(name, mod):
    """Run a pass; one that needs another one before says so, and changes nothing."""
    try:
        return get_pass(name)()(mod)
    except PassError as error:
        hints = ("run relax-", "has to be lowered", "expected relax-phase-")
        assert any(hint in str(error) for hint in hints), str(error)
        return mod


def check(names, expected):
    for program, text in PROGRAMS.items():
        mod = relax.IRModule(text)
        for name in names:
            mod = apply(name, mod)
        for actual, wanted in zip(run(mod, next(MODES)), expected[program], strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-6, err_msg=program)


@pytest.mark.parametrize("name", PASSES)
def test_rf13_after_a_pass(name, expected):
    check([name], expected)


@pytest.mark.parametrize("seed", range(16))
def test_rf13_after_passes_in_any_order(seed, expected):
    check(random.Random(seed).sample(PASSES, 2 + seed % 3), expected)


@pytest.mark.parametrize("name", IN_PYTHON)
def test_rf13_after_a_pass_in_python(name, expected):
    check([name], expected)


@pytest.mark.parametrize("seed", range(8))
def test_rf13_after_passes_in_python_and_others(seed, expected):
    choice = random.Random(seed)
    check(choice.sample([*choice.sample(IN_PYTHON, 2), choice.choice(PASSES)], 3), expected)


def test_rf13_after_all_phases_but_the_last(expected):
    for program, text in PROGRAMS.items():
        mod = relax.IRModule(text)
        for name in ("normalize", "legalize", "memory", "shapes"):
            mod = transform.phase(name)(mod)
            for actual, wanted in zip(run(mod, next(MODES)), expected[program], strict=True):
                np.testing.assert_allclose(actual, wanted, rtol=1e-6, err_msg=f"{program} {name}")


PRODUCT = """
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (j, k)>
#y = affine_map<(i, j, k) -> (i, j)>
func.func private @matmul(%x: tensor<?x2xf32>, %w: tensor<13x2xf32>, %y: tensor<?x13xf32>)
    -> tensor<?x13xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x13xf32>) -> tensor<?x13xf32>
  %1 = linalg.generic {indexing_maps = [#x, #w, #y],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x2xf32>, tensor<13x2xf32>) outs(%0 : tensor<?x13xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x13xf32>
  return %1 : tensor<?x13xf32>
}
relax.func @main(%x: !relax.tensor<[m, 2], f32>) -> !relax.tensor<[m, 13], f32> {
  %w = relax.constant dense<1.0> : tensor<13x2xf32>
  %0 = relax.call_tir @matmul(%x, %w)
      : (!relax.tensor<[m, 2], f32>, !relax.tensor<[13, 2], f32>) -> !relax.tensor<[m, 13], f32>
  relax.return %0 : !relax.tensor<[m, 13], f32>
}"""


def test_a_pass_keeps_nothing_of_the_module_before():
    """Kernels that were packed before may be anything by now."""
    with current_context(), ir.Location.unknown():
        manager = PassManager.parse("builtin.module(relax-pack-constants)")
        for _ in range(100):
            module = ir.Module.parse(PRODUCT)
            manager.run(module.operation)
            assert "call_tir @matmul_packed(" in str(module)
