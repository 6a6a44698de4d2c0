# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in colours, in terminals and notebooks, by Pygments where it is installed."""

from __future__ import annotations

import html as _html
import importlib.util
import os
import sys
from typing import Any

PYGMENTS_PIP = 'pip install "pygments>=2.17,<3"'
_STYLES = {"light": "default", "dark": "monokai"}


def has_pygments() -> bool:
    """Say whether Pygments is installed."""
    return importlib.util.find_spec("pygments") is not None


def _style(style: Any, default: str) -> Any:
    """Return a style of Pygments.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    from pygments.styles import get_style_by_name
    from pygments.util import ClassNotFound

    if style is not None and not isinstance(style, str):
        return style
    name = default if style is None else _STYLES.get(style, style)
    try:
        return get_style_by_name(name)
    except ClassNotFound:
        raise ValueError(
            f"expected a style of Pygments, or 'light', 'dark' or 'ansi', but got {style!r}"
        ) from None


def terminal(text: str, style: Any = None) -> str:
    """Return a program with the escape sequences of terminals; as it is without Pygments."""
    if not has_pygments():
        return text
    from pygments import highlight
    from pygments.formatters import Terminal256Formatter, TerminalFormatter
    from pygments.lexers import PythonLexer

    if style in (None, "ansi"):  # the colours that the terminal has
        formatter: Any = TerminalFormatter()
    else:
        formatter = Terminal256Formatter(style=_style(style, "default"))
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return str(highlight(text, lexer, formatter))


def html(text: str, style: Any = None) -> str:
    """Return a program as HTML for notebooks, plain without Pygments."""
    if not has_pygments():
        return f"<pre>{_html.escape(text)}</pre>"
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter = HtmlFormatter(
        style=_style(None if style == "ansi" else style, "default"),
        noclasses=True,
        nobackground=True,
    )
    return str(highlight(text, PythonLexer(stripnl=False), formatter))


def format_with_black(text: str) -> str:
    """Return a program with its lines broken by Black.

    Raises
    ------
    ImportError
        If Black is not installed.
    """
    try:
        import black
    except ImportError:
        raise ImportError(
            "black_format=True needs Black, which was not found: pip install black", name="black"
        ) from None
    return str(black.format_str(text, mode=black.Mode()))


def _in_notebook() -> bool:
    """Say whether this runs in a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _shows_colours() -> bool:
    """Say whether the output is a terminal with colours."""
    if "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def display(text: str, style: Any = None, black_format: bool = False) -> None:
    """Show a program: as HTML in a notebook, in colours in a terminal, plain elsewhere.

    Parameters
    ----------
    text : str
    style : str or pygments.style.Style, optional
        A style that is given is used for any output.
    black_format : bool
    """
    if black_format:
        text = format_with_black(text)
    if _in_notebook():
        from IPython.display import HTML
        from IPython.display import display as show

        show(HTML(html(text, style)))
        return
    if style is not None and not has_pygments():
        print(f"# Colours need Pygments: {PYGMENTS_PIP}", file=sys.stderr)
    print(terminal(text, style) if style is not None or _shows_colours() else text)
