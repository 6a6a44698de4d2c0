"""Helpers of tests of functions as values, which write programs and run them."""

import numpy as np
import relax_mlir as relax

ALIASES = """
!any = !relax.object
!bool = !relax.tensor<[], i1>
!int = !relax.tensor<[], i64>
!n = !relax.tensor<[n], f32>
!m = !relax.tensor<[m], f32>
!n2 = !relax.tensor<[n, 2], f32>
!four = !relax.tensor<[4], f32>
!vec = !relax.tensor<ndim = 1, f32>
!s = !relax.tensor<var = s, ndim = 1, f32>
!unary = !relax.func<(!int) -> !int, pure>
!parity = !relax.func<(!int) -> !bool, pure>
!thunk = !relax.func<() -> !int, pure>
!packed = !relax.func<derive = @default_derive>
!on_n = !relax.func<(!n) -> !n, pure>
!on_m = !relax.func<(!m) -> !m, pure>
!on_s = !relax.func<(!s) -> !any, pure>
!twice_n = !relax.func<(!relax.tensor<[n * 2], f32>) -> !any, impure>
!sized = !relax.shape<[n, m * 2, k]>
!make_sized = !relax.func<(!relax.prim<i64, k>) -> !sized, pure>
!i8 = !relax.prim<i8>
!i32 = !relax.prim<i32>
!i64 = !relax.prim<i64>
!f32 = !relax.prim<f32>
!i1 = !relax.prim<i1>
!unit = !relax.tuple<>
!scale = !relax.func<(!vec, !i64, !vec, !f32, !i1, !i32) -> !unit, impure>
"""

# Two functions of the module that call each other, one by its name and one by a value.
PARITY = """
relax.func @even(%i: !int) -> !bool {
  %one = relax.constant dense<1> : tensor<i64>
  %c = relax.less %i, %one : (!int, !int) -> !bool
  %r = relax.if %c : !bool -> !bool {
    %t = relax.constant dense<true> : tensor<i1>
    relax.yield %t : !bool
  } else {
    %p = relax.subtract %i, %one : (!int, !int) -> !int
    %0 = relax.call @odd(%p) : (!int) -> !bool
    relax.yield %0 : !bool
  }
  relax.return %r : !bool
}
relax.func @odd(%i: !int) -> !bool {
  %f = relax.global_var @even : !parity
  %one = relax.constant dense<1> : tensor<i64>
  %c = relax.less %i, %one : (!int, !int) -> !bool
  %r = relax.if %c : !bool -> !bool {
    %t = relax.constant dense<false> : tensor<i1>
    relax.yield %t : !bool
  } else {
    %p = relax.subtract %i, %one : (!int, !int) -> !int
    %0 = relax.call %f : !parity (%p) : (!int) -> !bool
    relax.yield %0 : !bool
  }
  relax.return %r : !bool
}
"""


def f32(*values):
    return np.array(values, "float32")


def values(result):
    return np.from_dlpack(result).tolist()


def machine(text):
    program = ALIASES + text if isinstance(text, str) else text
    return relax.VirtualMachine(relax.compile(program))
