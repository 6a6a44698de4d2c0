"""Quotients by sizes on GPUs, which threads compute by multiplication."""

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)

#: Quotients and remainders of numbers by a size that the program gets; in 32 bits, the bits of the
#: numbers are those of the lower half.
DIVISIONS = """
#one = affine_map<(d0) -> (d0)>
func.func private @divide(%x: tensor<?xi64>, %d: i64, %q: tensor<?xi64>, %r: tensor<?xi64>)
    -> (tensor<?xi64>, tensor<?xi64>) {{
  {divisor}
  %0:2 = linalg.generic {{indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}}
      ins(%x : tensor<?xi64>) outs(%q, %r : tensor<?xi64>, tensor<?xi64>) {{
  ^bb0(%a: i64, %b: i64, %c: i64):
    %n = {from_i64}
    %quotient = arith.divui %n, %by : {type}
    %remainder = arith.remui %n, %by : {type}
    %1 = {to_i64} %quotient : {type} to i64
    %2 = {to_i64} %remainder : {type} to i64
    linalg.yield %1, %2 : i64, i64
  }} -> (tensor<?xi64>, tensor<?xi64>)
  return %0#0, %0#1 : tensor<?xi64>, tensor<?xi64>
}}
relax.func @main(%x: !relax.tensor<[n], i64>, %d: !relax.shape<[d]>)
    -> !relax.tuple<!relax.tensor<[n], i64>, !relax.tensor<[n], i64>> {{
  %0 = relax.call_tir @divide(%x) packed_ints %d : !relax.shape<[d]> : (!relax.tensor<[n], i64>)
      -> !relax.tuple<!relax.tensor<[n], i64>, !relax.tensor<[n], i64>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n], i64>, !relax.tensor<[n], i64>>
}}
"""

INDEX = {
    "type": "index",
    "divisor": "%by = arith.index_cast %d : i64 to index",
    "from_i64": "arith.index_cast %a : i64 to index",
    "to_i64": "arith.index_cast",
}
NARROW = {
    "type": "i32",
    "divisor": "%by = arith.trunci %d : i64 to i32",
    "from_i64": "arith.trunci %a : i64 to i32",
    "to_i64": "arith.extui",
}


def numbers_around(divisor, bits):
    """Return numbers of so many bits, among them multiples of a divisor and their neighbours."""
    most = 2**bits - 1
    rng = np.random.default_rng(divisor % 2**32)
    factors = [0, 1, 2, 3, most // divisor // 2, most // divisor - 1, most // divisor]
    factors += [int(rng.integers(0, most // divisor, endpoint=True, dtype="uint64"))]
    near = [factor * divisor + by for factor in factors for by in (-1, 0, 1)]
    powers = [2**i + by for i in range(bits) for by in (-1, 0, 1)]
    drawn = rng.integers(0, most, 64, dtype="uint64", endpoint=True).tolist()
    return np.array([n for n in [*near, *powers, *drawn, most] if 0 <= n <= most], "uint64")


DIVISORS = [1, 2, 3, 5, 7, 10, 64, 641, 1 << 16, 65537, 2**31 - 1, 2**31]
WIDE_DIVISORS = [2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 15, 3**39, 2**62, 2**63 - 1]


@pytest.mark.parametrize(
    ("kind", "divisors"),
    [(INDEX, DIVISORS + WIDE_DIVISORS), (NARROW, [*DIVISORS, 2**31 + 1, 2**32 - 1])],
    ids=["index", "i32"],
)
def test_all_numbers(kind, divisors):
    """Quotients are exact for all numbers of the type, also for those with a sign."""
    executable = relax.compile(DIVISIONS.format(**kind), target="cuda")
    main = relax.VirtualMachine(executable)["main"]
    for divisor in divisors:
        x = numbers_around(divisor, 64 if kind is INDEX else 32)
        results = main(relax_runtime.tensor(x.view("int64"), "cuda:0"), tvm_ffi.Shape((divisor,)))
        quotient, rest = (
            np.from_dlpack(relax_runtime.tensor(result, "cpu:0")).view("uint64")
            for result in results
        )
        np.testing.assert_array_equal(quotient, x // np.uint64(divisor))
        np.testing.assert_array_equal(rest, x % np.uint64(divisor))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 3), (1, 7, 1), (5, 64, 3), (4, 13, 17)])
def test_sizes(shape):
    """Places are what flat numbers of threads say, for sizes that only the host knows."""
    names = [("a", "b", "c")]
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    programs = [
        (lambda x: op.permute_dims(x, [2, 0, 1]), x.transpose(2, 0, 1)),
        (lambda x: op.repeat(op.flip(x, 1), 2, 1), np.repeat(x[:, ::-1], 2, 1)),
        (lambda x: op.sum(x, [0]), x.sum(0)),
        (lambda x: op.max(x, [2]), x.max(2)),
        (lambda x: op.cumsum(x, 2), x.cumsum(2)),
        (lambda x: op.tile(x, [1, 2, 1]), np.tile(x, (1, 2, 1))),
    ]
    for function, expected in programs:
        bb = write(function, [(names[0], "float32")])
        main = relax.VirtualMachine(relax.compile(bb, target="cuda"))["main"]
        result = relax_runtime.tensor(main(relax_runtime.tensor(x, "cuda:0")), "cpu:0")
        np.testing.assert_array_equal(np.from_dlpack(result), expected)


def test_no_elements():
    """Where a size is 0, the host divides by nothing."""
    bb = write(lambda x: op.permute_dims(x, [2, 0, 1]), [(("a", "b", "c"), "float32")])
    main = relax.VirtualMachine(relax.compile(bb, target="cuda"))["main"]
    for shape in [(0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0)]:
        result = main(relax_runtime.tensor(np.ones(shape, "float32"), "cuda:0"))
        assert tuple(result.shape) == (shape[2], shape[0], shape[1])
