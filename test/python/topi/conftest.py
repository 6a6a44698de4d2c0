"""Running functions of tensor expressions."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax


def names(array: np.ndarray, symbolic: bool, index: int) -> tuple:
    """Dimensions, each with a name of its own for its size where they are symbolic."""
    return tuple(f"d{size}" if symbolic and size > 1 else size for size in array.shape)


@pytest.fixture(params=[False, True], ids=["static", "symbolic"])
def run_te(request):
    """Compile emit_te of a function, run it on arrays and return NumPy arrays.

    Symbolic dimensions are one variable for each size. A kernel is the same in both modes, so each
    shape runs in one of them.
    """
    exec_mode = "bytecode" if request.param else "compiled"

    def run(function, *args, **kwargs):
        bb = relax.BlockBuilder()
        params, arrays, given = [], [], []
        for index, arg in enumerate(args):
            if not isinstance(arg, np.ndarray):
                given.append(arg)
                continue
            shape = names(arg, request.param, index)
            param = relax.Var(f"x{index}", relax.TensorStructInfo(shape, arg.dtype))
            params.append(param)
            given.append(param)
            arrays.append(arg)
        with bb.function("main", params):
            bb.emit_func_output(bb.emit_te(function, *given, **kwargs))
        vm = relax.VirtualMachine(relax.compile(bb, exec_mode=exec_mode))
        result = vm["main"](*arrays)
        if hasattr(result, "__dlpack__"):
            return np.from_dlpack(result)
        return tuple(np.from_dlpack(each) for each in result)

    run.is_symbolic = request.param
    return run
