"""Compiled modules are found again in the folder that RELAX_MLIR_CACHE names."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import relax_mlir
from relax_mlir import instrument, op, transform
from relax_mlir.driver import compilation_cache, compiler


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


def test_an_entry_under_the_name_of_another_is_compiled_again(folder: Path) -> None:
    relax_mlir.compile(model(2.0))
    (first,) = folder.glob("*.rx")
    relax_mlir.compile(model(3.0))
    (second,) = set(folder.glob("*.rx")) - {first}
    second.write_bytes(first.read_bytes())
    with pytest.warns(RuntimeWarning, match=f"of its name, but got that of {first.stem}"):
        assert (run(relax_mlir.compile(model(3.0))) == 6).all()
    assert (run(relax_mlir.compile(model(3.0))) == 6).all()


def test_saved_files_do_not_name_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_mlir.compile(model())
    found = relax_mlir.compile(model()).to_bytes()
    monkeypatch.delenv("RELAX_MLIR_CACHE")
    assert relax_mlir.compile(model()).to_bytes() == found


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="not stored: expected a folder in RELAX_MLIR_CACHE"):
        assert (run(relax_mlir.compile(model())) == 4).all()


def test_what_is_found_can_be_saved(folder: Path, tmp_path: Path) -> None:
    relax_mlir.compile(model())
    relax_mlir.compile(model()).save(tmp_path / "model.rx")
    assert (run(relax_mlir.load(tmp_path / "model.rx")) == 4).all()


# -- size -----------------------------------------------------------------------------------------


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.rx")}


def test_what_was_used_least_recently_is_deleted(
    folder: Path, phases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_mlir.compile(model(1.0))
    (first,) = folder.glob("*.rx")
    relax_mlir.compile(model(2.0))
    (second,) = set(folder.glob("*.rx")) - {first}
    for path, seconds in ((first, 200), (second, 100)):
        os.utime(path, (time.time() - seconds,) * 2)
    relax_mlir.compile(model(1.0))  # so that the second is the one to go
    monkeypatch.setenv("RELAX_MLIR_CACHE_SIZE", str(int(2.5 * first.stat().st_size)))
    relax_mlir.compile(model(3.0))
    assert first.exists()
    assert not second.exists()
    assert len(entries(folder)) == 2
    phases.clear()
    assert (run(relax_mlir.compile(model(1.0))) == 2).all()
    assert not phases


def test_an_entry_larger_than_the_cache_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE_SIZE", "10")
    assert (run(relax_mlir.compile(model())) == 4).all()
    assert list(folder.iterdir()) == []


def test_a_blank_name_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", " ")
    monkeypatch.chdir(tmp_path)
    assert (run(relax_mlir.compile(model())) == 4).all()
    assert list(tmp_path.iterdir()) == []


def test_error_of_a_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE_SIZE", "10 apples")
    with pytest.raises(ValueError, match="CACHE_SIZE to be a size such as 500M or 10G, but got"):
        relax_mlir.compile(model())


# -- other users ----------------------------------------------------------------------------------


def test_the_folder_and_its_entries_are_private(folder: Path) -> None:
    relax_mlir.compile(model())
    (entry,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_refused(
    folder: Path, phases: list[str], mode: int
) -> None:
    relax_mlir.compile(model())
    folder.chmod(mode)
    phases.clear()
    with pytest.warns(RuntimeWarning) as caught:
        assert (run(relax_mlir.compile(model())) == 4).all()
    assert phases
    first, second = (str(warning.message) for warning in caught)
    assert first.startswith("compiled again: expected")
    assert "writable by its owner alone" in first
    assert second.startswith("not stored: ")
    assert f"chmod go-w {folder}" in second


def test_an_entry_that_others_can_write_is_replaced(folder: Path, phases: list[str]) -> None:
    relax_mlir.compile(model())
    (entry,) = folder.iterdir()
    entry.chmod(0o666)
    phases.clear()
    with pytest.warns(RuntimeWarning, match="compiled again: .*writable by its owner alone"):
        relax_mlir.compile(model())
    assert phases
    assert entry.stat().st_mode & 0o777 == 0o600


def test_an_entry_that_is_a_link_is_replaced(folder: Path, tmp_path: Path) -> None:
    relax_mlir.compile(model())
    (entry,) = folder.iterdir()
    entry.rename(tmp_path / "elsewhere.rx")
    entry.symlink_to(tmp_path / "elsewhere.rx")
    with pytest.warns(RuntimeWarning, match="compiled again: .*it is a link"):
        relax_mlir.compile(model())
    assert not entry.is_symlink()


def test_what_belongs_to_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_mlir.compile(model())
    folder_owner = folder.stat().st_uid
    if folder_owner == 0:
        os.chown(folder, 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    problem = compilation_cache.problem_of(folder)
    assert problem is not None
    assert "to belong to this user, but its owner is" in problem


# -- processes ------------------------------------------------------------------------------------

WORKER = """
import sys
import warnings
import numpy as np
import relax_mlir
from relax_mlir import op

warnings.simplefilter("error")
for step in range(12):
    weight = float((step + int(sys.argv[1])) % 3 + 1)
    bb = relax_mlir.BlockBuilder()
    x = relax_mlir.Var("x", relax_mlir.TensorStructInfo(("n", 2), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.matmul(x, op.const(np.full((2, 3), weight, dtype="float32"))))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(bb))["main"]
    assert (main(np.ones((4, 2), dtype="float32")).numpy() == 2 * weight).all()
"""


def test_processes_that_write_read_and_evict_at_once(folder: Path) -> None:
    # There is room for two entries out of three: each process deletes what the others read.
    relax_mlir.compile(model())
    (entry,) = folder.iterdir()
    size = str(int(2.2 * entry.stat().st_size))
    environment = {**os.environ, "RELAX_MLIR_CACHE_SIZE": size}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(place)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for place in range(3)
    ]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    left = list(folder.iterdir())
    assert 1 <= len(left) <= 2
    assert all(path.suffix == ".rx" for path in left)
    for path in left:
        relax_mlir.load(path, verify=True)


def test_what_a_process_left_unfinished_is_deleted(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    old, new = folder / "old.unfinished", folder / "new.unfinished"
    for path in (old, new):
        path.write_bytes(b"part")
    os.utime(old, (time.time() - 7200,) * 2)
    relax_mlir.compile(model())
    assert not old.exists()
    assert new.exists()
