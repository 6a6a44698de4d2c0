"""Draws the questions: pairs of StructInfo that are related, mostly.

Two StructInfo drawn apart differ in nearly everything, so any answer but *no* would be rare. Here
one is made from the other by a few small changes: what it says less, what it says in other words,
and what it says differently. Each question has a random generator of its own, seeded by its name.
"""

from __future__ import annotations

import copy
import random

import structinfo as si
from cases import Case
from structinfo import Dim, Info

DTYPES = ("float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
VDEVICES = ("gpu0", "gpu1")
DERIVES = ("default_derive", "default_derive", "empty_derive", "derive_ndim2")
PAIRS = ("subtype", "compatible", "unify", "mapping")
PROOFS = ("prove_equal", "prove_less_equal")
QUESTIONS = (*PAIRS, "erase", "static", "derive", *PROOFS)
NAMES = "nmkst"

# The same value in other words.
REWRITES = (
    lambda dim, rng: ["+", dim, 0],
    lambda dim, rng: ["*", 1, dim],
    lambda dim, rng: ["-", ["+", dim, rng.choice("nmk")], 0],
    lambda dim, rng: ["-", ["+", dim, "m"], "m"],
    lambda dim, rng: ["floordiv", ["*", dim, 4], 4],
    lambda dim, rng: ["+", ["*", ["floordiv", dim, 3], 3], ["mod", dim, 3]],
    lambda dim, rng: ["floordiv", ["*", dim, ["+", "n", 1]], ["+", "n", 1]],
    lambda dim, rng: ["min", dim, dim],
    lambda dim, rng: ["max", dim, ["-", dim, 1]],
    lambda dim, rng: ["-", ["*", 2, dim], dim],
    lambda dim, rng: ["mod", ["+", ["*", dim, 0], dim], 1024] if dim == 1 else ["+", 0, dim],
)


class Draw:
    """Draws StructInfo from a random generator."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # Expressions.

    def dim(self, depth: int = 2, names=NAMES) -> Dim:
        names = [name for name in names if name not in si.SHAPE_NAMES]
        if depth == 0 or self.chance(0.6):
            if names and self.chance(0.6):
                return self.rng.choice(names)
            return self.rng.choice((0, 1, 2, 3, 4, 4, 6, 8, 16, 1024))
        operation = self.rng.choice(["+", "+", "-", "*", "*", "floordiv", "mod", "min", "max"])
        lhs = self.dim(depth - 1, names)
        if operation in ("floordiv", "mod") and self.chance(0.7):
            return [operation, lhs, self.rng.choice((1, 2, 3, 4, 8))]
        return [operation, lhs, self.dim(depth - 1, names)]

    def dims(self, names=NAMES) -> list[Dim]:
        return [self.dim(names=names) for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3)))]

    def reworded(self, dim: Dim) -> Dim:
        """Return an expression of the same value."""
        if isinstance(dim, list) and self.chance(0.6):
            operation, lhs, rhs = dim
            if operation in ("+", "*", "min", "max") and self.chance(0.5):
                return [operation, rhs, lhs]
            if operation == "*" and isinstance(lhs, list) and lhs[0] in ("+", "-"):
                return [lhs[0], ["*", lhs[1], rhs], ["*", lhs[2], rhs]]
            if operation in ("+", "*") and isinstance(rhs, list) and rhs[0] == operation:
                return [operation, [operation, lhs, rhs[1]], rhs[2]]
            return [operation, self.reworded(lhs), rhs]
        return self.rng.choice(REWRITES)(dim, self.rng)

    def changed_dim(self, dim: Dim) -> Dim:
        return self.rng.choice(
            (
                lambda: self.dim(),
                lambda: self.reworded(dim),
                lambda: self.reworded(self.reworded(dim)),
                lambda: ["+", dim, 1],
                lambda: ["*", dim, 2],
                lambda: si.substitute_dim(dim, {"n": "m"}),
            )
        )()

    # StructInfo.

    def info(self, depth: int = 2, names=NAMES) -> Info:
        kinds = ["tensor"] * 8 + ["shape"] * 4 + ["prim"] * 3 + ["object"]
        kinds += ["tuple", "closure"] * 3 + ["packed"] if depth else []
        return getattr(self, self.rng.choice(kinds))(depth, names)

    def object(self, depth=0, names="") -> Info:
        return si.OBJECT

    def tensor(self, depth=0, names=NAMES) -> Info:
        dtype = None if self.chance(0.2) else self.rng.choice(DTYPES)
        vdevice = self.rng.choice(VDEVICES) if self.chance(0.25) else None
        if var := self.shape_name(names, 0.12):
            return si.tensor(None, si.SHAPE_NAMES[var], dtype, vdevice, var)
        if self.chance(0.75):
            return si.tensor(self.dims(names), dtype=dtype, vdevice=vdevice)
        return si.tensor(None, self.rng.choice((-1, 0, 1, 2, 3)), dtype, vdevice)

    def shape_name(self, names: str, probability: float) -> str:
        """Return a variable that stands for a shape, or nothing."""
        wanted = [name for name in names if name in si.SHAPE_NAMES]
        return self.rng.choice(wanted) if wanted and self.chance(probability) else ""

    def shape(self, depth=0, names=NAMES) -> Info:
        if var := self.shape_name(names, 0.06):
            return si.shape(None, si.SHAPE_NAMES[var], var)
        if self.chance(0.75):
            return si.shape(self.dims(names))
        return si.shape(None, self.rng.choice((-1, 0, 1, 2, 3)))

    def prim(self, depth=0, names=NAMES) -> Info:
        dtype = self.rng.choice(("int64", "int64", "int64", "int32", "float32", "bool"))
        if dtype == "int64" and self.chance(0.7):
            return si.prim(dtype, self.dim(names=names))
        if dtype == "int32" and self.chance(0.5):
            return si.prim(dtype, self.rng.randrange(4))
        return si.prim(dtype)

    def tuple(self, depth=1, names=NAMES) -> Info:
        return si.tuple_(self.info(depth - 1, names) for _ in range(self.rng.randrange(4)))

    def closure(self, depth=1, names=NAMES) -> Info:
        params = [self.info(depth - 1) for _ in range(self.rng.randrange(4))]
        bound = si.bound_by_params({"params": params})
        free = NAMES if self.chance(0.1) else "".join(sorted(bound))
        ret = self.info(depth - 1, free)
        if bound and self.chance(0.15):  # a function that takes variables from around it
            ret = si.closure([self.shape()], self.tensor(names=free))
        return si.closure(params, ret, self.chance(0.6))

    def packed(self, depth=0, names="") -> Info:
        return si.packed(self.rng.choice(DERIVES))

    # Changes.

    def changed(self, info: Info) -> Info:
        """Return StructInfo with one small change."""
        if self.chance(0.04):
            return si.OBJECT
        return getattr(self, f"changed_{info['kind']}")(copy.deepcopy(info))

    def changed_object(self, info: Info) -> Info:
        return self.info(1)

    def changed_dims(self, info: Info, key: str) -> Info:
        values = info[key]
        if info["var"] and self.chance(0.5):
            return {**info, "var": None}
        info = {**info, "var": None}
        choice = self.rng.randrange(8)
        if choice == 0 or (values is None and choice < 4):
            return {**info, key: None, "ndim": -1}
        if values is None:
            ndim = info["ndim"] if info["ndim"] > 0 else self.rng.randrange(3)
            return {**info, key: [self.dim() for _ in range(ndim)], "ndim": ndim}
        if choice == 1:
            return {**info, key: None}
        if choice == 2 or not values:
            return {**info, key: [*values, self.dim()], "ndim": len(values) + 1}
        index = self.rng.randrange(len(values))
        values[index] = self.changed_dim(values[index])
        return info

    def changed_tensor(self, info: Info) -> Info:
        choice = self.rng.randrange(8)
        if choice == 0:
            return {**info, "dtype": None}
        if choice == 1:
            return {**info, "dtype": self.rng.choice(DTYPES)}
        if choice == 2:
            return {**info, "vdevice": self.rng.choice((None, *VDEVICES))}
        return self.changed_dims(info, "shape")

    def changed_shape(self, info: Info) -> Info:
        return self.changed_dims(info, "values")

    def changed_prim(self, info: Info) -> Info:
        if info["value"] is None or info["dtype"] != "int64":
            return self.prim()
        value = None if self.chance(0.3) else self.changed_dim(info["value"])
        return {**info, "value": value}

    def changed_parts(self, items: list[Info]) -> list[Info]:
        choice = self.rng.randrange(6)
        if choice == 0 or not items:
            return [*items, self.info(1)]
        index = self.rng.randrange(len(items))
        if choice == 1:
            return items[:index] + items[index + 1 :]
        items[index] = self.changed(items[index])
        return items

    def changed_tuple(self, info: Info) -> Info:
        return si.tuple_(self.changed_parts(info["fields"]))

    def changed_closure(self, info: Info) -> Info:
        choice = self.rng.randrange(8)
        if choice == 0:
            return self.packed()
        if choice == 1:
            return {**info, "purity": not info["purity"]}
        if choice == 2:
            return {**info, "ret": self.changed(info["ret"])}
        if choice < 5:  # the same function type, as long as the variables are its own
            names = self.rng.choice(({"n": "p"}, {"n": "m", "m": "n"}))
            return info if si.free(info) & names.keys() else si.rename(info, names)
        return {**info, "params": self.changed_parts(info["params"])}

    def changed_packed(self, info: Info) -> Info:
        return self.packed() if self.chance(0.8) else self.closure()

    def times_changed(self, info: Info, most: int = 3) -> Info:
        for _ in range(self.rng.randrange(most + 1)):
            info = self.changed(info)
        return info

    # Questions.

    def pair(self) -> tuple[Info, Info]:
        lhs = self.info()
        rhs = self.info() if self.chance(0.1) else self.times_changed(lhs)
        pair = (self.times_changed(lhs, 1), rhs)
        return pair if self.chance(0.5) else pair[::-1]

    def proof(self) -> dict:
        """Return two expressions, one made from the other, and bounds of the variables."""
        lhs = self.dim(3)
        rhs = self.dim(3) if self.chance(0.1) else lhs
        for _ in range(self.rng.randrange(4)):
            rhs = self.changed_dim(rhs)
        bounds = {}
        for name in "nmk":
            if self.chance(0.7):
                least = self.rng.choice((0, 0, 1, 4))
                bounds[name] = [least, least + self.rng.choice((0, 3, 60))]
                if self.chance(0.6):
                    bounds[name][1] = None
        pair = [si.prim("int64", lhs), si.prim("int64", rhs)]
        return {"infos": pair if self.chance(0.5) else pair[::-1], "bounds": bounds}

    def callee(self) -> Info:
        if self.chance(0.05):
            return si.packed("default_derive")
        if self.chance(0.04):  # a function says what a value does not
            function = si.closure([self.shape(names="n"), si.shape(["n"])], self.tensor(names="n"))
            value = {**self.tensor(), "shape": ["n"], "ndim": 1, "var": None}
            return si.closure([value, function], {**value, "shape": ["n", 4], "ndim": 2})
        if self.chance(0.03):  # a shape from around it
            tensor = self.tensor(names="t")
            return si.closure([{**tensor, "shape": None, "ndim": 1, "var": "t"}], tensor)
        if self.chance(0.9):
            return self.closure(2)
        function = self.closure(1)  # its variables in the result
        names = "".join(sorted(si.used_in_closures(function)))
        return si.closure([function, *self.closure()["params"]], self.tensor(names=names))

    def arguments(self, callee: Info) -> list[Info]:
        if callee["kind"] == "packed":
            return [self.info(1) for _ in range(self.rng.randrange(3))]
        values: dict = {name: self.dim(1) for name in si.NAMES if self.chance(0.7)}
        for name, ndim in si.SHAPE_NAMES.items():
            if self.chance(0.5):
                values[name] = tuple(self.dim(1) for _ in range(ndim))
        arguments = [si.substitute(param, values) for param in callee["params"]]
        arguments = [si.without_dims(info) if self.chance(0.1) else info for info in arguments]
        arguments = [self.changed(info) if self.chance(0.2) else info for info in arguments]
        return arguments[:-1] if self.chance(0.05) else arguments

    def question(self, name: str) -> dict:
        if name in PAIRS:
            lhs, rhs = self.pair()
            return {"question": name, "infos": [lhs, rhs]}
        if name in PROOFS:
            return {"question": name, **self.proof()}
        if name == "erase":
            names = [name for name in NAMES if self.chance(0.5)]
            return {"question": name, "infos": [self.info()], "names": names}
        if name == "static":
            return {"question": name, "infos": [self.info()]}
        callee = self.callee()
        return {"question": name, "infos": [callee, *self.arguments(callee)]}


def plain(info: Info) -> Info:
    """Write what is equal to a variable in a closure as the variable, which may be bound there."""
    if info["kind"] == "closure":
        return si.map_parts(info, lambda part: plain(_plain_dims(part)))
    return si.map_parts(info, plain)


def _plain_dims(info: Info) -> Info:
    return si.map_parts(si.map_own_dims(info, si.as_variable), _plain_dims)


def _has_fresh_names(info: Info) -> bool:
    return not si.all_variables(info) <= {*si.NAMES, *si.SHAPE_NAMES}


def draw(name: str, seed: int, index: int) -> Case:
    """Return one question. Its expressions have values, dimensions that are not negative."""
    draw = Draw(f"{seed}:{name}:{index}")
    while True:
        question = draw.question(name)
        write = _plain_dims if name == "mapping" else plain
        question["infos"] = [write(info) for info in question["infos"]]
        case = Case(id=f"{name}:{index}", **question)
        if not any(map(_has_fresh_names, case.infos)) and case.is_meaningful():
            return case
