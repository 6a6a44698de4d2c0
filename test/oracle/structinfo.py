"""StructInfo as plain data, and the rules of the specification for given numbers.

A dimension is an int, the name of a variable, or [operation, lhs, rhs]. StructInfo is a dict with a
`kind`, as JSON carries it between the two processes. Nothing here knows how to reason about
expressions: it puts numbers in, so that it can judge what the two systems say they have proven.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

Dim = int | str | list
Info = dict
Answer = bool | None

NAMES = ("n", "m", "k", "p")
OPERATIONS = {
    "+": lambda lhs, rhs: lhs + rhs,
    "-": lambda lhs, rhs: lhs - rhs,
    "*": lambda lhs, rhs: lhs * rhs,
    "floordiv": lambda lhs, rhs: lhs // rhs,
    "mod": lambda lhs, rhs: lhs % rhs,
    "min": min,
    "max": max,
}
OBJECT: Info = {"kind": "object"}


def tensor(shape=None, ndim=-1, dtype=None, vdevice=None) -> Info:
    ndim = ndim if shape is None else len(shape)
    return {"kind": "tensor", "shape": shape, "ndim": ndim, "dtype": dtype, "vdevice": vdevice}


def shape(values=None, ndim=-1) -> Info:
    return {"kind": "shape", "values": values, "ndim": ndim if values is None else len(values)}


def prim(dtype, value=None) -> Info:
    return {"kind": "prim", "dtype": dtype, "value": value}


def tuple_(fields) -> Info:
    return {"kind": "tuple", "fields": list(fields)}


def closure(params, ret, purity=True) -> Info:
    return {"kind": "closure", "params": list(params), "ret": ret, "purity": purity}


def packed(derive) -> Info:
    return {"kind": "packed", "derive": derive}


# The values of variables at which claims are judged: small ones, which often coincide, and large.
_rng = random.Random(0)
SAMPLES: list[dict[str, int]] = [
    {name: _rng.randrange(top) for name in NAMES}
    for top, times in ((4, 40), (9, 30), (1000, 10))
    for _ in range(times)
]
# In comparisons the variables that closures bind themselves have these names, by depth and order.
OWN = [[f"own_{depth}_{index}" for index in range(12)] for depth in range(5)]
for _sample in SAMPLES:
    _sample.update((name, _rng.randrange(9)) for names in OWN for name in names)


def evaluate(dim: Dim, values: Mapping[str, int]) -> int | None:
    """Return the value, or None where a divisor is 0."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str):
        return values[dim]
    lhs, rhs = (evaluate(operand, values) for operand in dim[1:])
    if lhs is None or rhs is None or (rhs == 0 and dim[0] in ("floordiv", "mod")):
        return None
    return OPERATIONS[dim[0]](lhs, rhs)


def operations(dims: list[Dim]) -> set[str]:
    inner = (operations(dim[1:]) | {dim[0]} for dim in dims if isinstance(dim, list))
    return set().union(*inner)


def variables(dim: Dim | None) -> set[str]:
    if isinstance(dim, str):
        return {dim}
    return set().union(*map(variables, dim[1:])) if isinstance(dim, list) else set()


def parts(info: Info) -> list[Info]:
    """Return the StructInfo inside of a tuple or a closure."""
    if info["kind"] == "tuple":
        return info["fields"]
    return [*info["params"], info["ret"]] if info["kind"] == "closure" else []


def own_dims(info: Info) -> list[Dim]:
    value = info.get("value")
    return info.get("shape") or info.get("values") or ([] if value is None else [value])


def dims(info: Info) -> Iterator[tuple[Dim, bool]]:
    """Yield each expression, and whether it is a dimension, which is never negative."""
    for dim in own_dims(info):
        yield dim, info["kind"] != "prim"
    for part in parts(info):
        yield from dims(part)


def valid_samples(*infos: Info) -> Iterator[dict[str, int]]:
    """Yield the samples at which every expression has a value and no dimension is negative."""
    exprs = [pair for info in infos for pair in dims(info)]

    def is_valid(values):
        results = ((evaluate(dim, values), is_dim) for dim, is_dim in exprs)
        return all(v is not None and (v >= 0 or not is_dim) for v, is_dim in results)

    return filter(is_valid, SAMPLES)


def map_own_dims(info: Info, function) -> Info:
    result = dict(info)
    for key in ("shape", "values"):
        if info.get(key) is not None:
            result[key] = [function(dim) for dim in info[key]]
    if info.get("value") is not None:
        result["value"] = function(info["value"])
    return result


def map_parts(info: Info, function) -> Info:
    result = dict(info)
    for key in ("fields", "params"):
        if key in info:
            result[key] = [function(part) for part in info[key]]
    if "ret" in info:
        result["ret"] = function(info["ret"])
    return result


def rename(info: Info, names: Mapping[str, str]) -> Info:
    """Replace the names of variables everywhere."""
    result = map_own_dims(info, lambda dim: substitute_dim(dim, names))
    return map_parts(result, lambda part: rename(part, names))


def without_dims(info: Info) -> Info:
    return {**info, **dict.fromkeys(info.keys() & {"shape", "values", "value"})}


def substitute_dim(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    if isinstance(dim, str):
        return mapping.get(dim, dim)
    if isinstance(dim, list):
        return [dim[0], *(substitute_dim(operand, mapping) for operand in dim[1:])]
    return dim


def binding_dims(info: Info) -> list[str]:
    """Return the variables that a parameter binds: not those of a function type, which are its."""
    if info["kind"] == "tuple":
        return [name for field in info["fields"] for name in binding_dims(field)]
    return [dim for dim in own_dims(info) if isinstance(dim, str)]


def bound_by_params(info: Info) -> set[str]:
    return {name for param in info["params"] for name in binding_dims(param)}


def free(info: Info) -> set[str]:
    """Return the variables that StructInfo takes from around it."""
    names = set().union(*map(variables, own_dims(info)), *map(free, parts(info)))
    return names - bound_by_params(info) if info["kind"] == "closure" else names


def used_in_closures(info: Info) -> set[str]:
    """Return the variables of the function types in it."""
    if info["kind"] == "closure":
        return {name for dim, _ in dims(info) for name in variables(dim)}
    return set().union(*map(used_in_closures, parts(info)))


def used_around_closures(info: Info) -> set[str]:
    if info["kind"] == "closure":
        return set()
    return set().union(*map(variables, own_dims(info)), *map(used_around_closures, parts(info)))


def shares_variables(info: Info) -> bool:
    """Whether a function type inside of a closure has variables in common with what is around."""
    inner = set().union(*map(used_in_closures, parts(info)))
    return bool(inner & set().union(*map(used_around_closures, parts(info))))


def as_variable(dim: Dim) -> Dim:
    """Return the variable that an expression is in other words, or else the expression."""
    for name in variables(dim):
        if same(dim, name):
            return name
    return dim


def substitute(info: Info, mapping: Mapping[str, Dim]) -> Info:
    """Replace variables in StructInfo, also in the closures in it."""
    result = map_own_dims(info, lambda dim: substitute_dim(dim, mapping))
    return map_parts(result, lambda part: substitute(part, mapping))


def shape_var_mapping(formals: list[Info], actuals: list[Info]) -> dict[str, Dim]:
    """`get_shape_var_mapping` of two lists, where it has a value for each variable.

    What a variable is first, it stays, and values come before functions. The `value` of
    `PrimStructInfo` is a binding position as well.
    """
    mapping: dict[str, Dim] = {}
    functions: list[tuple[Info, Info]] = []
    for pair in zip(formals, actuals, strict=True):
        _match(*pair, mapping, functions)
    for formal, actual in functions:
        if len(formal["params"]) == len(actual["params"]):
            inner = shape_var_mapping(formal["params"], actual["params"])
            mapping = {**inner, **mapping}
    return mapping


def is_renamed(lhs: Info, rhs: Info) -> bool:
    """Whether the parameters of two closures differ, but only in the names of their variables."""
    if len(lhs["params"]) != len(rhs["params"]):
        return False
    params = [tuple_(info["params"]) for info in (lhs, rhs)]
    names = shape_var_mapping(rhs["params"], lhs["params"])
    targets = [dim for dim in names.values() if isinstance(dim, str)]
    if same(*params) or len({*targets}) != len(names):
        return False
    return same(params[0], substitute(params[1], names))


def _match(formal: Info, actual: Info, mapping: dict, functions: list) -> None:
    if formal["kind"] != actual["kind"]:
        return
    if formal["kind"] == "closure":
        functions.append((formal, actual))
    mine, theirs = own_dims(formal), own_dims(actual)
    if len(mine) == len(theirs):
        for dim, value in zip(mine, theirs, strict=True):
            if isinstance(dim, str):
                mapping.setdefault(dim, value)
    fields = [info.get("fields", []) for info in (formal, actual)]
    if len(fields[0]) == len(fields[1]):
        for inner, other in zip(*fields, strict=True):
            _match(inner, other, mapping, functions)


def contains_closure_over_variables(info: Info) -> bool:
    """Whether names of variables in it may mean something else than those around it."""
    if info["kind"] == "closure":
        return any(variables(dim) for dim, _ in dims(info))
    return any(map(contains_closure_over_variables, parts(info)))


def same(lhs: Info | Dim | None, rhs: Info | Dim | None, samples=SAMPLES, depth=0) -> bool:
    """Whether two descriptions are equal, expressions compared by value.

    The names of the variables that a closure binds do not matter.
    """
    if isinstance(lhs, dict) and isinstance(rhs, dict):
        if lhs.keys() != rhs.keys() or lhs["kind"] != rhs["kind"]:
            return False
        if lhs["kind"] == "closure":
            lhs, rhs = (with_own_names(info, depth) for info in (lhs, rhs))
            depth += 1
        return all(_same_entry(key, lhs[key], rhs[key], samples, depth) for key in lhs)
    if lhs is None or rhs is None or not SAMPLES[0].keys() >= variables(lhs) | variables(rhs):
        return lhs == rhs
    pairs = ((evaluate(lhs, values), evaluate(rhs, values)) for values in samples)
    return all(left == right for left, right in pairs if None not in (left, right))


def with_own_names(info: Info, depth: int) -> Info:
    around = {name for names in OWN[:depth] for name in names}
    dims_in_order = (dim for param in info["params"] for dim in binding_dims(param))
    own = [name for name in dict.fromkeys(dims_in_order) if name not in around]
    return rename(info, dict(zip(own, OWN[depth], strict=False)))


def _same_entry(key, lhs, rhs, samples, depth) -> bool:
    if key in ("shape", "values", "fields", "params") and None not in (lhs, rhs):
        return len(lhs) == len(rhs) and all(
            same(left, right, samples, depth) for left, right in zip(lhs, rhs, strict=True)
        )
    return same(lhs, rhs, samples, depth) if key in ("value", "ret") else lhs == rhs


def both(*answers: Answer) -> Answer:
    """Return the answer to a question that has parts: the worst of theirs."""
    if False in answers:
        return False
    return None if None in answers else True


def below(sub: Info, super_: Info, values: Mapping[str, int]) -> Answer:
    """Answer whether `sub` is below `super_` where the variables have these values.

    These are the rules of "Subtyping for StructInfo" with numbers for expressions. None: `sub`
    lacks what `super_` asks for, so some of its values are below and some are not.
    """
    if super_["kind"] == "object":
        return True
    if sub["kind"] != super_["kind"]:
        return None if sub["kind"] == "object" else False
    return _BELOW[sub["kind"]](sub, super_, values)


def _has(mine, wanted) -> Answer:
    if wanted in (None, -1) or mine == wanted:
        return True
    return None if mine in (None, -1) else False


def _dims_below(sub, super_, key, values) -> Answer:
    rank = _has(sub["ndim"], super_["ndim"])
    if rank is not True or super_[key] is None or super_["ndim"] == 0:
        return rank
    if sub[key] is None:
        return None
    return all(
        evaluate(mine, values) == evaluate(theirs, values)
        for mine, theirs in zip(sub[key], super_[key], strict=True)
    )


def _tensor_below(sub, super_, values) -> Answer:
    return both(
        _dims_below(sub, super_, "shape", values),
        _has(sub["dtype"], super_["dtype"]),
        _has(sub["vdevice"], super_["vdevice"]),
    )


def _shape_below(sub, super_, values) -> Answer:
    return _dims_below(sub, super_, "values", values)


def _prim_below(sub, super_, values) -> Answer:
    mine, theirs = (
        None if info["value"] is None else evaluate(info["value"], values) for info in (sub, super_)
    )
    return both(sub["dtype"] == super_["dtype"], _has_value(mine, theirs))


def _has_value(mine, wanted) -> Answer:
    if wanted is None or mine == wanted:
        return True
    return None if mine is None else False


def _tuple_below(sub, super_, values) -> Answer:
    if len(sub["fields"]) != len(super_["fields"]):
        return False
    pairs = zip(sub["fields"], super_["fields"], strict=True)
    return both(*(below(mine, theirs, values) for mine, theirs in pairs))


def _closure_below(sub, super_, values) -> Answer:
    wrong_purity = super_["purity"] and not sub["purity"]
    if wrong_purity or len(sub["params"]) != len(super_["params"]):
        return False
    pairs = zip(sub["params"], super_["params"], strict=True)
    params = (below(theirs, mine, values) for mine, theirs in pairs)
    return both(below(sub["ret"], super_["ret"], values), *params)


def _packed_below(sub, super_, values) -> Answer:
    return super_["derive"] in (sub["derive"], "empty_derive")


_BELOW = {
    "tensor": _tensor_below,
    "shape": _shape_below,
    "prim": _prim_below,
    "tuple": _tuple_below,
    "closure": _closure_below,
    "packed": _packed_below,
}
