"""Compiled modules are found again in the folder that RELAX_MLIR_CACHE names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import relax_mlir
from relax_mlir import instrument, op, transform
from relax_mlir.driver import compiler


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the phases that run."""
    seen: list[str] = []
    run = compiler._run_phase

    def record(name: str, *rest: object) -> None:
        seen.append(name)
        run(name, *rest)

    monkeypatch.setattr(compiler, "_run_phase", record)
    return seen


def model(weight: float = 2.0) -> relax_mlir.IRModule:
    bb = relax_mlir.BlockBuilder()
    x = relax_mlir.Var("x", relax_mlir.TensorStructInfo(("n", 2), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.matmul(x, op.const(np.full((2, 3), weight, dtype="float32"))))
    return bb.get()


def run(ex: relax_mlir.Executable) -> np.ndarray:
    return np.from_dlpack(relax_mlir.VirtualMachine(ex)["main"](np.ones((4, 2), dtype="float32")))


def test_second_compilation_runs_no_phase(folder: Path, phases: list[str], exec_mode: str) -> None:
    first = relax_mlir.compile(model())
    assert phases
    assert len(list(folder.glob("*.rx"))) == 1
    phases.clear()
    second = relax_mlir.compile(model())
    assert not phases
    assert second.exec_mode == first.exec_mode == exec_mode
    assert (run(first) == 4).all()
    assert (run(second) == 4).all()


def test_what_makes_another_entry(folder: Path) -> None:
    compiled = [
        relax_mlir.compile(model()),
        relax_mlir.compile(model(3.0)),
        relax_mlir.compile(model(), checks="necessary"),
        relax_mlir.compile(model(), opt_level=1),
        relax_mlir.compile(model(), exec_mode="bytecode"),
        relax_mlir.compile(model(), plan_memory=False),
    ]
    assert len(list(folder.glob("*.rx"))) == len(compiled)
    assert [run(ex)[0, 0] for ex in compiled] == [4, 6, 4, 4, 4, 4]


def test_nothing_is_looked_up_where_somebody_watches(
    folder: Path, phases: list[str], tmp_path: Path
) -> None:
    relax_mlir.compile(model())
    phases.clear()
    relax_mlir.compile(model(), dump_phases=tmp_path / "dump")
    assert phases
    phases.clear()
    with transform.PassContext(instruments=[instrument.PassTimingInstrument()]):
        relax_mlir.compile(model())
    assert phases


def test_a_damaged_entry_is_compiled_again(folder: Path) -> None:
    relax_mlir.compile(model())
    (entry,) = folder.glob("*.rx")
    entry.write_bytes(entry.read_bytes()[:100])
    with pytest.warns(RuntimeWarning, match="compiled again: .*section"):
        assert (run(relax_mlir.compile(model())) == 4).all()
    assert (run(relax_mlir.compile(model())) == 4).all()


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="not stored in"):
        assert (run(relax_mlir.compile(model())) == 4).all()


def test_what_is_found_can_be_saved(folder: Path, tmp_path: Path) -> None:
    relax_mlir.compile(model())
    relax_mlir.compile(model()).save(tmp_path / "model.rx")
    assert (run(relax_mlir.load(tmp_path / "model.rx")) == 4).all()
