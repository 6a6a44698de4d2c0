"""The errors for files that include a header of another layer."""

from pathlib import Path

import check_includes
import pytest

SOURCE = """#include "KernelDims.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Fusion/Passes.h"
#include "../Kernels/Matmul.h"
"""


def test_headers_of_other_layers_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "LegalizeOps.cpp"
    file.write_text(SOURCE)
    expected = f"{file}:{{}}: error: expected a header of Conversion, IR or of this folder, but got"
    assert check_includes.main([str(tmp_path), "--layers", "Conversion", "IR"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        expected.format(4) + ' #include "relax-mlir/Fusion/Passes.h"',
        expected.format(5) + ' #include "../Kernels/Matmul.h"',
    ]
    file.write_text(SOURCE[: SOURCE.index('#include "relax-mlir/Fusion')])
    assert check_includes.main([str(tmp_path), "--layers", "Conversion", "IR"]) == 0
