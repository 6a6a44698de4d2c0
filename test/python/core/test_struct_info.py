"""StructInfo as Python classes: constructors, accessors, what is refused, and analysis."""

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import (
    Dim,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    analysis,
)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        # GR04
        (lambda: TensorStructInfo(("n", "m * 4", 16), "float32"), "tensor<[n, m * 4, 16], f32>"),
        (lambda: TensorStructInfo((), "bool"), "tensor<[], i1>"),
        (lambda: TensorStructInfo(ndim=2, dtype="float32"), "tensor<ndim = 2, f32>"),
        (lambda: TensorStructInfo(ndim=2), "tensor<ndim = 2>"),
        (lambda: TensorStructInfo(), "tensor<*>"),
        (lambda: TensorStructInfo((2,), "int8", vdevice="gpu0"), "tensor<[2], i8, @gpu0>"),
        (lambda: TensorStructInfo([relax.shape_var("n") + 1, np.int64(3)]), "tensor<[n + 1, 3]>"),
        (lambda: TensorStructInfo(shape_var="s"), "tensor<var = s>"),
        (
            lambda: TensorStructInfo(shape_var="s", ndim=2, dtype="int8", vdevice="gpu0"),
            "tensor<var = s, ndim = 2, i8, @gpu0>",
        ),
        # GR05
        (lambda: ShapeStructInfo(var="s"), "shape<var = s>"),
        (lambda: ShapeStructInfo(var="s", ndim=2), "shape<var = s, ndim = 2>"),
        (lambda: ShapeStructInfo(("n", 4)), "shape<[n, 4]>"),
        (lambda: ShapeStructInfo(ndim=2), "shape<ndim = 2>"),
        (lambda: ShapeStructInfo(), "shape<*>"),
        # GR06
        (lambda: PrimStructInfo("int64", "n + 1"), "prim<i64, n + 1>"),
        (lambda: PrimStructInfo("float32"), "prim<f32>"),
        # GR07
        (lambda: ObjectStructInfo(), "object"),
        (lambda: TupleStructInfo(), "tuple<>"),
        (
            lambda: TupleStructInfo([ObjectStructInfo(), TupleStructInfo([])]),
            "tuple<!relax.object, !relax.tuple<>>",
        ),
        # GR08
        (
            lambda: FuncStructInfo([ShapeStructInfo(("n",))], TensorStructInfo(("n",))),
            "func<(!relax.shape<[n]>) -> !relax.tensor<[n]>, pure>",
        ),
        (lambda: FuncStructInfo([], purity=False), "func<() -> !relax.object, impure>"),
        (lambda: FuncStructInfo(None), "func<derive = @default_derive>"),
        (lambda: FuncStructInfo(None, derive_func="mine"), "func<derive = @mine>"),
    ],
)
def test_text_and_cast(made, text):
    type_ = made()
    assert str(type_) == f"!relax.{text}"
    parsed = ir.Type.parse(str(type_), context=type_.context)
    assert parsed == type_
    assert type(parsed) is type(type_)
    assert type(type_)(parsed) == type_
    assert hash(parsed) == hash(type_)


def test_accessors_gr04_tensor():
    type_ = TensorStructInfo(("n", 4), "float32", vdevice="gpu0")
    assert [dim.text for dim in type_.shape] == ["n", "4"]
    assert (type_.ndim, type_.dtype, type_.vdevice) == (2, "float32", "gpu0")
    assert isinstance(type_.element_type, ir.F32Type)
    assert TensorStructInfo(shape_var="s").shape_var == "s"
    assert type_.shape_var is None
    unknown = TensorStructInfo()
    assert (unknown.shape, unknown.ndim, unknown.dtype, unknown.vdevice) == (None, -1, None, None)


def test_accessors_of_other_kinds():
    assert ShapeStructInfo(("n", 4)).values == ShapeExpr(("n", 4))
    assert ShapeStructInfo(ndim=3).ndim == 3
    assert (ShapeStructInfo(var="s").var, ShapeStructInfo().var) == ("s", None)
    assert PrimStructInfo("int64", "n").value == relax.shape_var("n")
    assert PrimStructInfo("bool").dtype == "bool"
    inner = ShapeStructInfo()
    assert TupleStructInfo([inner]).fields == [inner]
    func = FuncStructInfo([inner], ObjectStructInfo(), purity=False)
    assert (func.params, func.ret, func.is_pure) == ([inner], ObjectStructInfo(), False)
    assert func.derive is None
    assert FuncStructInfo(None).derive == "default_derive"


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ("float32", "f32"),
        ("bfloat16", "bf16"),
        ("float8_e4m3fn", "f8E4M3FN"),
        ("bool", "i1"),
        ("uint8", "ui8"),
        (np.int16, "i16"),
        (np.dtype("float64"), "f64"),
        (bool, "i1"),
    ],
)
def test_gr18_dtype_spellings(dtype, text):
    assert str(TensorStructInfo((), dtype)) == f"!relax.tensor<[], {text}>"


def test_gr18_dtype_of_torch():
    torch = pytest.importorskip("torch")
    assert TensorStructInfo((), torch.bfloat16).dtype == "bfloat16"


def test_gr18_dtype_of_mlir():
    with ir.Context():
        assert TensorStructInfo((), ir.F16Type.get()).dtype == "float16"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TensorStructInfo((2,), "float31"), "expected a data type, one of bool,"),
        (lambda: TensorStructInfo((-1,)), "expected dimensions of 0 or more"),
        (lambda: TensorStructInfo(("n",), ndim=2), "number of dimensions, 1, but got 2"),
        (lambda: TensorStructInfo(ndim=-2), "expected ndim to be -1 or more"),
        (lambda: TensorStructInfo(("n +",)), "expected a dimension such as"),
        (lambda: TensorStructInfo(("n> , f32",)), "expected a dimension such as"),
        (lambda: TensorStructInfo(ShapeStructInfo()), "expected TensorStructInfo, but got"),
        (lambda: TensorStructInfo(("n",), shape_var="s"), "or a shape variable, but got both"),
        (lambda: ShapeStructInfo(("n",), var="s"), "or a shape variable, but got both"),
        (lambda: TensorStructInfo(shape_var="s + 1"), "expected the name of a variable"),
        (lambda: ShapeStructInfo(var=""), "expected the name of a variable"),
        (lambda: PrimStructInfo("float32", 1), "expected an integer data type for the value"),
        (lambda: TupleStructInfo([relax.TensorStructInfo((), "int8").element_type]), "StructInfo"),
        (lambda: FuncStructInfo([], TensorStructInfo((), "int8").element_type), "StructInfo"),
        (lambda: relax.shape_var("n + 1"), "expected the name of a variable"),
        (lambda: Dim(2**63), "expected an integer of 64 bits"),
    ],
)
def test_invalid_wf10_wf19_wf22(make, message):
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        make()


def test_invalid_kinds_of_dimensions():
    with pytest.raises(TypeError, match="expected a dimension, int, str or Dim"):
        TensorStructInfo((1.5,))
    with pytest.raises(TypeError, match="expected a sequence of dimensions"):
        TensorStructInfo("n")


def test_error_wf19_no_data_type():
    with ir.Context(), pytest.raises(ValueError, match="expected a data type"):
        TensorStructInfo((), ir.IndexType.get())


def test_error_mixed_contexts():
    n = relax.shape_var("n")
    with ir.Context(), pytest.raises(ValueError, match="one context"):
        TensorStructInfo((n,))


@pytest.mark.parametrize(
    ("sub", "super_", "answer"),
    [
        (("n", 4), ("n", 4), True),
        (("n", 4), ("n", 5), False),
        (("n", 4), ("m", 4), None),
    ],
)
def test_st10_three_answers(sub, super_, answer):
    pair = TensorStructInfo(sub, "float32"), TensorStructInfo(super_, "float32")
    assert analysis.is_subtype(*pair) is answer
    assert analysis.check_compatibility(*pair) is answer


def test_st10_possibly_compatible():
    known, unknown = TensorStructInfo(("n",), "float32"), TensorStructInfo()
    assert analysis.is_subtype(known, unknown) is True
    assert analysis.check_compatibility(unknown, known) is None


def test_st10_rejects_other_kinds():
    known = TensorStructInfo(("n",), "float32")
    assert analysis.check_compatibility(known, ShapeStructInfo()) is False
    assert analysis.check_compatibility(known, TensorStructInfo(ndim=2)) is False


def test_st07_unify():
    lhs, rhs = TensorStructInfo(("n", 4), "float32"), TensorStructInfo(("n", 5), "float32")
    assert analysis.unify_struct_info(lhs, rhs) == TensorStructInfo(ndim=2, dtype="float32")
    assert analysis.unify_struct_info(lhs, ShapeStructInfo()) == ObjectStructInfo()


def test_st08_erase_to_well_defined():
    type_ = TensorStructInfo(("n", "m"), "float32")
    assert analysis.erase_to_well_defined(type_, [], ["n", "m"]) == type_
    erased = analysis.erase_to_well_defined(type_, [], ["n"])
    assert erased == analysis.erase_dims(type_)


def test_st09_derive_call_result():
    callee = FuncStructInfo(
        [TensorStructInfo(("n", "m"), "float32")], TensorStructInfo(("n * m",), "float32")
    )
    derived = analysis.derive_call_result(callee, [TensorStructInfo((2, "k"), "float32")])
    assert derived == TensorStructInfo(("k * 2",), "float32")
    unknown = analysis.derive_call_result(callee, [TensorStructInfo(ndim=2, dtype="float32")])
    assert unknown == TensorStructInfo(ndim=1, dtype="float32")


def test_error_derive_call_result_arity():
    with pytest.raises(ValueError, match="expected 1 arguments, but got 0"):
        analysis.derive_call_result(FuncStructInfo([ShapeStructInfo()]), [])


def test_error_analysis_of_other_types():
    with ir.Context(), pytest.raises(ValueError, match="expected StructInfo"):
        analysis.is_subtype(ir.F32Type.get(), ir.F32Type.get())
