"""Gradients of operators against those of PyTorch and finite differences, and which have one.

As a program it prints the largest relative difference of each: from PyTorch with float32, from
PyTorch with float64, and from finite differences::

    python test/python/transform/test_gradient_operators.py [operator ...]
"""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
import torch
from gradient_cases import CASES, SIZES, numbers
from relax_mlir import op, transform
from relax_mlir.transform.gradient import NO_GRADIENT, RULES

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))
from operator_names import operators

# The largest difference from what PyTorch computes in float64, over the largest number.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}

# The largest difference of a slope from a difference quotient, over what the slope is the sum of.
SLOPE_TOLERANCE = {"float32": 1e-2, "float64": 1e-7}

NAMES = [case[0] for case in CASES]
CHUNK = 12
CHUNKS = [CASES[i : i + CHUNK] for i in range(0, len(CASES), CHUNK)]


def _is(kind, name):
    return isinstance(kind, str) and kind == name


def narrowest(case, dtype):
    """Return the narrowest data type of floats in a case."""
    return "float32" if case[0].startswith(("astype", "dequantize")) else dtype


def operands(case, dtype, is_smooth=False):
    """Return the arrays of a case, those of floats of a data type.

    If `is_smooth`, no two numbers of an array are equal.
    """
    rng = np.random.default_rng(len(case[0]))
    arrays = []
    for shape, kind in case[3]:
        is_any = _is(kind, "float32") or (is_smooth and _is(kind, "coarse"))
        array = np.asarray(numbers(shape, "any" if is_any else kind, rng))
        if array.dtype.kind == "f":
            array = array.astype("float32" if _is(kind, "float32") else dtype)
        arrays.append(array)
    return arrays


def is_float(array):
    """Say whether an array has a gradient."""
    return array.dtype.kind == "f"


def write(bb, name, case, arrays, symbolic):
    """Write a function that is the sum of a result by weights, which come last."""
    _, function, _, specs = case
    params = []
    for i, ((shape, _), array) in enumerate(zip(specs, arrays, strict=True)):
        dims = shape if symbolic else [SIZES.get(dim, dim) for dim in shape]
        params.append(relax.Var(f"x{i}", relax.TensorStructInfo(dims, array.dtype.name)))
    probe = relax.BlockBuilder()
    with probe.function("probe", params):
        made = function(*params)
        type_ = made.type
        probe.emit_func_output(made)
    weights = relax.Var("weights", type_)
    with bb.function(name, [*params, weights]):
        with bb.dataflow():
            loss = bb.emit_output(op.sum(op.multiply(function(*params), weights)))
        bb.emit_func_output(loss)
    return type_.dtype


def theirs(function, arrays, weights):
    """Return the gradients that PyTorch computes in float64."""
    tensors = [torch.tensor(a, dtype=torch.float64 if is_float(a) else None) for a in arrays]
    floats = [each.requires_grad_() for each in tensors if each.dtype == torch.float64]
    result = function(*tensors)
    (result * torch.tensor(weights, dtype=torch.float64)).sum().backward()
    return [each.grad.numpy() for each in floats]


@functools.cache
def compiled(chunk, dtype, symbolic, mode):
    """Compile the adjoints of some cases, in one program, since each compilation takes time."""
    bb, dtypes = relax.BlockBuilder(), []
    for i, case in enumerate(CHUNKS[chunk]):
        dtypes.append(write(bb, f"f{i}", case, operands(case, dtype), symbolic))
    mod = bb.get()
    for i, case in enumerate(CHUNKS[chunk]):
        arrays = operands(case, dtype)
        wanted = [f"x{place}" for place, array in enumerate(arrays) if is_float(array)]
        mod = transform.Gradient(f"f{i}", wanted)(mod)
    vm = relax.VirtualMachine(relax.compile(mod, exec_mode=mode, opt_level=1))
    return [(vm[f"f{i}_adjoint"], each) for i, each in enumerate(dtypes)]


def weights_of(case, arrays, dtype):
    """Return what the result of a case is multiplied with before it is summed."""
    shape = case[2](*map(torch.tensor, arrays)).shape
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def difference(case, dtype, symbolic, mode):
    """Return the largest relative difference of the gradients of a case from PyTorch's."""
    chunk, place = divmod(CASES.index(case), CHUNK)
    adjoint, result = compiled(chunk, dtype, symbolic, mode)[place]
    arrays = operands(case, dtype)
    weights = weights_of(case, arrays, result)
    _, gradients = adjoint(*arrays, weights)
    expected = theirs(case[2], arrays, weights)
    worst, given = 0.0, filter(is_float, arrays)
    for array, actual, wanted in zip(given, gradients, expected, strict=True):
        actual = actual.numpy()
        assert actual.shape == array.shape
        assert actual.dtype == array.dtype
        gap = float(abs(actual - wanted).max() / max(abs(wanted).max(), 1e-3))
        worst = max(worst, gap if np.isfinite(gap) else np.inf)
    return worst


def slope_difference(case, dtype, symbolic, mode):
    """Return the relative difference of the slope in a random direction from a difference quotient.

    The step is that at which rounding and the curvature weigh about alike.
    """
    chunk, place = divmod(CASES.index(case), CHUNK)
    adjoint, result = compiled(chunk, dtype, symbolic, mode)[place]
    arrays = operands(case, dtype, is_smooth=True)
    weights = weights_of(case, arrays, result)
    rng = np.random.default_rng(1)
    ways = [rng.standard_normal(a.shape) if is_float(a) else None for a in arrays]
    step = float(np.finfo(narrowest(case, dtype)).eps) ** (1 / 3)

    def moved(sign):
        pairs = zip(arrays, ways, strict=True)
        return [a if w is None else np.asarray(a + sign * step * w, a.dtype) for a, w in pairs]

    above, below = (float(adjoint(*moved(sign), weights)[0]) for sign in (1, -1))
    floats = [w for w in ways if w is not None]
    gradients = [each.numpy().astype("float64") for each in adjoint(*arrays, weights)[1]]
    slope = sum((g * w).sum() for g, w in zip(gradients, floats, strict=True))
    size = sum(np.abs(g * w).sum() for g, w in zip(gradients, floats, strict=True))
    return float(abs(slope - (above - below) / (2 * step)) / max(size, 1e-3))


# Each chunk runs in one of them; this file, run as a program, measures all.
COMBINATIONS = [
    ("float32", True, "compiled"),
    ("float64", False, "bytecode"),
    ("float64", True, "compiled"),
    ("float32", False, "bytecode"),
]


def combination(case):
    """Return the data type, whether sizes are symbolic, and the mode in which a case is tested."""
    return COMBINATIONS[CASES.index(case) // CHUNK % len(COMBINATIONS)]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_gradient_is_that_of_pytorch(case):
    dtype, symbolic, mode = combination(case)
    assert difference(case, dtype, symbolic, mode) < TOLERANCE[narrowest(case, dtype)]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_gradient_is_a_difference_quotient(case):
    if case[0] == "relu-at-0":
        pytest.skip("the slopes on both sides of 0 differ")
    dtype, symbolic, mode = combination(case)
    assert slope_difference(case, dtype, symbolic, mode) < SLOPE_TOLERANCE[narrowest(case, dtype)]


COLUMNS = ("shapes", "PyTorch, float32", "PyTorch, float64", "difference quotient, float64")


def measured(case):
    """Return the largest differences of a case, with and without symbolic sizes, in both modes."""
    runs = [(symbolic, mode) for symbolic in (False, True) for mode in ("compiled", "bytecode")]
    for dtype in ("float32", "float64"):
        yield max(difference(case, dtype, *run) for run in runs)
    yield max(slope_difference(case, "float64", *run) for run in runs)


def test_each_operator_has_a_gradient_or_a_reason():
    names = operators()
    both = [name for name in names if name in RULES and name in NO_GRADIENT]
    neither = [name for name in names if name not in RULES and name not in NO_GRADIENT]
    assert not both
    assert not neither
    assert all(NO_GRADIENT[name] for name in names if name in NO_GRADIENT)


def test_each_rule_of_an_operator_has_a_case():
    without = {"relax.start_checkpoint", "relax.end_checkpoint"}  # see test_gradient.py
    # These raise an error; see runtime/test_disco_programs.py.
    without |= {"relax.allgather", "relax.allreduce"}
    without |= {"relax.broadcast_from_worker0", "relax.scatter_from_worker0"}
    without |= {"relax.redistribute_replica_to_shard"}
    tested = {f"relax.{case[0].partition('-')[0]}" for case in CASES}
    assert {name for name in operators() if name in RULES} - tested == without


if __name__ == "__main__":
    print("operator", *COLUMNS, sep=", ")
    for case in CASES:
        if len(sys.argv) == 1 or any(case[0].startswith(each) for each in sys.argv[1:]):
            shapes = " ".join(str(list(shape)).replace("'", "") for shape, _ in case[3])
            print(
                case[0], shapes, *(f"{each:.1e}" for each in measured(case)), sep=", ", flush=True
            )
