# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command relax-mlir."""

import pytest
from relax_mlir import __version__
from relax_mlir.cli import main


def report_lines(capsys) -> dict[str, str]:
    lines = capsys.readouterr().out.splitlines()
    return {line[2:27].strip(): line for line in lines}


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"relax-mlir {__version__}\n"


def test_doctor_of_a_sound_installation(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "new" / "folder"))
    monkeypatch.setenv("PATH", make_tools(tmp_path))
    assert main(["doctor"]) == 0
    lines = report_lines(capsys)
    assert lines["relax-mlir"].split()[1] == __version__
    assert "vectors of" in lines["processor"]
    assert lines["cache"].endswith("folder")
    for mode in ("compiled mode", "bytecode mode"):
        assert lines[mode].endswith("a small program compiles and gives the right numbers")


def test_doctor_names_what_is_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    assert main(["doctor"]) == 1
    lines = report_lines(capsys)
    assert lines["relax-opt"] == "! relax-opt                not on PATH"
    assert "no 'no-such-compiler' on PATH" in lines["C compiler"]
    assert lines["C compiler"].startswith(" ")  # only exporting needs it


def test_doctor_finds_tools_beside_python(capsys, monkeypatch, tmp_path):
    make_tools(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert main(["doctor"]) == 0
    tool = report_lines(capsys)["relax-opt"]
    assert tool.endswith(f"{tmp_path}/relax-opt, which is not on PATH")


def make_tools(folder) -> str:
    for tool in ("relax-opt", "relax-translate", "relax-reduce", "relax-lsp-server"):
        (folder / tool).write_text("#!/bin/sh\n")
        (folder / tool).chmod(0o755)
    return str(folder)
