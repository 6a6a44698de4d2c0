# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analysis of the element accesses of kernels.

Indices become expressions (`Dim`) over the variables of loops and the sizes of parameters,
which the prover of dimensions compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlir import ir

from ..core.ir import Dim, Facts, TensorStructInfo
from ..core.variables import defining_op, operation_of, walk

_INDEX_OPS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "arith.addi": lambda lhs, rhs: lhs + rhs,
    "arith.subi": lambda lhs, rhs: lhs - rhs,
    "arith.muli": lambda lhs, rhs: lhs * rhs,
    "arith.floordivsi": lambda lhs, rhs: lhs // rhs,
    "arith.minsi": lambda lhs, rhs: lhs.min(rhs),
    "arith.maxsi": lambda lhs, rhs: lhs.max(rhs),
}
# Their results are those of floor division where the first operand is not negative.
_DIVISIONS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "arith.divsi": lambda lhs, rhs: lhs // rhs,
    "arith.divui": lambda lhs, rhs: lhs // rhs,
    "arith.remsi": lambda lhs, rhs: lhs % rhs,
    "arith.remui": lambda lhs, rhs: lhs % rhs,
}
# The predicate of arith.cmpi for "less than" on signed integers.
_SLT = 2
_CASTS = ("arith.index_cast", "arith.index_castui")
# Views of the same elements in the same order.
_VIEWS = tuple(
    f"{dialect}.{name}"
    for dialect in ("tensor", "memref")
    for name in ("collapse_shape", "expand_shape", "cast", "reshape")
)


class _Unknown(Exception):  # noqa: N818 (it is no error: nothing is claimed of the kernel)
    """Something that is not understood."""


def _constant(value: ir.Value) -> int | None:
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return None
    attr = op.attributes["value"]
    return attr.value if isinstance(attr, ir.IntegerAttr) else None


def _root(value: ir.Value) -> ir.Value:
    """Return the source of a view."""
    op = defining_op(value)
    while op is not None and op.name in _VIEWS:
        value = op.operands[0]
        op = defining_op(value)
    return value


@dataclass
class _Scope:
    """Variables and facts for the expressions of indices.

    Attributes
    ----------
    params : list of mlir.ir.Value
        The parameters of the kernel.
    values : dict of mlir.ir.Value to Dim
        The variables of loops.
    loops : list of Dim
        Those of the structured operation that is looked at.
    facts : Facts
    stated : dict of (int, int) to Dim
        The sizes of parameters that the kernel states in terms of shape variables.
    """

    params: list[ir.Value]
    values: dict[ir.Value, Dim] = field(default_factory=dict)
    loops: list[Dim] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)
    stated: dict[tuple[int, int], Dim] = field(default_factory=dict)

    def index(self, value: ir.Value) -> Dim:
        """Return an index as an expression."""
        if value in self.values:
            return self.values[value]
        op = defining_op(value)
        if op is None:
            raise _Unknown
        number = _constant(value)
        if number is not None:
            return Dim(number)
        if op.name in _CASTS:
            return self.index(op.operands[0])
        if op.name == "linalg.index":
            return self.loops[op.attributes["dim"].value]
        if op.name in ("tensor.dim", "memref.dim"):
            axis = _constant(op.operands[1])
            if axis is None:
                raise _Unknown
            return self.sizes(op.operands[0])[axis]
        if op.name == "affine.apply":
            operands = [self.index(operand) for operand in op.operands]
            return self.apply(op.attributes["map"].value, operands)[0]
        if op.name == "arith.select":
            condition, then, otherwise = op.operands
            return self.index(then if self._holds(condition) else otherwise)
        return self._arithmetic(op)

    def _holds(self, condition: ir.Value) -> bool:
        """Say whether one index is less than another one, where that is known."""
        op = defining_op(condition)
        if op is None or op.name != "arith.cmpi" or op.attributes["predicate"].value != _SLT:
            raise _Unknown
        lhs, rhs = (self.index(operand) for operand in op.operands)
        answer = (lhs + 1).prove_less_equal(rhs, self.facts)
        if answer is None:
            raise _Unknown
        return answer

    def _arithmetic(self, op: ir.Operation) -> Dim:
        make = _INDEX_OPS.get(op.name) or _DIVISIONS.get(op.name)
        if make is None:
            raise _Unknown
        lhs, rhs = (self.index(operand) for operand in op.operands)
        if op.name in _DIVISIONS and Dim(0).prove_less_equal(lhs, self.facts) is not True:
            raise _Unknown
        if op.name in _DIVISIONS and rhs.value is None:
            lhs = self._named(lhs)
        try:
            return make(lhs, rhs)
        except (ValueError, ZeroDivisionError):
            raise _Unknown from None

    def _named(self, expr: Dim) -> Dim:
        """Return a variable for a dividend, of which the prover then knows more."""
        variable = Dim(f"dividend${len(self.facts.equalities)}")
        for known, value in self.facts.equalities:
            if value == expr:
                return known
        self.facts.equalities.append((variable, expr))
        return variable

    def apply(self, map_: ir.AffineMap, operands: Sequence[Dim]) -> list[Dim]:
        """Return the results of a map."""
        return [_evaluate(result, operands, map_.n_dims) for result in map_.results]

    def sizes(self, value: ir.Value) -> list[Dim]:
        """Return the sizes of a tensor or memref."""
        type_ = ir.ShapedType(value.type)
        if not type_.has_rank:
            raise _Unknown
        return [
            self._dynamic_size(value, axis)
            if type_.is_dynamic_dim(axis)
            else Dim(type_.get_dim_size(axis))
            for axis in range(type_.rank)
        ]

    def _dynamic_size(self, value: ir.Value, axis: int) -> Dim:
        if value in self.params:
            place = self.params.index(value)
            size = self.stated.get((place, axis), Dim(f"size${place}${axis}"))
            self.facts.inequalities.append((Dim(0), size))
            return size
        op = defining_op(value)
        if op is not None and op.name.endswith(".cast"):
            return self.sizes(op.operands[0])[axis]
        if op is not None and op.name.endswith(".collapse_shape"):
            size = Dim(1)
            inner = self.sizes(op.operands[0])
            for place in op.attributes["reassociation"][axis]:
                size = size * inner[place.value]
            return size
        raise _Unknown

    def loop(self, name: str, size: Dim) -> Dim:
        """Return a new variable from 0 to below a size."""
        variable = Dim(name)
        self.facts.bounds[name] = (0, None if size.value is None else max(size.value - 1, 0))
        self.facts.inequalities.append((variable, size - 1))
        return variable

    def flat(self, indices: Sequence[Dim], buffer: ir.Value) -> Dim:
        """Return the place of an element in memory, in elements."""
        place = Dim(0)
        for index, size in zip(indices, self.sizes(buffer), strict=True):
            place = place * size + index
        return place


def _evaluate(expr: ir.AffineExpr, operands: Sequence[Dim], n_dims: int) -> Dim:
    """Return an affine expression of some dimensions and symbols."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return Dim(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[n_dims + expr.position]
    lhs, rhs = (_evaluate(part, operands, n_dims) for part in (expr.lhs, expr.rhs))
    if isinstance(expr, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(expr, ir.AffineMulExpr):
        return lhs * rhs
    if isinstance(expr, ir.AffineModExpr):
        return lhs % rhs
    if isinstance(expr, ir.AffineFloorDivExpr):
        return lhs // rhs
    return (lhs + rhs - 1) // rhs


# ---------------------------------------------------------------------------------------------
# Reshape
# ---------------------------------------------------------------------------------------------


def has_reshape_pattern(func: Any) -> bool:
    """Say whether a kernel only copies its elements, in their order, to another shape.

    Parameters
    ----------
    func : func.FuncOp or Function
        A kernel on tensors or memrefs: structured operations, or a nest of ``scf.for``.

    Returns
    -------
    bool
        True where this is proven; also for a copy to the same shape. False may mean that it is
        not known.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... func.func @collapse(%x: memref<2x?xf32>, %out: memref<?xf32>) {
    ...   %flat = memref.collapse_shape %x [[0, 1]] : memref<2x?xf32> into memref<?xf32>
    ...   linalg.copy ins(%flat : memref<?xf32>) outs(%out : memref<?xf32>)
    ...   return
    ... }
    ... func.func @transpose(%x: memref<2x3xf32>, %out: memref<3x2xf32>) {
    ...   linalg.transpose ins(%x : memref<2x3xf32>) outs(%out : memref<3x2xf32>)
    ...     permutation = [1, 0]
    ...   return
    ... }''')
    >>> has_reshape_pattern(mod["collapse"]), has_reshape_pattern(mod["transpose"])
    (True, False)
    """
    kernel = _kernel(func)
    if len(kernel.regions[0].blocks) != 1:
        return False
    block = kernel.regions[0].blocks[0]
    with kernel.context:
        try:
            scope = _Scope(list(block.arguments), stated=_stated_sizes(kernel))
            return _is_reshape(scope, block)
        except _Unknown:
            return False


def _kernel(func: Any) -> ir.Operation:
    operation = operation_of(func)
    if operation is None or operation.name != "func.func":
        raise TypeError(f"expected a kernel, a func.func, but got {func!r}")
    return operation


def _stated_sizes(kernel: ir.Operation) -> dict[tuple[int, int], Dim]:
    """Return the sizes of parameters that have StructInfo, by parameter and dimension."""
    found: dict[tuple[int, int], Dim] = {}
    for place, attrs in enumerate(kernel.attributes.get("arg_attrs", ())):
        if "relax.struct_info" in attrs:
            type_ = attrs["relax.struct_info"].value
            if isinstance(type_, TensorStructInfo) and type_.shape is not None:
                sizes = enumerate(type_.shape.dims)
                found.update({(place, axis): size for axis, size in sizes})
    return found


def _is_reshape(scope: _Scope, block: ir.Block) -> bool:
    *_, last = block.operations
    returned = list(last.operation.operands)
    if len(returned) > 1:
        return False
    writers = [op.operation for op in block.operations if _writes(op.operation)]
    if returned:
        root = _root(returned[0])
        if root in scope.params:  # a view of a parameter
            return not writers
        op = defining_op(root)
        if op is None or writers != [op]:
            return False
    elif len(writers) != 1:
        return False
    (writer,) = writers
    if writer.name == "scf.for":
        return _is_reshape_loop(scope, writer)
    return _is_reshape_structured(scope, writer)


def _writes(op: ir.Operation) -> bool:
    """Say whether an operation computes elements, as all do that are not known not to."""
    harmless = ("arith.", "affine.apply", "func.return", *_VIEWS)
    return not op.name.startswith(harmless) and op.name not in (
        "tensor.dim",
        "memref.dim",
        "tensor.empty",
    )


def _is_reshape_structured(scope: _Scope, op: ir.Operation) -> bool:
    """Say so of a structured operation with one output."""
    if op.name == "memref.copy":
        source, output = op.operands
        return _is_copy(scope, source, output)
    if op.name == "linalg.copy":
        source, output = list(op.operands)[:2]
        return _is_copy(scope, source, output)
    if op.name != "linalg.generic":
        return False
    structured = Structured(op)
    if len(structured.outputs) != 1 or not structured.is_parallel:
        return False
    out_map = structured.maps[-1]
    if not out_map.is_permutation:
        return False
    (output,) = structured.outputs
    sizes = scope.sizes(output)
    scope.loops = [Dim(0)] * out_map.n_dims
    for result, size in zip(out_map.results, sizes, strict=True):
        scope.loops[result.position] = scope.loop(f"loop${result.position}", size)
    body = op.regions[0].blocks[0]
    *_, yield_ = body.operations
    value = yield_.operation.operands[0]
    arguments = list(body.arguments)
    if value in arguments[: len(structured.inputs)]:
        place = arguments.index(value)
        source = structured.inputs[place]
        read = scope.apply(structured.maps[place], scope.loops)
    else:
        source, read = _loaded(scope, value)
    written = scope.apply(out_map, scope.loops)
    return _is_same_place(scope, source, read, output, written)


def _is_copy(scope: _Scope, source: ir.Value, output: ir.Value) -> bool:
    ranks = {ir.ShapedType(value.type).rank for value in (source, output)}
    return len(ranks) == 1 and _root(source) in scope.params and _root(output) in scope.params


def _loaded(scope: _Scope, value: ir.Value) -> tuple[ir.Value, list[Dim]]:
    """Return the buffer and the indices that an element is read from."""
    op = defining_op(value)
    if op is None or op.name not in ("tensor.extract", "memref.load"):
        raise _Unknown
    source, *indices = op.operands
    return source, [scope.index(index) for index in indices]


def _is_same_place(
    scope: _Scope,
    source: ir.Value,
    read: Sequence[Dim],
    output: ir.Value,
    written: Sequence[Dim],
) -> bool:
    if _root(source) not in scope.params or _root(source) == _root(output):
        return False
    from_, to = scope.flat(read, source), scope.flat(written, output)
    return from_.prove_equal(to, scope.facts) is True


def _is_reshape_loop(scope: _Scope, loop: ir.Operation) -> bool:
    """Say so of a nest of loops around one store."""
    sizes = []
    while True:
        lower, upper, step, *carried = loop.operands
        if carried or (_constant(lower), _constant(step)) != (0, 1):
            return False
        sizes.append(scope.index(upper))
        body = loop.regions[0].blocks[0]
        scope.values[body.arguments[0]] = scope.loop(f"loop${len(sizes)}", sizes[-1])
        writers = [
            op.operation
            for op in body.operations
            if _writes(op.operation) and op.operation.name not in ("memref.load", "scf.yield")
        ]
        if len(writers) != 1:
            return False
        (loop,) = writers
        if loop.name != "scf.for":
            break
    if loop.name != "memref.store":
        return False
    value, output, *indices = loop.operands
    source, read = _loaded(scope, value)
    written = [scope.index(index) for index in indices]
    return _covers(scope, sizes, written, output) and _is_same_place(
        scope, source, read, output, written
    )


def _covers(scope: _Scope, sizes: Sequence[Dim], written: Sequence[Dim], output: ir.Value) -> bool:
    """Say whether loops write each element: the place counts up from 0 to the number of them."""
    if _root(output) not in scope.params:
        return False
    counter, count = Dim(0), Dim(1)
    for place, size in enumerate(sizes):
        counter = counter * size + Dim(f"loop${place + 1}")
        count = count * size
    elements = Dim(1)
    for size in scope.sizes(output):
        elements = elements * size
    if count.prove_equal(elements, scope.facts) is not True:
        return False
    is_counter = scope.flat(written, output).prove_equal(counter, scope.facts) is True
    # Loops in another order reach all elements, too.
    by_loop = {Dim(f"loop${place + 1}"): size for place, size in enumerate(sizes)}
    is_permutation = len(set(written)) == len(by_loop) == len(written) and all(
        index in by_loop and by_loop[index].prove_equal(size, scope.facts) is True
        for index, size in zip(written, scope.sizes(output), strict=True)
    )
    return is_counter or is_permutation


# ---------------------------------------------------------------------------------------------
# Layouts
# ---------------------------------------------------------------------------------------------


class Structured:
    """A ``linalg.generic``, or another structured operation in that form.

    Attributes
    ----------
    inputs, outputs : list of mlir.ir.Value
    maps : list of mlir.ir.AffineMap
        From loops to indices of the inputs, then of the outputs.
    is_parallel : bool
    """

    def __init__(self, op: ir.Operation) -> None:
        count = op.attributes["operandSegmentSizes"][0]
        operands = list(op.operands)
        self.inputs, self.outputs = operands[:count], operands[count:]
        self.maps: list[ir.AffineMap] = [attr.value for attr in op.attributes["indexing_maps"]]
        self.iterators = [str(attr) for attr in op.attributes["iterator_types"]]
        self.is_parallel = all("parallel" in iterator for iterator in self.iterators)


def suggest_layout_transforms(
    func: Any, write_buffer_transforms: Sequence[ir.AffineMap | Callable[..., Any]]
) -> dict[ir.OpView, dict[ir.OpView | ir.Value, ir.AffineMap]]:
    """Return the changes of loops and inputs of a kernel with the layout of its outputs.

    Parameters
    ----------
    func : func.FuncOp or Function
        A kernel of structured operations (``linalg.generic``).
    write_buffer_transforms : sequence of AffineMap or callable
        For each output of the kernel the map from old to new indices: a map, or a function such
        as ``lambda n, c, h, w: (n, c // 4, h, w, c % 4)``.

    Returns
    -------
    dict
        For each operation that writes an output: the map of its loops, under the operation
        itself, and the maps of its inputs that follow from it. Loops of a reduction stay after
        the others. An input is left out where it is read in a way that does not follow the
        output, or its layout would stay as it is.

    Raises
    ------
    ValueError
        If there is not a map for each output, or one does not fit its rank.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... #nchw = affine_map<(n, c, h, w) -> (n, c, h, w)>
    ... #c = affine_map<(n, c, h, w) -> (c)>
    ... func.func @bias(%x: memref<1x8x4x4xf32>, %b: memref<8xf32>, %out: memref<1x8x4x4xf32>) {
    ...   linalg.generic {
    ...     indexing_maps = [#nchw, #c, #nchw],
    ...     iterator_types = ["parallel", "parallel", "parallel", "parallel"]
    ...   } ins(%x, %b : memref<1x8x4x4xf32>, memref<8xf32>) outs(%out : memref<1x8x4x4xf32>) {
    ...   ^bb0(%0: f32, %1: f32, %2: f32):
    ...     %3 = arith.addf %0, %1 : f32
    ...     linalg.yield %3 : f32
    ...   }
    ...   return
    ... }''')
    >>> found = suggest_layout_transforms(
    ...     mod["bias"], [lambda n, c, h, w: (n, c // 4, h, w, c % 4)]
    ... )
    >>> ((op, maps),) = found.items()
    >>> for map_ in maps.values():
    ...     print(map_)
    (d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)
    (d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)
    (d0) -> (d0 floordiv 4, d0 mod 4)
    """
    kernel = _kernel(func)
    with kernel.context:
        writers = _output_writers(kernel)
        if len(writers) != len(write_buffer_transforms):
            raise ValueError(
                f"expected a map for each of {len(writers)} outputs, but got "
                f"{len(write_buffer_transforms)}"
            )
        found: dict[ir.OpView, dict[ir.OpView | ir.Value, ir.AffineMap]] = {}
        for (op, output), transform in zip(writers, write_buffer_transforms, strict=True):
            maps = _suggest(op, output, _affine_map(transform, ir.ShapedType(output.type).rank))
            found.setdefault(op.opview, {}).update(maps)
        return found


def _output_writers(kernel: ir.Operation) -> list[tuple[ir.Operation, ir.Value]]:
    """Return the structured operations that write outputs, each with what it writes."""
    block = kernel.regions[0].blocks[0]
    *_, last = block.operations
    returned = list(last.operation.operands)
    if returned:
        pairs = [(defining_op(_root(value)), value) for value in returned]
        return [
            (op, op.operands[len(op.operands) - len(op.results) + _result_number(value)])
            for op, value in pairs
            if op is not None and op.name == "linalg.generic"
        ]
    params = list(block.arguments)
    return [
        (op, output)
        for op in walk(kernel)
        if op.name == "linalg.generic"
        for output in Structured(op).outputs
        if output in params
    ]


def _result_number(value: ir.Value) -> int:
    return ir.OpResult(_root(value)).result_number


def _affine_map(transform: ir.AffineMap | Callable[..., Any], rank: int) -> ir.AffineMap:
    if isinstance(transform, ir.AffineMap):
        map_ = transform
    else:
        names = [f"d{place}" for place in range(rank)]
        expected = len(inspect.signature(transform).parameters)
        if expected != rank:
            raise ValueError(f"expected a map of {rank} dimensions, but got one of {expected}")
        results = transform(*map(Dim, names))
        dims = {name: ir.AffineExpr.get_dim(place) for place, name in enumerate(names)}
        exprs = [_affine_expr(Dim(result), dims) for result in results]
        map_ = ir.AffineMap.get(rank, 0, exprs)
    if map_.n_dims != rank:
        raise ValueError(f"expected a map of {rank} dimensions, but got {map_}")
    return map_


def _affine_expr(expr: Dim, dims: Mapping[str, ir.AffineExpr]) -> ir.AffineExpr:
    """Return an expression of dimensions as one of MLIR."""
    if expr.value is not None:
        return ir.AffineExpr.get_constant(expr.value)
    if expr.name is not None:
        return dims[expr.name]
    makers = {
        "add": ir.AffineExpr.get_add,
        "mul": ir.AffineExpr.get_mul,
        "mod": ir.AffineExpr.get_mod,
        "floordiv": ir.AffineExpr.get_floor_div,
    }
    if expr.kind not in makers:
        raise ValueError(f"expected a map with +, *, // and %, but got {expr.text}")
    parts = [_affine_expr(operand, dims) for operand in expr.operands]
    result = parts[0]
    for part in parts[1:]:
        result = makers[expr.kind](result, part)
    return result


def _suggest(
    op: ir.Operation, output: ir.Value, transform: ir.AffineMap
) -> Iterator[tuple[ir.OpView | ir.Value, ir.AffineMap]]:
    """Yield the maps of the loops and of the inputs of one operation."""
    structured = Structured(op)
    place = len(structured.inputs) + structured.outputs.index(output)
    out_map = structured.maps[place]
    if not out_map.is_projected_permutation:
        return
    spatial = [result.compose(out_map) for result in transform.results]
    written = {dim.position for dim in out_map.results}
    rest = [ir.AffineExpr.get_dim(d) for d in range(out_map.n_dims) if d not in written]
    yield op.opview, ir.AffineMap.get(out_map.n_dims, 0, [*spatial, *rest])
    for value, map_ in zip(structured.inputs, structured.maps, strict=False):
        follows = _restrict(spatial, map_)
        if follows is not None and follows != ir.AffineMap.get_identity(follows.n_dims):
            yield value, follows


def _restrict(spatial: Sequence[ir.AffineExpr], read: ir.AffineMap) -> ir.AffineMap | None:
    """Return the layout of an input that is read as the output is written, if it is."""
    if not read.is_projected_permutation or not read.results:
        return None
    places = {dim.position: place for place, dim in enumerate(read.results)}
    kept = [expr for expr in spatial if _dims_of(expr) <= places.keys() and _dims_of(expr)]
    split = [expr for expr in spatial if expr not in kept and _dims_of(expr) & places.keys()]
    if split or set().union(*map(_dims_of, kept)) != places.keys():
        return None
    count = max(max(places), max(max(_dims_of(expr)) for expr in kept)) + 1
    loops = [
        ir.AffineExpr.get_dim(places[d]) if d in places else ir.AffineExpr.get_constant(0)
        for d in range(count)
    ]
    renamed = ir.AffineMap.get(len(places), 0, loops)
    return ir.AffineMap.get(len(places), 0, [expr.compose(renamed) for expr in kept])


def _dims_of(expr: ir.AffineExpr) -> set[int]:
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineDimExpr):
        return {expr.position}
    if isinstance(expr, (ir.AffineConstantExpr, ir.AffineSymbolExpr)):
        return set()
    return _dims_of(expr.lhs) | _dims_of(expr.rhs)
