# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The adapter, which Model Explorer finds when it imports this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..cli.exploring import EXPLORER_PIP
from ..cli.models import COMPILED, SUFFIXES, read
from ..core.ir_module import IRModule
from .graphs import graphs_of

try:
    from dacite import from_dict
    from model_explorer import Adapter, AdapterMetadata, ModelExplorerGraphs
    from model_explorer.graph_builder import Graph
except ImportError as error:
    raise ImportError(
        f"expected Model Explorer to be installed ({error}): {EXPLORER_PIP}", name=error.name
    ) from error


class RelaxAdapter(Adapter):
    """Opens programs of Relax, and models that are imported."""

    metadata = AdapterMetadata(
        id="relax_mlir",
        name="Relax",
        description="Programs of Relax as MLIR or TVMScript, and models that are imported.",
        fileExts=sorted(
            {
                suffix.rpartition(".")[2]
                for name, suffixes in SUFFIXES.items()
                for suffix in suffixes
                if name not in COMPILED
            }
        ),
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> ModelExplorerGraphs:
        """Return the graphs of a file.

        Parameters
        ----------
        model_path : str
        settings : dict
            Of the viewer; none of them matters.

        Returns
        -------
        dict
            Its graphs, one for each function.
        """
        model = read(Path(model_path))
        if model.module is None:
            raise ValueError(f"{model.path}: expected a program that is not compiled yet")
        module: IRModule = model.module
        return {"graphs": [from_dict(Graph, graph) for graph in graphs_of(module)]}
