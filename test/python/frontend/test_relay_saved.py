# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay that TVM has saved as JSON, and files of parameters."""

from __future__ import annotations

import base64
import json
import re
import struct

import hypothesis
import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st
from relax_mlir.frontend.relay import (
    ast,
    load_json,
    load_params,
    parse,
    parse_expr,
    save_params,
    structurally_equal,
    to_text,
)

MAGIC = 0xDD5E40F096B4A13F


def record(array, code=2, bits=32, lanes=1):
    """Return a tensor as TVM saves it."""
    head = struct.pack("<QQiiiBBH", MAGIC, 0, 1, 0, array.ndim, code, bits, lanes)
    return head + struct.pack(f"<{array.ndim + 1}q", *array.shape, array.nbytes) + array.tobytes()


class Saved:
    """A graph of objects as TVM saves it: fields are text, objects go by number."""

    def __init__(self, version="0.12.0"):
        self.nodes, self.tensors, self.version = [{"type_key": ""}], [], version

    def add(self, type_key, elements=None, keys=None, **attrs):
        node = {"type_key": type_key}
        if attrs:
            node["attrs"] = {name: str(value) for name, value in attrs.items()}
        node |= {name: part for name, part in (("keys", keys), ("data", elements)) if part}
        self.nodes.append(node)
        return len(self.nodes) - 1

    def array(self, *data):
        return self.add("Array", list(data))

    def string(self, text):
        number = self.add("runtime.String")
        self.nodes[number] |= {"repr_str": text} if text else {}
        return number

    def op(self, name):
        number = self.add("Op")
        self.nodes[number]["repr_str"] = name
        return number

    def ints(self, *values):
        return self.array(*(self.int(value) for value in values))

    def int(self, value, dtype="int32"):
        return self.add("IntImm", dtype=dtype, span=0, value=value)

    def type(self, *shape, dtype="float32"):
        dims = [
            self.add("tir.Any", dtype="int32") if dim is None else self.int(dim) for dim in shape
        ]
        return self.add("relay.TensorType", dtype=dtype, shape=self.array(*dims), span=0)

    def var(self, name, type_=0):
        vid = self.add("relay.Id", name_hint=self.string(name))
        return self.expr("relay.Var", type_annotation=type_, vid=vid)

    def expr(self, type_key, **fields):
        return self.add(type_key, _checked_type_=0, span=0, virtual_device_=0, **fields)

    def call(self, op, *args, attrs=0):
        return self.expr(
            "relay.Call", op=op, args=self.array(*args), attrs=attrs, type_args=self.array()
        )

    def function(self, params, body, attrs=0):
        return self.expr(
            "relay.Function", params=self.array(*params), body=body, ret_type=0,
            type_params=self.array(), attrs=attrs,
        )  # fmt: skip

    def constant(self, array, **kind):
        self.tensors.append(base64.b64encode(record(array, **kind)).decode())
        return self.expr("relay.Constant", data=len(self.tensors) - 1)

    def module(self, **functions):
        pairs = []
        for name, function in functions.items():
            pairs += [self.expr("GlobalVar", name_hint=self.string(name)), function]
        return self.add("IRModule", functions=self.add("Map", pairs), type_definitions=0, attrs=0)

    def text(self, root):
        whole = {"root": root, "nodes": self.nodes, "b64ndarrays": self.tensors}
        return json.dumps({**whole, "attrs": {"tvm_version": self.version}})


def same(saved, root, text):
    """Check that saved objects are the program of a text, and return it."""
    program = load_json(saved.text(root))
    wanted = parse(text) if isinstance(program, ast.Module) else parse_expr(text)
    assert structurally_equal(program, wanted), to_text(program)
    return program


def test_ry01_a_saved_module_is_the_one_of_its_text():
    saved = Saved()
    x = saved.var("x", saved.type(1, 3, None, 8))
    weight = saved.constant(np.arange(3, dtype="float32").reshape(1, 3, 1, 1))
    attrs = saved.add(
        "relay.attrs.Conv2DAttrs", strides=saved.ints(2, 1), padding=saved.ints(0, 0, 0, 0),
        dilation=saved.ints(1, 1), groups=1, channels=saved.int(1), kernel_size=saved.ints(1, 1),
        data_layout="NCHW", kernel_layout=saved.string("OIHW"), out_layout="", out_dtype="",
    )  # fmt: skip
    conv = saved.call(saved.op("nn.conv2d"), x, weight, attrs=attrs)
    relu = saved.call(saved.op("nn.relu"), conv)
    body = saved.call(saved.op("add"), relu, relu)
    fused = saved.add("DictAttrs", __dict__=saved.add("Map", [saved.int(1)], ["Primitive"]))
    module = load_json(saved.text(saved.module(main=saved.function([x], body, fused))))
    main = module.functions["main"]
    assert main.attrs == {"Primitive": 1}
    assert main.params[0].type == ast.TensorType((1, 3, ast.ANY, 8), "float32")
    assert main.body.args[0] is main.body.args[1]
    call = main.body.args[0].args[0]
    np.testing.assert_array_equal(call.args[1].data.ravel(), [0, 1, 2])
    assert call.attrs == {
        "strides": [2, 1], "padding": [0, 0, 0, 0], "dilation": [1, 1], "groups": 1,
        "channels": 1, "kernel_size": [1, 1], "data_layout": "NCHW", "kernel_layout": "OIHW",
        "out_layout": "", "out_dtype": "",
    }  # fmt: skip
    assert structurally_equal(module, parse(to_text(module)))


@pytest.mark.parametrize(
    ("key", "fields", "wanted"),
    [
        ("Softmax", {"axis": -1}, {"axis": -1}),
        ("Reduce", {"axis": "array", "keepdims": 1, "exclude": 0},
         {"axis": [1, 2], "keepdims": True, "exclude": False}),
        ("Take", {"axis": "none", "mode": "clip", "batch_dims": "int"},
         {"axis": None, "mode": "clip", "batch_dims": 7}),
        ("Clip", {"a_min": "-inf", "a_max": "6.5"}, {"a_min": -np.inf, "a_max": 6.5}),
        ("Cast", {"dtype": "uint1"}, {"dtype": "bool"}),
        ("LRN", {"size": 5, "axis": 1}, {"size": 5, "axis": 1}),
        ("BatchNorm", {"epsilon": "1.0000000000000001e-05", "center": 1},
         {"epsilon": 1e-05, "center": True}),
    ],
)  # fmt: skip
def test_ry01_attributes_of_saved_calls_have_the_types_of_their_classes(key, fields, wanted):
    saved = Saved()
    special = {"array": saved.ints(1, 2), "none": 0, "int": saved.int(7)}
    given = {name: special.get(value, value) for name, value in fields.items()}
    attrs = saved.add(f"relay.attrs.{key}Attrs", **given)
    call = load_json(saved.text(saved.call(saved.op("some.op"), saved.var("x"), attrs=attrs)))
    assert call.attrs == wanted
    assert [type(value) for value in call.attrs.values()] == [
        type(each) for each in wanted.values()
    ]


def test_ry01_control_flow_and_algebraic_types_are_read():
    saved = Saved()
    name, param = (
        saved.add("GlobalTypeVar", name_hint=saved.string("Box"), kind=5),
        saved.string("A"),
    )
    param = saved.add("TypeVar", name_hint=param, kind=0)
    boxed = saved.add("TypeCall", func=name, args=saved.array(param))
    full = saved.add(
        "relay.Constructor", name_hint=saved.string("Full"), inputs=saved.array(param, boxed),
        belong_to=name, tag=1,
    )  # fmt: skip
    data = saved.add(
        "relay.TypeData", header=name, type_vars=saved.array(param), constructors=saved.array(full)
    )
    x, inner, flag = (
        saved.var("x", boxed),
        saved.var("y"),
        saved.constant(np.array(True), code=1, bits=1),
    )
    patterns = [saved.add("relay.PatternVar", var=inner), saved.add("relay.PatternWildcard")]
    pattern = saved.add(
        "relay.PatternConstructor", constructor=full, patterns=saved.array(*patterns)
    )
    branch = saved.expr("relay.If", cond=flag, true_branch=inner, false_branch=inner)
    clause = saved.add("relay.Clause", lhs=pattern, rhs=branch)
    match = saved.expr("relay.Match", data=x, clauses=saved.array(clause), complete=0)
    pair = saved.expr("relay.Tuple", fields=saved.array(match, x))
    field = saved.expr("relay.TupleGetItem", tuple_value=pair, index=1)
    made = saved.call(
        full, field, saved.expr("relay.RefRead", ref=saved.expr("relay.RefCreate", value=x))
    )
    bound = saved.var("z")
    body = saved.expr("relay.Let", var=bound, value=made, body=bound)
    main = saved.function([x], body)
    root = saved.module(main=main)
    saved.nodes[root]["attrs"]["type_definitions"] = str(saved.add("Map", [name, data]))
    module = load_json(saved.text(root))
    text = """type Box[A] { Full(A, Box[A]) }
        def @main(%x) { %0 = match? (%x) { Full(%y, _) => if (True) { %y } else { %y } };
          %1 = (%0, %x); let %z = Full(%1.1, ref_read(ref(%x))); %z }"""
    # A parameter of another definition, which text cannot refer to.
    module.functions["main"].params[0].type = None
    assert structurally_equal(module, parse(text)), to_text(module)


def test_ry02_objects_that_are_saved_once_are_one_object():
    saved = Saved()
    x = saved.var("x")
    node = saved.call(saved.op("exp"), x)
    shared = saved.expr("relay.Tuple", fields=saved.array(node, node))
    same(saved, shared, "free_var %x; %0 = exp(%x); (%0, %0)")
    copy = saved.call(saved.op("exp"), x)
    copies = saved.expr("relay.Tuple", fields=saved.array(node, copy))
    same(saved, copies, "free_var %x; (exp(%x), exp(%x))")


def test_ry02_long_chains_that_are_saved_need_no_deep_stack():
    saved, number = Saved(), 2000
    names = [saved.var("x") for _ in range(number + 1)]
    body, op = names[-1], saved.op("exp")
    for i in reversed(range(number)):
        value = saved.call(op, names[i])
        body = saved.expr("relay.Let", var=names[i + 1], value=value, body=body)
    let = load_json(saved.text(saved.function(names[:1], body))).body
    for _ in range(number):
        let = let.body
    assert isinstance(let, ast.Var)


def test_ry01_files_of_tvm_6_are_read():
    saved = Saved("0.6.0")
    size = saved.add("Variable", dtype="int32", name="3")
    dims = saved.array(size, saved.add("Any", dtype="int32"))
    type_ = saved.add("relay.TensorType", dtype="float32", shape=dims, span=0)
    x = saved.add("relay.Var", type_annotation=type_, vid=saved.add("relay.Id", name_hint="1"))
    op = saved.add("relay.Op")
    saved.nodes[op]["global_key"] = "nn.relu"
    attrs = saved.add("relay.attrs.TransposeAttrs", axes=saved.ints(1, 0))
    call = saved.call(op, x, attrs=attrs)
    name = saved.add("relay.GlobalVar", name_hint="2")
    functions = saved.add("Map", [name, saved.function([x], call)])
    module = load_json(saved.text(saved.add("relay.Module", functions=functions)))
    (param,) = module.functions["2"].params
    assert param.name == "1"
    assert param.type.shape[0].name == "3"
    assert module.functions["2"].body.op.name == "nn.relu"
    assert module.functions["2"].body.attrs == {"axes": [1, 0]}


def test_ry01_places_of_saved_objects_are_kept():
    saved = Saved()
    source = saved.add("SourceName")
    saved.nodes[source]["repr_str"] = "model.py"
    span = saved.add("Span", source_name=source, line=3, column=7, end_line=3, end_column=9)
    call = saved.call(saved.op("exp"), saved.var("x"))
    saved.nodes[call]["attrs"]["span"] = str(span)
    assert str(load_json(saved.text(call)).span) == "model.py:3:7"


def test_ry01_attributes_may_be_metadata_of_a_text():
    saved = Saved()
    attrs = saved.add("relay.attrs.TransposeAttrs", axes=saved.ints(1, 0))
    root = saved.add("Map", [saved.array(attrs)], ["relay.attrs.TransposeAttrs"])
    text = "free_var %x; transpose(%x, meta[relay.attrs.TransposeAttrs][0])\n#[metadata]\n"
    assert parse_expr(text + saved.text(root)).attrs == {"axes": [1, 0]}


def test_ry01_dimensions_may_be_metadata_of_a_text():
    saved = Saved()
    size = saved.add("tir.SizeVar", dtype="int32", name=saved.string("n"), type_annotation=0)
    sum_ = saved.add("tir.Add", a=size, b=size)
    root = saved.add("Map", [saved.array(size), saved.array(sum_)], ["tir.SizeVar", "tir.Add"])
    text = "fn (%x: Tensor[(meta[tir.SizeVar][0], meta[{}][0]), int8]) {{ %x }}\n#[metadata]\n"
    meta = saved.text(root)
    first, second = parse_expr(text.format("tir.SizeVar") + meta).params[0].type.shape
    assert first is second
    assert first.name == "n"
    with pytest.raises(NotImplementedError, match=r"expressions are not supported.*tir\.Add"):
        parse_expr(text.format("tir.Add") + meta)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-30], "JSON of TVM, but got a text that is none"),
        (lambda text: "[1, 2]", "with 'root' and 'nodes'"),
        (lambda text: '{"graph": 1}', "with 'root' and 'nodes', but got 'graph'"),
        (lambda text: text.replace('"root": ', '"root": 9'), "number of one of"),
        (lambda text: re.sub('"op": "[0-9]+"', '"op": "77"', text), "number of one of"),
        (lambda text: re.sub('"op": "[0-9]+"', '"op": "add"', text), "number of an object as 'op'"),
        (lambda text: re.sub('"op": "[0-9]+", ', "", text), "field 'op' in object"),
        (lambda text: re.sub('"op": "[0-9]+"', '"op": "0"', text), "an expression of Relay"),
        (lambda text: text.replace('"value": "1"', '"value": "one"'), "'value' in object"),
        (lambda text: text.replace('"data": "0"', '"data": "4"'), "one of 1 tensors"),
        (lambda text: text.replace('"P6G0', '"A6G0'), "begins with 0xdd5e40f096b4a13f"),
        (lambda text: text.replace('"P6G0', '"?6G0'), "a tensor as base64"),
        (lambda text: re.sub(r'"root": \d+', '"root": 1', text), "a module or an expression"),
    ],
)
def test_ry01_damaged_files_are_refused_in_words(change, message):
    saved = Saved()
    type_ = saved.type(1)
    data = saved.constant(np.zeros(2, "float32"))
    text = saved.text(saved.call(saved.op("add"), data, saved.var("x", type_)))
    assert isinstance(load_json(text), ast.Call)
    with pytest.raises(ast.RelayError, match=message):
        load_json(change(text))


def damaged_module():
    saved = Saved()
    x = saved.var("x", saved.type(1, None))
    attrs = saved.add("relay.attrs.ReduceAttrs", axis=saved.ints(1), keepdims=1, exclude=0)
    total = saved.call(saved.op("sum"), x, attrs=attrs)
    body = saved.call(saved.op("add"), total, saved.constant(np.ones(2, "float32")))
    return saved.text(saved.module(main=saved.function([x], body)))


SAVED = damaged_module()


@hypothesis.settings(max_examples=80, deadline=None)
@hypothesis.given(
    st.integers(0, len(SAVED)), st.integers(0, 3), st.text('0123456789"{}[],:Aa', max_size=3)
)
def test_ry01_damaged_json_is_refused_and_nothing_worse(start, length, piece):
    assert isinstance(load_json(SAVED), ast.Module)
    try:
        program = load_json(SAVED[:start] + piece + SAVED[start + length :])
    except ast.RelayError as error:
        assert "expected" in error.message
    except NotImplementedError as error:
        assert "not" in str(error)
    else:
        assert isinstance(program, ast.Module | ast.Expr)


def test_ry01_a_cycle_of_objects_is_refused():
    saved = Saved()
    call = saved.call(saved.op("add"))
    saved.nodes[int(saved.nodes[call]["attrs"]["args"])]["data"] = [call]
    with pytest.raises(ast.RelayError, match="objects without cycles"):
        load_json(saved.text(call))


def test_ry01_objects_without_counterpart_are_refused():
    saved = Saved()
    x = saved.var("x")
    attrs = saved.add("relay.attrs.CustomAttrs", secret=3)
    with pytest.raises(NotImplementedError, match=r"'secret' of relay\.attrs\.CustomAttrs"):
        load_json(saved.text(saved.call(saved.op("custom"), x, attrs=attrs)))
    kernel = saved.add("tir.PrimFunc", body=0)
    with pytest.raises(NotImplementedError, match=r"'@kernel' is .*tir\.PrimFunc"):
        load_json(saved.text(saved.module(kernel=kernel)))
    vector = saved.constant(np.zeros(4, "float32"), lanes=4)
    with pytest.raises(NotImplementedError, match="float32x4 are not supported"):
        load_json(saved.text(vector))


# -- parameters -----------------------------------------------------------------------------------

ARRAYS = {
    "weight": np.arange(6, dtype="float32").reshape(2, 3),
    "größe": np.array(3, "int64"),
    "half": np.array([1.5, -2], "float16"),
    "brain": np.array([1.5, -2], ml_dtypes.bfloat16),
    "bits": np.array([[True], [False]]),
    "empty": np.zeros((0, 4), "uint8"),
}


def param_file(names, *records):
    listed = b"".join(struct.pack("<Q", len(name)) + name for name in names)
    head = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(names))
    return head + listed + struct.pack("<Q", len(records)) + b"".join(records)


def test_ry01_parameters_are_read_as_tvm_writes_them():
    ones, twos = np.ones((2, 2), "float32"), np.full(3, 2, "int8")
    data = param_file([b"a", b"b"], record(ones), record(twos, code=0, bits=8))
    assert save_params({"a": ones, "b": twos}) == data
    params = load_params(data)
    assert list(params) == ["a", "b"]
    np.testing.assert_array_equal(params["a"], ones)
    np.testing.assert_array_equal(params["b"], twos)


def test_ry01_parameters_of_all_data_types_come_back():
    params = load_params(save_params(ARRAYS))
    assert list(params) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert params[name].dtype == array.dtype
        assert params[name].shape == array.shape
        assert params[name].tobytes() == array.tobytes()
        assert params[name].flags.writeable


def test_ry01_every_truncated_file_of_parameters_is_refused():
    data = save_params({"a": np.ones(2, "float32"), "b": np.ones((), "bool")})
    for size in range(len(data)):
        with pytest.raises(ValueError, match="expected"):
            load_params(data[:size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x7fELF" + bytes(60), "begins with 0xf7e58d4f05049cb7"),
        (save_params(ARRAYS) + b"x", "the end of a file of parameters, but got 1 bytes more"),
        (param_file([b"a"]), "expected 1 tensors, one for each name, but got 0"),
        (param_file([b"a", b"a"], *[record(np.ones(1, "float32"))] * 2), "different names"),
        (param_file([b"\xff"], record(np.ones(1, "float32"))), "a name in UTF-8"),
        (param_file([b"a"], record(np.ones(1, "float64"))), "expected 4 bytes of elements"),
        (struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, 2**60), "fewer names than"),
    ],
)
def test_ry01_damaged_files_of_parameters_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        load_params(data)


def test_ry01_parameters_of_unknown_data_types_are_refused():
    with pytest.raises(NotImplementedError, match="int4 are not supported"):
        load_params(param_file([b"a"], record(np.ones(1, "int8"), code=0, bits=4)))
    with pytest.raises(NotImplementedError, match="complex64 have no counterpart"):
        save_params({"a": np.ones(1, "complex64")})
