"""Agreed differences of the two systems, with the deciding sentence of the specification.

A class is a function that recognizes a disagreement. `agreed`: ours is right, or both may be.
`to_fix`: TVM is right, and ours is known to be wrong. Of either kind, one that no longer occurs
fails the run. Disagreements about a part of a tuple are looked at in that part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structinfo as si
from cases import PROOFS, Case, result_of_call
from structinfo import Info


@dataclass(frozen=True)
class Class:
    name: str
    questions: tuple[str, ...]
    recognizes: Callable[[Case], bool]
    is_agreed: bool

    @property
    def summary(self) -> str:
        return (self.recognizes.__doc__ or "").split("\n")[0]


CLASSES: list[Class] = []


def _class(is_agreed: bool, *questions: str):
    def register(function):
        CLASSES.append(Class(function.__name__, questions, function, is_agreed))
        return function

    return register


def agreed(*questions: str):
    return _class(True, *questions)


def to_fix(*questions: str):
    return _class(False, *questions)


# Expressions


def _are_compared_by_expressions(case: Case) -> bool:
    """Say whether the answer was left to the proof that expressions are equal."""
    lhs, rhs = (si.own_dims(info) for info in case.infos)
    return case.level in ("FAIL_L2", "PASS") and 0 < len(lhs) == len(rhs)


@agreed(*PROOFS)
def ours_decides(case: Case) -> bool:
    """TVM leaves open what relax-mlir decides.

    Note on Proving Shapes Equivalent: "We leave it up to compiler implementations as to whether to
    use more advanced methods for proving equivalence, such as attempting to use algebraic rewrite
    rules."
    """
    return case.ours is not None and case.theirs is None


@agreed(*PROOFS)
def tvm_decides(case: Case) -> bool:
    """TVM decides some comparisons of products of variables: `m <= k * m` where `k >= 4`.

    Note on Proving Shapes Equivalent: "We leave it up to compiler implementations as to whether to
    use more advanced methods for proving equivalence, such as attempting to use algebraic rewrite
    rules." Expressions without such products are no such case.
    """
    is_nonlinear = any(si.is_nonlinear(dim) for info in case.infos for dim in si.own_dims(info))
    return case.ours is None and case.theirs is not None and is_nonlinear


@agreed("subtype", "compatible")
def ours_proves_unequal(case: Case) -> bool:
    """TVM takes two integers for unequal, relax-mlir also `n` and `n + 1`, or `2 * n` and 3.

    Note on Proving Shapes Equivalent: "We leave it up to compiler implementations as to whether to
    use more advanced methods for proving equivalence, such as attempting to use algebraic rewrite
    rules."
    """
    return case.ours is False and case.theirs is None and _are_compared_by_expressions(case)


def _keeps_dims(case: Case, mine: object, other: object) -> bool:
    """Say whether one least upper bound has dimensions that the other only lacks."""
    if {*case.kinds} - {"tensor", "shape", "prim"} or len({*case.kinds}) != 1:
        return False
    is_kept = bool(si.own_dims(mine)) and not si.own_dims(other)
    return is_kept and si.without_dims(mine) == other


@agreed("subtype", "compatible", "unify")
def ours_proves_equal(case: Case) -> bool:
    """TVM leaves open some polynomials: `k * m * (m * m)` and `m * m * (k * m)`.

    Note on Proving Shapes Equivalent: "We leave it up to compiler implementations as to whether to
    use more advanced methods for proving equivalence, such as attempting to use algebraic rewrite
    rules."
    """
    if case.question == "unify":
        return _keeps_dims(case, case.ours, case.theirs)
    return case.ours is True and case.theirs is None and _are_compared_by_expressions(case)


@agreed("subtype", "compatible", "unify")
def tvm_proves_equal(case: Case) -> bool:
    """TVM cancels what is divided by an expression: `k * (n + 1) floordiv (n + 1)` is `k`.

    Note on Proving Shapes Equivalent: "We leave it up to compiler implementations as to whether to
    use more advanced methods for proving equivalence, such as attempting to use algebraic rewrite
    rules." Expressions without products of variables or such quotients are no such case.
    """
    if not any(si.is_nonlinear(dim) for info in case.infos for dim in si.own_dims(info)):
        return False
    if case.question == "unify":
        return _keeps_dims(case, case.theirs, case.ours)
    return case.ours is None and case.theirs is True and _are_compared_by_expressions(case)


@agreed("subtype", "compatible")
def rank_zero(case: Case) -> bool:
    """A shape of rank 0 is known, whether it says `ndim = 0` or `[]`.

    Subtyping, rules 4.4 and 5.3: "if, for all valid `i`, `v1[i]` and `v2[i]` can be proven to be
    _definitely_ statically equal": there is no `i`.
    """
    is_open = case.ours is True and case.level == "FAIL_L2"
    return is_open and {*case.kinds} <= {"tensor", "shape"} and case.infos[0]["ndim"] == 0


@agreed("erase", "derive")
def simplified_away(case: Case) -> bool:
    """A variable that the value does not depend on is not out of scope: `n + m - m`.

    Note on Proving Shapes Equivalent: "Applying some kind of normalization or algebraic
    simplifications to `PrimExpr`s used in structural information [...] can also make it easier".
    TVM erases by the names in the expression as it was written.
    """
    if "error" in case.theirs or "error" in case.ours:
        return False
    source = case.infos[0] if case.question == "erase" else result_of_call(*case.infos)
    return _is_simplified(case, source, case.ours, case.theirs)


def _is_simplified(case: Case, source: Info, mine: Info, other: Info) -> bool:
    """Say whether `mine` and `other` differ only where `mine` has fewer variables than `source`."""
    if case.is_same(mine, other):
        return True
    if mine["kind"] == "tuple":
        parts = zip(*map(si.parts, (source, mine, other)), strict=True)
        return all(_is_simplified(case, *part) for part in parts)
    names, written = map(si.own_variables, (mine, source))
    return si.own_dims(mine) != [] and si.without_dims(mine) == other and names < written


# Unknown properties


@agreed("compatible")
def definite_mismatch_behind_a_possible_one(case: Case) -> bool:
    """TVM stops at the first property that is not known, though another one cannot match.

    Checking Compatibility, rule 6.1: "If `S2.dtype` is not `Void`, `S1.dtype` is not `Void`, and
    `S1.dtype` and `S2.dtype` do not match, then they are incompatible", and so rules 6.2, 6.3 and
    6.7, whatever rule 6.8 says of the others.
    """
    actual, expected = case.infos
    lacks = any(
        actual.get(key) in (None, -1) and expected.get(key) not in (None, -1)
        for key in ("dtype", "ndim", "vdevice")
    )
    is_tensor = case.kinds == ("tensor", "tensor")
    return is_tensor and lacks and case.ours is False and case.level == "FAIL_L1"


# Functions


@agreed("subtype", "compatible")
def function_parameters(case: Case) -> bool:
    """TVM compares parameters the same way round as results, and does not replace variables.

    Subtyping, rule 8.3: "for all `i`, `P2[i] <: P1[i]` and `R1 <: R2`"; Checking Compatibility,
    rule 7.3.3: "substitute all occurrences of the shape variables in `S1` with their values". Asked
    the right way round, with the variables replaced, TVM makes our answer.
    """
    if {*case.kinds} != {"closure"}:
        return False
    if not case.parts:
        return _is_shown_by_numbers(case)
    return all(part.verdict for part in case.parts)


def _is_shown_by_numbers(case: Case) -> bool:
    """Say whether our answer follows from putting numbers in, with variables renamed apart."""
    pair = (case.infos[0], case.infos[1])
    answers = [results[0] for _, results in si.answers_below([pair], case.samples)]
    is_definite = case.ours is not None or case.question == "compatible"
    return is_definite and answers == [case.ours] * len(answers) != []


@agreed("subtype", "compatible")
def closure_below_packed(case: Case) -> bool:
    """A closure is no packed function, nor the other way round.

    Checking Compatibility, rule 7.1: "If `S1` and `S2` don't both have defined `params` or both
    have undefined `params`, consider them incompatible."
    """
    return {*case.kinds} == {"closure", "packed"} and case.ours is False


@agreed("subtype")
def other_packed_function(case: Case) -> bool:
    """TVM does not decide about two derive functions.

    Subtyping, rule 8.2: "`F1 <: F2` only if `F1.derive_func` and `F2.derive_func` are identical".
    """
    return {*case.kinds} == {"packed"} and case.ours is False and case.theirs is None


@agreed("compatible")
def shape_of_unknown_rank(case: Case) -> bool:
    """A shape of unknown rank is not compatible with one of known rank.

    Checking Compatibility, rule 4.2: "give an error if `S1.ndim` does not match `S2.ndim`".
    """
    is_shape = {*case.kinds} == {"shape"} and case.infos[0]["ndim"] == -1
    return is_shape and case.ours is False and case.theirs is None


@agreed("compatible")
def any_packed_for_empty_derive(case: Case) -> bool:
    """Results that packed functions derive cannot be compared, not even with `empty_derive`.

    Checking Compatibility, rule 7.2: "possibly compatible if they have different `derive_func`s".
    """
    is_possible = case.ours is None and case.theirs is True
    return {*case.kinds} == {"packed"} and is_possible and case.infos[1]["derive"] == "empty_derive"


@agreed("unify")
def closure_and_packed(case: Case) -> bool:
    """TVM makes a packed function of a closure and a packed function.

    Subtyping, `unify_struct_info`: "if S1.params and S2.params are not both defined or both
    undefined: return ObjectStructInfo()".
    """
    return {*case.kinds} == {"closure", "packed"} and case.ours == si.OBJECT


@agreed("unify")
def number_of_parameters(case: Case) -> bool:
    """TVM makes a packed function of closures with different numbers of parameters.

    Subtyping, `unify_struct_info`: "if S1.params and S2.params do not have the same length: return
    ObjectStructInfo()".
    """
    if {*case.kinds} != {"closure"} or case.ours != si.OBJECT:
        return False
    numbers = {len(info["params"]) for info in case.infos}
    return len(numbers) == 2 and case.theirs["kind"] == "packed"


@agreed("unify")
def unequal_parameters(case: Case) -> bool:
    """TVM takes the least upper bound of parameters, which is no upper bound of the functions.

    Subtyping, `unify_struct_info`: "If there is some pair that is not equal, we can't unify these
    types except with ObjectStructInfo."
    """
    if {*case.kinds} != {"closure"} or not case.parts or case.theirs["kind"] != "closure":
        return False
    composed = case.composed([part.theirs for part in case.parts])
    return case.ours == composed == si.OBJECT


@agreed("unify")
def renamed_parameters(case: Case) -> bool:
    """TVM does not see that parameters differ in the names of their variables only.

    Substituting Free Shape Variables: "The mapping can be constructed by doing a simple structural
    match, as when checking alpha-equivalence." Asked with the names of the first closure, TVM makes
    our answer, or differs in a part.
    """
    if {*case.kinds} != {"closure"} or not si.renaming(*case.infos):
        return False
    return all(part.verdict for part in case.parts)


@agreed("unify")
def purity_of_both(case: Case) -> bool:
    """TVM returns the first of two closures that differ in their purity only.

    Subtyping, `unify_struct_info`: "the LUB is pure if they're both pure and false if either
    isn't".
    """
    if {*case.kinds} != {"closure"} or not case.parts or case.theirs["kind"] != "closure":
        return False
    composed = case.composed([part.theirs for part in case.parts])
    return case.is_same({**case.theirs, "purity": False}, composed)


def _lacks_only(case: Case, mine: object, other: object) -> bool:
    """Say whether one result is the other without some of its dimensions."""
    if not isinstance(mine, dict) or not isinstance(other, dict) or "error" in {*mine, *other}:
        return False
    if mine["kind"] == "closure":
        return case.is_same(mine, other)
    if case.is_same(mine, other) or mine == si.without_dims(other):
        return True
    pairs = [*zip(si.parts(mine), si.parts(other), strict=False)]
    is_alike = mine["kind"] == other["kind"] and len(si.parts(mine)) == len(si.parts(other))
    return is_alike and bool(pairs) and all(_lacks_only(case, *pair) for pair in pairs)


def _names_alone(info: Info) -> set[str]:
    """Return the variables that stand alone, also in the results of functions."""
    if info["kind"] == "closure":
        return _names_alone(info["ret"])
    return {*si.binding_dims(info)}.union(*map(_names_alone, info.get("fields", ())))


def _closures(info: Info) -> list[Info]:
    if info["kind"] == "closure":
        return [info]
    return [inner for part in si.parts(info) for inner in _closures(part)]


@agreed("derive")
def results_of_functions_bind(case: Case) -> bool:
    """TVM finds variables in the result of a function that is an argument.

    Auxiliary Procedures, `get_shape_var_mapping`: "don't look at the return field; it's not a
    binding position".
    """
    callee = case.infos[0]
    if callee["kind"] != "closure":
        return False
    functions = [inner for param in callee["params"] for inner in _closures(param)]
    found = set().union(*(_names_alone(inner["ret"]) for inner in functions))
    is_used = bool(found & si.free(callee["ret"]))
    return is_used and _lacks_only(case, case.ours, case.theirs)


@agreed("derive")
def shapes_of_tensors_bind(case: Case) -> bool:
    """TVM finds the variable for the shape of a tensor in an argument.

    Auxiliary Procedures, `get_shape_var_mapping`, of two tensors: "the shapes are both ShapeExprs".
    """
    callee = case.infos[0]
    if callee["kind"] != "closure":
        return False
    free = set().union(*map(si.free, callee["params"])) - si.bound_by_params(callee)
    found = free & si.SHAPE_NAMES.keys() & si.free(callee["ret"])
    return bool(found) and _lacks_only(case, case.ours, case.theirs)


@agreed("derive")
def parameters_of_functions_bind(case: Case) -> bool:
    """TVM does not look at what the parameters of a function that is an argument are.

    Auxiliary Procedures, `get_shape_var_mapping`, of two functions: "ret = union of ret and
    get_shape_var_mapping(S1.params[i], S2.params[i])".
    """
    callee = case.infos[0]
    if callee["kind"] != "closure":
        return False
    functions = [inner for param in callee["params"] for inner in _closures(param)]
    found = set().union(*(_names_alone(param) for inner in functions for param in inner["params"]))
    is_used = bool(found & si.bound_by_params(callee) & si.free(callee["ret"]))
    return is_used and _lacks_only(case, case.theirs, case.ours)


@agreed("erase")
def variables_of_functions_are_erased(case: Case) -> bool:
    """TVM keeps function types as they are.

    Erasing Out-of-Scope Information, where `s` is `FuncStructInfo`:
    "new_params.append(erase_to_well_defined(param, var_scope, shape_var_scope))" and
    "ret=erase_to_well_defined(s.ret, var_scope, shape_var_scope)".
    """
    return case.kinds == ("closure",) and case.is_same(case.theirs, case.infos[0])


# Calls


@agreed("derive")
def results_that_are_functions(case: Case) -> bool:
    """TVM keeps a function type in the result as it is, with the variables of the callee.

    Derivation Rules, rule 14.2.5: "For each shape variable `v` that occurs in `Sf`, replace it with
    `m[v]`", and rule 14.2.7: "Use `erase_to_well_defined(Sf.ret, Γ, Σ)`".
    """
    callee = case.infos[0]
    if callee["kind"] != "closure" or "error" in case.theirs or "error" in case.ours:
        return False
    kept = _with_closures_of(callee["ret"], case.ours)
    return bool(si.used_in_closures(callee["ret"])) and case.is_same(case.theirs, kept)


def _with_closures_of(source: Info, info: Info) -> Info:
    if source["kind"] == "closure":
        return source
    parts = iter([_with_closures_of(*x) for x in zip(*map(si.parts, (source, info)), strict=True)])
    return si.map_parts(info, lambda part: next(parts))


@agreed("derive")
def arguments_that_may_fit(case: Case) -> bool:
    """TVM refuses an argument that may be what is expected, as its type leaves it open.

    Checking Compatibility: "\"possibly compatible\" indicates that the structures may or may not
    match and should likely result in a compiler warning".
    """
    is_open = any(part.ours is None and part.level == "FAIL_L1" for part in case.parts)
    return is_open and case.theirs == {"error": "argument"} and "error" not in case.ours


@agreed("derive")
def arguments_after_substitution(case: Case) -> bool:
    """TVM compares an argument with a parameter before the variables are replaced.

    Derivation Rules, rule 14.2.6: "After the substitutions, give an error if `Pi <: Si` does not
    hold for some `i`". Asked with the variables replaced, TVM makes our answer, or differs for a
    reason of its own.
    """
    refused = [part for part in case.parts if part.ours is False]
    is_explained = bool(refused) and all(part.verdict for part in refused)
    return is_explained and case.ours == {"error": "argument"} and "error" not in case.theirs


# Proofs
