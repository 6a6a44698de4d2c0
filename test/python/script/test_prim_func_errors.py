"""Errors of tensor programs: each shows its place, and says what was expected."""

import pytest
from relax_mlir.script import ScriptError, from_source

HEAD = 'def f(A: T.Buffer((4, 8), "float32"), n: T.int64, B: T.Buffer((4,), "int32")):\n'
# The body of a function, what is underlined, and the message.
BODIES = {
    "index_count": ("A[0] = 1.0", "A[0]", "expected 2 indices for buffer 'A' of shape (4, 8), but"),
    "index_type": ("A[0, 1.5] = 1.0", "A[0, 1.5]", "expected an integer as index, but got float32"),
    "load_index_count": (
        "B[0] = B[1, 2]",
        "B[1, 2]",
        "expected 1 indices for buffer 'B' of shape (4), but got 2",
    ),
    "slice_load": ("B[0] = B[0:n] + 1", "B[0:n]", "expected one element, but got a slice"),
    "slice_store": ("B[0:n] = 1", "B[0:n]", "expected one element, but got a slice"),
    "store_to_number": ("n[0] = 1", "n[0]", "expected a buffer, but got n of type int64"),
    "unbound": ("B[0] = m", "m", "expected a name that is bound, but got 'm'"),
    "member": (
        "B[0] = T.expp(n)",
        "T.expp",
        "expected a member of T, but got 'expp'; did you mean 'T.exp'?",
    ),
    "call_of_number": ("B[0] = n(1)", "n", "expected a function, but got n of type int64"),
    "arguments": ("B[0] = T.exp()", "T.exp()", "missing 1 required positional argument"),
    "lambda_arguments": (
        "B[0] = (lambda a, b: a)(1)",
        "(lambda a, b: a)(1)",
        "expected 2 arguments, but got 1",
    ),
    "true_division": ("B[0] = B[1] / B[2]", "B[1] / B[2]", "expected floats around '/'"),
    "division_by_zero": ("B[0] = B[1] // 0", "B[1] // 0", "expected a divisor other than 0"),
    "shift": ("B[0] = B[1] << 32", "B[1] << 32", "expected to shift by 0 to 31 bits, but got 32"),
    "matrix_product": ("B[0] = B[1] @ B[2]", "B[1] @ B[2]", "expected an operator of tensor"),
    "not_a_number": ('B[0] = "x"', '"x"', "expected a number, but got 'x'"),
    "buffer_as_number": ("B[0] = A + 1", "A", "expected a number, but got buffer 'A'"),
    "condition": ("if A[0, 0]:\n    B[0] = 1", "A[0, 0]", "expected a Boolean, but got float32"),
    "loop": ("for i in B:\n    B[0] = 1", "B", "expected a loop over range, T.serial, T.grid"),
    "loop_float": (
        "for i in range(1.5):\n    B[0] = 1",
        "range(1.5)",
        "expected an integer as",
    ),
    "loop_step": (
        "for i in range(4, 0, -1):\n    B[0] = 1",
        "range(4, 0, -1)",
        "expected a positive step, but got -1",
    ),
    "loop_names": (
        "for i, j in T.grid(4, 4, 4):\n    B[0] = 1",
        "i, j",
        "expected 3 variables, one for each range, but got 2",
    ),
    "loop_target": (
        "for B[0] in range(4):\n    B[0] = 1",
        "B[0]",
        "expected the names of",
    ),
    "loop_else": (
        "for i in range(4):\n    B[0] = 1\nelse:\n    B[1] = 1",
        "B[1] = 1",
        "no else",
    ),
    "while_else": (
        "while n > 1:\n    B[0] = 1\nelse:\n    B[1] = 1",
        "B[1] = 1",
        "no else",
    ),
    "loop_without_for": ("T.serial(4)", "T.serial(4)", "expected 'for' or 'with' before this"),
    "thread": (
        "for i in T.thread_binding(4):\n    B[0] = 1",
        "T.thread_binding(4)",
        "expected thread, such as 'threadIdx.x'",
    ),
    "axis_outside": (
        "for i in range(4):\n    vi = T.axis.spatial(4, i)",
        "vi = T.axis.spatial(4, i)",
        "expected T.axis.spatial in a block",
    ),
    "axis_without_name": (
        'with T.sblock("b"):\n    T.axis.spatial(4, 0)',
        "T.axis.spatial(4, 0)",
        "expected a name for the axis",
    ),
    "remap_kind": (
        'for i in range(4):\n    with T.sblock("b"):\n        vi = T.axis.remap("X", [i])',
        'T.axis.remap("X", [i])',
        "expected S or R for an axis, but got 'X'",
    ),
    "remap_count": (
        'for i in range(4):\n    with T.sblock("b"):\n        vi, vj = T.axis.remap("SS", [i])',
        'T.axis.remap("SS", [i])',
        "expected 2 variables of loops, but got 1",
    ),
    "remap_of_expression": (
        'for i in range(4):\n    with T.sblock("b"):\n        vi = T.axis.remap("S", [i + 1])',
        'vi = T.axis.remap("S", [i + 1])',
        "expected variables of loops in T.axis.remap, but got i + 1",
    ),
    "unpack": (
        'for i in range(4):\n    with T.sblock("b"):\n        vi, vj = T.axis.remap("S", [i])',
        "vi, vj",
        "expected 2 values, but got T.axis.spatial",
    ),
    "unpack_count": ("x, y = 1, 2, 3", "x, y", "expected 2 values, but got 3"),
    "unpack_stars": (
        "*x, *y = 1, 2",
        "*x, *y",
        "expected one name with a star, but got 2",
    ),
    "init_outside": ("with T.init():\n    B[0] = 1", "T.init()", "expected T.init in a block"),
    "init_twice": (
        'with T.sblock("b"):\n    with T.init():\n        B[0] = 1\n    with T.init():\n'
        "        pass",
        "T.init()",
        "expected one T.init in a block",
    ),
    "reads_outside": ("T.reads(B[0])", "T.reads(B[0])", "expected T.reads in a block"),
    "where_outside": ("T.where(n > 1)", "T.where(n > 1)", "expected T.where in a block"),
    "with": ("with n:\n    B[0] = 1", "n", "expected a block, T.init(), T.LetStmt(value)"),
    "with_names": (
        'with T.sblock("b") as x:\n    B[0] = 1',
        "x",
        "expected no names for a block",
    ),
    "with_loops": ("with T.grid(4, 4):\n    B[0] = 1", "T.grid(4, 4)", "expected names for the"),
    "with_let": (
        "with T.LetStmt(n):\n    B[0] = 1",
        "T.LetStmt(n)",
        "expected a name for",
    ),
    "with_allocate": (
        'with T.allocate((4,), "int32"):\n    B[0] = 1',
        'T.allocate((4,), "int32")',
        "expected a name for the buffer",
    ),
    "match_of_number": (
        'C = T.match_buffer(n, (4,), "int32")',
        'C = T.match_buffer(n, (4,), "int32")',
        "expected T.match_buffer of a parameter of type T.handle that is not matched yet, but",
    ),
    "match_of_part": (
        'C = T.match_buffer(A[0, 0:8], (7,), "float32")',
        'C = T.match_buffer(A[0, 0:8], (7,), "float32")',
        "expected the size 8 of the part, but got 7",
    ),
    "match_without_shape": ("C = T.match_buffer(A)", "T.match_buffer(A)", "expected a shape"),
    "strides": (
        "C = T.alloc_buffer((4,), strides=(2,))",
        "T.alloc_buffer((4,), strides=(2,))",
        "expected a buffer that is dense, row by row, but got strides=(2,)",
    ),
    "unknown_option": (
        "C = T.alloc_buffer((4,), color=1)",
        "T.alloc_buffer((4,), color=1)",
        "expected a shape, a data type and a scope, but got 'color'",
    ),
    "dimension": (
        "C = T.alloc_buffer((1.5,))",
        "C = T.alloc_buffer((1.5,))",
        "expected an integer as dimension, but got 1.5",
    ),
    "dtype": (
        'C = T.alloc_buffer((4,), "float33")',
        'T.alloc_buffer((4,), "float33")',
        "float33",
    ),
    "annotation_member": ('x: "T.int33" = n', '"T.int33"', "expected a member of T, but got"),
    "annotation": ("x: 3 = n", "3", "expected a data type such as T.int32, or T.let, but got 3"),
    "let_without_value": ("x: T.let[T.int32]", "x: T.let[T.int32]", "expected a value for T.let"),
    "handle_variable": ("x: T.handle", "T.handle", "expected the data type of a number"),
    "scalar_from_string": (
        'x = 1\nx = "a"',
        'x = "a"',
        "expected a number for 'x', but got 'a'",
    ),
    "targets": ("x = y = n", "x = y = n", "expected one target of an assignment"),
    "attribute_target": ("A.name = n", "A.name", "expected a name or an element of a buffer"),
    "statement_value": (
        "x = T.grid(4)",
        "x = T.grid(4)",
        "but got a loop",
    ),
    "statement": ("{1, 2}", "{1, 2}", "expected a statement of a tensor program, but got a value"),
    "try": ("try:\n    B[0] = 1\nfinally:\n    B[1] = 1", None, "but got try"),
    "break": ("B[0] = 1\nbreak", "break", "expected break in a loop"),
    "break_grid": (
        "for i, j in T.grid(4, 4):\n    break",
        "break",
        "expected break in a loop of one variable",
    ),
    "break_parallel": (
        "for i in T.parallel(4):\n    break",
        "break",
        "expected no break in a loop that is not serial",
    ),
    "continue": ("continue", "continue", "expected continue in a loop"),
    "return_parallel": (
        "for i in T.vectorized(4):\n    return",
        "return",
        "expected no return in a loop that is not serial",
    ),
    "lanes": ("B[T.Ramp(0, 1, 0)] = 1", "T.Ramp(0, 1, 0)", "expected the number of lanes"),
    "lanes_differ": (
        "B[T.Ramp(0, 1, 4)] = T.Broadcast(1, 2)",
        "B[T.Ramp(0, 1, 4)]",
        "expected vectors of one size, but got [2, 4] lanes",
    ),
    "ramp_of_float": ("B[T.Ramp(0.5, 1, 4)] = 1", "T.Ramp(0.5, 1, 4)", "expected an integer"),
    "vector_in_one": (
        "B[0] = T.Broadcast(1, 4)",
        "B[0]",
        "expected 4 elements, but got one, to store a vector to",
    ),
    "vector_name": (
        "x = B[T.Ramp(0, 1, 4)]",
        "x = B[T.Ramp(0, 1, 4)]",
        "expected a vector to be stored where it is loaded",
    ),
    "vector_condition": (
        "if T.Broadcast(n, 4):\n    B[0] = 1",
        "T.Broadcast(n, 4)",
        "expected a number, but got a vector of 4 numbers",
    ),
    "await": ("B[0] = await n", "await n", "expected an expression of a tensor program, but got"),
    "assert": ('assert n > 1, "n"', 'assert n > 1, "n"', "expected no assertion"),
    "return": ("return n", "return n", "expected the data type of the result before this"),
    "attributes": ("T.func_attr([1])", "T.func_attr([1])", "expected a dictionary, but got [1]"),
    "let_variables": (
        "B[0] = T.Let(n, where={})",
        "T.Let(n, where={})",
        "expected one variable in T.Let, but got 0",
    ),
    "scope": (
        'for i in range(4):\n    C = T.alloc_buffer((4,), "int32")\nB[0] = C[0]',
        "C",
        "expected a name that is bound, but got 'C'",
    ),
    "threads": (
        'T.call_extern("int32")',
        'T.call_extern("int32")',
        "expected a data type and the name of a function",
    ),
    "intrinsic": (
        'B[0] = T.call_intrin("int32", "tirx.nothing", n)',
        'T.call_intrin("int32", "tirx.nothing", n)',
        "expected the name of an intrinsic, but got 'tirx.nothing'",
    ),
    "intrinsic_type": (
        'B[0] = T.call_intrin("float32", "tirx.max", n, n)',
        'T.call_intrin("float32", "tirx.max", n, n)',
        "expected a result of type float32, but got int64",
    ),
    "address": (
        "T.prefetch(T.address_of(n), 0, 3, 1)",
        "T.address_of(n)",
        "expected an element of a buffer, but got n",
    ),
    "prefetch": (
        "T.prefetch(B.data, 0, 3, 1)",
        "T.prefetch(B.data, 0, 3, 1)",
        "expected T.address_of of an element to prefetch",
    ),
    "locality": (
        "T.prefetch(T.address_of(B[0]), 0, 4, 1)",
        "T.prefetch(T.address_of(B[0]), 0, 4, 1)",
        "expected locality to be from 0 to 3, but got 4",
    ),
    "prefetched_value": (
        "B[0] = T.prefetch(T.address_of(B[0]), 0, 3, 1)",
        None,
        "expected addresses only where T.prefetch is a statement",
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_error_gr02_body(case):
    body, marked, message = BODIES[case]
    text = "@T.prim_func\n" + HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    with pytest.raises(ScriptError) as caught:
        from_source(text, filename="kernel.py")
    error = caught.value
    assert message in error.msg
    assert error.filename == "kernel.py"
    if marked is not None and error.end_lineno == error.lineno:
        assert error.text[error.offset - 1 : error.end_offset - 1] == marked


# The parameters of a function, what is underlined, and the message.
PARAMETERS = {
    "no_type": ("x", "x", "expected a type for parameter 'x': T.Buffer(shape, dtype), T.handle or"),
    "type": (
        "x: 3",
        "3",
        "expected T.Buffer(shape, dtype), T.handle or",
    ),
    "default": ("x: T.int64 = 3", "3", "expected a parameter without a default"),
    "keyword_only": ("*, x: T.int64", "x: T.int64", "expected parameters by position only"),
    "variadic": ("*x: T.int64", "x: T.int64", "expected parameters by position only"),
    "dimension": (
        'x: T.Buffer(("n m",))',
        'x: T.Buffer(("n m",))',
        "expected the name of",
    ),
    "result": (
        'x: T.int64) -> (T.Buffer((4,), "float32")',
        'T.Buffer((4,), "float32")',
        "expected None or the data type of a scalar: a function writes tensors to buffers",
    ),
    "result_handle": (
        "x: T.int64) -> (T.handle",
        "T.handle",
        "expected None or the data type of a scalar",
    ),
    "string": ('x: "T.Buffer(("', '"T.Buffer(("', "expected a type"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_error_gr02_parameters(case):
    parameters, marked, message = PARAMETERS[case]
    with pytest.raises(ScriptError) as caught:
        from_source(f"@T.prim_func\ndef f({parameters}):\n    T.evaluate(0)\n")
    error = caught.value
    assert message in error.msg
    assert error.text[error.offset - 1 : error.end_offset - 1] == marked


def test_error_gr02_dimension_that_nothing_says():
    with pytest.raises(ScriptError, match=r"6:\d+: expected the variable 'n' to be known here"):
        from_source("""
@T.prim_func
def f(a: T.handle, B: T.Buffer((4,), "int64")):
    n = T.int64()
    A = T.match_buffer(a, (n * 2,), "float32")
    B[0] = n
""")


def test_error_gr02_loops_on_tensors():
    with pytest.raises(ScriptError, match=r"3:\d+: expected structured blocks only in a function"):
        from_source(
            '@T.prim_func(tensors=True)\ndef f(A: T.Buffer((4,), "int32")):\n'
            "    for i in range(4):\n        A[i] = 1\n"
        )


def test_error_gr02_the_caret():
    with pytest.raises(ScriptError) as caught:
        from_source('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = A[1] + b * 2\n')
    assert str(caught.value) == (
        "<text>:3:19: expected a name that is bound, but got 'b'\n"
        "  A[0] = A[1] + b * 2\n"
        "                ^"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i in range(4):\n        B[i + 3] = A[i]", "'B' from 0 to 3, but got 3 to 6"),
        ("B[100] = A[0]", "'B' from 0 to 3, but got 100"),
        ("B[-1] = A[0]", "'B' from 0 to 3, but got -1"),
        ("B[0] = A[4]", "'A' from 0 to 3, but got 4"),
        ("for i in range(4):\n        B[4 - i] = A[i]", "'B' from 0 to 3, but got 1 to 4"),
        (
            "for i in T.serial(0, 6, step=2):\n        B[i] = A[0]",
            "'B' from 0 to 3, but got 0 to 4",
        ),
        ("for i in range(n):\n        C[i + 1] = A[0]", "'C' from 0 to n - 1, but got up to n"),
        ("for i in range(n):\n        C[i - 1] = A[0]", "'C' from 0 to n - 1, but got -1 and more"),
        (
            "for i, j in T.grid(2, 3):\n        with T.sblock('b'):\n"
            "            vi, vj = T.axis.remap('SS', [i, j])\n            B[vi * 2 + vj] = A[vi]",
            "'B' from 0 to 3, but got 0 to 4",
        ),
    ],
)
def test_error_index_out_of_bounds(body, message):
    with pytest.raises(ScriptError, match=f"expected indices of {message}"):
        from_source(_bounded(body))


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(4):\n        B[3 - i] = A[i]",
        "for i in range(1, 4):\n        B[i] = A[i - 1]",
        "for i in range(4):\n        B[i] = T.if_then_else(i > 0, A[i - 1], T.float32(0))",
        "for i in range(4):\n        if i > 0:\n            B[i] = A[i - 1]",
        "for i in range(n):\n        C[n - 1 - i] = A[0]",
        "for i in T.serial(0, 4, step=2):\n        B[i + 1] = A[i]",
        "for i in range(4):\n        if i == 2:\n            break\n        B[i + 2] = A[i]",
        "for i, j in T.grid(4, 0):\n        B[i + 9] = A[i]",
        "for i in range(n):\n        B[i + 1] = A[i]",
    ],
)
def test_index_that_may_be_in_bounds(body):
    from_source(_bounded(body))


def _bounded(body):
    buffers = ", ".join(f'{name}: T.Buffer((4,), "float32")' for name in "AB")
    return f'@T.prim_func\ndef f({buffers}, C: T.Buffer(("n",), "float32")):\n    {body}\n'
