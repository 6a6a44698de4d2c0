# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of tensor programs as operations: loads, and calls of functions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from mlir import ir
from mlir.dialects import arith, func, llvm, memref

from . import expr as _expr
from . import stmt as st
from .emit import Emitter, kernel_type
from .expr import BufferLoad, Call, FloatImm, IntImm, PrimExpr, StringImm, Var
from .generic import loads
from .structure import same_load

# A parameter that no buffer is matched with, until a call says what it is.
HANDLE = "!llvm.ptr"


class Kernel(Emitter):
    """Emits expressions; what is the same between two effects is computed once."""

    def __init__(self) -> None:
        super().__init__()
        # Elements that a region has as arguments.
        self.elements: list[tuple[BufferLoad, ir.Value]] = []
        self._nodes: dict[Any, PrimExpr] = {}

    def load(self, node: Any) -> ir.Value:
        """Return an element, from the arguments of the region if it is one of them."""
        for known, value in self.elements:
            if same_load(known, node):
                return value
        return super().load(node)

    def forget(self) -> None:
        """Emit everything anew from here on: memory may have changed."""
        self._scopes = [{}]
        self._nodes = {}

    def value(self, expr: Any) -> ir.Value:
        """Return the value of an expression."""
        return super().value(self._unique(expr))

    def index(self, expr: Any) -> ir.Value:
        """Return an integer as an index."""
        return super().index(self._unique(expr))

    def _call(self, node: Call) -> ir.Value:
        if node.op == "address_of":
            raise ValueError(f"expected addresses only where T.prefetch is a statement: {node}")
        if node.op != "call_extern":
            return super()._call(node)
        results = list(self.call_extern(node).results)
        if not results:
            raise ValueError(f"expected a result of the function in {node}")
        return self._widen_any(results[0], node.dtype)

    def effect(self, node: Call) -> None:
        """Emit a call of a function for its effect."""
        unique = self._unique(node)
        assert isinstance(unique, Call)
        if unique.op == "prefetch":
            self._prefetch(unique)
        else:
            self.call_extern(unique)

    def _prefetch(self, node: Call) -> None:
        load, *hints = node.args
        assert isinstance(load, Call) and isinstance(load.args[0], BufferLoad)
        place = load.args[0]
        known = self._sources.get(id(place.source))
        if known is None or not isinstance(known[1].type, ir.MemRefType):
            raise ValueError(f"expected '{place.source.name}' to be memory here, in {node}")
        is_write, locality, is_data = (hint.value for hint in hints if isinstance(hint, IntImm))
        indices = [self._index(index) for index in place.indices]
        memref.PrefetchOp(known[1], indices, bool(is_write), locality, bool(is_data))

    def call_extern(self, node: Call) -> ir.Operation:
        """Emit a call of a C function, which the module declares."""
        name, *args = node.args
        assert isinstance(name, StringImm)
        values = [self._value(arg) for arg in args]
        results = []
        if node.dtype != "void":
            is_pointer = node.dtype == "handle"
            results = [ir.Type.parse(HANDLE) if is_pointer else kernel_type(node.dtype)]
        type_ = ir.FunctionType.get([value.type for value in values], results)
        root = ir.InsertionPoint.current.block.owner
        while root.parent is not None:
            root = root.parent
        block = root.regions[0].blocks[0]
        for op in block.operations:
            if "sym_name" in op.attributes and op.attributes["sym_name"].value == name.value:
                if op.attributes.get("function_type") != ir.TypeAttr.get(type_):
                    raise ValueError(f"expected {name.value} to be of one type, but got {type_}")
                break
        else:
            with ir.InsertionPoint.at_block_begin(block):
                func.FuncOp(name.value, type_, visibility="private")
        return func.CallOp(results, name.value, values).operation

    def _emit(self, node: PrimExpr) -> Any:
        if isinstance(node, StringImm):
            return node.value  # the name of a function
        return (
            self._address(node.buffer) if isinstance(node, st.BufferData) else super()._emit(node)
        )

    def _address(self, buffer: st.Buffer) -> ir.Value:
        known = self._sources.get(id(buffer))
        if known is None:
            raise ValueError(f"expected buffer '{buffer.name}' to be allocated here")
        address = memref.ExtractAlignedPointerAsIndexOp(known[1]).result
        number = arith.IndexCastOp(kernel_type("int64"), address).result
        return llvm.IntToPtrOp(ir.Type.parse(HANDLE), number).result

    def _index(self, node: PrimExpr) -> ir.Value:
        if isinstance(node, IntImm):
            return arith.ConstantOp.create_index(node.value).result
        return super()._index(node)

    def _unique(self, expr: PrimExpr) -> PrimExpr:
        """Return the expression with one node for each of the same ones, but for constants."""
        done: dict[int, PrimExpr] = {}

        def visit(node: PrimExpr) -> None:
            if isinstance(node, Var | st.BufferData | IntImm | FloatImm | StringImm):
                done[id(node)] = node
                return
            operands: list[PrimExpr] = []
            parts: list[Any] = []
            for operand in node.operands():
                if isinstance(operand, IntImm | FloatImm | StringImm):
                    operands.append(copy.copy(operand))
                    parts.append((operand.dtype, repr(operand.value)))
                else:
                    operands.append(done[id(operand)])
                    parts.append((id(operands[-1]),))
            payload = tuple(repr(part) for part in _expr.payload(node))
            if isinstance(node, Call) and node.op == "call_extern":
                payload = (*payload, str(id(node)))  # it may have an effect
            key = (type(node), node.dtype, payload, *parts)
            if key not in self._nodes:
                made = node.rebuild(operands)
                # The operand that is not selected may be out of bounds.
                if isinstance(node, _expr.Select) and self._loads_from_memory(operands[1:]):
                    made = Call(node.dtype, "if_then_else", operands)
                self._nodes[key] = made
            done[id(node)] = self._nodes[key]

        _expr.post_order_visit(expr, visit)
        unique = done[id(expr)]
        return copy.copy(unique) if isinstance(unique, IntImm | FloatImm) else unique

    def _loads_from_memory(self, exprs: Sequence[PrimExpr]) -> bool:
        return any(
            not any(same_load(load, known) for known, _ in self.elements)
            for load, _ in loads(exprs)
        )

    def known(self, var: Var) -> bool:
        """Say whether a variable stands for something."""
        return id(var) in self._bound
