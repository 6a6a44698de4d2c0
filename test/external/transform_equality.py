"""Equality of programs as TVM's tests of passes have it.

In TVM a constant, a shape or a tuple stands in the call that uses it, and a name that is given to a
value binds nothing new. Here such expressions are operations before their use. So programs are the
same if their bindings are, with these expressions in the place of their use, apart from names of
values and from the order of functions; and apart from names of shape variables, each function by
itself, as in TVM. The loops of kernels, and the names of private ones, may be others where the
results are the same.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterator
from typing import Any

import relax_mlir as relax
from mlir import ir
from relax_mlir.core.variables import LEAVES
from relax_mlir.op._signatures import is_default
from transform_run import NotRunError, difference

# Attributes that only hold names of values, or what else stands beside them.
_HIDDEN = ("arg_names", "sym_name", "function_type")
_TYPE = re.compile(r'"[^"]*"|![\w.]+|#[\w.]+|@\w+|\b[A-Za-z_]\w*\b(?!\s*[=.])')
# Words of types that are no names of shape variables.
_WORDS = re.compile(
    r"(b?f|tf|i|si|ui|c|index)\d+\w*|tensor|ndim|pure|impure|true|false|unit|none|array|dense"
    r"|floordiv|mod|min|max|vdevice|object|shape|prim|tuple|func|bool|x\d*|index|select|derive"
    r"|eq|lt|le|and|or|not"
)


class _Writer:
    """Writes one function as lines of which equal functions have the same.

    Parameters
    ----------
    renames : bool
        Whether shape variables get names by the order in which they first stand there.
    loops : bool
        Whether to write the loops of kernels.
    kernels : dict of str to str
        What stands for the names of kernels that have no meaning; "" until they are called.
    """

    def __init__(self, renames: bool, loops: bool, kernels: dict[str, str]) -> None:
        self._names: dict[ir.Value, str] = {}
        self._count = 0
        self._symbols: dict[str, str] = {}
        self._renames = renames
        self._loops = loops
        self._kernels = kernels

    def function(self, op: ir.Operation) -> list[str]:
        """Return the lines of a function or a kernel."""
        if op.name != "relax.func":
            return self._kernel(op)
        # The result may be declared less precisely than the value that is returned is known.
        params = ", ".join(map(self._text, op.attributes["function_type"].value.inputs))
        head = f"({params}) {self._attributes(op)}"
        return [head, *self._regions(op, "  ")]

    def _kernel(self, op: ir.Operation) -> list[str]:
        if self._loops:
            text = op.get_asm(print_generic_op_form=True, use_local_scope=True)
            return text.splitlines()
        types = op.attributes["function_type"].value.inputs
        return [f"kernel of {', '.join(map(str, types))}".replace("memref<", "tensor<")]

    def _text(self, thing: Any) -> str:
        """Return a type or an attribute as text."""
        text = str(thing)
        return _TYPE.sub(self._renamed, text) if self._renames else text

    def _renamed(self, match: re.Match[str]) -> str:
        word = match.group()
        if word[0] in '"!#@' or _WORDS.fullmatch(word):
            return word
        return self._symbols.setdefault(word, f"s{len(self._symbols)}")

    def _attributes(self, op: ir.Operation) -> str:
        found = {name: op.attributes[name] for name in op.attributes if name not in _HIDDEN}
        if found.get("global_symbol", "") == op.attributes.get("sym_name"):
            found.pop("global_symbol", None)  # what it means where it is not stated
        return str(
            {
                name: self._callee(attr.value) if name == "callee" else self._text(attr)
                for name, attr in sorted(found.items())
                if not is_default(op.name, name, attr)
            }
        )

    def _callee(self, name: str) -> str:
        """Return what stands for the name of a function that is called."""
        if self._kernels.get(name) == "":
            self._kernels[name] = f"kernel {sum(map(bool, self._kernels.values()))}"
        return self._kernels.get(name, name)

    def _value(self, value: ir.Value) -> str:
        """Return what stands for a value in its use."""
        if value in self._names:
            return self._names[value]
        op = value.owner.operation
        return self._expression(op)

    def _expression(self, op: ir.Operation) -> str:
        name = op.name.removeprefix("relax.")
        operands = ", ".join(self._value(operand) for operand in op.operands)
        types = ", ".join(self._text(result.type) for result in op.results)
        attributes = self._attributes(op)
        return f"{name}({operands}) {attributes if attributes != '{}' else ''}: {types}"

    def _number(self, value: ir.Value) -> str:
        self._count += 1
        return self._names.setdefault(value, f"%{self._count}")

    def _regions(self, op: ir.Operation, indent: str) -> Iterator[str]:
        for region in op.regions:
            for block in region.blocks:
                names = [f"{self._number(arg)}: {self._text(arg.type)}" for arg in block.arguments]
                yield f"{indent}({', '.join(names)})"
                for child in block.operations:
                    yield from self._operation(child.operation, indent)

    def _operation(self, op: ir.Operation, indent: str) -> Iterator[str]:
        if op.name in LEAVES:
            return
        if op.name == "relax.get_item" and (field := _field(op)) is not None:
            self._names[op.results[0]] = self._value(field)
            return
        if op.name == "relax.dataflow":
            yield from self._dataflow(op, indent)
            return
        line = self._expression(op)
        if op.name == "relax.return":
            line += self._text(op.operands[0].type)
        inner = list(self._regions(op, indent + "  "))
        names = ", ".join(self._number(result) for result in op.results)
        yield f"{indent}{names} = {line}" if names else f"{indent}{line}"
        yield from inner

    def _dataflow(self, op: ir.Operation, indent: str) -> Iterator[str]:
        """Write a dataflow block, whose outputs are names of values, and have no order."""
        *body, output = [child.operation for child in op.regions[0].blocks[0].operations]
        inner = [line for child in body for line in self._operation(child, indent + "  ")]
        for value, result in zip(output.operands, op.results, strict=True):
            self._names[result] = self._value(value)
        if inner:
            yield f"{indent}dataflow"
            yield from inner


def _private_kernels(mod: relax.IRModule) -> list[str]:
    """Return the names of the kernels that only a module itself calls."""
    return [
        name
        for name, op in mod.functions.items()
        if op.operation.name == "func.func" and "sym_visibility" in op.operation.attributes
    ]


def _field(item: ir.Operation) -> ir.Value | None:
    """Return the field of a tuple that stands where its item is taken."""
    owner = item.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "relax.tuple":
        return None
    return owner.operation.operands[item.attributes["index"].value]


def _lines(thing: Any, renames: bool = False, loops: bool = True) -> list[str]:
    """Return what is compared of a program, a function, a type or a number."""
    if isinstance(thing, (ir.Operation, ir.OpView)):
        operation = thing.operation
        if operation.name != "builtin.module":
            return _alone(_Writer(renames, loops, {}).function(operation))
        thing = relax.IRModule(ir.Module.parse(str(operation), operation.context))
    if isinstance(thing, relax.Function):
        return _alone(_Writer(renames, loops, {}).function(thing.operation))
    if isinstance(thing, (relax.IRModule, ir.Module)):
        mod = relax.as_module(thing)
        attributes = mod.operation.attributes
        lines = [f"{name} = {attributes[name]}" for name in sorted(attributes)]
        kernels = {} if loops else dict.fromkeys(_private_kernels(mod), "")
        for name, op in sorted(mod.functions.items()):
            if name not in kernels:
                lines += [f"@{name}", *_Writer(renames, loops, kernels).function(op.operation)]
        for name, alias in sorted(kernels.items(), key=lambda item: item[1]):
            if alias:
                writer = _Writer(renames, loops, kernels)
                lines += [alias, *writer.function(mod[name].operation)]
        return lines
    if isinstance(thing, (list, tuple)):
        return [line for one in thing for line in _lines(one, renames, loops)]
    return [str(thing)]


def _alone(lines: list[str]) -> list[str]:
    """Return the lines of a function that is compared alone: who sees it does not matter."""
    return [re.sub(r"'(sym_visibility|global_symbol)': '\"\w+\"'(, )?", "", lines[0]), *lines[1:]]


class DiffersError(AssertionError):
    """Two programs are not the same.

    Parameters
    ----------
    message : str
    programs : tuple
        Both.
    """

    def __init__(self, message: str, programs: tuple[Any, Any]) -> None:
        super().__init__(message)
        self.programs = programs


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise DiffersError with the difference if two programs are not the same.

    Parameters
    ----------
    lhs, rhs : module, function, type, or a sequence of such things
    map_free_vars : bool
        Not used: names of free variables never matter.
    """
    if _is_equal(lhs, rhs, loops=True):
        return
    reason = ""
    has_other_loops = _is_equal(lhs, rhs, loops=False)
    if has_other_loops:
        reason = _difference_of_results(lhs, rhs)
        if not reason:
            return
    left, right = _lines(lhs, loops=not has_other_loops), _lines(rhs, loops=not has_other_loops)
    lines = difflib.unified_diff(left, right, "lhs", "rhs", lineterm="", n=1)
    text = "\n".join([*lines, reason])
    raise DiffersError(f"expected the same program, but got\n{text}", (lhs, rhs))


def _is_equal(lhs: Any, rhs: Any, loops: bool) -> bool:
    """Say whether two programs are the same, the loops of their kernels or not."""
    pairs = [(lhs, rhs)]
    if isinstance(lhs, relax.IRModule) and isinstance(rhs, relax.IRModule):
        # Our passes leave types as they are declared, for this one to derive.
        derive = relax.transform.DeriveStructInfo()
        with contextlib.suppress(Exception):
            pairs.append((derive(lhs), derive(rhs)))
    return any(
        _lines(left, renames, loops) == _lines(right, renames, loops)
        for left, right in pairs
        for renames in (False, True)
    )


def _difference_of_results(lhs: Any, rhs: Any) -> str:
    """Return how two programs differ that have the same functions, but other loops."""
    try:
        return difference(lhs, rhs)
    except NotRunError as error:
        return f"the loops differ, and the program is not run: {error}"


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Say whether two programs are the same."""
    try:
        assert_structural_equal(lhs, rhs, map_free_vars)
    except AssertionError:
        return False
    return True
