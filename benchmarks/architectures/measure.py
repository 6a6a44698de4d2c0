# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of one architecture, stage by stage."""

from __future__ import annotations

import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

import torch
from case import Case

# The largest difference, relative to the largest element: rounding of deep networks stays below.
TOLERANCE = 1e-4


def export(case: Case, is_dynamic: bool) -> torch.export.ExportedProgram:
    """Return the program of a case."""
    arguments = case.arguments(0)
    dims = {name: torch.export.Dim.DYNAMIC for name in case.dims()}
    shapes = tuple(each.dynamic(dims) for each in case.inputs) if is_dynamic else None
    return torch.export.export(case.model(), arguments, dynamic_shapes=shapes)


def measure(case: Case, sender: Connection, mode: str, via: str) -> None:
    """Send what each stage took, and the error of the one that failed."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    stage = "export"
    try:
        for stage, update in _stages(case, mode, via):  # noqa: B007 (for the error)
            sender.send({stage: update} if not isinstance(update, dict) else update)
    except Exception as error:  # noqa: BLE001 (any error is a result)
        message = " ".join(str(error).split())[:600]
        sender.send({"error": f"after {stage}: {type(error).__name__}: {message}"})
    sender.send({"end": True})


def _stages(case: Case, mode: str, via: str) -> Any:
    import relax_mlir  # noqa: PLC0415 (not before the fork)

    yield "start", {}
    start = time.monotonic()
    program, is_dynamic = None, True
    try:
        program = export(case, True)
    except Exception as error:  # noqa: BLE001 (PyTorch's own limits)
        first = " ".join(str(error).split())[:160]
        yield "dynamic export", {"note": f"not dynamic: {type(error).__name__}: {first}"}
        program, is_dynamic = export(case, False), False
    yield "dims", {"dims": ", ".join(case.dims()) if is_dynamic else "static"}
    yield "export", time.monotonic() - start

    start = time.monotonic()
    mod = _import(program, via)
    yield "import", time.monotonic() - start
    start = time.monotonic()
    executable = relax_mlir.compile(mod, exec_mode=mode)
    yield "compile", time.monotonic() - start
    main = relax_mlir.VirtualMachine(executable)["main"]
    yield from _compare(case, main, [1, 2] if is_dynamic else [0])


def _import(program: torch.export.ExportedProgram, via: str) -> Any:
    if via == "torch":
        from relax_mlir.frontend.torch import from_exported_program  # noqa: PLC0415

        return from_exported_program(program)
    from relax_mlir.frontend.onnx import from_onnx  # noqa: PLC0415

    made = torch.onnx.export(program, dynamo=True, verbose=False)
    return from_onnx(made.model_proto)


def _compare(case: Case, main: Any, places: list[int]) -> Any:
    model = case.model()
    taken, errors, notes = 0.0, [], []
    for place in places:
        arguments = case.arguments(place)
        wanted = model(*arguments)
        wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        start = time.monotonic()
        got = main(*arguments)
        taken += time.monotonic() - start
        got = [got] if hasattr(got, "shape") else list(got)
        errors += _differences(got, wanted)
        notes += _doubts(wanted)
    yield "run", taken
    yield "match", max(errors)
    if notes:
        yield "doubts", {"note": ", ".join(dict.fromkeys(notes))}
    if not max(errors) <= TOLERANCE:
        places_ = [f"{error:.1e}" for error in errors]
        raise AssertionError(f"expected results of PyTorch, but got errors {places_}")


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
    if first.shape[0] > 1 and (first[0] - first[1]).abs().max() < 1e-3 * first.abs().max():
        return ["results hardly depend on the input"]
    return []
