# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes, placements and distributed tensors in Python and in TVMScript."""

# ruff: noqa: E501 (programs)

import copy
import pickle

import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import distributed, op
from relax_mlir.distributed import (
    DeviceMesh,
    DTensorStructInfo,
    Placement,
    PlacementSpec,
    PlacementSpecKind,
)
from relax_mlir.script import ScriptError, from_source

TWO = DeviceMesh((2,), range(2))
FOUR = DeviceMesh((2, 2), [0, 1, 2, 3])
MATRIX = relax.TensorStructInfo((1, "n + 1", "m"), "float32")


def test_mesh():
    assert FOUR.shape == (2, 2) and FOUR.device_range == range(4)
    assert FOUR == distributed.device_mesh([2, 2], range(4)) != DeviceMesh((4,), range(4))
    assert DeviceMesh((2,), [3, 1]).device_range is None
    assert DeviceMesh((), [0]).device_range == range(1)
    assert DeviceMesh.of(FOUR.attribute()) == FOUR
    assert DeviceMesh.of(DeviceMesh((), [7]).attribute()) == DeviceMesh((), [7])


@pytest.mark.parametrize(
    ("shape", "ids", "error", "message"),
    [
        ((2, 2), range(3), ValueError, "expected 4 devices in a mesh of shape"),
        ((2,), [1, 1], ValueError, "expected distinct device_ids"),
        ((0,), [], ValueError, "an extent of shape"),
        ((1,), [-1], ValueError, "a device id"),
        ("2", [0], TypeError, "expected a sequence of int as shape, but got '2'"),
        ((2.0,), [0, 1], TypeError, "expected integers in shape"),
        ((1,), None, TypeError, "expected a sequence of int as device_ids"),
    ],
)
def test_mesh_errors(shape, ids, error, message):
    with pytest.raises(error, match=message):
        DeviceMesh(shape, ids)


def test_placement():
    placement = Placement([PlacementSpec.sharding(0), PlacementSpec.replica()])
    assert placement == Placement.from_text("S[0], R") == Placement.from_text(" S[ 0 ],R ")
    assert [spec.kind for spec in placement.dim_specs] == [
        PlacementSpecKind.kSharding,
        PlacementSpecKind.kReplica,
    ]
    assert Placement.of(placement.attribute()) == placement
    assert Placement.of(Placement.from_text("").attribute()) == Placement([])
    for text in ("T", "S", "S[x]", "S[-1]", "R,", "S[0] R"):
        with pytest.raises(ValueError, match="expected a placement such as"):
            Placement.from_text(text)
    with pytest.raises(TypeError, match="expected a PlacementSpec in dim_specs, but got 'R'"):
        Placement("R")


def test_type():
    type_ = DTensorStructInfo(MATRIX, FOUR, "S[0], R")
    again = ir.Type.parse(str(type_), type_.context)
    assert again == type_ and isinstance(again, DTensorStructInfo)
    assert (again.device_mesh, again.placement) == (FOUR, Placement.from_text("S[0], R"))
    assert again.tensor_sinfo == MATRIX and not isinstance(again.tensor_sinfo, DTensorStructInfo)
    assert (again.ndim, again.dtype, again.shape) == (3, "float32", MATRIX.shape)
    assert copy.deepcopy(type_) == pickle.loads(pickle.dumps(type_)) == type_
    assert DTensorStructInfo(ir.Type.parse(str(type_), type_.context)) == type_
    with pytest.raises(ValueError, match="expected DTensorStructInfo, but got"):
        DTensorStructInfo(MATRIX)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (
            (MATRIX, FOUR, "S[0], R, S[1]"),
            ValueError,
            "an entry of the placement for each of the 2",
        ),
        ((MATRIX, FOUR, "S[3], R"), ValueError, "expected a tensor of rank 4 or more"),
        ((MATRIX, (2, 2), "R, R"), TypeError, r"expected a DeviceMesh as device_mesh"),
        ((MATRIX, FOUR, None), TypeError, "expected a Placement as placement, but got None"),
        ((3, FOUR, "R, R"), TypeError, "expected TensorStructInfo, but got 3"),
    ],
)
def test_type_errors(args, error, message):
    with pytest.raises(error, match=message):
        DTensorStructInfo(*args)


def test_relations():
    """A distributed tensor is of another kind than a tensor, and than one that lies elsewhere."""
    plain = relax.TensorStructInfo(("n", 4), "float32")
    cut = DTensorStructInfo(plain, TWO, "S[1]")
    other = DTensorStructInfo(plain, TWO, "R")
    weaker = DTensorStructInfo(relax.TensorStructInfo(ndim=2), TWO, "S[1]")
    analysis = relax.core.struct_info
    assert analysis.is_subtype(cut, weaker) is True
    assert analysis.is_subtype(cut, plain) is False and analysis.is_subtype(plain, cut) is False
    assert analysis.is_subtype(cut, other) is False
    assert analysis.is_subtype(cut, relax.ObjectStructInfo()) is True
    assert analysis.unify_struct_info(cut, weaker) == weaker
    assert analysis.unify_struct_info(cut, other) == relax.ObjectStructInfo()
    vector = DTensorStructInfo(relax.TensorStructInfo((4,)), TWO, "S[0]")
    low = DTensorStructInfo(plain, TWO, "S[0]")
    assert analysis.unify_struct_info(vector, low) == relax.ObjectStructInfo()
    assert analysis.erase_dims(cut) == DTensorStructInfo(
        relax.TensorStructInfo(ndim=2, dtype="float32"), TWO, "S[1]"
    )
    assert analysis.substitute(cut, {"n": 3}).placement == cut.placement


PROGRAM = """
@I.ir_module
class Module:
    I.module_attrs({"device_num": 10})
    I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((1,), [7])]})

    @T.prim_func(private=True)
    def copy(x: T.Buffer((T.int64(2), T.int64(4)), "float32"), y: T.Buffer((T.int64(2), T.int64(4)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(4)):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj]

    @R.function
    def main(x: R.DTensor((4, 4), "float32", "mesh[0]", "S[0], R"), y: R.DTensor((4, 4), "float32", device_mesh="mesh[1]", placement="R"), z: R.DTensor(("n",), "float32", "mesh[1]", "R")) -> R.Tuple(R.DTensor((4, 4), "float32", "mesh[0]", "S[0], R"), R.DTensor((4, 4), "float32", "mesh[0]", "R, S[1]")):
        cls = Module
        a = R.dist.call_tir_local_view(cls.copy, (x,), out_sinfo=R.DTensor((4, 4), "float32", "mesh[0]", "S[0], R"))
        b = R.dist.redistribute(y, device_mesh="mesh[0]", placement="R, S[1]")
        c = R.add(a, R.dist.const(1.0, R.DTensor((), "float32", "mesh[0]", "R, R")))
        return (c, b)
"""


def test_script_round_trip():
    module = from_source(PROGRAM)
    text = module.script()
    assert relax.structural_equal(module, from_source(text))
    for part in (
        '"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((1,), I.Range(7, 8))]',
        'x: R.DTensor((4, 4), "float32", "mesh[0]", "S[0], R")',
        'z: R.DTensor(("n",), "float32", "mesh[1]", "R")',
        'R.dist.redistribute(y, device_mesh="mesh[0]", placement="R, S[1]")',
        "R.dist.call_tir_local_view(cls.copy, (x,), out_sinfo=R.DTensor(",
    ):
        assert part in text
    (types,) = [module["main"].params[0].type]
    assert types == DTensorStructInfo(relax.TensorStructInfo((4, 4), "float32"), FOUR, "S[0], R")


def test_script_without_module():
    """A function alone has nobody who lists its meshes."""
    module = from_source(PROGRAM)
    text = module["main"].script()
    assert 'R.DTensor((4, 4), "float32", R.device_mesh((2, 2), I.Range(0, 4)), "S[0], R")' in text
    source = """
@R.function
def main(x: R.DTensor((4,), device_mesh=R.device_mesh((2,), [1, 0]), placement="S[0]")) -> R.DTensor(device_mesh=R.device_mesh((2,), [1, 0]), placement="S[0]", ndim=1):
    return x
"""
    printed = from_source(source).script()
    assert relax.structural_equal(from_source(printed), from_source(source))
    assert 'R.DTensor((4,), device_mesh=R.device_mesh((2,), [1, 0]), placement="S[0]")' in printed
    assert 'R.DTensor(device_mesh=R.device_mesh((2,), [1, 0]), placement="S[0]", ndim=1)' in printed


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('R.dist.annotate_sharding(x, "mesh[2]", "R")', r"that the module lists .*mesh\[0\]"),
        ('R.dist.annotate_sharding(x, "other[0]", "R")', "that the module lists"),
        ('R.dist.annotate_sharding(x, "mesh[0]", "R")', "an entry of the placement for each of"),
        ('R.dist.annotate_sharding(x, "mesh[1]", "Q")', "expected a placement such as"),
        ('R.dist.annotate_sharding(x, 3, "R")', "expected a mesh such as"),
        ('R.dist.annotate_sharding(x, "mesh[1]", 3)', "expected a placement such as"),
        ("R.dist.annotate_shrading(x)", "did you mean 'R.dist.annotate_sharding'"),
        (
            'R.dist.const([1.0], R.DTensor((1,), "float32", "mesh[1]", "S[0]"))',
            "expected a constant that is a replica",
        ),
        ('R.dist.const(1.0, R.Tensor((), "float32"))', "expected R.DTensor"),
        (
            "R.dist.redistribute_replica_to_shard(x, num_workers=3, axis=0)",
            "that divides dimension",
        ),
    ],
)
def test_script_errors(statement, message):
    source = f"""
@I.ir_module
class Module:
    I.module_global_infos({{"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((1,), [7])]}})

    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        y = {statement}
        return y
"""
    with pytest.raises(ScriptError, match=message):
        from_source(source)


def test_infos_are_meshes():
    with pytest.raises(ScriptError, match=r"R\.device_mesh"):
        from_source('@I.ir_module\nclass M:\n    I.module_global_infos({"mesh": [3]})\n')


def test_operator_errors():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        with pytest.raises(TypeError, match="expected a DeviceMesh as device_mesh, but got 3"):
            op.dist.annotate_sharding(x, 3, "R")
        with pytest.raises(TypeError, match="expected a Placement such as"):
            op.dist.annotate_sharding(x, TWO, 3)
        with pytest.raises(ValueError, match="rank 2 or more"):
            op.dist.annotate_sharding(x, TWO, "S[1]")
        builder.emit_func_output(op.dist.annotate_sharding(x, TWO, Placement.from_text("S[0]")))
    assert "placement = #relax.placement<[S[0]]>" in str(builder.get())
