# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as text: modules and functions in TVMScript, which the parser reads again.

`module` writes classes, `relax` functions, `tir` kernels, `operators` calls of operators, `types`
StructInfo and attributes, `constants` numbers; `highlight` shows the text in colours.
"""

from __future__ import annotations

from typing import Any

from ...core.ir_module import IRModule
from .highlight import display, html
from .module import ModulePrinter, operation_of
from .options import make_options

__all__ = ["script", "show", "to_html"]

# Constants of more characters are shown only where the caller asks for them.
_MOST_SHOWN = 1 << 16


def script(value: Any, **options: Any) -> str:
    """Return a module or a function as TVMScript.

    Parameters
    ----------
    value : IRModule, Function, mlir.ir.Module, mlir.ir.Operation, BlockBuilder or str
        A str is text of MLIR.
    name : str, optional
        The name of the class; by default that of the module, or else ``Module``.
    show_meta : bool, optional
        Whether constants that are not written in place are listed, as text of MLIR. They are
        by default; without them the text cannot be parsed.
    ir_prefix : str
        The name of the namespace of modules, ``I``.
    module_alias : str
        The name of the class in its functions, ``cls``; empty for the name of the class.
    verbose_expr : bool
        Whether numbers in expressions say their data type.
    indent_spaces : int
    print_line_numbers : bool
        Whether each line begins with its number; such text cannot be parsed.
    syntax_sugar : bool
        Whether tuples are written as ``(x, y)``, not as ``R.tuple(x, y)``.
    show_object_address : bool
        Whether names end with the address of what they stand for.
    show_all_struct_info, show_all_ty : bool
        Whether all bindings say their StructInfo, not only those from whose value it does not
        follow.
    extra_config : mapping of str to value, optional
        ``relax.show_all_struct_info`` is known.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If there is no such option, or nothing to print.

    Examples
    --------
    >>> print(script('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32> {
    ...   %0 = relax.flatten %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
    ...   relax.return %0 : !relax.tensor<[n * 4], f32>
    ... }''', show_all_ty=False))
    # from relax_mlir.script import ir as I
    # from relax_mlir.script import relax as R
    <BLANKLINE>
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n * 4",), dtype="float32"):
            gv = R.flatten(x)
            return gv
    """
    return _script(value, options)[0]


def _script(value: Any, given: dict[str, Any], most_metadata: int | None = None) -> tuple[str, int]:
    name = value.name if isinstance(value, IRModule) and value.name != "Module" else None
    options = make_options({"name": name, **given})
    op = operation_of(value)
    printer = ModulePrinter(options)
    text = printer.module(op) if op.name == "builtin.module" else printer.function(op)
    size = printer.metadata_size if most_metadata is not None else 0
    if most_metadata is not None and size > most_metadata and options.show_meta is None:
        return _script(value, {**given, "show_meta": False})
    return text, size


def show(value: Any, style: Any = None, black_format: bool | None = None, **options: Any) -> None:
    """Print a module or a function as TVMScript, in colours where the output shows them.

    Colours need Pygments (``pip install pygments``); without it the text is plain.

    Parameters
    ----------
    value : IRModule, Function, mlir.ir.Module, mlir.ir.Operation, BlockBuilder or str
    style : str or pygments.style.Style, optional
        A style of Pygments, or "light", "dark" or "ansi".
    black_format : bool, optional
        Whether Black, which has to be installed then, breaks the lines.
    **options
        As of `script`, where constants of more than 64 KiB are left out unless `show_meta` is
        True.
    """
    text, _ = _script(value, options, _MOST_SHOWN)
    display(text, style, bool(black_format))


def to_html(value: Any, style: Any = None, **options: Any) -> str:
    """Return a module or a function as TVMScript in HTML, as notebooks show it.

    Parameters
    ----------
    value, style, **options
        As of `show`.
    """
    return html(_script(value, options, _MOST_SHOWN)[0], style)
