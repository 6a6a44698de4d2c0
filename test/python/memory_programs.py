"""Programs and arguments that would touch memory of others, were they not checked.

`python memory_programs.py MODE CHECKS` runs them all, with a line of JSON before and after each, so
that whoever started it knows which one ended the process.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op

HUGE = 2**62 + 1


def tensor(shape: Any, dtype: str = "float32", name: str = "x") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def shape(*values: str) -> relax.Var:
    return relax.Var("s", relax.ShapeStructInfo(values))


def number(name: str) -> relax.Var:
    return relax.Var(name, relax.PrimStructInfo("int64", name))


def guarded(array: np.ndarray, at_end: bool = True) -> np.ndarray:
    """Copy an array to where its last (or first) byte is next to a page nobody may touch."""
    page = mmap.PAGESIZE
    size = -(-max(array.nbytes, 1) // page) * page
    memory = mmap.mmap(-1, size + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for place in (start, start + page + size):
        assert libc.mprotect(ctypes.c_void_p(place), page, 0) == 0
    offset = page + (size - array.nbytes if at_end else 0)
    result = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
    result[...] = array
    return result


def f32(*dims: int) -> np.ndarray:
    return np.arange(np.prod(dims), dtype="float32").reshape(dims) + 1


def show(value: Any) -> Any:
    """Turn a result into what JSON has."""
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, tvm_ffi.Shape):
        return [int(dim) for dim in value]
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value).tolist()
    return [show(field) for field in value]


class Error(NamedTuple):
    """The name of a type (none: any), a part of the message, and a pattern for the rest."""

    kind: str
    what: str
    text: str


class Case(NamedTuple):
    """A program, its arguments, and the result that is due or the parts of an error.

    `sizes_are_trusted`: the checks that are not necessary make it safe.
    """

    params: list[relax.Var]
    body: Callable[..., Any] | str  # of its parameters; or a program as text
    args: list[Any]
    due: Any
    sizes_are_trusted: bool = False


def both(*views: Any) -> Any:
    """Two kernels after a view, so that a plan of memory has something to plan."""
    return op.add(op.exp(views[0]), op.exp(views[0]))


def cast_product(x: Any) -> Any:
    return relax.BlockBuilder.current().match_cast(x, relax.TensorStructInfo(("n * m",), "float32"))


S4, S33 = tvm_ffi.Shape((4, HUGE)), tvm_ffi.Shape((2**33, 2**33))
OVERFLOW = Error("ValueError", "m * n", "expected a value of 64 bits, but got")
NEGATIVE_N = Error("ValueError", "argument 'n'", "expected n >= 0, but it is")
NEGATIVE_S = Error("ValueError", "dimension 0 of argument 's'", "expected n >= 0, but it is -3")

PLACES = [-(2**31), -1, 0, 4, 5, 2**31 - 1]
EMPTY = np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), (0, 5), (2**40, 2**50))
REPEATED = np.lib.stride_tricks.as_strided(guarded(np.zeros((1, 1), "float32")), (500, 9), (0, 0))
MISALIGNED = np.frombuffer(bytearray(17), "int8")[1:].view("float32").reshape(2, 2)


def x_row(x: Any) -> Any:
    """Ones, in the shape of a row of `x`."""
    return op.exp(op.max(x, 0))


KERNEL = """
func.func private @double(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%y : tensor<?xf32>)
    -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
relax.func @main(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[m]>)
    -> !relax.tensor<[m], f32> {
  %0 = relax.call_tir @double(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[m], f32>
  relax.return %0 : !relax.tensor<[m], f32>
}"""
# The loops rely on the types that the kernel declares for its parameters.
LOOPS = """
func.func private @reverse(%x: memref<?xf32> {relax.struct_info = !relax.tensor<[k], f32>},
    %y: memref<?xf32> {relax.struct_info = !relax.tensor<[k], f32>}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = memref.dim %x, %zero : memref<?xf32>
  scf.for %i = %zero to %size step %one {
    %value = memref.load %x[%i] : memref<?xf32>
    %behind = arith.subi %size, %i : index
    %place = arith.subi %behind, %one : index
    memref.store %value, %y[%place] : memref<?xf32>
  }
  return
}
relax.func @main(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[m]>)
    -> !relax.tensor<[m], f32> {
  %0 = relax.call_tir @reverse(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[m], f32>
  relax.return %0 : !relax.tensor<[m], f32>
}"""
KERNEL_ERROR = Error("ValueError", "the operands of relax.call_tir", "dimension 0 is")


CASES: dict[str, Case] = {
    # Products of variables beyond 64 bits.
    "overflow-argument-view": Case(
        [shape("n", "m"), tensor(("n * m",))],
        lambda s, x: both(op.reshape(x, ("n", "m"))),
        [S4, guarded(f32(4))],
        Error(
            "ValueError", "", "expected a value of 64 bits|differ in the number of elements|view"
        ),
    ),
    "overflow-argument": Case(
        [shape("n", "m"), tensor(("n * m",))],
        lambda s, x: op.exp(x),
        [S4, f32(4)],
        OVERFLOW,
        sizes_are_trusted=True,
    ),
    "overflow-sum": Case(
        [shape("n", "m"), tensor(("n + m",))],
        lambda s, x: op.zeros(("n + m",)),
        [tvm_ffi.Shape((2**63 - 1, 2**63 - 1)), f32(4)],
        Error("ValueError", "m + n", "expected a value of 64 bits"),
    ),
    "overflow-zeros": Case([shape("n", "m")], lambda s: op.zeros(("n * m",)), [S33], OVERFLOW),
    "overflow-plan": Case([shape("n", "m")], lambda s: both(op.zeros(("n * m",))), [S33], OVERFLOW),
    "overflow-bytes": Case(
        [shape("n", "m")],
        lambda s: both(op.zeros(("n", "m"))),
        [tvm_ffi.Shape((2**31, 2**31))],
        Error("", "", "64 bits|out of memory"),
    ),
    "overflow-shape-value": Case(
        [shape("n", "m")], lambda s: relax.ShapeExpr(("n * m", 1)), [S33], OVERFLOW
    ),
    "overflow-slice": Case(
        [shape("n", "m"), tensor((8,))],
        lambda s, x: op.strided_slice(x, [0], ["n * m"], [8]),
        [S33, guarded(f32(8))],
        OVERFLOW,
    ),
    # Variables that are negative.
    "negative-number": Case(
        [number("n")],
        lambda n: op.strided_slice(op.full(("n + 500",), np.float32(1)), [0], [0], [500]),
        [-499],
        NEGATIVE_N,
    ),
    "negative-shape": Case(
        [shape("n", "m")], lambda s: op.zeros(("n + 8", "m")), [tvm_ffi.Shape((-3, 1))], NEGATIVE_S
    ),
    "negative-product": Case(
        [shape("n", "m"), tensor(("n * m",))],
        lambda s, x: both(op.reshape(x, ("n", "m"))),
        [tvm_ffi.Shape((-3, -2)), guarded(f32(6))],
        NEGATIVE_S,
    ),
    # Dimensions that are negative.
    "negative-zeros": Case(
        [tensor(("n",))],
        lambda x: op.zeros(("n - 4",)),
        [f32(3)],
        Error("ValueError", "n - 4", "expected n - 4 >= 0, but it is -1"),
    ),
    "negative-plan": Case(
        [tensor(("n",))],
        lambda x: both(op.zeros(("n - 4", "n - 5"))),
        [f32(3)],
        Error("ValueError", "n - 4", "expected n - 4 >= 0, but it is -1"),
    ),
    "negative-broadcast": Case(
        [tensor((1,)), shape("n")],
        lambda x, s: op.broadcast_to(x, ("n - 4",)),
        [f32(1), tvm_ffi.Shape((3,))],
        Error("ValueError", "n - 4", "expected n - 4 >= 0, but it is -1"),
    ),
    "negative-reshape": Case(
        [tensor(("n * n - 8 * n + 16",)), shape("n")],
        lambda x, s: both(op.reshape(x, ("n - 4", "n - 4"))),
        [guarded(f32(1)), tvm_ffi.Shape((3,))],
        Error("ValueError", "n - 4", "expected n - 4 >= 0, but it is -1"),
    ),
    # Indices beyond the data, with neighbors that are fused.
    **{
        f"index-{name}-{dtype}": Case(
            [tensor((5, "m")), tensor((6,), dtype, "i")],
            lambda x, i, function=function: op.add(op.exp(function(op.negative(x), i)), x_row(x)),
            [guarded(np.zeros((5, 3), "float32")), np.array(PLACES, dtype)],
            [[2.0] * 3] * 6,
        )
        for dtype in ("int32", "int64")
        for name, function in {
            "take": lambda x, i: op.take(x, i, 0),
            "take-wrap": lambda x, i: op.take(x, i, 0, mode="wrap"),
            "gather_nd": lambda x, i: op.gather_nd(x, op.reshape(i, (6, 1))),
        }.items()
    },
    "index-gather_elements": Case(
        [tensor((5, "m")), tensor((6, "m"), "int64", "i")],
        lambda x, i: op.exp(op.gather_elements(op.negative(x), i)),
        [guarded(np.zeros((5, 3), "float32")), np.repeat(np.array(PLACES)[:, None], 3, 1)],
        [[1.0] * 3] * 6,
    ),
    "index-empty": Case(
        [tensor(("n", 3)), tensor((6,), "int64", "i")],
        lambda x, i: op.exp(op.take(x, i, 0)),
        [f32(0, 3), np.array(PLACES)],
        None,
    ),
    "index-scatter_elements": Case(
        [tensor(("n",)), tensor((6,), "int64", "i"), tensor((6,), name="u")],
        lambda x, i, u: op.add(op.scatter_elements(op.exp(x), i, u), x),
        [guarded(np.zeros(5, "float32")), np.array(PLACES), np.full(6, 7, "float32")],
        [7.0, 1.0, 1.0, 1.0, 7.0],
    ),
    "index-scatter_nd": Case(
        [tensor(("n", "m")), tensor((6, 1), "int64", "i"), tensor((6, "m"), name="u")],
        lambda x, i, u: op.scatter_nd(op.exp(x), i, u),
        [
            guarded(np.zeros((5, 1), "float32")),
            np.array(PLACES)[:, None],
            np.full((6, 1), 7, "float32"),
        ],
        [[7.0], [1.0], [1.0], [1.0], [7.0]],
    ),
    # Attributes that are variables.
    **{
        f"slice-{n}-{m}": Case(
            [shape("n", "m"), tensor((8,))],
            lambda s, x: op.exp(op.strided_slice(op.negative(x), [0], ["n"], ["m"])),
            [tvm_ffi.Shape((n, m)), guarded(np.zeros(8, "float32"))],
            [1.0] * max(0, min(m, 8) - min(n, 8)),
        )
        for n, m in ((0, 2**63 - 1), (3, 2), (2**63 - 1, 2**63 - 1), (5, 9), (9, 12))
    },
    **{
        f"slice-inbound-{m}": Case(
            [shape("n", "m"), tensor((8,))],
            lambda s, x: op.strided_slice(x, [0], ["n"], ["m"], assume_inbound=True),
            [tvm_ffi.Shape((n, m)), guarded(np.zeros(8, "float32"))],
            due,
            sizes_are_trusted=True,
        )
        for n, m, due in (
            (2, 5, [0.0] * 3),
            (2, 100, Error("ValueError", "", "8")),
            (7, 2, Error("ValueError", "", "m - n|n")),
        )
    },
    "arange-huge": Case(
        [shape("n", "m")],
        lambda s: op.arange("n", "m", 1),
        [tvm_ffi.Shape((0, 2**62))],
        Error("", "", "memory"),
    ),
    "tile-overflow": Case(
        [tensor(("n",))],
        lambda x: op.tile(x, [2**62]),
        [f32(4)],
        Error("ValueError", "n * 4611686018427387904", "64 bits"),
    ),
    "repeat-overflow": Case(
        [tensor(("n",))],
        lambda x: op.repeat(x, 2**62, 0),
        [f32(4)],
        Error("ValueError", "n * 4611686018427387904", "64 bits"),
    ),
    # A kernel whose loop goes over dimensions that differ.
    **{
        f"{kind}-{name}": Case([], program, args, due, sizes_are_trusted=True)
        for kind, program, result in (
            ("kernel", KERNEL, [2.0, 4.0, 6.0, 8.0]),
            ("loops", LOOPS, [4.0, 3.0, 2.0, 1.0]),
        )
        for name, args, due in (
            ("equal", [guarded(f32(4)), tvm_ffi.Shape((4,))], result),
            ("longer", [guarded(f32(4)), tvm_ffi.Shape((4000,))], KERNEL_ERROR),
            ("shorter", [f32(4000), tvm_ffi.Shape((4,))], KERNEL_ERROR),
        )
    },
    # Arguments that are no compact arrays.
    **{
        f"strides-{name}": Case(
            [tensor(("n", "m"))], lambda x: op.sum(op.exp(op.negative(x))), [array], result
        )
        for name, array, result in (
            ("reversed", guarded(np.zeros((3, 4), "float32"))[::-1, ::-1], 12.0),
            ("zero", REPEATED, 4500.0),
            ("transposed", guarded(np.zeros((3, 4), "float32")).T, 12.0),
            ("wide", guarded(np.zeros((3, 4), "float32"))[::2, ::3], 4.0),
            ("first-page", guarded(np.zeros((3, 5), "float32"), at_end=False), 15.0),
            ("empty", np.zeros((0, 5), "float32"), 0.0),
            ("empty-huge-strides", EMPTY, 0.0),
            ("misaligned", MISALIGNED, 4.0),
        )
    },
}


def build(case: Case) -> Any:
    if isinstance(case.body, str):
        return case.body
    bb = relax.BlockBuilder()
    with bb.function("main", case.params):
        bb.emit_func_output(case.body(*case.params))
    return bb.get()


def run(case: Case, mode: str, checks: str) -> Any:
    """Return the result of a case, or the error as the name of its type and its text."""
    try:
        executable = relax.compile(build(case), exec_mode=mode, checks=checks)
        return show(relax.VirtualMachine(executable)["main"](*case.args))
    except (ValueError, MemoryError, TypeError) as error:
        return {"error": type(error).__name__, "text": str(error)}


def main(mode: str, checks: str) -> None:
    relax.runtime.set_memory_limit(2**30)
    for name, case in CASES.items():
        if checks == "necessary" and case.sizes_are_trusted:
            continue
        print(json.dumps({"begins": name}), flush=True)
        print(json.dumps({"ends": name, "result": run(case, mode, checks)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
