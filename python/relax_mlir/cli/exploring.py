# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir explore``: the graphs of models, in Model Explorer."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import CommandError
from .models import COMPILED, SUFFIXES, format_of

EXPLORER_PIP = 'pip install "ai-edge-model-explorer>=0.1.34,<0.2"'
# The adapter, of the extension of Model Explorer.
_EXTENSION = "relax_mlir.model_explorer"
_ADAPTER = "relax_mlir"


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explore",
        help="show graphs of models in a browser, by Model Explorer",
        description="Serve Model Explorer on this machine, with a graph for each function.",
    )
    parser.add_argument(
        "models", type=Path, nargs="+", help=f"files: {', '.join(SUFFIXES)}, not compiled"
    )
    parser.add_argument("--port", type=int, default=8080, help="8080 by default, or the next free")
    parser.add_argument("--no-browser", action="store_true", help="open no browser")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    for path in given.models:
        if format_of(path) in COMPILED:
            raise CommandError(f"{path}: expected a program that is not compiled yet")
    try:
        explorer: Any = import_module("model_explorer")
    except ImportError as error:
        raise CommandError(
            f"expected Model Explorer to be installed ({error}): {EXPLORER_PIP}"
        ) from error
    config = explorer.config()
    for path in given.models:
        config.add_model_from_path(str(path), adapterId=_ADAPTER)
    explorer.visualize_from_config(
        config, port=given.port, extensions=[_EXTENSION], no_open_in_browser=given.no_browser
    )
    return 0
