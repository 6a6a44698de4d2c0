"""Gradients of operators against those of PyTorch, and the table of operators that have one."""

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

CHUNK = 12
CHUNKS = [CASES[i : i + CHUNK] for i in range(0, len(CASES), CHUNK)]


def _is(kind, name):
    return isinstance(kind, str) and kind == name


def operands(case, dtype):
    """Return the arrays of a case, those of floats of a data type."""
    rng = np.random.default_rng(len(case[0]))
    arrays = []
    for shape, kind in case[3]:
        array = numbers(shape, "any" if _is(kind, "float32") else kind, rng)
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


def difference(case, dtype, symbolic, mode):
    """Return the largest relative difference of the gradients of a case from PyTorch's."""
    chunk, place = divmod(CASES.index(case), CHUNK)
    adjoint, result = compiled(chunk, dtype, symbolic, mode)[place]
    arrays = operands(case, dtype)
    shape = case[2](*map(torch.tensor, arrays)).shape
    weights = np.random.default_rng(0).standard_normal(shape).astype(result)
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


# Each chunk runs in one of them; `python test_gradient_operators.py` measures all.
COMBINATIONS = [
    ("float32", True, "compiled"),
    ("float64", False, "bytecode"),
    ("float64", True, "compiled"),
    ("float32", False, "bytecode"),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_gradient_is_that_of_pytorch(case):
    chunk = CASES.index(case) // CHUNK
    dtype, symbolic, mode = COMBINATIONS[chunk % len(COMBINATIONS)]
    narrow = "float32" if case[0].startswith(("astype", "dequantize")) else dtype
    assert difference(case, dtype, symbolic, mode) < TOLERANCE[narrow]


def test_each_operator_has_a_gradient_or_a_reason():
    names = operators()
    both = [name for name in names if name in RULES and name in NO_GRADIENT]
    neither = [name for name in names if name not in RULES and name not in NO_GRADIENT]
    assert not both
    assert not neither
    assert all(NO_GRADIENT[name] for name in names if name in NO_GRADIENT)


def test_each_rule_of_an_operator_has_a_case():
    without = {"relax.start_checkpoint", "relax.end_checkpoint"}  # see test_gradient.py
    tested = {f"relax.{case[0].partition('-')[0]}" for case in CASES}
    assert {name for name in operators() if name in RULES} - tested == without


if __name__ == "__main__":
    for case in CASES:
        if len(sys.argv) > 1 and not any(case[0].startswith(each) for each in sys.argv[1:]):
            continue
        try:
            found = [
                f"{difference(case, dtype, symbolic, mode):.1e}"
                for dtype in ("float32", "float64")
                for symbolic in (False, True)
                for mode in ("compiled", "bytecode")
            ]
        except Exception as error:
            found = [type(error).__name__, str(error)[:300]]
        print(case[0], *found, flush=True)
