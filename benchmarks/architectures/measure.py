# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of one architecture, stage by stage."""

from __future__ import annotations

import argparse
import copy
import logging
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

import torch
import vision_operators  # noqa: F401 (before torchvision is imported by any module)
from case import Case, Outputs

# The largest difference, relative to the largest element: rounding of deep networks stays below.
TOLERANCE = 1e-4
# Where it does not: the largest difference, relative to what PyTorch differs from float64.
FACTOR = 8


def export(case: Case, is_dynamic: bool) -> torch.export.ExportedProgram:
    """Return the program of a case."""
    arguments, model = case.arguments(0), case.model()
    dims = dict.fromkeys(case.dims(), torch.export.Dim.DYNAMIC)
    shapes: Any = tuple(each.dynamic(dims) for each in case.inputs) if is_dynamic else None
    if shapes is not None and isinstance(model, Outputs):  # its arguments are one tuple
        shapes = (shapes,)
    return torch.export.export(model, arguments, dynamic_shapes=shapes)


def warm_up() -> None:
    """Import what an export needs, once for all processes that start after."""
    program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),))
    program.run_decompositions()


def measure(case: Case, sender: Connection, options: argparse.Namespace) -> None:
    """Send what each stage took, and the error of the one that failed."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # of what PyTorch cannot export there is a note
    torch.set_num_threads(1)
    stage = "export"
    try:
        for stage, update in _stages(case, options):
            sender.send({stage: update} if not isinstance(update, dict) else update)
    except Exception as error:
        message = " ".join(str(error).split())[:600]
        sender.send({"error": f"after {stage}: {type(error).__name__}: {message}"})
    sender.send({"end": True})


def _stages(case: Case, options: argparse.Namespace) -> Any:
    import relax_mlir
    from relax_mlir.frontend import detach_params
    from relax_mlir.transform.signatures import param_names

    yield "start", {}
    start = time.process_time()
    program, is_dynamic = None, True
    try:
        program = export(case, True)
    except Exception as error:
        first = " ".join(str(error).split())[:160]
        yield "dynamic export", {"note": f"not dynamic: {type(error).__name__}: {first}"}
        program, is_dynamic = export(case, False), False
    yield "dims", {"dims": ", ".join(case.dims()) if is_dynamic else "static"}
    yield "export", time.process_time() - start

    if options.until == "export":
        return
    start = time.process_time()
    mod, weights = detach_params(_import(program, options.via))
    yield "import", time.process_time() - start
    draws_numbers = "random_key" in param_names(mod["main"].operation)
    if options.until == "import":
        return
    start = time.process_time()
    executable = relax_mlir.compile(mod, exec_mode=options.mode)
    yield "compile", time.process_time() - start
    if options.until == "compile":
        return
    machine = relax_mlir.VirtualMachine(executable)
    changed = weights.get("main", [])
    key = [torch.tensor(0, dtype=torch.uint64)] if draws_numbers else []

    def main(*arguments: torch.Tensor) -> Any:
        # What the model changes is as it was in each call.
        return machine["main"](*arguments, *(each.clone() for each in changed), *key)

    yield from _compare(case, main, [1, 2] if is_dynamic else [0])


def _import(program: torch.export.ExportedProgram, via: str) -> Any:
    if via == "torch":
        from relax_mlir.frontend.torch import from_exported_program

        return from_exported_program(program)
    from relax_mlir.frontend.onnx import from_onnx

    made = torch.onnx.export(program, dynamo=True, verbose=False)
    return from_onnx(made.model_proto)


def _compare(case: Case, main: Any, places: list[int]) -> Any:
    model = case.model()
    taken, errors, notes = 0.0, [], []
    for place in places:
        arguments = case.arguments(place)
        wanted = _tensors(model(*arguments))
        start = time.process_time()
        got = main(*arguments)
        taken += time.process_time() - start
        got = [got] if hasattr(got, "shape") else list(got)
        errors += _differences(got, wanted)
        notes += _doubts(wanted)
    yield "run", taken
    yield "match", max(errors)
    if notes:
        yield "doubts", {"note": ", ".join(dict.fromkeys(notes))}
    if max(errors) <= TOLERANCE:
        return
    rounding = max(_rounding(model, case.arguments(place)) for place in places)
    yield "rounding", {"note": f"PyTorch differs from float64 by {rounding:.1e}"}
    if not max(errors) <= FACTOR * rounding:
        places_ = [f"{error:.1e}" for error in errors]
        raise AssertionError(f"expected results of PyTorch, but got errors {places_}")


def _rounding(model: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> float:
    """Return the error of PyTorch's own results, against those in float64."""
    exact = copy.deepcopy(model).double()
    wide = [each.double() if each.is_floating_point() else each for each in arguments]
    single, double = _tensors(model(*arguments)), _tensors(exact(*wide))
    rounded = [each.to(of.dtype) for each, of in zip(double, single, strict=True)]
    return max(_differences(single, rounded))


def _tensors(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def _differences(got: list[Any], wanted: list[torch.Tensor]) -> list[float]:
    if len(got) != len(wanted):
        raise AssertionError(f"expected {len(wanted)} results, but got {len(got)}")
    errors = []
    for ours, theirs in zip(map(torch.from_dlpack, got), wanted, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            raise AssertionError(
                f"expected {theirs.dtype} of shape {tuple(theirs.shape)}, "
                f"but got {ours.dtype} of shape {tuple(ours.shape)}"
            )
        if theirs.numel() == 0:
            continue
        scale = theirs.double().abs().nan_to_num(posinf=0.0).max().clamp(min=1e-30)
        difference = (ours.double() - theirs.double()).abs()
        difference[(ours == theirs) | (ours.isnan() & theirs.isnan())] = 0.0
        error = (difference / scale).max().item()
        errors.append(float("inf") if error != error else error)
    return errors


def _doubts(wanted: list[torch.Tensor]) -> list[str]:
    """Return why results may hide mistakes."""
    first = wanted[0].double()
    if not first.isfinite().all():
        return ["results are not finite"]
    if (
        first.dim() > 0
        and first.shape[0] > 1
        and (first[0] - first[1]).abs().max() < 1e-3 * first.abs().max()
    ):
        return ["results hardly depend on the input"]
    return []
