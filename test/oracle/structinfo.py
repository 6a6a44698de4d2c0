"""StructInfo as plain data, and the rules of the specification for given numbers.

A dimension is an int, the name of a variable, or [operation, lhs, rhs]. StructInfo is a dict with a
`kind`, as JSON carries it between the two processes. Nothing here knows how to reason about
expressions: it puts numbers in, so that it can judge what the two systems say they have proven.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

Dim = int | str | list
Info = dict
Answer = bool | None

NAMES = ("n", "m", "k", "p")
# Variables that stand for a shape, and its rank.
SHAPE_NAMES = {"s": 2, "t": 1}
# New names for what closures bind, which occur in no question; the first letter tells the rank.
FRESH = [f"fresh_{index}" for index in range(40)]
FRESH_SHAPES = {
    f"{name}_fresh_{index}": ndim for name, ndim in SHAPE_NAMES.items() for index in range(40)
}
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


def tensor(shape=None, ndim=-1, dtype=None, vdevice=None, var=None) -> Info:
    ndim = ndim if shape is None else len(shape)
    info = {"kind": "tensor", "shape": shape, "ndim": ndim, "dtype": dtype, "vdevice": vdevice}
    return {**info, "var": var}


def shape(values=None, ndim=-1, var=None) -> Info:
    ndim = ndim if values is None else len(values)
    return {"kind": "shape", "values": values, "ndim": ndim, "var": var}


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
SAMPLES: list[dict] = [
    {name: _rng.randrange(top) for name in NAMES}
    for top, times in ((4, 40), (9, 30), (1000, 10))
    for _ in range(times)
]
# In comparisons the variables that closures bind themselves have these names, by depth and order.
OWN = [[f"own_{depth}_{index}" for index in range(12)] for depth in range(5)]
for _sample in SAMPLES:
    _sample.update((name, _rng.randrange(9)) for names in (*OWN, FRESH) for name in names)
    _sample.update(
        (name, tuple(_rng.randrange(3) for _ in range(ndim)))
        for name, ndim in (SHAPE_NAMES | FRESH_SHAPES).items()
    )


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


def is_nonlinear(dim: Dim) -> bool:
    """Say whether variables are multiplied with each other, or divided by one."""
    if not isinstance(dim, list):
        return False
    operands = [bool(variables(operand)) for operand in dim[1:]]
    is_product = dim[0] == "*" and all(operands)
    is_quotient = dim[0] in ("floordiv", "mod") and operands[1]
    return is_product or is_quotient or any(map(is_nonlinear, dim[1:]))


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
    return (values for values in SAMPLES if is_valid(exprs, values))


def is_valid(exprs: list[tuple[Dim, bool]], values: Mapping[str, int]) -> bool:
    """Say whether expressions have a value, and dimensions one that is not negative."""
    results = ((evaluate(dim, values), is_dim) for dim, is_dim in exprs)
    return all(v is not None and (v >= 0 or not is_dim) for v, is_dim in results)


def samples_within(bounds: Mapping[str, list], *infos: Info) -> Iterator[dict[str, int]]:
    """Yield values within bounds, of either sign, at which every expression has a value."""
    rng = random.Random(0)
    exprs = [dim for info in infos for dim, _ in dims(info)]
    for top in (3, 3, 9, 9, 9, 1000):
        for _ in range(25):
            values = {}
            for name in NAMES:
                least, most = bounds.get(name, (None, None))
                least = -top if least is None else least
                values[name] = rng.randint(least, least + 2 * top if most is None else most)
            if None not in (evaluate(dim, values) for dim in exprs):
                yield values


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
    if info.get("var"):
        result["var"] = names.get(info["var"], info["var"])
    return map_parts(result, lambda part: rename(part, names))


def without_dims(info: Info) -> Info:
    return {**info, **dict.fromkeys(info.keys() & {"shape", "values", "value", "var"})}


def with_rank_zero(info: Info) -> Info:
    """Write a rank of 0 as no dimensions, which is the same."""
    if info.get("ndim") == 0:
        return {**info, "var": None, "values" if info["kind"] == "shape" else "shape": []}
    return map_parts(info, with_rank_zero)


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
    if info["kind"] == "shape" and info["var"]:
        return [info["var"]]
    return [dim for dim in own_dims(info) if isinstance(dim, str)]


def own_variables(info: Info) -> set[str]:
    """Return the variables of its own dimensions, not of its parts."""
    return set().union({info.get("var")} - {None}, *map(variables, own_dims(info)))


def bound_by_params(info: Info) -> set[str]:
    return {name for param in info["params"] for name in binding_dims(param)}


def free(info: Info) -> set[str]:
    """Return the variables that StructInfo takes from around it."""
    names = own_variables(info).union(*map(free, parts(info)))
    return names - bound_by_params(info) if info["kind"] == "closure" else names


def used_in_closures(info: Info) -> set[str]:
    """Return the variables of the function types in it."""
    if info["kind"] == "closure":
        return all_variables(info)
    return set().union(*map(used_in_closures, parts(info)))


def all_variables(info: Info) -> set[str]:
    """Return all names in it, also of what closures bind."""
    return own_variables(info).union(*map(all_variables, parts(info)))


def as_variable(dim: Dim) -> Dim:
    """Return the variable that an expression is in other words, or else the expression."""
    for name in variables(dim):
        if same(dim, name):
            return name
    return dim


def substitute(info: Info, mapping: Mapping[str, Dim | tuple]) -> Info:
    """Replace variables in StructInfo; one for a shape by a tuple of dimensions or another one.

    Variables that a closure binds are renamed where they would capture others. It does not bind the
    variables of `mapping`: those are bound around it.
    """
    if not mapping:
        return info
    if info["kind"] == "closure":
        put_in = set().union(*map(names_of_value, mapping.values()))
        captured = (bound_by_params(info) - mapping.keys()) & put_in
        info = rename(info, fresh_names(captured, put_in, info))
    result = map_own_dims(info, lambda dim: substitute_dim(dim, mapping))
    if isinstance(value := mapping.get(info.get("var")), str):
        result["var"] = value
    elif value is not None and info["ndim"] in (-1, len(value)):
        key = "shape" if info["kind"] == "tensor" else "values"
        result.update({key: list(value), "ndim": len(value), "var": None})
    elif value is not None:
        result["var"] = None
    return map_parts(result, lambda part: substitute(part, mapping))


def names_of_value(value: Dim | tuple) -> set[str]:
    return set().union(*map(variables, value)) if isinstance(value, tuple) else variables(value)


def fresh_names(names: set[str], taken: set[str], *infos: Info) -> dict[str, str]:
    """Return new names for variables, that are not taken and do not occur."""
    taken = taken.union(*map(all_variables, infos))
    dims = (name for name in FRESH if name not in taken)
    shapes = [name for name in FRESH_SHAPES if name not in taken]
    result = {}
    for name in sorted(names):
        if name in SHAPE_NAMES or name in FRESH_SHAPES:
            result[name] = next(new for new in shapes if new[0] == name[0])
            shapes.remove(result[name])
        else:
            result[name] = next(dims)
    return result


def mapping_of(callee: Info, arguments: Sequence[Info]) -> dict:
    """Return what the own variables of a closure are for these arguments."""
    mapping = shape_var_mapping(callee["params"], [*arguments])
    return {name: mapping[name] for name in bound_by_params(callee) if name in mapping}


def substituted(callee: Info, arguments: Sequence[Info]) -> Info:
    """Return a closure with the variables replaced that a call binds."""
    mapping = mapping_of(callee, arguments)
    return map_parts(callee, lambda part: substitute(part, mapping))


def apart(*closures: Info) -> list[Info]:
    """Give the variables that closures bind new names, each its own."""
    result: list[Info] = []
    for info in closures:
        own = bound_by_params(info) - {*FRESH, *FRESH_SHAPES}  # those are bound around
        names = fresh_names(own, set(), *closures, *result)
        result.append(rename(info, names))
    return result


def shape_var_mapping(formals: list[Info], actuals: list[Info]) -> dict[str, Dim | tuple]:
    """`get_shape_var_mapping` of two lists, where it has a value for each variable.

    What a variable is first, it stays, and values come before functions. The `value` of
    `PrimStructInfo` is a binding position as well. What a function accepts counts where it is in
    terms of the scope around.
    """
    mapping: dict[str, Dim | tuple] = {}
    functions: list[tuple[Info, Info]] = []
    if len(formals) == len(actuals):
        for pair in zip(formals, actuals, strict=True):
            _match(*pair, mapping, functions)
    for formal, actual in functions:
        own = bound_by_params(actual)
        for name, value in shape_var_mapping(formal["params"], actual["params"]).items():
            if not names_of_value(value) & own:
                mapping.setdefault(name, value)
    return mapping


def renaming(lhs: Info, rhs: Info) -> dict[str, str]:
    """Return what the variables of the second closure are called in the first one.

    Empty, unless the parameters of the two differ, and in the names of their own variables only.
    """
    if len(lhs["params"]) != len(rhs["params"]) or same_params(lhs, rhs):
        return {}
    found = shape_var_mapping(rhs["params"], lhs["params"])
    names = {name: found.get(name) for name in bound_by_params(rhs)}
    targets = [dim for dim in names.values() if isinstance(dim, str)]
    is_permutation = len({*targets}) == len(names) and {*targets} <= bound_by_params(lhs)
    return names if is_permutation and same_params(lhs, rename(rhs, names)) else {}


def same_params(lhs: Info, rhs: Info) -> bool:
    params = (with_rank_zero(tuple_(info["params"])) for info in (lhs, rhs))
    return same(*params)


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
    if formal["kind"] == "shape" and formal["var"]:
        _match_shape(formal, actual, mapping)
    fields = [info.get("fields", []) for info in (formal, actual)]
    if len(fields[0]) == len(fields[1]):
        for inner, other in zip(*fields, strict=True):
            _match(inner, other, mapping, functions)


def _match_shape(formal: Info, actual: Info, mapping: dict) -> None:
    if -1 not in (formal["ndim"], actual["ndim"]) and formal["ndim"] != actual["ndim"]:
        return
    if actual["values"] is not None:
        mapping.setdefault(formal["var"], tuple(actual["values"]))
    elif actual["var"]:
        mapping.setdefault(formal["var"], actual["var"])


def wrongly_erased(
    source: Info, result: Info, gone: set[str], around: frozenset[str] = frozenset()
) -> str:
    """Say what is wrong with a result of `erase_to_well_defined`, or nothing.

    `gone` are the variables that are not in scope, `around` those that closures around bind. An
    expression may stay where its value does not depend on the variables that are not in scope.
    """
    if source["kind"] == "closure" == result["kind"]:
        return _wrongly_erased_closure(source, result, gone, around)
    if not same({**source, **_NO_PARTS}, {**result, **_NO_PARTS}):
        if not same({**without_dims(source), **_NO_PARTS}, {**result, **_NO_PARTS}):
            return f"{result} is not what is left of {source}"
        if not own_variables(source) & gone:
            return f"{result} lacks the dimensions of {source}, which are in scope"
    elif result.get("var") in gone or any(depends(dim, gone) for dim in own_dims(result)):
        return f"{result} is not in scope"
    if len(parts(source)) != len(parts(result)):
        return f"{result} has not the parts of {source}"
    pairs = zip(parts(source), parts(result), strict=True)
    return next(filter(None, (wrongly_erased(*pair, gone, around) for pair in pairs)), "")


_NO_PARTS = {"fields": None}


def _wrongly_erased_closure(
    source: Info, result: Info, gone: set[str], around: frozenset[str]
) -> str:
    own = bound_by_params(source) - around
    # The same names for what both bind, by place.
    pairs = [
        (theirs, mine)
        for before, after in zip(source["params"], result["params"], strict=True)
        for mine, theirs in _kept_bindings(before, after)
        if mine in own
    ]
    names = dict(pairs)
    if len({*names.values()}) != len(names) or len({*pairs}) != len(names):
        return f"{result} does not bind the variables of {source}"
    own_names = fresh_names(own, gone | around, source, result)
    source = rename(source, own_names)
    result = rename(result, {theirs: own_names[mine] for theirs, mine in names.items()})
    kept = {own_names[name] for name in names.values()}
    if kept != bound_by_params(result) & {*own_names.values()}:
        return f"{result} does not bind the variables of {source}"
    gone = gone | ({*own_names.values()} - kept)
    around = around | {*own_names.values()}
    if source["purity"] != result["purity"]:
        return f"{result} is not as pure as {source}"
    parts_of = zip(parts(source), parts(result), strict=True)
    return next(filter(None, (wrongly_erased(*pair, gone, around) for pair in parts_of)), "")


def _kept_bindings(before: Info, after: Info) -> Iterator[tuple[str, str]]:
    """Yield the variables that stand alone in two types of one structure."""
    if before["kind"] == "tuple":
        for pair in zip(before["fields"], after.get("fields", ()), strict=False):
            yield from _kept_bindings(*pair)
    elif before["kind"] == "shape" and before["var"] and after.get("var"):
        yield before["var"], after["var"]
    else:
        for mine, theirs in zip(own_dims(before), own_dims(after), strict=False):
            if isinstance(mine, str) and isinstance(theirs, str):
                yield mine, theirs


def depends(dim: Dim, names: set[str]) -> bool:
    """Say whether the value changes with one of these variables, at some sample."""
    for name in variables(dim) & names:
        for values in SAMPLES:
            results = {evaluate(dim, {**values, name: value}) for value in range(12)}
            if len(results - {None}) > 1:
                return True
    return False


def same(lhs: Info | Dim | None, rhs: Info | Dim | None, samples=SAMPLES, depth=0) -> bool:
    """Say whether two descriptions are equal, expressions compared by value.

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


class NoValueError(Exception):
    """An expression has no value, or a dimension a negative one."""


def answers_below(pairs: list[tuple[Info, Info]], samples) -> Iterator[tuple[dict, list[Answer]]]:
    """Yield the values and the answers for pairs, at all samples where there are any."""
    for values in samples:
        try:
            yield values, [below(*pair, values) for pair in pairs]
        except NoValueError:
            continue


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
    mine, theirs = (_shape_at(info, key, values) for info in (sub, super_))
    if rank is not True or theirs is None or super_["ndim"] == 0:
        return rank
    return None if mine is None else mine == theirs


def _shape_at(info, key, values) -> tuple | None:
    if info["var"]:
        return values[info["var"]]
    return None if info[key] is None else tuple(evaluate(dim, values) for dim in info[key])


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
    sub, super_ = apart(sub, super_)
    sub = substituted(sub, super_["params"])
    if not is_valid([*dims(sub), *dims(super_)], values):
        raise NoValueError
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
