# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured costs decide what a library computes (RF15)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import backend, op
from relax_mlir.backend import Cost, CostCache, Region, measure, register_codegen
from relax_mlir.dpl import is_op, wildcard
from relax_mlir.transform import (
    FuseOpsByPattern,
    MergeCompositeFunctions,
    RunCodegen,
    Sequential,
)

PATTERNS = [
    ("costs_test.exp", is_op("relax.exp")(wildcard())),
    ("costs_test.matmul", is_op("relax.matmul")(wildcard(), wildcard())),
]


register_codegen("other_test", print)


@register_codegen("costs_test")
def codegen(functions: Any, options: Any, constant_names: Any) -> Any:
    """A library that takes 100 ms for exp, and does nothing, at once, for products."""

    def make(region: Region) -> Any:
        def run(*tensors: Any) -> None:
            if any(step.composite == "costs_test.exp" for step in region.steps):
                time.sleep(0.1)

        return run

    return [{region.symbol: make(region)} for region in map(Region, functions)]


def module(merge: bool = False, rows: Any = "n") -> Any:
    x = relax.Var("x", relax.TensorStructInfo((rows, 512, 512), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.exp(x))
            z = bb.emit(op.sin(y))
            out = bb.emit_output(op.matmul(z, z))
        bb.emit_func_output(out)
    fuse = FuseOpsByPattern(PATTERNS, bind_constants=False, annotate_codegen=not merge)
    return Sequential([fuse, *([MergeCompositeFunctions()] if merge else [])])(bb.get())


def regions(mod: Any) -> list[str]:
    return [name for name, f in mod.functions.items() if "Codegen" in f.attrs]


@pytest.mark.parametrize("merge", [False, True])
def test_rf15_keeps_what_is_faster(merge: bool) -> None:
    costs = CostCache()
    mod = measure(module(merge), "costs_test", sizes={"n": 16}, cost=costs)
    assert len(costs) == 2
    (name,) = regions(mod)
    assert "relax_matmul" in name
    assert "relax.exp" in str(mod["main"])
    x = np.zeros((1, 512, 512), "float32")
    # The program without the library is the same, computed by the compiler alone.
    slow = {key: Cost(ours=1.0, library=2.0) for key in costs._costs}
    for key, cost in slow.items():
        costs.set(key, cost)
    ours = backend.keep_faster(module(merge), "costs_test", costs)
    assert regions(ours) == []
    found = relax.VirtualMachine(relax.compile(ours))["main"](x)
    np.testing.assert_allclose(np.from_dlpack(found)[0, 0, 0], 512 * np.sin(1) ** 2, rtol=1e-4)


def test_rf15_costs_are_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "costs" / "costs.json"
    measure(module(), "costs_test", sizes={"n": 4}, cost=CostCache(path))
    rows = json.loads(path.read_text())["costs"]
    assert sorted(row["part"] for row in rows.values()) == [
        "fused_relax_exp_costs_test",
        "fused_relax_matmul_costs_test",
    ]
    # What is there is not measured again.
    begin = time.perf_counter()
    again = measure(module(), "costs_test", sizes={"n": 4}, cost=CostCache(path))
    assert time.perf_counter() - begin < 5
    assert len(regions(again)) == 1
    # The file decides about another module with the same functions.
    assert len(regions(backend.keep_faster(module(), "costs_test", CostCache.of(path)))) == 1


def test_rf15_what_was_not_measured_stays() -> None:
    mod = module()
    relax.assert_structural_equal(backend.keep_faster(mod, "costs_test", CostCache()), mod)


def test_rf15_names_do_not_matter() -> None:
    costs = CostCache()
    mod = module(rows=4)
    measure(mod, "costs_test", cost=costs)
    text = mod.to_text().replace("%x", "%other").replace("@main", "@other")
    again = backend.keep_faster(relax.IRModule(text), "costs_test", costs)
    assert len(regions(again)) == 1


def test_rf15_costs_of_other_sizes_are_apart() -> None:
    costs = CostCache()
    measure(module(rows=4), "costs_test", cost=costs)
    mod = module(rows=8)
    relax.assert_structural_equal(backend.keep_faster(mod, "costs_test", costs), mod)


def test_rf15_code_is_made_of_what_is_kept() -> None:
    made = RunCodegen()(measure(module(rows=4), "costs_test"))
    assert str(made).count("relax.call_dps_packed") == 1


def test_rf15_rejects_sizes_that_are_missing() -> None:
    with pytest.raises(ValueError, match=r'expected a size for n, .* sizes=\{"n": 64\}'):
        measure(module(), "costs_test")
    with pytest.raises(ValueError, match="expected a size of n, 0 or more, but got -1"):
        measure(module(), "costs_test", sizes={"n": -1})


def test_rf15_rejects_modules_without_functions() -> None:
    with pytest.raises(
        ValueError, match="expected a module with functions for codegen 'other_test'"
    ):
        measure(module(), "other_test", sizes={"n": 1})
    with pytest.raises(ValueError, match="expected the name of a codegen"):
        measure(module(), "cost_test", sizes={"n": 1})


def test_rf15_rejects_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    for text in ("{", "[]", "{}", '{"version": 1, "costs": {"a": {"ours": -1, "library": 1}}}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="expected a file of measured costs"):
            CostCache(path)
    path.write_text('{"version": 2, "costs": {}}')
    with pytest.raises(ValueError, match="expected version 1 of the file, but got 2"):
        CostCache(path)
    with pytest.raises(FileNotFoundError, match="which relax_mlir"):
        CostCache.of(tmp_path / "none.json")
    with pytest.raises(TypeError, match="expected a CostCache or its file, but got 3"):
        CostCache.of(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected seconds as ours, 0 or more, but got nan"):
        Cost(float("nan"), 1.0)
